//! Runs atoms and rows in processes of their own, in turns, and prints what they come to.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use gosched_sim::costs::{CostFile, Costs};
use gosched_sim::output::terminal;
use gosched_sim::time::{Time, show};

use crate::atoms::ATOMS;
use crate::median;
use crate::rows::{Figure, ROWS};

type Done = Result<(), String>;

/// Every measurement of each figure, by name.
type Samples = BTreeMap<String, Vec<f64>>;

/// The inner process of an atom: a line for each figure.
pub fn run_atom(name: &str) -> Done {
    let (_, measure) = ATOMS.iter().find(|atom| atom.0 == name).ok_or("no such atom")?;
    measure().iter().for_each(|(figure, ns)| println!("{figure} {ns}"));
    Ok(())
}

/// The inner process of a row.
pub fn run_row(name: &str, procs: usize) -> Done {
    let row = ROWS.iter().find(|row| row.name == name).ok_or("no such row")?;
    let Figure { wall, cpu, p50 } = (row.real)(procs);
    println!("wall {wall}\ncpu {cpu}\np50 {p50}");
    Ok(())
}

/// How a process is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// As any other. The atoms are medians of many short batches; others on the machine hardly show
    /// in them.
    Usual,
    /// Before all others, if that is allowed: two Ps need two CPUs at the same time.
    Undisturbed,
}

/// Starts this program again, and adds what it prints to the samples, under `prefix`.
fn measure(class: Class, args: &[&str], prefix: &str, samples: &mut Samples) -> Done {
    let program = std::env::current_exe().map_err(|why| why.to_string())?;
    let mut command = match class == Class::Undisturbed && may_be_undisturbed() {
        true => {
            let mut command = Command::new("timeout");
            command.args(["20", "chrt", "-f", "1"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    let output = command.args(args).output().map_err(|why| why.to_string())?;
    if !output.status.success() {
        return Err(format!("{args:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (name, value) = line.split_once(' ').ok_or_else(|| format!("{args:?}: {line:?}"))?;
        let value = value.parse().map_err(|why| format!("{args:?}: {line:?}: {why}"))?;
        samples.entry(format!("{prefix}{name}")).or_default().push(value);
    }
    Ok(())
}

/// Whether a process may have the CPUs before all others: the kernel's class of real-time
/// processes. (The privileged may.)
fn may_be_undisturbed() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let tried = Command::new("chrt").args(["-f", "1", "true"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    })
}

fn measure_atoms(samples: &mut Samples) -> Done {
    ATOMS.iter().try_for_each(|(name, _)| measure(Class::Usual, &["atom", name], "", samples))
}

/// The costs that the medians of these measurements are; the rest stays as it was.
fn to_costs(samples: &Samples) -> Costs {
    let ns = |name: &str| median(samples.get(name).cloned().unwrap_or_default());
    let time = |ns: f64| ns.round().max(0.0) as Time;
    let (hit, lock) = (ns("hit"), ns("lock"));
    // Each of 16 goroutines locks the queue once, and one takes them all.
    let switch = ns("yield") - lock * (1.0 + 1.0 / 16.0);
    // Taking one out of the ring is a compare-and-swap.
    let push = ns("push_and_pop") - hit;
    let wake = ns("wake_and_push") - push - hit;
    Costs {
        switch: time(switch),
        park: time(ns("park_and_switch") - switch),
        wake: time(wake),
        push: time(push),
        spawn: time(ns("spawn_and_push") - push - hit),
        exit: time(ns("exit_and_switch") - switch + ns("join")),
        migrate: time(ns("migrate")),
        stack: time(ns("first_run") - ns("spawn_and_push") - ns("park_and_switch")),
        cold: time(ns("park_and_switch_cold") - ns("park_and_switch")),
        look: time(ns("look")),
        steal: time(ns("steal")),
        runnext_pause: time(ns("runnext_pause")),
        miss: time(ns("miss")),
        far_miss: time(3.0 * ns("miss")),
        hit: time(hit),
        locked: time(lock - hit),
        futex_call: time(ns("futex_call")),
        futex_wake: time(ns("futex_wake")),
        poll: time(ns("poll")),
        report: time(ns("report") + ns("wake_and_push")),
        ..Costs::default()
    }
}

/// Measures the costs and prints them as a file for `--costs`.
pub fn costs(rounds: usize) -> Done {
    let mut samples = Samples::new();
    (0..rounds).try_for_each(|_| measure_atoms(&mut samples))?;
    print_costs(&samples)
}

fn print_costs(samples: &Samples) -> Done {
    let file = CostFile { date: today(), machine: machine(), costs: to_costs(samples) };
    println!("{}", serde_json::to_string_pretty(&file).map_err(|why| why.to_string())?);
    Ok(())
}

/// The day, as the system's `date` says it.
fn today() -> String {
    let output = Command::new("date").arg("+%Y-%m-%d").output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let of = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split(": ").nth(1)).unwrap_or("?").to_string()
    };
    let cpus = info.lines().filter(|line| line.starts_with("processor")).count();
    let numbers = format!("family {}, model {}", of("cpu family"), of("model\t"));
    format!(
        "{} ({numbers}), {cpus} CPUs, Linux {}",
        of("model name"),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

/// What the simulation may be away from the real figure: throughput, p50.
const BOUNDS: [f64; 2] = [0.15, 0.25];
const PROCS: [u32; 2] = [1, 2];

/// Measures costs and rows in turns, simulates the rows, and prints both.
pub fn validate(rounds: usize) -> Done {
    let mut samples = Samples::new();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        measure_atoms(&mut samples)?;
        for row in &ROWS {
            for procs in PROCS {
                let prefix = format!("{} {procs} ", row.name);
                let args = ["row", row.name, &procs.to_string()];
                measure(Class::Undisturbed, &args, &prefix, &mut samples)?;
            }
        }
    }
    let costs = to_costs(&samples);
    let mut table = Vec::new();
    for row in &ROWS {
        for procs in PROCS {
            let simulated = (row.simulated)(procs, &costs);
            let figures = [
                ("wall", simulated.wall, BOUNDS[0]),
                ("cpu", simulated.cpu, BOUNDS[0]),
                ("p50", simulated.p50, BOUNDS[1]),
            ];
            for (what, simulated, bound) in figures {
                let real = samples.get(&format!("{} {procs} {what}", row.name)).cloned().unwrap_or_default();
                table.push(line(row.name, procs, what, simulated, real, bound));
            }
        }
    }
    print_costs(&samples)?;
    println!("\nmedians of {rounds} rounds; middle half: of the real figures\n");
    let headings =
        ["row", "Ps", "figure", "simulated", "real", "middle half", "simulated/real", "bound", "verdict"];
    println!("{}", terminal::table(&headings, &table));
    println!("all measurements, ns");
    for (name, values) in &samples {
        let values: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        println!("{name}: {}", values.join(" "));
    }
    Ok(())
}

fn line(row: &str, procs: u32, what: &str, simulated: f64, real: Vec<f64>, bound: f64) -> Vec<String> {
    let (low, high) = middle_half(real.clone());
    let real = median(real);
    let ratio = simulated / real;
    let verdict = if (1.0 - bound..=1.0 + bound).contains(&ratio) { "✓" } else { "✗" };
    vec![
        row.into(),
        procs.to_string(),
        what.into(),
        show(simulated),
        show(real),
        format!("{} – {}", show(low), show(high)),
        format!("{ratio:.2}"),
        format!("± {:.0} %", bound * 100.0),
        verdict.into(),
    ]
}

fn middle_half(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values.get((values.len() as f64 * part) as usize).copied().unwrap_or(0.0);
    (at(0.25), at(0.75))
}
