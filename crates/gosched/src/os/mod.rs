//! What only some systems have, with the names of `std::os`.

#![deny(unsafe_code)]

pub mod unix;
