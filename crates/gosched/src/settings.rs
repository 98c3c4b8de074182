//! What the runtime is started with (S6): what was set in code, else what the environment says,
//! else the default for the machine.
//!
//! Invariant: fixed at first use, and never changed after that. `Config::install`
//! (`runtime/config.rs`) has checked what was asked for in code.

use core::num::IntErrorKind;
use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};

use gosched_switch::StackClass;

use crate::fatal::warn;
use crate::sys::cpu;

/// The largest number of Ps.
pub(crate) const MAX_PROCS: usize = 1024;
/// Stack of the closures given to `run`: what a main thread usually has.
const MAIN_STACK_BYTES: usize = 8 << 20;
const MAX_THREADS: usize = 10_000;

/// What the runtime was started with.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) procs: u32,
    pub(crate) stack: StackClass,
    pub(crate) main_stack: StackClass,
    pub(crate) max_threads: u64,
}

/// What was asked for in code. `None`: as the environment says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) maxprocs: Option<usize>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) max_threads: Option<usize>,
}

/// Whether settings were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Noted {
    Yes,
    /// They are fixed by now.
    TooLate,
}

static WANTED: Mutex<Wanted> = Mutex::new(Wanted { maxprocs: None, stack_size: None, max_threads: None });
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Asks for these settings, which the caller has checked.
pub(crate) fn install(new: Wanted) -> Noted {
    let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    if SETTINGS.get().is_some() {
        return Noted::TooLate;
    }
    *wanted = new;
    Noted::Yes
}

/// Fixes the settings: from here on `install` refuses.
pub(crate) fn freeze() -> &'static Settings {
    let wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let env = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
    SETTINGS.get_or_init(|| resolve(*wanted, env, |text| warn(format_args!("{text}"))))
}

/// The settings of the runtime. Fixes them if they are not.
#[inline]
pub(crate) fn get() -> &'static Settings {
    match SETTINGS.get() {
        Some(settings) => settings,
        None => freeze(),
    }
}

/// The CPUs that this process may use, as they were when it was first asked.
pub(crate) fn num_cpu() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(cpu::usable)
}

fn resolve(wanted: Wanted, env: impl Fn(&str) -> Option<String>, mut warn: impl FnMut(&str)) -> Settings {
    let default_procs = num_cpu().min(MAX_PROCS);
    let procs = wanted.maxprocs.unwrap_or_else(|| match env("GOMAXPROCS") {
        None => default_procs,
        Some(text) => parse_procs(&text).unwrap_or_else(|why| {
            warn(&format!("gosched: GOMAXPROCS={text:?} {why}; using {default_procs}\n"));
            default_procs
        }),
    });
    let stack = match wanted.stack_size {
        // `Config::install` has checked it.
        Some(bytes) => StackClass::for_size(bytes).unwrap_or(StackClass::DEFAULT),
        None => match env("GOSCHED_STACK") {
            None => StackClass::DEFAULT,
            Some(text) => parse_stack(&text).unwrap_or_else(|why| {
                let default = StackClass::DEFAULT.size();
                warn(&format!("gosched: GOSCHED_STACK={text:?}: {why}; using {default}\n"));
                StackClass::DEFAULT
            }),
        },
    };
    let main_stack = StackClass::for_size(MAIN_STACK_BYTES.max(stack.size())).unwrap_or(stack);
    let max_threads = wanted.max_threads.unwrap_or(MAX_THREADS) as u64;
    Settings { procs: procs as u32, stack, main_stack, max_threads }
}

fn parse_procs(text: &str) -> Result<usize, String> {
    match text.trim().parse::<usize>() {
        Ok(0) => Err("is not a number of Ps: at least 1 is needed".to_owned()),
        Ok(n) if n > MAX_PROCS => Err(format!("is more than the {MAX_PROCS} Ps that are possible")),
        Ok(n) => Ok(n),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => {
            Err(format!("is more than the {MAX_PROCS} Ps that are possible"))
        }
        Err(_) => Err("is not a positive whole number".to_owned()),
    }
}

fn parse_stack(text: &str) -> Result<StackClass, String> {
    let bytes: usize = text.trim().parse().map_err(|_| "not a number of bytes".to_owned())?;
    StackClass::for_size(bytes).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Wanted = Wanted { maxprocs: None, stack_size: None, max_threads: None };

    fn with_env(pairs: &[(&str, &str)], wanted: Wanted) -> (Settings, String) {
        let mut warnings = String::new();
        let settings = resolve(
            wanted,
            |name| pairs.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned()),
            |text| warnings.push_str(text),
        );
        (settings, warnings)
    }

    /// S6: GOMAXPROCS is used, and Config wins over it.
    #[test]
    fn environment_then_code() {
        let (settings, warnings) = with_env(&[("GOMAXPROCS", "3")], NOTHING);
        assert_eq!((settings.procs, warnings.as_str()), (3, ""));
        let (settings, _) = with_env(&[("GOMAXPROCS", "3")], Wanted { maxprocs: Some(5), ..NOTHING });
        assert_eq!(settings.procs, 5);
    }

    /// S6: a bad value is named in a warning, and the default is used.
    #[test]
    fn bad_values_are_named() {
        for bad in ["zwei", "0", "-1", "99999", "99999999999999999999999"] {
            let (settings, warnings) = with_env(&[("GOMAXPROCS", bad)], NOTHING);
            assert_eq!(settings.procs as usize, num_cpu());
            assert!(warnings.contains(&format!("GOMAXPROCS={bad:?}")), "{warnings}");
        }
        for bad in ["12", "a lot", "99999999999999"] {
            let (settings, warnings) = with_env(&[("GOSCHED_STACK", bad)], NOTHING);
            assert_eq!(settings.stack, StackClass::DEFAULT);
            assert!(warnings.contains(&format!("GOSCHED_STACK={bad:?}")), "{warnings}");
        }
    }

    /// S13: the main goroutine's stack is 8 MiB, or larger if all are.
    #[test]
    fn main_stack_is_at_least_as_large_as_the_others() {
        let (settings, _) = with_env(&[], NOTHING);
        assert_eq!(settings.main_stack.size(), 8 << 20);
        let (settings, _) = with_env(&[], Wanted { stack_size: Some(64 << 20), ..NOTHING });
        assert_eq!(settings.main_stack.size(), 64 << 20);
    }
}
