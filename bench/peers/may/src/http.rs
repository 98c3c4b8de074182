//! may_minihttp: HTTP on coroutines, one for each connection.

use std::io;
use std::net::TcpListener;

use bench_workload::{GREETING, Params, Sample, announce};
use may_minihttp::{HttpServer, HttpService, Request, Response};

use crate::run;

#[derive(Clone)]
struct Hello;

impl HttpService for Hello {
    fn call(&mut self, _: Request, response: &mut Response) -> io::Result<()> {
        response.body(GREETING);
        Ok(())
    }
}

pub fn hello(params: &Params) -> Sample {
    run(params, || {
        // It binds the address itself and does not tell its port: so one is chosen that is free
        // now.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = address.expect("there is a free port");
        let server = HttpServer(Hello).start(address).expect("the port is free");
        announce(address);
        server.join().expect("no coroutine panics");
        unreachable!("it serves until the program ends")
    })
}
