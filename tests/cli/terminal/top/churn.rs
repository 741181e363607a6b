//! Memory and processor time of `encamp top` about a cluster that changes all the time, and about one at rest.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Folder;
use crate::terminal::encamp;
use crate::terminal::screen::{SIZES, Screen};

/// Events each second while the cluster changes.
const EVENTS: u64 = 50;
/// Allocations of the cluster.
const ALLOCATIONS: u64 = 500;
/// How long the cluster is watched at rest at most.
const REST: Duration = Duration::from_secs(300);
/// The pause between two measurements.
const STEP: Duration = Duration::from_secs(1);
/// Ticks of the kernel in a second.
const TICKS: f64 = 100.0;

/// A cluster whose event stream has `EVENTS` events each second while it changes.
#[derive(Default)]
struct Changing {
    changes: AtomicBool,
    index: AtomicU64,
}

fn serve() -> (String, Arc<Changing>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let cluster = Arc::new(Changing::default());
    let shared = cluster.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let cluster = shared.clone();
            // A client that leaves ends its thread.
            std::thread::spawn(move || converse(&stream, &cluster));
        }
    });
    (address, cluster)
}

fn converse(stream: &TcpStream, cluster: &Changing) -> std::io::Result<()> {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let target = line.split(' ').nth(1).unwrap_or_default().to_string();
        while line.trim_end() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        if target.starts_with("/v1/event/stream") {
            return events(writer, cluster);
        }
        let body = answer(&target, cluster.index.load(Ordering::Relaxed)).to_string();
        write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
    }
}

fn events(mut writer: &TcpStream, cluster: &Changing) -> std::io::Result<()> {
    write!(writer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    loop {
        let line = if cluster.changes.load(Ordering::Relaxed) {
            let index = cluster.index.fetch_add(1, Ordering::Relaxed);
            let about = json!({"Name": format!("job-{}.g[0]", index % 40), "ClientStatus": "running"});
            let event = json!({
                "Topic": "Allocation", "Type": "AllocationUpdated", "Key": format!("{index:08}"),
                "Namespace": "default", "Payload": {"Allocation": about}
            });
            json!({"Index": index, "Events": [event]})
        } else {
            json!({})
        };
        let line = format!("{line}\n");
        write!(writer, "{:x}\r\n{line}\r\n", line.len())?;
        sleep(STEP / EVENTS as u32);
    }
}

fn answer(target: &str, index: u64) -> Value {
    let path = target.split('?').next().unwrap_or_default();
    match path {
        "/v1/jobs" => {
            let job = |n: u64| {
                let summary = json!({"Summary": {"g": {"Running": (n + index) % 7}}});
                json!({"ID": format!("job-{n}"), "Namespace": "default", "Type": "service", "Status": "running",
                    "JobSummary": summary})
            };
            (0..40).map(job).collect()
        }
        "/v1/allocations" => {
            let allocation = |n: u64| {
                json!({"ID": format!("{n:08}"), "Namespace": "default", "JobID": format!("job-{}", n % 40),
                    "NodeID": format!("n{}", n % 30), "ClientStatus": "running", "DesiredStatus": "run",
                    "CreateIndex": n, "ModifyTime": (index + n) * 1_000_000_000})
            };
            (0..ALLOCATIONS).map(allocation).collect()
        }
        "/v1/nodes" => {
            let node = |n: u64| {
                json!({"ID": format!("n{n}"), "Name": format!("node-{n}"), "Datacenter": "dc1", "NodePool": "default",
                    "Status": "ready", "SchedulingEligibility": "eligible",
                    "NodeResources": {"Cpu": {"CpuShares": 4000}, "Memory": {"MemoryMB": 8000}}})
            };
            (0..30).map(node).collect()
        }
        _ => json!([]),
    }
}

/// Resident memory in MiB and processor time in seconds.
fn measured(process: u32) -> (f64, f64) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).expect("the process runs");
    let memory = read("status").lines().find_map(|line| {
        let kib = line.strip_prefix("VmRSS:")?.trim().trim_end_matches(" kB");
        kib.parse::<f64>().ok()
    });
    let stat = read("stat");
    // The name of the program, in brackets, may have blanks.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum::<f64>();
    (memory.unwrap_or(0.0) / 1024.0, ticks / TICKS)
}

/// Measures for a time; gives the share of a core and the resident memory after a quarter and at the end.
fn watched(screen: &Screen, time: Duration, mut each: impl FnMut(u64)) -> (f64, f64, f64) {
    let (begun, (_, before)) = (Instant::now(), measured(screen.process()));
    let (mut early, mut step) = (None, 0);
    while begun.elapsed() < time {
        sleep(STEP);
        each(step);
        step += 1;
        if begun.elapsed() > time / 4 && early.is_none() {
            early = Some(measured(screen.process()).0);
        }
    }
    let (memory, after) = measured(screen.process());
    ((after - before) / begun.elapsed().as_secs_f64(), early.unwrap_or(memory), memory)
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn memory_does_not_grow_and_a_cluster_at_rest_takes_no_processor_time() {
    let seconds = std::env::var("ENCAMP_TOP_SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let time = Duration::from_secs(seconds);
    let folder = Folder::new("top-churn");
    let (address, cluster) = serve();
    let screen = encamp(SIZES[0], &folder, &address, &["top"]);
    screen.wait_for("jobs (40)");
    cluster.changes.store(true, Ordering::Relaxed);
    let views = [":jobs\r", ":alloc\r", ":events\r", ":topo\r", ":nodes\r", "/job\r", "\x1b"];
    let (share, early, late) = watched(&screen, time, |step| {
        if step % 5 == 0 {
            screen.press(views[usize::try_from(step / 5).unwrap_or(0) % views.len()]);
        }
    });
    println!(
        "{seconds} s of changes: {:.1} % of a core, {early:.1} MiB after a quarter, {late:.1} MiB at the end",
        share * 100.0
    );
    assert!(late < early * 1.1 + 4.0, "the memory grows from {early:.1} to {late:.1} MiB");
    cluster.changes.store(false, Ordering::Relaxed);
    screen.press("\x1b:jobs\r");
    screen.wait_for("jobs (40)");
    let rest = time.min(REST);
    let (share, _, memory) = watched(&screen, rest, |_| {});
    println!("{} s at rest: {:.2} % of a core, {memory:.1} MiB", rest.as_secs(), share * 100.0);
    assert!(share <= 0.03, "{:.2} % of a core at rest", share * 100.0);
    screen.press("q");
    screen.ends().with(0);
}
