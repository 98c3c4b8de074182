//! A client that was written for tokio (hyper-util's, with a pool of connections and tokio's
//! sockets and tasks), unchanged, called from a goroutine: `async-compat` provides a tokio runtime,
//! and `block_on` parks the goroutine meanwhile.
//!
//! `cargo run --release -p gosched-examples --example tokio_client -- http://127.0.0.1:8080/`

#![forbid(unsafe_code)]

use std::process::ExitCode;

use async_compat::Compat;
use gosched::future::block_on;
use gosched::go;
use gosched_examples::{Failure, run};
use http_body_util::{BodyExt, Empty};
use hyper::Uri;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

const USAGE: &str = "usage: tokio_client URL...

Fetches each http:// URL in a goroutine of its own, with a client for tokio, and prints what comes.";

fn main() -> ExitCode {
    run(USAGE, 1..=usize::MAX, |urls| {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let fetches: Vec<_> = urls
            .into_iter()
            .map(|url| {
                let client = client.clone();
                go(move || fetch(&client, &url))
            })
            .collect();
        for fetch in fetches {
            println!("{}", fetch.join().map_err(|_| Failure::new("a fetch panicked"))??);
        }
        Ok(())
    })
}

/// What is at `url`. Plain code: it waits as any goroutine does.
fn fetch(client: &Client<HttpConnector, Empty<Bytes>>, url: &str) -> Result<String, Failure> {
    let uri: Uri = url.parse().map_err(|error| Failure::new(format!("{url} is no URL: {error}")))?;
    let body = block_on(Compat::new(async {
        let response = client.get(uri).await.map_err(|error| error.to_string())?;
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok(body.to_bytes())
    }))
    .map_err(|error: String| Failure::new(format!("cannot fetch {url}: {error}")))?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}
