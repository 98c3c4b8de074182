//! A source as a case of a selection: a receiver that is told, once, when the source may be ready.
//!
//! The receiver is that of a signal channel (`chan/timer.rs`), which gets its one value by being
//! made due. No goroutine waits: the [`Feed`] waits as an async task does, and the goroutine that
//! calls such wakers feeds the channel.
//!
//! ```text
//!   receivers ──▶ TimerChan ──▶ SourceWatch ──▶ Waker ──▶ Feed ┈┈▶ TimerChan
//!                                                poller ──▶ Waker (a count of the same)
//! ```
//!
//! The dotted reference is weak. So when the last receiver goes, the channel goes, and with it the
//! watch, which takes the feed out of the poller.
//!
//! The argument why nothing is missed is that of every wait (`source/mod.rs`): the edges first,
//! then a look whether the source is ready, and only then the wait for another edge.

use core::task::Waker;
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Wake;
use std::time::Instant;

use gosched_primitives::Direction;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::tasks::{Promised, forget_task};
use super::{SeenEdges, Source};
use crate::chan::Receiver;
use crate::chan::timer::TimerChan;

/// Feeds the channel.
struct Feed(OnceLock<Weak<TimerChan>>);

impl Wake for Feed {
    fn wake(self: Arc<Self>) {
        if let Some(chan) = self.0.get().and_then(Weak::upgrade) {
            tell(&chan);
        }
    }
}

/// A wait for a source, for as long as somebody can receive from its channel.
struct SourceWatch {
    waker: Waker,
    /// Where the feed waits, once it does.
    place: OnceLock<(u64, Direction)>,
}

impl Drop for SourceWatch {
    fn drop(&mut self) {
        if let Some((registration, direction)) = self.place.get() {
            forget_task(*registration, *direction, &self.waker);
        }
    }
}

/// Gives the channel its value.
fn tell(chan: &TimerChan) {
    chan.set(Some(Instant::now()), None);
}

impl<S: AsFd> Source<S> {
    /// A receiver that gets one value when the source is ready, or is closed; at once, if it is
    /// ready or can't be waited for.
    pub(crate) fn watch(&self, direction: Direction) -> Receiver<()> {
        let feed = Arc::new(Feed(OnceLock::new()));
        let watch = Arc::new(SourceWatch { waker: Waker::from(Arc::clone(&feed)), place: OnceLock::new() });
        let chan = TimerChan::signal(Some(Arc::clone(&watch) as _));
        feed.0.get_or_init(|| Arc::downgrade(&chan));
        loop {
            let seen = self.seen(direction);
            if is_ready(self.get(), direction) {
                tell(&chan);
                break;
            }
            match (self.wait_async(direction, seen, &watch.waker), seen) {
                (Ok(Promised::Wake), SeenEdges(Some((registration, _)))) => {
                    watch.place.get_or_init(|| (registration, direction));
                    break;
                }
                (Ok(_), _) => {}
                // Whoever then uses the source gets the error.
                (Err(_), _) => {
                    tell(&chan);
                    break;
                }
            }
        }
        Receiver::of_signal(chan)
    }
}

/// Whether a call would not block now. An error of the source counts: the call returns it.
fn is_ready(source: &impl AsFd, direction: Direction) -> bool {
    let wanted = match direction {
        Direction::Read => PollFlags::IN | PollFlags::RDHUP,
        Direction::Write => PollFlags::OUT,
    };
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(source, wanted)], Some(&at_once)) != Ok(0)
}
