//! An HTTP server with hyper: a goroutine for each connection, in which `block_on` runs hyper's
//! future.
//!
//! `cargo run --release -p gosched-examples --example http_hello`, then
//! `curl http://127.0.0.1:8080/`.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::process::ExitCode;

use gosched::future::block_on;
use gosched::future::hyper::Timer;
use gosched::{context, go};
use gosched_examples::{accept_each, listen, run, until_interrupted};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};

const USAGE: &str = "usage: http_hello [HOST:PORT]

Answers GET / with \"Hello, World!\", on 127.0.0.1:8080 unless told otherwise (port 0: any that is free).
Ctrl-C ends it.";

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
        let listener = listen(address)?;
        let ctx = until_interrupted()?;
        context::enter(&ctx, || {
            accept_each(&listener, |stream, _peer| {
                go(move || {
                    let _ = stream.set_nodelay(true);
                    let connection =
                        http1::Builder::new().timer(Timer).serve_connection(stream, service_fn(hello));
                    // An error of one connection ends that connection only.
                    block_on(connection)
                });
            });
        });
        println!("bye");
        Ok(())
    })
}
