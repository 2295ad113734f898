//! Maps, drawn on the server: a task, the ring within which proof is valid, and the places of a proof. They
//! need no script, and say in words what they show. Tiles lie under them where the operator has named a server.

mod many;
mod tiles;

use std::fmt::Write;

use crate::domain::MapTiles;
use crate::domain::geo::Point;
use crate::domain::proofs::VALID_METERS;
use crate::pages::kit::words::escaped;

pub use many::{Pin, many};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Metres of one degree of latitude.
const METERS_A_DEGREE: f64 = 111_320.0;
/// How much is shown around what is on the map.
const MARGIN: f64 = 1.25;

/// What is on a map.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub task: Point,
    /// The position that was sent, and how far off it may be.
    pub sent: Option<(Point, Option<f64>)>,
    /// The place that the camera recorded.
    pub exif: Option<Point>,
}

/// Meters to pixels.
struct Scale {
    center: Point,
    pixels_a_meter: f64,
}

impl Scale {
    fn of(places: &Places) -> Self {
        let mut reach = VALID_METERS;
        for (point, off) in places
            .sent
            .into_iter()
            .chain(places.exif.map(|exif| (exif, None)))
        {
            let away = east_north(places.task, point);
            reach = reach.max(away.0.hypot(away.1) + off.unwrap_or(0.0).min(5_000.0));
        }
        Self {
            center: places.task,
            pixels_a_meter: HEIGHT / 2.0 / (reach * MARGIN),
        }
    }

    fn at(&self, point: Point) -> (f64, f64) {
        let (east, north) = east_north(self.center, point);
        (
            WIDTH / 2.0 + east * self.pixels_a_meter,
            HEIGHT / 2.0 - north * self.pixels_a_meter,
        )
    }
}

/// How far a point lies east and north of another, in metres. Near enough for what a map shows.
pub fn east_north(from: Point, to: Point) -> (f64, f64) {
    let mut degrees = to.longitude - from.longitude;
    if degrees > 180.0 {
        degrees -= 360.0;
    } else if degrees < -180.0 {
        degrees += 360.0;
    }
    let east = degrees * METERS_A_DEGREE * from.latitude.to_radians().cos();
    (east, (to.latitude - from.latitude) * METERS_A_DEGREE)
}

/// A point that lies so many metres east and north of another.
fn moved(from: Point, east: f64, north: f64) -> Point {
    let a_degree = METERS_A_DEGREE * from.latitude.to_radians().cos().max(0.01);
    Point {
        latitude: from.latitude + north / METERS_A_DEGREE,
        longitude: from.longitude + east / a_degree,
    }
}

/// Tiles, or else a grid. Tells whether there are tiles.
fn background(svg: &mut String, scale: &Scale, tiles: Option<&MapTiles>) -> bool {
    let drawn = tiles.is_some_and(|tiles| tiles::draw(svg, scale, tiles));
    if !drawn {
        grid(svg);
    }
    drawn
}

/// Whom to thank for the tiles.
fn thanks(html: &mut String, tiles: Option<&MapTiles>) {
    if let Some(tiles) = tiles {
        let _ = write!(
            html,
            "<p class=\"attribution\">{}</p>",
            escaped(tiles.attribution())
        );
    }
}

/// The stylesheet makes labels larger where a map is small, so it has to know how wide the map is.
fn boxed(map: &str) -> String {
    format!("<div class=\"map-box\">{map}</div>")
}

/// The map as HTML. Nothing in it comes from people, so it needs no escaping.
pub fn draw(places: &Places, tiles: Option<&MapTiles>) -> String {
    let scale = Scale::of(places);
    let mut svg = format!(
        "<svg class=\"map\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        described(places)
    );
    let has_tiles = background(&mut svg, &scale, tiles);
    let (x, y) = scale.at(places.task);
    let ring = VALID_METERS * scale.pixels_a_meter;
    let _ = write!(
        svg,
        "<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{ring:.1}\"/>"
    );
    if let Some(exif) = places.exif {
        let (x, y) = scale.at(exif);
        let _ = write!(
            svg,
            "<rect class=\"exif\" x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\"/>",
            x - 6.0,
            y - 6.0
        );
    }
    if let Some((sent, off)) = places.sent {
        sent_place(&mut svg, &scale, places.task, sent, off);
    }
    let _ = write!(
        svg,
        "<path class=\"task\" d=\"M{x:.1} {y:.1}l-10 -18a11.5 11.5 0 1 1 20 0z\"/>"
    );
    scale_bar(&mut svg, &scale);
    svg.push_str("</svg>");
    thanks(&mut svg, tiles.filter(|_| has_tiles));
    boxed(&svg)
}

fn sent_place(svg: &mut String, scale: &Scale, task: Point, sent: Point, off: Option<f64>) {
    let ((x, y), (to_x, to_y)) = (scale.at(sent), scale.at(task));
    if let Some(off) = off {
        let radius = off.min(5_000.0) * scale.pixels_a_meter;
        let _ = write!(
            svg,
            "<circle class=\"accuracy\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        );
    }
    let meters = sent.distance_meters(task);
    let _ = write!(
        svg,
        "<line class=\"line\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\"/>\
         <circle class=\"sent\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/>"
    );
    // Far enough apart for a label between them.
    if (x - to_x).hypot(y - to_y) > 60.0 {
        let (at_x, at_y) = ((x + to_x) / 2.0, (y + to_y) / 2.0 - 6.0);
        let _ = write!(
            svg,
            "<text x=\"{at_x:.1}\" y=\"{at_y:.1}\" text-anchor=\"middle\">{}</text>",
            distance(meters)
        );
    }
}

fn grid(svg: &mut String) {
    for x in (1..8).map(|step| f64::from(step) * 80.0) {
        let _ = write!(
            svg,
            "<line class=\"grid-line\" x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{HEIGHT}\"/>"
        );
    }
    for y in (1..5).map(|step| f64::from(step) * 80.0) {
        let _ = write!(
            svg,
            "<line class=\"grid-line\" x1=\"0\" y1=\"{y}\" x2=\"{WIDTH}\" y2=\"{y}\"/>"
        );
    }
}

/// A round number of metres, at most 160 pixels long.
fn scale_bar(svg: &mut String, scale: &Scale) {
    let most = 160.0 / scale.pixels_a_meter;
    let size = 10_f64.powf(most.log10().floor());
    let meters = [5.0, 2.0, 1.0]
        .iter()
        .map(|step| step * size)
        .find(|meters| *meters <= most);
    let meters = meters.unwrap_or(size);
    let (end, label) = (16.0 + meters * scale.pixels_a_meter, distance(meters));
    let _ = write!(
        svg,
        "<path class=\"scale\" d=\"M16 378v6H{end:.1}v-6\" fill=\"none\"/><text x=\"16\" y=\"372\">{label}</text>\
         <text x=\"628\" y=\"10\" text-anchor=\"end\" dominant-baseline=\"hanging\">N ↑</text>"
    );
}

/// `480 m` or `1.9 km`.
pub fn distance(meters: f64) -> String {
    if meters < 1_000.0 {
        format!("{meters:.0} m")
    } else {
        format!("{:.1} km", meters / 1_000.0)
    }
}

/// The map in words.
pub fn described(places: &Places) -> String {
    let mut text = format!("Map: the task, with a ring of {VALID_METERS:.0} m around it.");
    if let Some((sent, off)) = places.sent {
        let meters = sent.distance_meters(places.task);
        let within = if meters <= VALID_METERS {
            "inside"
        } else {
            "outside"
        };
        let _ = write!(
            text,
            " The position that was sent is {} away, {within} the ring",
            distance(meters)
        );
        if let Some(off) = off {
            let _ = write!(text, ", accurate to {}", distance(off));
        }
        text.push('.');
    }
    if let Some(exif) = places.exif {
        let meters = exif.distance_meters(places.task);
        let _ = write!(
            text,
            " The place that the camera recorded is {} away.",
            distance(meters)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: Point = Point {
        latitude: 40.7163,
        longitude: -73.9595,
    };

    #[test]
    fn a_map_shows_what_it_says() {
        let near = Point {
            latitude: 40.7170,
            ..TASK
        };
        let places = Places {
            task: TASK,
            sent: Some((near, Some(20.0))),
            exif: None,
        };
        let text = described(&places);
        assert!(
            text.contains("78 m away, inside the ring, accurate to 20 m."),
            "{text}"
        );
        let map = draw(&places, None);
        assert!(map.contains("class=\"accuracy\"") && map.contains("class=\"sent\""));
        assert!(!map.contains("class=\"exif\""));
        // The ring fits: half the height is at least as far as the ring.
        assert!(map.contains("r=\"160.0\""), "{map}");
    }

    #[test]
    fn what_is_far_away_is_still_on_the_map() {
        for far in [
            Point {
                latitude: 41.0,
                longitude: -73.0,
            },
            Point {
                latitude: -33.9,
                longitude: 151.2,
            },
        ] {
            let places = Places {
                task: TASK,
                sent: Some((far, None)),
                exif: Some(far),
            };
            let scale = Scale::of(&places);
            let (x, y) = scale.at(far);
            assert!((0.0..=HEIGHT).contains(&y), "{y}");
            assert!((-WIDTH..=2.0 * WIDTH).contains(&x), "{x}");
            assert!(described(&places).contains("outside the ring"));
        }
    }

    #[test]
    fn the_date_line_is_no_wall() {
        let west = Point {
            latitude: 0.0,
            longitude: 179.999,
        };
        let east = Point {
            latitude: 0.0,
            longitude: -179.999,
        };
        assert!(east_north(west, east).0 > 0.0 && east_north(west, east).0 < 300.0);
    }
}
