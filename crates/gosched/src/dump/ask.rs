//! The stack of a goroutine that computes: its thread is asked for it by a signal.
//!
//! SIGURG, as in Go: its default action is to be ignored, so a signal that comes late, or after the
//! program has replaced our handler, does no harm; few programs use it; debuggers let it pass. (A
//! real-time signal would end the process in those cases.) The handler copies registers and stack
//! into a buffer that was mapped before, and sets a word. It runs on the M's alternate stack,
//! allocates nothing, locks nothing, and touches no thread-local but `errno`, which it restores.
//!
//! One question at a time, asked by the owner of the [`Asker`]. `STATE` says whose turn it is:
//!
//! ```text
//!          ask             handler            handler
//!   IDLE ──────▶ number ───────────▶ BUSY ───────────▶ DONE
//!     ▲            │  ▲                                  │
//!     └────────────┘  └──────────────────────────────────┘
//!    no answer in time                 ask
//! ```
//!
//! The number is different for each question and names the thread, so a signal that comes late is
//! ignored. While `STATE` is BUSY, question and buffer belong to the handler; else to the asker.

#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gosched_switch::arch::{self, Registers};

use super::MAX_COPIED;
use super::copy::StackCopy;
use crate::g::G;
use crate::m::M;
use crate::sys::handler::{self, Installed};
use crate::sys::{errno, mem, thread};

const SIGNAL: c_int = libc::SIGURG;
/// How long to wait for an answer; a thread that the kernel does not run can't give one.
const PATIENCE: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_micros(20);

const IDLE: u64 = 0;
const BUSY: u64 = 1;
const DONE: u64 = 2;

static STATE: AtomicU64 = AtomicU64::new(IDLE);
/// The question: is this goroutine on this M, with its stack pointer between these two?
static ON: AtomicPtr<M> = AtomicPtr::new(null_mut());
static WHO: AtomicPtr<G> = AtomicPtr::new(null_mut());
static ID: AtomicU64 = AtomicU64::new(0);
static LOW: AtomicUsize = AtomicUsize::new(0);
static HIGH: AtomicUsize = AtomicUsize::new(0);
/// The answer: registers (`LR` is 0 where there is none), how much was copied (0: the goroutine is
/// not there), and the copy.
static PC: AtomicUsize = AtomicUsize::new(0);
static SP: AtomicUsize = AtomicUsize::new(0);
static BP: AtomicUsize = AtomicUsize::new(0);
static LR: AtomicUsize = AtomicUsize::new(0);
static COPIED: AtomicUsize = AtomicUsize::new(0);
static BUFFER: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Answer {
    /// The stack is in the copy.
    Copied,
    /// The thread runs something else by now.
    Elsewhere,
    /// There was no answer.
    None,
}

/// Whether threads can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Untried,
    Open,
    Closed,
}

/// The right to ask. There is one; the reporter has it.
pub(super) struct Asker {
    way: Way,
    asked: u32,
}

impl Asker {
    /// # Safety
    /// It is the only one.
    pub(super) unsafe fn new() -> Asker {
        Asker { way: Way::Untried, asked: 0 }
    }

    /// Asks the thread of `m` for the stack of `g`, which lies in `stack`, if that is still
    /// goroutine `id`.
    pub(super) fn ask(
        &mut self,
        m: &'static M,
        g: &'static G,
        id: u64,
        stack: Range<usize>,
        copy: &mut StackCopy,
    ) -> Answer {
        if !self.may_ask() {
            return Answer::None;
        }
        ON.store(core::ptr::from_ref(m).cast_mut(), Ordering::Relaxed);
        WHO.store(core::ptr::from_ref(g).cast_mut(), Ordering::Relaxed);
        ID.store(id, Ordering::Relaxed);
        LOW.store(stack.start, Ordering::Relaxed);
        HIGH.store(stack.end, Ordering::Relaxed);
        self.asked = self.asked.wrapping_add(1).max(1);
        let number = u64::from(self.asked) << 32 | u64::from(m.tid().cast_unsigned());
        // ORDERING: Release pairs with the Acquire in `on_signal`: a handler that sees the number
        // sees the question.
        STATE.store(number, Ordering::Release);
        handler::send(m.tid(), SIGNAL);
        match self.wait_for(number) {
            false => Answer::None,
            true if COPIED.load(Ordering::Relaxed) == 0 => Answer::Elsewhere,
            true => {
                let registers = Registers {
                    pc: PC.load(Ordering::Relaxed),
                    sp: SP.load(Ordering::Relaxed),
                    bp: Some(BP.load(Ordering::Relaxed)),
                    lr: Some(LR.load(Ordering::Relaxed)).filter(|lr| *lr != 0),
                };
                let (bytes, length) = (BUFFER.load(Ordering::Relaxed), COPIED.load(Ordering::Relaxed));
                // SAFETY: the buffer is ours again, and `on_signal` has written that much of it.
                copy.set(registers, unsafe { core::slice::from_raw_parts(bytes, length) }, stack.end);
                Answer::Copied
            }
        }
    }

    /// Whether a signal would reach our handler, and the buffer is free. Installs the handler at
    /// the first call.
    fn may_ask(&mut self) -> bool {
        if self.way == Way::Untried {
            self.way = Way::Closed;
            if let Some(buffer) = mem::map_forever(MAX_COPIED) {
                BUFFER.store(buffer.as_ptr(), Ordering::Relaxed);
                if handler::install_over_default(SIGNAL, on_signal) == Installed::Yes {
                    self.way = Way::Open;
                }
            }
        }
        self.way == Way::Open
            // ORDERING: Acquire pairs with the Release in `on_signal`: a handler that answered too
            // late no longer writes to the buffer.
            && STATE.load(Ordering::Acquire) != BUSY
            && handler::is_installed(SIGNAL, on_signal) == Installed::Yes
    }

    /// Whether the question was answered in time.
    fn wait_for(&mut self, number: u64) -> bool {
        let asked = Instant::now();
        loop {
            // ORDERING: Acquire pairs with the Release in `on_signal`: the answer is seen.
            if STATE.load(Ordering::Acquire) == DONE {
                return true;
            }
            let waited = asked.elapsed();
            let taken_back = waited > PATIENCE
                && STATE.compare_exchange(number, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            // A handler that has begun will end. If that takes too long, the next question finds it
            // BUSY.
            if taken_back || waited > 2 * PATIENCE {
                return false;
            }
            std::thread::sleep(POLL);
        }
    }
}

extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let errno = errno::get();
    let number = STATE.load(Ordering::Relaxed);
    let mine = number > DONE && number as u32 == thread::tid().cast_unsigned();
    // ORDERING: Acquire pairs with the Release in `ask`: the question is seen.
    if mine && STATE.compare_exchange(number, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        // SAFETY: the kernel passed the context.
        let registers = unsafe { arch::interrupted(context) };
        PC.store(registers.pc, Ordering::Relaxed);
        SP.store(registers.sp, Ordering::Relaxed);
        BP.store(registers.bp.unwrap_or(0), Ordering::Relaxed);
        LR.store(registers.lr.unwrap_or(0), Ordering::Relaxed);
        COPIED.store(copy_from(registers.sp), Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire in `wait_for`.
        STATE.store(DONE, Ordering::Release);
    }
    errno::set(errno);
}

/// Copies the interrupted goroutine's stack, if it is the one in question; returns how much.
fn copy_from(sp: usize) -> usize {
    // SAFETY: Ms are never freed, headers are never unmapped; both pointers are valid while a
    // question is asked.
    let (m, g) = unsafe { (&*ON.load(Ordering::Relaxed), &*WHO.load(Ordering::Relaxed)) };
    let is_it =
        m.cur_g().is_some_and(|current| core::ptr::eq(current, g)) && g.id() == ID.load(Ordering::Relaxed);
    let high = HIGH.load(Ordering::Relaxed);
    if !is_it || !(LOW.load(Ordering::Relaxed)..high).contains(&sp) {
        return 0;
    }
    let length = (high - sp).min(MAX_COPIED);
    // SAFETY: the buffer has room for `MAX_COPIED` bytes and is the handler's while BUSY. The stack
    // pointer lies in a stack, which is mapped for ever up to its end.
    unsafe { arch::copy_racing(sp, core::slice::from_raw_parts_mut(BUFFER.load(Ordering::Relaxed), length)) };
    length
}
