//! The threads that look at files: few, and always the same ones.
//!
//! A picture takes some 50 MB while it is looked at, and the allocator keeps for each thread a part of what
//! that thread has freed. The runtime runs blocking work on any of hundreds of threads. If each of them had
//! once looked at a picture, that would be gigabytes.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::thread;

use crossbeam_channel::{Receiver, Sender, never, select, unbounded};
use tokio::sync::oneshot;

/// Each takes a core, and up to 30 MB beside the file itself.
const MOST: usize = 4;

/// What a file is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Proof,
    /// Whoever sends it is not known yet, and may send what takes long. So proofs come first, and one thread is
    /// left to them.
    Document,
}

type Work = Box<dyn FnOnce() + Send>;

struct Queues {
    proofs: Sender<Work>,
    documents: Sender<Work>,
}

static QUEUES: LazyLock<Queues> = LazyLock::new(|| {
    let (proofs, queue_of_proofs) = unbounded();
    let (documents, queue_of_documents) = unbounded();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    for number in 0..cores.clamp(2, MOST) {
        let proofs = queue_of_proofs.clone();
        let documents = match number {
            0 => never(),
            _ => queue_of_documents.clone(),
        };
        let started = thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || work_off(&proofs, &documents));
        if let Err(error) = started {
            tracing::error!(%error, "a thread that looks at files cannot be started");
        }
    }
    Queues { proofs, documents }
});

fn work_off(proofs: &Receiver<Work>, documents: &Receiver<Work>) {
    loop {
        let next = proofs.try_recv().or_else(|_| {
            select! {
                recv(proofs) -> work => work,
                recv(documents) -> work => work,
            }
        });
        let Ok(work) = next else { return };
        // Whoever waits is told, and the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(work));
    }
}

/// Runs work on one of the threads. Work that waits takes next to no memory, and is dropped when its caller
/// has stopped waiting. None if it panicked.
pub async fn run<T: Send + 'static>(
    purpose: Purpose,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (answer, done) = oneshot::channel();
    let work = move || {
        if !answer.is_closed() {
            let _ = answer.send(work());
        }
    };
    let queue = match purpose {
        Purpose::Proof => &QUEUES.proofs,
        Purpose::Document => &QUEUES.documents,
    };
    queue.send(Box::new(work)).ok()?;
    done.await.ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn few_threads_do_all_the_work() {
        let threads =
            join_all((0..100).map(|_| run(Purpose::Proof, || thread::current().id()))).await;
        let threads: Option<HashSet<_>> = threads.into_iter().collect();
        assert!((1..=MOST).contains(&threads.unwrap().len()));
    }

    #[tokio::test]
    async fn a_panic_costs_one_answer() {
        for _ in 0..2 * MOST {
            assert_eq!(
                run(Purpose::Proof, || panic!("a decoder")).await,
                None::<()>
            );
        }
        assert_eq!(run(Purpose::Proof, || 7).await, Some(7));
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_not_done() {
        let (open, gate) = crossbeam_channel::bounded::<()>(0);
        let held: Vec<_> = (0..MOST)
            .map(|_| {
                let gate = gate.clone();
                tokio::spawn(run(Purpose::Document, move || gate.recv()))
            })
            .collect();
        let (begun, begins) = crossbeam_channel::unbounded();
        let given_up = tokio::spawn(run(Purpose::Document, move || begun.send(())));
        // Documents keep nobody from looking at proofs.
        assert_eq!(run(Purpose::Proof, || 7).await, Some(7));
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        drop(open);
        join_all(held).await;
        assert!(begins.recv().is_err(), "it was dropped");
    }
}
