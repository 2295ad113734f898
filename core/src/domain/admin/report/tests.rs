use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn month(text: &str) -> Month {
    Month::rule(text).unwrap()
}

fn report(month: Month, entries: &[DayEntries], escrow_at_end_cents: i64) -> MonthReport {
    MonthReport::new(
        month,
        Environment::Live,
        entries,
        &[],
        escrow_at_end_cents,
        vec![],
    )
}

#[test]
fn a_month_ends_where_the_next_begins_to_the_millisecond() {
    for (text, start, end, days) in [
        (
            "2026-11",
            "2026-11-01T00:00:00Z",
            "2026-12-01T00:00:00Z",
            30,
        ),
        (
            "2026-12",
            "2026-12-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
            31,
        ),
        (
            "2026-02",
            "2026-02-01T00:00:00Z",
            "2026-03-01T00:00:00Z",
            28,
        ),
        (
            "2028-02",
            "2028-02-01T00:00:00Z",
            "2028-03-01T00:00:00Z",
            29,
        ),
        (
            "2100-02",
            "2100-02-01T00:00:00Z",
            "2100-03-01T00:00:00Z",
            28,
        ),
        (
            "2000-02",
            "2000-02-01T00:00:00Z",
            "2000-03-01T00:00:00Z",
            29,
        ),
    ] {
        let month = month(text);
        assert_eq!(month.to_string(), text);
        assert_eq!(Ok(month.start()), Timestamp::RULE.check(start));
        assert_eq!(Ok(month.end()), Timestamp::RULE.check(end));
        let dates: Vec<_> = month.dates().collect();
        assert_eq!(dates.len(), days);
        assert_eq!(dates[0], format!("{text}-01"));
        assert_eq!(dates[days - 1], format!("{text}-{days}"));
    }
}

#[test]
fn the_last_month_of_all_has_an_end() {
    let last = month("9999-12");
    assert_eq!(
        last.end().as_millis() - last.start().as_millis(),
        31 * DAY_MILLIS
    );
}

#[test]
fn anything_else_is_no_month() {
    for text in [
        "",
        "-",
        "2026",
        "2026-",
        "2026-1",
        "2026-13",
        "2026-00",
        "26-1",
        "26-01",
        "02026-11",
        "2026-011",
        "2026-+1",
        "+026-11",
        "-2026-11",
        "2026-11-01",
        "2026/11",
        " 2026-11",
        "2026-11 ",
        "2026-11\n",
        "2026-11\0",
        "２０２６-11",
        "1999-12",
        "0000-01",
        "9999-13",
        "november",
    ] {
        let refused = Month::rule(text).unwrap_err();
        assert!(refused.contains("such as 2026-11"), "{text:?}: {refused}");
    }
}

fn postings([processor, escrow, worker, fees, refunds]: [i64; 5]) -> Postings {
    Postings {
        processor_cents: processor,
        escrow_cents: escrow,
        worker_cents: worker,
        fees_cents: fees,
        refunds_cents: refunds,
    }
}

#[test]
fn every_step_has_a_figure_of_its_own() {
    let entry = |day, step, sum| DayEntries {
        day,
        step,
        sum: postings(sum),
    };
    let entries = [
        entry(0, Step::Payment, [-5_000, 5_000, 0, 0, 0]),
        entry(1, Step::Settlement, [0, -2_000, 840, 160, 1_000]),
        entry(1, Step::Payment, [-700, 0, 0, 0, 700]),
        entry(29, Step::Refund, [1_700, 0, 0, 0, -1_700]),
        entry(29, Step::Transfer, [840, 0, -840, 0, 0]),
    ];
    let report = report(month("2026-11"), &entries, 3_010);
    assert_eq!(report.escrow_at_start_cents, 10);
    let csv = report.to_csv();
    let lines: Vec<_> = csv.lines().collect();
    let header = "date,paid_in_cents,refunds_booked_cents,refunds_paid_cents,\
        payouts_booked_cents,payouts_paid_cents,fees_cents,escrow_at_end_cents,tasks_created";
    assert_eq!(lines[0], header);
    assert_eq!(lines[1], "2026-11-01,5000,0,0,0,0,0,5010,0");
    assert_eq!(lines[2], "2026-11-02,700,1700,0,840,0,160,3010,0");
    assert_eq!(lines[3], "2026-11-03,0,0,0,0,0,0,3010,0");
    assert_eq!(lines[30], "2026-11-30,0,0,1700,0,840,0,3010,0");
    assert_eq!(lines[31], "total,5700,1700,1700,840,840,160,3010,0");
    assert_eq!(lines.len(), 32);
}

#[test]
fn the_statuses_are_written_as_a_map_in_their_order() {
    let now = vec![(Status::Pending, 3), (Status::Funded, 0)];
    let report = MonthReport::new(month("2026-11"), Environment::Test, &[], &[], 0, now);
    let json = serde_json::to_string(&report).unwrap();
    assert!(
        json.contains(r#""tasks_now":{"pending":3,"funded":0}"#),
        "{json}"
    );
    assert!(
        json.contains(r#""month":"2026-11","environment":"test""#),
        "{json}"
    );
}

/// Entries of tasks that were paid for, settled, refunded and paid out, and of what came back, each on
/// some day.
fn history() -> impl Strategy<Value = Vec<DayEntries>> {
    let days = prop::array::uniform10(0usize..28);
    let task = (days, 0i64..90_000_000, 0i64..=100);
    let entries = |(days, budget, percent): ([usize; 10], i64, i64)| {
        let (fee, refund) = (budget * percent / 300, budget * percent / 200);
        let payout = budget - fee - refund;
        let steps = [
            (Step::Payment, [-budget, budget, 0, 0, 0]),
            (Step::Settlement, [0, -budget, payout, fee, refund]),
            (Step::Refund, [refund, 0, 0, 0, -refund]),
            (Step::Transfer, [payout, 0, -payout, 0, 0]),
            (Step::RefundFailed, [-refund, 0, 0, 0, refund]),
            (Step::TransferReversed, [-payout, 0, payout, 0, 0]),
            (Step::WriteOff, [0, 0, -payout, payout, 0]),
            (Step::DisputeLost, [budget, 0, 0, -budget, 0]),
            (Step::RefundOffset, [0, 0, 0, refund, -refund]),
            (Step::RefundSettled, [0, 0, 0, refund, -refund]),
        ];
        let entry = |((step, sum), day)| DayEntries {
            day,
            step,
            sum: postings(sum),
        };
        steps.into_iter().zip(days).map(entry).collect::<Vec<_>>()
    };
    let tasks = prop::collection::vec(task.prop_map(entries), 0..20);
    tasks.prop_map(|tasks| tasks.concat())
}

proptest! {
    #[test]
    fn the_total_is_the_sum_of_the_days(entries in history(), escrow in 0i64..1_000_000) {
        let report = report(month("2026-02"), &entries, escrow);
        let mut sum = Figures::default();
        for day in &report.days {
            sum.add(&day.figures);
        }
        sum.escrow_at_end_cents = report.days[27].figures.escrow_at_end_cents;
        prop_assert_eq!(sum, report.total);
        prop_assert_eq!(report.total.escrow_at_end_cents, escrow);
    }

    #[test]
    fn what_is_held_changes_by_the_escrow_of_the_entries(entries in history()) {
        let escrowed: i64 = entries.iter().map(|found| found.sum.escrow_cents).sum();
        let report = report(month("2026-02"), &entries, escrowed);
        prop_assert_eq!(report.escrow_at_start_cents, 0);
        for (day, found) in report.days.iter().enumerate() {
            let until = entries.iter().filter(|entry| entry.day <= day);
            let held: i64 = until.map(|entry| entry.sum.escrow_cents).sum();
            prop_assert_eq!(found.figures.escrow_at_end_cents, held);
        }
    }

    #[test]
    fn csv_reads_back_as_the_json(entries in history(), escrow in any::<i32>()) {
        let report = report(month("2028-02"), &entries, escrow.into());
        let json = serde_json::to_value(&report).unwrap();
        let csv = report.to_csv();
        prop_assert!(!csv.contains(['"', '\r', ' ', ';']), "nothing in it needs quotes");
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let mut rows = json["days"].as_array().unwrap().clone();
        prop_assert_eq!(rows.len(), 29);
        let mut total = json["total"].clone();
        total["date"] = "total".into();
        rows.push(total);
        for row in &rows {
            let cells = lines.next().unwrap();
            prop_assert_eq!(cells.len(), row.as_object().unwrap().len());
            for (name, cell) in names.iter().zip(cells) {
                let read = cell.parse::<i64>().map_or_else(|_| Value::from(cell), Value::from);
                prop_assert_eq!(&row[*name], &read, "{}", name);
            }
        }
        prop_assert!(lines.next().is_none() && csv.ends_with('\n'));
    }
}
