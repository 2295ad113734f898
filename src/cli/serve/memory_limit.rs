//! How much memory this process may use: that of the machine, or what its control groups allow.

use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
/// The program, its caches, and what requests hold.
const BESIDE_CONNECTIONS: u64 = 128 * MIB;
/// What somebody can make a connection hold before anything is known of them: buffers, and the head of a
/// request. With TLS there are those of TLS and HTTP/2 as well.
const PLAIN: u64 = 32 << 10;
const TLS: u64 = 80 << 10;

/// In bytes. Everything, if nobody says.
pub fn read() -> u64 {
    let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let groups = group_files(&text("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    let limits = groups.iter().filter_map(|file| {
        let limit = fs::read_to_string(file).ok()?;
        limit.trim().parse().ok()
    });
    let machine = of_machine(&text("/proc/meminfo"));
    limits.chain(machine).min().unwrap_or(u64::MAX)
}

fn of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The files that may limit this process, of both versions of control groups. A group is limited by those
/// around it as well.
fn group_files(own_groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in own_groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, name) = match kinds {
            "" => (root.to_owned(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = group.trim_start_matches('/');
        let around = Path::new(group).ancestors();
        files.extend(around.map(|group| root.join(group).join(name)));
    }
    files
}

/// How many connections there is memory for: at most as many as wanted. A quarter of what is left stays for
/// the rest.
pub fn connections_within(memory: u64, tls: bool, wanted: usize) -> usize {
    const FEWEST: u64 = 256;
    let each = if tls { TLS } else { PLAIN };
    let room = memory.saturating_sub(BESIDE_CONNECTIONS) / 4 * 3;
    let affordable = (room / each).max(FEWEST);
    wanted.min(usize::try_from(affordable).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_into_memory() {
        assert_eq!(connections_within(u64::MAX, true, 10_000), 10_000);
        assert_eq!(connections_within(512 * MIB, false, 10_000), 9_216);
        assert_eq!(connections_within(512 * MIB, true, 10_000), 3_686);
        assert_eq!(connections_within(300 * MIB, false, 10_000), 4_128);
        assert_eq!(connections_within(512 * MIB, true, 100), 100);
        assert_eq!(connections_within(0, true, 10_000), 256);
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        let text = "MemTotal:       16384256 kB\nMemFree:         1234 kB\n";
        assert_eq!(of_machine(text), Some(16_384_256 * 1024));
        assert_eq!(of_machine("MemFree: 1 kB"), None);
        assert!(read() > 64 * MIB);
    }

    #[test]
    fn a_group_is_limited_by_those_around_it() {
        let root = Path::new("/groups");
        let files = |text| -> Vec<String> {
            let files = group_files(text, root).into_iter();
            files.map(|file| file.display().to_string()).collect()
        };
        let second = "0::/system.slice/legwork.service\n";
        let of_second = [
            "/groups/system.slice/legwork.service/memory.max",
            "/groups/system.slice/memory.max",
            "/groups/memory.max",
        ];
        assert_eq!(files(second), of_second);
        let first = "12:cpu,cpuacct:/a\n5:memory:/a\nbroken\n";
        let of_first = [
            "/groups/memory/a/memory.limit_in_bytes",
            "/groups/memory/memory.limit_in_bytes",
        ];
        assert_eq!(files(first), of_first);
        assert_eq!(files("0::/\n"), ["/groups/memory.max"]);
    }
}
