//! What operations on a channel return, and the options that they take.

use core::ptr::NonNull;

use crate::buffer::NoRoom;
use crate::sudog::Sudog;

/// What became of a value that was to be sent.
#[derive(Debug)]
#[must_use]
pub enum Sent<W> {
    /// It was handed to a receiver, which has to be woken.
    Handed(W),
    /// It is in the buffer.
    Buffered,
    /// There is no place for it; it was not moved. The sender may wait.
    Full,
    /// The channel is closed; it was not moved.
    Closed,
    /// There is no memory for it; it was not moved. See [`supply`](crate::ChanState::supply).
    NoRoom(NoRoom),
}

/// What became of an attempt to receive.
#[derive(Debug)]
#[must_use]
pub enum Received<W> {
    /// There is a value in the slot. If this ended the wait of a sender, that has to be woken.
    Taken(Option<W>),
    /// There is nothing; the receiver may wait.
    Empty,
    /// There is nothing, and the channel is closed.
    Closed,
    /// There is nothing but a sender without a value, and [`Offers::Decline`] was given.
    Offer,
    /// A sender without a value was claimed. The receiver [binds](crate::ChanState::bind) itself to
    /// it, wakes it, and waits.
    Offered(NonNull<Sudog<W>>, W),
}

/// Whether a receiver will wait for the value of a sender that has none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offers {
    /// It will.
    Accept,
    /// It will not.
    Decline,
}

/// What a sender without a value has got.
#[derive(Debug)]
#[must_use]
pub enum Reserved<W> {
    /// A place in the buffer: see [`fill`](crate::ChanState::fill).
    Place,
    /// A receiver that waits for the value, and its waiter, if that is not kept in the receiver's
    /// ticket: see [`deliver`](crate::ChanState::deliver).
    Peer(NonNull<Sudog<W>>, Option<W>),
    /// Nothing; the sender may wait.
    Full,
    /// The channel is closed.
    Closed,
}

/// What became of a value for a reserved place.
#[derive(Debug)]
#[must_use]
pub enum Filled<W> {
    /// It was moved. These have to be woken: the receiver that got it, and a sender that got the
    /// place.
    Done(Option<W>, Option<W>),
    /// It is in the buffer.
    Buffered,
    /// The channel was closed meanwhile; the value was not moved, and the place is gone.
    Closed,
    /// There is no memory for it; it was not moved, and the place is still reserved.
    NoRoom(NoRoom),
}

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those who want to send.
    Send,
    /// Those who want to receive.
    Recv,
    /// Those who want to know when a send would not wait.
    WatchSend,
    /// Those who want to know when a receive would not wait.
    WatchRecv,
}
