//! The end of the process, said plainly.
//!
//! What is printed here must come out whatever state the process is in: inside a signal handler, with a lock of
//! std's held by a parked goroutine, on a goroutine stack that just ran over. So nothing here allocates, locks or
//! unwinds: text goes into a buffer on the stack and out through `write(2)`.

use core::fmt::{self, Write};

/// Exit status of every fatal error, as in Go.
pub(crate) const EXIT_STATUS: i32 = 2;

/// Writes `text` to standard error without std's lock. A failing write is ignored: nobody is left to tell.
pub(crate) fn write_stderr(mut text: &[u8]) {
    while !text.is_empty() {
        // SAFETY: the pointer and length describe `text`.
        let n = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => text = &text[n.min(text.len())..],
            _ => return,
        }
    }
}

/// A line buffer on the stack; what does not fit is cut off. Small, because it may lie on a goroutine's stack.
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

/// Formats to standard error in one write.
pub(crate) fn say(args: fmt::Arguments<'_>) {
    let mut message = Message::new();
    let _ = message.write_fmt(args);
    write_stderr(message.as_bytes());
}

/// Prints `fatal error: ...` and ends the process with status 2, running no destructors and no exit handlers.
pub(crate) fn die(args: fmt::Arguments<'_>) -> ! {
    say(format_args!("fatal error: {args}\n"));
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(EXIT_STATUS) }
}

/// `fatal!("...", ...)`: the format form of [`die`].
macro_rules! fatal {
    ($($arg:tt)*) => { $crate::fatal::die(format_args!($($arg)*)) };
}
pub(crate) use fatal;
