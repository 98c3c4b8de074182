//! The goroutines that a server waits for when it ends, and the report about those that don't end
//! in time.

use std::fmt::Display;
use std::time::Duration;

use gosched::sync::WaitGroup;
use gosched::{JoinHandle, runtime, thread};

use crate::Failure;

/// The names of these goroutines begin with this, so that they are found in a dump.
const NAME: &str = "connection ";

/// The connections of a server: goroutines that are counted, and named after their peers.
///
/// Clones count together.
///
/// ```
/// use gosched_examples::Connections;
/// use std::time::Duration;
///
/// gosched::run(|| {
///     let connections = Connections::new();
///     connections.go("127.0.0.1:40000", || println!("served"));
///     connections.wait(Duration::from_secs(5)).unwrap();
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Connections(WaitGroup);

/// Counts a goroutine out when it is dropped, also by a panic.
struct Counted(WaitGroup);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl Connections {
    /// None yet.
    ///
    /// ```
    /// gosched_examples::Connections::new().wait(std::time::Duration::from_secs(5)).unwrap();
    /// ```
    #[must_use]
    pub fn new() -> Connections {
        Connections::default()
    }

    /// Runs `serve` in a goroutine that is named after `peer`, and counted until it has ended.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let connections = gosched_examples::Connections::new();
    ///     let connection = connections.go("127.0.0.1:40000", || 7);
    ///     assert_eq!(connection.thread().name(), Some("connection 127.0.0.1:40000"));
    ///     assert_eq!(connection.join().unwrap(), 7);
    /// });
    /// ```
    #[track_caller]
    pub fn go<T: Send + 'static>(
        &self,
        peer: impl Display,
        serve: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.add(1);
        let counted = Counted(self.0.clone());
        let spawned = thread::Builder::new().name(format!("{NAME}{peer}")).spawn(move || {
            let _counted = counted;
            serve()
        });
        spawned.unwrap_or_else(|error| panic!("cannot start a goroutine: {error}"))
    }

    /// Waits until all have ended, for `grace` at most. The failure names those that have not, with
    /// their stacks.
    ///
    /// ```
    /// use gosched::time::Duration;
    ///
    /// gosched::run(|| {
    ///     let connections = gosched_examples::Connections::new();
    ///     connections.go("127.0.0.1:40000", || gosched::thread::park());
    ///     connections.go("127.0.0.1:40001", || panic!("is counted out too")).join().unwrap_err();
    ///     let failure = connections.wait(Duration::from_millis(100)).unwrap_err().to_string();
    ///     assert!(failure.contains("\"connection 127.0.0.1:40000\" ["), "{failure}");
    ///     assert!(!failure.contains("40001"), "{failure}");
    /// });
    /// ```
    pub fn wait(&self, grace: Duration) -> Result<(), Failure> {
        if self.0.wait_timeout(grace) {
            return Ok(());
        }
        let stragglers = stragglers(&runtime::stacks());
        Err(Failure::new(format!("these did not end within {grace:?}:\n\n{stragglers}")))
    }
}

/// The parts of the dump about connections: its paragraphs are goroutines, with the name in the
/// first line.
fn stragglers(dump: &str) -> String {
    let name = format!(" \"{NAME}");
    let goroutines = dump.split("\n\n").map(str::trim_end);
    let connections: Vec<_> = goroutines
        .filter(|goroutine| goroutine.lines().next().is_some_and(|head| head.contains(&name)))
        .collect();
    connections.join("\n\n")
}
