//! Commands about volumes against canned answers: requests, output, confirmations, mistakes in specifications.

use serde_json::{Value, json};

use crate::canned::{Canned, run, run_in, said, sent, serving, timeless};
use crate::program::Folder;
use crate::server::{Request, Response, Server};

const ID: &str = "82d50ea1-e694-77c8-15c8-e7f768a270ed";
const CLAIM: &str = "81b43af2-0b5c-4a06-8d51-6f6c3a7e2d10";

const HOST: &str = r#"
name         = "scratch-vol"
type         = "host"
plugin_id    = "mkdir"
capacity_min = "10MiB"
capacity_max = "20MiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
"#;

const CSI: &str = r#"
id        = "database"
name      = "database"
type      = "csi"
plugin_id = "ebs"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

secrets {
  key = "hush"
}

topology_request {
  required {
    topology { segments { rack = "R1" } }
  }
}
"#;

fn host(state: &str) -> Value {
    json!({"ID": ID, "Name": "scratch-vol", "Namespace": "default", "PluginID": "mkdir", "State": state})
}

fn csi() -> Value {
    json!({"ID": "database", "Name": "database", "Namespace": "default", "PluginID": "ebs", "ExternalID": "vol-1"})
}

fn bench(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("vol.hcl", HOST);
    folder.file("csi.hcl", CSI);
    folder
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

#[test]
fn a_host_volume_is_created_and_monitored() {
    let folder = bench("volumes-create");
    let read = format!("GET /v1/volume/host/{ID}");
    let server = serving(vec![
        ("PUT /v1/volume/host/create", Response::json(&json!({"Volume": host("pending"), "Warnings": "", "Index": 7}))),
        (read.as_str(), Response::json(&host("pending")).with("X-Nomad-Index", 7)),
        (read.as_str(), Response::json(&host("ready")).with("X-Nomad-Index", 8)),
    ]);
    let ran = run_in(&server, folder.path(), &["volume", "create", "vol.hcl"]);
    let wanted = format!(
        "==> Created host volume scratch-vol with ID {ID}\n==> NOW: Monitoring volume \"82d50ea1\"...\n\
         ==> NOW: Volume \"scratch-\" ready\n"
    );
    assert_eq!((timeless(&ran.stdout).as_str(), ran.stderr.as_str(), ran.exit), (wanted.as_str(), "", 0));
    let all = server.take();
    let volume = &body(&all[0])["Volume"];
    assert_eq!(
        (&volume["RequestedCapacityMinBytes"], &volume["RequestedCapacityMaxBytes"]),
        (&json!(10_485_760), &json!(20_971_520))
    );
    assert_eq!(
        volume["RequestedCapabilities"],
        json!([{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}])
    );
    assert_eq!(all.last().unwrap().param("index"), Some("7"));
    // Neither a detached nor a ready volume is monitored.
    let ran = run_in(&server, folder.path(), &["volume", "create", "-detach", "vol.hcl"]);
    assert_eq!(said(&ran), (format!("Created host volume scratch-vol with ID {ID}\n").as_str(), "", 0));
    let server = serving(vec![("PUT /v1/volume/host/create", Response::json(&json!({"Volume": host("ready")})))]);
    let ran = run_in(&server, folder.path(), &["volume", "create", "-id", ID, "vol.hcl"]);
    assert_eq!(said(&ran), (format!("Created host volume scratch-vol with ID {ID}\n").as_str(), "", 0));
    assert_eq!(body(&server.take()[0])["Volume"]["ID"], ID);
    let server = serving(vec![("PUT /v1/volume/host/create", Response::text(500, "no such plugin: \"x\""))]);
    let ran = run_in(&server, folder.path(), &["volume", "create", "vol.hcl"]);
    assert_eq!(said(&ran), ("", "Error creating volume: Unexpected response code: 500 (no such plugin: \"x\")\n", 1));
}

#[test]
fn host_volumes_are_registered_and_deleted() {
    let folder = bench("volumes-register");
    let ran = run_in(&serving(vec![]), folder.path(), &["volume", "register", "vol.hcl"]);
    assert_eq!(said(&ran), ("", "Node ID is required for registering\n", 1));
    folder.file(
        "reg.json",
        json!({"type": "host", "name": "scratch-vol", "node_id": "n", "host_path": "/srv", "capacity": "1GB"})
            .to_string(),
    );
    let server = serving(vec![("PUT /v1/volume/host/register", Response::json(&json!({"Volume": host("pending")})))]);
    let ran = run_in(&server, folder.path(), &["volume", "register", "reg.json"]);
    assert_eq!(said(&ran), (format!("Registered host volume scratch-vol with ID {ID}\n").as_str(), "", 0));
    let volume = body(&server.take()[0])["Volume"].clone();
    assert_eq!((&volume["HostPath"], &volume["CapacityBytes"]), (&json!("/srv"), &json!(1_000_000_000)));

    let server = Server::start(|r: &Request| match (r.method.as_str(), r.path.as_str(), r.param("prefix")) {
        ("GET", "/v1/volumes", Some(prefix)) if ID.starts_with(prefix) => Response::json(&json!([host("ready")])),
        ("GET", "/v1/volumes", _) => Response::json(&json!([])),
        ("DELETE", _, _) => Response::json(&json!({"Index": 9})),
        _ => Response::text(404, "not found"),
    });
    let ran = run(&server, &["volume", "delete", "-type", "host", "82d50ea1"]);
    assert_eq!(said(&ran), (format!("Successfully deleted volume \"{ID}\"!\n").as_str(), "", 0));
    let ran = run(&server, &["volume", "delete", "-type", "host", "nope"]);
    assert_eq!(said(&ran), ("", "Error listing host volumes: no volumes with prefix or ID \"nope\" found\n", 1));
    let ran = run(&server, &["volume", "delete", "-type", "host", "-force", "nope"]);
    assert_eq!(said(&ran), ("Successfully deleted volume \"nope\"!\n", "", 0));
    let forced = server.take().into_iter().rfind(|r| r.method == "DELETE").expect("a request");
    assert_eq!((forced.path.as_str(), forced.param("force")), ("/v1/volume/host/nope", Some("true")));
    let ran = run(&server, &["volume", "delete", "-type", "nfs", "x"]);
    assert_eq!(said(&ran), ("", "Error unknown volume type: nfs\n", 1));
}

#[test]
fn claims_are_listed_and_deleted() {
    let claim = json!({"ID": CLAIM, "Namespace": "default", "JobID": "example", "TaskGroupName": "g", "AllocID": "a",
        "VolumeID": ID, "VolumeName": "sticky-volume"});
    let delete = format!("DELETE /v1/volumes/claim/{CLAIM}");
    let routes = || {
        vec![("GET /v1/volumes/claims", Response::json(&json!([claim]))), (delete.as_str(), Response::json(&json!({})))]
    };
    let server = serving(routes());
    let ran = run(&server, &["volume", "claim", "list", "-job", "example", "-group", "g", "-volume-name", "v", "81"]);
    let wanted = "ID        Namespace  Job ID   Volume ID  Volume Name\n81b43af2  default    example  82d50ea1   sticky-volume\n";
    assert_eq!(said(&ran), (wanted, "", 0));
    let asked = &sent(&server, "GET /v1/volumes/claims")[0];
    let parameters = ["job_id", "task_group", "volume_name", "prefix"].map(|name| asked.param(name));
    assert_eq!(parameters, [Some("example"), Some("g"), Some("v"), Some("81")]);
    let ran = run(&server, &["volume", "claim", "list", "-t", "{{range .}}{{.JobID}}{{end}}"]);
    assert_eq!(said(&ran), ("example\n", "", 0));
    let ran = run(&server, &["volume", "claim", "delete", "81b43af2"]);
    assert_eq!(said(&ran), ("", "This command requires -y option when running in non-interactive mode\n", 1));
    let ran = run(&server, &["volume", "claim", "delete", "-y", "81b43af2"]);
    assert_eq!(said(&ran), (format!("Task group host volume claim {CLAIM} successfully deleted\n").as_str(), "", 0));
    assert_eq!(sent(&server, &delete).len(), 1);
    let none = serving(vec![("GET /v1/volumes/claims", Response::json(&json!([])))]);
    assert_eq!(said(&run(&none, &["volume", "claim", "list"])), ("No task group host volume claims found\n", "", 0));
}

#[test]
fn csi_volumes_and_their_snapshots() {
    let folder = bench("volumes-csi");
    let snapshot = json!({"ID": "snap-1", "ExternalSourceVolumeID": "vol-1", "SizeBytes": 53_687_091_200_i64,
        "CreateTime": 1_795_240_306, "IsReady": true});
    let canned = Canned::of(vec![
        ("GET /v1/volumes", Response::json(&json!([csi()]))),
        ("GET /v1/plugins", Response::json(&json!([{"ID": "ebs"}]))),
        ("GET /v1/nodes", Response::json(&json!([{"ID": "f7476465-4d6e-4d3b-9d0c-3f1c0b6e5a72"}]))),
        ("PUT /v1/volume/csi/database/create", Response::json(&json!({"Volumes": [csi()]}))),
        ("PUT /v1/volume/csi/database", Response::json(&json!({}))),
        ("DELETE /v1/volume/csi/database", Response::json(&json!({}))),
        ("DELETE /v1/volume/csi/database/delete", Response::json(&json!({}))),
        ("DELETE /v1/volume/csi/database/detach", Response::json(&json!({}))),
        ("PUT /v1/volumes/snapshot", Response::json(&json!({"Snapshots": [snapshot]}))),
        ("GET /v1/volumes/snapshot", Response::json(&json!({"Snapshots": [snapshot], "NextToken": "n2"}))),
        ("DELETE /v1/volumes/snapshot", Response::json(&json!({}))),
    ]);
    let run = |args: &[&str], input: &str| canned.run_in(folder.path(), args, input);
    let ran = run(&["volume", "create", "csi.hcl"], "");
    assert_eq!(said(&ran), ("Created external volume vol-1 with ID database\n", "", 0));
    let asked = body(canned.server.take().last().expect("a request"));
    let volume = &asked["Volumes"][0];
    assert_eq!(
        (&volume["Secrets"], &volume["RequestedTopologies"]["Required"]),
        (&json!({"key": "hush"}), &json!([{"Segments": {"rack": "R1"}}]))
    );
    assert_eq!(said(&run(&["volume", "register", "csi.hcl"], "")), ("Volume \"database\" registered\n", "", 0));
    let ran = run(&["volume", "deregister", "data"], "");
    assert_eq!(said(&ran), ("Successfully deregistered volume \"database\"!\n", "", 0));
    let question = "Are you sure you want to force deregister volume \"database\"? [y/N] ";
    let ran = run(&["volume", "deregister", "-force", "database"], "n\n");
    assert_eq!(said(&ran), (format!("{question}Cancelling volume deregister\n").as_str(), "", 0));
    let ran = run(&["volume", "deregister", "-force", "database"], "y\n");
    assert_eq!(said(&ran), (format!("{question}Successfully deregistered volume \"database\"!\n").as_str(), "", 0));
    assert_eq!(said(&run(&["volume", "detach", "database", "f7476465"], "")), ("", "", 0));
    canned.server.take();
    let ran = run(&["volume", "delete", "-secret", "a=1", "-secret", "b=2", "database"], "");
    assert_eq!(said(&ran), ("Successfully deleted volume \"database\"!\n", "", 0));
    let deleted = canned.server.take().into_iter().find(|r| r.method == "DELETE").expect("a request");
    assert_eq!(deleted.header("x-nomad-csi-secrets"), Some("a=1,b=2"));
    let ran = run(&["volume", "delete", "-secret", "hush", "database"], "");
    assert_eq!(said(&ran), ("", "Error parsing -secret: the value must have the form key=value\n", 1));

    let table = "Snapshot ID  Volume ID  Size    Create Time           Ready?\nsnap-1       vol-1      50 GiB  2026-11-21T05:51:46Z  true\n";
    let ran = run(&["volume", "snapshot", "create", "-parameter", "tier=cold", "database", "nightly"], "");
    assert_eq!(said(&ran), (table, "", 0));
    let asked = canned.bodies("PUT /v1/volumes/snapshot");
    assert_eq!(
        (&asked[0]["Snapshots"][0]["Name"], &asked[0]["Snapshots"][0]["Parameters"]),
        (&json!("nightly"), &json!({"tier": "cold"}))
    );
    let ran = run(&["volume", "snapshot", "list", "-plugin", "eb"], "");
    let next = "\nResults have been paginated. To get the next page run:\n\nencamp volume snapshot list -plugin eb -page-token n2\n";
    assert_eq!(said(&ran), (format!("{table}{next}").as_str(), "", 0));
    assert_eq!(
        said(&run(&["volume", "snapshot", "delete", "ebs", "snap-1"], "")),
        ("Deleted snapshot snap-1\n", "", 0)
    );
    assert_eq!(run(&["volume", "snapshot", "list"], "").exit, 1);
}

#[test]
fn mistakes_in_specifications_have_positions() {
    let folder = bench("volumes-mistakes");
    let server = serving(vec![]);
    for (text, wanted) in [
        ("type = \"host\"\nsize = 1\n", "bad.hcl:2:1: invalid key \"size\": known are "),
        ("type = \"host\"\ncapacity_min = \"lots\"\n", "bad.hcl:2:1: capacity_min: \"lots\" is not a size"),
        ("type = \"host\"\nname = \n", "bad.hcl:"),
        ("{\n \"type\": \"host\",\n \"size\": 1}", "bad.hcl:3:2: invalid key \"size\""),
    ] {
        folder.file("bad.hcl", text);
        let ran = run_in(&server, folder.path(), &["volume", "create", "bad.hcl"]);
        let wanted = format!("Error decoding the volume definition: {wanted}");
        assert!(ran.exit == 1 && ran.stderr.starts_with(&wanted), "{ran:?}");
    }
    folder.file("bad.hcl", "type = \"nfs\"\n");
    let ran = run_in(&server, folder.path(), &["volume", "create", "bad.hcl"]);
    assert_eq!(said(&ran), ("", "Error unknown volume type: nfs\n", 1));
    let ran = run_in(&server, folder.path(), &["volume", "create", "none.hcl"]);
    assert!(ran.exit == 1 && ran.stderr.starts_with("Failed to read \"none.hcl\": "), "{ran:?}");
}

#[test]
fn examples_are_written_and_can_be_sent() {
    let folder = Folder::new("volumes-init");
    let server = serving(vec![("PUT /v1/volume/host/create", Response::json(&json!({"Volume": host("ready")})))]);
    let ran = run_in(&server, folder.path(), &["volume", "init"]);
    assert_eq!(said(&ran), ("Example volume specification written to volume.hcl\n", "", 0));
    let ran = run_in(&server, folder.path(), &["volume", "init"]);
    assert_eq!(said(&ran), ("", "File \"volume.hcl\" already exists\n", 1));
    let ran = run_in(&server, folder.path(), &["volume", "init", "-type", "host", "-json"]);
    assert_eq!(said(&ran), ("Example volume specification written to volume.json\n", "", 0));
    let ran = run_in(&server, folder.path(), &["volume", "create", "-detach", "volume.json"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
}
