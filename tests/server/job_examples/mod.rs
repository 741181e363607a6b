//! The job files of docs/examples/jobs, which `job init -template` writes: each of them runs on a node.
//!
//! What a job shall do follows from the job: services run and their checks succeed, batch jobs complete, periodic and
//! parameterized ones complete when they are started. Those that need what this machine does not have, such as
//! containers, are skipped with a line.

mod changes;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::{Agent, wait_for};
use crate::containers::engine::{Engine, IMAGE};
use crate::containers::podman::Podman;
use crate::networks::Net;
use crate::program::{Folder, run_for};
use encamp_test_support::notes;
use encamp_test_support::tier;
use serde_json::{Value as Json, json};

/// How long one command may take.
const COMMAND: Duration = Duration::from_secs(60);
/// One of so many job files runs where a change is proved.
const SAMPLE: usize = 8;
/// What tasks print: job, task, text.
const OUTPUT: &[(&str, &str, &str)] = &[
    ("batch-artifact", "main", "local/input/leader"),
    ("batch-clean-up", "clean-up", "cleaned"),
    ("batch-low-priority", "main", "is computed"),
    ("batch-namespace", "main", "namespace default, datacenter"),
    ("batch-once", "main", "result: 42"),
    ("batch-parallel", "main", "of 5"),
    ("batch-pipeline", "report", "1+2+3"),
    ("batch-reschedule", "main", "done"),
    ("batch-retry", "main", "second try"),
    ("batch-script", "main", "script of batch-script"),
    ("batch-timeout", "main", "done in time"),
    ("batch-variables", "report-eu", "report of EU"),
    ("cluster-peers", "member", "\"GET /peers.txt HTTP/1.1\" 200"),
    ("database-volume-claim", "server", "starts with this volume: 1"),
    ("dispatch-limited", "main", "done"),
    ("dispatch-report", "main", "pdf for acme"),
    ("dispatch-worker", "main", "the message"),
    ("docker-batch", "main", "done in a container"),
    ("docker-config", "server", "job = \"docker-config\""),
    ("exec-cores", "main", "Cpus_allowed_list:"),
    ("exec-hardened", "main", "CapEff:\t0000000000000000"),
    ("exec-name-servers", "main", "nameserver 192.0.2.53"),
    ("exec-secret-file", "main", "the secret is there"),
    ("exec-service", "main", "uid=65534"),
    ("periodic-backup", "main", "backup.tar"),
    ("periodic-clean-up", "main", "clean"),
    ("periodic-report", "main", "report of"),
    ("sysbatch-inventory", "main", "Linux"),
    ("sysbatch-nightly", "main", "rotated"),
    ("system-log-shipper", "main", "shipped"),
    ("system-rolling", "agent", "agent of node "),
    ("task-api", "main", "services: ["),
    ("web-config-reload", "server", "greeting = \"hello\""),
    ("web-load-balancer", "balancer", "server "),
    ("web-log-shipper", "shipper", "HTTP/1"),
    ("web-script-reload", "server", "greeting = \"hello\""),
    ("web-warm-up", "warm-up", "warm: /index.html"),
    ("worker-host-volume", "main", "files: 0"),
    ("worker-leader", "main", "done"),
    ("worker-queue", "worker", "message taken"),
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/jobs")
}

/// The names of all files, sorted.
fn names() -> Vec<String> {
    let files = directory().read_dir().expect("the directory").flatten();
    let files = files.map(|f| f.file_name().into_string().expect("a name"));
    let mut names: Vec<String> = files.map(|f| f.strip_suffix(".nomad.hcl").expect("a job file").into()).collect();
    names.sort();
    names
}

/// The configuration of a node that has what the jobs need; `network`: its settings for networks and isolated tasks.
fn config(folder: &Folder, network: &str, podman: Option<&Podman>) -> String {
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir_all(at("volume")).expect("a directory");
    format!(
        "data_dir = \"{}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n cpu_total_compute = 100000\n memory_total_mb = 200000\n disk_total_mb = 200000\n gc_max_allocs = 500\n \
         host_volume \"data\" {{\n  path = \"{}\"\n }}\n{network}}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n\
         plugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n{}",
        at("data"),
        at("volume"),
        podman.map(|p| p.plugin("")).unwrap_or_default()
    )
}

/// The text of a job file.
fn text(name: &str) -> String {
    std::fs::read_to_string(directory().join(format!("{name}.nomad.hcl"))).expect("the file")
}

/// Waits until the node is ready; gives it. `containers`: it has to run them.
fn ready(agent: &Agent, containers: bool) -> Json {
    let mut node = Json::Null;
    wait_for("a ready node", || {
        let nodes = agent.get("/v1/nodes");
        let Some(id) = nodes[0]["ID"].as_str() else { return Err(nodes.to_string()) };
        node = agent.get(&format!("/v1/node/{id}"));
        let docker = !containers || node["Drivers"]["docker"]["Healthy"] == true;
        if node["Status"] == "ready" && docker { Ok(()) } else { Err(node["Drivers"].to_string()) }
    });
    node
}

/// Creates what jobs expect in the cluster: the volume of the database.
fn prepare(agent: &Agent) {
    let volume = json!({"Name": "database", "PluginID": "mkdir", "RequestedCapabilities":
        [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]});
    wait_for("a volume", || {
        let reply = agent.send("PUT", "/v1/volume/host/create", &json!({ "Volume": volume }));
        if reply.status == 200 { Ok(()) } else { Err(reply.body) }
    });
    wait_for("the volume is ready", || {
        let volumes = agent.list("/v1/volumes?type=host");
        if volumes.first().is_some_and(|v| v["State"] == "ready") { Ok(()) } else { Err(json!(volumes).to_string()) }
    });
}

/// What the node lacks for a job; none: nothing.
fn missing(name: &str, node: &Json, networks: bool) -> Option<&'static str> {
    let file = text(name);
    let lacks = |driver: &str| file.contains(&format!("\"{driver}\"")) && node["Drivers"][driver]["Healthy"] != true;
    if lacks("docker") {
        return Some("no containers");
    }
    if lacks("exec") {
        return Some("no isolation");
    }
    if file.contains("\"python3\"") && !notes::installed("python3") {
        return Some("python3 is not installed");
    }
    if file.contains("\"java\"") {
        return Some("the few files of isolated tasks here have no Java; a_java_service_answers runs it");
    }
    let wanted = ["\"bridge\"", "\"none\""].iter().any(|mode| file.contains(&format!("mode = {mode}")));
    (wanted && !networks).then_some("no networks")
}

/// A port that nothing listens on.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Registers a job as a user does, from the file that the program writes.
fn run(folder: &Folder, agent: &Agent, name: &str) {
    let file = format!("{name}.nomad.hcl");
    let template = format!("-template={name}");
    let init = ["job", "init", template.as_str(), file.as_str()];
    let ran = run_for(COMMAND, folder.path(), &init, &[("NOMAD_ADDR", &agent.address())], "");
    assert_eq!(ran.exit, 0, "{init:?}\n{}{}", ran.stdout, ran.stderr);
    let written = std::fs::read_to_string(folder.path().join(&file)).expect("the file");
    assert!(written == text(name), "{name} is written as it is");
    let path = format!("nomad/jobs/{name}");
    let variable = json!({"Path": path, "Items": {"password": "secret", "greeting": "hello"}});
    assert_eq!(agent.send("PUT", &format!("/v1/var/{path}"), &variable).status, 200);
    submit(folder, agent, name);
}

/// Registers a job from its file in the folder, with the input variables that it needs here.
fn submit(folder: &Folder, agent: &Agent, name: &str) {
    let (file, address) = (format!("{name}.nomad.hcl"), agent.address());
    let set = match name {
        "web-static-port" | "system-exporter" => Some(format!("port={}", free_port())),
        "batch-artifact" | "web-static-site" => Some(format!("source={address}/v1/status/leader")),
        docker if docker.starts_with("docker-") => Some(format!("image={IMAGE}")),
        _ => None,
    };
    let set = set.map(|s| format!("-var={s}"));
    let args = ["job", "run", "-detach"].into_iter().chain(set.as_deref()).chain([file.as_str()]);
    let args: Vec<&str> = args.collect();
    let ran = run_for(COMMAND, folder.path(), &args, &[("NOMAD_ADDR", &address)], "");
    assert_eq!(ran.exit, 0, "{args:?}\n{}{}", ran.stdout, ran.stderr);
}

/// Starts a run of a job that waits for one. Gives the job whose allocations count.
fn started(agent: &Agent, name: &str) -> String {
    let job = agent.get(&format!("/v1/job/{name}"));
    let reply = if !job["Periodic"].is_null() {
        agent.send("PUT", &format!("/v1/job/{name}/periodic/force"), &Json::Null)
    } else if !job["ParameterizedJob"].is_null() {
        let (payload, meta) = match name {
            // "the message".
            "dispatch-worker" => (json!("dGhlIG1lc3NhZ2U="), json!({})),
            "dispatch-report" => (Json::Null, json!({"customer": "acme"})),
            _ => (Json::Null, json!({})),
        };
        agent.send("PUT", &format!("/v1/job/{name}/dispatch"), &json!({"Payload": payload, "Meta": meta}))
    } else {
        return name.into();
    };
    assert_eq!(reply.status, 200, "{name}: {}", reply.body);
    let answer = reply.json();
    if let Some(id) = answer["DispatchedJobID"].as_str() {
        return id.into();
    }
    let evaluation = agent.get(&format!("/v1/evaluation/{}", answer["EvalID"].as_str().expect("an evaluation")));
    evaluation["JobID"].as_str().expect("a job").into()
}

/// Whether a job does what it shall do; otherwise, what is missing.
fn state(agent: &Agent, job: &str) -> Result<Vec<Json>, String> {
    let escaped = job.replace('/', "%2F");
    let spec = agent.get(&format!("/v1/job/{escaped}"));
    let wanted: i64 = spec["TaskGroups"].as_array().expect("groups").iter().filter_map(|g| g["Count"].as_i64()).sum();
    let (ends, service) =
        (["batch", "sysbatch"].contains(&spec["Type"].as_str().unwrap_or_default()), spec["Type"] == "service");
    let wanted_status = if ends { "complete" } else { "running" };
    let allocs = agent.list(&format!("/v1/job/{escaped}/allocations"));
    let good = allocs.iter().filter(|a| a["ClientStatus"] == wanted_status).count();
    if i64::try_from(good) != Ok(wanted) {
        let shown = allocs.iter().map(|a| format!("{} {}", a["ClientStatus"], a["TaskStates"]));
        return Err(format!("{good} of {wanted}: {}", shown.collect::<Vec<_>>().join("\n")));
    }
    let deployment = agent.get(&format!("/v1/job/{escaped}/deployment"));
    if service && deployment["Status"] != "successful" {
        return Err(format!("deployment {}: {}", deployment["Status"], deployment["StatusDescription"]));
    }
    for alloc in allocs.iter().filter(|_| !ends) {
        let id = alloc["ID"].as_str().expect("an ID");
        let checks = agent.get(&format!("/v1/client/allocation/{id}/checks"));
        if let Some(failed) = checks.as_object().into_iter().flat_map(|c| c.values()).find(|c| c["Status"] != "success")
        {
            return Err(format!("check: {failed}"));
        }
    }
    Ok(allocs)
}

/// The output of a task in any of the allocations.
fn output(folder: &Folder, allocs: &[Json], task: &str) -> String {
    let text = |alloc: &Json| {
        let id = alloc["ID"].as_str().expect("an ID");
        let dir = folder.path().join("data/alloc").join(id).join("alloc/logs");
        let read = |stream: &str| std::fs::read_to_string(dir.join(format!("{task}.{stream}.0"))).unwrap_or_default();
        read("stdout") + &read("stderr")
    };
    allocs.iter().map(text).collect()
}

#[test]
fn every_job_file_is_formatted_and_valid_without_a_warning() {
    let folder = Folder::new("job-examples-valid");
    let dir = directory().display().to_string();
    let checked = run_for(COMMAND, folder.path(), &["fmt", "-check", &dir], &[], "");
    assert_eq!(checked.exit, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(names().len() >= 60, "{}", names().len());
    for name in names() {
        let file = format!("{dir}/{name}.nomad.hcl");
        let ran = run_for(COMMAND, folder.path(), &["job", "validate", &file], &[], "");
        assert!(ran.exit == 0 && !ran.stdout.contains("Warnings"), "{name}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn every_job_file_runs() {
    let net = Net::new("job-examples");
    let plain = Folder::new("job-examples");
    let folder = net.as_ref().map_or(&plain, |n| &n.folder);
    let network = net.as_ref().map(Net::settings).unwrap_or_default();
    let podman = Podman::start("job-examples");
    let agent = Agent::start(folder, &config(folder, &network, podman.as_ref()), &[]);
    let node = ready(&agent, podman.is_some());
    prepare(&agent);
    let mut running = Vec::new();
    // Each file is validated in either case.
    let names = names().into_iter().step_by(if tier::is_full() { 1 } else { SAMPLE });
    for name in names {
        match missing(&name, &node, net.is_some()) {
            Some(why) => notes::skipped(&format!("job file {name}"), why),
            None => {
                run(folder, &agent, &name);
                running.push((started(&agent, &name), name));
            }
        }
    }
    for (job, name) in &running {
        let mut allocs = Vec::new();
        wait_for(&format!("{name} does what it shall do"), || {
            allocs = state(&agent, job)?;
            let texts = OUTPUT.iter().filter(|(of, _, _)| of == name);
            let wrong =
                texts.map(|(_, task, text)| (text, output(folder, &allocs, task))).find(|(t, o)| !o.contains(*t));
            wrong.map_or(Ok(()), |(text, printed)| Err(format!("no {text:?} in {printed:?}")))
        });
    }
    println!("{} job files run", running.len());
    for (job, name) in &running {
        for id in [job, name] {
            agent.send("DELETE", &format!("/v1/job/{}?purge=true", id.replace('/', "%2F")), &Json::Null);
        }
    }
    wait_for("all tasks end", || {
        let allocs = agent.list("/v1/allocations");
        let live = allocs.iter().filter(|a| a["ClientStatus"] == "running").count();
        if live == 0 { Ok(()) } else { Err(format!("{live} run")) }
    });
}
