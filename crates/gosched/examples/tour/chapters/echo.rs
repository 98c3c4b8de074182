use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::{Chapter, Check, ensure, nothing};
use crate::measure::{Memory, Work};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "echo",
    title: "Thousands of connections in one process",
    why: "A goroutine for each end of each connection, plain Read and Write. Waiting for the network costs no thread. The \
          server is this, and as many clients talk to it:",
    source: include_str!("echo.rs"),
    run,
    aside: nothing,
};

const WANTED: u64 = 4_000;
const ROUNDS: u32 = 10;
/// Descriptors that are kept for other uses.
const OTHERS: u64 = 100;

fn serve(listener: TcpListener) -> io::Result<()> {
    // ---8<---
    for stream in listener.incoming() {
        let stream = stream?;
        go(move || io::copy(&mut &stream, &mut &stream));
    }
    // ---8<---
    Ok(())
}

/// As many connections as the limit of descriptors allows, after raising it as far as possible.
fn connections() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    WANTED.min(most.saturating_sub(OTHERS) / 2)
}

/// Sends and receives; returns how many round trips were right.
fn talk(address: SocketAddr, i: u64) -> io::Result<u32> {
    let mut stream = TcpStream::connect(address)?;
    let mut right = 0;
    for round in 0..ROUNDS {
        let sent = (i << 8 | u64::from(round)).to_le_bytes();
        stream.write_all(&sent)?;
        let mut back = [0; 8];
        stream.read_exact(&mut back)?;
        right += u32::from(back == sent);
    }
    Ok(right)
}

fn run(page: &Page, _: bool) -> Check {
    let n = connections();
    let before = Memory::now();
    gosched::run(|| {
        let failed = |error: io::Error| format!("the network fails: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        go(move || serve(listener));
        let start = Instant::now();
        let clients: Vec<_> = (0..n).map(|i| go(move || talk(address, i))).collect();
        let mut right = 0;
        for client in clients {
            right += u64::from(client.join().expect("no panic").map_err(failed)?);
        }
        let time = start.elapsed();
        let memory = Memory::now().since(before);
        let bytes = (memory.resident + memory.page_tables) / n;
        let threads = Work::now().map_or(0, |work| work.threads);
        page.result(format_args!(
            "{} connections, {} round trips in {time:.0?}; {threads} threads, {} bytes for each \
             connection: both ends and their buffers",
            thousands(n),
            thousands(right),
            thousands(bytes)
        ));
        ensure(right == n * u64::from(ROUNDS), "every message comes back as it was sent")
    })
}
