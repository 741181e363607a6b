//! Commands about volumes on a terminal: a new volume is watched in place, and claims are deleted after a question.

use serde_json::{Value, json};

use super::encamp;
use super::screen::SIZES;
use crate::program::Folder;
use crate::server::{Request, Response, Server};

const ID: &str = "82d50ea1-e694-77c8-15c8-e7f768a270ed";
const CLAIM: &str = "81b43af2-0b5c-4a06-8d51-6f6c3a7e2d10";

/// A server whose volume is ready at the second look.
fn cluster() -> Server {
    Server::start(|r: &Request| {
        let later = r.param("index").is_some();
        let volume = |state: &str| json!({"ID": ID, "Name": "data", "Namespace": "default", "PluginID": "mkdir", "State": state, "HostPath": "/v"});
        let answer: Value = match (r.method.as_str(), r.path.as_str()) {
            ("PUT", "/v1/volume/host/create") => json!({"Volume": volume("pending")}),
            ("GET", path) if path.ends_with(ID) => volume(if later { "ready" } else { "pending" }),
            ("GET", "/v1/volumes/claims") => json!([{"ID": CLAIM, "Namespace": "default"}]),
            ("DELETE", _) => json!({}),
            _ => return Response::text(404, "not found"),
        };
        Response::json(&answer).with("X-Nomad-Index", if later { 8 } else { 7 })
    })
}

#[test]
fn a_volume_is_watched_in_place_until_it_is_ready() {
    let folder = Folder::new("terminal-volumes");
    folder.file("vol.hcl", "type = \"host\"\nname = \"data\"\n");
    let server = cluster();
    for size in SIZES {
        let ended = encamp(size, &folder, &server.address, &["volume", "create", "vol.hcl"]).ends().with(0);
        let ended = ended.showing("✓ Host volume \"82d50ea1\" ready").showing("Host Path = /v");
        ended.without("in progress");
    }
}

#[test]
fn claims_are_deleted_after_a_yes() {
    let folder = Folder::new("terminal-claims");
    let server = cluster();
    let deleted = || server.take().iter().filter(|r| r.method == "DELETE").count();
    for (answers, wanted) in [(&["maybe\r", "n\r"][..], 0), (&["\r"], 1), (&["Yes\r"], 1)] {
        let screen = encamp(SIZES[1], &folder, &server.address, &["volume", "claim", "delete", CLAIM]);
        for (i, answer) in answers.iter().enumerate() {
            screen.wait_until("the question", |screen, _| screen.contents().matches("[Y/n]").count() == i + 1);
            screen.press(answer);
        }
        screen.ends().with(0);
        assert_eq!(deleted(), wanted, "{answers:?}");
    }
}
