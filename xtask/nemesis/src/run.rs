//! A run: the cluster starts, clients load it, faults come and go, and in the end everything is checked.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::{Value as Json, json};

use crate::agent;
use crate::check::{self, Verdict};
use crate::clients;
use crate::cluster::Cluster;
use crate::disk;
use crate::failure::{Failure, Outcome};
use crate::faults;
use crate::history::{Clock, OnRegister, Operation, Records, Segment};
use crate::options::Options;
use crate::place::Place;
use crate::report;
use crate::schedule::{Kind, schedule};
use crate::settle::{Rest, settle};
use crate::switch::{Switch, enter};

/// The file with the facts of a run, from which the report is made.
pub(crate) const FACTS: &str = "facts.json";
/// The file with all operations.
pub(crate) const OPERATIONS: &str = "operations.jsonl";
/// The file with the events of each connection.
const EVENTS: &str = "events.jsonl";
/// The file with the operations on registers.
const REGISTERS: &str = "registers.jsonl";

/// Runs everything, and writes the report.
///
/// # Errors
/// The system refuses something, or a rule is broken.
pub(crate) fn run(options: &Options) -> Outcome {
    fs::create_dir_all(&options.out).map_err(|e| Failure::file(&options.out, e))?;
    let out = options.out.canonicalize().map_err(|e| Failure::file(&options.out, e))?;
    let absolute = |path: &Path| path.canonicalize().map_err(|e| Failure::file(path, e));
    let program = absolute(&options.program)?;
    let previous = absolute(options.previous.as_ref().unwrap_or(&options.program))?;
    let kinds: Vec<Kind> = options.kinds.iter().copied().filter(|k| possible(*k, &program, &previous)).collect();
    let left_out = options.kinds.iter().filter(|k| !kinds.contains(k)).map(|k| k.name()).collect::<Vec<_>>();

    let switch = Switch::new(options.seed)?;
    enter(Place::Clients).map_err(|source| Failure::Network { member: "clients".into(), source })?;
    let mut cluster = Cluster::new(switch, &previous, &out)?;
    cluster.start()?;
    println!("the cluster is ready");
    let clock = Arc::new(Clock::new());
    let waited = waited_for_processors();
    let clients = clients::start(options.seed, &clock);
    let mut injected = Vec::new();
    let failure = inject(options, &kinds, &mut cluster, &clock, &program, &mut injected).err();
    if let Some(rest) = options.length.checked_sub(clock.elapsed()).filter(|_| failure.is_none()) {
        thread::sleep(rest);
    }
    clock.stop();
    let end = clock.now();
    let waited = waited_for_processors().zip(waited).map(|(after, before)| 100 * (after - before) / end.max(1));
    let mut records = Records::default();
    for client in clients {
        let joined = client.join().map_err(|_| Failure::NotReady("a client panicked".into()))?;
        records.extend(joined);
    }
    println!("the load has ended");
    write_histories(&out, &records)?;
    let rest = settle(&mut cluster, &records, options.seed)?;
    let verdicts = [histories(&records), rest.verdicts.clone()].concat();
    let unexpected: Vec<String> = cluster
        .servers
        .iter()
        .chain(&cluster.nodes)
        .flat_map(|a| a.unexpected.iter().map(|status| format!("{}: {status}", a.place)))
        .collect();
    let facts = json!({
        "seed": options.seed, "end": end, "left_out": left_out, "injected": injected, "unexpected": unexpected,
        "upgraded": previous != program, "waited": waited,
        "packets": packets(&cluster), "took": took(&rest), "verdicts": verdicts.iter().map(verdict).collect::<Vec<_>>(),
    });
    let path = out.join(FACTS);
    let text = serde_json::to_string_pretty(&facts).unwrap_or_default();
    fs::write(&path, text).map_err(|e| Failure::file(&path, e))?;
    drop(cluster);
    report::make(&out)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let broken: usize = verdicts.iter().map(|v| v.broken.len()).sum();
    if broken > 0 { Err(Failure::Violated(format!("{broken} violations: see {}", path.display()))) } else { Ok(()) }
}

/// For how many microseconds some process has waited for a processor since the start of the machine, if the kernel says.
fn waited_for_processors() -> Option<u64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let total = text.lines().find(|l| l.starts_with("some"))?.split("total=").nth(1)?;
    total.trim().parse().ok()
}

/// Whether the system allows a kind of fault.
fn possible(kind: Kind, program: &Path, previous: &Path) -> bool {
    match kind {
        Kind::WallClock => agent::has_clock(program) && agent::has_clock(previous),
        Kind::SlowDisk => disk::has_limits(),
        _ => true,
    }
}

/// Injects the faults of the schedule, one after the other.
fn inject(
    options: &Options,
    kinds: &[Kind],
    cluster: &mut Cluster,
    clock: &Clock,
    program: &Path,
    all: &mut Vec<Json>,
) -> Outcome {
    for step in schedule(options.seed, options.length, kinds) {
        if let Some(rest) = step.at.checked_sub(clock.elapsed()) {
            thread::sleep(rest);
        }
        let from = clock.now();
        let mut injected = faults::inject(cluster, &step, program)?;
        println!("{:7.1} s {}: {}", clock.elapsed().as_secs_f64(), step.kind, injected.what);
        thread::sleep(step.lasts);
        let to = clock.now();
        faults::end(cluster, &step, &mut injected)?;
        println!("{:7.1} s {} ended: {}", clock.elapsed().as_secs_f64(), step.kind, injected.what);
        all.push(json!({"kind": step.kind.name(), "from": from, "to": to, "what": injected.what}));
    }
    Ok(())
}

/// The checks of what clients saw.
fn histories(records: &Records) -> Vec<Verdict> {
    vec![
        check::registers::linearizable(&records.registers),
        check::registers::stale(&records.registers),
        check::locks::check(&records.holdings),
        check::indexes::check(&records.indexes),
        check::events::check(&records.segments, &records.job_writes),
        Verdict {
            what: "no node is over capacity at any time",
            amount: format!("{} polls of all allocations", records.polls),
            broken: records.violations.clone(),
        },
    ]
}

fn verdict(verdict: &Verdict) -> Json {
    json!({"what": verdict.what, "amount": verdict.amount, "broken": verdict.broken})
}

fn took(rest: &Rest) -> Vec<Json> {
    rest.took.iter().map(|(what, millis)| json!({"what": what, "ms": u64::try_from(*millis).unwrap_or(0)})).collect()
}

fn packets(cluster: &Cluster) -> Json {
    let counts = &cluster.switch.counts;
    let [delivered, dropped, delayed, doubled] =
        [&counts.delivered, &counts.dropped, &counts.delayed, &counts.doubled].map(|c| c.load(Ordering::Relaxed));
    json!({"delivered": delivered, "dropped": dropped, "delayed": delayed, "doubled": doubled})
}

fn write_histories(out: &Path, records: &Records) -> Outcome {
    let register = |r: &OnRegister| json!({"key": r.key, "stale": r.stale, "from": r.call.from, "to": r.call.to, "did": format!("{:?}", r.call.did)});
    write_lines(&out.join(OPERATIONS), records.operations.iter().map(Operation::json))?;
    write_lines(&out.join(REGISTERS), records.registers.iter().map(register))?;
    let segment = |s: &Segment| {
        let events: Vec<Json> = s.events.iter().map(|e| json!([e.index, e.kind, e.key])).collect();
        json!({"server": s.server.to_string(), "events": events})
    };
    write_lines(&out.join(EVENTS), records.segments.iter().map(segment))
}

fn write_lines(path: &Path, lines: impl Iterator<Item = Json>) -> Outcome {
    let failed = |e| Failure::file(path, e);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for line in lines {
        writeln!(file, "{line}").map_err(failed)?;
    }
    file.flush().map_err(failed)
}
