//! Workers upload large videos at once: how much memory that takes, and how fast it is compared
//! with plain writes of the same bytes to the same disk.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use legwork::domain::tasks::ProofType;
use legwork::domain::{NewTask, TaskId};
use legwork::media;

use crate::Result;
use crate::load::Sample;
use crate::load::http;
use crate::options::Options;
use crate::report::{Figure, Report};
use crate::service::new_task;
use crate::test_bed::live_server::LiveServer;
use crate::test_bed::{Engine, TestBed};

/// Fewer than elsewhere: each leaves gigabytes on the disk. A worker has one task in each.
const ROUNDS: usize = 3;
/// The chunk size for sending and writing: the server's.
const CHUNK: usize = 512 << 10;
const MEGABYTES: f64 = 100.0;
const PART_OF_DISK: f64 = 0.5;
const BOUNDARY: &str = "legwork-bench-boundary";
/// How long a response may take after everything was sent.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    // The database hardly matters for the file of a proof, so one engine is enough.
    if !matches!(bed.engine, Engine::Sqlite) {
        return Ok(());
    }
    bed.stop()?;
    let (videos, bytes) = match options.quick {
        false => (20, 99_999_000),
        true => (4, 9_999_000),
    };
    let task = NewTask {
        proof_types: vec![ProofType::Video],
        ..new_task()
    };
    let mut live_server = LiveServer::new(bed, "upload", videos, ROUNDS * videos, &task)?;
    let uploads = begin_tasks(&mut live_server, videos, bytes)?;
    let block = block();
    let server = live_server.server()?;
    let (address, idle) = (server.address, server.memory()?.0);
    server.reset_most_memory()?;
    let (mut measured, mut plain) = (Sample::default(), Sample::default());
    for (number, round) in uploads.chunks(videos).enumerate() {
        plain.add(write_plainly(&live_server.folder, round, &block)?);
        measured.add(upload(address, round, &block)?);
        eprintln!(
            "bench: upload, round {}: {:.0} MB/s, plain writes {:.0} MB/s",
            number + 1,
            measured.last_rate(),
            plain.last_rate()
        );
    }
    let most = live_server.server()?.memory()?.1;
    let size = bytes as f64 / 1e6;
    let name = format!("{videos} videos of {size:.0} MB at once, memory over idle");
    let growth = most.saturating_sub(idle) as f64 / 1e6;
    report.add(Figure::megabytes(bed.name(), &name, growth).at_most(MEGABYTES));
    let name = format!("{videos} videos of {size:.0} MB at once, uploaded");
    let other = "plain writes of as many files, synced";
    let figure = Figure::megabytes_per_second(bed.name(), &name, &measured);
    report.add(figure.at_least(PART_OF_DISK, other, &plain));
    live_server.stop()
}

/// One video being uploaded: the bytes before and after those of the repeated block.
#[derive(Clone)]
struct Upload {
    number: usize,
    path: String,
    token: String,
    /// The start of the video, which is a complete video of its own.
    film: Vec<u8>,
    /// Of the video.
    bytes: usize,
}

/// Every worker accepts and starts a task for each round.
fn begin_tasks(live_server: &mut LiveServer, videos: usize, bytes: usize) -> Result<Vec<Upload>> {
    let tasks: Vec<TaskId> = live_server.tasks.clone();
    let mut uploads = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        let worker = number % videos;
        live_server.act(worker, task, "accept")?;
        live_server.act(worker, task, "start")?;
        let (mut film, _) = media::sample(ProofType::Video, &number.to_be_bytes());
        // One more box of content, up to the end.
        film.extend(((bytes - film.len()) as u32).to_be_bytes());
        film.extend(b"mdat");
        uploads.push(Upload {
            number,
            path: format!("/v1/worker/tasks/{task}/proofs"),
            token: live_server.workers[worker].clone(),
            film,
            bytes,
        });
    }
    Ok(uploads)
}

impl Upload {
    fn write_video(&self, target: &mut impl Write, block: &[u8]) -> io::Result<()> {
        target.write_all(&self.film)?;
        let mut rest = self.bytes - self.film.len();
        while rest > 0 {
            let part = rest.min(block.len());
            target.write_all(&block[..part])?;
            rest -= part;
        }
        Ok(())
    }

    /// Sends the whole request. The response must say that the proof was accepted.
    fn send(&self, address: SocketAddr, block: &[u8]) -> io::Result<()> {
        let part =
            |rest: &str| format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name={rest}");
        let place = new_task().location;
        let before = [
            part(&format!("\"gps_latitude\"\r\n\r\n{}\r\n", place.latitude)),
            part(&format!("\"gps_longitude\"\r\n\r\n{}\r\n", place.longitude)),
            part("\"video\"; filename=\"video.mp4\"\r\ncontent-type: video/mp4\r\n\r\n"),
        ]
        .concat();
        let after = format!("\r\n--{BOUNDARY}--\r\n");
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
             content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {}\r\n\r\n",
            self.path,
            self.token,
            before.len() + self.bytes + after.len()
        );
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all((head + &before).as_bytes())?;
        self.write_video(&mut stream, block)?;
        stream.write_all(after.as_bytes())?;
        let mut answer = Vec::new();
        let mut chunk = [0; 16 * 1024];
        loop {
            let head = http::head(&answer).filter(|head| answer.len() >= head.ends);
            match head.map(|head| head.status) {
                Some(201) => return Ok(()),
                Some(_) => return Err(io::Error::other(String::from_utf8_lossy(&answer))),
                None => {}
            }
            match stream.read(&mut chunk)? {
                0 => return Err(io::Error::other("the server closed the connection")),
                read => answer.extend_from_slice(&chunk[..read]),
            }
        }
    }

    /// Writes the same bytes to a file and syncs it.
    fn write_plainly(&self, folder: &Path, block: &[u8]) -> io::Result<()> {
        let path = folder.join(format!("plain-{}", self.number));
        let mut file = File::create_new(&path)?;
        self.write_video(&mut file, block)?;
        file.sync_all()
    }
}

fn upload(address: SocketAddr, round: &[Upload], block: &Arc<[u8]>) -> Result<Sample> {
    at_once(round, block, move |upload, block| {
        upload.send(address, block)
    })
}

fn write_plainly(folder: &Path, round: &[Upload], block: &Arc<[u8]>) -> Result<Sample> {
    let place = folder.to_owned();
    let sample = at_once(round, block, move |upload, block| {
        upload.write_plainly(&place, block)
    })?;
    for upload in round {
        std::fs::remove_file(folder.join(format!("plain-{}", upload.number)))?;
    }
    Ok(sample)
}

/// Each on its own thread. In megabytes per second, from the first start to the last end.
fn at_once(
    round: &[Upload],
    block: &Arc<[u8]>,
    work: impl Fn(&Upload, &[u8]) -> io::Result<()> + Clone + Send + 'static,
) -> Result<Sample> {
    let begun = Instant::now();
    let start = |upload: &Upload| {
        let (upload, block, work) = (upload.clone(), Arc::clone(block), work.clone());
        thread::spawn(move || work(&upload, &block))
    };
    let threads: Vec<JoinHandle<_>> = round.iter().map(start).collect();
    for thread in threads {
        thread.join().map_err(|_| "an upload panicked")??;
    }
    let bytes: usize = round.iter().map(|upload| upload.bytes).sum();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Sample::of_rate(bytes as f64 / 1e6 / seconds))
}

/// Bytes that no file system can compress, and that do not contain the form boundary.
fn block() -> Arc<[u8]> {
    let words = (0..CHUNK as u64 / 8).map(|number| {
        let mut bits = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    });
    words.flat_map(u64::to_ne_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_video_is_as_long_as_it_says_and_taken_as_one() {
        let (mut film, _) = media::sample(ProofType::Video, b"seed");
        let bytes = 2_000_000;
        film.extend(((bytes - film.len()) as u32).to_be_bytes());
        film.extend(b"mdat");
        let upload = Upload {
            number: 0,
            path: String::new(),
            token: String::new(),
            film,
            bytes,
        };
        let folder = tempfile::tempdir().unwrap();
        upload.write_plainly(folder.path(), &block()).unwrap();
        let path = folder.path().join("plain-0");
        assert_eq!(path.metadata().unwrap().len(), bytes as u64);
        media::inspect(&path, ProofType::Video).unwrap();
    }
}
