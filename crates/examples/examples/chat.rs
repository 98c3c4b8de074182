//! A chat server: what one client says goes to all others. Each client has a goroutine that reads
//! and one that writes. A hub, which alone knows the clients, passes lines from readers to writers
//! over channels. Ctrl-C cancels the context under which everything runs, and the server ends
//! gracefully: the listener is closed, clients get a farewell, connections have some time to end,
//! and those that have not ended by then are named, with their stacks.
//!
//! `cargo run --release -p gosched-examples --example chat`, then several `nc 127.0.0.1 7778`.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::sync::Arc;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::net::{Shutdown, SocketAddr, TcpStream};
use gosched::{context, go};
use gosched_examples::{Connections, Failure, GRACE, STALLED, accept_each, listen, run, until_interrupted};

const USAGE: &str = "usage: chat [HOST:PORT]

A chat server, on 127.0.0.1:7778 unless told otherwise (port 0: any that is free). The first line a client sends is its
name; every other goes to everybody else. Ctrl-C ends it: everybody is told, and who does not take it in is named, with
status 1.";

/// Lines that may wait for a slow client; a client with more is dropped.
const PATIENCE: usize = 100;

/// What clients tell the hub.
enum Event {
    Joins { id: usize, name: String, lines: Sender<Arc<str>> },
    Says { id: usize, line: String },
    Leaves { id: usize },
}

/// A client that has connected.
struct Client {
    id: usize,
    peer: SocketAddr,
    stream: Arc<TcpStream>,
    events: Sender<Event>,
}

fn main() -> ExitCode {
    run(USAGE, 0..=1, |arguments| {
        let address = arguments.first().map_or("127.0.0.1:7778", String::as_str);
        let listener = listen(address)?;
        let ctx = until_interrupted()?;
        let (events, inbox) = bounded(PATIENCE);
        // The hub ends when the last client has left.
        let hub = go(move || hub(&inbox));
        let connections = Connections::new();
        let mut id = 0;
        context::enter(&ctx, || {
            accept_each(&listener, |stream, peer| {
                id += 1;
                let client = Client { id, peer, stream: Arc::new(stream), events: events.clone() };
                let writers = connections.clone();
                connections.go(peer, move || serve(&client, &writers));
            });
        });
        drop(events);
        drop(listener);
        connections.wait(GRACE)?;
        hub.join().map_err(|_| Failure::new("the hub panicked"))?;
        println!("bye");
        Ok(())
    })
}

/// Reads what a client says, until it leaves or the context ends.
fn serve(client: &Client, writers: &Connections) {
    let id = client.id;
    let (lines, outbox) = bounded(PATIENCE);
    // The farewell is written after the context has ended, so the writer does not run under it.
    let writer = context::enter(&context::background(), || {
        let stream = Arc::clone(&client.stream);
        writers.go(format_args!("{}, writing", client.peer), move || write_all(&stream, &outbox))
    });
    let mut input = BufReader::new(&*client.stream).lines();
    let tell = |event| client.events.send(event).is_ok();
    match input.next() {
        Some(Ok(name)) => {
            tell(Event::Joins { id, name, lines });
            // Data that has arrived can be read also after the context has ended, and some clients
            // never pause.
            let ctx = context::current();
            for line in input.map_while(Result::ok).take_while(|_| !ctx.is_cancelled()) {
                tell(Event::Says { id, line });
            }
            tell(Event::Leaves { id });
        }
        // The client left without a name: there is nothing to write, and the writer ends.
        _ => drop(lines),
    }
    let _ = writer.join();
}

/// Writes what the hub sends to this client, until there is no more or the client is gone.
fn write_all(mut stream: &TcpStream, lines: &Receiver<Arc<str>>) {
    let _ = stream.set_write_timeout(Some(STALLED));
    for line in lines {
        if stream.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    // Ends the reader too.
    let _ = stream.shutdown(Shutdown::Both);
}

/// Knows the clients, and passes on what they say.
fn hub(inbox: &Receiver<Event>) {
    let mut clients: HashMap<usize, (String, Sender<Arc<str>>)> = HashMap::new();
    for event in inbox {
        let (from, text) = match event {
            Event::Joins { id, name, lines } => {
                let text = format!("* {name} is here\n");
                let _ = lines.try_send(format!("* welcome, {name}\n").into());
                clients.insert(id, (name, lines));
                (id, text)
            }
            Event::Says { id, line } => match clients.get(&id) {
                Some((name, _)) => (id, format!("{name}: {line}\n")),
                None => continue,
            },
            Event::Leaves { id } => match clients.remove(&id) {
                Some((name, lines)) => {
                    let _ = lines.try_send("* goodbye\n".into());
                    (id, format!("* {name} has left\n"))
                }
                None => continue,
            },
        };
        let text: Arc<str> = text.into();
        // A client with too many unread lines is dropped.
        clients.retain(|id, (_, lines)| *id == from || lines.try_send(Arc::clone(&text)).is_ok());
    }
}
