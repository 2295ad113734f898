//! Figures of this process and its disk. Linux tells them in /proc.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

/// The kernel tells times in hundredths of a second on every machine that we run on.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    cpu_seconds: f64,
    start_time_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    open_files: f64,
    /// Infinite without a limit.
    max_files: f64,
}

impl Process {
    /// None where there is no /proc.
    pub async fn read() -> Option<Self> {
        let read = tokio::task::spawn_blocking(Self::read_now);
        read.await.ok().flatten()
    }

    fn read_now() -> Option<Self> {
        let text = |path: &str| std::fs::read_to_string(path).ok();
        let stat = Stat::parse(&text("/proc/self/stat")?)?;
        let status = text("/proc/self/status")?;
        let booted = text("/proc/stat")?;
        let booted: f64 = line_after(&booted, "btime ")?.trim().parse().ok()?;
        // One of them is the folder that is being read.
        let open_files = std::fs::read_dir("/proc/self/fd").ok()?.count() - 1;
        Some(Self {
            cpu_seconds: stat.cpu_ticks / TICKS_PER_SECOND,
            start_time_seconds: booted + stat.start_ticks / TICKS_PER_SECOND,
            resident_bytes: kilobytes(&status, "VmRSS:")? * 1_024.0,
            virtual_bytes: kilobytes(&status, "VmSize:")? * 1_024.0,
            open_files: open_files as f64,
            max_files: open_file_limit().map_or(f64::INFINITY, |limit| limit as f64),
        })
    }

    /// With the names that Prometheus gives them everywhere.
    pub fn figures(&self) -> [(&'static str, f64); 6] {
        [
            ("process_cpu_seconds_total", self.cpu_seconds),
            ("process_start_time_seconds", self.start_time_seconds),
            ("process_resident_memory_bytes", self.resident_bytes),
            ("process_virtual_memory_bytes", self.virtual_bytes),
            ("process_open_fds", self.open_files),
            ("process_max_fds", self.max_files),
        ]
    }
}

/// How many files this process may have open. None without a limit.
fn open_file_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

struct Stat {
    cpu_ticks: f64,
    start_ticks: f64,
}

impl Stat {
    /// The name of the program comes second, in parentheses, and may contain anything.
    fn parse(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        // The manual counts from 1, and the first two are gone.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            start_ticks: field(22)?,
        })
    }
}

fn kilobytes(status: &str, name: &str) -> Option<f64> {
    let line = line_after(status, name)?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn line_after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(start))
}

/// The disk that holds a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Free for this process, which is not root.
    pub free_bytes: f64,
    pub size_bytes: f64,
}

impl Disk {
    /// Blocks, for ever if the disk hangs.
    pub fn of(folder: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        let bytes = |blocks: u64| blocks as f64 * disk.f_frsize as f64;
        Some(Self {
            free_bytes: bytes(disk.f_bavail),
            size_bytes: bytes(disk.f_blocks),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let text = "7 (a) (b c) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 123 1 2";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.cpu_ticks, stat.start_ticks), (300.0, 123.0));
        assert!(Stat::parse("7 (a) S 1").is_none());
    }

    #[test]
    fn this_process_has_figures() {
        let process = Process::read_now().unwrap();
        for (name, value) in process.figures() {
            assert!(value > 0.0 || name == "process_cpu_seconds_total", "{name}");
        }
        assert!(process.resident_bytes < process.virtual_bytes);
        assert!(process.open_files < process.max_files);
    }

    #[test]
    fn a_disk_has_room() {
        let disk = Disk::of(Path::new("/")).unwrap();
        assert!(disk.free_bytes <= disk.size_bytes && disk.size_bytes > 0.0);
        assert_eq!(Disk::of(Path::new("/there/is/no/such/folder")), None);
    }
}
