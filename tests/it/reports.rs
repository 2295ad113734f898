//! A month in figures, on both databases.

use std::collections::BTreeMap;
use std::time::Duration;

use legwork::domain::admin::report::{Figures, Month, MonthReport};
use legwork::domain::{Action, Entry, Environment, LedgerAccount, Status, Step};
use legwork::store::all_statements;
use legwork::usecases::{month_report, receive_sandbox_event};
use serde_json::Value;

use crate::support::{Command, Developer, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    each_day_has_its_figures,
    a_month_without_anything_is_all_zeros,
    months_end_to_the_millisecond,
    the_days_are_what_the_journal_says,
    all_months_together_are_the_balances,
    tasks_count_on_the_day_they_say_they_were_created,
    the_command_prints_json_and_csv,
    the_command_refuses_what_is_no_month,
);

async fn report(app: &TestApp, month: &str, environment: Environment) -> MonthReport {
    let month = Month::rule(month).unwrap();
    app.store
        .snapshot(move |tx| month_report(tx, month, environment))
        .await
        .unwrap()
}

async fn report_of_test(app: &TestApp, month: &str) -> MonthReport {
    report(app, month, Environment::Test).await
}

/// The figures of a day of the report's month.
fn on(report: &MonthReport, day: usize) -> Figures {
    report.days[day - 1].figures
}

async fn complete(app: &TestApp, dev: &Developer, task: &Value) {
    let worker = app.payable_worker().await;
    let work = [
        Action::Accept { worker },
        Action::Start,
        Action::SubmitProof,
        Action::Approve,
    ];
    app.act(dev, task, &work).await;
}

/// The developer gives up a task that is not paid for, and pays for it all the same.
async fn pay_too_late(app: &TestApp, dev: &Developer) {
    let (task, secret) = dev.create_payable_task().await;
    app.act(dev, &task, &[Action::Cancel]).await;
    let (event, now) = (app.pay_past_the_page(&secret).await, app.clock.now());
    let receive = app
        .store
        .write(move |tx| receive_sandbox_event(tx, &event, now));
    receive.await.unwrap();
}

/// Paid in; refunds booked and paid; payouts booked and paid; fees; escrow at the end; tasks.
fn figures(figures: [i64; 8]) -> Figures {
    let [
        paid_in,
        refunds,
        refunded,
        payouts,
        paid_out,
        fees,
        escrow,
        tasks,
    ] = figures;
    Figures {
        paid_in_cents: paid_in,
        refunds_booked_cents: refunds,
        refunds_paid_cents: refunded,
        payouts_booked_cents: payouts,
        payouts_paid_cents: paid_out,
        fees_cents: fees,
        escrow_at_end_cents: escrow,
        tasks_created: tasks,
    }
}

async fn each_day_has_its_figures(app: TestApp) {
    let dev = app.developer().await;
    app.set_time("2028-02-03T08:00:00.000Z");
    let completed = dev.create_paid_task().await;
    let cancelled = dev.create_paid_task().await;
    dev.create_live_task().await;
    app.set_time("2028-02-04T08:00:00.000Z");
    complete(&app, &dev, &completed).await;
    app.act(&dev, &cancelled, &[Action::Cancel]).await;
    pay_too_late(&app, &dev).await;
    app.set_time("2028-02-29T08:00:00.000Z");
    app.jobs.drain().await.unwrap();
    dev.create_paid_task().await;
    TestApp::expect_settled(&app.verify().await);

    let report = report(&app, "2028-02", Environment::Live).await;
    assert_eq!(report.days.len(), 29);
    assert_eq!(report.escrow_at_start_cents, 0);
    let nothing = Figures::default();
    for (day, expected) in [
        (2, nothing),
        (3, figures([5_000, 0, 0, 0, 0, 0, 5_000, 3])),
        (4, figures([2_500, 5_000, 0, 2_100, 0, 400, 0, 1])),
        (5, nothing),
        (28, nothing),
        (29, figures([2_500, 0, 5_000, 0, 2_100, 0, 2_500, 1])),
    ] {
        assert_eq!(on(&report, day), expected, "{day}");
    }
    let total = figures([10_000, 5_000, 5_000, 2_100, 2_100, 400, 2_500, 5]);
    assert_eq!(report.total, total);
    for (status, tasks) in report.tasks_now {
        let expected = match status {
            Status::Pending | Status::Posted | Status::Completed => 1,
            Status::Cancelled => 2,
            _ => 0,
        };
        assert_eq!(tasks, expected, "{status}");
    }
    let test = report_of_test(&app, "2028-02").await;
    assert_eq!(test.total, nothing);
}

async fn a_month_without_anything_is_all_zeros(app: TestApp) {
    for month in ["2000-01", "2025-11", "9999-12"] {
        for environment in Environment::ALL {
            let empty = report(&app, month, *environment).await;
            assert_eq!(empty.escrow_at_start_cents, 0);
            assert_eq!(empty.total, Figures::default());
            let still =
                |day: &legwork::domain::admin::report::DayFigures| day.figures == empty.total;
            assert!(empty.days.iter().all(still));
        }
    }
    let dev = app.developer().await;
    dev.create_task().await;
    let before = report_of_test(&app, "2025-10").await;
    assert_eq!(before.total, Figures::default());
    let after = report_of_test(&app, "2025-12").await;
    assert_eq!(after.escrow_at_start_cents, 2_500);
    assert_eq!(on(&after, 1).escrow_at_end_cents, 2_500);
    assert_eq!(after.total.paid_in_cents, 0);
}

async fn months_end_to_the_millisecond(app: TestApp) {
    let dev = app.developer().await;
    let moments = [
        ("2025-12-01T00:00:00.000Z", "2025-12", 1),
        ("2025-12-31T23:59:59.999Z", "2025-12", 31),
        ("2027-01-01T00:00:00.000Z", "2027-01", 1),
        ("2028-02-29T23:59:59.999Z", "2028-02", 29),
        ("2028-03-01T00:00:00.000Z", "2028-03", 1),
    ];
    for (moment, ..) in moments {
        app.set_time(moment);
        dev.create_task().await;
    }
    for (moment, month, day) in moments {
        let day = on(&report_of_test(&app, month).await, day);
        assert_eq!(day.tasks_created, 1, "{moment}");
        assert_eq!(day.paid_in_cents, 2_500, "{moment}");
    }
    let mut held = 0;
    for (month, tasks) in [
        ("2025-11", 0),
        ("2025-12", 2),
        ("2027-01", 1),
        ("2027-02", 0),
        ("2028-02", 1),
        ("2028-03", 1),
        ("2028-04", 0),
    ] {
        let report = report_of_test(&app, month).await;
        assert_eq!(report.total.tasks_created, tasks, "{month}");
        assert_eq!(report.total.paid_in_cents, tasks * 2_500, "{month}");
        assert_eq!(report.escrow_at_start_cents, held, "{month}");
        held += tasks * 2_500;
        assert_eq!(report.total.escrow_at_end_cents, held, "{month}");
    }
}

const MONTHS: [&str; 4] = ["2027-12", "2028-01", "2028-02", "2028-03"];

/// Tasks over four months that end in many ways; what is owed is paid some days later, but for the
/// last.
async fn a_long_history(app: &TestApp) {
    let dev = app.developer().await;
    app.set_time("2027-12-03T23:00:00.000Z");
    for turn in 0..65 {
        match turn % 6 {
            0 => drop(dev.create_paid_task().await),
            1 => pay_too_late(app, &dev).await,
            2 => {
                let mut task = storefront();
                task["budget_cents"] = (1_000 + turn).into();
                dev.test.post("/v1/tasks", &task).await.expect(201);
            }
            3 => {
                let task = dev.create_paid_task().await;
                app.advance(Duration::from_secs(7_201));
                complete(app, &dev, &task).await;
            }
            4 => {
                let task = dev.create_paid_task().await;
                let worker = app.payable_worker().await;
                app.act(&dev, &task, &[Action::Accept { worker }, Action::Cancel])
                    .await;
            }
            _ => {
                let task = dev.create_task().await;
                let cancel = format!("{}/cancel", path(&task));
                dev.test.send("POST", &cancel, &[], "").await.expect(200);
                app.jobs.drain().await.unwrap();
            }
        }
        app.advance(Duration::from_secs(37 * 3_600 + 61));
    }
    assert!(app.clock.now() < Month::rule("2028-03").unwrap().end());
}

/// The figures of each date, from the entries one by one.
fn by_date(entries: &[Entry], environment: Environment) -> BTreeMap<String, Figures> {
    let mut days: BTreeMap<String, Figures> = BTreeMap::new();
    let ours = |entry: &&Entry| entry.owner.environment == environment;
    for entry in entries.iter().filter(ours) {
        let date = entry.recorded_at.to_string()[..10].to_owned();
        let day = days.entry(date).or_default();
        let posted = entry.postings;
        match entry.step {
            Step::Payment => day.paid_in_cents += -posted.processor_cents,
            Step::Settlement | Step::WriteOff => day.payouts_booked_cents += posted.worker_cents,
            Step::Refund => day.refunds_paid_cents += posted.processor_cents,
            Step::Transfer => day.payouts_paid_cents += posted.processor_cents,
            step => panic!("the sandbox never causes a {step}"),
        }
        day.fees_cents += posted.fees_cents;
        day.refunds_booked_cents += posted.refunds_cents.max(0);
        day.escrow_at_end_cents += posted.escrow_cents;
    }
    let mut held = 0;
    for day in days.values_mut() {
        held += day.escrow_at_end_cents;
        day.escrow_at_end_cents = held;
    }
    days
}

async fn the_days_are_what_the_journal_says(app: TestApp) {
    a_long_history(&app).await;
    let entries = app.store.snapshot(|tx| tx.entries_after(None, 10_000));
    let entries = entries.await.unwrap();
    for environment in Environment::ALL {
        let journal = by_date(&entries, *environment);
        assert!(journal.len() > 15);
        let mut held = 0;
        for month in MONTHS {
            let report = report(&app, month, *environment).await;
            assert_eq!(report.escrow_at_start_cents, held, "{month}");
            for day in &report.days {
                let mut expected = Figures::default();
                if let Some(found) = journal.get(&day.date) {
                    expected = *found;
                    held = found.escrow_at_end_cents;
                }
                expected.escrow_at_end_cents = held;
                expected.tasks_created = day.figures.tasks_created;
                assert_eq!(day.figures, expected, "{}", day.date);
            }
            assert_eq!(report.total.escrow_at_end_cents, held, "{month}");
        }
    }
}

async fn all_months_together_are_the_balances(app: TestApp) {
    a_long_history(&app).await;
    let verified = app.verify().await;
    assert_eq!(verified.differences, Vec::<String>::new());
    for environment in Environment::ALL {
        let mut all = [0; 8];
        for month in MONTHS {
            let total = report(&app, month, *environment).await.total;
            let total = serde_json::to_value(total).unwrap();
            let figures = total.as_object().unwrap().values();
            for (sum, figure) in all.iter_mut().zip(figures) {
                *sum += figure.as_i64().unwrap();
            }
        }
        let all = figures(all);
        let held = report(&app, MONTHS[3], *environment).await.total;
        let held = held.escrow_at_end_cents;
        let books = verified
            .balances
            .iter()
            .filter(|(of, ..)| of == environment);
        for (_, book, cents) in books {
            let expected = match book {
                LedgerAccount::Processor => {
                    all.refunds_paid_cents + all.payouts_paid_cents - all.paid_in_cents
                }
                LedgerAccount::Escrow => held,
                LedgerAccount::WorkerBalance => all.payouts_booked_cents - all.payouts_paid_cents,
                LedgerAccount::PlatformFees => all.fees_cents,
                LedgerAccount::DeveloperRefunds => {
                    all.refunds_booked_cents - all.refunds_paid_cents
                }
            };
            assert_eq!(*cents, expected, "{book}");
            let live = *environment == Environment::Live;
            assert!(*cents != 0 || !live, "there should be something in {book}");
        }
        expect_kept(&app, *environment, held, all.tasks_created).await;
    }
}

/// What the tasks themselves say.
async fn expect_kept(app: &TestApp, environment: Environment, escrow: i64, tasks: i64) {
    let kept = format!(
        "SELECT CAST(SUM(escrow_cents) AS TEXT) FROM tasks WHERE environment = '{environment}'
         UNION ALL
         SELECT CAST(COUNT(*) AS TEXT) FROM tasks WHERE environment = '{environment}'"
    );
    let kept = app.database.column(&kept).await;
    assert_eq!(kept, [escrow.to_string(), tasks.to_string()]);
}

/// A request that begins before midnight may create its task after it: the id is the older one.
async fn tasks_count_on_the_day_they_say_they_were_created(app: TestApp) {
    let dev = app.developer().await;
    let december = Month::rule("2025-12").unwrap().start().as_millis();
    for (made, created) in [
        ("2025-11-30T23:59:40.000Z", december),
        ("2025-12-01T00:00:10.000Z", december - 1),
        ("2025-12-31T23:59:59.999Z", december + 31 * 86_400_000),
    ] {
        app.set_time(made);
        let id = dev.create_task().await["id"].clone();
        let id = id.as_str().unwrap();
        let moved = format!("UPDATE tasks SET created_at = {created} WHERE id = '{id}'");
        app.database.execute(&moved).await;
    }
    for (month, day) in [("2025-11", 30), ("2025-12", 1), ("2026-01", 1)] {
        let report = report_of_test(&app, month).await;
        assert_eq!(on(&report, day).tasks_created, 1, "{month}");
        assert_eq!(report.total.tasks_created, 1, "{month}");
    }
}

async fn the_command_prints_json_and_csv(app: TestApp) {
    a_long_history(&app).await;
    let print = |arguments: &[&str]| {
        let report = ["report", "--month", "2028-01"];
        let arguments = [&report, arguments].concat();
        Command::new(&arguments).on(&app.database).succeed()
    };
    for environment in Environment::ALL {
        let chosen = ["--environment", environment.as_str()];
        let printed: Value = serde_json::from_str(&print(&chosen)).unwrap();
        let expected = report(&app, "2028-01", *environment).await;
        assert_eq!(printed, serde_json::to_value(&expected).unwrap());
        assert_ne!(printed["total"]["paid_in_cents"], 0);
        let csv = print(&[&chosen[..], &["--format", "csv"]].concat());
        assert_eq!(csv, expected.to_csv());
    }
    assert_eq!(
        print(&[]),
        print(&["--environment", "live", "--format", "json"])
    );
}

async fn the_command_refuses_what_is_no_month(app: TestApp) {
    for month in ["2026-13", "26-1", "", "2026-1", "2025-11-01", "1999-12"] {
        let command = Command::new(&["report", "--month", month]).on(&app.database);
        let error = command.fail();
        let expected = "--month must be a month from 2000-01 to 9999-12, such as 2026-11";
        assert!(error.contains(expected), "{month:?}: {error}");
    }
    for arguments in [
        &["report"][..],
        &["report", "--month", "2025-11", "--format", "xml"],
        &["report", "--month", "2025-11", "--environment", "prod"],
    ] {
        Command::new(arguments).on(&app.database).fail();
    }
}

/// What a report costs follows the month, not the history.
#[test]
fn months_are_found_by_an_index() {
    let database = crate::support::Database::create(crate::support::Engine::Sqlite);
    legwork::store::Store::open(&database.location()).unwrap();
    let connection = rusqlite::Connection::open(database.file()).unwrap();
    let mut seen = 0;
    for sql in all_statements().map(|statement| statement.sql()) {
        let index = if sql.contains("FROM ledger_entries") && sql.contains("recorded_at >= ?2") {
            "ledger_entries_by_time (environment=? AND recorded_at>?"
        } else if sql.contains("FROM tasks") && sql.contains("id >= ?4") {
            "sqlite_autoindex_tasks_1 (id>? AND id<?)"
        } else {
            continue;
        };
        let mut plan = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let mut rows = plan.raw_query();
        let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
        assert!(plan.contains(index), "{plan}\n{sql}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}
