//! Files pass through, and memory stays as it is.

use std::process::Command;

use futures_util::future::join_all;
use futures_util::{TryStreamExt, pin_mut};

use super::place::{NOW, PLENTY, Place, new_key, tell};

const MIB: u64 = 1 << 20;

/// In a process of its own: in this one the other tests use memory too.
#[cfg(target_os = "linux")]
#[test]
fn large_files_need_little_memory() {
    let this = std::env::current_exe().unwrap();
    let child = "files::memory::measured_in_a_process_of_its_own";
    let output = Command::new(this)
        .args(["--ignored", "--exact", child])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by large_files_need_little_memory"]
fn measured_in_a_process_of_its_own() {
    tell(async {
        let (folder, s3) = (Place::folder(), Place::s3());
        for place in [&folder, &s3] {
            through(place, MIB).await;
        }
        let before = peak_memory();
        join_all((0..4).map(|_| through(&folder, 24 * MIB))).await;
        let grown = peak_memory() - before;
        assert!(grown < 16 * MIB, "folder: {grown} bytes more for 96 MiB");
        // The parts of a file are sent from memory, one at a time.
        through(&s3, 64 * MIB).await;
        let grown = peak_memory() - before;
        assert!(grown < 40 * MIB, "S3: {grown} bytes more for 64 MiB");
    });
}

/// Takes a file in, keeps it, and reads it all.
async fn through(place: &Place, size: u64) {
    let piece = vec![7; 64 << 10];
    let mut incoming = place.files.receive(PLENTY, NOW).await.unwrap();
    while incoming.size() < size {
        incoming.write(&piece).await.unwrap();
    }
    let (received, key) = (incoming.finish().await.unwrap(), new_key());
    let kept = place.files.keep(received, key, "video/mp4").await.unwrap();
    assert_eq!(kept.size, size);
    let stream = place.files.read(key, 0..size).await.unwrap();
    pin_mut!(stream);
    let mut read = 0;
    while let Some(bytes) = stream.try_next().await.unwrap() {
        read += bytes.len() as u64;
    }
    assert_eq!(read, size);
}

/// The most that this process has had in memory.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}
