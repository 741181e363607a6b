//! Clients and servers.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::cluster::{Browser, Canned};

const EVIL: &str = "\"><script>alert(1)</script>\u{202e}";
const ID: &str = "f7476465-4d6e-c0de-26d0-e383c49be941";

fn node() -> Value {
    json!({
        "ID": ID, "Name": EVIL, "Datacenter": EVIL, "NodePool": EVIL, "NodeClass": EVIL, "Status": "ready",
        "SchedulingEligibility": "eligible", "Attributes": { EVIL: EVIL }, "Meta": { EVIL: EVIL },
        "NodeResources": {
            "Cpu": { "CpuShares": 4000 }, "Memory": { "MemoryMB": 8192 }, "Disk": { "DiskMB": 10000 },
            "Devices": [{ "Vendor": "nvidia", "Type": "gpu", "Name": "a100",
                "Instances": [{ "ID": "1", "Healthy": true }, { "ID": "2", "Healthy": false }] }],
        },
        "Drivers": { "docker": { "Detected": true, "Healthy": false, "HealthDescription": EVIL } },
        "HostVolumes": { "data": { "Path": EVIL, "ReadOnly": true } },
        "Events": [{ "Message": EVIL, "Subsystem": "Drain", "Details": { EVIL: EVIL }, "Timestamp": "2026-11-30T00:00:00Z" }],
    })
}

fn allocations() -> Value {
    json!([{
        "ID": "84a766f3-0000-0000-0000-000000000000", "Name": "web.g[0]", "JobID": "web", "Namespace": "default", "NodeID": ID,
        "ClientStatus": "running", "DesiredStatus": "stop", "Job": { "ID": "web" },
        "AllocatedResources": { "Tasks": { "t": { "Cpu": { "CpuShares": 1000 }, "Memory": { "MemoryMB": 4096 },
            "Devices": [{ "Vendor": "nvidia", "Type": "gpu", "Name": "a100", "DeviceIDs": ["1"] }] } } },
    }])
}

fn cluster(source: Canned) -> Canned {
    let at = format!("/v1/node/{ID}");
    source.get(&at, node()).get(&format!("{at}/allocations"), allocations())
}

#[tokio::test]
async fn the_page_shows_names_as_text_and_resources_as_meters() {
    let page = cluster(Canned::live()).open(&format!("/ui/clients/{ID}")).await;
    assert_eq!(page.status, StatusCode::OK);
    page.has(&["&lt;script&gt;", "1000 / 4000 MHz (25%)", "4096 / 8192 MiB (50%)", "1 / 1 instances", "1 unhealthy"]);
    page.has_not(&["<script>alert"]);
}

#[tokio::test]
async fn a_file_offers_no_action_on_a_client() {
    let page = cluster(Canned::file()).open(&format!("/ui/clients/{ID}")).await;
    page.has_not(&["<form method=\"post\""]);
    let mut browser = Browser::of(cluster(Canned::file()));
    browser.open("/ui/clients").await;
    let refused = browser.post(&format!("/ui/clients/{ID}/drain"), String::new()).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_drain_is_sent_with_its_options() {
    let at = format!("/ui/clients/{ID}");
    let mut browser =
        Browser::of(cluster(Canned::live()).answer("PUT", &format!("/v1/node/{ID}/drain"), StatusCode::OK, json!({})));
    let fields = [("kind", "deadline"), ("deadline", "1h30m"), ("message", "Kernel"), ("ignore_system", "true")];
    let done = browser.submit(&at, &format!("{at}/drain"), &fields).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, at.as_str()));
    let sent = browser.sent().pop().expect("a request");
    let body: Value = serde_json::from_str(&sent.body).expect("JSON");
    assert_eq!(body["DrainSpec"], json!({ "Deadline": 5_400_000_000_000_i64, "IgnoreSystemJobs": true }));
    assert_eq!(body["Meta"], json!({ "message": "Kernel" }));
    let refused = browser.submit(&at, &format!("{at}/drain"), &[("kind", "deadline"), ("deadline", "soon")]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    refused.has(&["not a duration", "soon"]);
}

#[tokio::test]
async fn the_loss_of_a_client_is_answered_on_its_page() {
    let answer = json!({
        "Displaced": [{ "Name": "web.g[0]", "JobID": "web", "Namespace": "default", "Cause": "lost", "Fate": "unplaced",
            "From": { "AllocID": "84a766f3", "NodeID": ID }, "To": null }],
        "Unplaced": [{ "Count": 1, "JobID": "web", "Namespace": "default", "TaskGroup": "g" }],
        "Fates": { "Unplaced": 1 }, "Notes": [],
    });
    let mut browser = Browser::of(cluster(Canned::file()).prints(1, &answer.to_string(), ""));
    let page = browser.open(&format!("/ui/clients/{ID}?question=lost")).await;
    page.has(&["1 allocation would be unplaced.", "href=\"/ui/jobs/web@default\""]);
    assert_eq!(browser.ran(), [["what-if".to_string(), format!("-down={ID}"), "-json".to_string()]]);
    let failed = cluster(Canned::file()).prints(255, "", "no such node\n");
    failed.open(&format!("/ui/clients/{ID}?question=drained")).await.has(&["no such node"]);
}

#[tokio::test]
async fn filters_of_the_list_are_quoted() {
    let mut browser = Browser::of(Canned::live().get("/v1/nodes", json!([])).followed_by("next"));
    let page = browser.open("/ui/clients?q=a%22b&state=draining").await;
    page.has(&["No clients fit.", "rel=\"next\"", "value=\"a&quot;b\""]);
    let uri = browser.sent().pop().expect("a request").uri;
    assert!(
        uri.contains("filter=%28Name%20contains%20%22a%5C%22b%22%29%20and%20%28DrainStrategy%20is%20not%20nil%29"),
        "{uri}"
    );
}

#[tokio::test]
async fn unhealthy_servers_are_shown_and_parts_without_permission_left_out() {
    let members = json!({ "Members": [{ "Name": "a.global", "Addr": "10.0.0.1", "Port": 4648, "Status": "failed", "Tags": { "id": "1" } }] });
    let health = json!({ "Healthy": false, "FailureTolerance": 0, "Servers": [{ "ID": "1", "Healthy": false }] });
    let cluster = Canned::live()
        .get("/v1/agent/members", members)
        .answer("GET", "/v1/operator/raft/configuration", StatusCode::FORBIDDEN, json!("Permission denied"))
        .answer("GET", "/v1/operator/autopilot/health", StatusCode::TOO_MANY_REQUESTS, json!(health.to_string()));
    let page = cluster.open("/ui/servers").await;
    assert_eq!(page.status, StatusCode::OK);
    page.has(&["Some servers are unhealthy.", "a.global", "failed", "unhealthy"]);
}

#[tokio::test]
async fn a_file_without_servers_and_access_says_so() {
    let broken =
        |path: &str| Canned::file().answer("GET", path, StatusCode::INTERNAL_SERVER_ERROR, json!("no servers"));
    broken("/v1/agent/members").open("/ui/servers").await.has(&["A file has no servers"]);
    broken("/v1/acl/policies").open("/ui/access").await.has(&["not part of the pages of a file"]);
}
