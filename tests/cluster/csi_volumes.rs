//! CSI volumes end to end (`docs/spec/client.md §24.2`): plugins as jobs, volumes that they create, claims of
//! allocations, which move with drains and after the loss of a node. The test plugin records what breaks the rules.

use serde_json::{Value as Json, json};

use super::agent::wait_for;
use super::csi_support::{Cluster, Disks, FAST, mounts};
use super::program::end_processes;

#[test]
fn volumes_follow_their_allocations() {
    let Some(mut cluster) = Cluster::start(1, 3, FAST) else { return };
    let disks = Disks::new("disks");
    cluster.run_plugin(&disks);
    cluster.create_volume("one", &disks, "single-node-writer");
    cluster.create_volume("many", &disks, "multi-node-multi-writer");
    cluster.run_user("single", "one", "single-node-writer", 1);
    cluster.run_user("multi", "many", "multi-node-multi-writer", 2);
    cluster.users("multi", "many", 2, "");
    let first = cluster.users("single", "one", 1, "").remove(0);
    assert!(mounts(&cluster.nodes).len() >= 3, "{:?}", mounts(&cluster.nodes));
    let refused = cluster.ask("DELETE", "/v1/volume/csi/one/delete", &Json::Null);
    assert!(refused.status == 500 && refused.body.contains("volume in use: one"), "{}", refused.body);

    // A drain moves the allocation with its volume.
    let drain = json!({"DrainSpec": {"Deadline": 60_000_000_000u64, "IgnoreSystemJobs": true}});
    cluster.put(&format!("/v1/node/{}/drain", first.1), &drain);
    let second = cluster.users("single", "one", 1, &first.1).remove(0);
    assert_eq!(disks.violations(), "");
    cluster.put(&format!("/v1/node/{}/drain", first.1), &json!({"DrainSpec": null, "MarkEligible": true}));

    // The loss of a node does too, once the controller has taken the volume away from it.
    let lost = cluster.place(&second.1);
    cluster.nodes[lost].kill();
    end_processes(&cluster.nodes[lost].data());
    let third = cluster.users("single", "one", 1, &second.1).remove(0);
    assert!(third.0 != second.0 && third.1 != second.1, "{third:?}");
    let violations = disks.violations();
    assert!(violations.lines().all(|l| l.contains("detached while mounted")), "{violations}");

    // Stopped jobs leave nothing claimed, and volumes can be deleted.
    for job in ["single", "multi"] {
        cluster.stop(job);
    }
    for volume in ["one", "many"] {
        wait_for("the volume is deleted", || {
            let reply = cluster.ask("DELETE", &format!("/v1/volume/csi/{volume}/delete"), &Json::Null);
            if reply.status == 200 { Ok(()) } else { Err(reply.body) }
        });
    }
    assert_eq!(cluster.get("/v1/volumes?type=csi"), json!([]));
}
