//! What a request costs: processor time of the server and of its database server, and what an open
//! connection needs. docs/SCALE.md computes with these figures.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Result;
use crate::load::http;
use crate::load::{Load, WARM_UP};
use crate::options::Options;
use crate::report::{Figure, Report};
use crate::test_bed::TestBed;

/// Idle connections, for the memory of one.
const IDLE: u32 = 500;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let keys: Vec<_> = bed.accounts.iter().map(|a| a.test_key.clone()).collect();
    let all = |path: &str| keys.iter().map(|key| http::get(path, key)).collect();
    let lists: Vec<Vec<u8>> = all("/v1/tasks?limit=20");
    let page = http::fetch_json(bed.server()?.address, &lists[0], 200)?;
    let id = page["data"][0]["id"].as_str().ok_or("no task")?.to_owned();
    let get = vec![http::get(&format!("/v1/tasks/{id}"), &keys[0])];
    let length = Duration::from_secs_f64(options.seconds / 2.0);
    for (name, load) in [
        ("create a test task", bed.creations()?),
        ("get one task", bed.load(get, 200)?),
        ("list 20 tasks", bed.load(lists, 200)?),
    ] {
        cost(name, &load, length, bed, report)?;
    }
    connection(bed, report)
}

/// The database's time is of the whole run, so it is shared by all requests of the run, also those
/// of the warm-up, as many in a second as later.
fn cost(
    name: &str,
    load: &Load,
    length: Duration,
    bed: &TestBed,
    report: &mut Report,
) -> Result<()> {
    let database = bed.engine.database();
    let so_far = || database.map_or(Ok(None), |database| database.processor_time());
    let before = so_far()?;
    let sample = load.run(length)?;
    let after = so_far()?;
    let server = sample.processor_per_request().unwrap_or(f64::NAN);
    let title = format!("microseconds of the server's CPU to {name}");
    report.add(Figure::per_task(bed.name(), &title, server));
    if let Some((before, after)) = before.zip(after) {
        let requests = sample.per_second() * (length + WARM_UP.min(length)).as_secs_f64();
        let micros = (after - before).as_secs_f64() * 1e6 / requests;
        let title = format!("microseconds of the database's CPU to {name}");
        report.add(Figure::per_task(bed.name(), &title, micros));
    }
    Ok(())
}

/// The memory of a connection that has asked once and stays open.
fn connection(bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let engine = bed.name();
    let health = http::get("/healthz", "");
    let ask = |address: SocketAddr| -> Result<TcpStream> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(&health)?;
        let mut answer = [0; 512];
        if stream.read(&mut answer)? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(stream)
    };
    // A server that has served many connections would take memory that it has kept from them.
    bed.stop()?;
    let server = bed.server()?;
    drop(ask(server.address)?);
    let (before, _) = server.memory()?;
    let open = (0..IDLE)
        .map(|_| ask(server.address))
        .collect::<Result<Vec<_>>>()?;
    let (after, _) = server.memory()?;
    drop(open);
    let each = after.saturating_sub(before) as f64 / f64::from(IDLE);
    report.add(Figure::per_task(
        engine,
        "bytes for an idle connection",
        each,
    ));
    Ok(())
}
