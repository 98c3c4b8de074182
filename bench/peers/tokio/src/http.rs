//! hyper on tasks, one for each connection.

use std::convert::Infallible;

use bench_workload::{GREETING, Params, Sample, announce};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::run_with_all;

pub fn hello(params: &Params) -> Sample {
    run_with_all(params, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        announce(listener.local_addr().expect("it is bound"));
        loop {
            let (stream, _) = listener.accept().await.expect("clients connect");
            stream.set_nodelay(true).expect("an option");
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            // A client may disconnect at any time.
            tokio::spawn(connection);
        }
    })
}

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(GREETING.as_bytes()))))
}
