//! The report in a real browser: the charts are there, and nothing complains. And the pictures of
//! the page for learners are up to date.
//!
//! Seen to fail: with one chart left out of the page (their number), with a script that throws in
//! it (the console), and with a bar one pixel lower (pictures).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gosched_sim::costs::Costs;
use gosched_sim::kind::PolicyKind;
use gosched_sim::output::files::Report;
use gosched_sim::output::{html, pictures};
use gosched_sim::scale::{Change, Scenario, point};
use gosched_sim::study::Plan;
use gosched_sim::table;
use gosched_sim::time::MS;
use gosched_sim::workload::Kind;

/// Counts the charts that have a size and something in them, and leaves the number in the page.
const PROBE: &str = "<script>
const seen = [...document.querySelectorAll('svg')].filter(svg => {
    const box = svg.getBoundingClientRect();
    return box.width > 200 && box.height > 100 && svg.querySelectorAll('rect, circle').length > 3;
});
document.body.dataset.charts = seen.length;
</script>";

fn small_report() -> Report {
    let plan = Plan {
        policies: PolicyKind::TEXTBOOK.to_vec(),
        workloads: vec![Kind::Mixed, Kind::Heavy],
        procs: vec![1],
        jobs: Some(500),
        load: 0.8,
        quantum: MS,
        change: Change::Library,
        cpus: None,
        costs: Costs::default(),
        seed: 1,
    };
    let scale = Scenario::ALL.into_iter().flat_map(|scenario| {
        [1, 2].into_iter().flat_map(move |procs| {
            Change::ALL.map(|change| point(scenario, change, procs, &Costs::default(), 1))
        })
    });
    Report {
        seed: 1,
        costs: Costs::default(),
        table: vec![
            table::row(PolicyKind::Fcfs, &Costs::default(), 1),
            table::row(PolicyKind::Gmp, &Costs::default(), 1),
        ],
        runs: plan.run(|_| ()),
        scale: scale.collect(),
    }
}

/// Whether a program of this name can be started.
fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let started =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        started.is_ok_and(|status| status.success())
    })
}

/// Opens a page and returns its DOM and what the browser logged; the browser is ended if it takes
/// more than a minute.
fn open(browser: &str, page: &Path, profile: &Path) -> (String, String) {
    let (dom, log) = (profile.with_extension("dom"), profile.with_extension("log"));
    let create = |path: &Path| std::fs::File::create(path).expect("a file for output");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .stdout(create(&dom))
        .stderr(create(&log))
        .spawn()
        .expect("the browser starts");
    let began = Instant::now();
    while child.try_wait().expect("the browser can be waited for").is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            panic!("the browser has not come to an end after a minute");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("output")).into_owned();
    (read(&dom), read(&log))
}

/// Every chart is drawn with a size, and the console stays empty.
#[test]
fn the_report_opens_in_a_browser() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: there is no Chromium here (Debian: apt-get install chromium)");
        return;
    };
    let page = html::page(&small_report());
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("www.w3.org/2000/svg").count()
    );
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join("report-in-browser.html");
    std::fs::write(&path, page.replace("</body>", &format!("{PROBE}</body>"))).expect("the page is written");
    let profile = directory.join(format!("chromium-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&profile);
    let (dom, log) = open(browser, &path, &profile);
    let _ = std::fs::remove_dir_all(&profile);
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    // Five examples, who is hurt, responses, lengths, slices, scaling, changes.
    assert!(
        dom.contains("data-charts=\"11\""),
        "{}",
        dom.lines().find(|l| l.contains("<body")).unwrap_or("no body")
    );
}

/// The pictures in docs/pictures are what the program makes now. Only those that no random number
/// is in, so that another machine's logarithm does not matter; of the others it is checked that
/// they are there.
#[test]
fn pictures_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let again = "make them again: cargo run --release -p gosched-sim -- --pictures docs/pictures";
    let read = |name: &str| {
        let path = directory.join(format!("{name}.svg"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; {again}", path.display()))
    };
    for picture in pictures::gantts().into_iter().chain([pictures::slices()]) {
        assert!(
            read(&picture.name) == picture.canvas.standalone(),
            "{} is out of date; {again}",
            picture.name
        );
    }
    for name in ["effects", "lengths", "scaling", "changes"] {
        assert!(read(name).contains("</svg>"));
    }
}
