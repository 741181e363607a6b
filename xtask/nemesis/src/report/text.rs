//! The document.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value as Json;

use super::numbers::{Fault, Gap, Operation, at_percentile, by_kind, millis, seconds};
use super::{LATENCY, THROUGHPUT, UNAVAILABILITY};
use crate::history::Micros;
use crate::schedule::Kind;

/// Limits of the lengths of gaps in the histogram, in seconds.
const LENGTHS: [u64; 7] = [1, 2, 3, 5, 10, 20, u64::MAX];

/// The report of a run. Writing to a string cannot fail.
pub(super) fn report(facts: &Json, operations: &[Operation], faults: &[Fault], gaps: &[Gap]) -> String {
    let mut out = String::new();
    let end = facts["end"].as_u64().unwrap_or(0);
    let verdicts = facts["verdicts"].as_array().cloned().unwrap_or_default();
    let broken: usize = verdicts.iter().filter_map(|v| v["broken"].as_array()).map(Vec::len).sum();
    let result = if broken == 0 { "no rule was broken".into() } else { format!("{broken} violations") };
    let _ = writeln!(
        out,
        "Seed {}, {:.1} minutes, {} faults of {} kinds, {} operations: **{result}**.\n",
        facts["seed"],
        seconds(end) / 60.0,
        faults.len(),
        by_kind(faults, gaps).len(),
        operations.len(),
    );
    check_table(&mut out, &verdicts);
    let _ = writeln!(out, "### Throughput\n\n![Throughput per second, with the faults]({THROUGHPUT})\n");
    operation_table(&mut out, operations);
    let _ = writeln!(out, "### Latency\n\n![Latency per second, with the faults]({LATENCY})\n");
    let _ =
        writeln!(out, "### Unavailability\n\n![Longest time without a write, per kind of fault]({UNAVAILABILITY})\n");
    gap_tables(&mut out, operations, faults, gaps, end);
    rest(&mut out, facts);
    fault_list(&mut out, faults, gaps);
    out
}

fn check_table(out: &mut String, verdicts: &[Json]) {
    let _ = writeln!(out, "### Checks\n\n| rule | checked | result |\n|---|---|---|");
    for verdict in verdicts {
        let broken = verdict["broken"].as_array().cloned().unwrap_or_default();
        let result = if broken.is_empty() { "holds".into() } else { format!("**broken**: {}", broken.len()) };
        let (what, amount) = (verdict["what"].as_str(), verdict["amount"].as_str());
        let _ = writeln!(out, "| {} | {} | {result} |", what.unwrap_or_default(), amount.unwrap_or_default());
    }
    out.push('\n');
    for broken in verdicts.iter().filter_map(|v| v["broken"].as_array()).flatten().take(30) {
        let _ = writeln!(out, "- {}", broken.as_str().unwrap_or_default());
    }
}

fn operation_table(out: &mut String, operations: &[Operation]) {
    let mut names: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in operations {
        names.entry(&operation.name).or_default().push(operation);
    }
    let _ = writeln!(
        out,
        "| operation | done | refused | not sent | unknown | median | 99th percentile |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    for (name, all) in names {
        let count = |end: &str| all.iter().filter(|o| o.end == end).count();
        let mut times: Vec<Micros> = all.iter().filter(|o| o.answered()).map(|o| o.to - o.from).collect();
        let mut at = |p| at_percentile(&mut times, p).map_or(0.0, millis);
        let (median, most) = (at(50), at(99));
        let [done, refused, failed, unknown] = ["Done", "Refused", "Failed", "Unknown"].map(count);
        let _ = writeln!(out, "| {name} | {done} | {refused} | {failed} | {unknown} | {median:.1} ms | {most:.0} ms |");
    }
    out.push('\n');
}

fn gap_tables(out: &mut String, operations: &[Operation], faults: &[Fault], gaps: &[Gap], end: Micros) {
    let total: Micros = gaps.iter().map(|g| g.length()).sum();
    let _ = writeln!(
        out,
        "Gaps are times of more than a second in which no client got a write acknowledged: {} gaps, {:.1} s in all,\n\
         {:.2} % of the run. A gap belongs to the last fault that began before it ended. `writes` are acknowledged\n\
         writes per second while the faults last; `unknown` are operations that began then and whose outcome no client\n\
         knows.\n",
        gaps.len(),
        seconds(total),
        100.0 * seconds(total) / seconds(end.max(1)),
    );
    let _ = writeln!(
        out,
        "| fault | times | with a gap | median gap | longest gap | writes | unknown |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    for (kind, all) in by_kind(faults, gaps) {
        let mut lengths: Vec<Micros> = all.iter().flat_map(|(_, gaps)| gaps).map(|g| g.length()).collect();
        let with = all.iter().filter(|(_, gaps)| !gaps.is_empty()).count();
        let median = at_percentile(&mut lengths, 50).map_or("-".into(), |l| format!("{:.1} s", seconds(l)));
        let longest = lengths.last().map_or("-".into(), |l| format!("{:.1} s", seconds(*l)));
        let inside = |time: Micros| all.iter().any(|(f, _)| time >= f.from && time < f.to);
        let time: f64 = all.iter().map(|(f, _)| seconds(f.to - f.from)).sum();
        let writes = operations.iter().filter(|o| o.writes && o.end == "Done" && inside(o.to)).count();
        let unknown = operations.iter().filter(|o| o.end == "Unknown" && inside(o.from)).count();
        let writes = f64::from(u32::try_from(writes).unwrap_or(u32::MAX)) / time.max(1.0);
        let _ = writeln!(out, "| {kind} | {} | {with} | {median} | {longest} | {writes:.1}/s | {unknown} |", all.len());
    }
    let _ = writeln!(out, "\n| length of a gap | gaps |\n|---|---:|");
    for pair in LENGTHS.windows(2) {
        let range = |g: &&Gap| (pair[0]..pair[1]).contains(&(g.length() / super::numbers::SECOND));
        let count = gaps.iter().filter(range).count();
        let label = if pair[1] == u64::MAX {
            format!("{} s or more", pair[0])
        } else {
            format!("{} to {} s", pair[0], pair[1])
        };
        let _ = writeln!(out, "| {label} | {count} |");
    }
    out.push('\n');
}

fn rest(out: &mut String, facts: &Json) {
    let _ = writeln!(out, "### After the faults\n\n| what must be so | after |\n|---|---:|");
    for step in facts["took"].as_array().cloned().unwrap_or_default() {
        let time = millis(step["ms"].as_u64().unwrap_or(0));
        let _ = writeln!(out, "| {} | {time:.1} s |", step["what"].as_str().unwrap_or_default());
    }
    let packets = &facts["packets"];
    let _ = writeln!(
        out,
        "\nPackets: {} delivered, {} dropped, {} delayed, {} doubled.",
        packets["delivered"], packets["dropped"], packets["delayed"], packets["doubled"]
    );
    if let Some(percent) = facts["waited"].as_u64() {
        let _ = writeln!(
            out,
            "Processes of the machine waited for a processor during {percent} % of the time: if that is most of the\n\
             time, gaps are those of the machine."
        );
    }
    let left_out = facts["left_out"].as_array().cloned().unwrap_or_default();
    if !left_out.is_empty() {
        let list = left_out.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "Left out, since the system or the program does not allow it: {list}.");
    }
    if facts["upgraded"] == false {
        let _ = writeln!(out, "Upgrades were to the same program.");
    }
    let unexpected = facts["unexpected"].as_array().cloned().unwrap_or_default();
    let list = unexpected.iter().filter_map(Json::as_str).collect::<Vec<_>>().join("; ");
    let list = if list.is_empty() { "none".to_string() } else { list };
    let _ = writeln!(out, "Agents that ended by themselves, and were started again: {list}.\n");
}

fn fault_list(out: &mut String, faults: &[Fault], gaps: &[Gap]) {
    let _ = writeln!(out, "### Faults\n\n| kind | what happens |\n|---|---|");
    for (kind, _) in by_kind(faults, gaps) {
        let meaning = Kind::named(kind).map_or("", Kind::meaning);
        let _ = writeln!(out, "| {kind} | {meaning} |");
    }
    let _ = writeln!(out, "\n| from | to | kind | where | longest gap |\n|---:|---:|---|---|---:|");
    for (fault, gaps) in faults.iter().zip(super::numbers::by_fault(faults, gaps)) {
        let longest = gaps.iter().map(|g| g.length()).max().map_or("-".into(), |l| format!("{:.1} s", seconds(l)));
        let (from, to) = (seconds(fault.from), seconds(fault.to));
        let _ = writeln!(out, "| {from:.0} s | {to:.0} s | {} | {} | {longest} |", fault.kind, fault.what);
    }
}
