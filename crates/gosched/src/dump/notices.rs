//! Warnings of the threads that must not wait for a reader of standard error: the monitor, and the
//! one that makes all Ms. The reporter writes them. Putting one allocates nothing; what does not
//! fit is lost.

use core::fmt::{Arguments, Write};

use gosched_primitives::Lock;

use crate::fatal::Message;

/// How many may wait to be written. There are fewer kinds, and each is put once.
const SLOTS: usize = 4;

/// First come, first served.
pub(super) struct Notices(Lock<[Option<Message>; SLOTS]>);

impl Notices {
    pub(super) const fn new() -> Notices {
        Notices(Lock::new([const { None }; SLOTS]))
    }

    pub(super) fn put(&self, text: Arguments<'_>) {
        let mut message = Message::new();
        // Writing to a message can't fail.
        let _ = message.write_fmt(text);
        if let Some(free) = self.0.lock().iter_mut().find(|slot| slot.is_none()) {
            *free = Some(message);
        }
    }

    pub(super) fn take(&self) -> Option<Message> {
        let mut slots = self.0.lock();
        let first = slots[0].take();
        slots.rotate_left(1);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_come_out_in_order_and_those_that_do_not_fit_are_lost() {
        let notices = Notices::new();
        (0..SLOTS + 1).for_each(|i| notices.put(format_args!("{i}")));
        for i in 0..SLOTS {
            assert_eq!(notices.take().unwrap().as_bytes(), i.to_string().as_bytes());
        }
        assert!(notices.take().is_none());
        notices.put(format_args!("again"));
        assert_eq!(notices.take().unwrap().as_bytes(), b"again");
    }
}
