//! Echo over TLS: rustls has a synchronous API around anything that is `Read` and `Write`, so it
//! runs over a goroutine's `TcpStream` as it is.
//!
//! ```console
//! cargo run --release -p gosched-examples --example tls_echo -- serve 127.0.0.1:7779 cert.pem
//! cargo run --release -p gosched-examples --example tls_echo -- send 127.0.0.1:7779 cert.pem hello
//! ```
//!
//! The second one in another terminal.

#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use gosched::context::{self, ContextError};
use gosched::fs;
use gosched::net::TcpStream;
use gosched_examples::{Failure, STALLED, connect, listen, run, serve_each};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

const USAGE: &str = "usage: tls_echo serve HOST:PORT CERTIFICATE
       tls_echo send HOST:PORT CERTIFICATE TEXT

serve: makes a certificate for \"localhost\", writes it to the file CERTIFICATE, and sends back what it gets, over TLS
(port 0: any that is free). Ctrl-C ends it: what was read is still sent back, and who does not take it in is named, with
status 1.
send: trusts the one in the file CERTIFICATE, sends TEXT and prints what comes back.";

fn main() -> ExitCode {
    run(USAGE, 3..=4, |arguments| match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, certificate] => serve(address, certificate),
        ["send", address, certificate, text] => send(address, certificate, text),
        _ => Err(Failure::new(USAGE)),
    })
}

/// Makes a [`Failure`] of an error of TLS or of a file.
fn failed(what: &str) -> impl Fn(&dyn std::fmt::Display) -> Failure {
    move |error| Failure::new(format!("{what}: {error}"))
}

fn serve(address: &str, certificate: &str) -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])
        .map_err(|error| failed("cannot make a certificate")(&error))?;
    fs::write(certificate, made.cert.pem())
        .map_err(|error| failed(&format!("cannot write {certificate}"))(&error))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|error| failed("cannot use the key")(&error))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(|error| failed("cannot use the certificate")(&error))?;
    let config = Arc::new(config);
    serve_each(listen(address)?, move |stream, peer| match echo(Arc::clone(&config), stream) {
        Err(error) if ContextError::of(&error).is_none() => eprintln!("{peer}: {error}"),
        _ => {}
    })
}

/// One connection. Reads until the peer or the context ends; what was read is written in any case.
fn echo(config: Arc<ServerConfig>, stream: TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(STALLED))?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let ctx = context::current();
    let to_the_end = ctx.without_cancel();
    let mut buffer = [0; 4096];
    while !ctx.is_cancelled() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => context::enter(&to_the_end, || stream.write_all(&buffer[..n]))?,
            Err(error) if ContextError::of(&error).is_some() => break,
            Err(error) => return Err(error),
        }
    }
    // Else the flush would wait for the peer to finish the handshake.
    if stream.conn.is_handshaking() {
        return Ok(());
    }
    stream.conn.send_close_notify();
    context::enter(&to_the_end, || stream.flush())
}

fn send(address: &str, certificate: &str, text: &str) -> Result<(), Failure> {
    let der = CertificateDer::from_pem_file(certificate)
        .map_err(|error| failed(&format!("cannot read {certificate}"))(&error))?;
    let mut roots = RootCertStore::empty();
    roots.add(der).map_err(|error| failed("cannot trust the certificate")(&error))?;
    let config = Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
    let name = ServerName::try_from("localhost").map_err(|error| failed("localhost")(&error))?;
    let connection = ClientConnection::new(config, name).map_err(|error| failed("TLS")(&error))?;
    let mut stream = StreamOwned::new(connection, connect(address)?);
    let mut talk = || -> io::Result<Vec<u8>> {
        stream.write_all(text.as_bytes())?;
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back)?;
        stream.conn.send_close_notify();
        stream.flush()?;
        Ok(back)
    };
    let back = talk().map_err(|error| failed("the connection failed")(&error))?;
    println!("{}", String::from_utf8_lossy(&back));
    Ok(())
}
