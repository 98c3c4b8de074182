//! The park token of one incarnation of a reusable thing (`park`/`unpark` with std's semantics).
//!
//! The word holds the incarnation's id beside the token, so a late `unpark` for one that is gone
//! finds another id and does nothing: the memory is never freed, and an id is never used again.
//!
//! Invariant: only the owner sets `PARKED`, when it parks, and exactly one CAS clears it, whose
//! winner must wake the owner. So the owner is woken once per `PARKED`.

use crate::sync::{AtomicU64, Ordering};

const EMPTY: u64 = 0;
const NOTIFIED: u64 = 1;
const PARKED: u64 = 2;
const STATE_BITS: u32 = 2;

fn word(id: u64, state: u64) -> u64 {
    id << STATE_BITS | state
}

/// What an `unpark` has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a parked owner has to be woken"]
pub enum Unpark {
    /// The owner is parked: wake it.
    Wake,
    /// The token was left, was there already, or that incarnation is gone.
    Nothing,
}

/// Whether the token was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Token {
    /// It was, and is used up now.
    Consumed,
    /// It was not.
    Absent,
}

/// The token word.
///
/// ```
/// use gosched_primitives::{Token, TokenWord, Unpark};
///
/// let token = TokenWord::new(7);
/// assert_eq!(token.unpark(7), Unpark::Nothing);
/// assert_eq!(token.consume(7), Token::Consumed);
/// assert_eq!(token.unpark(6), Unpark::Nothing); // somebody gone
/// assert_eq!(token.consume(7), Token::Absent);
/// ```
#[derive(Debug)]
pub struct TokenWord(AtomicU64);

impl TokenWord {
    crate::sync::const_fn! {
        /// No token, for incarnation `id` (below 2⁶²).
        pub const fn new(id: u64) -> TokenWord {
            TokenWord(AtomicU64::new(id << STATE_BITS))
        }
    }

    /// Begins incarnation `id` without a token. The last incarnation must have ended.
    #[inline]
    pub fn reset(&self, id: u64) {
        // Relaxed: a late `unpark` compares ids, and orders nothing else.
        self.0.store(word(id, EMPTY), Ordering::Relaxed);
    }

    /// Takes the token if it is there.
    #[inline]
    pub fn consume(&self, id: u64) -> Token {
        // ORDERING: Acquire pairs with the Release in `unpark`: what was done before the `unpark`
        // is seen.
        let took = self.0.compare_exchange(
            word(id, NOTIFIED),
            word(id, EMPTY),
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if took.is_ok() { Token::Consumed } else { Token::Absent }
    }

    /// Announces that the owner parks. `Consumed`: there was a token, so it must not park.
    #[inline]
    pub fn park(&self, id: u64) -> Token {
        // ORDERING: Release pairs with the Acquire of the `unpark` that clears PARKED: it sees the
        // owner's parking status and must wake it.
        match self.0.compare_exchange(word(id, EMPTY), word(id, PARKED), Ordering::Release, Ordering::Relaxed)
        {
            Ok(_) => Token::Absent,
            Err(_) => self.consume(id),
        }
    }

    /// Takes back a `park` whose time ran out. `Absent`: it was taken back, and the caller must
    /// wake the owner, once. `Consumed`: an `unpark` came first and wakes it, or the owner is not
    /// parked.
    #[inline]
    pub fn retract(&self, id: u64) -> Token {
        // ORDERING: Acquire pairs with the Release of `park`: the owner's parking status is seen.
        let took =
            self.0.compare_exchange(word(id, PARKED), word(id, EMPTY), Ordering::Acquire, Ordering::Relaxed);
        if took.is_ok() { Token::Absent } else { Token::Consumed }
    }

    /// Leaves the token; or, if the owner is parked, clears `PARKED`: then the caller must wake it.
    #[inline]
    pub fn unpark(&self, id: u64) -> Unpark {
        let mut found = self.0.load(Ordering::Relaxed);
        loop {
            if found >> STATE_BITS != id {
                return Unpark::Nothing;
            }
            let (next, duty) = match found & 3 {
                PARKED => (word(id, EMPTY), Unpark::Wake),
                _ => (word(id, NOTIFIED), Unpark::Nothing),
            };
            // ORDERING: Release pairs with `consume`; Acquire with `park`. A token that is there
            // already is written again, so that this unpark too is ordered before the park that
            // consumes it.
            match self.0.compare_exchange_weak(found, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return duty,
                Err(now) => found = now,
            }
        }
    }
}
