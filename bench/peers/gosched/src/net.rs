//! Goroutines that talk over TCP.

use std::io::{Read, Write};
use std::time::Instant;

use bench_workload::{Params, Sample};
use gosched::net::{TcpListener, TcpStream};

use crate::run;

const MESSAGE: [u8; 64] = [7; 64];

pub fn tcp_echo(params: &Params) -> Sample {
    let (connections, each) = (params.get("connections"), params.get("each"));
    run(params, move || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        gosched::go(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("clients connect");
                gosched::go(move || {
                    stream.set_nodelay(true).expect("an option");
                    let mut buffer = [0; 64];
                    while stream.read_exact(&mut buffer).is_ok() {
                        stream.write_all(&buffer).expect("the client is there");
                    }
                });
            }
        });
        let streams: Vec<_> =
            (0..connections).map(|_| TcpStream::connect(address).expect("the server is there")).collect();
        let start = Instant::now();
        let clients: Vec<_> = streams
            .into_iter()
            .map(|mut stream| {
                gosched::go(move || {
                    stream.set_nodelay(true).expect("an option");
                    let mut back = [0; 64];
                    for _ in 0..each {
                        stream.write_all(&MESSAGE).expect("the server is there");
                        stream.read_exact(&mut back).expect("the server answers");
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("no goroutine panics"));
        Sample::of("per_s", (connections * each) as f64 / start.elapsed().as_secs_f64())
    })
}
