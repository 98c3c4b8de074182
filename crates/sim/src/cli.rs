//! The command line.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

use crate::costs::{CostFile, Costs};
use crate::gmp::MAX_PROCS;
use crate::kind::PolicyKind;
use crate::output::files::{self, Report};
use crate::output::progress::Progress;
use crate::output::{html, pictures, terminal};
use crate::scale::Change;
use crate::study::Plan;
use crate::time::US;
use crate::workload::Kind;
use crate::{scale, speed, table};

/// The textbook's scheduling policies and gosched's own, simulated on the same workloads.
///
/// Without options: the textbook's table, measured.
#[derive(Debug, Parser)]
#[command(name = "gosched-sim", version)]
pub struct Args {
    /// Policies, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    policy: Vec<PolicyKind>,
    /// Workloads, separated by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    workload: Vec<Kind>,
    /// Numbers of processors, 1 to 1024, separated by commas [default: 1]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PROCS)))]
    procs: Vec<u32>,
    /// About so many jobs [default: as is usual for the workload]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: Option<u32>,
    /// The part of the processors' time that arriving jobs need, above 0 and up to 2
    #[arg(long, default_value_t = 0.8, value_parser = parse_load)]
    load: f64,
    /// The slice of round robin and feedback, in microseconds
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    quantum: u64,
    /// What of G-M-P is different from the library
    #[arg(long, value_enum, default_value_t = Change::Library)]
    change: Change,
    /// CPUs under the Ps of G-M-P [default: as many as Ps]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PROCS)))]
    cpus: Option<u32>,
    /// What things cost, as measured by the example `reality` [default: as in costs.rs]
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// For all that is random; the same seed gives the same output
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Says which policies and workloads there are
    #[arg(long)]
    list: bool,
    /// G-M-P from 1 to 1,024 Ps, and what would change it
    #[arg(long)]
    scale: bool,
    /// Measures the simulator itself: events per second
    #[arg(long)]
    speed: bool,
    /// Writes a report with charts, as one HTML file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Writes the runs as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Writes all figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the pictures of docs/policies.md into this directory
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

fn parse_load(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(load) if load > 0.0 && load <= 2.0 => Ok(load),
        _ => Err("a number above 0 and up to 2 is wanted, such as 0.8".into()),
    }
}

/// Runs the program with these arguments; the status it ends with.
///
/// # Errors
///
/// If a file can't be written; the message names it.
pub fn main(arguments: impl IntoIterator<Item = OsString>, out: &mut impl Write) -> io::Result<i32> {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            error.print()?;
            return Ok(error.exit_code());
        }
    };
    args.run(out)?;
    Ok(0)
}

impl Args {
    fn run(&self, out: &mut impl Write) -> io::Result<()> {
        if self.list {
            return list(out);
        }
        if self.speed {
            return measure_speed(out, self.seed);
        }
        let costs = match &self.costs {
            Some(path) => CostFile::read(path)?.costs,
            None => Costs::default(),
        };
        if let Some(directory) = &self.pictures {
            return write_pictures(directory, &costs, self.seed);
        }
        let report = self.simulate(costs);
        self.print(&report, out)?;
        if let Some(path) = &self.report {
            write(path, &html::page(&report))?;
        }
        if let Some(path) = &self.csv {
            write(path, &files::csv(&report.runs))?;
        }
        if let Some(path) = &self.json {
            write(path, &files::json(&report).map_err(io::Error::other)?)?;
        }
        Ok(())
    }

    fn plan(&self, costs: &Costs) -> Plan {
        let or_all = |given: &Vec<PolicyKind>| {
            if given.is_empty() { PolicyKind::value_variants().to_vec() } else { given.clone() }
        };
        Plan {
            policies: or_all(&self.policy),
            workloads: if self.workload.is_empty() {
                Kind::value_variants().to_vec()
            } else {
                self.workload.clone()
            },
            procs: if self.procs.is_empty() { vec![1] } else { self.procs.clone() },
            jobs: self.jobs,
            load: self.load,
            quantum: self.quantum * US,
            change: self.change,
            cpus: self.cpus,
            costs: costs.clone(),
            seed: self.seed,
        }
    }

    /// Whether single runs are wanted, not only the table.
    fn wants_runs(&self) -> bool {
        let chosen = !self.policy.is_empty() || !self.workload.is_empty() || !self.procs.is_empty();
        chosen || self.report.is_some() || self.csv.is_some() || (self.json.is_some() && !self.scale)
    }

    fn simulate(&self, costs: Costs) -> Report {
        let plan = self.plan(&costs);
        let chosen = !self.policy.is_empty() || !self.workload.is_empty() || !self.procs.is_empty();
        let wants_table = self.report.is_some() || !(chosen || self.scale);
        let wants_scale = self.scale || (self.report.is_some() && !chosen);
        let rows: &[PolicyKind] = if wants_table { &plan.policies } else { &[] };
        let runs = if self.wants_runs() { plan.len() } else { 0 };
        let points = if wants_scale { scale::total(MAX_PROCS) } else { 0 };
        let mut progress = Progress::new(rows.len() + runs + points);
        let table = rows.iter().map(|policy| {
            progress.step(&format!("{} for the table", policy.name()));
            table::row(*policy, &costs, self.seed)
        });
        Report {
            seed: self.seed,
            table: table.collect(),
            runs: if runs > 0 { plan.run(|what| progress.step(what)) } else { Vec::new() },
            scale: if wants_scale {
                scale::run(MAX_PROCS, &costs, self.seed, |what| progress.step(what))
            } else {
                Vec::new()
            },
            costs,
        }
    }

    fn print(&self, report: &Report, out: &mut impl Write) -> io::Result<()> {
        let mut show = |title: &str, (headings, rows): (Vec<&'static str>, Vec<Vec<String>>)| {
            if rows.is_empty() {
                return Ok(());
            }
            writeln!(out, "{title}\n\n{}", terminal::table(&headings, &rows))
        };
        show(
            "The textbook's table, measured: mixed workload, load 0.8, one processor. Short, long, I/O: mean slowdown.",
            terminal::policy_cells(&report.table),
        )?;
        let title = format!("Each policy on each workload. Load {}, seed {}.", self.load, self.seed);
        show(&title, terminal::run_cells(&report.runs))?;
        show(
            "G-M-P on many Ps. Beyond two CPUs nobody has compared it with the library.",
            terminal::scale_cells(&report.scale),
        )
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn list(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Policies (--policy)")?;
    for policy in PolicyKind::value_variants() {
        let name = policy.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
        let character = policy.character();
        writeln!(out, "  {name:<9} {} ({}, {})", policy.about(), character.mode.name(), character.decision)?;
    }
    writeln!(out, "\nWorkloads (--workload)")?;
    for workload in Kind::value_variants() {
        writeln!(out, "  {:<9} {}", workload.name(), workload.about())?;
    }
    Ok(())
}

fn measure_speed(out: &mut impl Write, seed: u64) -> io::Result<()> {
    let rows: Vec<Vec<String>> = PolicyKind::value_variants()
        .iter()
        .map(|policy| {
            let speed = speed::measure(*policy, 400_000, 8, seed);
            let millions = format!("{:.1}", speed.per_second() / 1e6);
            vec![policy.name().into(), speed.events.to_string(), format!("{:.0?}", speed.took), millions]
        })
        .collect();
    writeln!(out, "{}", terminal::table(&["policy", "events", "took", "million events per s"], &rows))
}

/// The pictures that docs/policies.md shows, without those of the scaling study.
#[must_use]
pub fn quick_pictures(costs: &Costs, seed: u64) -> Vec<pictures::Picture> {
    let policies = PolicyKind::value_variants();
    let rows: Vec<table::Row> = policies.iter().map(|policy| table::row(*policy, costs, seed)).collect();
    let plan = Plan {
        policies: policies.to_vec(),
        workloads: vec![Kind::Heavy],
        procs: vec![1],
        jobs: None,
        load: 0.6,
        quantum: 50 * US,
        change: Change::Library,
        cpus: None,
        costs: costs.clone(),
        seed,
    };
    let mut all = pictures::gantts();
    all.push(pictures::effects(&rows));
    all.extend(pictures::lengths(&plan.run(|_| ())));
    all.push(pictures::slices());
    all
}

fn write_pictures(directory: &Path, costs: &Costs, seed: u64) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut progress = Progress::new(scale::total(MAX_PROCS) + 1);
    progress.step("small examples");
    let mut all = quick_pictures(costs, seed);
    let points = scale::run(MAX_PROCS, costs, seed, |what| progress.step(what));
    all.extend([pictures::scaling(&points), pictures::changes(&points)]);
    for picture in all {
        write(&directory.join(format!("{}.svg", picture.name)), &picture.canvas.standalone())?;
    }
    Ok(())
}
