//! A map of several tasks: each is a link.

use std::fmt::Write;

use super::{HEIGHT, MARGIN, Scale, WIDTH, background, boxed, east_north, scale_bar, thanks};
use crate::domain::MapTiles;
use crate::domain::geo::Point;
use crate::pages::kit::words::escaped;

/// A task on the map.
pub struct Pin {
    pub at: Point,
    pub href: String,
    /// Comes from people.
    pub title: String,
}

/// Nothing is shown larger than this: a single pin in a room would say nothing.
const LEAST_METERS: f64 = 500.0;

/// The map as HTML, or nothing if there is no pin.
pub fn many(pins: &[Pin], tiles: Option<&MapTiles>) -> Option<String> {
    let scale = around(pins)?;
    let mut svg = format!(
        "<svg class=\"map\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" aria-label=\"Map of {} tasks. The list has the same.\">",
        pins.len()
    );
    let has_tiles = background(&mut svg, &scale, tiles);
    for pin in pins {
        let (x, y) = scale.at(pin.at);
        let _ = write!(
            svg,
            "<a href=\"{}\"><title>{}</title><path class=\"task\" d=\"M{x:.1} {y:.1}l-10 -18a11.5 11.5 0 1 1 20 0z\"/></a>",
            escaped(&pin.href),
            escaped(&pin.title)
        );
    }
    scale_bar(&mut svg, &scale);
    svg.push_str("</svg>");
    thanks(&mut svg, tiles.filter(|_| has_tiles));
    Some(boxed(&svg))
}

/// A scale at which all of them are on the map.
fn around(pins: &[Pin]) -> Option<Scale> {
    let first = pins.first()?.at;
    let away: Vec<_> = pins.iter().map(|pin| east_north(first, pin.at)).collect();
    let most = |part: fn(&(f64, f64)) -> f64| {
        let values = away.iter().map(part);
        values.fold((0.0_f64, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    };
    let ((west, east), (south, north)) = (most(|at| at.0), most(|at| at.1));
    let center = super::moved(first, (west + east) / 2.0, (south + north) / 2.0);
    let (wide, high) = (
        (east - west).max(LEAST_METERS),
        (north - south).max(LEAST_METERS),
    );
    Some(Scale {
        center,
        pixels_a_meter: (WIDTH / wide).min(HEIGHT / high) / (MARGIN * MARGIN),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_on_the_map_and_what_people_wrote_is_harmless() {
        let pin = |latitude, longitude| Pin {
            at: Point {
                latitude,
                longitude,
            },
            href: "/dashboard/test/tasks/1".to_owned(),
            title: "<script>\"&".to_owned(),
        };
        let pins = [pin(40.7, -74.0), pin(34.0, -118.2), pin(47.6, -122.3)];
        let scale = around(&pins).unwrap();
        for pin in &pins {
            let (x, y) = scale.at(pin.at);
            assert!(
                (0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y),
                "{x} {y}"
            );
        }
        let map = many(&pins, None).unwrap();
        assert_eq!(map.matches("<a href=").count(), 3);
        assert!(
            !map.contains("<script>") && map.contains("&#60;script&#62;"),
            "{map}"
        );
        assert!(many(&[], None).is_none());
    }
}
