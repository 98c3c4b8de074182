//! hyper on goroutines, one for each connection.

use std::convert::Infallible;

use bench_workload::{GREETING, Params, Sample, announce};
use gosched::future::block_on;
use gosched::future::hyper::Timer;
use gosched::net::TcpListener;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

use crate::run;

pub fn hello(params: &Params) -> Sample {
    run(params, || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        announce(listener.local_addr().expect("it is bound"));
        loop {
            let (stream, _) = listener.accept().expect("clients connect");
            gosched::go(move || {
                stream.set_nodelay(true).expect("an option");
                let connection =
                    http1::Builder::new().timer(Timer).serve_connection(stream, service_fn(answer));
                // A client may disconnect at any time.
                block_on(connection)
            });
        }
    })
}

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(GREETING.as_bytes()))))
}
