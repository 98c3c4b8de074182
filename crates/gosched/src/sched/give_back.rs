//! Giving memory back to the system (S15, S41): what the monitor does every few minutes.

use core::ops::Range;
use core::time::Duration;

use gosched_primitives::Status;

use super::Sched;
use crate::clock::NEVER;
use crate::g::G;

impl Sched {
    /// Gives back the memory of cached stacks, except the top page of each: of those in the pool,
    /// and of those cached by idle Ps. Returns how many bytes.
    pub(crate) fn tidy_caches(&self) -> usize {
        self.gather_stacks();
        self.stacks.trim_all()
    }

    /// Gives the stacks that idle Ps have cached to the pool.
    pub(super) fn gather_stacks(&self) {
        for _ in 0..self.procs() {
            let Some(mut p) = self.take_idle_p() else { break };
            p.own().stacks.drain(&self.stacks);
            self.put_idle_p_last(p);
            // As every M that gives up a P.
            if self.is_work_queued() {
                self.wake_p();
            }
            let first = self.first_timer();
            if first != NEVER {
                self.watch_for(first);
            }
        }
    }

    /// Gives back what lies well below the stack pointers of those of the goroutines `which` whose
    /// wait has lasted for a time in `waited`. Returns how many bytes, and whether these were the
    /// last goroutines.
    pub(crate) fn tidy_parked(&self, which: Range<usize>, waited: &Range<Duration>) -> (usize, bool) {
        let mut seen = 0;
        let looked_at = self.all_g().skip(which.start).take(which.len()).inspect(|_| seen += 1);
        let bytes = looked_at.map(|g| trim_parked(g, waited)).sum();
        (bytes, seen < which.len())
    }
}

fn trim_parked(g: &G, waited: &Range<Duration>) -> usize {
    let Some(scan) = g.scan() else { return 0 };
    if scan.status() != Status::Waiting || !waited.contains(&g.waited()) {
        return 0;
    }
    // SAFETY: it waits, and while we hold the scan bit nobody makes it runnable. So its registers
    // are saved, nobody runs on the stack, and nothing below its stack pointer is in use.
    unsafe {
        match &*g.stack.get() {
            Some(stack) => stack.trim_below((*g.buf.get()).sp()),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SCHED;
    use super::*;
    use crate::testing::succeeds_in_child;
    use crate::{go, runtime, thread};

    const ALL: Range<Duration> = Duration::ZERO..Duration::MAX;

    #[inline(never)]
    fn use_deeply() {
        let large = [1_u8; 150 * 1024];
        std::hint::black_box(&large);
    }

    fn count_parked() -> usize {
        runtime::stop_the_world(|world| world.goroutines().filter(|g| g.wait_reason == "park").count())
    }

    /// S15: the stack of a goroutine that was deep once and waits gives its pages back, and is as
    /// it was above.
    #[test]
    fn parked_stacks_shrink() {
        succeeds_in_child("sched::give_back::tests::parked_stacks_shrink", 2, || {
            let parked: Vec<_> = (0..10)
                .map(|i| {
                    go(move || {
                        let kept = [i; 1000];
                        use_deeply();
                        thread::park();
                        std::hint::black_box(&kept).iter().all(|k| *k == i)
                    })
                })
                .collect();
            while count_parked() < 10 {
                thread::sleep(Duration::from_millis(1));
            }
            let (bytes, last) = SCHED.tidy_parked(0..100_000, &ALL);
            assert!(last && bytes > 10 * 100 * 1024, "{bytes} bytes");
            let (again, _) = SCHED.tidy_parked(0..100_000, &ALL);
            assert!(again < bytes / 10, "{again} bytes the second time");
            let (none, _) = SCHED.tidy_parked(0..100_000, &(Duration::from_secs(60)..Duration::MAX));
            assert_eq!(none, 0, "nobody has waited that long");
            for handle in parked {
                handle.thread().unpark();
                assert!(handle.join().unwrap());
            }
        });
    }

    /// S15, S41: stacks in the caches give back all but their top pages, also those that an idle P
    /// keeps; it loses no work.
    #[test]
    fn cached_stacks_shrink() {
        succeeds_in_child("sched::give_back::tests::cached_stacks_shrink", 2, || {
            for _ in 0..20 {
                let shallow: Vec<_> = (0..200)
                    .map(|_| {
                        go(|| {
                            // Three pages: what a cache keeps.
                            let some = [1_u8; 10_000];
                            std::hint::black_box(&some);
                            thread::park();
                        })
                    })
                    .collect();
                while count_parked() < 200 {
                    thread::sleep(Duration::from_millis(1));
                }
                shallow.iter().for_each(|handle| handle.thread().unpark());
                shallow.into_iter().for_each(|handle| handle.join().unwrap());
                assert!(SCHED.tidy_caches() > 0);
            }
        });
    }
}
