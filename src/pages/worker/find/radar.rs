//! Tasks around a worker, drawn on the server: rings, north up, and a number for each task of the list.

use std::fmt::Write;

use crate::domain::geo::Point;
use crate::pages::kit::map::east_north;

const SIZE: f64 = 320.0;
const MIDDLE: f64 = SIZE / 2.0;
/// The outer ring.
const REACH: f64 = 140.0;
/// Dots that are nearer to each other than this are one.
const NEAR: f64 = 24.0;

pub struct Dot {
    pub place: Point,
    pub bounty: bool,
}

/// Several tasks that are drawn as one.
struct Cluster {
    x: f64,
    y: f64,
    bounty: bool,
    numbers: Vec<usize>,
}

/// The drawing. `label` says in words what it shows.
pub fn svg(center: Point, radius_km: f64, dots: &[Dot], label: &str) -> String {
    let mut svg = format!(
        "<svg class=\"radar\" viewBox=\"0 0 {SIZE} {SIZE}\" width=\"{SIZE}\" height=\"{SIZE}\" role=\"img\" aria-label=\"{}\">",
        label
            .replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('<', "&lt;")
    );
    for part in [3.0, 2.0, 1.0] {
        let (radius, km) = (REACH * part / 3.0, radius_km * part / 3.0);
        let _ = write!(
            svg,
            "<circle class=\"ring\" cx=\"{MIDDLE}\" cy=\"{MIDDLE}\" r=\"{radius:.1}\"/>\
            <text x=\"{MIDDLE}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            MIDDLE + radius - 4.0,
            kilometers(km)
        );
    }
    let _ = write!(
        svg,
        "<path class=\"north\" d=\"M{MIDDLE} 4l6 12h-12z\"/><circle class=\"you\" cx=\"{MIDDLE}\" cy=\"{MIDDLE}\" r=\"5\"/>"
    );
    for cluster in clusters(center, radius_km, dots) {
        draw(&mut svg, &cluster);
    }
    svg.push_str("</svg>");
    svg
}

fn kilometers(km: f64) -> String {
    match km < 10.0 {
        true => format!("{km:.1} km"),
        false => format!("{km:.0} km"),
    }
}

fn draw(svg: &mut String, cluster: &Cluster) {
    let (x, y) = (cluster.x, cluster.y);
    let kind = if cluster.bounty { "dot bounty" } else { "dot" };
    let text = match cluster.numbers.as_slice() {
        [one] => one.to_string(),
        [first, ..] => format!("{first}+"),
        [] => return,
    };
    let _ = write!(
        svg,
        "<circle class=\"{kind}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"13\"/>\
        <text class=\"number\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
        y + 4.0
    );
}

fn clusters(center: Point, radius_km: f64, dots: &[Dot]) -> Vec<Cluster> {
    let scale = REACH / (radius_km.max(0.1) * 1_000.0);
    let mut clusters: Vec<Cluster> = Vec::new();
    for (place, dot) in dots.iter().enumerate() {
        let (east, north) = east_north(center, dot.place);
        // Rounded places may lie a little outside.
        let shrink = (REACH / (east.hypot(north) * scale).max(REACH)).min(1.0);
        let (x, y) = (
            MIDDLE + east * scale * shrink,
            MIDDLE - north * scale * shrink,
        );
        let near = clusters
            .iter_mut()
            .find(|one| (one.x - x).hypot(one.y - y) < NEAR);
        match near {
            Some(cluster) => {
                cluster.numbers.push(place + 1);
                cluster.bounty |= dot.bounty;
            }
            None => clusters.push(Cluster {
                x,
                y,
                bounty: dot.bounty,
                numbers: vec![place + 1],
            }),
        }
    }
    clusters
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Point = Point {
        latitude: 40.0,
        longitude: -74.0,
    };

    fn dot(latitude: f64, longitude: f64) -> Dot {
        Dot {
            place: Point {
                latitude,
                longitude,
            },
            bounty: false,
        }
    }

    #[test]
    fn north_is_up_and_what_is_near_is_one() {
        let dots = [dot(40.1, -74.0), dot(40.101, -74.0), dot(40.0, -73.9)];
        let found = clusters(HOME, 25.0, &dots);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].numbers, [1, 2]);
        assert!(found[0].y < MIDDLE && (found[0].x - MIDDLE).abs() < 1.0);
        assert!(found[1].x > MIDDLE && (found[1].y - MIDDLE).abs() < 1.0);
        let drawn = svg(HOME, 25.0, &dots, "a \"label\" <b>");
        assert!(drawn.contains(">1+</text>") && drawn.contains(">3</text>"));
        assert!(drawn.contains("a &quot;label&quot; &lt;b>"), "{drawn}");
    }

    #[test]
    fn what_is_too_far_stays_on_the_outer_ring() {
        let found = clusters(HOME, 5.0, &[dot(41.0, -74.0)]);
        assert!((found[0].y - (MIDDLE - REACH)).abs() < 0.1);
    }
}
