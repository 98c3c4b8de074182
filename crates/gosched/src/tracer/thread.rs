//! The tracer's thread.

use core::ffi::c_void;
use core::time::Duration;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::generation::OpenGeneration;
use super::session::SharedSession;
use super::sink::TraceSink;
use super::unwind;
use crate::fatal::warn;
use crate::recorder::{self, FullBuffer};
use crate::sys::thread;

/// Room to look up symbols, which needs deep stacks.
const STACK_BYTES: usize = 2 << 20;
/// How often full buffers are taken.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a generation lasts.
const GENERATION: Duration = Duration::from_secs(1);
/// A generation of this size is ended early.
const LARGE: usize = 16 << 20;

/// What the thread is given.
struct Given {
    shared: Arc<SharedSession>,
    sink: TraceSink,
}

/// Makes the thread.
pub(super) fn spawn(shared: Arc<SharedSession>, sink: TraceSink) -> io::Result<()> {
    let given = Box::into_raw(Box::new(Given { shared, sink }));
    let spawned = thread::spawn(STACK_BYTES, main, given.cast());
    if spawned.is_err() {
        unwind::unpin_modules();
        // SAFETY: made above, and no thread has it.
        drop(unsafe { Box::from_raw(given) });
    }
    spawned
}

extern "C" fn main(given: *mut c_void) -> *mut c_void {
    thread::set_name(c"gosched-tracer");
    {
        // SAFETY: `spawn` passed it, to this thread alone.
        let Given { shared, sink } = *unsafe { Box::from_raw(given.cast::<Given>()) };
        if shared.await_start() {
            let mut tracer = Tracer::new(sink);
            let ended = catch_unwind(AssertUnwindSafe(|| tracer.run(&shared)));
            let ended = ended.unwrap_or_else(|_| Err(io::Error::other("the writer of the trace panicked")));
            if recorder::is_on() {
                tracer.discard(recorder::switch_off());
            }
            // The writer is the user's: what its destructor does comes before the end is told.
            let ended = match catch_unwind(AssertUnwindSafe(|| drop(tracer))) {
                Ok(()) => ended,
                Err(_) => Err(io::Error::other("the writer of the trace panicked")),
            };
            unwind::unpin_modules();
            shared.end(ended);
        } else {
            unwind::unpin_modules();
            shared.end(Ok(()));
        }
    }
    thread::count_end();
    core::ptr::null_mut()
}

struct Tracer {
    sink: TraceSink,
    generation: OpenGeneration,
    /// Batches of the generation after this one, that came before it was complete.
    early: Vec<FullBuffer>,
    begun: Instant,
    /// Whether a flight recorder's file was written.
    has_written: bool,
}

impl Tracer {
    fn new(sink: TraceSink) -> Tracer {
        let number = recorder::current_generation();
        let generation = OpenGeneration::new(number);
        Tracer { sink, generation, early: Vec::new(), begun: Instant::now(), has_written: false }
    }

    fn run(&mut self, shared: &SharedSession) -> io::Result<()> {
        self.sink.begin()?;
        loop {
            let wishes = shared.pause(PAUSE);
            self.take_full();
            if wishes.stop {
                self.complete(recorder::switch_off())?;
                self.write_file_at_end(wishes.at_last_moment)?;
                return self.sink.end();
            }
            let alarm = recorder::take_alarm();
            let is_wanted = alarm || !wishes.snapshots.is_empty();
            let is_due = self.begun.elapsed() >= GENERATION || self.generation.len() >= LARGE;
            let is_lost = recorder::is_lost(self.generation.number());
            if is_wanted || is_due || is_lost {
                self.advance()?;
            }
            if let TraceSink::LastGenerations(ring) = &self.sink {
                if alarm && ring.has_file() {
                    self.has_written = true;
                    if let Err(error) = ring.write_file() {
                        warn(format_args!("gosched: the flight recorder's file: {error}; going on\n"));
                    }
                }
                for snapshot in wishes.snapshots {
                    // Whoever wanted it may have gone.
                    let _ = snapshot.send(ring.trace());
                }
            }
        }
    }

    /// Takes what is full: batches of this generation, and perhaps some of the next.
    fn take_full(&mut self) {
        while let Some(full) = recorder::first_full() {
            match full.generation == self.generation.number() {
                true => self.generation.add(full),
                false => self.early.push(full),
            }
        }
    }

    /// Begins the next generation, unless the world is stopped, and completes this one.
    fn advance(&mut self) -> io::Result<()> {
        match recorder::advance() {
            Some(over) => self.complete(over),
            None => Ok(()),
        }
    }

    /// Completes the generation, which is over, hands it over, and begins the next one.
    fn complete(&mut self, over: u64) -> io::Result<()> {
        debug_assert_eq!(over, self.generation.number());
        self.generation.visit_all();
        self.take_full();
        let handed_over = match recorder::is_lost(over) {
            true => self.sink.forget(),
            false => {
                unwind::pin_new_modules();
                self.generation.finish();
                self.sink.add(self.generation.bytes())
            }
        };
        self.generation.renew(over + 1);
        for full in core::mem::take(&mut self.early) {
            self.generation.add(full);
        }
        self.begun = Instant::now();
        handed_over
    }

    /// At the end a flight recorder's file is written; if something has gone wrong before, only at
    /// a fatal error: else it shows that.
    fn write_file_at_end(&self, fatal: bool) -> io::Result<()> {
        match &self.sink {
            TraceSink::LastGenerations(ring) if fatal || !self.has_written => ring.write_file(),
            _ => Ok(()),
        }
    }

    /// Gives all buffers back. Recording has ended with the generation `over`.
    fn discard(&mut self, over: u64) {
        self.generation.renew(over);
        self.generation.visit_all();
        self.take_full();
        for full in core::mem::take(&mut self.early) {
            recorder::give_back(full.buffer);
        }
    }
}
