//! An HTTP server with hyper: a goroutine for each connection, in which `block_on` runs hyper's
//! future.
//!
//! `cargo run --release -p gosched-examples --example http_hello`, then
//! `curl http://127.0.0.1:8080/`.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::process::ExitCode;

use gosched::context;
use gosched::future::block_on;
use gosched::future::hyper::Timer;
use gosched::net::TcpStream;
use gosched_examples::{listen, run, serve_each};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};

const USAGE: &str = "usage: http_hello [HOST:PORT]

Answers GET / with \"Hello, World!\", on 127.0.0.1:8080 unless told otherwise (port 0: any that is free).
Ctrl-C ends it: requests that have begun are answered, and who does not finish one is named, with status 1.";

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    if request.uri().path() != "/" {
        *response.status_mut() = StatusCode::NOT_FOUND;
        *response.body_mut() = Full::new(Bytes::from_static(b"there is nothing here but /\n"));
    }
    Ok(response)
}

fn main() -> ExitCode {
    run(USAGE, 0..=1, |arguments| {
        let address = arguments.first().map_or("127.0.0.1:8080", String::as_str);
        serve_each(listen(address)?, |stream, _peer| serve(stream))
    })
}

/// Serves a connection until the peer closes it; after the end of the context, until no request is
/// under way.
fn serve(stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new().timer(Timer).serve_connection(stream, service_fn(hello));
    let done = context::current().done();
    let served = async {
        let (mut connection, mut ended) = (pin!(connection), pin!(done.recv_async()));
        let mut is_ending = false;
        poll_fn(|cx| {
            if !is_ending && ended.as_mut().poll(cx).is_ready() {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
            connection.as_mut().poll(cx)
        })
        .await
    };
    // An error of one connection ends that connection only.
    let _ = block_on(served);
}
