//! The measurement in a measured profile: the machine, and the distribution of each operation's times, with its
//! drawing.

use serde::Deserialize;
use toml::Spanned;

use crate::profile::{Fault, fault};

/// The most distributions of a profile: a page with more would not be readable.
const POINTS_MAX: usize = 256;
/// Characters of a name in the table.
const OPERATION_MAX: usize = 32;
/// Characters between the ends of the time axis.
const AXIS_WIDTH: usize = 44;

/// A measurement, checked.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    date: String,
    machine: String,
    what: String,
    points: Vec<Point>,
}

/// One operation's times in µs, ascending: the percentiles 1, 10, 25, 50, 75, 90 and 99.
#[derive(Debug, Clone)]
struct Point {
    operation: String,
    bytes: u64,
    operations: u64,
    times_us: [f64; 7],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasuredFile {
    date: String,
    machine: String,
    what: String,
    points: Spanned<Vec<Spanned<PointFile>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PointFile {
    operation: String,
    bytes: u64,
    operations: u64,
    mean_us: f64,
    p1_us: f64,
    p10_us: f64,
    p25_us: f64,
    p50_us: f64,
    p75_us: f64,
    p90_us: f64,
    p99_us: f64,
}

pub(crate) fn check_measured(file: MeasuredFile) -> Result<Measured, Fault> {
    let MeasuredFile { date, machine, what, points } = file;
    if points.get_ref().len() > POINTS_MAX {
        let problem = format!("[measured] has more than {POINTS_MAX} points; keep fewer");
        return fault(points.span(), problem);
    }
    let points = points.into_inner().into_iter().map(check_point).collect::<Result<_, _>>()?;
    Ok(Measured { date, machine, what, points })
}

fn check_point(point: Spanned<PointFile>) -> Result<Point, Fault> {
    let span = point.span();
    let file = point.into_inner();
    let times_us =
        [file.p1_us, file.p10_us, file.p25_us, file.p50_us, file.p75_us, file.p90_us, file.p99_us];
    let in_range = |time_us: &f64| (1e-6..=1e12).contains(time_us);
    if !times_us.iter().chain([&file.mean_us]).all(in_range) || !times_us.is_sorted() {
        return fault(
            span,
            "the times of a measured point must be µs from 0.000001 to 1000000000000, and its percentiles must rise; \
             measure again",
        );
    }
    let is_named = !file.operation.is_empty()
        && file.operation.len() <= OPERATION_MAX
        && file.operation.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_named {
        return fault(
            span,
            format!(
                "the operation of a measured point must be a word of letters, digits and _, at most {OPERATION_MAX}; rename it"
            ),
        );
    }
    let PointFile { operation, bytes, operations, .. } = file;
    Ok(Point { operation, bytes, operations, times_us })
}

impl Measured {
    /// One line: when and where.
    pub(crate) fn line(&self) -> String {
        format!("{} on {}; {}", self.date, self.machine, self.what)
    }

    /// The distributions on one logarithmic axis, a line each: ├ 1 %, █ from 25 % to 75 % with │ the median, ┤ 99 %.
    pub(crate) fn drawing(&self) -> Vec<String> {
        let times = || self.points.iter().flat_map(|point| point.times_us);
        let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        if self.points.is_empty() {
            return Vec::new();
        }
        let axis = Axis { first: least.log10().floor(), last: most.log10().floor() + 1.0 };
        let mut lines = vec![axis.head()];
        lines.extend(self.points.iter().map(|point| point.drawn(&axis)));
        lines
    }
}

/// Powers of ten from `first` to `last`.
struct Axis {
    first: f64,
    last: f64,
}

impl Axis {
    fn place(&self, time_us: f64) -> usize {
        let share = (time_us.log10() - self.first) / (self.last - self.first);
        (share * AXIS_WIDTH as f64).round() as usize
    }

    fn head(&self) -> String {
        let mut text = String::new();
        let mut power = self.first;
        while power <= self.last {
            let label = time_text(10f64.powf(power));
            let at = self.place(10f64.powf(power));
            if at >= text.chars().count() {
                text.extend(std::iter::repeat_n(' ', at - text.chars().count()));
                text.push_str(&label);
                text.push(' ');
            }
            power += 1.0;
        }
        format!(
            "{:<18}{:>9}{:>9}{:>11}  {}",
            "operation",
            "bytes",
            "times",
            "median",
            text.trim_end()
        )
    }
}

impl Point {
    fn drawn(&self, axis: &Axis) -> String {
        let [p1, _, p25, p50, p75, _, p99] = self.times_us.map(|time_us| axis.place(time_us));
        let mut cells = vec![' '; AXIS_WIDTH + 1];
        cells[p1..=p99].fill('─');
        cells[p1] = '├';
        cells[p99] = '┤';
        cells[p25..=p75].fill('█');
        cells[p50] = '│';
        let drawn: String = cells.into_iter().collect();
        let bytes = match self.bytes {
            bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
            bytes => bytes.to_string(),
        };
        let (operation, median) = (&self.operation, time_text(self.times_us[3]));
        let line = format!("{operation:<18}{bytes:>9}{:>9}{median:>11}  {drawn}", self.operations);
        line.trim_end().to_owned()
    }
}

/// A time with three digits in the unit that suits it.
fn time_text(time_us: f64) -> String {
    let (value, unit) = match time_us {
        time_us if time_us >= 0.9995e6 => (time_us / 1e6, "s"),
        time_us if time_us >= 999.5 => (time_us / 1e3, "ms"),
        time_us if time_us >= 0.9995 => (time_us, "µs"),
        time_us => (time_us * 1e3, "ns"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    let short =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [0.0012, 0.25, 1.0, 81.25, 999.9, 12_345.0, 2e6].map(time_text);
        assert_eq!(shown, ["1.2 ns", "250 ns", "1 µs", "81.2 µs", "1 ms", "12.3 ms", "2 s"]);
    }

    #[test]
    fn distributions_share_one_axis_of_powers_of_ten() {
        let point = |operation: &str, scale: f64| Point {
            operation: operation.to_owned(),
            bytes: 4096,
            operations: 1000,
            times_us: [1.0, 2.0, 3.0, 5.0, 8.0, 9.0, 20.0].map(|time| time * scale),
        };
        let measured = Measured {
            date: "2026-01-02".to_owned(),
            machine: "a machine".to_owned(),
            what: "a file".to_owned(),
            points: vec![point("read", 1.0), point("write", 10.0)],
        };
        let drawing = measured.drawing();
        assert_eq!(drawing.len(), 3);
        let head: Vec<&str> = drawing[0].split_whitespace().skip(4).collect();
        assert_eq!(head, ["1", "µs", "10", "µs", "100", "µs", "1", "ms"]);
        let places = |line: &str| -> Vec<usize> {
            ['├', '│', '┤'].map(|sign| line.chars().position(|c| c == sign).unwrap()).to_vec()
        };
        let (read, write) = (places(&drawing[1]), places(&drawing[2]));
        assert!(read.is_sorted() && write.is_sorted());
        // Ten times as long is a third of the axis to the right.
        let third = AXIS_WIDTH as f64 / 3.0;
        for (read, write) in read.iter().zip(write) {
            assert!(((write - read) as f64 - third).abs() <= 1.0);
        }
    }
}
