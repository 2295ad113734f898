//! Signals that stop the server.

use std::time::Duration;

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
    tokio::spawn(stop(terminate, interrupt, shutdown, drain));
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
