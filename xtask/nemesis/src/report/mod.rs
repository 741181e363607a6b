//! The report of a run: a document and its pictures, from the files that the run left.

mod numbers;
mod svg;
mod text;

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::failure::{Failure, Outcome};
use crate::run::{FACTS, OPERATIONS};
use numbers::{Fault, Operation, by_kind, gaps, latency, per_second, seconds};
use svg::{Axis, Line};

/// The document and its pictures.
const REPORT: &str = "report.md";
const THROUGHPUT: &str = "nemesis-throughput.svg";
const LATENCY: &str = "nemesis-latency.svg";
const UNAVAILABILITY: &str = "nemesis-unavailability.svg";

/// Writes the report of the run whose files are in a directory.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn make(folder: &Path) -> Outcome {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|e| Failure::file(&path, e))
    };
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| Failure::file(&path, e))
    };
    let facts: Json = serde_json::from_str(&read(FACTS)?).unwrap_or(Json::Null);
    let operations = operations(&read(OPERATIONS)?);
    let faults = faults(&facts["injected"]);
    let end = facts["end"].as_u64().unwrap_or(0);
    let all = Line { name: "operations answered in a second", values: per_second(operations.iter(), end) };
    let writes = operations.iter().filter(|o| o.writes && o.end == "Done");
    let writes = Line { name: "writes acknowledged in a second", values: per_second(writes, end) };
    write(THROUGHPUT, &svg::rows("Throughput", &[all, writes], Axis::Linear, &faults, end))?;
    let line = |name, percentile| Line { name, values: latency(&operations, end, percentile) };
    let lines = [line("median latency, ms", 50), line("99th percentile, ms", 99)];
    write(LATENCY, &svg::rows("Latency", &lines, Axis::Logarithmic, &faults, end))?;
    let gaps = gaps(&operations, end);
    let kinds = by_kind(&faults, &gaps);
    // The longest gap of each fault; a point at zero is a fault without one.
    let longest = |gaps: &Vec<numbers::Gap>| gaps.iter().map(|g| seconds(g.length())).fold(0.0, f64::max);
    let cases: Vec<(&str, Vec<f64>)> =
        kinds.iter().map(|(kind, all)| (*kind, all.iter().map(|(_, gaps)| longest(gaps)).collect())).collect();
    let title = "Longest time without an acknowledged write, beyond 1 s: bars per kind, a circle per fault";
    write(UNAVAILABILITY, &svg::cases(title, &cases))?;
    write(REPORT, &text::report(&facts, &operations, &faults, &gaps))
}

fn operations(text: &str) -> Vec<Operation> {
    let word = |value: &Json| value.as_str().unwrap_or_default().to_string();
    let operation = |line: &str| {
        let o: Json = serde_json::from_str(line).ok()?;
        let writes = o["writes"] == true;
        let (from, to) = (o["from"].as_u64()?, o["to"].as_u64()?);
        Some(Operation { name: word(&o["name"]), writes, from, to, end: word(&o["end"]) })
    };
    text.lines().filter_map(operation).collect()
}

fn faults(list: &Json) -> Vec<Fault> {
    let word = |value: &Json| value.as_str().unwrap_or_default().to_string();
    let fault = |f: &Json| {
        let (from, to) = (f["from"].as_u64()?, f["to"].as_u64()?);
        Some(Fault { kind: word(&f["kind"]), from, to, what: word(&f["what"]) })
    };
    list.as_array().map(|l| l.iter().filter_map(fault).collect()).unwrap_or_default()
}
