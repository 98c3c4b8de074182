//! The report: one HTML file with everything in it, readable in light and dark. No script, no font,
//! nothing from elsewhere.

use super::files::Report;
use super::pictures::{self, Picture};
use super::svg::{STYLE, escape};
use super::terminal;

const PAGE_STYLE: &str = "
body{background:var(--bg);color:var(--ink);font:15px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif;max-width:1180px;margin:0 auto;padding:24px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:44px 0 4px}p{max-width:760px;color:var(--soft);margin:6px 0 14px}
figure{margin:18px 0;overflow-x:auto}svg{max-width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;white-space:nowrap}
th{color:var(--soft);font-weight:600;text-align:right;padding:6px 8px;border-bottom:2px solid var(--axis)}
td{text-align:right;padding:5px 8px;border-bottom:1px solid var(--line)}th:first-child,td:first-child{text-align:left}
details{margin:14px 0}summary{cursor:pointer;color:var(--soft)}code{font-size:13px}
";

fn table((headings, rows): (Vec<&'static str>, Vec<Vec<String>>)) -> String {
    let head: String = headings.iter().map(|heading| format!("<th>{}</th>", escape(heading))).collect();
    let row = |cells: &Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )
}

fn figure(picture: &Picture) -> String {
    format!("<figure id=\"{}\">\n{}</figure>\n", picture.name, picture.canvas.inline())
}

fn section(title: &str, text: &str, body: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n<p>{}</p>\n{body}</section>\n", escape(title), escape(text))
}

/// The page.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut body = String::new();
    if !report.table.is_empty() {
        let rows = table(terminal::policy_cells(&report.table));
        body += &section(
            "The textbook's table, measured",
            "Mixed workload at a load of 0.8 on one processor. Short, long and I/O are mean slowdowns. Starvation is tried out: a long \
             job beside short ones that never end.",
            &(rows + &figure(&pictures::effects(&report.table))),
        );
    }
    let gantts: String = pictures::gantts().iter().map(figure).collect();
    body +=
        &section("Small examples", "One processor, free switches. Point at a bar to see its times.", &gantts);
    if !report.runs.is_empty() {
        let mut procs: Vec<u32> = report.runs.iter().map(|line| line.procs).collect();
        procs.dedup();
        let mut charts: String =
            procs.iter().map(|procs| figure(&pictures::responses(&report.runs, *procs))).collect();
        if let Some(lengths) = pictures::lengths(&report.runs) {
            charts += &figure(&lengths);
        }
        charts += &figure(&pictures::slices());
        let all = table(terminal::run_cells(&report.runs));
        charts += &format!("<details><summary>All figures</summary>\n{all}</details>\n");
        body += &section(
            "Policies and workloads",
            "Each policy on each workload, with the same jobs. Response is from arrival to end.",
            &charts,
        );
    }
    if !report.scale.is_empty() {
        let charts = figure(&pictures::scaling(&report.scale)) + &figure(&pictures::changes(&report.scale));
        let all = table(terminal::scale_cells(&report.scale));
        body += &section(
            "Our scheduler on many processors",
            "The library as it is, and with changes that have been tried only here. Beyond two CPUs nobody has compared it: trust the shapes, not the \
             digits.",
            &format!("{charts}<details><summary>All figures</summary>\n{all}</details>\n"),
        );
    }
    body += &section("What things cost", "In nanoseconds; costs.rs says which are measured.", &costs(report));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>Scheduling policies, simulated</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<h1>Scheduling policies, simulated</h1>\n<p>Seed {}. \
         The same seed gives the same page.</p>\n{body}</body>\n</html>\n",
        report.seed
    )
}

fn costs(report: &Report) -> String {
    let fields = serde_json::to_value(&report.costs).ok();
    let fields = fields.as_ref().and_then(|value| value.as_object());
    let rows =
        fields.into_iter().flatten().map(|(name, value)| vec![name.replace('_', " "), value.to_string()]);
    table((vec!["what", "ns"], rows.collect()))
}
