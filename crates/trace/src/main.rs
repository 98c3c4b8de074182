//! The trace tool's program; all of it is in the library's `cli`.

use std::io::Write;
use std::process::ExitCode;

use gosched_trace::failure::ToolError;

fn main() -> ExitCode {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let status = gosched_trace::cli::main(std::env::args_os(), &mut out)
        .and_then(|status| out.flush().map(|()| status).map_err(ToolError::Output));
    match status {
        Ok(status) => ExitCode::from(status),
        // Whoever reads has seen enough (`| head`).
        Err(ToolError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gosched-trace: {error}");
            ExitCode::from(2)
        }
    }
}
