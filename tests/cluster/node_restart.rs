//! A node agent that is killed and started again while its tasks run: how soon templates, identities, services and
//! volumes of the node are up to date (`docs/dev/reliability.md`).

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::{PATIENCE, wait_for};
use crate::csi_support::{Cluster, Disks, PATIENT};
use crate::member::{Member, Role, node_ready, running};

/// What each figure may be at most. The goal is 3 s; tests run unoptimised builds on busy machines.
const BOUND: Duration = Duration::from_secs(10);
/// The claim with the name of a volume.
const VOLUME: &str = "data";

/// Times since the start of the agent.
struct Figures {
    begun: Instant,
    all: Vec<(&'static str, Duration)>,
}

impl Figures {
    fn new() -> Figures {
        Figures { begun: Instant::now(), all: Vec::new() }
    }

    /// Waits until something holds, and notes when.
    fn reach(&mut self, what: &'static str, come: impl FnMut() -> Result<(), String>) {
        wait_for(what, come);
        self.all.push((what, self.begun.elapsed()));
    }

    /// Prints all, and fails if one is above the bound.
    fn judge(&self) {
        println!("{self}");
        let late: Vec<_> = self.all.iter().filter(|(_, time)| *time > BOUND).collect();
        assert!(late.is_empty(), "{late:?}");
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ms after the start of the node agent:")?;
        self.all.iter().try_for_each(|(what, time)| write!(f, "\n  {:>6}  {what}", time.as_millis()))
    }
}

fn put(at: &Member, path: &str, body: &Json) {
    let reply = at.agent().send("PUT", path, body);
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
}

fn put_variable(at: &Member, value: &str) {
    put(at, "/v1/var/nomad/jobs/main", &json!({"Path": "nomad/jobs/main", "Items": {"color": value}}));
}

/// A job with one task on the node of this name.
fn job(id: &str, node: &str, task: &Json) -> Json {
    json!({
        "ID": id, "Name": id, "Type": "service", "Datacenters": ["*"],
        "Constraints": [{"LTarget": "${node.unique.name}", "RTarget": node, "Operand": "="}],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}],
    })
}

fn script(text: &str) -> Json {
    json!({
        "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", text]},
        "Resources": {"CPU": 20, "MemoryMB": 40}, "KillTimeout": 1_000_000_000,
    })
}

fn run(at: &Member, job: &Json) -> String {
    put(at, "/v1/jobs", &json!({ "Job": job }));
    running(at, job["ID"].as_str().expect("an ID"))
}

fn template(file: &str, text: &str, change: &str) -> Json {
    json!({"DestPath": file, "EmbeddedTmpl": text, "Splay": 0, "ChangeMode": change, "ChangeSignal": "SIGHUP"})
}

/// The task that is not to notice the end of its agent.
fn main_job(node: &str) -> Json {
    let mut task =
        script("echo $$ >> local/started; trap 'cat local/color >> local/seen' HUP; while :; do sleep 0.1; done");
    let color = "{{ with nomadVar \"nomad/jobs/main\" }}{{ .color }}{{ end }}\n";
    let peers = "{{ range nomadService \"peer\" }}{{ .Name }} {{ .Port }}\n{{ end }}";
    task["Templates"] = json!([template("local/color", color, "signal"), template("local/peers", peers, "noop")]);
    task["Identity"] = json!({"Name": "default", "File": true});
    // It ends while the agent is away.
    task["Identities"] = json!([{"Name": "short", "Audience": ["x"], "File": true, "TTL": 5_000_000_000_u64}]);
    let mut job = job("main", node, &task);
    job["TaskGroups"][0]["Services"] = json!([{"Name": "own", "Provider": "nomad", "Address": "10.0.0.1"}]);
    with_volume(job)
}

fn with_volume(mut job: Json) -> Json {
    job["TaskGroups"][0]["Volumes"] = json!({"data": {
        "Name": "data", "Type": "host", "Source": VOLUME, "Sticky": true,
        "AccessMode": "single-node-multi-writer", "AttachmentMode": "file-system",
    }});
    job
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn reads(path: &Path, wanted: &str) -> Result<(), String> {
    let found = text(path);
    if found == wanted { Ok(()) } else { Err(format!("{}: {found:?}", path.display())) }
}

/// When the token of a file ends, in Unix seconds; 0 for none.
fn ends_at(path: &Path) -> i64 {
    use base64::Engine;
    let token = text(path);
    let claims = token.split('.').nth(1).unwrap_or_default();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap_or_default();
    serde_json::from_slice::<Json>(&claims).ok().and_then(|c| c["exp"].as_i64()).unwrap_or_default()
}

fn is_over(path: &Path) -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    ends_at(path) <= i64::try_from(now.as_secs()).expect("seconds")
}

/// The status of an answer on the socket of a task.
fn status_by_socket(dir: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(dir.join("secrets/api.sock"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let token = text(&dir.join("secrets/nomad_token"));
    let head = "GET /v1/var/nomad/jobs/main HTTP/1.1\r\nHost: task\r\nConnection: close";
    write!(stream, "{head}\r\nX-Nomad-Token: {token}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().into())
}

fn volume_ready(at: &Member) -> Result<(), String> {
    let volumes = at.read("/v1/volumes?type=host")?;
    if volumes[0]["State"] == "ready" { Ok(()) } else { Err(volumes.to_string()) }
}

fn claims(at: &Member) -> Json {
    at.read("/v1/volumes/claims?job_id=main").expect("claims")
}

/// The node of this name.
fn node(at: &Member, name: &str) -> Result<Json, String> {
    let listed = at.read("/v1/nodes")?;
    listed.as_array().into_iter().flatten().find(|n| n["Name"] == name).cloned().ok_or_else(|| listed.to_string())
}

#[test]
fn a_killed_node_agent_is_up_to_date_within_seconds() {
    let server_role = "server {\n  enabled = true\n  bootstrap_expect = 1\n  heartbeat_grace = \"60s\"\n}\n";
    let mut server = Member::new("again-server", Role::Other(server_role.into()));
    server.start();
    let servers = vec![server.rpc()];
    let mut nodes = ["again-node", "again-peer"].map(|name| Member::new(name, Role::Node { servers: servers.clone() }));
    nodes.iter_mut().for_each(Member::start);
    node_ready(&server);
    let known = node(&server, "again-node").expect("the node");
    put(
        &server,
        "/v1/volume/host/create",
        &json!({"Volume": {
            "Name": VOLUME, "NodeID": known["ID"],
            "RequestedCapabilities": [{"AccessMode": "single-node-multi-writer", "AttachmentMode": "file-system"}],
        }}),
    );
    wait_for("the volume is ready", || volume_ready(&server));
    put_variable(&server, "red");
    let alloc = run(&server, &main_job("again-node"));
    let dir: PathBuf = nodes[0].data().join("alloc").join(&alloc).join("main");
    let local = dir.join("local");
    wait_for("the first templates", || reads(&local.join("color"), "red\n").and(reads(&local.join("peers"), "")));
    let (before, started) = (claims(&server), text(&local.join("started")));
    assert_eq!((before.as_array().map(Vec::len), started.lines().count()), (Some(1), 1), "{before}");

    nodes[0].kill();
    put_variable(&server, "green");
    let mut peer = job("peer", "again-peer", &script("exec sleep 600"));
    peer["TaskGroups"][0]["Services"] = json!([{"Name": "peer", "Provider": "nomad", "Address": "10.0.0.2"}]);
    run(&server, &peer);
    let short = dir.join("secrets/nomad_short.jwt");
    wait_for("the short identity has ended", || if is_over(&short) { Ok(()) } else { Err(text(&short)) });
    let old = node(&server, "again-node").expect("the node")["ModifyIndex"].clone();

    let mut figures = Figures::new();
    nodes[0].launch();
    // In the order in which they are expected: each wait ends at once if its condition has come true meanwhile.
    figures.reach("the node has registered", || match node(&server, "again-node")?["ModifyIndex"] == old {
        true => Err("the old registration".into()),
        false => Ok(()),
    });
    put(&server, "/v1/jobs", &json!({"Job": with_volume(job("more", "again-node", &script("exec sleep 600")))}));
    figures.reach("the identity is valid again", || if is_over(&short) { Err(text(&short)) } else { Ok(()) });
    figures.reach("the template of a variable is rendered", || reads(&local.join("color"), "green\n"));
    figures.reach("the template of a service is rendered", || reads(&local.join("peers"), "peer 0\n"));
    figures.reach("the task got its signal", || reads(&local.join("seen"), "green\n"));
    figures.reach("the task API answers", || match status_by_socket(&dir) {
        Ok(status) if status.ends_with("200 OK") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    figures.reach("the volume of the node is ready", || volume_ready(&server));
    figures.reach("the node is ready", || match node(&server, "again-node")? {
        node if node["Status"] == "ready" => Ok(()),
        other => Err(other.to_string()),
    });
    running(&server, "more");
    figures.all.push(("a new allocation with a volume runs", figures.begun.elapsed()));
    nodes[0].serves();
    figures.judge();

    assert_eq!(claims(&server), before, "the claim of the group");
    assert_eq!(text(&local.join("started")), started, "the task was not started again");
    assert!(Path::new("/proc").join(started.trim()).exists(), "its process goes on");
    let task = &server.read(&format!("/v1/allocation/{alloc}")).expect("it")["TaskStates"]["main"];
    assert_eq!((&task["State"], &task["Restarts"], &task["Failed"]), (&json!("running"), &json!(0), &json!(false)));
    let own = server.read("/v1/service/own").expect("the service");
    assert_eq!(own.as_array().map(Vec::len), Some(1), "{own}");
    for job in ["main", "more", "peer"] {
        server.agent().send("DELETE", &format!("/v1/job/{job}?purge=true"), &Json::Null);
    }
    wait_for("the tasks have ended", || match Path::new("/proc").join(started.trim()).exists() {
        true => Err(started.clone()),
        false => Ok(()),
    });
}

#[test]
fn storage_plugins_and_claims_are_there_again_within_seconds() {
    let Some(mut cluster) = Cluster::start(1, 1, PATIENT) else { return };
    let disks = Disks::new("disks-again");
    cluster.run_plugin(&disks);
    for volume in ["one", "two"] {
        cluster.create_volume(volume, &disks, "single-node-writer");
    }
    cluster.run_user("first", "one", "single-node-writer", 1);
    let first = cluster.users("first", "one", 1, "").remove(0);
    let mounted = cluster.mounted(&first.0);
    let published = disks.begun("NodePublishVolume");
    cluster.nodes[0].kill();

    let node = |cluster: &Cluster| cluster.get(&format!("/v1/node/{}", first.1));
    let old = node(&cluster)["ModifyIndex"].clone();
    let mut figures = Figures::new();
    cluster.nodes[0].launch();
    figures.reach("the node has registered", || match node(&cluster)["ModifyIndex"] == old {
        true => Err("the old registration".into()),
        false => Ok(()),
    });
    cluster.run_user("second", "two", "single-node-writer", 1);
    figures.reach("the servers know the plugin of the node", || {
        let plugins = node(&cluster)["CSINodePlugins"].clone();
        if plugins[&disks.id]["Healthy"] == true { Ok(()) } else { Err(plugins.to_string()) }
    });
    cluster.plugin_healthy(&disks);
    figures.all.push(("the plugin is healthy", figures.begun.elapsed()));
    let again = cluster.users("first", "one", 1, "").remove(0);
    figures.all.push(("the claim of the running allocation", figures.begun.elapsed()));
    let second = cluster.users("second", "two", 1, "").remove(0);
    figures.all.push(("a new allocation claims and mounts a volume", figures.begun.elapsed()));
    cluster.nodes[0].serves();
    figures.judge();

    assert_eq!((&again, cluster.mounted(&again.0)), (&first, mounted));
    assert_eq!(disks.begun("NodePublishVolume"), published + 1, "only the new allocation is mounted");
    assert_ne!(second.0, first.0);
    for job in ["first", "second"] {
        cluster.stop(job);
    }
    for volume in ["one", "two"] {
        cluster.unclaimed(volume);
    }
    assert_eq!(disks.violations(), "");
}
