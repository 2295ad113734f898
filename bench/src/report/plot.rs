//! Charts as SVG: horizontal bars, and lines over linear or logarithmic axes. The colors follow the
//! reader's light or dark scheme.

use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 34.0;
const TEXT: f64 = 12.0;

/// Six hues that can be told apart on white and on near-black, also by most who are color-blind.
/// The texts beside bars and lines name them as well.
const STYLE: &str = "<style>
svg{font:12px system-ui,sans-serif}
.back{fill:#fff}text{fill:#1f2328}.dim{fill:#59636e}.grid{stroke:#d1d9e0}
.s0{--c:#0860ca}.s1{--c:#bc4c00}.s2{--c:#1a7f37}.s3{--c:#8250df}.s4{--c:#6e7781}.s5{--c:#bf3989}
.bar{fill:var(--c)}.line{stroke:var(--c);fill:none;stroke-width:2}.dot{fill:var(--c)}
@media(prefers-color-scheme:dark){
.back{fill:#0d1117}text{fill:#e6edf3}.dim{fill:#9198a1}.grid{stroke:#3d444d}
.s0{--c:#4493f8}.s1{--c:#f0883e}.s2{--c:#3fb950}.s3{--c:#ab7df8}.s4{--c:#9198a1}.s5{--c:#db61a2}}
</style>";
const HUES: usize = 6;

/// Groups of horizontal bars. All bars share one scale, which starts at zero.
pub struct Bars {
    pub title: String,
    pub groups: Vec<Group>,
}

pub struct Group {
    pub label: String,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub label: String,
    pub value: f64,
    /// The value as it is shown, with its unit.
    pub shown: String,
    /// Bars of one hue are of one kind. The chart repeats hues after the sixth.
    pub hue: usize,
}

/// Lines through points. Points that a logarithmic axis cannot show are left out.
pub struct Lines {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
}

pub struct Axis {
    pub label: String,
    pub logarithmic: bool,
}

pub struct Line {
    pub label: String,
    pub points: Vec<(f64, f64)>,
}

impl Bars {
    pub fn svg(&self) -> String {
        const BAR: f64 = 16.0;
        const GAP: f64 = 5.0;
        const LABELS: f64 = 310.0;
        const VALUES: f64 = 120.0;
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let most = bars().map(|bar| bar.value).filter(|v| v.is_finite());
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let room = WIDTH - LABELS - VALUES - 2.0 * MARGIN;
        let mut drawn = String::new();
        let mut y = TITLE_HEIGHT + MARGIN;
        for group in &self.groups {
            if !group.label.is_empty() {
                drawn += &text(MARGIN, y + TEXT, "start", "dim", &group.label);
                y += BAR + GAP;
            }
            for bar in &group.bars {
                let value = if bar.value.is_finite() {
                    bar.value
                } else {
                    0.0
                };
                let length = (value / most * room).max(0.0);
                let start = MARGIN + LABELS;
                let hue = bar.hue % HUES;
                drawn += &text(start - 8.0, y + TEXT, "end", "", &bar.label);
                let _ = writeln!(
                    drawn,
                    r#"<rect class="bar s{hue}" x="{start:.1}" y="{y:.1}" width="{length:.1}" height="{BAR}" rx="2"/>"#
                );
                drawn += &text(start + length + 6.0, y + TEXT, "start", "", &bar.shown);
                y += BAR + GAP;
            }
            y += GAP * 2.0;
        }
        document(&self.title, y + MARGIN, &drawn)
    }
}

/// Where the points of a chart go.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

const FRAME: Frame = Frame {
    left: 78.0,
    right: 560.0,
    top: TITLE_HEIGHT + 20.0,
    bottom: 360.0,
};

impl Lines {
    pub fn svg(&self) -> String {
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let x = Scale::new(&self.x, all().map(|p| p.0), FRAME.left, FRAME.right);
        let y = Scale::new(&self.y, all().map(|p| p.1), FRAME.bottom, FRAME.top);
        let mut drawn = grid(&x, &y);
        let middle = f64::midpoint(FRAME.left, FRAME.right);
        drawn += &text(middle, FRAME.bottom + 36.0, "middle", "dim", &self.x.label);
        drawn += &text(MARGIN, FRAME.top - 8.0, "start", "dim", &self.y.label);
        let mut ends = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let hue = number % HUES;
            let places: Vec<_> = line
                .points
                .iter()
                .filter_map(|(px, py)| Some((x.place(*px)?, y.place(*py)?)))
                .collect();
            let path: Vec<_> = places
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let path = path.join(" ");
            let _ = writeln!(drawn, r#"<polyline class="line s{hue}" points="{path}"/>"#);
            for (x, y) in &places {
                let _ = writeln!(
                    drawn,
                    r#"<circle class="dot s{hue}" cx="{x:.1}" cy="{y:.1}" r="3"/>"#
                );
            }
            let last = places.last().copied();
            ends.extend(last.map(|(_, y)| (y, hue, line.label.as_str())));
        }
        drawn += &labels(ends);
        let lowest = FRAME.bottom.max(FRAME.top + self.lines.len() as f64 * 16.0);
        document(&self.title, lowest + 52.0, &drawn)
    }
}

/// The names of the lines at their right ends, moved apart where they would overlap.
fn labels(mut ends: Vec<(f64, usize, &str)>) -> String {
    const HEIGHT: f64 = 16.0;
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = f64::MIN;
    let mut drawn = String::new();
    for (y, hue, label) in ends {
        let y = y.max(free);
        free = y + HEIGHT;
        let x = FRAME.right + 12.0;
        let _ = writeln!(
            drawn,
            r#"<circle class="dot s{hue}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#
        );
        drawn += &text(x + 9.0, y + 4.0, "start", "", label);
    }
    drawn
}

fn grid(x: &Scale, y: &Scale) -> String {
    let mut drawn = String::new();
    let Frame {
        left,
        right,
        top,
        bottom,
    } = FRAME;
    for (at, label) in x.ticks() {
        let _ = writeln!(drawn, r#"<path class="grid" d="M{at:.1} {top}V{bottom}"/>"#);
        drawn += &text(at, bottom + 17.0, "middle", "dim", &label);
    }
    for (at, label) in y.ticks() {
        let _ = writeln!(drawn, r#"<path class="grid" d="M{left} {at:.1}H{right}"/>"#);
        drawn += &text(left - 7.0, at + 4.0, "end", "dim", &label);
    }
    drawn
}

/// From values to places in the drawing.
struct Scale {
    logarithmic: bool,
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A linear axis starts at zero, a logarithmic one at a power of ten.
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let logarithmic = axis.logarithmic;
        let usable = values.filter(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        let (least, most) = usable.fold((f64::MAX, 0.0_f64), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let most = if most > 0.0 { most } else { 1.0 };
        let (least, most) = if logarithmic {
            let least = least.min(most).log10().floor();
            (least, most.log10().ceil().max(least + 1.0))
        } else {
            (0.0, most * 1.05)
        };
        Self {
            logarithmic,
            least,
            most,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> Option<f64> {
        let value = if self.logarithmic {
            value.log10()
        } else {
            value
        };
        let share = (value - self.least) / (self.most - self.least);
        share
            .is_finite()
            .then_some(self.from + share * (self.to - self.from))
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let values: Vec<f64> = if self.logarithmic {
            let powers = self.least as i32..=self.most as i32;
            powers.map(|power| 10_f64.powi(power)).collect()
        } else {
            let step = round_step(self.most / 5.0);
            (0..)
                .map(|n| f64::from(n) * step)
                .take_while(|v| *v <= self.most)
                .collect()
        };
        let ticks = values.into_iter();
        ticks
            .filter_map(|value| Some((self.place(value)?, short(value))))
            .collect()
    }
}

/// The next of 1, 2, 5, 10, 20, 50 and so on.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let found = factors.into_iter().find(|factor| factor * power >= rough);
    found.unwrap_or(10.0) * power
}

/// 1200000 as 1.2M.
fn short(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // At most three decimals, without trailing zeros.
    let digits = format!("{scaled:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{suffix}")
}

fn text(x: f64, y: f64, anchor: &str, class: &str, content: &str) -> String {
    let content = escaped(content);
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>\n"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn document(title: &str, height: f64, drawn: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\">\n{STYLE}\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n\
         <text x=\"{MARGIN}\" y=\"26\" font-size=\"15\" font-weight=\"600\">{title}</text>\n\
         {drawn}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let before = format!(" {attribute}=\"");
        let parts = svg.split(&before).skip(1);
        parts
            .filter_map(|part| part.split('"').next()?.parse().ok())
            .collect()
    }

    fn bar(value: f64) -> Bar {
        Bar {
            label: "a < b & c".to_owned(),
            value,
            shown: format!("{value}/s"),
            hue: 7,
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_and_text_is_only_text() {
        let bars = Bars {
            title: "x".to_owned(),
            groups: vec![Group {
                label: String::new(),
                bars: vec![bar(50.0), bar(100.0), bar(f64::NAN)],
            }],
        };
        let svg = bars.svg();
        let lengths = numbers(&svg, "width");
        // After the drawing itself; the background is in percent.
        assert!((lengths[1] * 2.0 - lengths[2]).abs() < 0.2, "{lengths:?}");
        assert_eq!(lengths[3], 0.0);
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("bar s1"));
    }

    #[test]
    fn points_lie_within_the_frame_and_what_has_no_logarithm_is_left_out() {
        let axis = |logarithmic| Axis {
            label: "n".to_owned(),
            logarithmic,
        };
        for logarithmic in [false, true] {
            let lines = Lines {
                title: "x".to_owned(),
                x: axis(logarithmic),
                y: axis(logarithmic),
                lines: vec![Line {
                    label: "cost".to_owned(),
                    points: vec![(0.0, 0.0), (1e3, 2.0), (1e6, 7.5)],
                }],
            };
            let svg = lines.svg();
            let (xs, ys) = (numbers(&svg, "cx"), numbers(&svg, "cy"));
            let shown = if logarithmic { 2 } else { 3 };
            // One more dot is beside the name of the line.
            assert_eq!(xs.len(), shown + 1);
            for (x, y) in xs.iter().zip(&ys).take(shown) {
                assert!((FRAME.left..=FRAME.right).contains(x), "{x}");
                assert!((FRAME.top..=FRAME.bottom).contains(y), "{y}");
            }
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }

    #[test]
    fn ticks_are_round_and_short() {
        assert_eq!(round_step(3.1), 5.0);
        assert_eq!(round_step(0.017), 0.02);
        for (value, shown) in [
            (1_200_000.0, "1.2M"),
            (1000.0, "1k"),
            (0.25, "0.25"),
            (30.0, "30"),
        ] {
            assert_eq!(short(value), shown);
        }
    }
}
