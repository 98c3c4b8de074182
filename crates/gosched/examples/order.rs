//! The well-known program: one P, ten goroutines created in a loop, each prints its number, the
//! creator waits.
//!
//! It prints 9, then 0 to 8, as it does in Go. A new goroutine goes into the P's `runnext` slot and
//! moves the one that was there to the tail of the ring; so when the creator waits, the last one
//! created runs first.
//!
//! ```sh
//! cargo run --release --example order
//! ```

use gosched::go;
use gosched::runtime::{Config, ConfigError};

fn main() -> Result<(), ConfigError> {
    Config::new().maxprocs(1).install()?;
    gosched::run(|| {
        let handles: Vec<_> = (0..10).map(|i| go(move || println!("{i}"))).collect();
        for handle in handles {
            handle.join().expect("printing does not panic");
        }
    });
    Ok(())
}
