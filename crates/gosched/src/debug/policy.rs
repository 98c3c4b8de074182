//! Which policies (`sched/policy/`) are on: all but those that `GOSCHED_DEBUG` switches off. The
//! word that is asked is written once, when the scheduler starts.

use core::sync::atomic::{AtomicU32, Ordering};

/// What the scheduler does beyond Go's rules. The file of each says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Policy {
    AwaitLook,
    GiveWay,
    InReach,
    Pace,
    PreemptedLast,
    Pressure,
    Quantum,
    Relieve,
    TimeSlices,
    TimerSlack,
    Trust,
}

impl Policy {
    pub(crate) const ALL: [Policy; 11] = [
        Policy::AwaitLook,
        Policy::GiveWay,
        Policy::InReach,
        Policy::Pace,
        Policy::PreemptedLast,
        Policy::Pressure,
        Policy::Quantum,
        Policy::Relieve,
        Policy::TimeSlices,
        Policy::TimerSlack,
        Policy::Trust,
    ];

    /// Its name in `GOSCHED_DEBUG=policy.NAME=0`: the name of its file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Policy::AwaitLook => "await_look",
            Policy::GiveWay => "give_way",
            Policy::InReach => "in_reach",
            Policy::Pace => "pace",
            Policy::PreemptedLast => "preempted_last",
            Policy::Pressure => "pressure",
            Policy::Quantum => "quantum",
            Policy::Relieve => "relieve",
            Policy::TimeSlices => "time_slices",
            Policy::TimerSlack => "timer_slack",
            Policy::Trust => "trust",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether it is on.
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        // Relaxed: the caller runs on a thread of ours, which was created after the store, or has
        // called `ensure_started`, which acquires what `start` released.
        OFF.load(Ordering::Relaxed) & self.bit() == 0
    }
}

/// The policies that are off in this process.
static OFF: AtomicU32 = AtomicU32::new(0);

/// A set of policies that are to be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoliciesOff(u32);

impl PoliciesOff {
    /// Applies `policy=0` or `policy.NAME=0` (or `=1`, which switches on again); `Err` says what is
    /// wrong.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let name = key.strip_prefix("policy.");
        let meant = |policy: &Policy| name.is_none_or(|name| name == policy.name());
        let bits = Policy::ALL.into_iter().filter(meant).fold(0, |bits, policy| bits | policy.bit());
        if bits == 0 {
            let known = Policy::ALL.map(Policy::name).join(", ");
            return Err(format!("unknown policy {:?} (known: {known})", name.unwrap_or_default()));
        }
        match value.trim() {
            "0" => self.0 |= bits,
            "1" => self.0 &= !bits,
            _ => return Err(format!("{key}: bad value {value:?}")),
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn contains(self, policy: Policy) -> bool {
        self.0 & policy.bit() != 0
    }

    /// Makes this the set of the process. Called before the runtime's threads exist, so each of
    /// them sees it.
    pub(crate) fn adopt(self) {
        OFF.store(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every policy has a bit of its own, a name of its own, and a file of that name.
    #[test]
    fn each_policy_has_its_file() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sched/policy");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|file| file != "mod.rs")
            .collect();
        files.sort();
        let mut named: Vec<String> =
            Policy::ALL.iter().map(|policy| format!("{}.rs", policy.name())).collect();
        named.sort();
        assert_eq!(files, named);
        assert_eq!(
            Policy::ALL.iter().fold(0, |bits, policy| bits | policy.bit()),
            (1 << Policy::ALL.len()) - 1
        );
    }

    #[test]
    fn later_entries_win() {
        let mut off = PoliciesOff::default();
        off.set("policy", "0").unwrap();
        off.set("policy.trust", "1").unwrap();
        let all: u32 = Policy::ALL.iter().map(|policy| policy.bit()).sum();
        assert_eq!(off, PoliciesOff(all & !Policy::Trust.bit()));
        off.set("policy", "1").unwrap();
        assert_eq!(off, PoliciesOff::default());
    }
}
