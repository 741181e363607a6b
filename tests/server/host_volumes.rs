//! Dynamic host volumes with the real program: plugins that the tests write, commands, claims, restarts of the agent.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, Ran, run_with};

/// A plugin that makes a directory of the requested size, and retains what it was asked.
const GOOD: &str = r#"
path="$DHV_VOLUMES_DIR/good-$DHV_VOLUME_ID"
case "$1" in
fingerprint) echo '{"version": "1.2.3"}' ;;
create)
  echo "create $DHV_NAMESPACE $DHV_VOLUME_NAME $DHV_CAPACITY_MIN_BYTES $DHV_PARAMETERS" >> "$DHV_PLUGIN_DIR/good.log"
  mkdir -p "$path"
  printf '{"path": "%s", "bytes": %s}' "$path" "$DHV_CAPACITY_MIN_BYTES" ;;
delete)
  echo "delete $DHV_CREATED_PATH" >> "$DHV_PLUGIN_DIR/good.log"
  rm -rf "$DHV_CREATED_PATH" ;;
esac"#;

/// A plugin that makes a directory and then answers like this.
fn bad(answer: &str) -> String {
    format!(
        r#"case "$1" in
fingerprint) echo '{{"version": "0.1"}}' ;;
create) mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"; {answer} ;;
delete) rm -rf "$DHV_CREATED_PATH" ;;
esac"#
    )
}

/// Writes a plugin.
fn plugin(folder: &Folder, name: &str, script: &str) -> PathBuf {
    let path = folder.path().join("plugins").join(name);
    std::fs::create_dir_all(folder.path().join("plugins")).expect("a directory");
    // A plugin that is being replaced may run.
    let new = folder.path().join(format!("{name}.new"));
    std::fs::write(&new, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    std::fs::rename(&new, &path).expect("a plugin");
    path
}

/// The settings of the node's directories.
fn client(folder: &Folder) -> String {
    let dir = folder.path().display();
    format!("client {{\n  host_volume_plugin_dir = \"{dir}/plugins\"\n  host_volumes_dir = \"{dir}/volumes\"\n}}\n")
}

fn ready(agent: &Agent) {
    wait_for("a ready node", || match agent.list("/v1/nodes").first() {
        Some(node) if node["Status"] == "ready" => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

/// An agent in development mode.
fn development(folder: &Folder) -> Agent {
    let agent = Agent::start(folder, &client(folder), &["-dev"]);
    ready(&agent);
    agent
}

fn encamp(agent: &Agent, folder: &Folder, args: &[&str]) -> Ran {
    run_with(folder.path(), args, &[("NOMAD_ADDR", &agent.address())], None)
}

/// The volumes of the cluster, by name.
fn volume(agent: &Agent, name: &str) -> Json {
    let all = agent.list("/v1/volumes?type=host&namespace=*");
    all.into_iter().find(|v| v["Name"] == name).unwrap_or_default()
}

/// Waits until a volume is in a state; gives it in full.
fn in_state(agent: &Agent, name: &str, state: &str) -> Json {
    let mut found = Json::Null;
    wait_for(&format!("{name} is {state}"), || {
        found = volume(agent, name);
        if found["State"] == state { Ok(()) } else { Err(found.to_string()) }
    });
    agent.get(&format!("/v1/volume/host/{}", id(&found)))
}

fn id(object: &Json) -> &str {
    object["ID"].as_str().expect("an ID")
}

fn create(agent: &Agent, volume: Json) -> (u16, String) {
    let reply = agent.send("PUT", "/v1/volume/host/create", &json!({ "Volume": volume }));
    (reply.status, reply.body)
}

/// The names in the directory of volumes.
fn on_disk(folder: &Folder) -> Vec<String> {
    let entries =
        std::fs::read_dir(folder.path().join("volumes")).map(|e| e.flatten().collect()).unwrap_or_else(|_| Vec::new());
    entries.iter().map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

/// A job that keeps its volume.
fn sticky(id: &str, source: &str) -> Json {
    json!({
        "ID": id, "Name": id, "Type": "service", "Datacenters": ["*"],
        "TaskGroups": [{
            "Name": "g", "Count": 1,
            "Volumes": {"data": {"Name": "data", "Type": "host", "Source": source, "Sticky": true,
                "AccessMode": "single-node-writer", "AttachmentMode": "file-system"}},
            "Tasks": [{"Name": "main", "Driver": "raw_exec", "Config": {"command": "sleep", "args": ["600"]},
                "Resources": {"CPU": 20, "MemoryMB": 20}}],
        }],
    })
}

fn run_job(agent: &Agent, job: &Json) {
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let job = id(job).to_string();
    wait_for("a running allocation", || {
        let allocs = agent.list(&format!("/v1/job/{job}/allocations"));
        if allocs.iter().any(|a| a["ClientStatus"] == "running") { Ok(()) } else { Err(format!("{allocs:?}")) }
    });
}

#[test]
fn programs_create_change_and_delete_volumes() {
    let folder = Folder::new("host-volumes-programs");
    plugin(&folder, "good", GOOD);
    plugin(&folder, "hangs", "sleep 600");
    let agent = development(&folder);
    let node = agent.get(&format!("/v1/node/{}", id(&agent.list("/v1/nodes")[0])));
    let version = |name: &str| node["Attributes"][format!("plugins.host_volume.{name}.version")].clone();
    assert_eq!((version("good"), version("mkdir"), version("hangs")), (json!("1.2.3"), json!("0.0.1"), Json::Null));

    folder.file(
        "data.volume.hcl",
        "type = \"host\"\nname = \"data\"\nplugin_id = \"good\"\ncapacity_min = \"1KiB\"\nparameters {\n  kind = \"ssd\"\n}\n",
    );
    let ran = encamp(&agent, &folder, &["volume", "create", "data.volume.hcl"]);
    let made = in_state(&agent, "data", "ready");
    let id = id(&made).to_string();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((ran.exit, ran.stderr.as_str(), lines.len()), (0, "", 3), "{ran:?}");
    assert_eq!(lines[0], format!("==> Created host volume data with ID {id}"));
    assert!(lines[1].ends_with(&format!(": Monitoring volume \"{}\"...", &id[..8])), "{ran:?}");
    assert!(lines[2].starts_with("==> ") && lines[2].ends_with(": Volume \"data\" ready"), "{ran:?}");
    let path = folder.path().join("volumes").join(format!("good-{id}"));
    assert_eq!((made["HostPath"].as_str(), &made["CapacityBytes"]), (path.to_str(), &json!(1024)));
    assert!(path.is_dir());

    // A larger one.
    folder.file(
        "data.json",
        json!({"type": "host", "name": "data", "plugin_id": "good", "capacity_min": "2KiB"}).to_string(),
    );
    let ran = encamp(&agent, &folder, &["volume", "create", "-id", &id, "data.json"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.exit),
        (format!("Created host volume data with ID {id}\n").as_str(), 0),
        "{ran:?}"
    );
    assert_eq!(in_state(&agent, "data", "ready")["CapacityBytes"], 2048);
    let (status, text) = create(&agent, json!({"ID": id, "Name": "data", "RequestedCapacityMaxBytes": 100}));
    let wanted = "capacity_max (100) must not be less than the existing capacity (2048)";
    assert!(status == 500 && text.contains(wanted), "{status} {text}");
    // The name is taken on the only node.
    let (status, text) = create(&agent, json!({"Name": "data"}));
    assert!(status == 500 && text.contains("1 nodes had existing volume"), "{text}");

    let ran = encamp(&agent, &folder, &["volume", "delete", "-type", "host", &id[..8]]);
    assert_eq!(
        (ran.stdout.as_str(), ran.exit),
        (format!("Successfully deleted volume \"{id}\"!\n").as_str(), 0),
        "{ran:?}"
    );
    assert!(!path.exists() && agent.list("/v1/volumes?type=host").is_empty());
    let log = std::fs::read_to_string(folder.path().join("plugins/good.log")).expect("a log");
    let path = path.display();
    let wanted =
        format!("create default data 1024 {{\"kind\":\"ssd\"}}\ncreate default data 2048 {{}}\ndelete {path}\n");
    assert_eq!(log, wanted);
}

#[test]
fn hostile_programs_are_refused_and_leave_nothing() {
    let folder = Folder::new("host-volumes-hostile");
    let cases = [
        ("garbage", "echo '<html>'", "host volume plugin \"garbage\": create: printed an invalid reply"),
        ("relative", "echo '{\"path\": \"etc\"}'", "the path \"etc\" of its reply is not an absolute path"),
        ("nowhere", "echo '{\"path\": \"/nonexistent/x\"}'", "can't be used: No such file or directory"),
        ("crash", "kill -SEGV $$", "killed by signal 11"),
        ("endless", "yes", "printed more than 65536 bytes and was killed"),
        (
            "full",
            "rm -r \"$DHV_VOLUMES_DIR/$DHV_VOLUME_ID\"; echo '{\"error\": \"disk full\"}'; exit 28",
            "exit status 28: disk full",
        ),
    ];
    for (name, answer, _) in cases {
        plugin(&folder, name, &bad(answer));
    }
    let agent = development(&folder);
    for (name, _, wanted) in cases {
        let (status, text) = create(&agent, json!({"Name": "v", "PluginID": name}));
        assert!(status == 500 && text.contains(wanted), "{name}: {status} {text}");
        assert_eq!(agent.list("/v1/volumes?type=host"), Vec::<Json>::new(), "{name}");
        assert_eq!(on_disk(&folder), Vec::<String>::new(), "{name}");
    }
    // One that vanished.
    plugin(&folder, "late", &bad("exit 1"));
    std::fs::remove_file(folder.path().join("plugins/garbage")).expect("removed");
    let (_, text) = create(&agent, json!({"Name": "v", "PluginID": "garbage"}));
    assert!(text.contains("no such plugin: \"garbage\""), "{text}");
    // A new one is known after a reload.
    agent.signal(rustix::process::Signal::HUP);
    wait_for("the new plugin is tried", || {
        let (_, text) = create(&agent, json!({"Name": "v", "PluginID": "late"}));
        if text.contains("exit status 1") { Ok(()) } else { Err(text) }
    });
}

#[test]
fn what_is_not_valid_is_refused() {
    let folder = Folder::new("host-volumes-invalid");
    let agent = development(&folder);
    let node = id(&agent.list("/v1/nodes")[0]).to_string();
    let capability = |access: &str| json!([{"AccessMode": access, "AttachmentMode": "file-system"}]);
    for (volume, wanted) in [
        (json!({}), "missing name"),
        (json!({"Name": "x".repeat(300)}), "the name has more than 256 bytes"),
        (json!({"Name": "a\nb"}), "the name contains control characters"),
        (json!({"Name": "v", "Parameters": {"k": "x".repeat(70_000)}}), "the parameters have more than 65536 bytes"),
        (json!({"Name": "v", "Parameters": {"mode": "rwx"}}), "invalid value for \"mode\": \"rwx\""),
        (
            json!({"Name": "v", "RequestedCapabilities": capability("multi-node-writer")}),
            "invalid access mode: \"multi-node-writer\"",
        ),
        (json!({"Name": "v", "ID": "../../etc"}), "no such volume: ../../etc"),
        (json!({"Name": "v", "Namespace": "nope"}), "host volume \"v\" is in nonexistent namespace \"nope\""),
        (json!({"Name": "v", "NodeID": node, "NodePool": "gpu"}), "is not in requested node pool \"gpu\""),
        (json!({"Name": "v", "NodeID": "11111111-2222-3333-4444-555555555555"}), "node not found"),
        (
            json!({"Name": "v", "Constraints": [{"LTarget": "${attr.kernel.name}", "RTarget": "plan9", "Operand": "="}]}),
            "1 nodes were infeasible",
        ),
    ] {
        let (status, text) = create(&agent, volume.clone());
        assert!(matches!(status, 400 | 500) && text.contains(wanted), "{volume}: {status} {text}");
    }
    let register = |volume: Json| agent.send("PUT", "/v1/volume/host/register", &json!({ "Volume": volume })).body;
    assert_eq!(register(json!({"Name": "v", "NodeID": node})), "cannot register volume: host path is required");
    let text = register(json!({"Name": "v", "NodeID": node, "HostPath": "/nonexistent/volume"}));
    assert!(text.contains("cannot verify host path \"/nonexistent/volume\""), "{text}");
    assert_eq!((agent.list("/v1/volumes?type=host"), on_disk(&folder)), (Vec::new(), Vec::new()));
}

#[test]
fn a_group_keeps_its_volume_until_its_claim_is_deleted() {
    let folder = Folder::new("host-volumes-claims");
    let agent = development(&folder);
    for name in ["a", "b"] {
        assert_eq!(create(&agent, json!({"Name": name})).0, 200);
        in_state(&agent, name, "ready");
    }
    run_job(&agent, &sticky("keeper", "a"));
    let claims = agent.list("/v1/volumes/claims?job_id=keeper");
    let claim = &claims[0];
    assert_eq!((claims.len(), &claim["VolumeName"], &claim["TaskGroupName"]), (1, &json!("a"), &json!("g")));
    let (claim_id, volume_id) = (id(claim).to_string(), claim["VolumeID"].as_str().expect("an ID").to_string());
    let ran = encamp(&agent, &folder, &["volume", "claim", "list", "-job", "keeper"]);
    let wanted = format!(
        "ID        Namespace  Job ID  Volume ID  Volume Name\n{}  default    keeper  {}   a\n",
        &claim_id[..8],
        &volume_id[..8]
    );
    assert_eq!((ran.stdout.as_str(), ran.exit), (wanted.as_str(), 0), "{ran:?}");

    // The allocation is shown with the volume, which can not be deleted meanwhile.
    let shown = agent.get(&format!("/v1/volume/host/{volume_id}"));
    assert_eq!(shown["Allocations"].as_array().map(Vec::len), Some(1), "{shown}");
    let ran = encamp(&agent, &folder, &["volume", "delete", "-type", "host", &volume_id]);
    assert!(ran.exit == 1 && ran.stderr.contains(&format!("volume {volume_id} in use by allocations: [")), "{ran:?}");
    let narrow = json!({"ID": volume_id, "Name": "a",
        "RequestedCapabilities": [{"AccessMode": "single-node-reader-only", "AttachmentMode": "file-system"}]});
    let (_, text) = create(&agent, narrow);
    assert!(text.contains("capability single-node-writer file-system can not be removed"), "{text}");

    // The next allocation of the group claims nothing new.
    let alloc = id(&agent.list("/v1/job/keeper/allocations")[0]).to_string();
    assert_eq!(agent.send("PUT", &format!("/v1/allocation/{alloc}/stop"), &json!({})).status, 200);
    wait_for("another allocation", || {
        let allocs = agent.list("/v1/job/keeper/allocations");
        let runs = allocs.iter().any(|a| a["ClientStatus"] == "running" && a["ID"] != json!(alloc));
        if runs { Ok(()) } else { Err(format!("{allocs:?}")) }
    });
    assert_eq!(agent.list("/v1/volumes/claims"), claims);

    let ran = encamp(&agent, &folder, &["volume", "claim", "delete", &claim_id]);
    let text = "This command requires -y option when running in non-interactive mode\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (text, 1));
    let ran = encamp(&agent, &folder, &["volume", "claim", "delete", "-y", &claim_id[..8]]);
    let text = format!("Task group host volume claim {claim_id} successfully deleted\n");
    assert_eq!((ran.stdout.as_str(), ran.exit), (text.as_str(), 0), "{ran:?}");
    let ran = encamp(&agent, &folder, &["volume", "claim", "list"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("No task group host volume claims found\n", 0));
    let ran = encamp(&agent, &folder, &["volume", "claim", "delete", "-y", &claim_id]);
    assert!(ran.exit == 1 && ran.stderr.contains("task group volume claim does not exist"), "{ran:?}");

    // A purged job has no claims.
    run_job(&agent, &sticky("purged", "b"));
    assert_eq!(agent.list("/v1/volumes/claims?job_id=purged").len(), 1);
    assert_eq!(agent.send("DELETE", "/v1/job/purged?purge=true", &json!({})).status, 200);
    wait_for("no claims", || {
        let left = agent.list("/v1/volumes/claims");
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

#[test]
fn a_job_without_its_volume_waits_and_a_driver_without_mounts_says_so() {
    let folder = Folder::new("host-volumes-mounts");
    let agent = development(&folder);
    let mut job = sticky("mounter", "late");
    job["TaskGroups"][0]["Tasks"][0]["VolumeMounts"] = json!([{"Volume": "data", "Destination": "/data"}]);
    job["TaskGroups"][0]["RestartPolicy"] = json!({"Attempts": 0, "Mode": "fail"});
    job["TaskGroups"][0]["ReschedulePolicy"] = json!({"Attempts": 0, "Unlimited": false});
    assert_eq!(agent.send("PUT", "/v1/jobs", &json!({ "Job": job })).status, 200);
    wait_for("a blocked evaluation", || {
        let evals = agent.list("/v1/job/mounter/evaluations");
        let text = json!(evals).to_string();
        if text.contains("missing compatible host volumes") { Ok(()) } else { Err(text) }
    });
    assert_eq!(create(&agent, json!({"Name": "late"})).0, 200);
    wait_for("the task is refused", || {
        let allocs = agent.list("/v1/job/mounter/allocations");
        let text = json!(allocs).to_string();
        let wanted = "task driver \\\"raw_exec\\\" for \\\"main\\\" does not support host volumes";
        if text.contains(wanted) { Ok(()) } else { Err(text) }
    });
}

/// An agent that keeps its state.
fn durable(folder: &Folder) -> Agent {
    let (data, client) = (folder.path().join("data").display().to_string(), client(folder));
    let client = client.replace("client {", "client {\n  enabled = true");
    let config = format!(
        "data_dir = \"{data}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n{client}\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n"
    );
    let agent = Agent::start(folder, &config, &[]);
    ready(&agent);
    agent
}

#[test]
fn volumes_are_created_again_when_the_agent_starts() {
    let folder = Folder::new("host-volumes-restart");
    for name in ["good", "other"] {
        plugin(&folder, name, GOOD);
    }
    let agent = durable(&folder);
    let node = id(&agent.list("/v1/nodes")[0]).to_string();
    for (name, plugin) in [("made", "mkdir"), ("grown", "good"), ("lost", "other")] {
        let (status, text) = create(&agent, json!({"Name": name, "PluginID": plugin}));
        assert_eq!(status, 200, "{text}");
    }
    std::fs::create_dir_all(folder.path().join("srv/kept")).expect("a directory");
    std::fs::create_dir_all(folder.path().join("srv/gone")).expect("a directory");
    for name in ["kept", "gone"] {
        let path = folder.path().join("srv").join(name);
        folder.file(
            "registered.hcl",
            format!(
                "type = \"host\"\nname = \"{name}\"\nnode_id = \"{node}\"\nhost_path = \"{}\"\ncapacity = \"1GB\"\n",
                path.display()
            ),
        );
        let ran = encamp(&agent, &folder, &["volume", "register", "registered.hcl"]);
        let made = volume(&agent, name);
        let wanted = format!("Registered host volume {name} with ID {}\n", id(&made));
        assert_eq!((ran.stdout.as_str(), ran.exit), (wanted.as_str(), 0), "{ran:?}");
        assert_eq!((&made["PluginID"], &made["CapacityBytes"]), (&json!(""), &json!(1_000_000_000)));
    }
    let paths: Vec<PathBuf> = ["made", "grown", "lost", "kept", "gone"]
        .iter()
        .map(|name| PathBuf::from(in_state(&agent, name, "ready")["HostPath"].as_str().expect("a path")))
        .collect();
    let mut agent = agent;
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
    drop(agent);
    // The directories of all but one are gone, as after a reboot, and so is a plugin.
    for path in paths.iter().filter(|p| !p.ends_with("kept")) {
        std::fs::remove_dir_all(path).expect("removed");
    }
    std::fs::remove_file(folder.path().join("plugins/other")).expect("removed");
    let mut agent = Agent::spawn(&folder, &["-config", "agent.hcl"]);
    agent.serves();
    ready(&agent);
    for name in ["lost", "gone"] {
        in_state(&agent, name, "unavailable");
    }
    for (name, path) in [("made", &paths[0]), ("grown", &paths[1]), ("kept", &paths[3])] {
        in_state(&agent, name, "ready");
        assert!(path.is_dir(), "{name}");
    }
    // The node can not delete what its plugin created; by force the volume is forgotten.
    let lost = id(&volume(&agent, "lost")).to_string();
    let ran = encamp(&agent, &folder, &["volume", "delete", "-type", "host", &lost]);
    assert!(ran.exit == 1 && ran.stderr.contains("no such plugin: \"other\""), "{ran:?}");
    in_state(&agent, "lost", "unavailable");
    let ran = encamp(&agent, &folder, &["volume", "delete", "-type", "host", "-force", &lost]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert_eq!(volume(&agent, "lost"), Json::Null);
    // What was registered stays on disk.
    let kept = id(&volume(&agent, "kept")).to_string();
    let ran = encamp(&agent, &folder, &["volume", "delete", "-type", "host", &kept]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert!(Path::new(&paths[3]).is_dir());
}
