//! The machine that the figures were measured on.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::Result;

/// Waits until no other bench runs: two at once would disturb each other. Holds the lock until the
/// file is dropped.
pub fn alone() -> Result<File> {
    let path = std::env::temp_dir().join("legwork-bench.lock");
    let file = File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if file.try_lock().is_err() {
        eprintln!("bench: waiting for another bench to finish");
        file.lock()?;
    }
    Ok(file)
}

/// Whether this process may open this many files.
pub fn open_files(needed: u64) -> Result<()> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|rest| rest.split_whitespace().next());
    // If it is not a number, it is unlimited.
    let too_few = soft.and_then(|soft| soft.parse::<u64>().ok());
    match too_few.filter(|soft| *soft < needed) {
        Some(soft) => Err(format!(
            "this run needs {needed} open files, but only {soft} are allowed: run ulimit -n {needed} first"
        )
        .into()),
        None => Ok(()),
    }
}

/// How busy other programs keep the machine. The busier it is, the less reliable are the figures.
pub fn busy_with_others() -> Result<String> {
    let before = processor_ticks()?;
    std::thread::sleep(Duration::from_secs(1));
    let after = processor_ticks()?;
    let busy = (after.busy - before.busy) as f64 / ((after.all - before.all) as f64).max(1.0);
    Ok(format!(
        "Before the start other programs kept the processors {:.0} % busy.",
        100.0 * busy
    ))
}

struct Ticks {
    busy: u64,
    all: u64,
}

fn processor_ticks() -> Result<Ticks> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(1).filter_map(|f| f.parse().ok()).collect();
    // user, nice, system, idle, iowait, and so on.
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all = ticks.iter().take(8).sum();
    Ok(Ticks {
        busy: all - idle,
        all,
    })
}

/// The processors, and how long the disk takes to make a small write durable.
pub fn describe() -> Result<String> {
    let processors = std::thread::available_parallelism()?;
    let sync = median_sync()?;
    Ok(format!(
        "{processors} processors, shared by server, database and load generator; \
         4 KiB written and synced in {} µs (median)",
        sync.as_micros()
    ))
}

fn median_sync() -> Result<Duration> {
    let mut file = tempfile::tempfile()?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}
