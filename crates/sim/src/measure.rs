//! What a run came to, and the figures that are made of it.
//!
//! The words: *response* is from arrival to end (turnaround). *Waited* is the time in ready queues.
//! *Slowdown* is response divided by what the job takes when it never waits for a processor; 1 is
//! the best. A *visit* is a job's coming to the ready queue until the end of the CPU burst it came
//! for; its *latency* is what a client of a server sees. *Unfairness* is told by Jain's index over
//! the slowdowns: 1 if all have the same, 1/n if one has all of it.

use serde::Serialize;

use crate::job::{Class, Workload};
use crate::time::{NEVER, SECOND, Time};

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobResult {
    /// Its kind.
    pub class: Class,
    /// When it arrived.
    pub arrival: Time,
    /// When it ended; [`NEVER`] if it had not by the end of the observation.
    pub finish: Time,
    /// The CPU time it needs.
    pub service: Time,
    /// How long it takes alone; 0 if that depends on others.
    pub alone: Time,
    /// The time it was ready and did not run.
    pub waited: Time,
    /// The longest such time at a stretch.
    pub longest_wait: Time,
}

impl JobResult {
    /// From arrival to end.
    #[must_use]
    pub fn response(&self) -> Option<Time> {
        (self.finish != NEVER).then(|| self.finish - self.arrival)
    }

    /// Response divided by what it takes alone.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        let response = self.response()?;
        (self.alone > 0).then(|| response as f64 / self.alone as f64)
    }
}

/// How often processors went from one job to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Switches {
    /// Because the former one ended or waited.
    pub voluntary: u64,
    /// Because the former one was interrupted, or lost its P.
    pub forced: u64,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Each job's fate.
    pub jobs: Vec<JobResult>,
    /// When the last thing happened.
    pub end: Time,
    /// How many processors there were.
    pub procs: u32,
    /// CPU time that went into jobs.
    pub useful: Time,
    /// CPU time that went into scheduling.
    pub overhead: Time,
    /// Changes from one job to another.
    pub switches: Switches,
    /// Events that were simulated.
    pub events: u64,
    /// Latency of visits, by class.
    pub latency: [Histogram; 3],
    /// What only G-M-P counts.
    pub gmp: Option<crate::gmp::Counters>,
}

impl RunOutcome {
    /// The figures of all jobs, or of one class.
    #[must_use]
    pub fn summary(&self, class: Option<Class>) -> Summary {
        let jobs = || self.jobs.iter().filter(|job| class.is_none_or(|class| job.class == class));
        let done = jobs().filter(|job| job.finish != NEVER).count();
        let slowdowns: Vec<f64> = jobs().filter_map(JobResult::slowdown).collect();
        let mut latency = Histogram::default();
        for wanted in Class::ALL {
            if class.is_none_or(|class| class == wanted) {
                latency.merge(&self.latency[wanted as usize]);
            }
        }
        Summary {
            jobs: jobs().count(),
            done,
            throughput: done as f64 * SECOND as f64 / self.end.max(1) as f64,
            response: Spread::of(jobs().filter_map(|job| job.response().map(|time| time as f64))),
            waiting: Spread::of(jobs().map(|job| job.waited as f64)),
            latency_p50: latency.quantile(0.5) as f64,
            latency_p99: latency.quantile(0.99) as f64,
            jain: jain(&slowdowns),
            slowdown: Spread::of(slowdowns.into_iter()),
            longest_wait: jobs().map(|job| job.longest_wait).max().unwrap_or(0) as f64,
            starved: jobs().filter(|job| self.starved(job)).count(),
        }
    }

    /// Whether a job had not ended when the observation did, and had waited at a stretch for more
    /// than half of it.
    fn starved(&self, job: &JobResult) -> bool {
        job.finish == NEVER && job.longest_wait > self.end / 2
    }

    /// The part of all processors' time that went into jobs.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.useful as f64 / (self.end.max(1) as f64 * f64::from(self.procs))
    }

    /// The part of the used time that went into scheduling.
    #[must_use]
    pub fn overhead_share(&self) -> f64 {
        self.overhead as f64 / (self.useful + self.overhead).max(1) as f64
    }

    /// Slowdown by job length: for each decade of service time its lower end, how many jobs, their
    /// mean slowdown.
    #[must_use]
    pub fn slowdown_by_length(&self) -> Vec<(Time, usize, f64)> {
        let mut decades: Vec<(Time, usize, f64)> = Vec::new();
        for exponent in 2..13 {
            let low = 10u64.pow(exponent);
            let inside = |job: &&JobResult| (low..low * 10).contains(&job.service);
            let slowdowns: Vec<f64> =
                self.jobs.iter().filter(inside).filter_map(JobResult::slowdown).collect();
            if !slowdowns.is_empty() {
                decades.push((low, slowdowns.len(), mean(&slowdowns)));
            }
        }
        decades
    }
}

/// The beginning of every run's results.
#[must_use]
pub fn blank_results(workload: &Workload) -> Vec<JobResult> {
    (0..workload.jobs.len())
        .map(|id| {
            let spec = workload.jobs[id];
            JobResult {
                class: spec.class,
                arrival: spec.arrival,
                finish: NEVER,
                service: workload.service(id as u32),
                alone: workload.alone(id as u32).unwrap_or(0),
                waited: 0,
                longest_wait: 0,
            }
        })
        .collect()
}

/// The usual figures.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// How many jobs.
    pub jobs: usize,
    /// How many of them ended.
    pub done: usize,
    /// Jobs per second.
    pub throughput: f64,
    /// Response, ns.
    pub response: Spread,
    /// Waiting, ns.
    pub waiting: Spread,
    /// Latency of visits, ns: the median.
    pub latency_p50: f64,
    /// Latency of visits, ns: 99 %.
    pub latency_p99: f64,
    /// Slowdown.
    pub slowdown: Spread,
    /// Jain's index over the slowdowns.
    pub jain: f64,
    /// The longest wait at a stretch, ns.
    pub longest_wait: f64,
    /// Jobs that starved.
    pub starved: usize,
}

/// Mean, quantiles and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 99 % are no more than this.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// Of these values; all zero if there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let Some(&max) = values.last() else { return Spread::default() };
        let at = |part: f64| values[((values.len() as f64 * part).ceil() as usize).max(1) - 1];
        Spread { mean: mean(&values), p50: at(0.5), p99: at(0.99), max }
    }
}

/// The mean; 0 of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Jain's index: (Σx)² / (n Σx²); 1 of nothing.
///
/// ```
/// use gosched_sim::measure::jain;
/// assert_eq!(jain(&[2.0, 2.0, 2.0]), 1.0);
/// assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
/// ```
#[must_use]
pub fn jain(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 1.0;
    }
    values.iter().sum::<f64>().powi(2) / (values.len() as f64 * squares)
}

/// Times, counted in buckets that are no wider than a sixteenth of what they hold.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Box<[u64; 1024]>,
    count: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: Box::new([0; 1024]), count: 0 }
    }
}

impl Histogram {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, time: Time) {
        self.buckets[bucket(time)] += 1;
        self.count += 1;
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.iter_mut().zip(other.buckets.iter()).for_each(|(own, more)| *own += more);
        self.count += other.count;
    }

    /// The upper end of the bucket in which this part of all is reached; 0 of nothing.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Time {
        let wanted = ((self.count as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_end(index);
            }
        }
        0
    }
}

/// Four bits after the leading one; below 16 the number itself.
#[inline]
fn bucket(time: Time) -> usize {
    if time < 16 {
        return time as usize;
    }
    let exponent = 63 - time.leading_zeros() as usize;
    (exponent - 3) * 16 + ((time >> (exponent - 4)) & 15) as usize
}

fn upper_end(bucket: usize) -> Time {
    if bucket < 16 {
        return bucket as Time;
    }
    let exponent = bucket / 16 + 3;
    let low = (16 + (bucket % 16) as u128) << (exponent - 4);
    (low + (1 << (exponent - 4)) - 1) as Time
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantile is at most a sixteenth above the value it stands for.
    #[test]
    fn histogram_is_exact_to_a_sixteenth() {
        for time in (0..2_000_000).step_by(777).chain([u64::MAX / 3, 1 << 40]) {
            let mut histogram = Histogram::default();
            histogram.add(time);
            let seen = histogram.quantile(0.5);
            assert!(seen >= time && seen - time <= time / 16, "{time}: {seen}");
        }
    }

    /// Quantiles are values that occur: of 1..=100 the median is 50, and 99 % are no more than 99.
    #[test]
    fn spread_of_a_hundred() {
        let spread = Spread::of((1..=100).map(f64::from));
        assert_eq!(spread, Spread { mean: 50.5, p50: 50.0, p99: 99.0, max: 100.0 });
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
    }
}
