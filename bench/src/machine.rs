//! The machine, described for readers of the figures.

use std::fs::read_to_string;
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

/// If more CPUs than this are busy before the start, the figures suffer.
const QUIET: f64 = 0.2;

/// How long the load by other programs is measured.
const LOOK: Duration = Duration::from_millis(500);

/// The machine.
#[derive(Debug)]
pub struct Machine {
    /// As the kernel names it.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: usize,
    /// The kernel's release.
    pub kernel: String,
    /// CPUs that others use.
    pub busy: f64,
}

impl Machine {
    /// This machine, now. Takes half a second, in which this process does nothing.
    pub fn here() -> Machine {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown CPU");
        let before = ticks();
        sleep(LOOK);
        Machine {
            cpu: model.trim_start_matches([' ', '\t', ':']).to_owned(),
            cpus: available_parallelism().map_or(1, usize::from),
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            busy: before.zip(ticks()).map_or(0.0, |(before, after)| busy_cpus(before, after)),
        }
    }

    /// What makes the figures doubtful before they are measured.
    pub fn warnings(&self, procs: u32) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.busy > QUIET {
            warnings.push(format!("other programs keep {:.1} CPUs busy: figures will be worse", self.busy));
        }
        if procs as usize > self.cpus {
            warnings.push(format!("--procs {procs} is more than the {} CPUs there are", self.cpus));
        }
        warnings
    }
}

/// The ticks of all CPUs since the start of the machine: in all, and idle.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    all: f64,
    idle: f64,
    cpus: f64,
}

fn ticks() -> Option<Ticks> {
    parse_ticks(&read_to_string("/proc/stat").ok()?)
}

/// The fields of the line `cpu`: user, nice, system, idle, iowait, …; guest time is in user time
/// too.
fn parse_ticks(stat: &str) -> Option<Ticks> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let fields: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    let cpus = stat.lines().skip(1).take_while(|line| line.starts_with("cpu")).count();
    Some(Ticks { all: fields.iter().sum(), idle: fields.get(3)? + fields.get(4)?, cpus: cpus as f64 })
}

fn busy_cpus(before: Ticks, after: Ticks) -> f64 {
    let (all, idle) = (after.all - before.all, after.idle - before.idle);
    if all > 0.0 { after.cpus * (1.0 - idle / all) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_or_small_machine_is_mentioned() {
        let machine = Machine { cpu: String::new(), cpus: 2, kernel: String::new(), busy: 1.5 };
        assert_eq!(machine.warnings(4).len(), 2);
        assert_eq!(Machine { busy: 0.1, ..machine }.warnings(2).len(), 0);
    }

    #[test]
    fn idle_and_busy_ticks_are_told_apart() {
        let stat = |user, idle| {
            parse_ticks(&format!("cpu  {user} 0 0 {idle} 0 0 0 0 7 7\ncpu0 1\ncpu1 1\nintr 5")).unwrap()
        };
        assert_eq!(busy_cpus(stat(100, 100), stat(150, 150)), 1.0);
        assert_eq!(busy_cpus(stat(100, 100), stat(100, 200)), 0.0);
    }
}
