//! Tiles under a map: pictures of the ground, in the usual squares of web maps.

use std::f64::consts::PI;
use std::fmt::Write;

use super::{HEIGHT, Scale, WIDTH};
use crate::domain::{MapTiles, geo::Point};
use crate::pages::kit::words::escaped;

/// Metres that a pixel of the one tile of zoom 0 is wide at the equator.
const METERS_A_PIXEL: f64 = 156_543.033_92;
const TILE: f64 = 256.0;
const MOST_ZOOM: f64 = 19.0;
/// Further out, or nearer to a pole, the flat map and the tiles would not lie on each other.
const MOST_METERS: f64 = 60_000.0;
const MOST_LATITUDE: f64 = 80.0;

/// Draws them, if the map shows a piece of land that is small enough. They are images of the SVG, which scale
/// with it: a style of their own would be refused by the rules of our pages.
pub fn draw(svg: &mut String, scale: &Scale, tiles: &MapTiles) -> bool {
    let shown_meters = WIDTH / scale.pixels_a_meter;
    let latitude = scale.center.latitude;
    if shown_meters > MOST_METERS || latitude.abs() > MOST_LATITUDE {
        return false;
    }
    let pixel = METERS_A_PIXEL * latitude.to_radians().cos();
    let zoom = (pixel * scale.pixels_a_meter)
        .log2()
        .floor()
        .clamp(0.0, MOST_ZOOM);
    let count = zoom.exp2();
    let size = TILE * pixel / count * scale.pixels_a_meter;
    let (x, y) = fraction(scale.center);
    let (left, top) = (
        x * count - WIDTH / 2.0 / size,
        y * count - HEIGHT / 2.0 / size,
    );
    let (columns, rows) = (
        (WIDTH / size).ceil() as i64 + 1,
        (HEIGHT / size).ceil() as i64 + 1,
    );
    for row in top.floor() as i64..top.floor() as i64 + rows {
        for column in left.floor() as i64..left.floor() as i64 + columns {
            let all = count as i64;
            if !(0..all).contains(&row) {
                continue;
            }
            let name = tiles.url(zoom as u32, column.rem_euclid(all) as u32, row as u32);
            let (at_x, at_y) = ((column as f64 - left) * size, (row as f64 - top) * size);
            let _ = write!(
                svg,
                "<image href=\"{}\" x=\"{at_x:.1}\" y=\"{at_y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                escaped(&name),
                size + 0.5,
                size + 0.5,
            );
        }
    }
    true
}

/// Where a point lies on the square that shows the whole Earth (Web Mercator), from its upper left corner.
fn fraction(point: Point) -> (f64, f64) {
    let latitude = point.latitude.to_radians();
    let north = (latitude.tan() + 1.0 / latitude.cos()).ln();
    ((point.longitude + 180.0) / 360.0, (1.0 - north / PI) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tile_with_the_task_lies_under_the_task() {
        let center = Point {
            latitude: 40.7163,
            longitude: -73.9595,
        };
        // 500 m are 160 pixels.
        let scale = Scale {
            center,
            pixels_a_meter: 0.32,
        };
        let tiles = MapTiles::rule("https://t.example/{z}/{x}/{y} Maps").unwrap();
        let mut svg = String::new();
        assert!(draw(&mut svg, &scale, &tiles));
        // The tile of Brooklyn's Bedford Avenue at this zoom.
        let named = svg
            .split("<image href=\"https://t.example/15/9652/12319\" x=\"")
            .nth(1);
        let named = named.unwrap_or_else(|| panic!("{svg}"));
        let number = |text: &str| text.split('"').next().unwrap().parse::<f64>().unwrap();
        let x = number(named);
        let y = number(named.split("y=\"").nth(1).unwrap());
        let size = number(named.split("width=\"").nth(1).unwrap());
        assert!(x <= 320.0 && 320.0 <= x + size, "{svg}");
        assert!(y <= 200.0 && 200.0 <= y + size, "{svg}");
        assert!(svg.matches("<image").count() <= 30, "{svg}");
    }

    #[test]
    fn a_map_of_half_the_earth_has_none() {
        let scale = Scale {
            center: Point {
                latitude: 0.0,
                longitude: 0.0,
            },
            pixels_a_meter: 0.000_1,
        };
        let tiles = MapTiles::rule("https://t.example/{z}/{x}/{y} Maps").unwrap();
        assert!(!draw(&mut String::new(), &scale, &tiles));
    }
}
