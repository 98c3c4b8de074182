//! What an [`ErrGroup`](super::ErrGroup) and an [`ErrScope`](super::ErrScope) have in common:
//! places for members, how many run, and what the first one that fails leaves behind.
//!
//! Invariant: a member is counted until its outcome has been noted.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use super::mutex::{Mutex, MutexGuard};
use super::semaphore::Semaphore;
use super::wait_group::WaitGroup;
use crate::context::{self, Context};
use crate::g::Goexit;

pub(super) struct ErrOutcome<E> {
    running: WaitGroup,
    /// `None`: as many as there are.
    places: Option<Semaphore>,
    failure: Mutex<Failure<E>>,
    pub(super) context: Context,
}

/// The first error and the first panic.
struct Failure<E> {
    error: Option<E>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<E> ErrOutcome<E> {
    /// With so many places, or no limit.
    ///
    /// # Panics
    /// If there are no places.
    #[track_caller]
    pub(super) fn new(limit: Option<usize>) -> ErrOutcome<E> {
        assert!(
            limit != Some(0),
            "an ErrGroup with a limit of 0 would never run anything: give it 1 or more"
        );
        ErrOutcome {
            running: WaitGroup::new(),
            places: limit.map(Semaphore::new),
            failure: Mutex::new(Failure { error: None, panic: None }),
            context: context::current().with_cancel(),
        }
    }

    /// Counts one more member; if there is a limit, waits for a place first. Whoever gets it
    /// [leaves](ErrOutcome::leave).
    pub(super) fn enter(&self) {
        if let Some(places) = &self.places {
            core::mem::forget(places.acquire());
        }
        self.running.add(1);
    }

    /// As [`enter`](ErrOutcome::enter), if there is a place now. Returns whether.
    pub(super) fn try_enter(&self) -> bool {
        let has_place = match &self.places {
            Some(places) => places.try_acquire().map(core::mem::forget).is_some(),
            None => true,
        };
        if has_place {
            self.running.add(1);
        }
        has_place
    }

    /// Runs a member, and notes how it has ended.
    pub(super) fn run(&self, f: impl FnOnce() -> Result<(), E>) {
        self.note(catch_unwind(AssertUnwindSafe(f)));
    }

    /// Gives a member's place back, and takes it off the counter.
    pub(super) fn leave(&self) {
        if let Some(places) = &self.places {
            places.release();
        }
        self.running.done();
    }

    /// Waits for all members; returns what [`take`](ErrOutcome::take) does.
    pub(super) fn wait(&self) -> Result<(), E> {
        self.running.wait();
        self.take()
    }

    pub(super) fn running(&self) -> &WaitGroup {
        &self.running
    }

    fn failure(&self) -> MutexGuard<'_, Failure<E>> {
        // Nothing of the user's runs under this lock.
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All but the first error and the first panic are dropped, outside the lock.
    fn note(&self, ended: std::thread::Result<Result<(), E>>) {
        let late = match ended {
            Ok(Ok(())) => return,
            Err(payload) if payload.is::<Goexit>() => return,
            Ok(Err(error)) => {
                let mut failure = self.failure();
                match failure.error {
                    None => {
                        failure.error = Some(error);
                        None
                    }
                    Some(_) => Some(Ok(error)),
                }
            }
            Err(payload) => {
                let mut failure = self.failure();
                match failure.panic {
                    None => {
                        failure.panic = Some(payload);
                        None
                    }
                    Some(_) => Some(Err(payload)),
                }
            }
        };
        self.context.cancel();
        drop(late);
    }

    /// The first error, which is not returned again. Resumes the first panic.
    pub(super) fn take(&self) -> Result<(), E> {
        let (panic, error) = {
            let mut failure = self.failure();
            (failure.panic.take(), failure.error.take())
        };
        if let Some(payload) = panic {
            drop(error);
            resume_unwind(payload);
        }
        error.map_or(Ok(()), Err)
    }
}
