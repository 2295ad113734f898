//! The list of tasks as a page of the dashboard, compared with the same list of the API.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::load::{Load, Sample, http};
use crate::options::{Options, ROUNDS};
use crate::report::{Figure, Report, count};
use crate::test_bed::fill::filled;
use crate::test_bed::{TestBed, settled};

/// A page takes at most this many times as long.
const MOST: f64 = 1.5;
/// What a page shows.
const TASKS: usize = 25;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let filled = filled(options, bed)?.large;
    let cookie = signed_in(bed, &filled.account.id)?;
    let engine = bed.name();
    let server = bed.server()?;
    let one = |request: Vec<u8>| Load {
        address: server.address,
        connections: 1,
        requests: Arc::new(vec![request]),
        expected: 200,
        pid: server.pid(),
    };
    let list = one(http::get(
        &format!("/v1/tasks?limit={TASKS}"),
        &filled.account.test_key,
    ));
    let page = one(page(&cookie));
    let quick = Duration::from_millis(300).max(options.round() / 3);
    let (mut of_page, mut of_list) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS {
        of_list.add(list.run(quick)?);
        of_page.add(page.run(quick)?);
    }
    let name = format!("page with the list of {} tasks", count(filled.tasks));
    let figure = Figure::latency(engine, &name, &of_page);
    report.add(figure.at_most_times(MOST, "the list of the API", &of_list));
    Ok(())
}

fn page(cookie: &str) -> Vec<u8> {
    let head = "GET /dashboard/test/tasks HTTP/1.1\r\nhost: localhost\r\naccept: text/html";
    format!("{head}\r\ncookie: {cookie}\r\n\r\n").into()
}

/// Opens a session with the link that the command line prints.
fn signed_in(bed: &mut TestBed, account: &str) -> Result<String> {
    let address = bed.server()?.address;
    let mut command = settled(&bed.binary, bed.folder.path(), bed.engine.database());
    let output = command
        .args(["account", "sign-in-link", "--email", account])
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let token = printed.split("/local/").nth(1);
    let token = token.and_then(|rest| rest.split_whitespace().next());
    let token = token.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let answer = answer(
        address,
        &format!(
            "POST /local/{token} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
    )?;
    let cookie = answer.split("set-cookie: ").nth(1);
    let cookie = cookie.and_then(|rest| rest.split(';').next());
    Ok(cookie.ok_or("no session was opened")?.to_owned())
}

/// An answer with its head.
fn answer(address: SocketAddr, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
