//! Tests that look inside the scheduler: the textbook situations with their numbers of G, M and P
//! (S56), and corner cases of the protocols that the public API cannot reach.

mod handing;
mod pictures;
mod poll;
mod protocol;
mod taken;
