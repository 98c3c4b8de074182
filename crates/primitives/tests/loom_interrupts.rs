//! Model of a wait under a context: its end against another party that ends the wait, and against
//! the waiter that comes and goes. The wait ends once, by whoever won; and nobody ends a later wait
//! of the same ticket that was never listed, which is how a touch after the waiter's frame is gone
//! would show.
//!
//! Seen to fail (2026-11-16):
//! - `unregister` that does nothing: the process crashes (the ender walks into a frame that is
//!   gone);
//! - `end` that claims after it has released the lock: `a_later_wait_is_not_interrupted` (the
//!   second wait ends by the context);
//! - `end` that does not set `over`, or `register` that does not check it:
//!   `the_end_is_never_missed` hangs;
//! - `unregister` that does not lock (2026-11-18): loom reports concurrent writes to the links.

#![cfg(loom)]

mod support;

use gosched_primitives::{Claim, Interrupt, Interrupts, Note, Outcome, Registration};
use loom::sync::Arc;
use loom::thread;
use support::check;

type Waiter = Arc<Note>;

const INTERRUPTED: Outcome = Outcome::MIN;

fn served() -> Outcome {
    Outcome::new(7).unwrap()
}

fn served_again() -> Outcome {
    Outcome::new(8).unwrap()
}

struct Frame {
    claim: Claim<Waiter>,
    note: Waiter,
}

impl Frame {
    fn new() -> Frame {
        Frame { claim: Claim::new(), note: Arc::new(Note::new()) }
    }

    /// A wait under a context, as the scheduler does it.
    fn wait(&self, context: &Interrupts<Waiter>, publish: impl FnOnce()) -> Outcome {
        let place = Interrupt::new(&self.claim);
        self.claim.put(self.note.clone());
        publish();
        // SAFETY: the place stays in this frame until it was unregistered, or the end has claimed
        // and woken.
        let parks = match unsafe { context.register(&place) } {
            Registration::Listed => true,
            Registration::Over => self.claim.claim(INTERRUPTED).is_none(),
        };
        if parks {
            self.note.sleep();
            self.note.clear();
        }
        let outcome = self.claim.outcome().unwrap();
        if outcome != INTERRUPTED {
            context.unregister(&place);
        }
        outcome
    }
}

struct Model {
    context: Interrupts<Waiter>,
    frames: Vec<Frame>,
}

impl Model {
    fn new(waiters: usize) -> Arc<Model> {
        Arc::new(Model { context: Interrupts::new(), frames: (0..waiters).map(|_| Frame::new()).collect() })
    }

    fn end(&self) {
        self.context.end(INTERRUPTED, |note| note.wake());
    }

    fn serve(&self, with: Outcome) -> bool {
        let waiter = self.frames[0].claim.claim(with);
        waiter.inspect(|note| note.wake()).is_some()
    }
}

/// In whatever order registering and the end come, the wait ends.
#[test]
fn the_end_is_never_missed() {
    check(3, || {
        let model = Model::new(2);
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let model = model.clone();
                thread::spawn(move || match i {
                    0 => model.end(),
                    _ => assert_eq!(model.frames[1].wait(&model.context, || ()), INTERRUPTED),
                })
            })
            .collect();
        assert_eq!(model.frames[0].wait(&model.context, || ()), INTERRUPTED);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// The end and another party: one of them wins. The ticket is then used for a wait that is not
/// under the context: only its own party ends that.
#[test]
fn a_later_wait_is_not_interrupted() {
    check(3, || {
        let model = Model::new(1);
        let ender = {
            let model = model.clone();
            thread::spawn(move || model.end())
        };
        let frame = &model.frames[0];
        let mut server = None;
        let first = frame.wait(&model.context, || {
            let model = model.clone();
            server = Some(thread::spawn(move || model.serve(served())));
        });
        let has_served = server.unwrap().join().unwrap();
        assert_eq!(first, if has_served { served() } else { INTERRUPTED });
        frame.claim.put(frame.note.clone());
        let server = {
            let model = model.clone();
            thread::spawn(move || model.serve(served_again()))
        };
        frame.note.sleep();
        frame.note.clear();
        assert_eq!(frame.claim.outcome(), Some(served_again()));
        assert!(server.join().unwrap());
        ender.join().unwrap();
    });
}
