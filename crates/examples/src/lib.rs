//! What the network examples share: a command line with `--help`, errors that say what to do, a
//! loop that accepts connections and survives shortages, a context that Ctrl-C and SIGTERM cancel,
//! and a bounded wait for the connections at the end.
//!
//! The programs are in `examples/`:
//! `cargo run --release -p gosched-examples --example echo_server -- --help`.

#![forbid(unsafe_code)]

mod connections;

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use gosched::context::{self, Context, ContextError};
use gosched::net::{SocketAddr, TcpListener, TcpStream};
use gosched::signal::{self, Signal};
use gosched::time;

pub use connections::Connections;

/// How long connections are given to end.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long a write may take if the peer does not read.
pub const STALLED: Duration = Duration::from_secs(30);

/// Why a program ends badly: a sentence for its user.
///
/// ```
/// let failure = gosched_examples::Failure::new("the port is taken");
/// assert_eq!(failure.to_string(), "the port is taken");
/// ```
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// With this sentence.
    ///
    /// ```
    /// let failure = gosched_examples::Failure::new("no");
    /// # drop(failure);
    /// ```
    pub fn new(sentence: impl Into<String>) -> Failure {
        Failure(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Runs a program as the main goroutine. `--help` prints `usage`. A failure is printed on standard
/// error, with status 1; a wrong number of arguments prints `usage` there, with status 2.
///
/// `main` gets the arguments, of which there are between `least` and `most`.
///
/// ```
/// let code = gosched_examples::run("usage: nothing", 0..=usize::MAX, |arguments| {
///     drop(arguments);
///     Ok(())
/// });
/// # drop(code);
/// ```
pub fn run(
    usage: &str,
    count: std::ops::RangeInclusive<usize>,
    main: impl FnOnce(Vec<String>) -> Result<(), Failure> + Send,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    if !count.contains(&arguments.len()) {
        eprintln!("{usage}");
        return ExitCode::from(2);
    }
    match gosched::run(|| main(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Listens on `address`, and prints it on standard output. The failure says why it can't, and what
/// to do.
///
/// ```
/// let listener = gosched_examples::listen("127.0.0.1:0").unwrap();
/// let address = listener.local_addr().unwrap().to_string();
/// let failure = gosched_examples::listen(&address).unwrap_err();
/// assert!(failure.to_string().contains("in use"));
/// assert!(gosched_examples::listen("nonsense").is_err());
/// ```
pub fn listen(address: &str) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind(address).map_err(|error| explain(address, &error))?;
    match listener.local_addr() {
        Ok(address) => println!("listening on {address}"),
        Err(error) => return Err(explain(address, &error)),
    }
    Ok(listener)
}

fn explain(address: &str, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        ErrorKind::AddrInUse => {
            "the port is in use: end the program that has it, or choose another".to_owned()
        }
        ErrorKind::AddrNotAvailable => "this machine does not have that address".to_owned(),
        ErrorKind::PermissionDenied => "ports below 1024 need privileges: choose a higher one".to_owned(),
        ErrorKind::InvalidInput => "give an address as HOST:PORT, like 127.0.0.1:7777".to_owned(),
        _ => error.to_string(),
    };
    Failure(format!("cannot listen on {address}: {advice}"))
}

/// Connects to `address`, or says why not.
///
/// ```
/// let listener = gosched::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// let stream = gosched_examples::connect(&listener.local_addr().unwrap().to_string());
/// assert!(stream.is_ok());
/// ```
pub fn connect(address: &str) -> Result<TcpStream, Failure> {
    TcpStream::connect(address).map_err(|error| match error.kind() {
        ErrorKind::ConnectionRefused => Failure(format!("cannot connect to {address}: nobody listens there")),
        ErrorKind::InvalidInput => {
            Failure(format!("cannot connect to {address}: give an address as HOST:PORT"))
        }
        _ => Failure(format!("cannot connect to {address}: {error}")),
    })
}

/// The first and the longest pause when descriptors have run out.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// Accepts connections and passes each to `each`, until the listener is shut down or the context
/// ends.
///
/// A connection that was aborted before it was accepted is skipped. When descriptors or memory run
/// out, that is printed once, and accepting is tried again after a pause, which grows each time.
///
/// ```
/// use gosched::net::{TcpListener, TcpStream};
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0").unwrap();
///     let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
///     let mut served = 0;
///     gosched_examples::accept_each(&listener, |_stream, _peer| {
///         served += 1;
///         listener.shutdown().unwrap();
///     });
///     assert_eq!(served, 1);
/// # drop(client);
///     // Under a context that has ended nothing is accepted, although a client waits.
///     let ctx = gosched::context::background().with_cancel();
///     ctx.cancel();
///     let listener = TcpListener::bind("127.0.0.1:0").unwrap();
///     let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
///     gosched::context::enter(&ctx, || gosched_examples::accept_each(&listener, |_, _| unreachable!()));
/// # drop(client);
/// });
/// ```
pub fn accept_each(listener: &TcpListener, mut each: impl FnMut(TcpStream, SocketAddr)) {
    let ctx = context::current();
    let mut pause = PAUSES.0;
    let mut said = false;
    while !ctx.is_cancelled() {
        match listener.accept() {
            Ok((stream, peer)) => {
                pause = PAUSES.0;
                each(stream, peer);
            }
            Err(error) if is_shortage(&error) => {
                if !said {
                    said = true;
                    eprintln!("cannot take a connection now ({error}); going on when there is room again");
                }
                if time::sleep(pause).is_err() {
                    return;
                }
                pause = (pause * 2).min(PAUSES.1);
            }
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            // The context has ended, or the listener was shut down.
            Err(_) => return,
        }
    }
}

/// `ENFILE`, `EMFILE`, `ENOBUFS`, `ENOMEM`.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24 | 105 | 12))
}

/// A context that is cancelled by Ctrl-C (SIGINT) or `kill` (SIGTERM). After that they end the
/// program at once.
///
/// ```
/// let ctx = gosched_examples::until_interrupted().unwrap();
/// assert!(!ctx.is_cancelled());
/// ```
pub fn until_interrupted() -> Result<Context, Failure> {
    signal::context_until(&[Signal::Interrupt, Signal::Terminate])
        .map_err(|error| Failure(format!("cannot listen for signals: {error}")))
}

/// Serves each connection in a goroutine, until Ctrl-C or `kill`. Then nobody else can connect, the
/// context of `serve` ends, and the connections have [`GRACE`] to end. The failure names those that
/// are late.
///
/// ```no_run
/// gosched::run(|| {
///     let listener = gosched_examples::listen("127.0.0.1:7777").unwrap();
///     gosched_examples::serve_each(listener, |stream, _peer| {
///         let _ = gosched_examples::relay(&stream, &stream);
///     })
///     .unwrap();
/// });
/// ```
pub fn serve_each(
    listener: TcpListener,
    serve: impl Fn(TcpStream, SocketAddr) + Clone + Send + 'static,
) -> Result<(), Failure> {
    let ctx = until_interrupted()?;
    let connections = Connections::new();
    context::enter(&ctx, || {
        accept_each(&listener, |stream, peer| {
            let serve = serve.clone();
            connections.go(peer, move || serve(stream, peer));
        });
    });
    drop(listener);
    connections.wait(GRACE)?;
    println!("bye");
    Ok(())
}

/// Passes on what comes from one stream to another, until the first one ends or the context does.
/// What was read by then is still written, for [`STALLED`] at most.
///
/// ```
/// use gosched::net::{Shutdown, TcpListener, TcpStream};
/// use std::io::{Read, Write};
///
/// gosched::run(|| -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let mut client = TcpStream::connect(listener.local_addr()?)?;
///     let (server, _) = listener.accept()?;
///     client.write_all(b"hello")?;
///     client.shutdown(Shutdown::Write)?;
///     gosched_examples::relay(&server, &server)?;
///     drop(server);
///     let mut back = String::new();
///     client.read_to_string(&mut back)?;
///     assert_eq!(back, "hello");
///     Ok(())
/// })
/// .unwrap();
/// ```
pub fn relay(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    to.set_write_timeout(Some(STALLED))?;
    let ctx = context::current();
    let to_the_end = ctx.without_cancel();
    let mut bytes = vec![0; 16 * 1024];
    // What has arrived can be read also after the context has ended, and some peers never pause.
    while !ctx.is_cancelled() {
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(n) => context::enter(&to_the_end, || to.write_all(&bytes[..n]))?,
            Err(error) if ContextError::of(&error).is_some() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
