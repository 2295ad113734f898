//! Workers search for tasks: among many posted tasks, compared with the same search among few. Half
//! of the tasks are within the search radius, the others all over the country.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use legwork::domain::Tier;
use legwork::domain::geo::{Point, Square};
use legwork::domain::tasks::TaskType;
use legwork::domain::tasks::pricing;
use rusqlite::{Connection, params};

use crate::Result;
use crate::limit::pgbench;
use crate::load::http;
use crate::load::{Load, Sample};
use crate::options::{FEW_TASKS, Options, ROUNDS};
use crate::report::count;
use crate::report::{Figure, Report};
use crate::service::{TestDatabase, new_task};
use crate::test_bed::TestBed;
use crate::test_bed::fill::sqlite_columns;
use crate::test_bed::live_server::LiveServer;
use crate::test_bed::postgres::Database;

/// The place of the search: far from the template task.
const CENTER: Point = Point {
    latitude: 41.8781,
    longitude: -87.6298,
};
const RADIUS_KM: f64 = 25.0;
const PAGE: usize = 20;
const SORTS: [&str; 3] = ["distance", "payout", "newest"];
/// A search among many tasks may take this many times as long.
const TIMES: f64 = 3.0;
const IDS: &str = "0190cccc00007000";
/// As in `core/src/store/tasks/posted_tasks.rs`.
const COLUMNS: &str = "task_id, bounty, cell, district, region, latitude, longitude, category, \
    required_skills, payout_cents, posted_at";

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    let mut many = Posted::new(bed, "find_many", options.tasks)?;
    let mut few = Posted::new(bed, "find_few", FEW_TASKS)?;
    for sort in SORTS {
        let (large, small) = (many.search(sort)?, few.search(sort)?);
        let length = Duration::from_millis(300).max(options.round() / 3);
        let (mut measured, mut less) = (Sample::default(), Sample::default());
        for _ in 0..ROUNDS {
            less.add(small.run(length)?);
            measured.add(large.run(length)?);
        }
        let name = format!(
            "find by {sort} within {RADIUS_KM} km, {} tasks",
            count(options.tasks)
        );
        let other = format!("the same among {}", count(FEW_TASKS));
        let figure = Figure::latency(bed.name(), &name, &measured);
        report.add(figure.at_most_times(TIMES, &other, &less));
    }
    many.live_server.stop()?;
    few.live_server.stop()
}

/// The values of a posted task that differ from the template.
struct Row {
    number: i64,
    place: Point,
    payout_cents: i64,
    posted_at: i64,
}

impl Row {
    fn id(&self) -> String {
        format!("{IDS}{:016x}", self.number)
    }
}

/// A server on a database with this many posted tasks, and the expected results.
struct Posted {
    live_server: LiveServer,
    /// The ids of the first page, for each of `SORTS`.
    expected: [Vec<String>; 3],
}

impl Posted {
    fn new(bed: &TestBed, purpose: &str, tasks: i64) -> Result<Self> {
        eprintln!("bench: {}: posting {tasks} tasks", bed.name());
        // The server creates the first: the template for all others.
        let mut live_server = LiveServer::new(bed, purpose, 1, 1, &new_task())?;
        live_server.stop()?;
        let rows = rows(tasks);
        match &live_server.database {
            TestDatabase::Sqlite(file) => fill_sqlite(&mut Connection::open(file)?, &rows)?,
            TestDatabase::Postgres(database) => fill_postgres(database, &rows)?,
        }
        Ok(Self {
            live_server,
            expected: first_pages(&rows),
        })
    }

    /// A load that requests one page repeatedly, after checking the page.
    fn search(&mut self, sort: &str) -> Result<Load> {
        let path = format!(
            "/v1/worker/available_tasks?latitude={}&longitude={}&radius_km={RADIUS_KM}\
             &sort={sort}&limit={PAGE}",
            CENTER.latitude, CENTER.longitude
        );
        let request = http::get(&path, &self.live_server.workers[0]);
        let server = self.live_server.server()?;
        let answer = http::fetch_json(server.address, &request, 200)?;
        let found = answer["data"].as_array().map_or(&[][..], Vec::as_slice);
        let found: Vec<_> = found
            .iter()
            .filter_map(|task| task["id"].as_str())
            .collect();
        let index = SORTS.iter().position(|known| *known == sort);
        if index.is_none_or(|index| found != self.expected[index]) {
            return Err(format!("{path}: unexpected tasks: {found:?}").into());
        }
        Ok(Load {
            address: server.address,
            connections: 1,
            requests: Arc::new(vec![request]),
            expected: 200,
            pid: server.pid(),
        })
    }
}

/// All tasks from the second on. The same ones in every run.
fn rows(tasks: i64) -> Vec<Row> {
    const DAYS_30: f64 = 30.0 * 24.0 * 3_600_000.0;
    const BEGAN: i64 = 1_760_000_000_000;
    let fee = pricing::fee_percent(Tier::Enterprise, TaskType::Standard);
    let mut random = Random(1);
    let row = |number: i64| {
        let place = if number % 2 == 0 {
            random.nearby()
        } else {
            random.in_the_country()
        };
        // Whole dollars, which split into whole cents: the budget can be computed from the payout.
        let budget = 100 * (5.0 + 495.0 * random.part()) as i64;
        Row {
            number,
            place: place.roughly(),
            payout_cents: pricing::split(budget, fee).payout_cents,
            posted_at: BEGAN + (DAYS_30 * random.part()) as i64,
        }
    };
    (2..=tasks).map(row).collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly distributed over the search circle.
    fn nearby(&mut self) -> Point {
        const KM_OF_DEGREE: f64 = 111.195;
        let degrees = RADIUS_KM * 0.99 * self.part().sqrt() / KM_OF_DEGREE;
        let (east, north) = (std::f64::consts::TAU * self.part()).sin_cos();
        Point {
            latitude: CENTER.latitude + degrees * north,
            longitude: CENTER.longitude + degrees * east / CENTER.latitude.to_radians().cos(),
        }
    }

    /// Between Key West and the 49th parallel, from coast to coast.
    fn in_the_country(&mut self) -> Point {
        Point {
            latitude: 24.5 + 24.5 * self.part(),
            longitude: -124.7 + 57.7 * self.part(),
        }
    }
}

/// The expected results, found by checking every task.
fn first_pages(rows: &[Row]) -> [Vec<String>; 3] {
    let distance = |row: &Row| CENTER.distance_meters(row.place);
    let within = |row: &&Row| distance(row) <= RADIUS_KM * 1_000.0;
    let mut within: Vec<_> = rows.iter().filter(within).collect();
    SORTS.map(|sort| {
        match sort {
            "distance" => within.sort_by(|a, b| {
                let by_distance = distance(a).total_cmp(&distance(b));
                by_distance.then(b.number.cmp(&a.number))
            }),
            "payout" => within.sort_by_key(|row| Reverse((row.payout_cents, row.number))),
            _ => within.sort_by_key(|row| Reverse((row.posted_at, row.number))),
        }
        within.iter().take(PAGE).map(|row| row.id()).collect()
    })
}

fn fill_sqlite(connection: &mut Connection, rows: &[Row]) -> Result<()> {
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000")?;
    let columns = sqlite_columns(connection)?;
    let transaction = connection.transaction()?;
    let (category, skills) = ("photography", r#"["photography"]"#);
    let mut post = transaction.prepare(&format!(
        "INSERT INTO posted_tasks ({COLUMNS}) VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    ))?;
    for row in rows {
        post.execute(params![
            row.id(),
            row.place.cell(),
            Square::District.of(row.place),
            Square::Region.of(row.place),
            row.place.latitude,
            row.place.longitude,
            category,
            skills,
            row.payout_cents,
            row.posted_at,
        ])?;
    }
    drop(post);
    transaction.execute_batch(&tasks_of_posts(&columns))?;
    transaction.commit()?;
    Ok(())
}

fn fill_postgres(database: &Database, rows: &[Row]) -> Result<()> {
    let lines = rows.iter().map(|row| {
        format!(
            "{}\t0\t{}\t{}\t{}\t{}\t{}\tphotography\t[\"photography\"]\t{}\t{}\n",
            row.id(),
            row.place.cell(),
            Square::District.of(row.place),
            Square::Region.of(row.place),
            row.place.latitude,
            row.place.longitude,
            row.payout_cents,
            row.posted_at,
        )
    });
    database.copy_in(&format!("COPY posted_tasks ({COLUMNS}) FROM STDIN"), lines)?;
    let columns = pgbench::columns(database, "tasks")?;
    database.run(&tasks_of_posts(&columns))?;
    // What autovacuum would do soon, done now so that it disturbs no measurement.
    database.run("VACUUM ANALYZE")?;
    database.run("CHECKPOINT")?;
    Ok(())
}

/// Inserts the tasks as posted, each like the first. Ledger and totals stay as they are, because
/// nothing reads them here.
fn tasks_of_posts(columns: &[String]) -> String {
    let value = |column: &String| match column.as_str() {
        "id" => "filled.task_id".to_owned(),
        "number" => "1 + ROW_NUMBER() OVER (ORDER BY filled.task_id)".to_owned(),
        "location_latitude" => "filled.latitude".to_owned(),
        "location_longitude" => "filled.longitude".to_owned(),
        "budget_cents" | "escrow_cents" => {
            "filled.payout_cents * 100 / (100 - first.fee_percent)".to_owned()
        }
        "status_since" => "filled.posted_at".to_owned(),
        _ => format!("first.{column}"),
    };
    let values: Vec<_> = columns.iter().map(value).collect();
    format!(
        "INSERT INTO tasks ({columns}) SELECT {values} FROM tasks first, posted_tasks filled
         WHERE first.number = 1 AND filled.task_id <> first.id",
        columns = columns.join(", "),
        values = values.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_tasks_are_nearby() {
        let rows = rows(10_000);
        let within = |row: &&Row| CENTER.distance_meters(row.place) <= RADIUS_KM * 1_000.0;
        let nearby = rows.iter().filter(within).count();
        // Places are rounded, which takes a few across the edge of the circle.
        assert!((4_980..5_020).contains(&nearby), "{nearby}");
        assert!(first_pages(&rows).iter().all(|page| page.len() == PAGE));
    }
}
