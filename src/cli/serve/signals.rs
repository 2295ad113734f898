//! Signals that stop the server.

use std::io::IsTerminal;
use std::time::Duration;

use rustix::process::Signal as Signals;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::shutdown::Shutdown;

/// Listens for SIGTERM and SIGINT. Once this has returned, they no longer end the process at once.
pub fn stop_on_signals(shutdown: Shutdown, drain: Duration) {
    let terminate = signal(SignalKind::terminate());
    let interrupt = signal(SignalKind::interrupt());
    let (Ok(terminate), Ok(interrupt)) = (terminate, interrupt) else {
        tracing::warn!("cannot receive signals; stop the process with SIGKILL");
        return;
    };
    // Beyond a limit of the size of files, a write fails instead. The handler stays without its stream.
    drop(signal(SignalKind::from_raw(Signals::XFSZ.as_raw())));
    // Whoever closes the terminal wants the server to end.
    if !std::io::stdin().is_terminal()
        && let Ok(hangup) = signal(SignalKind::hangup())
    {
        tokio::spawn(say_that_nothing_is_reloaded(hangup));
    }
    tokio::spawn(stop(terminate, interrupt, shutdown, drain));
}

async fn say_that_nothing_is_reloaded(mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        tracing::info!(
            "SIGHUP does nothing: new certificates are found without it, and settings are read at the start"
        );
    }
}

/// The first signal lets requests finish, after a time in which others learn that this server is
/// about to stop. A second signal ends that time; a further Ctrl-C exits at once.
async fn stop(mut terminate: Signal, mut interrupt: Signal, shutdown: Shutdown, drain: Duration) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    if !drain.is_zero() {
        tracing::info!(seconds = drain.as_secs(), "draining: /readyz answers 503");
        shutdown.drain();
        tokio::select! {
            () = tokio::time::sleep(drain) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    tracing::info!("stopping");
    shutdown.start();
    interrupt.recv().await;
    std::process::exit(1);
}
