//! Two kinds of charts: dots on a row for each name, and curves. Both with axes that may be
//! logarithmic.

use super::svg::{Anchor, Canvas};

/// How values become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from 0.
    Linear,
    /// By powers of ten (or of two, on an axis of counts).
    Log,
}

/// Where the dots of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// All on one line, which shows how far apart they are.
    Shared,
    /// Each series on its own, so that none hides another.
    Own,
}

/// Names the values of an axis.
pub type Show = fn(f64) -> String;

/// An axis over values from `low` to `high`.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let usable = values.filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (least, most) = usable
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match scale {
            _ if least > most => (0.1, 1.0),
            Scale::Linear => (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }),
            Scale::Log => (least / 1.25, most * 1.25),
        };
        Axis { scale, low, high, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values on the axis.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = round_step(self.high / 6.0);
                (0..).map(|i| f64::from(i) * step).take_while(|value| *value <= self.high).collect()
            }
            Scale::Log if self.high / self.low < 30.0 => (-12..16)
                .flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(exponent)))
                .filter(|value| (self.low..=self.high).contains(value))
                .collect(),
            Scale::Log => (-12..16)
                .map(|exponent| 10f64.powi(exponent))
                .filter(|value| (self.low..=self.high).contains(value))
                .collect(),
        }
    }
}

/// 1, 2 or 5 times a power of ten, no less than `rough`.
pub(super) fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= rough).unwrap_or(rough)
}

/// The names of the series with their colours, in a row that breaks where it must. Returns how high
/// it is.
fn legend(canvas: &mut Canvas, series: &[(String, usize)], x: f64, y: f64, width: f64) -> f64 {
    let (mut at, mut row) = (x, y);
    for (name, colour) in series {
        let room = 28.0 + 7.4 * name.chars().count() as f64;
        if at + room > x + width && at > x {
            (at, row) = (x, row + 20.0);
        }
        canvas.dot(*colour, (at + 6.0, row - 4.0), name);
        canvas.text("name", (at + 17.0, row), Anchor::Start, name);
        at += room;
    }
    row - y + 20.0
}

/// Dots on rows: one row for each name, one dot for each series.
pub struct Dots<'c> {
    /// What it shows.
    pub title: &'c str,
    /// Under the axis.
    pub unit: &'c str,
    /// Names of the rows, each with its values, one for each series; NaN for none.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Names and colours of the series.
    pub series: Vec<(String, usize)>,
    /// The axis.
    pub scale: Scale,
    /// Where the dots of a row are.
    pub lanes: Lanes,
    /// A value that is marked: where nothing changes.
    pub mark: Option<f64>,
    /// Names values.
    pub show: Show,
}

impl Dots<'_> {
    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Canvas {
        let lane = if self.lanes == Lanes::Own { 12.0 } else { 0.0 };
        let (width, left, right) = (760.0, 96.0, 736.0);
        let row = 30.0 + lane * (self.series.len() as f64 - 1.0);
        let mut probe = Canvas::new(width, 10.0, "");
        let top = 34.0 + legend(&mut probe, &self.series, 12.0, 0.0, width - 24.0) + 8.0;
        let bottom = top + row * self.rows.len() as f64;
        let mut canvas = Canvas::new(width, bottom + 46.0, self.title);
        canvas.text("title", (12.0, 22.0), Anchor::Start, self.title);
        legend(&mut canvas, &self.series, 12.0, 46.0, width - 24.0);
        let values = self.rows.iter().flat_map(|(_, values)| values.iter().copied()).chain(self.mark);
        let axis = Axis::new(self.scale, values, left, right);
        for tick in axis.ticks() {
            let x = axis.place(tick);
            canvas.line("grid", (x, top), (x, bottom));
            canvas.text("tick", (x, bottom + 16.0), Anchor::Middle, &(self.show)(tick));
        }
        if let Some(mark) = self.mark {
            let x = axis.place(mark);
            canvas.line("ideal", (x, top), (x, bottom));
        }
        canvas.text("unit", (right, bottom + 36.0), Anchor::End, self.unit);
        for (index, (name, values)) in self.rows.iter().enumerate() {
            let y = top + row * (index as f64 + 0.5);
            canvas.text("name", (left - 12.0, y + 4.0), Anchor::End, name);
            let mut places: Vec<f64> =
                values.iter().filter(|v| v.is_finite()).map(|v| axis.place(*v)).collect();
            places.sort_by(f64::total_cmp);
            if let (Some(first), Some(last), Lanes::Shared) = (places.first(), places.last(), self.lanes) {
                canvas.line("span", (*first, y), (*last, y));
            }
            if index > 0 && self.lanes == Lanes::Own {
                canvas.line("grid", (12.0, y - row / 2.0), (right, y - row / 2.0));
            }
            for (place, ((series, colour), value)) in self.series.iter().zip(values).enumerate() {
                let y = y + lane * (place as f64 - (self.series.len() as f64 - 1.0) / 2.0);
                if value.is_finite() {
                    let tip = format!("{name}, {series}: {}", (self.show)(*value));
                    canvas.dot(*colour, (axis.place(*value), y), &tip);
                }
            }
        }
        canvas
    }
}

/// A curve.
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub colour: usize,
    /// Further classes: "dashed", or nothing.
    pub class: &'static str,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// Curves over a common axis.
pub struct Curves<'c> {
    /// What it shows.
    pub title: &'c str,
    /// Under the axis to the right.
    pub x_unit: &'c str,
    /// Above the axis up.
    pub y_unit: &'c str,
    /// The curves.
    pub curves: Vec<Curve>,
    /// The axes.
    pub scales: (Scale, Scale),
    /// Names values.
    pub show: (Show, Show),
    /// Values to the right that get a tick; if empty, round ones.
    pub ticks: Vec<f64>,
}

impl Curves<'_> {
    /// Draws it.
    #[must_use]
    pub fn draw(&self) -> Canvas {
        let (width, left, right, plot) = (760.0, 72.0, 736.0, 300.0);
        let series: Vec<(String, usize)> =
            self.curves.iter().filter(|c| c.class.is_empty()).map(|c| (c.name.clone(), c.colour)).collect();
        let mut probe = Canvas::new(width, 10.0, "");
        let top = 34.0 + legend(&mut probe, &series, 12.0, 0.0, width - 24.0) + 26.0;
        let bottom = top + plot;
        let mut canvas = Canvas::new(width, bottom + 46.0, self.title);
        canvas.text("title", (12.0, 22.0), Anchor::Start, self.title);
        legend(&mut canvas, &series, 12.0, 46.0, width - 24.0);
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter());
        let x_axis = Axis::new(self.scales.0, points().map(|point| point.0), left, right);
        let y_axis = Axis::new(self.scales.1, points().map(|point| point.1), bottom, top);
        for tick in y_axis.ticks() {
            let y = y_axis.place(tick);
            canvas.line("grid", (left, y), (right, y));
            canvas.text("tick", (left - 8.0, y + 4.0), Anchor::End, &(self.show.1)(tick));
        }
        let ticks = if self.ticks.is_empty() { x_axis.ticks() } else { self.ticks.clone() };
        for tick in ticks {
            canvas.text("tick", (x_axis.place(tick), bottom + 18.0), Anchor::Middle, &(self.show.0)(tick));
        }
        canvas.line("axis", (left, bottom), (right, bottom));
        canvas.text("unit", (right, bottom + 38.0), Anchor::End, self.x_unit);
        canvas.text("unit", (12.0, top - 10.0), Anchor::Start, self.y_unit);
        for curve in &self.curves {
            let path: Vec<(f64, f64)> =
                curve.points.iter().map(|(x, y)| (x_axis.place(*x), y_axis.place(*y))).collect();
            canvas.curve(curve.class, curve.colour, &path);
            if curve.class == "ideal" {
                continue;
            }
            for ((x, y), value) in path.iter().zip(&curve.points) {
                let tip = format!("{} at {}: {}", curve.name, (self.show.0)(value.0), (self.show.1)(value.1));
                canvas.dot(curve.colour, (*x, *y), &tip);
            }
        }
        canvas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks are round, inside the axis, and neither none nor a crowd.
    #[test]
    fn ticks_are_round_and_few() {
        for (scale, low, high) in [(Scale::Linear, 0.0, 7.3), (Scale::Log, 0.3, 5.0), (Scale::Log, 1.0, 2e6)]
        {
            let axis = Axis::new(scale, [low, high].into_iter(), 0.0, 100.0);
            let ticks = axis.ticks();
            assert!((2..=10).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.iter().all(|tick| (0.0..=100.0).contains(&axis.place(*tick))));
        }
        assert_eq!(round_step(1.46), 2.0);
    }

    /// A chart of nothing is no panic.
    #[test]
    fn nothing_can_be_drawn() {
        let dots = Dots {
            title: "",
            unit: "",
            rows: vec![("a".into(), vec![f64::NAN])],
            series: vec![("s".into(), 0)],
            scale: Scale::Log,
            lanes: Lanes::Own,
            mark: None,
            show: |value| value.to_string(),
        };
        assert!(dots.draw().inline().contains("<svg"));
    }
}
