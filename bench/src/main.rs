//! The command: build, measure, show. The status is 0 if every measurement worked, whether or not
//! aims were met.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use gosched_bench::cli::Cli;
use gosched_bench::compare::{Outcome, Plan, compare};
use gosched_bench::machine::Machine;
use gosched_bench::paint::Paint;
use gosched_bench::peer::Peer;
use gosched_bench::programs::{self, Programs};
use gosched_bench::rows::Workload;
use gosched_bench::{json, table};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.workloads() {
        Ok(workloads) if cli.list => list(&workloads),
        Ok(workloads) => return run(&cli, &workloads),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn list(workloads: &[&Workload]) {
    for workload in workloads {
        println!("{:14} {}", workload.name, workload.about);
        for row in workload.rows {
            println!("{:14}   {:28} aim {}", "", row.title, row.aim);
        }
    }
}

fn run(cli: &Cli, workloads: &[&'static Workload]) -> ExitCode {
    let Ok(mut json_file) = cli.json.as_ref().map(File::create).transpose().inspect_err(|error| {
        eprintln!("error: the file for --json cannot be written: {error}");
    }) else {
        return ExitCode::FAILURE;
    };
    let columns = cli.columns();
    let programs = programs::build(&columns, workloads);
    let machine = Machine::here();
    machine.warnings(cli.procs).iter().for_each(|warning| eprintln!("warning: {warning}"));
    programs.notes.iter().for_each(|note| eprintln!("note: {note}"));

    let plan = Plan { runs: cli.runs, procs: cli.procs, scale: cli.scale() };
    let outcomes = compare(workloads, &programs, plan);
    show(&outcomes, &programs, &machine, plan);
    let mut complete = columns.iter().all(|peer| programs.found.contains_key(peer) || *peer == Peer::Go);
    for (workload, peer, failure) in failures(&outcomes) {
        eprintln!("error: {workload} failed on {}: {failure}", peer.title());
        complete = false;
    }
    if let Some(file) = &mut json_file
        && let Err(error) = writeln!(file, "{:#}", json::document(&outcomes, &programs, &machine, plan))
    {
        eprintln!("error: the file for --json cannot be written: {error}");
        complete = false;
    }
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(outcomes: &[Outcome], programs: &Programs, machine: &Machine, plan: Plan) {
    let columns: Vec<Peer> = programs.found.keys().copied().collect();
    let versions: Vec<_> =
        programs.versions.iter().map(|(peer, version)| format!("{} {version}", peer.title())).collect();
    println!("{}, {} CPUs, Linux {}", machine.cpu, machine.cpus, machine.kernel);
    println!("{}; medians of {} runs on {} processors\n", versions.join(", "), plan.runs, plan.procs);
    print!("{}", table::draw(outcomes, &columns, plan.scale, Paint::for_stdout()));
    print!("\n{}", table::summary(outcomes, &columns, plan.scale));
}

fn failures(outcomes: &[Outcome]) -> impl Iterator<Item = (&'static str, Peer, &str)> {
    outcomes.iter().flat_map(|outcome| {
        let failed = |(peer, failure)| (outcome.workload.name, peer, failure);
        outcome.by_peer.iter().filter_map(|(peer, runs)| Some((*peer, runs.failure.as_deref()?))).map(failed)
    })
}
