//! Bars, drawn on the server. The table with the same figures always stands beside them.

use std::fmt::Write;

const WIDTH: i64 = 640;
const HEIGHT: i64 = 200;
const BASE: i64 = 168;
const TOP: i64 = 16;

/// One bar. Neither text comes from people: both are figures.
pub struct Bar {
    pub label: String,
    pub value: i64,
    /// The value as people read it.
    pub shown: String,
}

/// The chart as SVG. What is below zero has no bar.
pub fn bars(title: &str, all: &[Bar]) -> String {
    let most = all.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
    let step = WIDTH / (all.len() as i64).max(1);
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}. The table has the figures.\">\
        <line class=\"axis\" x1=\"0\" y1=\"{BASE}\" x2=\"{WIDTH}\" y2=\"{BASE}\"/>"
    );
    for (place, bar) in all.iter().enumerate() {
        let height = bar.value.max(0) * (BASE - TOP) / most;
        let (x, y, width) = (place as i64 * step + 2, BASE - height, (step - 4).max(1));
        let Bar { label, shown, .. } = bar;
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"><title>{label}: {shown}</title></rect>"
        );
        // Every label would not fit.
        if place % 5 == 0 {
            let _ = write!(svg, "<text x=\"{x}\" y=\"{}\">{label}</text>", BASE + 20);
        }
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_reaches_the_top_and_none_goes_below_the_axis() {
        let bar = |value| Bar {
            label: "01".to_owned(),
            value,
            shown: "$1.00".to_owned(),
        };
        let svg = bars("Paid", &[bar(50), bar(100), bar(-10)]);
        for height in ["height=\"76\"", "height=\"152\"", "height=\"0\""] {
            assert!(svg.contains(height), "{svg}");
        }
        assert!(bars("Nothing", &[]).contains("</svg>"));
    }
}
