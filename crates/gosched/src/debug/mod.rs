//! `GOSCHED_DEBUG=key=value,...`, read once. An unknown key or a bad value is reported on standard
//! error and ignored.

mod policy;

use core::time::Duration;
use std::env;
use std::sync::OnceLock;

use crate::fatal::warn;
pub(crate) use policy::{PoliciesOff, Policy};

const VARIABLE: &str = "GOSCHED_DEBUG";
const KNOWN: &str = "randomize, seed, deadlock, migrate, stall, schedtrace, scheddetail, policy, policy.NAME";

/// The switches, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Debug {
    /// `randomize=0`: an overflowing ring keeps its order (S21).
    pub(crate) randomize: bool,
    /// `seed=n`: the random generators start from here.
    pub(crate) seed: Option<u64>,
    /// `deadlock=0`: deadlocks are not looked for (S48).
    pub(crate) deadlock: bool,
    /// `migrate=1`: every moving call moves the goroutine to another thread (D1).
    pub(crate) migrate: bool,
    /// `stall=ms`: a goroutine that holds its thread for longer is reported.
    pub(crate) stall: Option<Duration>,
    /// `schedtrace=ms`: the scheduler in a line, so often (S50).
    pub(crate) schedtrace: Option<Duration>,
    /// `scheddetail=1`: with lines for each P, M and G.
    pub(crate) scheddetail: bool,
    /// `policy=0`, `policy.NAME=0`: all policies, or one, are off.
    pub(crate) off: PoliciesOff,
}

impl Default for Debug {
    fn default() -> Debug {
        Debug {
            randomize: true,
            seed: None,
            deadlock: true,
            migrate: false,
            stall: None,
            schedtrace: None,
            scheddetail: false,
            off: PoliciesOff::default(),
        }
    }
}

/// The switches of this process.
pub(crate) fn get() -> &'static Debug {
    static DEBUG: OnceLock<Debug> = OnceLock::new();
    DEBUG.get_or_init(|| {
        let text = env::var(VARIABLE).unwrap_or_default();
        let (debug, complaints) = parse(&text);
        for complaint in complaints {
            warn(format_args!("gosched: {VARIABLE}: {complaint}; ignored\n"));
        }
        debug
    })
}

/// The seed of a random generator: the one that was set, else a random one.
pub(crate) fn seed() -> u64 {
    get().seed.unwrap_or_else(|| {
        use std::hash::{BuildHasher, Hasher};
        std::collections::hash_map::RandomState::new().build_hasher().finish()
    })
}

/// Sets a switch from `0` or `1`; `false` if the value is neither.
fn set(switch: &mut bool, value: &str) -> bool {
    match value.trim() {
        "0" => *switch = false,
        "1" => *switch = true,
        _ => return false,
    }
    true
}

/// A number of milliseconds, at least one.
fn milliseconds(value: &str) -> Option<Duration> {
    value.trim().parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis)
}

fn parse(text: &str) -> (Debug, Vec<String>) {
    let mut debug = Debug::default();
    let mut complaints = Vec::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let Some((key, value)) = entry.split_once('=') else {
            complaints.push(format!("{entry:?} is not key=value"));
            continue;
        };
        let key = key.trim();
        if key == "policy" || key.starts_with("policy.") {
            complaints.extend(debug.off.set(key, value).err());
            continue;
        }
        let understood = match key {
            "randomize" => set(&mut debug.randomize, value),
            "deadlock" => set(&mut debug.deadlock, value),
            "migrate" => set(&mut debug.migrate, value),
            "seed" => {
                debug.seed = value.trim().parse().ok();
                debug.seed.is_some()
            }
            "stall" => {
                debug.stall = milliseconds(value);
                debug.stall.is_some()
            }
            "schedtrace" => {
                debug.schedtrace = milliseconds(value);
                debug.schedtrace.is_some()
            }
            "scheddetail" => set(&mut debug.scheddetail, value),
            _ => {
                complaints.push(format!("unknown key {key:?} (known: {KNOWN})"));
                continue;
            }
        };
        if !understood {
            complaints.push(format!("{key}: bad value {value:?}"));
        }
    }
    (debug, complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_understood() {
        let text =
            "randomize=0, seed=42,deadlock=0,migrate=1,stall=20,schedtrace=5,scheddetail=1,policy.trust=0";
        let (debug, complaints) = parse(text);
        let schedtrace = Some(Duration::from_millis(5));
        let stall = Some(Duration::from_millis(20));
        let mut off = PoliciesOff::default();
        off.set("policy.trust", "0").unwrap();
        assert_eq!(
            debug,
            Debug {
                randomize: false,
                seed: Some(42),
                deadlock: false,
                migrate: true,
                stall,
                schedtrace,
                scheddetail: true,
                off
            }
        );
        assert!(complaints.is_empty());
    }

    #[test]
    fn unknown_keys_and_bad_values_are_named_and_ignored() {
        let (debug, complaints) = parse("colour=red,seed=x,randomize,,stall=0,policy.speed=0,policy=2");
        assert_eq!(debug, Debug::default());
        assert_eq!(complaints.len(), 6);
        assert!(complaints[0].contains("\"colour\""));
        assert!(complaints[1].contains("seed") && complaints[1].contains("\"x\""));
        assert!(complaints[2].contains("\"randomize\" is not key=value"));
        assert!(complaints[3].contains("stall") && complaints[3].contains("\"0\""));
        assert!(complaints[4].contains("\"speed\"") && complaints[4].contains("give_way"));
        assert!(complaints[5].contains("policy: bad value"));
    }
}
