//! Containers that share the network of their allocation.

use std::path::Path;

use super::life::reads;
use super::*;
use crate::networks::Net;

/// The image of containers that hold networks.
const HOLDER: &str = "localhost/waits:1";

/// The name of a namespace.
pub fn namespace(alloc: &Json) -> String {
    format!("/var/run/netns/{}", id(alloc))
}

/// Imports the image of containers that hold networks; gives the setting that names it.
pub fn with_holder(podman: &Podman) -> String {
    let archive = podman.archive().display().to_string();
    podman.run(&["import", "--change", "CMD [\"/bin/sleep\", \"1000000\"]", &archive, HOLDER]);
    format!("infra_image = \"{HOLDER}\"")
}

/// A job whose tasks `t` and `u` are to reach each other at the loopback address.
pub fn pair(name: &str, network: &Json) -> Json {
    let says = "cat /etc/hosts /etc/resolv.conf; while :; do echo hello | nc -l -p 8000; done";
    let mut job = job(name, JobType::Service, task(says, &json!({})));
    let asks = "while ! nc 127.0.0.1 8000 >/alloc/data/u; do sleep 0.1; done; sleep 1000";
    let mut other = task(asks, &json!({}));
    other["Name"] = json!("u");
    let group = &mut job["TaskGroups"][0];
    group["Networks"] = json!([network]);
    group["Tasks"].as_array_mut().expect("tasks").push(other);
    job
}

pub fn heard(folder: &Folder, alloc: &Json) {
    let file = folder.path().join("data/alloc").join(id(alloc)).join("alloc/data/u");
    wait_for("what the neighbor says", || match std::fs::read_to_string(&file).unwrap_or_default() {
        text if text == "hello\n" => Ok(()),
        other => Err(other),
    });
}

#[test]
fn tasks_without_a_network_share_a_loopback() {
    let Some(podman) = Podman::start("none") else { return };
    let folder = Folder::new("containers-none");
    let agent = start(&folder, &podman, &with_holder(&podman));
    let found = run(&agent, &pair("none", &json!({"Mode": "none"})), ClientStatus::Running);
    heard(&folder, &found);
    let mut names = podman.containers();
    names.sort();
    let of = |name: &str| format!("{name}{}", id(&found));
    assert_eq!(names, [of("nomad_init_"), of("t-"), of("u-")]);
    // Without the container that holds the network, tasks fail, and nothing is left.
    podman.run(&["rm", "--force", "--time", "0", "--depend", &of("nomad_init_")]);
    alloc(&agent, "none", ClientStatus::Failed);
    podman.is_clean();
    wait_for("the removal of the namespace", || {
        if Path::new(&namespace(&found)).exists() { Err(namespace(&found)) } else { Ok(()) }
    });
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn tasks_in_a_bridge_are_reached_and_found_again() {
    let Some(net) = Net::new("containers-bridge") else { return };
    let Some(podman) = Podman::start("bridge") else { return };
    let plugin = podman.plugin(&with_holder(&podman));
    let text = format!("{}{plugin}", net.config());
    let mut agent = Agent::start(net.folder(), &text, &[]);
    driver(&agent, true);
    let network = json!({
        "Mode": "bridge", "DynamicPorts": [{"Label": "web", "To": 8000}], "Hostname": "inside",
        "DNS": {"Servers": ["192.0.2.53"]},
    });
    let found = run(&agent, &pair("bridge", &network), ClientStatus::Running);
    heard(net.folder(), &found);
    let seen = |agent: &Agent| agent.get(&format!("/v1/allocation/{}", id(&found)));
    let own = seen(&agent)["NetworkStatus"]["Address"].as_str().expect("an address").to_string();
    says(&agent, &found, &format!("{own} inside"));
    says(&agent, &found, "nameserver 192.0.2.53");
    reads(&format!("{own}:8000"), "hello\n");
    let port = seen(&agent)["AllocatedResources"]["Shared"]["Ports"][0].clone();
    reads(&format!("{}:{}", port["HostIP"].as_str().expect("an address"), port["Value"]), "hello\n");
    let before = podman.containers();
    agent.kill();
    let agent = start_again(net.folder());
    alloc(&agent, "bridge", ClientStatus::Running);
    assert_eq!(podman.containers(), before);
    reads(&format!("{own}:8000"), "hello\n");
    stop(&agent, "bridge");
    podman.is_clean();
    wait_for("the removal of the network", || {
        let left = net.leaks(&[id(&found)]);
        if left.is_empty() { Ok(()) } else { Err(left.join(" ")) }
    });
}
