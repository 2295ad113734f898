//! Geographic points: distances, and the cells that index them.
//!
//! A cell is a rectangle of the latitude/longitude map, which is halved repeatedly. The finest
//! cells are numbered in Morton order, which keeps neighbours together. Every larger square is
//! therefore one range of numbers, and one index serves circles of any size.

pub mod map_tiles;

use crate::domain::rules::NumberRule;

/// The mean radius of the Earth.
const EARTH_METERS: f64 = 6_371_008.8;
/// How often the map is halved in each direction: the finest cells are about two metres wide.
const DEPTH: u32 = 24;
/// A circle is covered by roughly this many squares.
const MAX_SQUARES: usize = 24;

pub const LATITUDE: NumberRule = NumberRule {
    min: -90.0,
    max: 90.0,
};

pub const LONGITUDE: NumberRule = NumberRule {
    min: -180.0,
    max: 180.0,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub latitude: f64,
    pub longitude: f64,
}

impl Point {
    /// The point with these coordinates, or `None` if one of them is missing.
    pub fn from_pair(latitude: Option<f64>, longitude: Option<f64>) -> Option<Self> {
        Some(Self {
            latitude: latitude?,
            longitude: longitude?,
        })
    }

    /// The great-circle distance, by haversine.
    pub fn distance_meters(self, other: Self) -> f64 {
        let (from, to) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half_latitude = (to - from) / 2.0;
        let half_longitude = (other.longitude - self.longitude).to_radians() / 2.0;
        let chord =
            half_latitude.sin().powi(2) + from.cos() * to.cos() * half_longitude.sin().powi(2);
        2.0 * EARTH_METERS * chord.sqrt().min(1.0).asin()
    }

    /// Rounded to about a kilometre, so that it shows the neighbourhood and not the address. Adding zero
    /// takes the sign off a zero, which would tell on which side the place is.
    pub fn roughly(self) -> Self {
        let rough = |degrees: f64| (degrees * 100.0).round() / 100.0 + 0.0;
        Self {
            latitude: rough(self.latitude),
            longitude: rough(self.longitude),
        }
    }

    /// The number of the finest cell that contains the point.
    pub fn cell(self) -> i64 {
        let column = index((self.longitude + 180.0) / 360.0);
        let row = index((self.latitude + 90.0) / 180.0);
        morton(column, row)
    }
}

impl Point {
    /// The middle of a finest cell.
    pub fn of_cell(cell: i64) -> Self {
        let fraction = |index: u32| (f64::from(index) + 0.5) / f64::from(1u32 << DEPTH);
        Self {
            latitude: fraction(gather(cell)) * 180.0 - 90.0,
            longitude: fraction(gather(cell >> 1)) * 360.0 - 180.0,
        }
    }
}

/// Every second bit, from the lowest: undoes what `morton` does to a row.
fn gather(cell: i64) -> u32 {
    let mut gathered = 0;
    for bit in 0..DEPTH {
        gathered |= u32::from(cell >> (2 * bit) & 1 == 1) << bit;
    }
    gathered
}

/// Rounded to a tenth of a metre, the precision of distances in the API.
pub fn to_decimeter(meters: f64) -> f64 {
    (meters * 10.0).round() / 10.0
}

/// The finest row or column that contains this fraction of the map.
fn index(fraction: f64) -> u32 {
    let cells = f64::from(1u32 << DEPTH);
    (fraction.clamp(0.0, 1.0) * cells).min(cells - 1.0) as u32
}

fn morton(column: u32, row: u32) -> i64 {
    let spread = |bits: u32| {
        let mut spread = 0i64;
        for bit in 0..DEPTH {
            spread |= i64::from(bits >> bit & 1) << (2 * bit);
        }
        spread
    };
    spread(column) << 1 | spread(row)
}

/// Sizes of the squares by which posted tasks are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Square {
    /// About 20 km.
    District,
    /// About 150 km.
    Region,
}

impl Square {
    const fn halvings(self) -> u32 {
        match self {
            Self::District => 11,
            Self::Region => 8,
        }
    }

    /// The number of the square that contains a point.
    pub fn of(self, point: Point) -> i64 {
        point.cell() >> (2 * (DEPTH - self.halvings()))
    }

    /// Squares that together contain every point within a distance, and some points beyond it.
    pub fn around(self, center: Point, radius_meters: f64) -> Vec<i64> {
        let shift = DEPTH - self.halvings();
        let mut squares: Vec<_> = windows(center, radius_meters)
            .iter()
            .flat_map(|window| window.squares(shift))
            .map(|range| range.first >> (2 * shift))
            .collect();
        squares.sort_unstable();
        squares.dedup();
        squares
    }
}

/// A square of the size of a district by its place on the map: rows go north, columns go east.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GridSquare {
    pub row: i64,
    pub column: i64,
}

/// Some rows and columns of such squares, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub rows: (i64, i64),
    pub columns: (i64, i64),
}

impl GridSquare {
    const SHIFT: u32 = DEPTH - Square::District.halvings();

    pub fn of(point: Point) -> Self {
        Self {
            row: i64::from(index((point.latitude + 90.0) / 180.0) >> Self::SHIFT),
            column: i64::from(index((point.longitude + 180.0) / 360.0) >> Self::SHIFT),
        }
    }

    pub fn middle(self) -> Point {
        let squares = f64::from(1u32 << Square::District.halvings());
        let fraction = |place: i64| (place as f64 + 0.5) / squares;
        Point {
            latitude: fraction(self.row) * 180.0 - 90.0,
            longitude: fraction(self.column) * 360.0 - 180.0,
        }
    }

    /// Blocks that together contain every square whose middle is within a distance of the middle of this
    /// one, and some beyond it.
    pub fn blocks_around(self, meters: f64) -> Vec<Block> {
        let along = |(first, last): (u32, u32)| {
            let square = |finest: u32| i64::from(finest >> Self::SHIFT);
            (square(first), square(last))
        };
        let windows = windows(self.middle(), meters);
        let blocks = windows.iter().map(|window| {
            let (columns, rows) = window.bounds();
            Block {
                rows: along(rows),
                columns: along(columns),
            }
        });
        blocks.collect()
    }
}

/// A range of cell numbers, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRange {
    pub first: i64,
    pub last: i64,
}

/// A range of latitudes and longitudes that does not cross the antimeridian.
#[derive(Clone, Copy, Debug)]
struct Window {
    south: f64,
    north: f64,
    west: f64,
    east: f64,
}

/// Cell ranges that together contain every point within a distance, and some points beyond it.
pub fn cover(center: Point, radius_meters: f64) -> Vec<CellRange> {
    let windows = windows(center, radius_meters);
    let mut ranges: Vec<_> = windows.iter().flat_map(Window::few_squares).collect();
    ranges.sort_by_key(|range| range.first);
    let mut joined: Vec<CellRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(before) if range.first <= before.last + 1 => {
                before.last = before.last.max(range.last);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The window around a circle, split in two where it crosses the antimeridian. A circle that
/// contains a pole covers every longitude.
fn windows(center: Point, radius_meters: f64) -> Vec<Window> {
    let angle = (radius_meters / EARTH_METERS).min(std::f64::consts::PI);
    // Slightly larger, so that rounding does not cut off the edge.
    let angle = angle * (1.0 + 1e-9) + 1e-9;
    let south = center.latitude - angle.to_degrees();
    let north = center.latitude + angle.to_degrees();
    let whole = |south, north| Window {
        south,
        north,
        west: -180.0,
        east: 180.0,
    };
    if south <= -90.0 || north >= 90.0 {
        return vec![whole(south.max(-90.0), north.min(90.0))];
    }
    let reach = (angle.sin() / center.latitude.to_radians().cos()).min(1.0);
    let reach = reach.asin().to_degrees();
    let (west, east) = (center.longitude - reach, center.longitude + reach);
    let part = |west, east| Window {
        south,
        north,
        west,
        east,
    };
    if west < -180.0 {
        vec![part(west + 360.0, 180.0), part(-180.0, east)]
    } else if east > 180.0 {
        vec![part(west, 180.0), part(-180.0, east - 360.0)]
    } else {
        vec![part(west, east)]
    }
}

impl Window {
    /// The first and the last column and row of the finest cells.
    fn bounds(&self) -> ((u32, u32), (u32, u32)) {
        let column = |longitude: f64| index((longitude + 180.0) / 360.0);
        let row = |latitude: f64| index((latitude + 90.0) / 180.0);
        (
            (column(self.west), column(self.east)),
            (row(self.south), row(self.north)),
        )
    }

    /// How many squares of this size the window touches.
    fn count(&self, shift: u32) -> usize {
        let (columns, rows) = self.bounds();
        let along = |(first, last): (u32, u32)| ((last >> shift) - (first >> shift) + 1) as usize;
        along(columns).saturating_mul(along(rows))
    }

    /// The squares of this size that the window touches.
    fn squares(&self, shift: u32) -> Vec<CellRange> {
        let (columns, rows) = self.bounds();
        let mut ranges = Vec::with_capacity(self.count(shift));
        for column in columns.0 >> shift..=columns.1 >> shift {
            for row in rows.0 >> shift..=rows.1 >> shift {
                let first = morton(column, row) << (2 * shift);
                let last = first + (1 << (2 * shift)) - 1;
                ranges.push(CellRange { first, last });
            }
        }
        ranges
    }

    /// The squares that the window touches, at the finest size that gives few enough of them.
    fn few_squares(&self) -> Vec<CellRange> {
        let few = |shift: &u32| self.count(*shift) <= MAX_SQUARES;
        let shift = (0..=DEPTH).find(few).unwrap_or(DEPTH);
        self.squares(shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(latitude: f64, longitude: f64) -> Point {
        Point {
            latitude,
            longitude,
        }
    }

    #[test]
    fn distances_are_great_circles() {
        let berlin = point(52.52, 13.405);
        let paris = point(48.8566, 2.3522);
        assert!((berlin.distance_meters(paris) - 877_464.6).abs() < 1_000.0);
        // A degree of latitude, and of longitude at the equator.
        let degree = EARTH_METERS.to_radians();
        assert!((point(0.0, 0.0).distance_meters(point(1.0, 0.0)) - degree).abs() < 1e-6);
        assert!((point(0.0, 179.5).distance_meters(point(0.0, -179.5)) - degree).abs() < 1e-6);
        assert_eq!(berlin.distance_meters(berlin), 0.0);
        let opposite = point(0.0, 0.0).distance_meters(point(0.0, 180.0));
        assert!((opposite - EARTH_METERS * std::f64::consts::PI).abs() < 1.0);
        assert!(point(90.0, 10.0).distance_meters(point(90.0, -100.0)) < 1e-6);
    }

    #[test]
    fn cells_number_the_whole_map() {
        let last = (1i64 << (2 * DEPTH)) - 1;
        assert_eq!(point(-90.0, -180.0).cell(), 0);
        assert_eq!(point(90.0, 180.0).cell(), last);
    }

    #[test]
    fn a_rough_place_is_within_about_a_kilometre() {
        let place = point(40.716_349, -73.959_512);
        assert_eq!(place.roughly(), point(40.72, -73.96));
        assert!(place.distance_meters(place.roughly()) < 1_000.0);
    }

    fn holds(ranges: &[CellRange], cell: i64) -> bool {
        let inside = |range: &CellRange| (range.first..=range.last).contains(&cell);
        ranges.iter().any(inside)
    }

    fn any_point() -> impl Strategy<Value = Point> {
        let edge = prop_oneof![Just(-180.0), Just(180.0), Just(0.0), -180.0..=180.0f64];
        let pole = prop_oneof![Just(-90.0), Just(90.0), Just(0.0), -90.0..=90.0f64];
        (pole, edge).prop_map(|(latitude, longitude)| point(latitude, longitude))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        /// Rounding twice changes nothing, and the cell of a rounded place tells the place.
        #[test]
        fn a_rounded_place_is_found_by_its_cell(latitude in -90.0..=90.0f64, longitude in -180.0..=180.0f64) {
            let rough = point(latitude, longitude).roughly();
            prop_assert_eq!(rough.roughly(), rough);
            let found = Point::of_cell(rough.cell()).roughly();
            prop_assert_eq!(found.latitude.to_bits(), rough.latitude.to_bits());
            prop_assert_eq!(found.longitude.to_bits(), rough.longitude.to_bits());
        }

        /// No point within the radius is missed: over poles, across the antimeridian, anywhere.
        #[test]
        fn a_cover_misses_nothing(
            center in any_point(),
            radius in prop_oneof![1.0..2_000_000.0f64, Just(500.0), Just(25_000.0)],
            bearing in 0.0..std::f64::consts::TAU,
            part in 0.0..=1.0f64,
        ) {
            let (from, angle) = (center.latitude.to_radians(), radius * part / EARTH_METERS);
            let latitude = (from.sin() * angle.cos() + from.cos() * angle.sin() * bearing.cos())
                .clamp(-1.0, 1.0)
                .asin();
            let across = (bearing.sin() * angle.sin() * from.cos())
                .atan2(angle.cos() - from.sin() * latitude.sin());
            let longitude = (center.longitude + across.to_degrees() + 540.0).rem_euclid(360.0) - 180.0;
            let found = point(latitude.to_degrees(), longitude);
            prop_assume!(center.distance_meters(found) <= radius);
            let ranges = cover(center, radius);
            prop_assert!(holds(&ranges, found.cell()), "{found:?} {ranges:?}");
            prop_assert!(ranges.len() <= 2 * MAX_SQUARES);
            prop_assert!(ranges.is_sorted_by(|a, b| a.last < b.first));
            if radius < 200_000.0 {
                for square in [Square::District, Square::Region] {
                    let around = square.around(center, radius);
                    prop_assert!(around.contains(&square.of(found)), "{square:?}");
                }
            }
        }

        /// No square within the distance is missed: over poles, across the antimeridian, anywhere.
        #[test]
        fn blocks_around_a_square_miss_nothing(one in any_point(), other in any_point(), meters in 1.0..300_000.0f64) {
            let (from, to) = (GridSquare::of(one), GridSquare::of(other));
            prop_assert_eq!(GridSquare::of(from.middle()), from);
            let inside = |place: i64, (first, last): (i64, i64)| (first..=last).contains(&place);
            let contains = |square: GridSquare, meters: f64| {
                let blocks = to.blocks_around(meters);
                let holds = |block: &Block| inside(square.row, block.rows) && inside(square.column, block.columns);
                blocks.iter().any(holds)
            };
            prop_assert!(contains(to, meters));
            prop_assert!(contains(from, from.middle().distance_meters(to.middle())));
        }

        /// Most points that are much too far away are left out. Otherwise the cover would be
        /// useless.
        #[test]
        fn a_small_cover_is_a_small_part_of_the_map(latitude in -60.0..60.0f64, longitude in -179.0..179.0f64) {
            let ranges = cover(point(latitude, longitude), 25_000.0);
            let cells: i64 = ranges.iter().map(|range| range.last - range.first + 1).sum();
            let share = cells as f64 / (1i64 << (2 * DEPTH)) as f64;
            prop_assert!(share < 1e-4, "{share}");
        }
    }
}
