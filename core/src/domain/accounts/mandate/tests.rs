use std::collections::BTreeMap;

use super::spending::{Spending, Warned};
use super::*;
use crate::domain::testing::cases;
use crate::domain::{Location, Priority, ProofType};
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    Timestamp::RULE.check(text).unwrap()
}

fn now() -> Timestamp {
    at("2026-11-16T12:00:00Z")
}

fn mandate() -> Mandate {
    Mandate {
        permissions: Permission::ALL.iter().copied().collect(),
        max_task_cents: None,
        spending_limits: SpendingLimits::default(),
        max_open_tasks: None,
        max_tasks_per_day: None,
        categories: Vec::new(),
        task_types: Vec::new(),
        area: None,
        states: Vec::new(),
        approval_above_cents: None,
        review_up_to_cents: None,
        expires_at: None,
        paused: false,
    }
}

fn task(budget_cents: i64) -> NewTask {
    NewTask {
        title: "Photograph the storefront".to_owned(),
        description: "One photo of the entrance.".to_owned(),
        instructions: None,
        category: Category::ALL[0],
        required_skills: Vec::new(),
        location: Location {
            address: None,
            city: "Brooklyn".to_owned(),
            state: "NY".to_owned(),
            latitude: 40.7,
            longitude: -73.95,
        },
        budget_cents,
        task_type: TaskType::Standard,
        priority: Priority::ALL[0],
        deadline: None,
        proof_types: vec![ProofType::Photo],
        metadata: "{}".to_owned(),
        quoted_fee_percent: None,
    }
}

fn limits_of(refusals: &[Refusal]) -> Vec<&'static str> {
    refusals.iter().map(|refusal| refusal.limit).collect()
}

#[test]
fn a_set_has_what_was_put_into_it_and_nothing_else() {
    for permission in Permission::ALL {
        let set: Permissions = [*permission].into_iter().collect();
        assert_eq!(set.list(), [*permission]);
        assert_eq!(Permissions::from_bits(set.bits()), set);
    }
    let all: Permissions = Permission::ALL.iter().copied().collect();
    assert_eq!(all.list(), Permission::ALL);
}

#[test]
fn limits_that_contradict_each_other_are_named() {
    type Change = fn(&mut Mandate);
    let contradictions: [(Change, &str); 8] = [
        (|m| m.expires_at = Some(now()), "expires_at"),
        (
            |m| (m.spending_limits.day, m.spending_limits.month) = (Some(2), Some(1)),
            "spending_limits",
        ),
        (
            |m| (m.spending_limits.month, m.spending_limits.total) = (Some(2), Some(1)),
            "spending_limits",
        ),
        (
            |m| (m.max_task_cents, m.spending_limits.day) = (Some(600), Some(500)),
            "max_task_cents",
        ),
        (
            |m| (m.approval_above_cents, m.max_task_cents) = (Some(600), Some(500)),
            "approval_above_cents",
        ),
        (
            |m| {
                m.permissions = [Permission::Read].into_iter().collect();
                m.review_up_to_cents = Some(500);
            },
            "review_up_to_cents",
        ),
        (
            |m| {
                m.states = vec!["NY".to_owned()];
                m.area = Some(around_brooklyn(1.0));
            },
            "states",
        ),
        (
            |m| m.expires_at = Some(now().minus(USUAL_LIFE)),
            "expires_at",
        ),
    ];
    let granted = mandate().granted(now()).unwrap();
    assert_eq!(granted.expires_at, Some(now().plus(USUAL_LIFE)));
    for (contradict, field) in contradictions {
        let mut changed = mandate();
        contradict(&mut changed);
        let faults = changed.granted(now()).unwrap_err();
        assert_eq!(faults.count(), 1, "{field}");
        assert_eq!(faults.kept()[0].field, field);
    }
}

fn around_brooklyn(radius_km: f64) -> Area {
    let center = Point {
        latitude: 40.7,
        longitude: -73.94,
    };
    Area { center, radius_km }
}

#[test]
fn every_limit_that_a_task_breaks_is_named() {
    let mut strict = mandate();
    strict.max_task_cents = Some(1_000);
    strict.categories = vec![Category::ALL[1]];
    strict.task_types = vec![TaskType::Bounty];
    strict.area = Some(around_brooklyn(0.1));
    strict.states = vec!["NJ".to_owned()];
    let broken = strict.refusals(&task(1_001));
    let all = [
        "max_task_cents",
        "categories",
        "task_types",
        "area",
        "states",
    ];
    assert_eq!(limits_of(&broken), all);
    strict.categories.push(Category::ALL[0]);
    strict.task_types.push(TaskType::Standard);
    strict.area = Some(around_brooklyn(1.0));
    strict.states.push("NY".to_owned());
    assert_eq!(strict.refusals(&task(1_000)), []);
}

#[test]
fn a_person_agrees_to_what_is_above_the_limit() {
    let mut asks = mandate();
    assert_eq!(asks.needs_approval(i64::MAX), None);
    asks.approval_above_cents = Some(2_000);
    assert_eq!(asks.needs_approval(2_000), None);
    let why = Refusal::new(
        "approval_above_cents",
        "a person agrees to tasks above 2000 cents",
    );
    assert_eq!(asks.needs_approval(2_001), Some(why));
}

#[test]
fn a_verdict_names_what_stands_in_the_way_before_it_asks_a_person() {
    let mut limited = mandate();
    limited.approval_above_cents = Some(1_000);
    limited.spending_limits.day = Some(2_000);
    let nothing = Spending::default();
    let verdict = |cents| limited.verdict(nothing, &task(cents), now());
    assert_eq!(verdict(1_000), Verdict::Allowed);
    let Verdict::ApprovalRequired(limit) = verdict(1_001) else {
        panic!("a task that a person agrees to");
    };
    assert_eq!(limit.limit, "approval_above_cents");
    let Verdict::Denied(refusals) = verdict(2_001) else {
        panic!("a task above the limit of the day");
    };
    assert_eq!(limits_of(&refusals), ["spending_limits.day"]);
}

#[test]
fn a_key_may_do_what_its_mandate_names() {
    let limits = KeyLimits {
        permissions: [Permission::Read].into_iter().collect(),
        paused: false,
        expires_at: now().plus(USUAL_LIFE),
        review_up_to_cents: Some(500),
    };
    let read = Needs::Permission(Permission::Read);
    assert_eq!(limits.allow(read, now()), Ok(()));
    let review = Needs::Permission(Permission::Review);
    let missing = Err(Denied::Missing(Permission::Review));
    assert_eq!(limits.allow(review, now()), missing);
    for needs in [Needs::Unlimited, Needs::WholeAccount] {
        assert_eq!(limits.allow(needs, now()), Err(Denied::HasMandate));
    }
    let expired = limits.expires_at;
    assert_eq!(limits.allow(read, expired), Err(Denied::Expired));
    let paused = KeyLimits {
        paused: true,
        ..limits
    };
    assert_eq!(paused.allow(read, now()), Err(Denied::Paused));
    // It can still ask why.
    assert_eq!(paused.allow(Needs::Nothing, expired), Ok(()));
    assert_eq!(limits.refuses_review(500), None);
    assert!(limits.refuses_review(501).is_some());
}

#[test]
fn a_day_and_a_month_begin_at_midnight() {
    let mut limited = mandate();
    limited.spending_limits.day = Some(1_000);
    limited.spending_limits.month = Some(1_500);
    let evening = at("2026-11-29T23:59:59.999Z");
    let spent = Spending::default().reserve(1_000, evening);
    let day = ["spending_limits.day", "spending_limits.month"];
    assert_eq!(limits_of(&limited.exceeded(spent, 600, evening)), day);
    let next_day = at("2026-11-30T00:00:00Z");
    let month = ["spending_limits.month"];
    assert_eq!(limits_of(&limited.exceeded(spent, 600, next_day)), month);
    let next_month = at("2026-12-01T00:00:00Z");
    let resets = |limit| Mandate::resets_at(limit, evening);
    assert_eq!(resets("max_tasks_per_day"), Some(next_day));
    assert_eq!(resets("spending_limits.day"), Some(next_day));
    assert_eq!(resets("spending_limits.month"), Some(next_month));
    assert_eq!(resets("spending_limits.total"), None);
    assert_eq!(limited.exceeded(spent, 1_000, next_month), []);
}

#[test]
fn a_day_and_a_month_never_go_back() {
    let (before, after) = (at("2026-11-30T23:59:58Z"), at("2026-12-01T00:00:02Z"));
    let spent = Spending::default().reserve(900, before);
    let spent = spent.reserve(500, after).reserve(300, before);
    assert_eq!((spent.day, spent.month), (after.day(), after.month()));
    assert_eq!((spent.day_cents, spent.month_cents), (800, 800));
    assert_eq!((spent.day_tasks, spent.total_cents), (2, 1_700));
    // Counted for December and dated in November: it does not come back to December.
    let closed = spent.close(300, 300, before);
    assert_eq!((closed.day_cents, closed.month_cents), (800, 800));
    assert_eq!(spent.close(500, 500, after).day_cents, 300);
    let mut limited = mandate();
    limited.spending_limits.day = Some(900);
    let (told, warned) = limited.to_tell(spent, Warned::default(), before);
    assert_eq!(told.len(), 1);
    assert_eq!(limited.to_tell(spent, warned, after).0, []);
}

#[test]
fn what_comes_back_counts_for_the_interval_it_was_spent_in() {
    let monday = at("2026-11-30T10:00:00Z");
    let tuesday = at("2026-12-01T10:00:00Z");
    let spent = Spending::default().reserve(900, monday);
    assert_eq!(spent.close(900, 900, monday).day_cents, 0);
    let later = spent.reserve(500, tuesday).close(900, 900, monday);
    assert_eq!((later.day_cents, later.month_cents), (500, 500));
    assert_eq!((later.total_cents, later.open_tasks), (500, 1));
}

#[test]
fn an_owner_is_told_once_in_each_interval() {
    let mut limited = mandate();
    limited.spending_limits.day = Some(1_000);
    limited.spending_limits.total = Some(10_000);
    limited.max_open_tasks = Some(1);
    let monday = at("2026-11-30T10:00:00Z");
    let spent = Spending::default().reserve(799, monday);
    let (told, warned) = limited.to_tell(spent, Warned::default(), monday);
    assert_eq!((told, warned), (Vec::new(), Warned::default()));
    let spent = spent.reserve(1, monday);
    let (told, warned) = limited.to_tell(spent, warned, monday);
    let used = Use {
        limit: 1_000,
        used: 800,
    };
    assert_eq!(told, [("spending_limits.day", used)]);
    assert_eq!(limited.to_tell(spent, warned, monday).0, []);
    let tuesday = at("2026-12-01T10:00:00Z");
    assert_eq!(limited.to_tell(spent, warned, tuesday).0, []);
    let spent = spent.reserve(900, tuesday);
    assert_eq!(limited.to_tell(spent, warned, tuesday).0.len(), 1);
}

proptest! {
    #![proptest_config(cases(500))]

    /// Whatever is created and given back: nobody spends more than the limits, in any interval.
    #[test]
    fn no_order_of_tasks_exceeds_a_limit(
        steps in prop::collection::vec((500_i64..3_000, 0_u64..100, any::<bool>()), 1..60),
        total in 1_000_i64..20_000,
    ) {
        let mut limited = mandate();
        limited.spending_limits = SpendingLimits {
            day: Some(total / 4),
            month: Some(total / 2),
            total: Some(total),
        };
        limited.max_open_tasks = Some(5);
        let mut now = now();
        let mut spent = Spending::default();
        let mut open: Vec<(i64, Timestamp)> = Vec::new();
        for (budget, hours, creates) in steps {
            now = now.plus(Duration::from_secs(hours * 3_600));
            if creates && limited.exceeded(spent, budget, now).is_empty() {
                spent = spent.reserve(budget, now);
                open.push((budget, now));
            } else if let Some((budget, created_at)) = open.pop() {
                spent = spent.close(budget, budget / 2, created_at);
            }
            for (field, counted) in limited.uses(spent, now) {
                prop_assert!(counted.used <= counted.limit, "{field}");
                prop_assert!(counted.used >= 0, "{field}");
            }
            prop_assert_eq!(spent.open_tasks, open.len() as i64);
            let budgets: i64 = open.iter().map(|(budget, _)| budget).sum();
            prop_assert_eq!(spent.open_cents, budgets);
        }
    }

    /// Servers whose clocks differ: a day and a month end once, and none has more than its limit.
    #[test]
    fn no_clock_begins_a_day_or_a_month_again(
        steps in prop::collection::vec((500_i64..1_500, 0_u64..30, 0_u64..7_200), 1..80),
    ) {
        let mut limited = mandate();
        limited.spending_limits.day = Some(2_000);
        limited.spending_limits.month = Some(20_000);
        let mut now = now();
        let mut spent = Spending::default();
        let (mut days, mut months) = (BTreeMap::new(), BTreeMap::new());
        for (budget, hours, behind) in steps {
            now = now.plus(Duration::from_secs(hours * 3_600));
            let seen = now.minus(Duration::from_secs(behind));
            if !limited.exceeded(spent, budget, seen).is_empty() {
                continue;
            }
            let before = spent;
            spent = spent.reserve(budget, seen);
            prop_assert!(spent.day >= before.day && spent.month >= before.month);
            prop_assert!(spent.day >= seen.day() && spent.month >= seen.month());
            *days.entry(spent.day).or_insert(0) += budget;
            *months.entry(spent.month).or_insert(0) += budget;
            prop_assert_eq!(days[&spent.day], spent.day_cents);
            prop_assert_eq!(months[&spent.month], spent.month_cents);
        }
        prop_assert!(days.values().all(|cents| *cents <= 2_000));
        prop_assert!(months.values().all(|cents| *cents <= 20_000));
    }
}
