//! The simulator's program; all of it is in the library's `cli`.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match gosched_sim::cli::main(std::env::args_os(), &mut out)
        .and_then(|status| out.flush().map(|()| status))
    {
        Ok(status) => ExitCode::from(status.clamp(0, 255) as u8),
        // Whoever reads has seen enough (`| head`).
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gosched-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
