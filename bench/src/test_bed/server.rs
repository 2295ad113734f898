//! The server under measurement, as a separate process.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::options::Options;

const GREETING: &str = "Legwork listens on http://";
/// How long a process may take to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server's binary: the one that was named, or the one beside this program, freshly built.
pub fn binary(options: &Options) -> Result<PathBuf> {
    if let Some(named) = &options.server {
        return Ok(named.canonicalize()?);
    }
    // Set under `cargo run`. A bench that was started by hand uses the existing binary.
    if let Some(cargo) = std::env::var_os("CARGO") {
        eprintln!("bench: building the server");
        let built = Command::new(cargo)
            .args(["build", "--release", "-p", "legwork", "--bin", "legwork"])
            .status()?;
        if !built.success() {
            return Err("the server does not build".into());
        }
    }
    let binary = std::env::current_exe()?.with_file_name("legwork");
    if !binary.exists() {
        return Err("no server beside this program; run cargo build --release -p legwork".into());
    }
    Ok(binary)
}

/// A command of the server, without the settings of this shell.
pub fn command(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LEGWORK_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(folder)
        .env("LEGWORK_DATA", folder)
        .env("LEGWORK_RATE_LIMITS", "off")
        .env("LEGWORK_LOG", "warn");
    command
}

/// A listening process, which is stopped on drop.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    pub spawned: Instant,
}

impl Process {
    pub fn serve(mut command: Command) -> Result<Self> {
        command.env("LEGWORK_LISTEN", "127.0.0.1:0");
        Self::start(command, GREETING)
    }

    /// Starts a process and waits until it has printed the greeting and its address.
    pub fn start(mut command: Command, greeting: &str) -> Result<Self> {
        let spawned = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take();
        let mut process = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            spawned,
        };
        let mut lines = BufReader::new(stdout.ok_or("no standard output")?).lines();
        for line in &mut lines {
            if let Some(address) = line?.strip_prefix(greeting) {
                process.address = address.parse()?;
                // Reads the rest of its output, which would otherwise go to a closed pipe.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(process);
            }
        }
        Err("the server exited before it listened".into())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The memory in use, and its peak, in bytes.
    pub fn memory(&self) -> Result<(u64, u64)> {
        memory(self.pid()).ok_or_else(|| "no memory figures in /proc".into())
    }

    /// Resets the peak.
    pub fn reset_most_memory(&self) -> Result<()> {
        const MOST_RESIDENT: &str = "5";
        let file = format!("/proc/{}/clear_refs", self.child.id());
        Ok(std::fs::write(file, MOST_RESIDENT)?)
    }

    /// Asks the process to stop and waits for it.
    pub fn stop(mut self) -> Result<()> {
        self.terminate()
    }

    fn terminate(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let asked = format!("kill -TERM {}", self.child.id());
        Command::new("sh").args(["-c", &asked]).status()?;
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > PATIENCE {
                self.child.kill()?;
                self.child.wait()?;
                return Err("the server did not stop when asked".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// The memory that a process has in use, and its peak, in bytes.
pub fn memory(pid: u32) -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        kilobytes.map(|kilobytes: u64| kilobytes * 1024)
    };
    field("VmRSS:").zip(field("VmHWM:"))
}

pub fn kill(pid: u32) -> io::Result<()> {
    let killed = format!("kill -KILL {pid}");
    Command::new("sh").args(["-c", &killed]).status().map(drop)
}

/// The kernel reports hundredths of a second, whatever its own clock.
const TICK: Duration = Duration::from_millis(10);

/// The fields of a process in /proc, from its state on, which is the third.
fn fields(pid: u32) -> io::Result<Vec<i64>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The program name, in parentheses, may contain anything. Fields are counted after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let number = |field: &str| field.parse().unwrap_or(0);
    Ok(fields.split_whitespace().map(number).collect())
}

fn ticks(fields: &[i64], first: usize, count: usize) -> Duration {
    let sum: i64 = fields.iter().skip(first).take(count).sum();
    TICK * u32::try_from(sum).unwrap_or(0)
}

/// The processor time of a process so far, user and kernel.
pub fn processor_time(pid: u32) -> io::Result<Duration> {
    Ok(ticks(&fields(pid)?, 11, 2))
}

/// The processor time of the parent of a process and of all its children, those that ended included.
pub fn family_time(child: u32) -> io::Result<Duration> {
    let parent_of = |fields: &[i64]| fields.get(1).copied().unwrap_or(0);
    let parent = parent_of(&fields(child)?);
    let of_ended = fields(u32::try_from(parent).unwrap_or(0))?;
    let mut sum = ticks(&of_ended, 11, 4);
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let pid = entry.file_name().to_string_lossy().parse();
        // A process may end meanwhile.
        let Some(its) = pid.ok().and_then(|pid| fields(pid).ok()) else {
            continue;
        };
        if parent_of(&its) == parent {
            sum += ticks(&its, 11, 2);
        }
    }
    Ok(sum)
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.terminate().is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
