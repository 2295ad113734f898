//! Coverage: whether somebody will do a task, how soon, and for how much. From totals that are kept by
//! square, in steps that are so coarse that they tell of nobody in particular.

use std::time::Duration;

use crate::domain::geo::GridSquare;
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::pricing::MAX_BUDGET_CENTS;
use crate::domain::workers::MAX_RADIUS_KM;
use crate::domain::{CheckedSkills, Skill, Worker, WorkerStatus};

string_enum!(
    /// How many workers can accept a task.
    WorkersNearby {
        Nobody = "0",
        Few = "1-5",
        Some = "6-20",
        Many = "20+",
    }
);

impl WorkersNearby {
    /// With more than this, it does not matter how many more.
    pub const ENOUGH: i64 = 21;

    pub const fn of(workers: i64) -> Self {
        match workers {
            ..1 => Self::Nobody,
            1..6 => Self::Few,
            6..Self::ENOUGH => Self::Some,
            _ => Self::Many,
        }
    }
}

/// What is known of tasks like one that is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    pub workers: WorkersNearby,
    pub accepted: Option<AcceptedTasks>,
}

impl Coverage {
    /// In test there is the simulated worker, who is everywhere.
    pub const OF_TEST: Self = Self {
        workers: WorkersNearby::Few,
        accepted: None,
    };
}

/// Tasks of a category that were accepted in a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedTasks {
    /// Half of them were accepted within so many hours, and nine of ten.
    pub half_within_hours: i64,
    pub most_within_hours: i64,
    /// Half of them had at most this budget.
    pub usual_budget_cents: Option<i64>,
}

/// So many accepted tasks of one kind. Both numbers are the upper ends of their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedStep {
    pub hours_up_to: i64,
    pub cents_up_to: i64,
    pub tasks: i64,
}

const HOURS: [i64; 11] = [1, 2, 4, 8, 12, 24, 48, 72, 168, 336, 720];
const CENTS: [i64; 21] = [
    500,
    750,
    1_000,
    1_500,
    2_000,
    2_500,
    3_000,
    4_000,
    5_000,
    7_500,
    10_000,
    15_000,
    20_000,
    30_000,
    50_000,
    75_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    MAX_BUDGET_CENTS,
];

/// Fewer tasks tell nothing, and too much about each.
const ENOUGH_TASKS: i64 = 5;

impl AcceptedStep {
    /// The step of a task that was accepted after so long.
    pub fn of(waited: Duration, budget_cents: i64) -> Self {
        let hours = i64::try_from(waited.as_secs().div_ceil(60 * 60)).unwrap_or(i64::MAX);
        Self {
            hours_up_to: upper_end(&HOURS, hours),
            cents_up_to: upper_end(&CENTS, budget_cents),
            tasks: 1,
        }
    }
}

/// The first step that a number fits in, or the last.
fn upper_end(steps: &[i64], number: i64) -> i64 {
    let fitting = steps.iter().find(|step| number <= **step);
    *fitting.or(steps.last()).unwrap_or(&number)
}

impl AcceptedTasks {
    /// None if there are too few.
    pub fn of(steps: &[AcceptedStep]) -> Option<Self> {
        let all: i64 = steps.iter().map(|step| step.tasks).sum();
        if all < ENOUGH_TASKS {
            return None;
        }
        let hours = |percent| quantile(steps, |step| step.hours_up_to, all, percent);
        let budget = quantile(steps, |step| step.cents_up_to, all, 50);
        Some(Self {
            half_within_hours: hours(50),
            most_within_hours: hours(90),
            // The last step has no end that says anything.
            usual_budget_cents: Some(budget).filter(|cents| *cents < MAX_BUDGET_CENTS),
        })
    }
}

/// The least number that so many percent of the tasks do not exceed.
fn quantile(
    steps: &[AcceptedStep],
    number: impl Fn(&AcceptedStep) -> i64,
    all: i64,
    percent: i64,
) -> i64 {
    let mut sorted: Vec<_> = steps
        .iter()
        .map(|step| (number(step), step.tasks))
        .collect();
    sorted.sort_unstable();
    let mut seen = 0;
    for (number, tasks) in sorted {
        seen += tasks;
        if seen * 100 >= all * percent {
            return number;
        }
    }
    0
}

/// How far workers go, in steps of so many kilometres.
pub const REACHES_KM: [i64; 6] = [5, 10, 25, 50, 100, 200];
const _: () = assert!(REACHES_KM[5] as f64 >= MAX_RADIUS_KM);

/// The middle of a worker's square can be this much further away than the worker goes: squares are about
/// 20 km wide.
pub const SLACK_METERS: f64 = 10_000.0;

/// As what a worker is counted who can accept tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedWorker {
    pub home: GridSquare,
    pub reach_km: i64,
    /// Those that count, sorted.
    pub skills: Vec<Skill>,
}

impl CountedWorker {
    /// None for a worker who cannot accept tasks, or who does not say from where.
    pub fn of(worker: &Worker, can_be_paid: bool, checked: &CheckedSkills) -> Option<Self> {
        let home = worker.home?;
        if worker.status != WorkerStatus::Verified || !can_be_paid {
            return None;
        }
        let mut skills = worker.counting_skills(checked);
        skills.sort_by_key(|skill| skill.as_str());
        skills.dedup();
        Some(Self {
            home: GridSquare::of(home),
            reach_km: upper_end(&REACHES_KM, worker.radius_km.ceil() as i64),
            skills,
        })
    }
}

/// Whether workers of a square who go so far come to a place in another.
pub fn comes(from: GridSquare, reach_km: i64, to: GridSquare) -> bool {
    let meters = from.middle().distance_meters(to.middle());
    meters <= reach_meters(reach_km)
}

/// How far the squares of workers can be who go so far.
pub fn reach_meters(reach_km: i64) -> f64 {
    reach_km as f64 * 1_000.0 + SLACK_METERS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(hours_up_to: i64, cents_up_to: i64, tasks: i64) -> AcceptedStep {
        AcceptedStep {
            hours_up_to,
            cents_up_to,
            tasks,
        }
    }

    #[test]
    fn workers_are_told_in_steps() {
        for (workers, word) in [
            (-1, "0"),
            (0, "0"),
            (1, "1-5"),
            (5, "1-5"),
            (6, "6-20"),
            (20, "6-20"),
            (21, "20+"),
            (1_000_000, "20+"),
        ] {
            assert_eq!(WorkersNearby::of(workers).as_str(), word, "{workers}");
        }
    }

    #[test]
    fn a_task_counts_in_the_step_that_it_fits_in() {
        let hour = Duration::from_secs(60 * 60);
        for (waited, budget, hours, cents) in [
            (Duration::ZERO, 500, 1, 500),
            (hour, 501, 1, 750),
            (hour + Duration::from_secs(1), 2_500, 2, 2_500),
            (hour * 721, 1_000_001, 720, MAX_BUDGET_CENTS),
        ] {
            assert_eq!(AcceptedStep::of(waited, budget), step(hours, cents, 1));
        }
        assert!(HOURS.is_sorted() && CENTS.is_sorted() && REACHES_KM.is_sorted());
    }

    #[test]
    fn few_tasks_tell_nothing() {
        assert_eq!(AcceptedTasks::of(&[]), None);
        assert_eq!(AcceptedTasks::of(&[step(1, 500, 4)]), None);
        let told = AcceptedTasks::of(&[step(1, 500, 5)]).unwrap();
        assert_eq!((told.half_within_hours, told.most_within_hours), (1, 1));
        assert_eq!(told.usual_budget_cents, Some(500));
    }

    #[test]
    fn half_and_most_are_read_from_the_steps() {
        let steps = [
            step(48, 1_000, 2),
            step(1, 5_000, 3),
            step(4, 2_500, 4),
            step(720, 500, 1),
        ];
        let told = AcceptedTasks::of(&steps).unwrap();
        assert_eq!(told.half_within_hours, 4);
        assert_eq!(told.most_within_hours, 48);
        assert_eq!(told.usual_budget_cents, Some(2_500));
        let dear = AcceptedTasks::of(&[step(1, MAX_BUDGET_CENTS, 9)]).unwrap();
        assert_eq!(dear.usual_budget_cents, None);
    }
}
