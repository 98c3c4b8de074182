//! Tables for the terminal.

use crate::job::Class;
use crate::scale::Point;
use crate::study::RunFigures;
use crate::table::Row;
use crate::time::show;

/// Columns under headings; the first is flush left, the others right.
#[must_use]
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..headings.len())
        .map(|c| rows.iter().map(|row| width(&row[c])).chain([width(headings[c])]).max().unwrap_or(0))
        .collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(index, (cell, width))| {
            if index == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    let head: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut lines = vec![line(&head), line(&rule)];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n") + "\n"
}

/// A share, in percent.
#[must_use]
pub fn percent(part: f64) -> String {
    format!("{:.2} %", part * 100.0)
}

/// The cells of the textbook's table.
#[must_use]
pub fn policy_cells(rows: &[Row]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec![
        "policy",
        "mode",
        "decision",
        "jobs/s",
        "response",
        "switches/job",
        "overhead",
        "short",
        "long",
        "I/O",
        "Jain",
        "worst wait",
        "starvation",
    ];
    let cells = rows.iter().map(|row| {
        vec![
            row.name.into(),
            row.mode.into(),
            row.decision.into(),
            format!("{:.0}", row.throughput),
            show(row.response),
            format!("{:.1}", row.switches),
            percent(row.overhead),
            format!("{:.1}", row.slowdown[0]),
            format!("{:.1}", row.slowdown[1]),
            format!("{:.1}", row.slowdown[2]),
            format!("{:.2}", row.jain),
            show(row.longest_wait),
            if row.starves { "possible" } else { "no" }.into(),
        ]
    });
    (headings, cells.collect())
}

/// The cells of runs.
#[must_use]
pub fn run_cells(lines: &[RunFigures]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec![
        "workload",
        "procs",
        "policy",
        "jobs/s",
        "response mean",
        "p50",
        "p99",
        "max",
        "waiting mean",
        "p99",
        "latency p99",
        "short",
        "long",
        "I/O",
        "Jain",
        "overhead",
        "forced",
    ];
    let cells = lines.iter().map(|line| {
        let slowdown = |class: Class| {
            let summary = &line.by_class[class as usize];
            if summary.slowdown.max == 0.0 { "–".into() } else { format!("{:.2}", summary.slowdown.mean) }
        };
        vec![
            line.workload.name().into(),
            line.procs.to_string(),
            line.policy.name().into(),
            format!("{:.0}", line.all.throughput),
            show(line.all.response.mean),
            show(line.all.response.p50),
            show(line.all.response.p99),
            show(line.all.response.max),
            show(line.all.waiting.mean),
            show(line.all.waiting.p99),
            show(line.all.latency_p99),
            slowdown(Class::Short),
            slowdown(Class::Long),
            slowdown(Class::Io),
            format!("{:.2}", line.all.jain),
            percent(line.overhead),
            line.switches.forced.to_string(),
        ]
    });
    (headings, cells.collect())
}

/// The cells of the scaling study.
#[must_use]
pub fn scale_cells(points: &[Point]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec![
        "scenario",
        "Ps",
        "change",
        "busy Ps",
        "efficiency",
        "latency p50",
        "p99",
        "global busy",
        "word busy",
        "poller busy",
        "woken too slowly",
        "limit",
    ];
    let part = |parts: &[(&'static str, f64)], name: &str| {
        parts.iter().find(|part| part.0 == name).map_or(String::new(), |part| percent(part.1))
    };
    let cells = points.iter().map(|point| {
        vec![
            point.scenario.name().into(),
            point.procs.to_string(),
            point.change.name().into(),
            format!("{:.1}", point.speedup),
            format!("{:.2}", point.efficiency),
            show(point.latency[0]),
            show(point.latency[1]),
            part(&point.busy, "global queue"),
            part(&point.busy, "idle word"),
            part(&point.busy, "poller"),
            part(&point.lost, "woken too slowly"),
            point.limit.into(),
        ]
    });
    (headings, cells.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns are as wide as their widest cell, by characters, not bytes.
    #[test]
    fn columns_line_up() {
        let text = table(&["a", "µs"], &[vec!["long".into(), "1".into()], vec!["x".into(), "1,000".into()]]);
        assert_eq!(text, "a        µs\n────  ─────\nlong      1\nx     1,000\n");
    }
}
