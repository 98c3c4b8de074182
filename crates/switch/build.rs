//! Tells the sources which sanitizer the build is for: `cfg(gosched_asan)`, `cfg(gosched_tsan)`, or
//! neither.
//!
//! The compiler's own `cfg(sanitize)` is unstable, so sources that a stable compiler reads can't
//! ask for it. Cargo passes it to build scripts where the compiler has it; else the flags of the
//! build tell.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(gosched_asan, gosched_tsan)");
    let named = env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_for = |sanitizer: &str| {
        let after_flag = |flag: &str| flag.strip_prefix("sanitizer=").map(str::to_owned);
        let mut asked =
            flags.split('\x1f').filter_map(|f| after_flag(f.strip_prefix("-Z").unwrap_or(f).trim_start()));
        let is_it = |list: &str| list.split(',').any(|one| one == sanitizer);
        is_it(&named) || asked.any(|list| is_it(&list))
    };
    if is_for("address") {
        println!("cargo::rustc-cfg=gosched_asan");
    }
    if is_for("thread") {
        println!("cargo::rustc-cfg=gosched_tsan");
    }
}
