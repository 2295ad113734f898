//! SQLite on a disk that hangs. Reads and writes that do not return stand in for the disk; a real one
//! is frozen in the long form.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use legwork::api::Timeouts;
use legwork::store::{Store, StoreError, Tx, within};

use super::{NEVER, in_time, is_unavailable, serve_sqlite};
use crate::support::{
    Client, Database, Engine, Server, TestApp, eventually, key_in, runtime, storefront,
};

/// Where reads and writes wait until the test lets them go.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    waiting: usize,
    open: bool,
}

impl Gate {
    pub(super) fn pass(&self) -> Result<(), StoreError> {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.waiting += 1;
        changed.notify_all();
        drop(changed.wait_while(state, |state| !state.open).unwrap());
        Ok(())
    }

    /// Waits until so many are stuck. False if that never happens.
    pub(super) fn holds(&self, count: usize) -> bool {
        let (state, changed) = &*self.0;
        let fewer = |state: &mut State| state.waiting < count;
        let held = changed.wait_timeout_while(state.lock().unwrap(), NEVER, fewer);
        !held.unwrap().1.timed_out()
    }

    pub(super) fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().open = true;
        changed.notify_all();
    }
}

/// The server on two threads, and the test on others.
struct Stage {
    servers: tokio::runtime::Runtime,
    testers: tokio::runtime::Runtime,
    app: TestApp,
    reads: Gate,
    writes: Gate,
}

impl Stage {
    fn set() -> Self {
        let servers = runtime();
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = servers.block_on(async {
            let timeouts = Timeouts {
                request: Duration::from_secs(1),
                ..Timeouts::default()
            };
            TestApp::start_with(database.open().await, &database, timeouts).await
        });
        Self {
            servers,
            testers: runtime(),
            app,
            reads: Gate::default(),
            writes: Gate::default(),
        }
    }

    /// More reads than there are threads. Returns whether as many hang as may.
    fn hang_reads(&self) -> bool {
        for _ in 0..8 {
            let (store, gate) = (self.app.store.clone(), self.reads.clone());
            self.servers
                .spawn(async move { store.read(move |_: &mut Tx<'_>| gate.pass()).await });
        }
        // One on a thread that serves requests, and two on threads of the store.
        self.reads.holds(3)
    }

    fn hang_writer(&self) -> bool {
        let (store, gate) = (self.app.store.clone(), self.writes.clone());
        self.servers
            .spawn(async move { store.write(move |_: &mut Tx<'_>| gate.pass()).await });
        self.writes.holds(1)
    }

    fn get(&self, client: &Client, path: &str) -> Option<crate::support::Reply> {
        let asked = async { tokio::time::timeout(NEVER / 4, client.get(path)).await };
        self.testers.block_on(asked).ok()
    }
}

impl Drop for Stage {
    /// Whatever fails, nothing may stay stuck.
    fn drop(&mut self) {
        self.reads.open();
        self.writes.open();
    }
}

#[test]
fn reads_that_hang_leave_a_thread_that_answers() {
    let stage = Stage::set();
    let dev = stage.servers.block_on(stage.app.developer());
    let client = stage.testers.block_on(async { stage.app.client() });
    assert!(stage.hang_reads(), "reads hold every thread that serves");
    let healthy = stage.get(&client, "/healthz").expect("an answer");
    assert_eq!(healthy.status, 200);
    is_unavailable(&stage.get(&dev.test, "/v1/tasks").expect("an answer"));
    stage.reads.open();
    stage.testers.block_on(async {
        let served = async || dev.test.get("/v1/tasks").await.status == 200;
        eventually("reads go on", served).await;
    });
}

#[test]
fn a_writer_that_hangs_makes_the_server_not_ready() {
    let stage = Stage::set();
    let dev = stage.servers.block_on(stage.app.developer());
    let client = stage.testers.block_on(async { stage.app.client() });
    assert_eq!(
        stage.get(&client, "/readyz").expect("an answer").status,
        200
    );
    assert!(stage.hang_writer());
    assert_eq!(
        stage.get(&client, "/readyz").expect("an answer").status,
        503
    );
    let write =
        async { tokio::time::timeout(NEVER, dev.test.post("/v1/tasks", &storefront())).await };
    is_unavailable(&stage.testers.block_on(write).unwrap());
    stage.writes.open();
    stage.testers.block_on(async {
        let ready = async || client.get("/readyz").await.status == 200;
        eventually("ready", ready).await;
        let list = dev.test.get("/v1/tasks").await.expect(200);
        assert_eq!(list["meta"]["total"], 0, "what was refused was kept");
    });
}

#[test]
fn what_nobody_waits_for_any_more_does_not_run() {
    let stage = Stage::set();
    assert!(stage.hang_writer());
    let store: Store = stage.app.store.clone();
    let ran = Arc::<AtomicBool>::default();
    stage.testers.block_on(async {
        let seen = ran.clone();
        let late = store.write(move |_: &mut Tx<'_>| {
            seen.store(true, Ordering::Relaxed);
            Ok::<_, StoreError>(())
        });
        let late = in_time(NEVER, within(Duration::from_millis(100), late)).await;
        assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
        stage.writes.open();
        // The writer takes one after the other: when this has run, it is past the other.
        let next = store.write(|_: &mut Tx<'_>| Ok::<_, StoreError>(()));
        in_time(NEVER, next).await.unwrap();
    });
    assert!(!ran.load(Ordering::Relaxed));
}

/// The long form: a file system that is really frozen.
#[test]
#[ignore = "needs root and a loop device; CONTRIBUTING.md has the command"]
fn a_frozen_file_system_leaves_the_server_alive() {
    let disk = Disk::mount();
    runtime().block_on(async {
        let server: Server = serve_sqlite(disk.folder.path(), 3);
        let client = server.client(&key_in(&server.greeting, "svc_test_"));
        client.post("/v1/tasks", &storefront()).await.expect(201);
        disk.freeze(true);
        let task = storefront();
        let writes = (0..8).map(|_| client.post("/v1/tasks", &task));
        let writes = futures_util::future::join_all(writes);
        let writes = in_time(NEVER, writes).await;
        let healthy = in_time(NEVER, client.get("/healthz")).await;
        let ready = in_time(NEVER, client.get("/readyz")).await;
        disk.freeze(false);
        writes.iter().for_each(is_unavailable);
        assert_eq!((healthy.status.as_u16(), ready.status.as_u16()), (200, 503));
        eventually("ready", async || client.get("/readyz").await.status == 200).await;
        client.post("/v1/tasks", &storefront()).await.expect(201);
        assert_eq!(server.terminate(), Some(0));
    });
}

/// A file system of its own, which can be frozen.
struct Disk {
    folder: tempfile::TempDir,
    _image: tempfile::TempDir,
}

impl Disk {
    fn mount() -> Self {
        let (folder, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = image.path().join("disk");
        std::fs::File::create(&file)
            .and_then(|file| file.set_len(64 << 20))
            .unwrap();
        let file = file.to_str().unwrap();
        run("mkfs.ext4", &["-q", file]);
        run(
            "mount",
            &["-o", "loop", file, folder.path().to_str().unwrap()],
        );
        Self {
            folder,
            _image: image,
        }
    }

    fn freeze(&self, frozen: bool) {
        let how = if frozen { "--freeze" } else { "--unfreeze" };
        run("fsfreeze", &[how, self.folder.path().to_str().unwrap()]);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let folder = self.folder.path().to_str().unwrap();
        let _ = std::process::Command::new("fsfreeze")
            .args(["--unfreeze", folder])
            .stderr(std::process::Stdio::null())
            .status();
        let _ = std::process::Command::new("umount").arg(folder).status();
    }
}

fn run(program: &str, arguments: &[&str]) {
    let done = std::process::Command::new(program).args(arguments).status();
    assert!(done.unwrap().success(), "{program} {arguments:?}");
}
