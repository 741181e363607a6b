//! The topology.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::cluster::{Browser, Canned};

fn node(id: &str, name: &str, datacenter: &str) -> Value {
    json!({
        "ID": id, "Name": name, "Datacenter": datacenter, "NodePool": "default", "Version": "2.0.5", "Status": "ready",
        "SchedulingEligibility": "eligible", "Drivers": null,
        "NodeResources": { "Cpu": { "CpuShares": 1100 }, "Memory": { "MemoryMB": 1000 }, "Devices": null },
        "ReservedResources": { "Cpu": { "CpuShares": 100 }, "Memory": { "MemoryMB": 0 } },
    })
}

fn allocation(id: &str, node: &str, job: &str, cpu: i64, memory: i64) -> Value {
    json!({
        "ID": id, "NodeID": node, "JobID": job, "Namespace": "default", "Name": format!("{job}.g[0]"), "JobVersion": 3,
        "ClientStatus": "running", "DesiredStatus": "run",
        "AllocatedResources": {
            "Tasks": { "t": { "Cpu": { "CpuShares": cpu }, "Memory": { "MemoryMB": memory }, "Devices": null } },
            "Shared": { "DiskMB": 300 },
        },
    })
}

fn cluster() -> Canned {
    let nodes = json!([node("a1", "one", "dc1"), node("b2", "two", "dc2")]);
    let allocations = json!([
        allocation("x1", "a1", "web", 500, 800),
        allocation("x2", "b2", &"long-".repeat(40), i64::MAX, i64::MAX)
    ]);
    Canned::live().get("/v1/nodes", nodes).get("/v1/allocations", allocations)
}

#[tokio::test]
async fn each_node_has_the_colour_of_its_fuller_resource() {
    let page = cluster().open("/ui/topology").await;
    assert_eq!(page.status, StatusCode::OK);
    page.has(&[
        "<a href=\"/ui/clients/a1\" tabindex=\"-1\"><rect class=\"h3\"",
        "<a href=\"/ui/clients/b2\" tabindex=\"-1\"><rect class=\"h4\"",
        "<title>one: CPU 50%, memory 80%, 1 allocations</title>",
        "href=\"/ui/topology?only=dc1\"",
    ]);
    let by_cpu = cluster().open("/ui/topology?colour=cpu").await;
    by_cpu.has(&["<a href=\"/ui/clients/a1\" tabindex=\"-1\"><rect class=\"h2\""]);
}

#[tokio::test]
async fn the_selected_job_is_marked_and_its_versions_have_colours() {
    let page = cluster().open("/ui/topology?job=web%40default").await;
    page.has(&["rect class=\"h3 highlighted\"", "has allocations on 1 of these 2 nodes", "1 of the job"]);
    let other = cluster().open("/ui/topology?job=web%40other").await;
    other.has(&["has allocations on 0 of these 2 nodes"]);
    other.has_not(&["highlighted"]);
    let versions = cluster().open("/ui/topology?job=web%40default&colour=version").await;
    versions.has(&[
        "version 3 of web",
        "rect class=\"v0 highlighted\"",
        "<a href=\"/ui/clients/b2\" tabindex=\"-1\"><rect class=\"plain\"",
    ]);
}

#[tokio::test]
async fn one_group_can_be_shown_alone() {
    let page = cluster().open("/ui/topology?only=dc2").await;
    page.has(&["/ui/clients/b2", "All groups"]);
    page.has_not(&["/ui/clients/a1"]);
}

#[tokio::test]
async fn the_script_reads_the_allocations_of_some_nodes() {
    let mut browser = Browser::of(cluster());
    browser.sent();
    let drawn = browser.open("/ui/topology/allocations?node=a1&node=b2").await;
    drawn.has(&["<g data-node=\"a1\"><a class=\"piece\" href=\"/ui/allocations/x1\""]);
    let filters: Vec<String> = browser.sent().into_iter().map(|sent| sent.uri).collect();
    assert!(filters.iter().all(|uri| uri.contains("ID%20%3D%3D%20%22a1%22%20or%20")), "{filters:?}");
    let hostile = browser.open("/ui/topology/allocations?node=a1%22%20or%20%22a").await;
    assert_eq!(hostile.status, StatusCode::BAD_REQUEST);
    assert_eq!(browser.sent(), []);
}

#[tokio::test]
async fn an_empty_cluster_says_what_to_do() {
    let page =
        Canned::live().get("/v1/nodes", Value::Null).get("/v1/allocations", json!([])).open("/ui/topology").await;
    page.has(&["Start an agent with a client"]);
}

#[tokio::test]
async fn an_answer_that_ends_too_early_is_an_error() {
    let cut = Canned::live().answer("GET", "/v1/nodes", StatusCode::OK, json!({ "ID": "a1" }));
    assert_eq!(cut.open("/ui/topology").await.status, StatusCode::BAD_GATEWAY);
}
