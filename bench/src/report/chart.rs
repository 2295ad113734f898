//! The charts of a report: one for each part that has rates, and one of response times.

use crate::report::plot::{Axis, Bars, Line, Lines};
use crate::report::{Figure, Report};

/// The names of the files, and what is in them.
pub fn charts(report: &Report) -> Vec<(String, String)> {
    let mut charts: Vec<(&str, Bars)> = Vec::new();
    for figure in report.figures() {
        let Some(group) = figure.bars() else {
            continue;
        };
        if charts.last().is_none_or(|(part, _)| *part != figure.part) {
            let at = charts.iter().position(|(part, _)| *part == figure.part);
            let chart = match at {
                Some(at) => charts.remove(at),
                None => (figure.part, Bars::named(figure.part)),
            };
            charts.push(chart);
        }
        if let Some((_, bars)) = charts.last_mut() {
            bars.groups.push(group);
        }
    }
    let file = |(part, bars): (&str, Bars)| (format!("{part}.svg"), bars.svg());
    charts
        .into_iter()
        .map(file)
        .chain(latency(report))
        .collect()
}

/// How late the latest are. The further right, the fewer requests take longer.
fn latency(report: &Report) -> Option<(String, String)> {
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        logarithmic: true,
    };
    let lines: Vec<_> = report.figures().iter().filter_map(late).collect();
    let chart = Lines {
        title: "Response times at full load".to_owned(),
        x: axis("one request in so many takes longer"),
        y: axis("milliseconds"),
        lines,
    };
    (!chart.lines.is_empty()).then(|| ("latency.svg".to_owned(), chart.svg()))
}

fn late(figure: &Figure) -> Option<Line> {
    let times = figure.times_of_a_rate()?;
    let shares = [2.0, 100.0, 1_000.0];
    let millis = times.map(|micros| micros / 1e3);
    Some(Line {
        label: figure.title(),
        points: shares.into_iter().zip(millis).collect(),
    })
}

impl Bars {
    fn named(part: &str) -> Self {
        Self {
            title: format!("{part}: per second"),
            groups: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Sample;

    #[test]
    fn each_part_has_one_chart_with_the_rates_of_all_engines() {
        let mut report = Report::default();
        for engine in ["SQLite", "PostgreSQL"] {
            for part in ["create", "get", "start"] {
                report.begin(part);
                report.add(match part {
                    "start" => Figure::seconds(engine, part, 1.0),
                    _ => Figure::throughput(engine, part, &Sample::of_rate(7.0)),
                });
            }
        }
        let charts = charts(&report);
        let names: Vec<_> = charts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["create.svg", "get.svg"]);
        for (_, svg) in &charts {
            assert!(svg.contains("SQLite") && svg.contains("PostgreSQL"));
        }
    }
}
