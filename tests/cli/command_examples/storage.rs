//! A cluster with a CSI volume and its plugin, as commands see it: canned answers.

use serde_json::json;

use super::directory::ExampleDirectory;
use super::end;
use super::shell::Shell;
use crate::canned::serving;
use crate::server::Response;

/// Runs examples.
pub(super) fn run(examples: impl Iterator<Item = (&'static str, &'static str)>) {
    let volume = json!({"ID": "database", "Name": "database", "Namespace": "default", "PluginID": "ebs"});
    let snapshots = json!({"Snapshots": [{"ID": "snap-0b12", "SourceVolumeID": "database", "IsReady": true}]});
    let server = serving(vec![
        ("GET /v1/volumes", Response::json(&json!([volume]))),
        ("GET /v1/plugins", Response::json(&json!([{"ID": "ebs"}]))),
        ("GET /v1/nodes", Response::json(&json!([{"ID": "f7476465-4d6e-4d3b-9d0c-3f1c0b6e5a72"}]))),
        ("DELETE /v1/volume/csi/database", Response::json(&json!({}))),
        ("DELETE /v1/volume/csi/database/detach", Response::json(&json!({}))),
        ("PUT /v1/volumes/snapshot", Response::json(&snapshots)),
        ("GET /v1/volumes/snapshot", Response::json(&snapshots)),
        ("DELETE /v1/volumes/snapshot", Response::json(&json!({}))),
    ]);
    let directory = ExampleDirectory::new("examples-storage");
    let shell = Shell::new(&directory, &[("NOMAD_ADDR", &server.address)]);
    let failures: Vec<String> =
        examples.filter_map(|(command, line)| shell.example(command, line, end(command, line))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
