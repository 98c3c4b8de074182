//! The results as a table for a terminal, and a sentence about the aims.

use crate::aim::Verdict;
use crate::compare::Outcome;
use crate::paint::Paint;
use crate::peer::Peer;
use crate::rows::{Row, Scale};
use crate::stats;

/// Above this spread a figure is marked as noisy.
const NOISY: f64 = 0.2;

/// How a cell is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// The table, with a line for every row of `outcomes`.
pub fn draw(outcomes: &[Outcome], columns: &[Peer], scale: Scale, paint: Paint) -> String {
    let mut heading = vec![("ns per operation".to_owned(), Align::Left)];
    heading.extend(columns.iter().map(|peer| (peer.title().to_owned(), Align::Right)));
    heading.extend([
        ("× Go".to_owned(), Align::Right),
        ("aim".to_owned(), Align::Left),
        ("verdict".to_owned(), Align::Left),
    ]);
    let (titles, aligns): (Vec<_>, Vec<_>) = heading.into_iter().unzip();
    let lines: Vec<(Vec<String>, Verdict)> = rows(outcomes)
        .map(|(outcome, row)| (cells(outcome, row, columns, scale), judge(outcome, row)))
        .collect();

    let widths: Vec<usize> = (0..titles.len())
        .map(|at| {
            lines.iter().map(|(cells, _)| &cells[at]).chain([&titles[at]]).map(|cell| width(cell)).max()
        })
        .map(Option::unwrap_or_default)
        .collect();
    let set = |cells: &[String]| -> Vec<String> {
        cells
            .iter()
            .zip(&widths)
            .zip(&aligns)
            .map(|((cell, width), align)| pad(cell, *width, *align))
            .collect()
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));

    let mut text = format!("{}\n{}\n", paint.bold(set(&titles).join("  ").trim_end()), paint.dim(&rule));
    for (cells, verdict) in &lines {
        let mut cells = set(cells);
        if let Some(last) = cells.last_mut() {
            *last = paint.verdict(*verdict, last.trim_end());
        }
        text += &format!("{}\n", cells.join("  "));
    }
    text
}

/// How many aims were met, and what the signs in the table mean, as far as they occur.
pub fn summary(outcomes: &[Outcome], columns: &[Peer], scale: Scale) -> String {
    let count = |wanted| rows(outcomes).filter(|(outcome, row)| judge(outcome, row) == wanted).count();
    let mut text = format!("{} of {} aims met", count(Verdict::Met), rows(outcomes).count());
    for (verdict, how) in [(Verdict::Missed, "missed"), (Verdict::Unknown, "undecided")] {
        if count(verdict) > 0 {
            text += &format!(", {} {how}", count(verdict));
        }
    }
    text += ".\n";
    let any = |sign: fn(&Outcome, &Row, Peer, Scale) -> bool| {
        rows(outcomes).any(|(outcome, row)| columns.iter().any(|peer| sign(outcome, row, *peer, scale)))
    };
    if any(is_bracketed) {
        text += "(…) at a smaller size, because this runtime cannot go further or takes too long\n";
    }
    if any(|outcome, row, peer, _| is_noisy(outcome, row, peer)) {
        text += &format!("~ the middle half of the runs differs by more than {:.0} %\n", NOISY * 100.0);
    }
    if scale == Scale::Quick {
        text += "--quick: the sizes are small, so do not trust these figures\n";
    }
    text
}

fn rows(outcomes: &[Outcome]) -> impl Iterator<Item = (&Outcome, &'static Row)> {
    outcomes.iter().flat_map(|outcome| outcome.workload.rows.iter().map(move |row| (outcome, row)))
}

/// Whether a row's aim was met.
pub fn judge(outcome: &Outcome, row: &Row) -> Verdict {
    let figure = |peer| outcome.median(peer, row.metric);
    row.aim.judge(figure(Peer::Gosched), figure)
}

fn cells(outcome: &Outcome, row: &Row, columns: &[Peer], scale: Scale) -> Vec<String> {
    let ratio = outcome
        .median(Peer::Gosched, row.metric)
        .zip(outcome.median(Peer::Go, row.metric))
        .map_or_else(|| "–".to_owned(), |(ours, theirs)| format!("{:.2}", ours / theirs));
    let sign = match judge(outcome, row) {
        Verdict::Met => "✓ met",
        Verdict::Missed => "✗ missed",
        Verdict::Unknown => "– undecided",
    };
    let mut cells = vec![row.title.to_owned()];
    cells.extend(columns.iter().map(|peer| figure(outcome, row, *peer, scale)));
    cells.extend([ratio, row.aim.to_string(), sign.to_owned()]);
    cells
}

fn figure(outcome: &Outcome, row: &Row, peer: Peer, scale: Scale) -> String {
    let Some(runs) = outcome.by_peer.get(&peer) else { return "–".into() };
    let Some(median) = outcome.median(peer, row.metric) else {
        return if runs.failure.is_some() { "failed".into() } else { "–".into() };
    };
    let noise = if is_noisy(outcome, row, peer) { "~" } else { "" };
    let number = number(median);
    if is_bracketed(outcome, row, peer, scale) {
        format!("{noise}({number})")
    } else {
        format!("{noise}{number}")
    }
}

fn is_bracketed(outcome: &Outcome, row: &Row, peer: Peer, scale: Scale) -> bool {
    outcome.workload.is_limited(peer, scale) && outcome.median(peer, row.metric).is_some()
}

fn is_noisy(outcome: &Outcome, row: &Row, peer: Peer) -> bool {
    let values = outcome.by_peer.get(&peer).map(|runs| runs.values(row.metric)).unwrap_or_default();
    stats::spread(&values).is_some_and(|spread| spread > NOISY)
}

/// Three digits or more, with commas: 4.53, 45.3, 453, 1,453.
fn number(value: f64) -> String {
    if value < 9.995 {
        return format!("{value:.2}");
    }
    if value < 99.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3).map(String::from_utf8_lossy);
    let head = Some(digits[..first].into()).filter(|head: &std::borrow::Cow<'_, str>| !head.is_empty());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, align: Align) -> String {
    let space = " ".repeat(to.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{space}"),
        Align::Right => format!("{space}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::compare::Runs;
    use crate::rows::WORKLOADS;

    fn runs(values: &[f64]) -> Runs {
        Runs {
            samples: values.iter().map(|ns| BTreeMap::from([("ns".to_owned(), *ns)])).collect(),
            failure: None,
        }
    }

    fn outcome() -> Outcome {
        let failed = Runs { failure: Some("it hung".into()), ..Runs::default() };
        let by_peer = BTreeMap::from([
            (Peer::Gosched, runs(&[120.0, 121.0, 119.0])),
            (Peer::Go, runs(&[450.0, 480.0, 200.0])),
            (Peer::Tokio, failed),
            (Peer::Threads, runs(&[12_345.0])),
        ]);
        Outcome { workload: &WORKLOADS[0], by_peer }
    }

    #[test]
    fn a_line_shows_figures_ratio_aim_and_verdict() {
        let columns = [Peer::Gosched, Peer::Go, Peer::Tokio, Peer::May, Peer::Threads];
        let text = draw(&[outcome()], &columns, Scale::Full, Paint::Plain);
        let expected = "\
ns per operation        gosched    Go   tokio  may   threads  × Go  aim         verdict
───────────────────────────────────────────────────────────────────────────────────────
spawn in batches, join      120  ~450  failed    –  (12,345)  0.27  ≤ 0.3 × Go  ✓ met
";
        assert_eq!(text, expected);
        let summary = summary(&[outcome()], &columns, Scale::Full);
        assert!(summary.starts_with("1 of 1 aims met.\n(…) at a smaller size"), "{summary}");
        assert!(summary.contains("~ the middle half"), "{summary}");
    }

    #[test]
    fn colours_do_not_shift_columns() {
        let plain = draw(&[outcome()], &[Peer::Gosched], Scale::Full, Paint::Plain);
        let colours = draw(&[outcome()], &[Peer::Gosched], Scale::Full, Paint::Colours);
        assert!(colours.contains("\x1b[32m✓ met\x1b[0m"));
        let stripped = ["\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"]
            .iter()
            .fold(colours, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }

    #[test]
    fn numbers_have_three_digits_or_commas() {
        let shown = [4.534, 45.34, 453.4, 1_453.4, 12_345.0, 123_456.0, 1_234_567.0].map(number);
        assert_eq!(shown, ["4.53", "45.3", "453", "1,453", "12,345", "123,456", "1,234,567"]);
    }
}
