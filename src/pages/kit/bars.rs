//! Bars, drawn on the server. The table with the same figures always stands beside them.

use std::fmt::Write;

/// Of 200 pixels, which the stylesheet says.
const BASE: i64 = 168;
const TOP: i64 = 16;

/// One bar. Neither text comes from people: both are figures.
pub struct Bar {
    pub label: String,
    pub value: i64,
    /// The value as people read it.
    pub shown: String,
}

/// The chart as SVG. What is below zero has no bar. Across, lengths are per cent of whatever room there is: on a phone the
/// bars become narrower, and the labels stay as large as other text.
pub fn bars(title: &str, all: &[Bar]) -> String {
    let most = all.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
    let step = 100.0 / all.len().max(1) as f64;
    let mut svg = format!(
        "<svg class=\"chart bars\" role=\"img\" aria-label=\"{title}. The table has the figures.\">\
        <line class=\"axis\" x1=\"0\" y1=\"{BASE}\" x2=\"100%\" y2=\"{BASE}\"/>"
    );
    for (place, bar) in all.iter().enumerate() {
        let height = bar.value.max(0) * (BASE - TOP) / most;
        let middle = (place as f64 + 0.5) * step;
        let (x, y, width) = (middle - 0.4 * step, BASE - height, 0.8 * step);
        let Bar { label, shown, .. } = bar;
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{x:.2}%\" y=\"{y}\" width=\"{width:.2}%\" height=\"{height}\"><title>{label}: {shown}</title></rect>"
        );
        // Every label would not fit.
        if place % 5 == 0 {
            let _ = write!(
                svg,
                "<text x=\"{middle:.2}%\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                BASE + 24
            );
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
