//! Gantt strips: who ran when. A row for each job: a thin line while it is there, a bar while it
//! runs, hollow if it runs without a P.

use super::charts::round_step;
use super::svg::{Anchor, Canvas};
use crate::costs::Costs;
use crate::job::{Class, Workload};
use crate::kind::{PolicyKind, RunSettings};
use crate::measure::RunOutcome;
use crate::time::{MS, NEVER, Time};
use crate::trace::{Place, Strips};

/// A small example: jobs with names.
pub struct Example {
    /// Its name in file names.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The jobs.
    pub workload: Workload,
    /// Their names.
    pub names: Vec<String>,
    /// The policies that are compared.
    pub policies: Vec<PolicyKind>,
    /// The slice.
    pub quantum: Time,
}

impl Example {
    fn run(&self, policy: PolicyKind) -> (RunOutcome, Strips) {
        let settings = RunSettings::new(1, 1).costs(Costs::FREE).quantum(self.quantum);
        let mut strips = Strips::default();
        let outcome = policy.run(&self.workload, &settings, &mut strips);
        (outcome, strips)
    }

    /// By class, as in the other pictures; where all are of one class, each job has its own.
    fn colour(&self, job: usize) -> usize {
        let jobs = &self.workload.jobs;
        let mixed = jobs.iter().any(|other| other.class != jobs[0].class);
        if mixed { class_colour(jobs[job].class) } else { job }
    }

    /// Draws one panel for each policy, all over the same time.
    #[must_use]
    pub fn draw(&self) -> Canvas {
        let runs: Vec<_> = self.policies.iter().map(|policy| (*policy, self.run(*policy))).collect();
        let end = runs.iter().map(|(_, (outcome, _))| outcome.end).max().unwrap_or(1).max(1);
        let (width, left, right, row) = (760.0, 96.0, 736.0, 18.0);
        let panel = row * self.names.len() as f64 + 40.0;
        let mut canvas = Canvas::new(width, 40.0 + panel * runs.len() as f64 + 24.0, self.title);
        canvas.text("title", (12.0, 22.0), Anchor::Start, self.title);
        let place = |time: Time| left + (right - left) * time as f64 / end as f64;
        for (index, (policy, (outcome, strips))) in runs.iter().enumerate() {
            let top = 40.0 + panel * index as f64;
            let mean = outcome.summary(None).response.mean / MS as f64;
            let said = format!("{}: mean response {mean:.1} ms", policy.name());
            canvas.text("name", (left, top + 14.0), Anchor::Start, &said);
            for (job, name) in self.names.iter().enumerate() {
                let y = top + 22.0 + row * job as f64;
                let result = outcome.jobs[job];
                let until = if result.finish == NEVER { outcome.end } else { result.finish };
                canvas.text("name", (left - 10.0, y + 12.0), Anchor::End, name);
                canvas.line("span", (place(result.arrival), y + 8.0), (place(until), y + 8.0));
                for strip in strips.0.iter().filter(|strip| strip.job as usize == job) {
                    let at = (place(strip.from), y + 2.0);
                    let size = ((place(strip.to) - place(strip.from)).max(0.8), row - 6.0);
                    let tip = format!("{name}: {} to {} ms", millis(strip.from), millis(strip.to));
                    match strip.place {
                        Place::Proc(_) => canvas.bar(self.colour(job), at, size, &tip),
                        Place::WithoutP => {
                            canvas.hollow_bar(self.colour(job), at, size, &format!("{tip}, without a P"))
                        }
                    }
                }
            }
            canvas.line("grid", (left, top + panel - 8.0), (right, top + panel - 8.0));
        }
        let bottom = 40.0 + panel * runs.len() as f64;
        let step = round_step(end as f64 / 6.0) as Time;
        for time in (0..=end).step_by(step.max(1) as usize) {
            canvas.text(
                "tick",
                (place(time), bottom + 10.0),
                Anchor::Middle,
                &format!("{} ms", millis(time)),
            );
        }
        canvas
    }
}

/// The colour of a class, in all pictures.
pub(super) fn class_colour(class: Class) -> usize {
    match class {
        Class::Short => 0,
        Class::Long => 5,
        Class::Io => 1,
    }
}

fn millis(time: Time) -> String {
    let text = format!("{:.1}", time as f64 / MS as f64);
    text.strip_suffix(".0").map_or(text.clone(), ToString::to_string)
}
