//! Running clusters over their HTTP API: `snapshot fetch`, `job plan` without a file, `-remote`, `-check-remote`.

use crate::oracle;
use crate::server;
use std::collections::BTreeMap;

use crate::cluster::{Cluster, serve};
use crate::program::{Folder, Ran, run_with};
use crate::server::{Response, Server};
use serde_json::{Value, json};

const SERVICE: &str = r#"
job "newcomer" {
  datacenters = ["*"]
  group "g" {
    count = 5
    network {
      port "http" {}
    }
    task "t" {
      driver = "exec"
      config { command = "/bin/app" }
      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
"#;

struct Bench {
    folder: Folder,
    server: Server,
    cluster: std::sync::Arc<std::sync::Mutex<Cluster>>,
}

impl Bench {
    /// A served cluster, a folder with a job file and a cache; `None` without oracle.
    fn new(name: &str, sample: &str) -> Option<Bench> {
        let (server, cluster) = serve(Cluster::recorded(sample)?.shrunk(40));
        let folder = Folder::new(name);
        folder.file("job.hcl", SERVICE);
        Some(Bench { folder, server, cluster })
    }

    fn run(&self, args: &[&str]) -> Ran {
        let cache = self.folder.path().join("cache").display().to_string();
        let env = [("NOMAD_ADDR", self.server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
        run_with(self.folder.path(), args, &env, None)
    }

    /// Runs and returns how often each kind of object was asked for.
    fn counted(&self, args: &[&str]) -> (Ran, BTreeMap<&'static str, usize>) {
        self.server.take();
        let ran = self.run(args);
        let mut counts = BTreeMap::new();
        for r in self.server.take() {
            let kind = match r.path.as_str() {
                p if p.starts_with("/v1/node/") && p.ends_with("/allocations") => "allocations of a node",
                "/v1/node/pools" => "list",
                p if p.starts_with("/v1/node/") => "node",
                p if p.starts_with("/v1/job/") => "job",
                p if p.starts_with("/v1/allocation/") => "allocation",
                _ => "list",
            };
            *counts.entry(kind).or_default() += 1;
        }
        (ran, counts)
    }

    fn fetch(&self) -> Value {
        let ran = self.run(&["snapshot", "fetch", "-out", "cluster.json.zst", "-json"]);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{}", ran.stdout);
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

#[test]
fn a_second_fetch_reads_only_what_changed() {
    let Some(bench) = Bench::new("live-fetch", "fleet") else { return };
    let (nodes, allocations) = {
        let c = bench.cluster.lock().unwrap();
        (c.nodes.len(), c.allocations.len())
    };
    let (ran, first) = bench.counted(&["snapshot", "fetch", "-out", "cluster.json.zst"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    assert_eq!(first["node"], nodes);
    assert!(first["allocations of a node"] <= nodes, "{first:?}");
    let requests: usize = first.values().sum();
    println!("{nodes} nodes: {requests} requests {first:?}");
    assert!(ran.stdout.starts_with(&format!("{nodes} nodes, {requests} requests: ")), "{}", ran.stdout);
    let document = include_str!("../../docs/guide/live.md");
    let line = ran.stdout.lines().next().unwrap();
    assert!(document.contains(&format!("```text\n{line}\n```")), "docs/guide/live.md shows another fetch than {line}");

    let report = bench.fetch();
    assert_eq!((report["Nodes"].as_u64(), report["Read"].as_u64()), (Some(nodes as u64), Some(0)));
    assert_eq!(report["Allocations"].as_u64(), Some(allocations as u64));

    let changed = {
        let mut c = bench.cluster.lock().unwrap();
        c.index += 5;
        let index = c.index;
        let id = c.nodes.keys().next().unwrap().clone();
        let node = c.nodes.get_mut(&id).unwrap();
        node["SchedulingEligibility"] = json!("ineligible");
        node["ModifyIndex"] = json!(index);
        let a = c.allocations.values_mut().next().unwrap();
        a["ClientDescription"] = json!("changed");
        a["ModifyIndex"] = json!(index);
        id
    };
    let (ran, third) = bench.counted(&["snapshot", "fetch", "-out", "cluster.json.zst"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!((third["node"], third["allocations of a node"]), (1, 1), "{third:?}");
    assert!(!third.contains_key("job"), "{third:?}");
    let text = std::fs::read(bench.folder.path().join("cluster.json.zst")).unwrap();
    let file = encamp_snapshot::read(&text, "cluster").unwrap();
    assert!(!file.state.node(&changed).unwrap().node.ready());
    assert_eq!(file.state.allocs().filter(|a| a.alloc.client_description == "changed").count(), 1);
}

/// Servers forget old versions of jobs, and jobs; what the cache holds of their allocations is not enough then.
#[test]
fn allocations_bring_the_jobs_that_servers_forget() {
    let Some(bench) = Bench::new("live-forgotten", "fleet") else { return };
    bench.fetch();
    let forgotten: Vec<(String, String)> = {
        let mut c = bench.cluster.lock().unwrap();
        c.index += 5;
        let index = c.index;
        let runs = |a: &&Value| a["ClientStatus"] == "running" && a["DesiredStatus"] == "run";
        let key = |a: &Value| (text(&a["Namespace"]), text(&a["JobID"]));
        let mut keys: Vec<_> =
            c.allocations.values().filter(runs).map(key).filter(|k| c.jobs.contains_key(k)).collect();
        keys.sort();
        keys.dedup();
        keys.truncate(3);
        let change = |job: &mut Value, version: u64| {
            job["Version"] = json!(version);
            job["ModifyIndex"] = json!(index);
            job["SubmitTime"] = json!(job["SubmitTime"].as_i64().unwrap() + 1);
        };
        // One has newer versions only, one was purged, one was purged and registered again.
        let newer = c.jobs.get_mut(&keys[0]).unwrap();
        let version = newer[0]["Version"].as_u64().unwrap();
        newer.truncate(1);
        change(&mut newer[0], version + 7);
        c.jobs.remove(&keys[1]);
        let again = c.jobs.get_mut(&keys[2]).unwrap();
        again.iter_mut().for_each(|job| {
            let version = job["Version"].as_u64().unwrap();
            change(job, version);
            job["CreateIndex"] = json!(index);
            job["TaskGroups"][0]["Name"] = json!("other");
        });
        keys
    };
    let plan = bench.run(&["job", "plan", "job.hcl"]);
    assert_eq!((plan.stderr.as_str(), plan.exit), ("", 1), "no allocation lacks its job");
    let report = bench.fetch();
    assert!(report["Read"].as_u64() > Some(0), "{report}");
    let path = bench.folder.path().join("cluster.json.zst");
    let file = encamp_snapshot::load(&path, Default::default()).unwrap();
    assert!(file.notes.is_empty(), "{:?}", file.notes);
    let c = bench.cluster.lock().unwrap();
    let mut checked = 0;
    for a in c.allocations.values().filter(|a| forgotten.contains(&(text(&a["Namespace"]), text(&a["JobID"])))) {
        let job =
            file.state.alloc(a["ID"].as_str().unwrap()).unwrap().alloc.job.clone().expect("the job of its placement");
        let recorded = &a["Job"];
        assert_eq!(
            (json!(job.version), json!(job.create_index)),
            (recorded["Version"].clone(), recorded["CreateIndex"].clone())
        );
        assert_eq!(json!(job.task_groups[0].name), recorded["TaskGroups"][0]["Name"]);
        checked += 1;
    }
    assert!(checked >= 3, "{checked} allocations");
    drop(c);
    assert_eq!(bench.fetch()["Read"], 0, "all is known now");
}

fn text(v: &Value) -> String {
    v.as_str().unwrap().to_string()
}

#[test]
fn a_plan_of_the_running_cluster_is_that_of_its_snapshot() {
    let Some(bench) = Bench::new("live-plan", "fleet") else { return };
    let known = {
        let c = bench.cluster.lock().unwrap();
        let running =
            |id: &str| c.allocations.values().filter(|a| a["JobID"] == id && a["ClientStatus"] == "running").count();
        let services = c.jobs.values().filter(|v| v[0]["Type"] == "service" && v[0]["Stop"] == false);
        let mut job = services.max_by_key(|v| running(v[0]["ID"].as_str().unwrap())).unwrap()[0].clone();
        let count = job["TaskGroups"][0]["Count"].as_i64().unwrap();
        job["TaskGroups"][0]["Count"] = json!(count + 3);
        job["TaskGroups"][0]["Tasks"][0]["Env"]["NEW"] = json!("1");
        job
    };
    bench.folder.file("known.json", known.to_string());
    bench.fetch();
    for args in [&["job.hcl"][..], &["-json", "known.json"]] {
        let (live, counts) = bench.counted(&[&["job", "plan", "-no-cache"], args].concat());
        assert_eq!(live.exit, 1, "{}", live.stderr);
        assert!(!counts.contains_key("allocations of a node"), "{counts:?}");
        let file = bench.run(&[&["job", "plan", "-snapshot", "cluster.json.zst"], args].concat());
        assert_eq!((live.stdout, live.stderr), (file.stdout, file.stderr));
    }
    let again = bench.counted(&["job", "plan", "-verbose", "job.hcl"]).0;
    assert!(again.stderr.starts_with("40 nodes, "), "{}", again.stderr);
}

/// What-ifs read everything and find on the running cluster what they find on its snapshot.
#[test]
fn a_what_if_of_the_running_cluster_is_that_of_its_snapshot() {
    let Some(bench) = Bench::new("live-what-if", "fleet") else { return };
    bench.fetch();
    let node = bench.cluster.lock().unwrap().nodes.keys().next().cloned().unwrap();
    for (command, flags) in
        [("what-if", vec!["-down", node.as_str()]), ("capacity", vec!["-add", "2:like=", "job.hcl"])]
    {
        let like = format!("2:like={node}");
        let flags: Vec<&str> = flags.iter().map(|f| if f.ends_with("like=") { like.as_str() } else { f }).collect();
        let live = bench.run(&[&[command], flags.as_slice()].concat());
        let filed = bench.run(&[&[command, "-snapshot", "cluster.json.zst"], flags.as_slice()].concat());
        let others = live.stderr.lines().filter(|l| !l.starts_with("Servers would reject ")).count();
        assert!(others == 0 && !live.stdout.is_empty() && live.stderr == filed.stderr, "{command}: {}", live.stderr);
        assert_eq!(live.stdout, filed.stdout, "{command}");
    }
}

/// Launches of a running cluster are those of its snapshot; runs that the cluster still has count.
#[test]
fn launches_of_the_running_cluster_are_those_of_its_snapshot() {
    let Some(bench) = Bench::new("live-launches", "dev-acl") else { return };
    bench.fetch();
    let from = "-from=2026-12-01T00:00:00Z";
    for command in [
        &["job", "launches", from, "-n=4", "-json-output", "nightly"][..],
        &["launches", "-at=2026-12-31T12:00:00Z", "-next=24h", "-json"],
    ] {
        let live = bench.run(command);
        let filed = bench.run(&[command, &["-snapshot", "cluster.json.zst"]].concat());
        assert_eq!((live.stderr.as_str(), live.exit), ("", filed.exit), "{live:?}");
        assert_eq!(live.stdout, filed.stdout);
        assert!(live.stdout.contains("nightly/periodic-1798768800"), "{}", live.stdout);
    }
    let nightly: Value =
        serde_json::from_str(&bench.run(&["job", "launches", from, "-json-output", "nightly"]).stdout).unwrap();
    assert_eq!(
        (&nightly["RunTime"]["FinishedRuns"]["Count"], &nightly["TimeZone"]),
        (&1.into(), &"Europe/Paris".into())
    );
}

#[test]
fn a_running_cluster_is_looked_into_like_its_snapshot() {
    let Some(bench) = Bench::new("live-inspect", "fleet") else { return };
    bench.fetch();
    let inspect = |args: &[&str]| -> Value {
        let ran = bench.run(&[&["snapshot", "inspect", "-json"], args].concat());
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{}", ran.stdout);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let (live, file) = (inspect(&[]), inspect(&["cluster.json.zst"]));
    for part in ["Index", "Source", "Tables", "Total", "Pools", "ClientVersions"] {
        assert_eq!(live[part], file[part], "{part}");
    }
    assert_eq!(live["Total"]["Nodes"]["Total"], 40);
}

#[test]
fn what_moves_while_it_is_read_is_read_again() {
    let Some(mut cluster) = Cluster::recorded("dev-acl") else { return };
    cluster.page = 3;
    let (inner, shared) = serve(cluster);
    let folder = Folder::new("live-moves");
    // The second node is changed when the first is asked for, as is an allocation.
    let moved = std::sync::atomic::AtomicBool::new(false);
    let upstream = inner.address.clone();
    let front = Server::start(move |r| {
        let node = r.path.starts_with("/v1/node/") && !r.path.contains("pool") && !r.path.ends_with("/allocations");
        if node && !moved.swap(true, std::sync::atomic::Ordering::Relaxed) {
            let mut c = shared.lock().unwrap();
            c.index += 1;
            let index = c.index;
            for n in c.nodes.values_mut() {
                n["ModifyIndex"] = json!(index);
                n["Meta"] = json!({"moved": "yes"});
            }
        }
        forward(&upstream, r)
    });
    let ran = run_with(
        folder.path(),
        &["snapshot", "fetch", "-no-cache", "-concurrency", "1", "-json", "-out", "c.json"],
        &[("NOMAD_ADDR", &front.address)],
        None,
    );
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((report["Moved"].as_u64(), report["Unsettled"].as_u64()), (Some(0), Some(0)), "{report}");
    let file = encamp_snapshot::load(&folder.path().join("c.json"), Default::default()).unwrap();
    assert!(file.state.nodes().all(|n| n.node.meta.get("moved").is_some_and(|m| m == "yes")));
}

/// Hands a request on.
fn forward(address: &str, r: &server::Request) -> Response {
    let query: Vec<String> = r.query.iter().map(|(n, v)| format!("{n}={}", v.replace('*', "%2A"))).collect();
    let target = format!("{}?{}", r.path, query.join("&"));
    let mut stream = std::net::TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    use std::io::{BufRead, BufReader, Read, Write};
    write!(stream, "{} {target} HTTP/1.1\r\nHost: x\r\n\r\n", r.method).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let mut response = Response { status, headers: Vec::new(), body: Vec::new() };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name {
            "Content-Length" => length = value.parse().unwrap(),
            "X-Nomad-Index" => response = response.with("X-Nomad-Index", value),
            "X-Nomad-NextToken" => response = response.with("X-Nomad-NextToken", value),
            _ => {}
        }
    }
    response.body = vec![0; length];
    reader.read_exact(&mut response.body).unwrap();
    response
}

#[test]
fn half_a_cluster_is_an_error_unless_it_is_asked_for() {
    let Some(bench) = Bench::new("live-errors", "dev-acl") else { return };
    let fetch = |flags: &[&str]| bench.run(&[&["snapshot", "fetch", "-no-cache", "-out", "c.json"], flags].concat());
    let node = bench.cluster.lock().unwrap().nodes.keys().next().unwrap().clone();
    for (path, response, want) in [
        (
            "/v1/nodes",
            Response::text(403, "Permission denied"),
            "cannot read nodes: Unexpected response code: 403 (Permission denied); the token needs node read, or use -allow-partial",
        ),
        ("/v1/jobs", Response::text(403, "Permission denied"), "the token may not read jobs of all namespaces"),
        ("/v1/allocations", Response::text(401, ""), "the token may not read allocations of all namespaces"),
        (
            "/v1/deployments",
            Response::text(500, "rpc error"),
            "cannot read deployments: Unexpected response code: 500 (rpc error)",
        ),
        ("/v1/operator", Response::text(403, "Permission denied"), "cannot read the scheduler configuration: "),
        (
            "/v1/namespaces",
            Response::text(200, "[{\"Name\": 7}]"),
            "the response can't be read: [0].Name: invalid type",
        ),
        ("/v1/nodes", Response::text(404, ""), "cannot read nodes: Unexpected response code: 404"),
    ] {
        bench.cluster.lock().unwrap().failures = vec![(path.into(), response)];
        let ran = fetch(&[]);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1), "{path}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("Error reading the cluster: ") && ran.stderr.contains(want), "{}", ran.stderr);
        assert!(!bench.folder.path().join("c.json").exists(), "nothing half-done");
        let plan = bench.run(&["job", "plan", "-no-cache", "job.hcl"]);
        assert_eq!((plan.stdout.as_str(), plan.exit), ("", 255), "{path}: {}", plan.stderr);
    }
    // One object of many.
    bench.cluster.lock().unwrap().failures = vec![(format!("/v1/node/{node}"), Response::text(500, "disk"))];
    let ran = fetch(&[]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1));
    assert!(
        ran.stderr.contains(&format!("cannot read node {node}: Unexpected response code: 500 (disk)")),
        "{}",
        ran.stderr
    );
    let ran = fetch(&["-allow-partial"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("Partial data: cannot read node {node}")), "{}", ran.stderr);
    let plan = bench.run(&["job", "plan", "-no-cache", "-allow-partial", "job.hcl"]);
    assert!(plan.stdout.contains("Scheduler dry-run"), "{}", plan.stderr);
    assert!(plan.stderr.contains("Partial data: cannot read node"), "{}", plan.stderr);
}

#[test]
fn reads_are_tried_again_and_hopeless_ones_are_not() {
    let Some(bench) = Bench::new("live-retries", "empty") else { return };
    let address = bench.server.address.clone();
    let seen = std::sync::Mutex::new(BTreeMap::<String, usize>::new());
    let flaky = Server::start(move |r| {
        let mut seen = seen.lock().unwrap();
        let n = seen.entry(format!("{}{:?}", r.path, r.query)).or_default();
        *n += 1;
        match *n {
            1 => Response::text(503, "busy").with("Retry-After", 0),
            2 => Response::text(0, ""),
            _ => forward(&address, r),
        }
    });
    let env = [("ENCAMP_ADDR", flaky.address.as_str()), ("NOMAD_ADDR", "http://127.0.0.1:1")];
    let ran = run_with(bench.folder.path(), &["snapshot", "fetch", "-no-cache", "-out", "c.json"], &env, None);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));

    let start = std::time::Instant::now();
    let ran = run_with(bench.folder.path(), &["plan", "job.hcl"], &[("NOMAD_ADDR", "http://127.0.0.1:1")], None);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255));
    let want = "Error reading the cluster: cannot read jobs: Get \"http://127.0.0.1:1/v1/jobs\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert!(ran.stderr.starts_with(want), "{}", ran.stderr);
    assert!(start.elapsed().as_secs() < 20);
    for (address, want) in [
        ("ftp://x", "Error initializing client: invalid address \"ftp://x\""),
        ("http://", "Error initializing client: invalid address"),
        ("http://me:hush@x", "Error initializing client: the address must not hold a password"),
    ] {
        let ran = run_with(bench.folder.path(), &["plan", "-address", address, "job.hcl"], &[], None);
        assert!(ran.stderr.starts_with(want) && ran.exit == 255 && !ran.stderr.contains("hush"), "{}", ran.stderr);
    }
}

#[test]
fn credentials_go_with_every_request_and_nowhere_else() {
    let folder = Folder::new("live-token");
    folder.file("job.hcl", SERVICE);
    let server = Server::on_socket(&folder.path().join("api.sock"), |_| Response::text(403, "Permission denied"));
    let env = [
        ("NOMAD_ADDR", server.address.as_str()),
        ("NOMAD_TOKEN", "hush-hush"),
        ("NOMAD_HTTP_AUTH", "me:quiet"),
        ("NOMAD_REGION", "eu"),
    ];
    for flags in [&["job", "plan"][..], &["job", "plan", "-remote"]] {
        let ran = run_with(folder.path(), &[flags, &["-namespace", "prod", "job.hcl"]].concat(), &env, None);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255), "{}", ran.stderr);
        assert!(!ran.stderr.contains("hush") && !ran.stderr.contains("quiet"), "{}", ran.stderr);
    }
    let requests = server.take();
    assert!(requests.len() >= 2);
    for r in &requests {
        assert_eq!(r.header("x-nomad-token"), Some("hush-hush"));
        assert_eq!(r.header("authorization"), Some("Basic bWU6cXVpZXQ="));
        assert_eq!(r.param("region"), Some("eu"));
    }
    let plan = requests.last().unwrap();
    assert_eq!((plan.line().as_str(), plan.param("namespace")), ("PUT /v1/job/newcomer/plan", Some("prod")));
    let body: Value = serde_json::from_slice(&plan.body).unwrap();
    assert_eq!((&body["Diff"], &body["Job"]["ID"]), (&json!(true), &json!("newcomer")));
}

#[test]
fn the_servers_plan_can_be_checked_against_ours() {
    let Some(bench) = Bench::new("live-check", "dev-acl") else { return };
    let plan = bench.run(&["job", "plan", "-json-output", "job.hcl"]);
    assert_eq!(plan.exit, 1, "{}", plan.stderr);
    let mut response: Value = serde_json::from_str(&plan.stdout).unwrap();
    let answer = |bench: &Bench, v: &Value| {
        bench.cluster.lock().unwrap().failures = vec![("/v1/job/newcomer/plan".into(), Response::json(v))];
    };
    answer(&bench, &response);
    let agreed = bench.run(&["job", "plan", "-check-remote", "job.hcl"]);
    assert_eq!((agreed.stderr.as_str(), agreed.exit), ("The servers' plan is the same.\n", 1));
    let remote = bench.run(&["job", "plan", "-remote", "job.hcl"]);
    assert_eq!((&remote.stdout, remote.stderr.as_str(), remote.exit), (&agreed.stdout, "", 1));
    response["Annotations"]["DesiredTGUpdates"]["g"]["Place"] = json!(4);
    answer(&bench, &response);
    let other = bench.run(&["job", "plan", "-check-remote", "job.hcl"]);
    assert_eq!((other.stdout, other.exit), (agreed.stdout, 255));
    assert_eq!(other.stderr, "The servers' plan differs:\n  changes of group \"g\": 5 place here, 4 place there\n");
}

#[test]
fn jobs_of_a_running_cluster_are_inspected() {
    let Some(bench) = Bench::new("live-inspect", "dev-acl") else { return };
    let (id, versions) = {
        let c = bench.cluster.lock().unwrap();
        let alone = |id: &str| c.jobs.keys().filter(|k| k.0 == "default" && k.1.starts_with(id)).count() == 1;
        let several = c.jobs.iter().filter(|(k, v)| k.0 == "default" && v.len() > 1 && alone(&k.1));
        let (key, versions) = several.max_by_key(|(_, v)| v.len()).expect("a job with versions");
        (key.1.clone(), versions.clone())
    };
    let inspect = |flags: &[&str], id: &str| bench.run(&[&["job", "inspect"], flags, &[id]].concat());
    let shown = |ran: &Ran| -> Value {
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let newest = shown(&inspect(&[], &id));
    assert_eq!((&newest["Job"]["ID"], &newest["Job"]["Version"]), (&json!(id), &versions[0]["Version"]));
    assert_eq!(newest["Job"]["TaskGroups"][0]["Count"], versions[0]["TaskGroups"][0]["Count"]);
    assert_eq!(shown(&inspect(&["-json"], &id[..id.len() - 1]))["ID"], id.as_str(), "the beginning will do");
    let oldest = versions.last().unwrap();
    let number = oldest["Version"].to_string();
    assert_eq!(shown(&inspect(&["-json", "-version", &number], &id))["Version"], oldest["Version"]);
    assert_eq!(inspect(&["-t", "{{.ID}} v{{.Version}}"], &id).stdout, format!("{id} v{}\n", versions[0]["Version"]));

    let submission = json!({"Source": "job \"a\" {}\n", "Format": "hcl2", "VariableFlags": {"b": "2", "a": "1"}, "Variables": "c = 3\n"});
    bench.cluster.lock().unwrap().failures = vec![(format!("/v1/job/{id}/submission"), Response::json(&submission))];
    let source = inspect(&["-hcl", "-with-vars"], &id);
    assert_eq!((source.stdout.as_str(), source.exit), ("job \"a\" {}\n\n", 0));
    let line = format!(
        "\nTo run this job as originally submitted:\n\n$ encamp job inspect -namespace default -hcl {id} |\n    encamp job run -namespace default -var a=1 -var b=2 -var c = 3 {id}\n\n"
    );
    assert_eq!(source.stderr, line);
    let none = Response::text(404, "job source not found");
    bench.cluster.lock().unwrap().failures = vec![(format!("/v1/job/{id}/submission"), none)];
    let written = inspect(&["-hcl"], &id);
    assert_eq!(written.exit, 0, "{}", written.stderr);
    assert!(written.stdout.starts_with(&format!("job \"{id}\" {{\n")), "{}", written.stdout);
    assert!(written.stderr.contains("The servers do not store a job file"), "{}", written.stderr);

    for (flags, id, want) in [
        (
            &["-version", "99"][..],
            id.as_str(),
            format!("Error inspecting job: job \"{id}\" with version 99 couldn't be found\n"),
        ),
        (&[], "no-such-job", "No job(s) with prefix or ID \"no-such-job\" found\n".into()),
        (&[], "", "Prefix \"\" matched multiple jobs\n\nID ".into()),
        (&["-hcl", "-json"], "x", "can only use one of -hcl or -json\n".into()),
        (&["-with-vars"], "x", "can only use -with-vars with -hcl\n".into()),
    ] {
        let ran = inspect(flags, id);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1), "{flags:?}");
        assert!(ran.stderr.starts_with(&want), "{}", ran.stderr);
    }
    bench.cluster.lock().unwrap().failures = vec![("/v1/jobs".into(), Response::text(403, "Permission denied"))];
    assert_eq!(shown(&inspect(&["-json"], &id))["ID"], id.as_str(), "an ID will do without the list");
}

#[test]
fn an_evaluation_of_the_past_is_explained() {
    let Some(bench) = Bench::new("live-eval", "dev-acl") else { return };
    let evaluations = {
        let all = oracle::json("archive/dev-acl.expected.json").unwrap();
        all["Evaluations"].as_array().unwrap().clone()
    };
    let failed =
        evaluations.iter().find(|e| e["FailedTGAllocs"].as_object().is_some_and(|f| !f.is_empty())).unwrap().clone();
    let allocations: Vec<Value> = bench.cluster.lock().unwrap().allocations.values().cloned().collect();
    let placing = allocations.iter().find(|a| a["Metrics"]["ScoreMetaData"].is_array()).unwrap();
    let placing = evaluations.iter().find(|e| e["ID"] == placing["EvalID"]).unwrap().clone();
    let mut answers = Vec::new();
    for e in [&failed, &placing] {
        let id = e["ID"].as_str().unwrap();
        let made: Vec<&Value> = allocations.iter().filter(|a| a["EvalID"] == id).collect();
        answers.push((format!("/v1/evaluation/{id}/allocations"), Response::json(&made)));
        answers.push((format!("/v1/evaluation/{id}"), Response::json(e)));
    }
    answers.push(("/v1/evaluations".into(), Response::json(&[&failed])));
    bench.cluster.lock().unwrap().failures = answers;

    let (name, metric) = failed["FailedTGAllocs"].as_object().unwrap().iter().next().unwrap();
    let ran = bench.run(&["eval", "explain", &failed["ID"].as_str().unwrap()[..9]]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    assert!(ran.stdout.contains(&format!("Group \"{name}\": ")), "{}", ran.stdout);
    for reason in metric["ConstraintFiltered"].as_object().into_iter().flatten().map(|(reason, _)| reason) {
        assert!(ran.stdout.contains(reason.as_str()), "{reason}: {}", ran.stdout);
    }
    let ran = bench.run(&["eval", "explain", "-json", placing["ID"].as_str().unwrap()]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&value["SchemaVersion"], &value["ID"]), (&json!(1), &placing["ID"]));
    let groups = value["Groups"].as_array().unwrap();
    assert!(groups.iter().flat_map(|g| g["Placed"].as_array().unwrap()).any(|p| p["Score"].is_number()), "{value}");

    for (id, want) in [("a", "Identifier must contain at least two characters."), ("", "Identifier must contain")] {
        let ran = bench.run(&["eval", "explain", id]);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1));
        assert!(ran.stderr.starts_with(want), "{}", ran.stderr);
    }
    bench.cluster.lock().unwrap().failures = vec![("/v1/evaluations".into(), Response::json(&[&failed, &placing]))];
    let ran = bench.run(&["eval", "explain", "abc"]);
    assert!(ran.stderr.starts_with("Prefix matched multiple evaluations\n\nID "), "{}", ran.stderr);
    bench.cluster.lock().unwrap().failures = vec![("/v1/evaluations".into(), Response::text(200, "[]"))];
    let ran = bench.run(&["eval", "explain", "abc"]);
    assert_eq!(ran.stderr, "No evaluation(s) with prefix or id \"abc\" found\n");
}

#[test]
fn the_servers_validate_where_they_can() {
    let folder = Folder::new("live-validate");
    folder.file("job.hcl", SERVICE);
    let validate = |response: Response, flags: &[&str]| {
        let server = Server::start(move |_| response.clone());
        let env = [("NOMAD_ADDR", server.address.as_str())];
        let ran = run_with(folder.path(), &[&["job", "validate"], flags, &["job.hcl"]].concat(), &env, None);
        (ran, server.take())
    };
    let valid = json!({"DriverConfigValidated": true, "ValidationErrors": null, "Error": "", "Warnings": "1 warning:\n\n* careful"});
    let (ran, requests) = validate(Response::json(&valid), &[]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str(), ran.exit),
        ("Job Warnings:\n1 warning:\n\n* careful\n\nJob validation successful\n", "", 0)
    );
    assert_eq!(requests[0].line(), "PUT /v1/validate/job");
    let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(body["Job"]["TaskGroups"][0]["Count"], 5);

    let text = "1 error occurred:\n\t* Task group g validation failed: no\n\n";
    let invalid = json!({"ValidationErrors": ["Task group g validation failed: no"], "Error": text});
    let (ran, _) = validate(Response::json(&invalid), &[]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1));
    assert!(ran.stderr.starts_with(&format!("Job validation errors:\n{text}")), "{}", ran.stderr);

    let offline = "Driver configuration not validated since connection to Nomad agent couldn't be established.\n\n";
    for response in [Response::text(500, "broken"), Response::text(200, "<html>"), Response::text(0, "")] {
        let (ran, _) = validate(response, &[]);
        assert_eq!((ran.stdout, ran.exit), (format!("{offline}Job validation successful\n"), 0), "{}", ran.stderr);
    }
    let (ran, requests) = validate(Response::json(&valid), &["-address", "gopher://x"]);
    assert_eq!((ran.stdout.as_str(), ran.exit, requests.len()), ("", 255, 0), "{}", ran.stderr);
}

/// The reference's own answers, those recorded nearest to the list of allocations: a fetch of them can be planned on.
#[test]
fn a_recorded_cluster_can_be_fetched_and_planned_on() {
    let Some(folder) = oracle::folder("http/reference-2.0.5") else { return };
    let files = oracle::files(&folder, ".json");
    let moment =
        files.iter().position(|(name, _)| name.ends_with("-allocs-list-resources")).expect("the list of allocations");
    let mut nearest: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    for (i, (_, path)) in files.iter().enumerate() {
        let case: Value = oracle::json_at(path).unwrap();
        let (request, response) = (&case["request"], &case["response"]);
        let body = &response["body"];
        let rows = body.as_array().is_none_or(|rows| rows.iter().all(Value::is_object));
        if request["method"] != "GET" || response["status"] != 200 || !(body.is_object() || body.is_array() && rows) {
            continue;
        }
        let target = request["path"].as_str().unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let wanted = match path {
            "/v1/allocations" => query == "resources=true&task_states=false",
            "/v1/volumes" => query.starts_with("type="),
            _ => query.is_empty(),
        };
        let distance = i.abs_diff(moment);
        let key = if path == "/v1/volumes" { target.split('&').next().unwrap().to_string() } else { path.to_string() };
        if wanted && nearest.get(&key).is_none_or(|(d, _)| distance < *d) {
            nearest.insert(key, (distance, response.clone()));
        }
    }
    let server = Server::start(move |r| {
        if !matches!(r.param("namespace"), None | Some("*" | "default")) {
            return Response::text(200, "[]");
        }
        let key = r.param("type").map_or(r.path.clone(), |t| format!("{}?type={t}", r.path));
        let Some((_, response)) = nearest.get(&key) else { return Response::text(404, "not found") };
        let index = response["headers"]["X-Nomad-Index"].as_str().unwrap_or("0").to_string();
        Response::json(&response["body"]).with("X-Nomad-Index", index)
    });
    let folder = Folder::new("live-recorded");
    folder.file("job.hcl", SERVICE.replace("\"exec\"", "\"raw_exec\""));
    let env = [("NOMAD_ADDR", server.address.as_str())];
    let fetched = run_with(folder.path(), &["snapshot", "fetch", "-no-cache", "-out", "c.json"], &env, None);
    assert_eq!((fetched.stderr.as_str(), fetched.exit), ("", 0), "{}", fetched.stdout);
    println!("recorded: {}", fetched.stdout);
    let planned = run_with(folder.path(), &["job", "plan", "-snapshot", "c.json", "job.hcl"], &env, None);
    assert_eq!((planned.stderr.as_str(), planned.exit), ("", 1));
    assert!(
        planned.stdout.contains("(5 create)") && planned.stdout.contains("All tasks successfully allocated"),
        "{}",
        planned.stdout
    );
    let live = run_with(folder.path(), &["job", "plan", "-no-cache", "job.hcl"], &env, None);
    assert_eq!(live.stdout, planned.stdout);
}

/// Every recorded answer of an endpoint that is read here has to be understood.
#[test]
fn recorded_answers_are_understood() {
    use encamp_api::types::*;
    use encamp_model::responses::{JobListStub, JobVersionsResponse, NodeListStub};
    use encamp_model::*;
    fn parse<T: serde::de::DeserializeOwned>(body: &Value) -> Result<(), String> {
        serde_json::from_value::<T>(body.clone()).map(drop).map_err(|e| e.to_string())
    }
    let Some(folder) = oracle::folder("http/reference-2.0.5") else { return };
    let mut seen = BTreeMap::<&str, usize>::new();
    for (_, path) in oracle::files(&folder, ".json") {
        let case: Value = oracle::json_at(&path).unwrap();
        let (request, response) = (&case["request"], &case["response"]);
        if request["method"] != "GET" || response["status"] != 200 || response["body_kind"] != "json" {
            continue;
        }
        let path = request["path"].as_str().unwrap().split('?').next().unwrap();
        let parts: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        let body = &response["body"];
        let (kind, result) = match parts.as_slice() {
            ["nodes"] => ("nodes", parse::<Option<Vec<NodeListStub>>>(body)),
            ["node", "pools"] => ("pools", parse::<Option<Vec<NodePool>>>(body)),
            ["node", _] => ("node", parse::<Node>(body)),
            ["node", _, "allocations"] => ("node allocations", parse::<Option<Vec<Allocation>>>(body)),
            ["allocations"] => ("allocations", parse::<Option<Vec<AllocListStub>>>(body)),
            ["allocation", _] => ("allocation", parse::<Allocation>(body)),
            ["jobs"] => ("jobs", parse::<Option<Vec<JobListStub>>>(body)),
            ["job", _] => ("job", parse::<Job>(body)),
            ["job", _, "versions"] => ("versions", parse::<JobVersionsResponse<Job>>(body)),
            ["deployments"] => ("deployments", parse::<Option<Vec<Deployment>>>(body)),
            ["namespaces"] => ("namespaces", parse::<Option<Vec<Namespace>>>(body)),
            ["volumes"] => ("volumes", parse::<Option<Vec<VolumeListStub>>>(body)),
            ["volumes", "claims"] => ("claims", parse::<Option<Vec<TaskGroupHostVolumeClaim>>>(body)),
            ["volume", "host", _] => ("host volume", parse::<HostVolume>(body)),
            ["volume", "csi", _] => ("CSI volume", parse::<CsiVolume>(body)),
            ["operator", "scheduler", "configuration"] => {
                ("configuration", parse::<SchedulerConfigurationResponse>(body))
            }
            _ => continue,
        };
        // Some recordings keep the number of a list's rows only, or their names.
        if !matches!(body, Value::Object(_) | Value::Array(_))
            || body.as_array().is_some_and(|rows| rows.iter().any(|row| !row.is_object()))
        {
            continue;
        }
        assert_eq!(result, Ok(()), "{path} {body}");
        *seen.entry(kind).or_default() += 1;
    }
    println!("understood: {seen:?}");
    assert!(seen.len() >= 13, "{seen:?}");
}
