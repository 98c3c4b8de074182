//! wrk, the client of those workloads whose programs only serve: finding it, running it, reading
//! what it prints.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{self, Figures};
use crate::rows::Size;
use crate::server::Server;

/// How to get it.
pub const REMEDY: &str = "apt-get install wrk";

/// A wrk that can be run.
#[derive(Debug)]
pub struct Wrk {
    path: &'static Path,
}

impl Wrk {
    /// The one on the PATH.
    pub fn find() -> Option<Wrk> {
        let path = Path::new("wrk");
        let found = Command::new(path).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok().then_some(Wrk { path })
    }

    /// Loads a server from one thread, over so many `connections`, for so many `seconds`.
    pub fn load(&self, server: &Server, sizes: &[Size]) -> Result<Figures, String> {
        let size = |wanted| {
            let found = sizes.iter().find(|(name, _)| *name == wanted).map(|(_, size)| size);
            found.ok_or_else(|| format!("wrk needs the size {wanted:?}"))
        };
        let (connections, seconds) = (size("connections")?, size("seconds")?);
        let args = ["-t1".into(), format!("-c{connections}"), format!("-d{seconds}s"), "--latency".into()];
        figures(&process::run(self.path, &[args.as_slice(), &[server.url()]].concat())?)
    }
}

/// Reads a report of wrk: answers per second, and the time within which 99 % of them came. A report
/// with errors is an error.
fn figures(report: &str) -> Result<Figures, String> {
    let after = |start| report.lines().find_map(|line| line.trim().strip_prefix(start)).map(str::trim);
    for errors in ["Socket errors:", "Non-2xx or 3xx responses:"] {
        if let Some(found) = after(errors) {
            return Err(format!("wrk had errors: {errors} {found}"));
        }
    }
    let per_s = after("Requests/sec:").and_then(|rate| rate.parse().ok()).filter(|rate| *rate > 0.0);
    match (per_s, after("99%").and_then(micros)) {
        (Some(per_s), Some(p99)) => Ok([("per_s".to_owned(), per_s), ("p99_us".to_owned(), p99)].into()),
        _ => Err(format!("wrk's report was expected, not {report:?}")),
    }
}

/// A time as wrk prints it, `396.00us`, `1.10ms`, `2.05s` or `1.20m`, in microseconds.
fn micros(time: &str) -> Option<f64> {
    let (number, unit) = time.split_at(time.find(char::is_alphabetic)?);
    let factor = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Running 1s test @ http://127.0.0.1:8080/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   493.16us  287.27us   6.59ms   93.34%
    Req/Sec   130.40k     6.31k  141.26k    70.00%
  Latency Distribution
     50%  446.00us
     75%  536.00us
     90%  645.00us
     99%    1.62ms
  129749 requests in 1.00s, 10.89MB read
Requests/sec: 129545.18
Transfer/sec:     10.87MB
";

    #[test]
    fn a_report_gives_the_rate_and_the_slowest_hundredth() {
        let read = figures(REPORT).unwrap();
        assert_eq!((read["per_s"], read["p99_us"]), (129_545.18, 1_620.0));
    }

    #[test]
    fn errors_are_no_measurement() {
        for line in
            ["Socket errors: connect 0, read 7, write 0, timeout 0", "Non-2xx or 3xx responses: 129749"]
        {
            let report = REPORT.replace("Requests/sec:", &format!("  {line}\nRequests/sec:"));
            let error = figures(&report).unwrap_err();
            assert!(error.contains(line), "{error}");
        }
        assert!(figures(&REPORT.replace("129545.18", "0.00")).is_err());
        assert!(figures("wrk: unknown option").unwrap_err().contains("unknown option"));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(
            ["396.00us", "1.50ms", "2.00s", "1.50m"].map(micros),
            [Some(396.0), Some(1_500.0), Some(2e6), Some(90e6)]
        );
        assert_eq!(["", "17", "1.00h", "us"].map(micros), [None; 4]);
    }

    #[test]
    fn a_size_that_is_missing_is_named() {
        let server = Server::start(Path::new("/bin/sh"), &["-c".into(), "echo port=9; cat".into()]).unwrap();
        let error = Wrk { path: Path::new("wrk") }.load(&server, &[("connections", 64)]).unwrap_err();
        assert!(error.contains("seconds"), "{error}");
    }
}
