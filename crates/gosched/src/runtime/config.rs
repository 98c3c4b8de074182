//! What can be set before first use (S6): in code by [`Config`], else by the environment, else by what the machine has.

use core::fmt;
use core::num::IntErrorKind;
use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};

use gosched_switch::{SizeError, StackClass};

use crate::fatal::warn;
use crate::sched::MAX_PROCS;
use crate::sys::cpu;

/// The stack size of the closures given to `run`: what a main thread usually has.
const MAIN_STACK_BYTES: usize = 8 << 20;
const MAX_THREADS: usize = 10_000;

/// Settings of the runtime, to be installed before its first use.
///
/// What is set here wins over the environment (`GOMAXPROCS`, `GOSCHED_STACK`).
///
/// ```
/// use gosched::runtime::Config;
///
/// Config::new().maxprocs(2).stack_size(128 * 1024).max_threads(500).install()?;
/// gosched::run(|| println!("on two Ps"));
///
/// // The runtime has started: too late for another one.
/// assert!(Config::new().maxprocs(4).install().is_err());
/// # Ok::<(), gosched::runtime::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a Config does nothing until it is installed"]
pub struct Config {
    maxprocs: Option<usize>,
    stack_size: Option<usize>,
    max_threads: Option<usize>,
}

impl Config {
    /// Settings that leave everything to the environment and the machine.
    ///
    /// ```
    /// gosched::runtime::Config::new().install().unwrap();
    /// ```
    pub fn new() -> Config {
        Config::default()
    }

    /// Sets the number of Ps: how many goroutines may run at the same time. From 1 to 1,024.
    ///
    /// ```
    /// gosched::runtime::Config::new().maxprocs(1).install().unwrap();
    /// assert_eq!(gosched::thread::available_parallelism().unwrap().get(), 1);
    /// ```
    pub fn maxprocs(mut self, n: usize) -> Config {
        self.maxprocs = Some(n);
        self
    }

    /// Sets how far the stack of a goroutine may grow, in bytes, unless its [`Builder`](crate::thread::Builder) says
    /// otherwise (256 KiB by default). Rounded up to a power of two. Only what is touched uses memory.
    ///
    /// ```
    /// gosched::runtime::Config::new().stack_size(1 << 20).install().unwrap();
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Config {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets how many worker threads the runtime may have (10,000 by default). If it needs more, the process ends with
    /// `fatal error: thread exhaustion`.
    ///
    /// ```
    /// gosched::runtime::Config::new().max_threads(200).install().unwrap();
    /// ```
    pub fn max_threads(mut self, n: usize) -> Config {
        self.max_threads = Some(n);
        self
    }

    /// Makes these the settings of the process.
    ///
    /// # Errors
    ///
    /// If a value is out of range, or if the runtime has started already, by the first `go`, `run` or other use.
    ///
    /// ```
    /// use gosched::runtime::{Config, ConfigError};
    ///
    /// let error = Config::new().maxprocs(0).install().unwrap_err();
    /// assert_eq!(error.to_string(), "maxprocs is 0: at least one P is needed (at most 1024)");
    /// ```
    pub fn install(self) -> Result<(), ConfigError> {
        if let Some(n) = self.maxprocs
            && !(1..=MAX_PROCS).contains(&n)
        {
            return Err(ConfigError::MaxProcs(n));
        }
        if let Some(bytes) = self.stack_size {
            StackClass::for_size(bytes).map_err(|why| ConfigError::StackSize(StackSizeError(why)))?;
        }
        if self.max_threads == Some(0) {
            return Err(ConfigError::MaxThreads);
        }
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if SETTINGS.get().is_some() {
            return Err(ConfigError::AlreadyStarted);
        }
        *installed = self;
        Ok(())
    }
}

/// Why a [`Config`] was refused.
///
/// ```
/// use gosched::runtime::{Config, ConfigError};
///
/// assert!(matches!(Config::new().stack_size(100).install(), Err(ConfigError::StackSize(_))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The runtime has started: `install` must come before its first use.
    AlreadyStarted,
    /// Not a possible number of Ps.
    MaxProcs(usize),
    /// Not a possible stack size.
    StackSize(StackSizeError),
    /// A runtime without threads can't run anything.
    MaxThreads,
}

/// Why a stack size was refused: too small to run anything, or absurdly large. Its text has the limit.
///
/// ```
/// use gosched::thread::Builder;
///
/// let error = Builder::new().stack_size(usize::MAX).spawn(|| ()).unwrap_err();
/// assert!(error.to_string().contains("stack"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSizeError(pub(crate) SizeError);

impl fmt::Display for StackSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for StackSizeError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::AlreadyStarted => f.write_str(
                "the runtime has started already: install the Config before the first use of gosched",
            ),
            ConfigError::MaxProcs(0) => {
                write!(f, "maxprocs is 0: at least one P is needed (at most {MAX_PROCS})")
            }
            ConfigError::MaxProcs(n) => write!(f, "maxprocs is {n}: at most {MAX_PROCS} Ps are possible"),
            ConfigError::StackSize(why) => why.fmt(f),
            ConfigError::MaxThreads => f.write_str("max_threads is 0: at least one thread is needed"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// What the runtime was started with.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) procs: u32,
    pub(crate) stack: StackClass,
    pub(crate) main_stack: StackClass,
    pub(crate) max_threads: u64,
}

static INSTALLED: Mutex<Config> = Mutex::new(Config { maxprocs: None, stack_size: None, max_threads: None });
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Fixes the settings: from here on `install` refuses.
pub(crate) fn freeze() -> &'static Settings {
    let installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let env = |name: &str| env::var(name).ok().filter(|text| !text.is_empty());
    SETTINGS.get_or_init(|| resolve(&installed, env, |text| warn(format_args!("{text}"))))
}

/// The settings of the running runtime.
#[inline]
pub(crate) fn settings() -> &'static Settings {
    match SETTINGS.get() {
        Some(settings) => settings,
        None => freeze(),
    }
}

pub(crate) fn num_cpu() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(cpu::usable)
}

fn resolve(config: &Config, env: impl Fn(&str) -> Option<String>, mut warn: impl FnMut(&str)) -> Settings {
    let default_procs = num_cpu().min(MAX_PROCS);
    let procs = config.maxprocs.unwrap_or_else(|| match env("GOMAXPROCS") {
        None => default_procs,
        Some(text) => parse_procs(&text).unwrap_or_else(|why| {
            warn(&format!("gosched: GOMAXPROCS={text:?} {why}; using {default_procs}\n"));
            default_procs
        }),
    });
    let stack = match config.stack_size {
        // `install` has checked it.
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
    let max_threads = config.max_threads.unwrap_or(MAX_THREADS) as u64;
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

    fn with_env(pairs: &[(&str, &str)], config: Config) -> (Settings, String) {
        let mut warnings = String::new();
        let settings = resolve(
            &config,
            |name| pairs.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned()),
            |text| warnings.push_str(text),
        );
        (settings, warnings)
    }

    /// S6: GOMAXPROCS counts, and Config wins over it.
    #[test]
    fn environment_then_code() {
        let (settings, warnings) = with_env(&[("GOMAXPROCS", "3")], Config::new());
        assert_eq!((settings.procs, warnings.as_str()), (3, ""));
        let (settings, _) = with_env(&[("GOMAXPROCS", "3")], Config::new().maxprocs(5));
        assert_eq!(settings.procs, 5);
    }

    /// S6: a bad value is named in a warning, then the default counts.
    #[test]
    fn bad_values_are_named() {
        for bad in ["zwei", "0", "-1", "99999", "99999999999999999999999"] {
            let (settings, warnings) = with_env(&[("GOMAXPROCS", bad)], Config::new());
            assert_eq!(settings.procs as usize, num_cpu());
            assert!(warnings.contains(&format!("GOMAXPROCS={bad:?}")), "{warnings}");
        }
        for bad in ["12", "a lot", "99999999999999"] {
            let (settings, warnings) = with_env(&[("GOSCHED_STACK", bad)], Config::new());
            assert_eq!(settings.stack, StackClass::DEFAULT);
            assert!(warnings.contains(&format!("GOSCHED_STACK={bad:?}")), "{warnings}");
        }
    }

    /// S13: the main goroutine's stack is 8 MiB, or larger if all are.
    #[test]
    fn main_stack_is_at_least_as_large_as_the_others() {
        let (settings, _) = with_env(&[], Config::new());
        assert_eq!(settings.main_stack.size(), 8 << 20);
        let (settings, _) = with_env(&[], Config::new().stack_size(64 << 20));
        assert_eq!(settings.main_stack.size(), 64 << 20);
    }
}
