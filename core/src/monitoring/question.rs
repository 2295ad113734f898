//! A question to something that may hang.

use std::future::Future;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Asked once at a time however many want to know, with a time limit. An answer is used for a while.
pub struct Question<T> {
    state: Mutex<State<T>>,
    answer_lasts: Duration,
    patience: Duration,
}

struct State<T> {
    /// Still waiting for an answer. Nobody asks again before it has come, so that nothing piles up
    /// behind what hangs.
    asking: Option<JoinHandle<T>>,
    answered: Option<(Instant, T)>,
}

impl<T: Clone + Send + 'static> Question<T> {
    pub fn new(answer_lasts: Duration, patience: Duration) -> Self {
        Self {
            state: Mutex::new(State {
                asking: None,
                answered: None,
            }),
            answer_lasts,
            patience,
        }
    }

    /// `None` when there is no answer in time.
    pub async fn ask<F>(&self, ask: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        timeout(self.patience, self.answer(ask))
            .await
            .ok()
            .flatten()
    }

    async fn answer<F>(&self, ask: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let wanted = Instant::now();
        let mut state = self.state.lock().await;
        // An answer that came while this one waited for its turn is as good as one of its own.
        if let Some((at, answer)) = &state.answered
            && (*at >= wanted || at.elapsed() < self.answer_lasts)
        {
            return Some(answer.clone());
        }
        // An answer that came after everybody had stopped waiting is an old one.
        if state.asking.as_ref().is_some_and(JoinHandle::is_finished) {
            state.asking = None;
        }
        let asking = state.asking.get_or_insert_with(|| tokio::spawn(ask()));
        let answer = asking.await.ok();
        state.asking = None;
        state.answered = answer.clone().map(|answer| (Instant::now(), answer));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Notify;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(20);

    /// Counts how often it is asked. Answers the count, after `go` has been notified.
    struct Peer {
        asked: AtomicUsize,
        go: Notify,
    }

    fn peer() -> Arc<Peer> {
        Arc::new(Peer {
            asked: AtomicUsize::new(0),
            go: Notify::new(),
        })
    }

    async fn asked(peer: Arc<Peer>) -> usize {
        let asked = peer.asked.fetch_add(1, Ordering::SeqCst) + 1;
        peer.go.notified().await;
        asked
    }

    #[tokio::test]
    async fn many_who_ask_at_once_get_one_answer() {
        let (question, peer) = (Question::new(LONG, LONG), peer());
        peer.go.notify_one();
        let ask = || question.ask(|| asked(peer.clone()));
        let answers = tokio::join!(ask(), ask(), ask());
        assert_eq!(answers, (Some(1), Some(1), Some(1)));
        assert_eq!(ask().await, Some(1));
    }

    #[tokio::test]
    async fn who_waited_while_it_was_asked_shares_the_answer() {
        let (question, peer) = (Question::new(Duration::ZERO, LONG), peer());
        peer.go.notify_one();
        let ask = || question.ask(|| asked(peer.clone()));
        let answers = tokio::join!(ask(), ask(), ask());
        assert_eq!(answers, (Some(1), Some(1), Some(1)));
    }

    #[tokio::test]
    async fn what_hangs_is_asked_once_and_again_when_it_has_answered() {
        let (question, peer) = (Question::new(Duration::ZERO, SHORT), peer());
        let ask = || question.ask(|| asked(peer.clone()));
        for _ in 0..3 {
            assert_eq!(ask().await, None);
        }
        assert_eq!(peer.asked.load(Ordering::SeqCst), 1);
        peer.go.notify_one();
        while !question
            .state
            .lock()
            .await
            .asking
            .as_ref()
            .unwrap()
            .is_finished()
        {
            tokio::task::yield_now().await;
        }
        peer.go.notify_one();
        assert_eq!(ask().await, Some(2), "not the old answer");
    }

    #[tokio::test]
    async fn a_panic_is_no_answer() {
        let question: Question<()> = Question::new(LONG, LONG);
        assert_eq!(question.ask(|| async { panic!("a test") }).await, None);
        assert_eq!(question.ask(|| async {}).await, Some(()));
    }
}
