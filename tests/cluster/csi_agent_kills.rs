//! Agents that are killed by SIGKILL while a storage plugin works on a call (`docs/spec/client.md §24.2`): the node
//! between mounting and unmounting, and the leader while a controller attaches or detaches a volume.

use serde_json::json;

use super::agent::{PATIENCE, call_as, wait_for};
use super::csi_support::{Cluster, Disks, PATIENT};
use super::member::leader;

const VOLUME: &str = "data";
const JOB: &str = "user";
const ACCESS: &str = "single-node-writer";
/// The calls that bring a volume to an allocation, and those that take it back, in their order.
const MOUNTING: [&str; 3] = ["ControllerPublishVolume", "NodeStageVolume", "NodePublishVolume"];
const UNMOUNTING: [&str; 3] = ["NodeUnpublishVolume", "NodeUnstageVolume", "ControllerUnpublishVolume"];
/// How long the plugin takes for a call in which an agent is killed.
const SLOW: &str = "slow:3000";

/// Waits until the plugin works on a call of a method, for the first time since so many had begun. Returns the node.
fn in_progress(disks: &Disks, method: &str, before: usize) -> String {
    let begun = || disks.journal().into_iter().filter(|l| l.method == method && l.begins).nth(before);
    wait_for(&format!("{method} is in progress"), || match begun() {
        Some(_) => Ok(()),
        None => Err(format!("{:?}", disks.journal().last())),
    });
    begun().expect("it has begun").node
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_node_killed_in_each_call_goes_on_when_it_starts_again() {
    let Some(mut cluster) = Cluster::start(1, 2, PATIENT) else { return };
    let disks = Disks::new("disks-node");
    cluster.run_plugin(&disks);
    cluster.create_volume(VOLUME, &disks, ACCESS);
    for when in ["before", "after"] {
        let kill_in_each = |cluster: &mut Cluster, methods: [&str; 3], act: &dyn Fn(&Cluster)| {
            let begun = methods.map(|m| disks.begun(m));
            disks.faults(&methods, when, SLOW);
            act(cluster);
            for (method, before) in methods.iter().zip(begun) {
                let node = cluster.place(&in_progress(&disks, method, before));
                cluster.nodes[node].kill();
                cluster.nodes[node].start();
            }
        };
        kill_in_each(&mut cluster, MOUNTING, &|c| c.run_user(JOB, VOLUME, ACCESS, 1));
        let user = cluster.users(JOB, VOLUME, 1, "").remove(0);
        let note = cluster.mounted(&user.0).join("note");
        if when == "after" {
            assert_eq!(std::fs::read_to_string(&note).expect("what was written"), "before");
        }
        std::fs::write(&note, when).expect("the volume is writable");
        kill_in_each(&mut cluster, UNMOUNTING, &|c| c.stop(JOB));
        cluster.unclaimed(VOLUME);
        cluster.nothing_left();
        assert_eq!(disks.violations(), "", "{when}");
    }
    let reply = cluster.ask("DELETE", &format!("/v1/volume/csi/{VOLUME}/delete"), &serde_json::Value::Null);
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn the_next_leader_completes_what_the_killed_one_began() {
    let Some(mut cluster) = Cluster::start(3, 2, PATIENT) else { return };
    let disks = Disks::new("disks-leader");
    cluster.run_plugin(&disks);
    cluster.create_volume(VOLUME, &disks, ACCESS);
    for when in ["before", "after"] {
        let kill_leader_in = |cluster: &mut Cluster, method: &str, act: &dyn Fn(&Cluster)| {
            let (leads, before) = (leader(&cluster.servers), disks.begun(method));
            disks.faults(&[method], when, SLOW);
            act(cluster);
            in_progress(&disks, method, before);
            cluster.servers[leads].kill();
            leads
        };
        let killed = kill_leader_in(&mut cluster, "ControllerPublishVolume", &|c| c.run_user(JOB, VOLUME, ACCESS, 1));
        let user = cluster.users(JOB, VOLUME, 1, "").remove(0);
        std::fs::write(cluster.mounted(&user.0).join(when), when).expect("the volume is writable");
        cluster.servers[killed].start();
        let killed = kill_leader_in(&mut cluster, "ControllerUnpublishVolume", &|c| c.stop(JOB));
        cluster.unclaimed(VOLUME);
        cluster.servers[killed].start();
        cluster.nothing_left();
        assert_eq!(disks.violations(), "", "{when}");
        leader(&cluster.servers);
    }
    let reply = cluster.ask("DELETE", &format!("/v1/volume/csi/{VOLUME}/delete"), &serde_json::Value::Null);
    assert_eq!(reply.status, 200, "{}", reply.body);
}

/// The storage provider gives a volume of the same name only once: who repeats a call that was interrupted gets the
/// volume that it made.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_volume_whose_creation_was_interrupted_is_created_once() {
    let Some(mut cluster) = Cluster::start(3, 1, PATIENT) else { return };
    let disks = Disks::new("disks-create");
    cluster.run_plugin(&disks);
    for (n, when) in (1..).zip(["before", "after"]) {
        let leads = leader(&cluster.servers);
        let other = cluster.servers[(leads + 1) % cluster.servers.len()].port();
        let path = format!("/v1/volume/csi/{when}/create");
        let body = json!({ "Volumes": [disks.specification(when, ACCESS)] }).to_string();
        disks.faults(&["CreateVolume"], when, SLOW);
        let begun = disks.begun("CreateVolume");
        let interrupted = std::thread::scope(|scope| {
            let asked = scope.spawn(|| call_as(other, "", "PUT", &path, &body, PATIENCE));
            in_progress(&disks, "CreateVolume", begun);
            cluster.servers[leads].kill();
            asked.join().expect("a call")
        });
        let refused = interrupted.map_or_else(|e| e.to_string(), |reply| format!("{} {}", reply.status, reply.body));
        assert!(!refused.starts_with("200"), "the leader that was killed cannot have answered: {refused}");
        wait_for("the volume is created when asked for again", || {
            match call_as(other, "", "PUT", &path, &body, PATIENCE).expect("an answer") {
                reply if reply.status == 200 => Ok(()),
                reply => Err(reply.body),
            }
        });
        assert_eq!((disks.stored("volumes").len(), disks.violations()), (n, String::new()), "{when}");
        cluster.servers[leads].start();
        leader(&cluster.servers);
        let stored = cluster.get(&format!("/v1/volume/csi/{when}"));
        assert!(disks.stored("volumes").iter().any(|id| stored["ExternalID"] == id.as_str()), "{stored}");
    }
    for volume in ["before", "after"] {
        let reply = cluster.ask("DELETE", &format!("/v1/volume/csi/{volume}/delete"), &serde_json::Value::Null);
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    assert_eq!(disks.stored("volumes"), Vec::<String>::new());
}
