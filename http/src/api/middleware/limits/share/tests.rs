//! Several processes on one database, in a time that the test makes.

use super::*;
use crate::domain::Timestamp;
use crate::domain::accounts::rate_limit::Bucket;

const QUOTAS: [u32; 4] = [600, 3_000, 12_000, 60_000];
/// How long a settlement takes, in milliseconds.
const ROUND_TRIP: u64 = 7;

struct World {
    quota: u32,
    millis: u64,
    start: Instant,
    bucket: Bucket,
    processes: Vec<Process>,
}

struct Process {
    share: Share,
    /// What is on its way, and when it is there.
    asked: Option<(Settlement, u64)>,
    waiting: u32,
    passed: u32,
    refused: u32,
    writes: u32,
}

impl World {
    fn new(processes: usize, quota: u32) -> Self {
        let start = Instant::now();
        let process = || Process {
            share: Share::new(quota, start),
            asked: None,
            waiting: 0,
            passed: 0,
            refused: 0,
            writes: 0,
        };
        Self {
            quota,
            millis: 0,
            start,
            bucket: Bucket::full(Timestamp::from_millis(0)),
            processes: (0..processes).map(|_| process()).collect(),
        }
    }

    fn slice(&self) -> u32 {
        self.quota / 60
    }

    /// A millisecond passes. `arriving` says how many requests come to a process.
    fn step(&mut self, arriving: impl Fn(usize) -> u32) {
        self.millis += 1;
        let now = self.start + Duration::from_millis(self.millis);
        let wall = Timestamp::from_millis(self.millis as i64);
        for (n, process) in self.processes.iter_mut().enumerate() {
            let jitter = (self.millis * 31 % 100) as f64 / 100.0;
            process.receive(&mut self.bucket, wall, (now, jitter));
            for _ in 0..arriving(n) {
                process.count(now);
            }
            process.send(now, self.millis);
        }
    }

    fn run(&mut self, millis: u64, arriving: impl Fn(u64, usize) -> u32) {
        for _ in 0..millis {
            let at = self.millis;
            self.step(|process| arriving(at, process));
        }
    }

    fn passed(&self) -> u32 {
        self.processes.iter().map(|process| process.passed).sum()
    }

    fn writes(&self) -> u32 {
        self.processes.iter().map(|process| process.writes).sum()
    }

    /// All that could be let through since the beginning.
    fn due(&self) -> u32 {
        self.quota + (u64::from(self.quota) * self.millis / 60_000) as u32
    }

    #[track_caller]
    fn is_exact_to_a_slice_each(&self) {
        let slack = self.slice() * self.processes.len() as u32;
        let (passed, due) = (self.passed(), self.due());
        assert!(passed <= due + slack, "{passed} of {due}");
        assert!(passed + slack >= due, "{passed} of {due}");
    }
}

impl Process {
    fn count(&mut self, now: Instant) {
        match self.share.count(1, now, false) {
            Verdict::Passes => self.passed += 1,
            Verdict::Refused { .. } => self.refused += 1,
            Verdict::Waits(_) => {
                self.waiting += 1;
                self.share.begin_waiting(1);
            }
        }
    }

    fn send(&mut self, now: Instant, millis: u64) {
        if self.asked.is_none()
            && self.share.due(now).is_some_and(|due| due <= now)
            && let Some(asked) = self.share.ask(now)
        {
            self.asked = Some((asked, millis + ROUND_TRIP));
            self.writes += 1;
        }
    }

    fn receive(&mut self, bucket: &mut Bucket, wall: Timestamp, (now, jitter): (Instant, f64)) {
        let Some((asked, _)) = self.asked.take_if(|(_, at)| *at <= wall.as_millis() as u64) else {
            return;
        };
        let (after, settled) = bucket.settle(asked, wall);
        *bucket = after;
        self.share.settled(settled, now, jitter);
        for _ in 0..std::mem::take(&mut self.waiting) {
            self.share.end_waiting(1);
            self.count(now);
        }
    }
}

#[test]
fn all_together_let_through_the_quota() {
    for quota in QUOTAS {
        let mut world = World::new(3, quota);
        world.run(90_000, |_, _| 3);
        world.is_exact_to_a_slice_each();
        assert!(world.processes.iter().all(|process| process.refused > 0));
    }
}

#[test]
fn the_load_may_be_uneven_and_move() {
    for quota in QUOTAS {
        let mut world = World::new(3, quota);
        // Each process is the busy one for ten seconds. The others get next to nothing.
        world.run(90_000, |at, process| {
            let busy = (at / 10_000) as usize % 3;
            match (process == busy, at % 100) {
                (true, _) => 3,
                (false, 0) => 1,
                (false, _) => 0,
            }
        });
        world.is_exact_to_a_slice_each();
    }
}

#[test]
fn a_whole_minute_may_come_at_once_to_one_of_them() {
    for quota in QUOTAS {
        let mut world = World::new(3, quota);
        world.step(|process| if process == 1 { quota } else { 0 });
        world.run(100, |_, _| 0);
        assert_eq!(world.passed(), quota);
        assert!(world.writes() <= 3, "{}", world.writes());
        // Nobody has anything left then, but for the credit of those who were not asked before.
        world.run(500, |_, _| 3);
        world.is_exact_to_a_slice_each();
    }
}

#[test]
fn writes_are_few() {
    for quota in QUOTAS {
        // Half of what the quota allows, for a minute, in one process.
        let mut world = World::new(1, quota);
        let every = u64::from(120_000 / quota);
        world.run(60_000, |at, _| u32::from(at % every == 0));
        assert_eq!(world.processes[0].refused, 0);
        assert!(world.writes() <= 66, "{} at {quota}", world.writes());
        // Far more than the quota allows: while the first minute's worth is used up, and then.
        let mut world = World::new(3, quota);
        world.run(30_000, |_, _| 20);
        let before = world.writes();
        world.run(60_000, |_, _| 20);
        let writes = world.writes() - before;
        assert!(writes <= 3 * 66, "{writes} at {quota}");
    }
}

#[test]
fn an_idle_caller_costs_nothing() {
    for quota in QUOTAS {
        let mut world = World::new(2, quota);
        world.run(3_000, |_, _| 2);
        world.run(10_000, |_, _| 0);
        let before = world.writes();
        world.run(100_000, |_, _| 0);
        assert_eq!(world.writes(), before);
        let now = world.start + Duration::from_millis(world.millis);
        for process in &world.processes {
            assert_eq!(process.share.due(now), None);
            assert!(process.share.is_idle(now));
        }
        // Nothing was kept back.
        let wall = Timestamp::from_millis(world.millis as i64);
        let all = Settlement {
            quota,
            spent: 0,
            wanted: quota,
        };
        assert_eq!(world.bucket.settle(all, wall).1.granted, quota);
    }
}

#[test]
fn what_one_holds_and_does_not_need_the_others_get() {
    let mut world = World::new(2, 600);
    world.run(20_000, |_, _| 1);
    // The first has stopped. Of what comes back, the second gets everything.
    world.run(3_000, |_, process| process as u32);
    let before = world.processes[1].passed;
    world.run(30_000, |_, process| process as u32);
    let passed = world.processes[1].passed - before;
    assert!((290..=310).contains(&passed), "{passed}");
}

#[test]
fn without_the_database_all_pass_and_are_recorded_later() {
    let start = Instant::now();
    let mut share = Share::new(600, start);
    for _ in 0..8 {
        assert!(matches!(share.count(1, start, false), Verdict::Passes));
    }
    let asked = share.ask(start).unwrap();
    assert_eq!(asked.spent, 8);
    share.failed();
    for _ in 0..100 {
        assert!(matches!(share.count(1, start, true), Verdict::Passes));
    }
    assert_eq!(share.ask(start).unwrap().spent, 108);
    // However long that lasts, no more than one window is held against the caller.
    share.failed();
    for _ in 0..5_000 {
        share.count(1, start, true);
    }
    assert_eq!(share.ask(start).unwrap().spent, 600);
}

#[test]
fn what_is_left_is_told() {
    let start = Instant::now();
    let mut share = Share::new(600, start);
    share.count(1, start, false);
    assert_eq!(share.remaining(start), 599);
    share.ask(start).unwrap();
    assert_eq!(share.remaining(start), 599);
    let (granted, left) = (0, 300);
    share.settled(Settled { granted, left }, start, 0.5);
    assert_eq!(share.remaining(start), 300);
    assert_eq!(share.remaining(start + Duration::from_secs(10)), 400);
}

#[test]
fn requests_that_come_together_pass_together_or_not_at_all() {
    let start = Instant::now();
    let mut share = Share::new(600, start);
    // More than a slice: the database is asked for all of them.
    assert!(matches!(share.count(99, start, false), Verdict::Waits(_)));
    share.begin_waiting(99);
    let asked = share.ask(start).unwrap();
    assert_eq!((asked.spent, asked.wanted), (0, 99));
    let (granted, left) = (98, 0);
    share.settled(Settled { granted, left }, start, 0.5);
    assert!(matches!(
        share.count(99, start, false),
        Verdict::Refused { .. }
    ));
    share.end_waiting(99);
    // What was granted is there for others.
    assert!(matches!(share.count(98, start, false), Verdict::Passes));
    assert!(matches!(
        share.count(1, start, false),
        Verdict::Refused { .. }
    ));
}
