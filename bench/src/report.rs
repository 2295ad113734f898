//! The figures as a Markdown table and as JSON.

pub mod chart;
pub mod machine;
pub mod plot;

use serde_json::{Value, json};

use crate::load::Sample;
use crate::options::{ACCOUNTS, CONNECTIONS, Options};
use crate::report::plot::{Bar, Group};

const MIDDLE: usize = 50;
const LATE: usize = 99;
/// In thousandths.
const LATEST: usize = 999;

const HEAD: &str = "\
| Engine | Figure | Measured | p50 | p99 | p999 | CPU | Beside | Ratio | Target | Met |
|---|---|--:|--:|--:|--:|--:|---|--:|--:|---|
";

#[derive(Default)]
pub struct Report {
    figures: Vec<Figure>,
    notes: Vec<String>,
    part: &'static str,
}

pub struct Figure {
    /// As `--only` names it.
    pub part: &'static str,
    engine: &'static str,
    name: String,
    value: f64,
    unit: Unit,
    /// If single responses were timed.
    sample: Option<Sample>,
    /// The percentile by which times are judged: the median or p99.
    judged_by: usize,
    /// The first one is what the target is about.
    beside: Vec<Beside>,
    target: Option<Target>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    PerSecond,
    Micros,
    Seconds,
    Megabytes,
    MegabytesPerSecond,
    /// This many for each task.
    PerTask,
}

/// What a figure is compared with.
struct Beside {
    name: String,
    value: f64,
    ratio: f64,
    processor: Option<f64>,
}

/// A bound on the ratio if there is one, otherwise on the figure itself.
#[derive(Clone, Copy)]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    fn new(engine: &'static str, name: &str, value: f64, unit: Unit) -> Self {
        Self {
            part: "",
            engine,
            name: name.to_owned(),
            value,
            unit,
            sample: None,
            judged_by: MIDDLE,
            beside: Vec::new(),
            target: None,
        }
    }

    pub fn throughput(engine: &'static str, name: &str, sample: &Sample) -> Self {
        Self {
            sample: Some(sample.clone()),
            ..Self::new(engine, name, sample.per_second(), Unit::PerSecond)
        }
    }

    /// Judged by p50.
    pub fn latency(engine: &'static str, name: &str, sample: &Sample) -> Self {
        Self::time(engine, name, sample, MIDDLE)
    }

    /// Judged by p99.
    pub fn late_latency(engine: &'static str, name: &str, sample: &Sample) -> Self {
        Self::time(engine, name, sample, LATE)
    }

    fn time(engine: &'static str, name: &str, sample: &Sample, judged_by: usize) -> Self {
        let value = sample.percentile(judged_by).unwrap_or(f64::NAN);
        Self {
            sample: Some(sample.clone()),
            judged_by,
            ..Self::new(engine, name, value, Unit::Micros)
        }
    }

    pub fn seconds(engine: &'static str, name: &str, seconds: f64) -> Self {
        Self::new(engine, name, seconds, Unit::Seconds)
    }

    pub fn megabytes(engine: &'static str, name: &str, megabytes: f64) -> Self {
        Self::new(engine, name, megabytes, Unit::Megabytes)
    }

    pub fn megabytes_per_second(engine: &'static str, name: &str, sample: &Sample) -> Self {
        Self {
            sample: Some(sample.clone()),
            ..Self::new(engine, name, sample.per_second(), Unit::MegabytesPerSecond)
        }
    }

    pub fn per_task(engine: &'static str, name: &str, count: f64) -> Self {
        Self::new(engine, name, count, Unit::PerTask)
    }

    pub fn at_least(self, ratio: f64, name: &str, limit: &Sample) -> Self {
        Self {
            target: Some(Target::AtLeast(ratio)),
            ..self.beside(name, limit)
        }
    }

    pub fn at_most_times(self, times: f64, name: &str, other: &Sample) -> Self {
        Self {
            target: Some(Target::AtMost(times)),
            ..self.beside_latency(name, other)
        }
    }

    pub fn at_most(self, value: f64) -> Self {
        Self {
            target: Some(Target::AtMost(value)),
            ..self
        }
    }

    /// Informational: there is no target.
    pub fn beside(self, name: &str, other: &Sample) -> Self {
        let ratio = self.sample.as_ref().map(|own| own.rate_ratio(other));
        let processor = other.processor_per_request();
        self.held_against(name, other.per_second(), ratio, processor)
    }

    pub fn beside_latency(self, name: &str, other: &Sample) -> Self {
        let others = other.percentile(self.judged_by).unwrap_or(f64::NAN);
        let ratio = self.value / others;
        self.held_against(name, others, Some(ratio), other.processor_per_request())
    }

    pub fn beside_count(self, name: &str, other: f64) -> Self {
        let ratio = self.value / other;
        self.held_against(name, other, Some(ratio), None)
    }

    fn held_against(
        mut self,
        name: &str,
        value: f64,
        ratio: Option<f64>,
        processor: Option<f64>,
    ) -> Self {
        self.beside.push(Beside {
            name: name.to_owned(),
            value,
            ratio: ratio.unwrap_or(f64::NAN),
            processor,
        });
        self
    }

    /// To the first that it is compared with.
    fn ratio(&self) -> Option<f64> {
        self.beside.first().map(|beside| beside.ratio)
    }

    /// With its engine.
    pub fn title(&self) -> String {
        format!("{}, {}", self.engine, self.name)
    }

    /// p50, p99 and p999 in microseconds. `None` if it is no rate or single requests were not timed.
    pub fn times_of_a_rate(&self) -> Option<[f64; 3]> {
        let sample = self.sample.as_ref()?;
        let times = [
            sample.percentile(MIDDLE)?,
            sample.percentile(LATE)?,
            self.latest()?,
        ];
        (self.unit == Unit::PerSecond).then_some(times)
    }

    /// The bars of a rate: its own, then what it is compared with. `None` if it is no rate.
    pub fn bars(&self) -> Option<Group> {
        if self.unit != Unit::PerSecond {
            return None;
        }
        let bar = |label: &str, value: f64, hue: usize| Bar {
            label: label.to_owned(),
            value,
            shown: self.unit.show(value),
            hue,
        };
        let mut bars = vec![bar("Legwork", self.value, 0)];
        let others = (1..).zip(&self.beside);
        bars.extend(others.map(|(hue, other)| bar(&other.name, other.value, hue)));
        Some(Group {
            label: self.title(),
            bars,
        })
    }

    fn percentile(&self, percent: usize) -> Option<f64> {
        self.sample.as_ref()?.percentile(percent)
    }

    fn latest(&self) -> Option<f64> {
        self.sample.as_ref()?.permille(LATEST)
    }

    fn processor(&self) -> Option<f64> {
        self.sample.as_ref()?.processor_per_request()
    }

    fn met(&self) -> Option<bool> {
        let judged = self.ratio().unwrap_or(self.value);
        self.target.map(|target| match target {
            Target::AtLeast(bound) => judged >= bound,
            Target::AtMost(bound) => judged <= bound,
        })
    }

    fn row(&self) -> String {
        let dash = || "–".to_owned();
        let millis = |micros: Option<f64>| {
            micros.map_or_else(dash, |micros| format!("{:.2} ms", micros / 1000.0))
        };
        let lines = |show: &dyn Fn(&Beside) -> String| {
            let lines: Vec<_> = self.beside.iter().map(show).collect();
            if lines.is_empty() {
                dash()
            } else {
                lines.join("<br>")
            }
        };
        let against = lines(&|beside| {
            let processor = beside.processor.map(|p| format!(", {p:.0} µs CPU"));
            let value = self.unit.show(beside.value);
            format!("{}: {value}{}", beside.name, processor.unwrap_or_default())
        });
        let bound = |bound| match self.beside.is_empty() {
            false => format!("{bound:.2}"),
            true => self.unit.show(bound),
        };
        let target = self.target.map_or_else(dash, |target| match target {
            Target::AtLeast(least) => format!("≥ {}", bound(least)),
            Target::AtMost(most) => format!("≤ {}", bound(most)),
        });
        let met = self
            .met()
            .map_or_else(dash, |met| if met { "yes" } else { "**no**" }.to_owned());
        let ratio = lines(&|beside| format!("{:.2}", beside.ratio));
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {against} | {ratio} | {target} | {met} |",
            self.engine,
            self.name,
            self.unit.show(self.value),
            millis(self.percentile(MIDDLE)),
            millis(self.percentile(LATE)),
            millis(self.latest()),
            self.processor()
                .map_or_else(dash, |micros| format!("{micros:.0} µs")),
        )
    }

    fn json(&self) -> Value {
        let target = self.target.map(|target| match target {
            Target::AtLeast(bound) => json!({"at_least": bound}),
            Target::AtMost(bound) => json!({"at_most": bound}),
        });
        json!({
            "part": self.part,
            "engine": self.engine,
            "name": self.name,
            "value": self.value,
            "unit": self.unit.name(),
            "p50_micros": self.percentile(MIDDLE),
            "p99_micros": self.percentile(LATE),
            "p999_micros": self.latest(),
            "processor_micros": self.processor(),
            "beside": self.beside.iter().map(Beside::json).collect::<Vec<_>>(),
            "ratio": self.ratio(),
            "target": target,
            "met": self.met(),
        })
    }
}

impl Beside {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "value": self.value,
            "ratio": self.ratio,
            "processor_micros": self.processor,
        })
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "per_second",
            Self::Micros => "microseconds",
            Self::Seconds => "seconds",
            Self::Megabytes => "megabytes",
            Self::MegabytesPerSecond => "megabytes_per_second",
            Self::PerTask => "per_task",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{}/s", count(value.round() as i64)),
            Self::Micros => format!("{:.2} ms", value / 1000.0),
            Self::Seconds => format!("{value:.3} s"),
            Self::Megabytes => format!("{value:.0} MB"),
            Self::MegabytesPerSecond => format!("{value:.0} MB/s"),
            Self::PerTask if value.abs() >= 100.0 => count(value.round() as i64),
            Self::PerTask => format!("{value:.2}"),
        }
    }
}

impl Report {
    /// Figures that are added from now on belong to this part.
    pub fn begin(&mut self, part: &'static str) {
        self.part = part;
    }

    pub fn add(&mut self, figure: Figure) {
        let part = self.part;
        eprintln!("{}", figure.row());
        self.figures.push(Figure { part, ..figure });
    }

    pub fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    pub fn note_once(&mut self, text: &str) {
        if !self.notes.iter().any(|note| note == text) {
            self.note(text);
        }
    }

    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// The page. The table between the marks can be pasted into docs/PERFORMANCE.md.
    pub fn markdown(&self, options: &Options) -> String {
        let rows: String = self
            .figures
            .iter()
            .map(|figure| figure.row() + "\n")
            .collect();
        format!(
            "{}\n\n<!-- figures -->\n\n{HEAD}{rows}\n<!-- /figures -->\n",
            self.circumstances(options).join("\n\n")
        )
    }

    pub fn json(&self, options: &Options) -> String {
        let figures: Vec<_> = self.figures.iter().map(Figure::json).collect();
        let report = json!({"notes": self.circumstances(options), "figures": figures});
        format!("{report:#}\n")
    }

    fn circumstances(&self, options: &Options) -> Vec<String> {
        let mut lines = vec![
            machine::describe().unwrap_or_default(),
            format!(
                "{CONNECTIONS} connections, {ACCOUNTS} accounts, test keys; rates and ratios are the \
                 median of {} rounds of {:.1} s, each in turn with what it is compared with; targets are for the first of these; lists and searches are timed on one \
                 connection and judged by p50, as are claims; the time to an endpoint is judged by \
                 p99. CPU is the processor time of the server per response, without its database server \
                 and the load generator; whole lives of tasks and deliveries run in \
                 the load generator, so that is included, with the receiver of the \
                 deliveries.",
                options.rounds(),
                options.round().as_secs_f64()
            ),
            "Not repeated here: Svix's server (PostgreSQL and Redis), which delivered 1,120 to \
             1,300/s from 20 accounts and 1,230/s from one on another machine of 2 processors. Its \
             server is not in the package registries."
                .to_owned(),
        ];
        if options.quick {
            let text =
                "This was a quick run: short rounds on a small database. Rates vary by a tenth.";
            lines.push(text.to_owned());
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

/// 1000000 as 1,000,000.
pub fn count(number: i64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_beside_two_has_both_in_its_row_and_is_judged_by_the_first() {
        let rate = |rate: f64| Sample::of_rate(rate);
        let figure = Figure::throughput("SQLite", "create", &rate(60.0))
            .at_least(0.5, "raw", &rate(100.0))
            .beside("other", &rate(600.0));
        assert_eq!(
            figure.row(),
            "| SQLite | create | 60/s | – | – | – | – | raw: 100/s<br>other: 600/s \
             | 0.60<br>0.10 | ≥ 0.50 | yes |"
        );
        let bars = figure.bars().unwrap().bars;
        let bars: Vec<_> = bars
            .iter()
            .map(|bar| (bar.label.as_str(), bar.value))
            .collect();
        assert_eq!(bars, [("Legwork", 60.0), ("raw", 100.0), ("other", 600.0)]);
        assert_eq!(figure.json()["beside"][1]["name"], "other");
    }

    #[test]
    fn digits_come_in_threes() {
        assert_eq!(super::count(7), "7");
        assert_eq!(super::count(900), "900");
        assert_eq!(super::count(1_000_000), "1,000,000");
    }
}
