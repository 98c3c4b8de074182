//! Small examples in which one can see what a policy does.

use crate::job::{Burst, Class, Then, Workload};
use crate::kind::PolicyKind;
use crate::output::gantt::Example;
use crate::time::{MS, Time};

/// All of them.
#[must_use]
pub fn examples() -> Vec<Example> {
    vec![textbook(), convoy(), fairness(), starving(), hog()]
}

fn letters(count: usize) -> Vec<String> {
    ('A'..='Z').take(count).map(|letter| letter.to_string()).collect()
}

/// Five jobs as textbooks have them: lengths 3, 6, 4, 5, 2, two apart.
fn textbook() -> Example {
    let mut workload = Workload::new("textbook");
    for (arrival, cpu) in [(0, 3), (2, 6), (4, 4), (6, 5), (8, 2)] {
        workload.add_single(arrival * MS, Class::Short, cpu * MS);
    }
    Example {
        name: "textbook",
        title: "Five jobs under each policy: a line while a job is there, a bar while it runs",
        workload: workload.finish(),
        names: letters(5),
        policies: [PolicyKind::TEXTBOOK.as_slice(), &[PolicyKind::Gmp]].concat(),
        quantum: MS,
    }
}

/// A long job, and three that need the processor for a moment only, but again and again.
fn convoy() -> Example {
    let mut workload = Workload::new("convoy");
    let long = |cpu: Time, wait| Burst { cpu: cpu * MS, then: Then::Io(wait) };
    workload.add(0, Class::Long, &[long(12, MS), long(12, MS), Burst { cpu: 12 * MS, then: Then::Exit }]);
    for i in 1..=3u64 {
        let round = Burst { cpu: MS / 2, then: Then::Io(2 * MS) };
        let last = Burst { cpu: MS / 2, then: Then::Exit };
        workload.add(i * MS / 4, Class::Io, &[round, round, round, round, last]);
    }
    Example {
        name: "convoy",
        title: "FCFS's convoy: three I/O-bound jobs wait behind a long one again and again",
        workload: workload.finish(),
        names: vec!["long".into(), "I/O 1".into(), "I/O 2".into(), "I/O 3".into()],
        policies: vec![PolicyKind::Fcfs, PolicyKind::Rr, PolicyKind::Mlfq],
        quantum: MS,
    }
}

/// A row of short jobs, and a longer one among them. One short job always waits.
fn row_and_long(shorts: u64) -> (Workload, Vec<String>) {
    let mut workload = Workload::new("row");
    workload.add_single(MS, Class::Long, 6 * MS);
    let mut names = vec!["long".to_string()];
    for i in 0..shorts {
        workload.add_single(i.saturating_sub(1) * 2 * MS, Class::Short, 2 * MS);
        names.push(format!("short {}", i + 1));
    }
    (workload.finish(), names)
}

fn fairness() -> Example {
    let (workload, names) = row_and_long(10);
    Example {
        name: "fairness",
        title: "HRRN's fairness: the long job waits for some short ones, not for all as under SPN",
        workload,
        names,
        policies: vec![PolicyKind::Fcfs, PolicyKind::Hrrn, PolicyKind::Spn],
        quantum: MS,
    }
}

fn starving() -> Example {
    let (mut workload, names) = row_and_long(14);
    workload.horizon = 28 * MS;
    Example {
        name: "starvation",
        title: "Starvation: as long as short jobs come, SRT and feedback leave the long one",
        workload,
        names,
        policies: vec![PolicyKind::Rr, PolicyKind::Srt, PolicyKind::Mlfq],
        quantum: MS,
    }
}

/// One that computes for 40 ms, and three that compute a little and wait.
fn hog() -> Example {
    let mut workload = Workload::new("hog");
    workload.add_single(MS, Class::Long, 40 * MS);
    for i in 0..3u64 {
        let round = Burst { cpu: MS, then: Then::Io(5 * MS) };
        let mut bursts = vec![round; 7];
        bursts.push(Burst { cpu: MS, then: Then::Exit });
        workload.add(i * MS / 2, Class::Io, &bursts);
    }
    Example {
        name: "hog",
        title: "A hog on one P: ours takes the P when others have waited for some 10 ms; hollow: it goes on without",
        workload: workload.finish(),
        names: vec!["hog".into(), "I/O 1".into(), "I/O 2".into(), "I/O 3".into()],
        policies: vec![PolicyKind::Fcfs, PolicyKind::Gmp, PolicyKind::Rr],
        quantum: MS,
    }
}
