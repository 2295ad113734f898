//! Databases of any size, filled by the database itself. `seed.sql` is the text for both engines.

use legwork::domain::geo::{Point, Square};

const SEED: &str = include_str!("seed.sql");
const PLACES: i64 = 200;

/// PostgreSQL has none. SQLite's prints a number in hexadecimal with leading zeros for '%012x'.
const PRINTF: &str = "CREATE FUNCTION printf(format TEXT, number BIGINT) RETURNS TEXT
    LANGUAGE sql IMMUTABLE AS $$
        SELECT lpad(to_hex(number), CAST(substr(format, 3, length(format) - 3) AS INT), '0') $$;";

pub fn for_sqlite(tasks: i64, now: i64) -> String {
    script(tasks, now)
}

pub fn for_postgres(tasks: i64, now: i64) -> String {
    let script = script(tasks, now);
    format!("{PRINTF} {script} DROP FUNCTION printf; ANALYZE;")
}

fn script(tasks: i64, now: i64) -> String {
    let places: Vec<_> = (0..PLACES).map(place).collect();
    [
        ("{tasks}", tasks.to_string()),
        ("{now}", now.to_string()),
        ("{accounts}", (tasks / 1_000).max(20).to_string()),
        ("{workers}", (tasks / 500).max(20).to_string()),
        ("{places}", places.join(", ")),
        ("{place_count}", PLACES.to_string()),
    ]
    .iter()
    .fold(SEED.to_owned(), |text, (name, value)| {
        text.replace(name, value)
    })
}

/// A row of `seed_places`, on a grid of about 80 by 80 km.
fn place(number: i64) -> String {
    let at = Point {
        latitude: 30.0 + (number % 14) as f64 * 0.05,
        longitude: -98.0 + (number / 14) as f64 * 0.05,
    };
    let Point {
        latitude,
        longitude,
    } = at.roughly();
    let at = at.roughly();
    let (cell, district, region) = (at.cell(), Square::District.of(at), Square::Region.of(at));
    format!("({number}, {cell}, {district}, {region}, {latitude}, {longitude})")
}
