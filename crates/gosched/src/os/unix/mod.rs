//! What Unix systems have, with the names of `std::os::unix`.

pub mod net;
