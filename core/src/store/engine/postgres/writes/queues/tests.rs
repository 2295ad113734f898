use super::*;
use crate::store::engine::deadline;
use crate::store::engine::work::{Function, Work};

fn nothing() -> Queued {
    let (work, _) = Work::new(Function::new(|_| Ok::<_, StoreError>(())));
    Queued::new(work, &deadline::Waiting::begin())
}

fn push(queues: &Queues, lane: Option<Lane>) {
    queues.push(nothing().in_lane(lane), Mode::Write).unwrap();
}

fn lanes(queues: &Queues) -> Option<Vec<Lane>> {
    match queues.next_within(Duration::ZERO)? {
        Next::One(..) => Some(Vec::new()),
        Next::Lanes(lanes) => Some(lanes),
    }
}

#[test]
fn a_lane_is_run_by_one_at_a_time() {
    let queues = Queues::default();
    push(&queues, Some(7));
    assert_eq!(lanes(&queues), Some(vec![7]));
    push(&queues, Some(7));
    assert_eq!(lanes(&queues), None);
    assert!(queues.take_from(7).is_some());
    assert!(queues.take_from(7).is_some());
    push(&queues, Some(7));
    queues.end_batch(&[7]);
    assert_eq!(lanes(&queues), Some(vec![7]));
}

#[test]
fn a_busy_lane_goes_to_the_end_of_the_line() {
    let queues = Queues::default();
    (0..1_000).for_each(|_| push(&queues, Some(1)));
    assert_eq!(lanes(&queues), Some(vec![1]));
    push(&queues, Some(2));
    queues.end_batch(&[1]);
    assert_eq!(lanes(&queues), Some(vec![2]), "one for each of two batches");
    assert_eq!(lanes(&queues), Some(vec![1]));
}

#[test]
fn batches_and_single_transactions_take_turns() {
    let queues = Queues::default();
    for lane in 1..=4 {
        push(&queues, Some(lane));
        push(&queues, None);
    }
    assert_eq!(lanes(&queues), Some(vec![1, 2]));
    assert_eq!(lanes(&queues), Some(vec![]));
    assert_eq!(lanes(&queues), Some(vec![3, 4]));
    assert_eq!(lanes(&queues), Some(vec![]));
    assert_eq!(queues.len(), 4 + 2);
}

/// When the single transaction began that was taken.
fn begun(waiting: &mut Waiting, now: Instant) -> Option<Instant> {
    match waiting.take(now)? {
        Next::One(single) => single.begun,
        Next::Lanes(_) => panic!("a batch"),
    }
}

#[test]
fn so_many_single_transactions_run_until_one_ends_or_is_stuck() {
    let mut waiting = Waiting::default();
    waiting.running.at_once = Some(2);
    for mode in [Mode::Read, Mode::Write, Mode::Snapshot].repeat(2) {
        waiting.push(nothing(), mode);
    }
    let first = Instant::now();
    let next = first + STUCK / 4;
    assert_eq!(begun(&mut waiting, first), Some(first));
    assert_eq!(begun(&mut waiting, next), Some(next));
    assert_eq!(begun(&mut waiting, next), None);
    assert_eq!(waiting.until_next(next), Some(STUCK - STUCK / 4));
    waiting.running.end(next);
    assert_eq!(begun(&mut waiting, next), Some(next));
    assert_eq!(begun(&mut waiting, next), None);
    assert_eq!(begun(&mut waiting, first + STUCK), Some(first + STUCK));
    assert_eq!(begun(&mut waiting, first + STUCK), None);
    waiting.closed = true;
    assert_eq!(begun(&mut waiting, first + STUCK), Some(first + STUCK));
    waiting.closed = false;
    assert_eq!(begun(&mut waiting, first + STUCK), None);
    waiting.running.at_once = None;
    assert_eq!(begun(&mut waiting, first + STUCK), Some(first + STUCK));
}

#[test]
fn one_that_has_left_its_batch_is_not_counted() {
    let later = Instant::now() + Duration::from_secs(3_600);
    let queues = Queues::default();
    queues.lock().running.at_once = Some(1);
    queues.push_alone(nothing().in_lane(Some(1)));
    let next = queues.next_within(Duration::ZERO);
    assert!(matches!(next, Some(Next::One(single)) if single.begun.is_none()));
    queues.lock().running.begun = vec![later];
    queues.push_alone(nothing().in_lane(Some(1)));
    assert_eq!(lanes(&queues), Some(Vec::new()));
    push(&queues, None);
    assert_eq!(lanes(&queues), None);
}

#[test]
fn one_that_only_waits_for_its_commit_is_not_counted() {
    let later = Instant::now() + Duration::from_secs(3_600);
    let queues = Queues::default();
    queues.lock().running = Singles {
        begun: vec![later],
        at_once: Some(1),
    };
    push(&queues, None);
    let mut turn = queues.turn(Some(later));
    assert_eq!(lanes(&queues), None);
    turn.end();
    assert_eq!(lanes(&queues), Some(Vec::new()));
    queues.lock().running.begun = vec![later];
    push(&queues, None);
    drop(turn);
    assert_eq!(lanes(&queues), None, "it had ended before");
    drop(queues.turn(Some(later)));
    assert_eq!(lanes(&queues), Some(Vec::new()));
}

/// What has begun "later" has not run for any time yet, however slow the test is.
#[test]
fn somebody_watches_for_what_may_begin_first() {
    let mut waiting = Waiting::default();
    let later = Instant::now() + Duration::from_secs(3_600);
    waiting.running.at_once = Some(1);
    waiting.running.begun = vec![later];
    waiting.batches = BATCHES;
    waiting.batch_begun = Some(later);
    assert!(waiting.push(nothing(), Mode::Read), "nobody watches");
    waiting.watched = Some(later);
    assert!(waiting.push(nothing().in_lane(Some(1)), Mode::Write));
    waiting.watched = Some(Instant::now());
    assert!(!waiting.push(nothing().in_lane(Some(2)), Mode::Write));
}

#[test]
fn a_batch_more_begins_when_none_has_begun_for_a_while() {
    let mut waiting = Waiting::default();
    let now = Instant::now();
    for lane in 0..=BATCHES {
        waiting.push(nothing().in_lane(Some(lane as Lane)), Mode::Write);
        assert_eq!(waiting.take(now).is_some(), lane < BATCHES);
    }
    assert_eq!(waiting.until_next(now), Some(PATIENCE));
    assert!(waiting.take(now + PATIENCE).is_some());
}

#[test]
fn what_waited_before_is_taken_out() {
    let queues = Queues::default();
    push(&queues, Some(1));
    push(&queues, None);
    assert_eq!(queues.drain(Instant::now()).len(), 2);
    assert_eq!(queues.len(), 0);
    assert_eq!(lanes(&queues), None);
    push(&queues, Some(1));
    assert_eq!(lanes(&queues), Some(vec![1]));
}

#[test]
fn there_is_room_for_so_many() {
    let queues = Queues::default();
    (0..QUEUE as u128).for_each(|lane| push(&queues, Some(lane % 50)));
    assert!(queues.push(nothing(), Mode::Read).is_err());
}

#[test]
fn what_waits_still_runs_when_it_is_closed() {
    let queues = Queues::default();
    push(&queues, Some(1));
    push(&queues, None);
    queues.close();
    assert!(queues.next(None).is_some() && queues.next(None).is_some());
    assert!(queues.take_from(1).is_some());
    queues.end_batch(&[1]);
    assert!(queues.next(None).is_none());
    assert!(queues.is_over());
}

#[test]
fn who_began_to_wait_last_is_woken_first() {
    let queues = Queues::default();
    let (woken, order) = std::sync::mpsc::channel();
    let seen = std::thread::scope(|threads| {
        for number in 1..=3 {
            let (queues, woken) = (&queues, woken.clone());
            threads.spawn(move || {
                if queues.next(None).is_some() {
                    woken.send(number).unwrap();
                }
            });
            while queues.lock().idle.len() < number {
                std::thread::yield_now();
            }
        }
        let next = || {
            push(&queues, None);
            order.recv().unwrap()
        };
        let seen = [next(), next()];
        queues.close();
        seen
    });
    assert_eq!(seen, [3, 2]);
}
