//! Jobs: what arrives when, computes for how long, and waits for what in between.
//!
//! Invariants of a [`Workload`]: the bursts of all jobs lie in one array; each job's last burst
//! ends with [`Then::Exit`] and no other does; `arrivals` is sorted by time; a job that is forked
//! by another arrives nowhere else. [`Workload::check`] says so.

use serde::Serialize;

use crate::time::{NEVER, Time};

/// The number of a job in its workload.
pub type JobId = u32;

/// No job.
pub const NO_JOB: JobId = JobId::MAX;

/// What kind of job it is, for measures that tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Class {
    /// Computes for a short time and is done.
    Short,
    /// Computes for long.
    Long,
    /// Computes little, waits much, and often.
    Io,
}

impl Class {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Class; 3] = [Class::Short, Class::Long, Class::Io];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Short => "short",
            Class::Long => "long",
            Class::Io => "I/O-bound",
        }
    }
}

/// What a job does after a CPU burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Ends.
    Exit,
    /// Waits for the network for so long, and holds nothing meanwhile.
    Io(Time),
    /// Is in a system call that blocks its thread for so long. To a textbook's policy the same as
    /// [`Then::Io`].
    Block(Time),
    /// Lets others go first.
    Yield,
    /// Creates these jobs, and goes on.
    Fork {
        /// The first of them.
        first: JobId,
        /// How many.
        count: u32,
    },
    /// Waits until all jobs that it has created have ended.
    Join,
    /// Waits until this one, which it has created, has ended.
    JoinOf(JobId),
    /// Wakes this job, if it waits by [`Then::Await`]; else leaves it a mark, and it will not wait
    /// next time.
    Signal(JobId),
    /// Waits for a signal, unless one has come since it last did.
    Await,
}

/// What a job waits for that another one has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// For nothing of the kind.
    Nothing,
    /// For the end of all jobs that it has created.
    Children,
    /// For the end of this one.
    EndOf(JobId),
    /// For a signal.
    Signal,
}

/// A time on the CPU, and what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// How long.
    pub cpu: Time,
    /// And then?
    pub then: Then,
}

/// A job as it is given.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// When it arrives; [`NEVER`] if another job creates it.
    pub arrival: Time,
    /// Its kind.
    pub class: Class,
    /// Its first burst in [`Workload::bursts`]; it goes on from there until [`Then::Exit`].
    pub first: u32,
    /// Who creates it, or [`NO_JOB`].
    pub parent: JobId,
}

/// All jobs of a run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// The jobs.
    pub jobs: Vec<Spec>,
    /// The bursts of all of them.
    pub bursts: Vec<Burst>,
    /// The jobs that arrive by themselves, by time.
    pub arrivals: Vec<JobId>,
    /// Whether jobs arrive as connections do, through the network poller, where there is one.
    pub from_network: bool,
    /// When observation ends, if it does before the last job has.
    pub horizon: Time,
}

impl Workload {
    /// No jobs yet.
    #[must_use]
    pub fn new(name: &'static str) -> Workload {
        Workload {
            name,
            jobs: Vec::new(),
            bursts: Vec::new(),
            arrivals: Vec::new(),
            from_network: false,
            horizon: NEVER,
        }
    }

    /// Adds a job. Its last burst ends with [`Then::Exit`].
    pub fn add(&mut self, arrival: Time, class: Class, bursts: &[Burst]) -> JobId {
        let id = self.jobs.len() as JobId;
        self.jobs.push(Spec { arrival, class, first: self.bursts.len() as u32, parent: NO_JOB });
        self.bursts.extend_from_slice(bursts);
        id
    }

    /// Adds a job of a single burst.
    pub fn add_single(&mut self, arrival: Time, class: Class, cpu: Time) -> JobId {
        self.add(arrival, class, &[Burst { cpu, then: Then::Exit }])
    }

    /// Sorts the arrivals: to be called after the last [`add`](Workload::add).
    #[must_use]
    pub fn finish(mut self) -> Workload {
        self.arrivals =
            (0..self.jobs.len() as JobId).filter(|id| self.jobs[*id as usize].arrival != NEVER).collect();
        self.arrivals.sort_by_key(|id| self.jobs[*id as usize].arrival);
        self
    }

    /// The bursts of a job.
    pub fn bursts_of(&self, job: JobId) -> impl Iterator<Item = Burst> + '_ {
        let mut over = false;
        self.bursts[self.jobs[job as usize].first as usize..].iter().copied().take_while(move |burst| {
            let before = over;
            over |= burst.then == Then::Exit;
            !before
        })
    }

    /// The whole CPU time of a job.
    #[must_use]
    pub fn service(&self, job: JobId) -> Time {
        self.bursts_of(job).map(|burst| burst.cpu).sum()
    }

    /// How long a job takes if it never waits for a processor; `None` if that depends on others.
    #[must_use]
    pub fn alone(&self, job: JobId) -> Option<Time> {
        self.bursts_of(job).try_fold(0, |sum, burst| match burst.then {
            Then::Exit | Then::Yield | Then::Fork { .. } | Then::Signal(_) => Some(sum + burst.cpu),
            Then::Io(wait) | Then::Block(wait) => Some(sum + burst.cpu + wait),
            Then::Join | Then::JoinOf(_) | Then::Await => None,
        })
    }

    /// The CPU time of all jobs.
    #[must_use]
    pub fn total_service(&self) -> Time {
        self.bursts.iter().map(|burst| burst.cpu).sum()
    }

    /// Panics if an invariant does not hold.
    ///
    /// # Panics
    ///
    /// With a message that says which.
    pub fn check(&self) {
        assert!(self.jobs.len() < 1 << 28, "{}: too many jobs", self.name);
        let arrivals: Vec<Time> = self.arrivals.iter().map(|id| self.jobs[*id as usize].arrival).collect();
        assert!(arrivals.is_sorted(), "{}: arrivals are not in order", self.name);
        let exits = self.bursts.iter().filter(|burst| burst.then == Then::Exit).count();
        assert_eq!(exits, self.jobs.len(), "{}: each job ends once", self.name);
        let mut born = vec![0; self.jobs.len()];
        self.arrivals.iter().for_each(|id| born[*id as usize] += 1);
        for burst in &self.bursts {
            if let Then::Fork { first, count } = burst.then {
                (first..first + count).for_each(|id| born[id as usize] += 1);
            }
        }
        assert!(born.iter().all(|times| *times == 1), "{}: each job is born once", self.name);
    }
}
