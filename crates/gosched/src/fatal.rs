//! Fatal errors, which end the process, and warnings: all that the library itself writes to
//! standard error.
//!
//! This must work in any state of the process: inside a signal handler, while a parked goroutine
//! holds a lock of std's, after a goroutine's stack has overflowed. So nothing here allocates,
//! locks or unwinds: text goes into a buffer on the stack and out through `write(2)`.
//!
//! Perhaps nobody reads standard error. The last message of a process waits for its reader, as in
//! Go: there may be a pager. So do the line before a panic message, as std's hook does for the
//! message itself, and the line about a `run` that ends by goexit. A warning waits for a limited
//! time ([`offer_stderr`], [`warn`]). The monitor and the thread that makes Ms don't wait at all:
//! the reporter writes their warnings (`dump::warn`).

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

use crate::sys::{process, stderr};

/// Exit status of every fatal error, as in Go.
pub(crate) const EXIT_STATUS: i32 = 2;

/// Writes `text` to standard error without std's lock. A failed write is ignored: it can't be
/// reported anywhere.
pub(crate) fn write_stderr(mut text: &[u8]) {
    while !text.is_empty() {
        match stderr::write(text) {
            Some(n) if n > 0 => text = &text[n..],
            _ => return,
        }
    }
}

/// How long a text after which the process continues waits for a reader.
const PATIENCE_MS: i32 = 1000;

/// As [`write_stderr`], but drops what nobody reads within a second. It then drops later texts at
/// once, until standard error is read again.
pub(crate) fn offer_stderr(text: &[u8]) {
    static UNREAD: AtomicBool = AtomicBool::new(false);
    for piece in text.chunks(stderr::PIECE) {
        let patience = if UNREAD.load(Ordering::Relaxed) { 0 } else { PATIENCE_MS };
        let ready = stderr::is_ready(patience);
        UNREAD.store(!ready, Ordering::Relaxed);
        if !ready {
            return;
        }
        write_stderr(piece);
    }
}

/// A text buffer on the stack; what does not fit is cut off. Small, because it may be on a
/// goroutine's stack.
pub(crate) struct Message {
    len: usize,
    bytes: [u8; 512],
}

impl Message {
    pub(crate) const fn new() -> Message {
        Message { len: 0, bytes: [0; 512] }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Message {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let room = self.bytes.len() - self.len;
        let n = s.len().min(room);
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Formats into one [`Message`], and writes it to standard error.
pub(crate) fn say(args: fmt::Arguments<'_>) {
    let mut message = Message::new();
    let _ = message.write_fmt(args);
    write_stderr(message.as_bytes());
}

/// As [`say`], but by [`offer_stderr`].
pub(crate) fn warn(args: fmt::Arguments<'_>) {
    let mut message = Message::new();
    let _ = message.write_fmt(args);
    offer_stderr(message.as_bytes());
}

/// Prints `fatal error: ...` and ends the process with status 2, running no destructors and no exit
/// handlers.
pub(crate) fn die(args: fmt::Arguments<'_>) -> ! {
    say(format_args!("fatal error: {args}\n"));
    end()
}

/// What is still done before the process ends after a fatal error: in any state of the process, and
/// for a limited time.
static BEFORE_END: OnceLock<fn()> = OnceLock::new();

/// Sets what is done before the process ends after a fatal error.
pub(crate) fn before_end(f: fn()) {
    BEFORE_END.get_or_init(|| f);
}

/// Ends the process after a fatal error was printed.
pub(crate) fn end() -> ! {
    if let Some(f) = BEFORE_END.get() {
        f();
    }
    process::exit_at_once(EXIT_STATUS)
}

/// `fatal!("...", ...)`: the format form of [`die`].
macro_rules! fatal {
    ($($arg:tt)*) => { $crate::fatal::die(format_args!($($arg)*)) };
}
pub(crate) use fatal;
