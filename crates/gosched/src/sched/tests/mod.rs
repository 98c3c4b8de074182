//! Tests that look inside the scheduler: the well-known pictures with their numbers (S56), and the protocols'
//! corners that the public API cannot reach.

mod handing;
mod pictures;
mod poll;
mod protocol;
mod taken;
