//! Tasks that talk over TCP.

use std::time::Instant;

use bench_workload::{Params, Sample};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::run_with_io;

const MESSAGE: [u8; 64] = [7; 64];

pub fn tcp_echo(params: &Params) -> Sample {
    let (connections, each) = (params.get("connections"), params.get("each"));
    run_with_io(params, async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.expect("clients connect");
                tokio::spawn(async move {
                    stream.set_nodelay(true).expect("an option");
                    let mut buffer = [0; 64];
                    while stream.read_exact(&mut buffer).await.is_ok() {
                        stream.write_all(&buffer).await.expect("the client is there");
                    }
                });
            }
        });
        let mut streams = Vec::new();
        for _ in 0..connections {
            streams.push(TcpStream::connect(address).await.expect("the server is there"));
        }
        let start = Instant::now();
        let clients: Vec<_> = streams
            .into_iter()
            .map(|mut stream| {
                tokio::spawn(async move {
                    stream.set_nodelay(true).expect("an option");
                    let mut back = [0; 64];
                    for _ in 0..each {
                        stream.write_all(&MESSAGE).await.expect("the server is there");
                        stream.read_exact(&mut back).await.expect("the server answers");
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.expect("no task panics");
        }
        Sample::of("per_s", (connections * each) as f64 / start.elapsed().as_secs_f64())
    })
}
