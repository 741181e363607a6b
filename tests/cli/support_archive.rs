//! What operators collect for somebody who helps them, and commands that say that they are not of the open edition.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use crate::agent::{Agent, wait_for};
use crate::member::{Member, Role, node_ready, running};
use crate::program::{Folder, Ran, run_in};
use serde_json::{Value, json};

fn run(folder: &Folder, agent: &Agent, args: &[&str]) -> Ran {
    let address = format!("-address={}", agent.address());
    let words = args.iter().take_while(|a| !a.starts_with('-')).count();
    let with_address = [&args[..words], &[address.as_str()], &args[words..]].concat();
    run_in(folder.path(), &with_address)
}

/// The files of an archive, without its folder.
fn unpacked(path: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let packed = fs::File::open(path).expect("the archive");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed));
    let mut files = BTreeMap::new();
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").display().to_string();
        let (_, below) = name.split_once('/').expect("a folder");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("the content");
        files.insert(below.to_string(), bytes);
    }
    files
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn a_cluster_is_captured_for_support() {
    let folder = Folder::new("support-archive");
    let agent = Agent::start(&folder, "", &["-dev", "-node", "laptop"]);
    wait_for("the node", || if agent.list("/v1/nodes").is_empty() { Err("no node".into()) } else { Ok(()) });
    let ran = run(&folder, &agent, &["operator", "debug", "-duration", "3s", "-interval", "1s"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{ran:?}");
    assert!(ran.stdout.contains("Servers  = 1 of 1") && ran.stdout.contains("    Capture interval 0001"), "{ran:?}");
    let name = ran.stdout.lines().last().and_then(|l| l.strip_prefix("Created debug archive: ")).expect("the name");
    let files = unpacked(&folder.path().join(name));
    let index = parsed(&files["index.json"]);
    assert_eq!(index["Errors"], json!({}), "{index}");
    assert!(index["Intervals"].as_u64() >= Some(2), "{index}");
    let listed: Vec<&str> = index["Files"].as_array().expect("files").iter().filter_map(Value::as_str).collect();
    assert_eq!(listed.len() + 1, files.len(), "{listed:?}");
    assert_eq!(parsed(&files["interval/0000/nodes.json"])[0]["Name"], "laptop");
    let logs: Vec<_> = files.iter().filter(|(name, _)| name.ends_with("/monitor.log")).collect();
    assert_eq!(logs.len(), 2, "a server and a node: {listed:?}");
    assert!(logs.iter().all(|(_, log)| String::from_utf8_lossy(log).contains("] ")), "{logs:?}");
    assert!(files.keys().any(|n| n.starts_with("server/laptop.global/")), "{listed:?}");

    // Into a directory, of one server; a server that is not there is an entry of the index.
    let args =
        ["operator", "debug", "-duration", "1s", "-interval", "1s", "-server-id", "leader,nosuch", "-node-id", "0000"];
    let ran = run(&folder, &agent, &[&args[..], &["-output", "out"]].concat());
    let path = ran.stdout.lines().last().and_then(|l| l.strip_prefix("Created debug directory: ")).expect("the path");
    let index = parsed(&fs::read(format!("{path}/index.json")).expect("the index"));
    assert!(index["Errors"]["server/nosuch/monitor.log"].is_string(), "{index}");
    assert!(
        fs::metadata(format!("{path}/server/leader/monitor.log")).is_ok()
            && !fs::exists(format!("{path}/client")).expect("read")
    );

    for (args, error) in [
        (&["-duration", "soon"][..], "Error parsing duration: "),
        (&["-interval", "0s"], "Error parsing interval: it must be above 0s and at most 24h"),
        (&["-interval", "1h"], "Error parsing interval: it is longer than -duration"),
    ] {
        let ran = run(&folder, &agent, &[&["operator", "debug"], args].concat());
        assert!(ran.exit == 1 && ran.stderr.starts_with(error), "{ran:?}");
    }

    for (args, error) in [
        (&["license", "get"][..], "Error getting license: Nomad Enterprise only endpoint\n"),
        (
            &["quota", "list"],
            "Error retrieving quotas: Unexpected response code: 501 (Nomad Enterprise only endpoint)\n",
        ),
    ] {
        let ran = run_in(folder.path(), &[&[args[0], &format!("-address={}", agent.address())], &args[1..]].concat());
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", error, 1));
    }
}

/// A server and a node in one.
const AGENT: &str = "server {\n  enabled = true\n  bootstrap_expect = 1\n}\nclient {\n  enabled = true\n}\n\
                     plugin \"raw_exec\" {\n  config {\n    enabled = true\n  }\n}\n";

#[test]
fn the_stored_state_of_a_node() {
    let mut member = Member::new("client-state", Role::Other(AGENT.into()));
    member.start();
    node_ready(&member);
    let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
        "Resources": {"CPU": 20, "MemoryMB": 16}});
    let group = json!({"Name": "g", "Count": 1, "Tasks": [task]});
    let job =
        json!({"Job": {"ID": "kept", "Name": "kept", "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}});
    assert_eq!(member.agent().send("PUT", "/v1/jobs", &job).status, 200);
    let id = running(&member, "kept");

    let data = member.data();
    let state = || run_in(&data, &["operator", "client-state", "client"]);
    let busy = state();
    assert!(busy.exit == 1 && busy.stderr.starts_with("Error opening client state: "), "{busy:?}");
    member.kill();
    let ran = state();
    assert_eq!((ran.stderr.as_str(), ran.exit, ran.stdout.lines().count()), ("", 0, 1));
    let stored = parsed(ran.stdout.as_bytes());
    let kept = &stored["Allocations"][&id];
    assert_eq!(
        (&kept["Alloc"]["JobID"], &kept["State"]["tasks"]["t"]["state"]["State"]),
        (&json!("kept"), &json!("running"))
    );
    assert!(!ran.stdout.contains("eyJ"), "tokens are not printed");
    let missing = run_in(&data, &["operator", "client-state", "nosuch"]);
    assert_eq!(missing.stderr, "Error opening client state: no state of a node found in nosuch\n");
    assert!(!data.join("nosuch").exists(), "nothing is created");
    // The task ends with the job.
    member.start();
    let stopped = member.agent().send("DELETE", "/v1/job/kept", &json!({}));
    assert_eq!(stopped.status, 200);
    wait_for("the task to end", || match member.read("/v1/job/kept/allocations")? {
        allocs if allocs[0]["ClientStatus"] == "complete" => Ok(()),
        allocs => Err(allocs.to_string()),
    });
}

#[test]
fn the_raft_log_of_a_stopped_server() {
    let mut member = Member::new("raft-files", Role::Other(AGENT.into()));
    member.start();
    node_ready(&member);
    let job = |count: u64| {
        let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"},
            "Resources": {"CPU": 20, "MemoryMB": 16}});
        let group = json!({"Name": "g", "Count": count, "Tasks": [task]});
        json!({"Job": {"ID": "logged", "Name": "logged", "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group]}})
    };
    assert_eq!(member.agent().send("PUT", "/v1/jobs", &job(0)).status, 200);
    let data = member.data();
    let raft = |args: &[&str]| run_in(&data, &[&["operator", "raft"], args].concat());
    let busy = raft(&["info", "."]);
    assert!(busy.exit == 1 && busy.stderr.contains("is in use by another process\nStop the agent first"), "{busy:?}");
    member.kill();

    let info = raft(&["info", "."]);
    assert_eq!((info.stderr.as_str(), info.exit), ("", 0));
    let number = |name: &str| -> u64 {
        let line = info.stdout.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {info:?}"));
        line.trim().parse().unwrap_or_else(|e| panic!("{line}: {e}"))
    };
    let (length, first, last) = (number("length:"), number("first index:"), number("last index:"));
    assert_eq!((first, last), (1, length), "{}", info.stdout);
    assert!(info.stdout.starts_with("path:        ") && info.stdout.contains("server/raft\n"), "{}", info.stdout);

    let logs = raft(&["logs", "server/raft"]);
    let entries: Vec<Value> = logs.stdout.lines().map(|line| parsed(line.as_bytes())).collect();
    let indexes: Vec<u64> = entries.iter().map(|e| e["Index"].as_u64().expect("an index")).collect();
    assert_eq!(indexes, (1..=last).collect::<Vec<u64>>());
    let registered = entries.iter().find(|e| e["CommandType"] == "JobRegister").expect("the job");
    assert_eq!((&registered["LogType"], &registered["Body"]["job"]["ID"]), (&json!("LogCommand"), &json!("logged")));
    assert!(entries.iter().any(|e| e["LogType"] == "LogNoop") && entries[0]["LogType"] == "LogConfiguration");

    let state = |args: &[&str]| {
        let ran = raft(&[&["state"], args, &["."]].concat());
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
        parsed(ran.stdout.as_bytes())
    };
    let jobs = |state: &Value| state["Jobs"].as_array().map_or(0, Vec::len);
    let index = registered["Index"].as_u64().expect("an index");
    assert_eq!(jobs(&state(&[])), 1);
    let (before, at) = ((index - 1).to_string(), index.to_string());
    assert_eq!(jobs(&state(&["-last-index", &before])), 0, "before the job was registered");
    assert_eq!(jobs(&state(&["-last-index", &at])), 1);
    let back = format!("-{}", last - (index - 1));
    assert_eq!(jobs(&state(&["-last-index", &back])), 0, "counted back from the end");
    let none = raft(&["info", "nosuch"]);
    assert!(none.exit == 1 && none.stderr.starts_with("no raft log found in \"nosuch\"\n"), "{none:?}");
    // Nothing was changed.
    assert_eq!(raft(&["logs", "."]).stdout, logs.stdout);
    member.start();
    wait_for("the job", || member.read("/v1/job/logged").map(drop));
}

#[test]
fn commands_of_nomad_enterprise_say_what_they_are() {
    for (command, error) in
        [("sentinel", "Sentinel policies"), ("recommendation", "recommendations"), ("setup", "Consul")]
    {
        let ran = run_in(".".as_ref(), &[command]);
        assert!(ran.exit == 1 && ran.stdout.is_empty() && ran.stderr.contains(error), "{ran:?}");
    }
}
