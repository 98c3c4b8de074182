//! Tests that look inside the scheduler: the well-known pictures with their numbers (S56), and the protocols'
//! corners that the public API cannot reach.

mod handing;
mod netting;
mod pictures;
mod protocol;
mod taken;
