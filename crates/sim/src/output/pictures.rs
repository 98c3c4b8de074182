//! The pictures: of the report, and of the page for learners, where each is a file.

use super::charts::{Curve, Curves, Dots, Lanes, Scale};
use super::gantt::class_colour;
use super::svg::Canvas;
use crate::job::{Class, Workload};
use crate::kind::{PolicyKind, RunSettings};
use crate::scale::{Change, Point, Scenario};
use crate::study::RunFigures;
use crate::table::Row;
use crate::time::{MS, US, show};
use crate::trace::NoTrace;
use crate::workload::Kind;

/// A picture with a name for its file.
pub struct Picture {
    /// Without ending.
    pub name: String,
    /// What it looks like.
    pub canvas: Canvas,
}

fn colour(policy: PolicyKind) -> usize {
    policy as usize
}

fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

fn factor(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("{value:.0}×"),
        value if value >= 1.0 => format!("{value:.1}×").replace(".0×", "×"),
        value => format!("{value}×"),
    }
}

fn share(value: f64) -> String {
    format!("{:.0} %", value * 100.0)
}

/// The examples, as Gantt strips.
#[must_use]
pub fn gantts() -> Vec<Picture> {
    let draw = |example: crate::output::gantt::Example| Picture {
        name: format!("gantt-{}", example.name),
        canvas: example.draw(),
    };
    crate::gallery::examples().into_iter().map(draw).collect()
}

/// How much short, long and I/O-bound jobs are slowed down under each policy.
#[must_use]
pub fn effects(rows: &[Row]) -> Picture {
    let dots = Dots {
        title: "Who is hurt: mean slowdown of short, long and I/O-bound jobs",
        unit: "response ÷ time alone; 1× is no wait at all",
        rows: rows.iter().map(|row| (row.name.to_string(), row.slowdown.to_vec())).collect(),
        series: Class::ALL.iter().map(|class| (class.name().to_string(), class_colour(*class))).collect(),
        scale: Scale::Log,
        lanes: Lanes::Shared,
        mark: Some(1.0),
        show: factor,
    };
    Picture { name: "effects".into(), canvas: dots.draw() }
}

/// Each policy's mean response on each workload, relative to FCFS's; for one number of processors.
#[must_use]
pub fn responses(lines: &[RunFigures], procs: u32) -> Picture {
    let here: Vec<&RunFigures> = lines.iter().filter(|line| line.procs == procs).collect();
    let mut workloads: Vec<Kind> = Vec::new();
    let mut policies: Vec<PolicyKind> = Vec::new();
    for line in &here {
        if !workloads.contains(&line.workload) {
            workloads.push(line.workload);
        }
        if !policies.contains(&line.policy) {
            policies.push(line.policy);
        }
    }
    let response = |policy, workload| {
        let line = here.iter().find(|line| line.policy == policy && line.workload == workload);
        line.map_or(f64::NAN, |line| line.all.response.mean)
    };
    let base =
        if policies.contains(&PolicyKind::Fcfs) { Some(PolicyKind::Fcfs) } else { policies.first().copied() };
    let base = base.unwrap_or(PolicyKind::Fcfs);
    let rows = workloads.iter().map(|workload| {
        let values = policies.iter().map(|policy| response(*policy, *workload) / response(base, *workload));
        (workload.name().to_string(), values.collect())
    });
    let processors = if procs == 1 { "1 processor".to_string() } else { format!("{procs} processors") };
    let title = format!("Mean response on each workload, relative to {} ({processors})", base.name());
    let dots = Dots {
        title: &title,
        unit: "left is faster",
        rows: rows.collect(),
        series: policies.iter().map(|policy| (policy.name().to_string(), colour(*policy))).collect(),
        scale: Scale::Log,
        lanes: Lanes::Own,
        mark: Some(1.0),
        show: factor,
    };
    Picture { name: format!("responses-{procs}"), canvas: dots.draw() }
}

/// Slowdown by job length on the heavy-tailed workload.
#[must_use]
pub fn lengths(lines: &[RunFigures]) -> Option<Picture> {
    let procs = lines.iter().find(|line| line.workload == Kind::Heavy)?.procs;
    let heavy = lines.iter().filter(|line| line.workload == Kind::Heavy && line.procs == procs);
    let curves = heavy.map(|line| Curve {
        name: line.policy.name().into(),
        colour: colour(line.policy),
        class: "",
        points: line
            .by_length
            .iter()
            .filter(|(_, jobs, _)| *jobs >= 5)
            .map(|(low, _, slowdown)| (*low as f64 * 10f64.sqrt(), *slowdown))
            .collect(),
    });
    let chart = Curves {
        title: "Slowdown by job length, heavy-tailed workload",
        x_unit: "CPU time of the job, by decades",
        y_unit: "mean slowdown",
        curves: curves.collect(),
        scales: (Scale::Log, Scale::Log),
        show: (show, factor),
        ticks: Vec::new(),
    };
    Some(Picture { name: "lengths".into(), canvas: chart.draw() })
}

/// What round robin loses with small slices: simulated, and by the formula.
#[must_use]
pub fn slices() -> Picture {
    let mut workload = Workload::new("busy");
    (0..20).for_each(|_| _ = workload.add_single(0, Class::Long, 10 * MS));
    let workload = workload.finish();
    let quanta = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000].map(|micros| micros * US);
    let useful = |quantum| {
        let outcome = PolicyKind::Rr.run(&workload, &RunSettings::new(1, 1).quantum(quantum), &mut NoTrace);
        outcome.utilisation()
    };
    let cost = RunSettings::new(1, 1).costs.preempt as f64;
    let chart = Curves {
        title: "Small slices cost throughput: round robin, with 2 µs for each interruption",
        x_unit: "slice",
        y_unit: "time that goes into jobs (dashed: slice ÷ (slice + cost))",
        curves: vec![
            Curve {
                name: "ideal".into(),
                colour: 0,
                class: "ideal",
                points: quanta.iter().map(|q| (*q as f64, *q as f64 / (*q as f64 + cost))).collect(),
            },
            Curve {
                name: "RR, simulated".into(),
                colour: colour(PolicyKind::Rr),
                class: "",
                points: quanta.iter().map(|q| (*q as f64, useful(*q))).collect(),
            },
        ],
        scales: (Scale::Log, Scale::Linear),
        show: (show, share),
        ticks: Vec::new(),
    };
    Picture { name: "slices".into(), canvas: chart.draw() }
}

/// How G-M-P scales: efficiency over Ps, as the library is and, dashed, with all changes.
#[must_use]
pub fn scaling(points: &[Point]) -> Picture {
    let mut curves = Vec::new();
    for (index, scenario) in Scenario::ALL.into_iter().enumerate() {
        for (change, class, suffix) in
            [(Change::Library, "", ""), (Change::All, "dashed", ", all four changes")]
        {
            let of = points.iter().filter(|point| point.scenario == scenario && point.change == change);
            curves.push(Curve {
                name: format!("{}{suffix}", scenario.name()),
                colour: [0, 1, 5, 2][index],
                class,
                points: of.map(|point| (f64::from(point.procs), point.efficiency)).collect(),
            });
        }
    }
    let ticks: Vec<f64> = curves.first().map(|c| c.points.iter().map(|p| p.0).collect()).unwrap_or_default();
    curves.push(Curve {
        name: "ideal".into(),
        colour: 0,
        class: "ideal",
        points: ticks.iter().map(|procs| (*procs, 1.0)).collect(),
    });
    let chart = Curves {
        title: "G-M-P from 1 to 1,024 Ps: useful work, of what the load allows",
        x_unit: "Ps",
        y_unit: "solid: the library as it is; dashed: with all four changes",
        curves,
        scales: (Scale::Log, Scale::Linear),
        show: (plain, share),
        ticks,
    };
    Picture { name: "scaling".into(), canvas: chart.draw() }
}

/// What each change does at the largest number of Ps.
#[must_use]
pub fn changes(points: &[Point]) -> Picture {
    let most = points.iter().map(|point| point.procs).max().unwrap_or(1);
    let rows = Scenario::ALL.into_iter().map(|scenario| {
        let efficiency = |change| {
            let point = points
                .iter()
                .find(|point| point.procs == most && point.scenario == scenario && point.change == change);
            point.map_or(f64::NAN, |point| point.efficiency)
        };
        (scenario.name().to_string(), Change::ALL.map(efficiency).to_vec())
    });
    let title = format!("What would change it: efficiency at {most} Ps");
    let dots = Dots {
        title: &title,
        unit: "useful work ÷ what the load allows",
        rows: rows.collect(),
        series: Change::ALL.iter().enumerate().map(|(i, change)| (change.name().to_string(), i)).collect(),
        scale: Scale::Linear,
        lanes: Lanes::Own,
        mark: Some(1.0),
        show: share,
    };
    Picture { name: "changes".into(), canvas: dots.draw() }
}
