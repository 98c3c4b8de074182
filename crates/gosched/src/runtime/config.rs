//! What can be set in code before first use (S6). Where it goes, and what counts if nothing is set,
//! is in `settings.rs`.

use core::fmt;

use gosched_switch::{SizeError, StackClass};

use crate::settings::{self, MAX_PROCS, Noted, Wanted};

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

    /// Sets how far the stack of a goroutine may grow, in bytes, unless its
    /// [`Builder`](crate::thread::Builder) says otherwise (256 KiB by default). Rounded up to a
    /// power of two. Only what is touched uses memory.
    ///
    /// ```
    /// gosched::runtime::Config::new().stack_size(1 << 20).install().unwrap();
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Config {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets how many worker threads the runtime may have (10,000 by default). If it needs more, the
    /// process ends with `fatal error: thread exhaustion`.
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
    /// If a value is out of range, or if the runtime has started already, by the first `go`, `run`
    /// or other use.
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
        let Config { maxprocs, stack_size, max_threads } = self;
        match settings::install(Wanted { maxprocs, stack_size, max_threads }) {
            Noted::Yes => Ok(()),
            Noted::TooLate => Err(ConfigError::AlreadyStarted),
        }
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

/// Why a stack size was refused: too small to run anything, or absurdly large. Its text has the
/// limit.
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
