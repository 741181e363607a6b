//! `docs/guide/migrate.md`: its scripts move a cluster that answers as a server of Nomad 2.0.5 did
//! (`tests/oracle/archive`) to encamp, and that one back; and the program under the name `nomad`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::agent::{Agent, wait_for};
use crate::member::{Member, Role};
use crate::program::{self, Folder, repository, succeeds};
use crate::recorded;
use crate::server::{Request, Response, Server};

/// The recorded cluster.
const SAMPLE: &str = "archive/dev-acl";

/// Members that belong to the cluster where the object is, or follow from others.
const OF_CLUSTER: [&str; 14] = [
    "CreateIndex",
    "ModifyIndex",
    "JobModifyIndex",
    "Hash",
    "SubmitTime",
    "Version",
    "VersionTag",
    "Status",
    "StatusDescription",
    "Stable",
    "NomadTokenID",
    "RulesJSON",
    "CreateTime",
    "ModifyTime",
];

/// The scripts of the guide below a heading.
fn scripts(heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("docs/guide/migrate.md")).expect("the guide");
    let (_, after) = text.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let part = after.split("\n## ").next().expect("a part");
    let scripts: Vec<String> = part.split("```sh\n").skip(1).map(|s| s.split("\n```").next().unwrap().into()).collect();
    assert!(!scripts.is_empty(), "{heading}");
    scripts
}

/// A directory with the program under both names, and the addresses and tokens of both clusters.
struct Desk {
    folder: Folder,
    old: [String; 2],
    new: [String; 2],
}

impl Desk {
    fn new(name: &str, old: [&str; 2], new: [&str; 2]) -> Desk {
        let folder = Folder::new(name);
        let bin = folder.path().join("bin");
        std::fs::create_dir_all(bin.join("link")).expect("a directory");
        std::os::unix::fs::symlink(program::path(), bin.join("encamp")).expect("a link");
        std::os::unix::fs::symlink(program::path(), bin.join("link/nomad")).expect("a link");
        // Nomad does not know the variables of encamp.
        let link = bin.join("link/nomad");
        let script = format!("#!/bin/sh\nunset ENCAMP_ADDR ENCAMP_TOKEN\nexec {:?} \"$@\"\n", link.display());
        let script = folder.file("bin/nomad", script);
        succeeds(Command::new("chmod").arg("+x").arg(script)).expect("executable");
        Desk { folder, old: old.map(String::from), new: new.map(String::from) }
    }

    fn run(&self, script: &str) -> String {
        let path =
            format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.current_dir(self.folder.path()).env_clear().env("PATH", path).args(["-eu", "-c", script]);
        shell.env("NOMAD_ADDR", &self.old[0]).env("NOMAD_TOKEN", &self.old[1]);
        shell.env("ENCAMP_ADDR", &self.new[0]).env("ENCAMP_TOKEN", &self.new[1]);
        let ran = shell.output().expect("a shell");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{script}\n{said}{}", String::from_utf8_lossy(&ran.stderr));
        said
    }

    fn exported(&self, name: &str) -> PathBuf {
        self.folder.path().join("export").join(name)
    }
}

/// Runs the scripts that write: the first one prints the first token, and the others what is refused.
fn write(desk: &Desk, scripts: &[String]) {
    let (first, others) = scripts.split_first().expect("scripts");
    assert!(desk.run(first).contains("Bootstrap Token"));
    others.iter().for_each(|script| assert_eq!(desk.run(script), "", "{script}"));
}

/// What the recorded server answers.
fn recorded_server(sample: &Value, secret: &str) -> Server {
    let (sample, secret) = (sample.clone(), secret.to_string());
    let archive = recorded::file(&format!("{SAMPLE}.snap")).map(|path| std::fs::read(path).expect("the archive"));
    Server::start(move |request| {
        if request.header("x-nomad-token") != Some(&secret) {
            return Response::text(403, "Permission denied");
        }
        if request.path == "/v1/operator/snapshot" {
            return Response { status: 200, headers: Vec::new(), body: archive.clone().unwrap_or_default() };
        }
        match answer(&sample, request) {
            Some(value) => Response::json(&value),
            None => Response::text(404, &format!("nothing is recorded for {}", request.line())),
        }
    })
}

fn answer(sample: &Value, request: &Request) -> Option<Value> {
    let list = |name: &str| Some(sample[name].clone());
    let one = |name: &str, key: &str, value: &str| {
        let namespace = request.param("namespace");
        let fits = |row: &&Value| row[key] == value && namespace.is_none_or(|n| row["Namespace"] == n);
        sample[name].as_array()?.iter().find(fits).cloned()
    };
    let path = request.path.as_str();
    match path {
        "/v1/namespaces" => list("Namespaces"),
        "/v1/node/pools" => list("NodePools"),
        "/v1/operator/scheduler/configuration" => list("SchedulerConfiguration"),
        "/v1/vars" => list("Variables"),
        "/v1/jobs" => list("Jobs"),
        "/v1/acl/policies" => list("ACLPolicies"),
        "/v1/acl/roles" => list("ACLRoles"),
        "/v1/acl/tokens" => list("ACLTokens"),
        _ => {
            let (kind, id) = path.strip_prefix("/v1/acl/").unwrap_or(path.strip_prefix("/v1/")?).split_once('/')?;
            match kind {
                "policy" => one("ACLPolicies", "Name", id),
                "role" => one("ACLRoles", "ID", id),
                "token" => one("ACLTokens", "AccessorID", id),
                "job" => one("Jobs", "ID", id),
                // Items are not recorded.
                "var" => one("Variables", "Path", id).map(|mut variable| {
                    variable["Items"] = json!({"text": format!("line of {id}\nand \\ another \"one\""), "empty": ""});
                    variable
                }),
                _ => None,
            }
        }
    }
}

/// A server with access control, and no node.
fn server(name: &str) -> (Folder, Agent) {
    let folder = Folder::new(name);
    let config = format!(
        "bind_addr = \"127.0.0.1\"\ndata_dir = {:?}\nserver {{\n  enabled = true\n  bootstrap_expect = 1\n}}\nacl {{\n  \
         enabled = true\n}}\nadvertise {{\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}}\n",
        folder.path().join("data")
    );
    let agent = Agent::start(&folder, &config, &[]);
    wait_for("a leader", || match agent.send("GET", "/v1/status/leader", &Value::Null) {
        reply if reply.status == 200 && reply.body.len() > 4 => Ok(()),
        reply => Err(reply.body),
    });
    (folder, agent)
}

/// An object without what belongs to its cluster; empty and missing values are alike.
fn lasting(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            // Scaling policies get an ID when their job is registered.
            let scaling = members.contains_key("Target") && members.contains_key("Policy");
            let own = |name: &str| OF_CLUSTER.contains(&name) || (scaling && name == "ID");
            let kept = members.iter().filter(|(name, _)| !own(name));
            let kept = kept.map(|(name, member)| (name.clone(), lasting(member)));
            let is_empty = |v: &Value| match v {
                Value::Null => true,
                Value::Array(list) => list.is_empty(),
                Value::Object(members) => members.is_empty(),
                Value::String(text) => text.is_empty(),
                Value::Bool(_) | Value::Number(_) => false,
            };
            Value::Object(kept.filter(|(_, member)| !is_empty(member)).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(lasting).collect()),
        other => other.clone(),
    }
}

/// The objects of a cluster by kind and key, as far as they last.
fn objects(agent: &Agent) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (path, below, key) in [
        ("/v1/namespaces", "/v1/namespace/", "Name"),
        ("/v1/node/pools", "/v1/node/pool/", "Name"),
        ("/v1/acl/policies", "/v1/acl/policy/", "Name"),
        ("/v1/acl/tokens", "/v1/acl/token/", "AccessorID"),
        ("/v1/vars?namespace=*", "/v1/var/", "Path"),
        ("/v1/jobs?namespace=*", "/v1/job/", "ID"),
    ] {
        for row in agent.list(path) {
            let id = row[key].as_str().expect("a key");
            let namespace = row["Namespace"].as_str().map(|n| format!("?namespace={n}")).unwrap_or_default();
            let whole = agent.get(&format!("{below}{id}{namespace}"));
            found.insert(format!("{below}{id}{namespace}"), lasting(&whole));
        }
    }
    found
}

fn expected<'a>(sample: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    sample[name].as_array().expect("a list").iter()
}

#[test]
fn a_cluster_moves_there_and_back() {
    if ["jq"].iter().any(|program| encamp_test_support::notes::lacks("migrate", program)) {
        return;
    }
    let Some(sample): Option<Value> = recorded::json(&format!("{SAMPLE}.expected.json")) else { return };
    let management = expected(&sample, "ACLTokens").find(|t| t["Type"] == "management").expect("a token");
    let secret = management["SecretID"].as_str().expect("a secret");
    let old = recorded_server(&sample, secret);
    let (_first_folder, first) = server("migrate-first");
    let first = first.with_token(secret);
    let desk = Desk::new("migrate", [&old.address, secret], [&first.address(), secret]);

    for script in scripts("Look before").into_iter().chain(scripts("Read the old cluster")) {
        desk.run(&script);
    }
    assert!(std::fs::read_to_string(desk.exported("web.nomad.hcl")).expect("a job file").contains("job \"web\""));
    desk.folder.file("export/management-secret", secret);
    write(&desk, &scripts("Write the new one"));
    let moved = objects(&first);
    let mut jobs = 0;
    for job in expected(&sample, "Jobs").filter(|job| job["ParentID"] == "" && job["Status"] != "dead") {
        let path = format!("/v1/job/{}?namespace={}", job["ID"].as_str().unwrap(), job["Namespace"].as_str().unwrap());
        assert_eq!(moved.get(&path), Some(&lasting(job)), "{path}");
        jobs += 1;
    }
    assert!(jobs > 15, "{jobs}");
    assert_eq!(first.list("/v1/jobs?namespace=*").len(), jobs, "ended jobs and children are not registered");
    for (kind, key, path) in [
        ("Namespaces", "Name", "/v1/namespace/"),
        ("NodePools", "Name", "/v1/node/pool/"),
        ("ACLPolicies", "Name", "/v1/acl/policy/"),
    ] {
        for object in expected(&sample, kind) {
            let path = format!("{path}{}", object[key].as_str().unwrap());
            assert_eq!(moved.get(&path), Some(&lasting(object)), "{path}");
        }
    }
    for variable in expected(&sample, "Variables") {
        let (path, namespace) = (variable["Path"].as_str().unwrap(), variable["Namespace"].as_str().unwrap());
        let found = &moved[&format!("/v1/var/{path}?namespace={namespace}")];
        assert_eq!(found["Items"]["text"], format!("line of {path}\nand \\ another \"one\""));
    }
    let settings = first.get("/v1/operator/scheduler/configuration")["SchedulerConfig"].clone();
    assert_eq!(lasting(&settings), lasting(&sample["SchedulerConfiguration"]["SchedulerConfig"]));
    // A client of the old cluster goes on with its token.
    let client = expected(&sample, "ACLTokens").find(|t| t["Name"] == "ci").expect("a token");
    let own = first.with_token(client["SecretID"].as_str().expect("a secret"));
    assert_eq!(own.get("/v1/acl/token/self")["AccessorID"], client["AccessorID"]);

    // Back: the same with the names exchanged.
    let first = own.with_token(secret);
    let (_second_folder, second) = server("migrate-second");
    let second = second.with_token(secret);
    let desk = Desk::new("migrate-back", [&second.address(), secret], [&first.address(), secret]);
    std::fs::create_dir(desk.folder.path().join("export")).expect("a directory");
    desk.folder.file("export/management-secret", secret);
    let exchanged = |text: String| {
        text.replace("nomad operator", "NAME operator").replace("encamp ", "nomad ").replace("NAME ", "encamp ")
    };
    for script in scripts("Read the old cluster") {
        desk.run(&exchanged(script));
    }
    write(&desk, &scripts("Write the new one").into_iter().map(exchanged).collect::<Vec<_>>());
    let mut back = objects(&second);
    let mut before = moved;
    // Each cluster has a first token of its own, with the same secret.
    for objects in [&mut back, &mut before] {
        objects.retain(|_, object| object["Type"] != "management");
    }
    assert_eq!(back.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (path, object) in &before {
        let (mut one, mut other) = (object.clone(), back[path].clone());
        if path.starts_with("/v1/acl/token/") {
            // Roles have other IDs.
            for token in [&mut one, &mut other] {
                let roles = token["Roles"].as_array_mut().into_iter().flatten();
                roles.for_each(|role| role["ID"] = Value::Null);
            }
        }
        assert_eq!(other, one, "{path}");
    }
}

/// A run of the program under a name: what it prints, and its exit code.
fn under(name: &Path, folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> (String, String, i32) {
    let mut command = Command::new(name);
    command.current_dir(folder).env_clear().args(args).envs(variables.iter().copied());
    let ran = command.output().expect("the program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&ran.stdout), text(&ran.stderr), ran.status.code().unwrap_or(-1))
}

#[test]
fn the_program_does_the_same_under_the_name_nomad() {
    let folder = Folder::new("name");
    let link = folder.path().join("nomad");
    std::os::unix::fs::symlink(program::path(), &link).expect("a link");
    std::fs::copy(repository().join("fixtures/demo/cluster.json"), folder.path().join("cluster.json")).expect("copied");
    let job = std::fs::read_to_string(repository().join("fixtures/demo/api-destructive.hcl")).expect("a job");
    folder.file("api.hcl", job);
    folder.file("broken.hcl", "job \"web\" {");
    folder.file("unformatted.hcl", "job \"web\" {\n      type = \"batch\"\n}\n");
    let nobody = [("NOMAD_ADDR", "http://127.0.0.1:1")];
    for (args, exit) in [
        (&["version"][..], 0),
        (&["-version"], 0),
        (&["version", "-json"], 0),
        (&["-help"], 0),
        (&[], 127),
        (&["no-such-command"], 127),
        (&["job"], 1),
        (&["job", "plan", "-help"], 0),
        (&["job", "plan", "-no-such-flag", "api.hcl"], 255),
        (&["job", "plan", "-snapshot", "cluster.json", "api.hcl"], 1),
        (&["plan", "-snapshot", "cluster.json", "-fail-on", "destroy", "api.hcl"], 2),
        (&["job", "plan", "-snapshot", "cluster.json", "broken.hcl"], 255),
        (&["job", "validate", "-snapshot", "cluster.json", "api.hcl"], 0),
        (&["validate", "broken.hcl"], 1),
        (&["fmt", "-check", "unformatted.hcl"], 1),
        (&["job", "status"], 1),
        (&["node", "status"], 1),
        (&["agent", "-config", "nowhere.hcl"], 1),
    ] {
        let (stdout, stderr, code) = under(&link, folder.path(), args, &nobody);
        let own = under(Path::new(&program::path()), folder.path(), args, &nobody);
        assert_eq!((&stdout, &stderr, code), (&own.0, &own.1, own.2), "{args:?}");
        assert_eq!(code, exit, "{args:?}: {stdout}{stderr}");
    }
}

#[test]
fn an_agent_under_the_name_nomad_runs_tasks() {
    let role = "server {\n  enabled = true\n  bootstrap_expect = 1\n}\nclient {\n  enabled = true\n  cpu_total_compute = \
                4000\n  memory_total_mb = 4000\n}\nplugin \"raw_exec\" {\n  config {\n    enabled = true\n  }\n}\n";
    let mut agent = Member::new("named-nomad", Role::Other(role.into()));
    let link = agent.folder().path().join("nomad");
    std::os::unix::fs::symlink(program::path(), &link).expect("a link");
    agent.program = Some(link.display().to_string());
    agent.start();
    let task = json!({"Name": "t", "Driver": "raw_exec", "Resources": {"CPU": 50, "MemoryMB": 20},
        "Config": {"command": "/bin/sh", "args": ["-c", "echo started; exec sleep 600"]}});
    let job = json!({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}]}});
    wait_for("the job is registered", || match agent.agent().send("PUT", "/v1/jobs", &job) {
        reply if reply.status == 200 => Ok(()),
        reply => Err(reply.body),
    });
    wait_for("the task runs", || {
        let allocs = agent.read("/v1/job/web/allocations")?;
        if allocs[0]["ClientStatus"] == "running" { Ok(()) } else { Err(allocs.to_string()) }
    });
    agent.kill();
}
