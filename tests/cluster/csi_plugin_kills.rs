//! A storage plugin that is killed by SIGKILL in each of its calls, before the call has any effect and after it had it
//! (`docs/spec/client.md §24.2`): the task of the plugin starts again, the call is repeated, and the volume keeps its
//! contents and never has two writers.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::agent::wait_for;
use super::csi_support::{Cluster, Disks, PATIENT};
use super::program::{Folder, Ran};

/// What makes encamp call the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The plugin starts.
    Start,
    /// A volume is created.
    Create,
    /// A volume that exists is registered.
    Register,
    /// A job with the volume starts.
    Mount,
    /// The volume grows while it is mounted.
    Expand,
    /// The storage provider's volumes are listed.
    ListVolumes,
    /// A snapshot is taken.
    Snapshot,
    /// Snapshots are listed.
    ListSnapshots,
    /// The snapshot is deleted.
    DeleteSnapshot,
    /// The node of the allocation is drained: it moves to the other node with its volume.
    Move,
    /// The volume is deleted.
    Delete,
    /// encamp never calls it.
    Never,
}

/// Each call of the protocol, and the step in which the plugin is killed in it.
const POINTS: &[(&str, Step)] = &[
    ("Probe", Step::Start),
    ("GetPluginInfo", Step::Start),
    ("GetPluginCapabilities", Step::Start),
    ("ControllerGetCapabilities", Step::Start),
    ("NodeGetInfo", Step::Start),
    ("NodeGetCapabilities", Step::Start),
    ("CreateVolume", Step::Create),
    ("ValidateVolumeCapabilities", Step::Register),
    ("ControllerPublishVolume", Step::Mount),
    ("NodeStageVolume", Step::Mount),
    ("NodePublishVolume", Step::Mount),
    ("ControllerExpandVolume", Step::Expand),
    ("NodeExpandVolume", Step::Expand),
    ("ListVolumes", Step::ListVolumes),
    ("CreateSnapshot", Step::Snapshot),
    ("ListSnapshots", Step::ListSnapshots),
    ("DeleteSnapshot", Step::DeleteSnapshot),
    ("NodeUnpublishVolume", Step::Move),
    ("NodeUnstageVolume", Step::Move),
    ("ControllerUnpublishVolume", Step::Move),
    ("DeleteVolume", Step::Delete),
    ("GetCapacity", Step::Never),
    ("GetSnapshot", Step::Never),
    ("ControllerGetVolume", Step::Never),
    ("ControllerGetVolumeHealth", Step::Never),
    ("ControllerListVolumeHealth", Step::Never),
    ("ControllerModifyVolume", Step::Never),
    ("NodeGetVolumeStats", Step::Never),
    ("NodeGetVolumeHealth", Step::Never),
    ("NodeGetStorageHealth", Step::Never),
    ("GroupControllerGetCapabilities", Step::Never),
    ("CreateVolumeGroupSnapshot", Step::Never),
    ("DeleteVolumeGroupSnapshot", Step::Never),
    ("GetVolumeGroupSnapshot", Step::Never),
    ("GetMetadataAllocated", Step::Never),
    ("GetMetadataDelta", Step::Never),
];

/// The calls of the protocol that encamp is built with.
fn protocol() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/csi/proto/csi.proto");
    let text = std::fs::read_to_string(path).expect("the protocol");
    let named = text.lines().filter_map(|l| l.trim_start().strip_prefix("rpc "));
    named.map(|l| l.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn each_call_of_the_protocol_has_a_row() {
    let rows: BTreeSet<String> = POINTS.iter().map(|(method, _)| method.to_string()).collect();
    assert_eq!((rows.len(), &rows), (POINTS.len(), &protocol()));
}

/// The life of a volume, with a plugin that is killed once in each of its calls.
struct Life {
    cluster: Cluster,
    disks: Disks,
    /// When the plugin is killed: `before` a call has its effect, or `after` it had it.
    when: &'static str,
    folder: Folder,
}

const VOLUME: &str = "data";
const JOB: &str = "user";

impl Life {
    /// Does something that makes encamp call the plugin, which is killed in each of these calls. It recovers.
    fn step<T>(&self, step: Step, act: impl FnOnce() -> T) -> T {
        let methods: Vec<&str> = POINTS.iter().filter(|(_, s)| *s == step).map(|(method, _)| *method).collect();
        let done = self.killed_in(1, &methods, act);
        assert_eq!(self.disks.violations(), "", "{step:?}");
        done
    }

    /// Does something during which the plugin is killed in the `nth` call of each of these methods. It recovers.
    fn killed_in<T>(&self, nth: u64, methods: &[&str], act: impl FnOnce() -> T) -> T {
        let count = |method: &str| (self.disks.killed(method), self.disks.done(method));
        let before: Vec<(usize, usize)> = methods.iter().map(|m| count(m)).collect();
        self.disks.faults_at(nth, methods, self.when, "exit");
        let done = act();
        for (method, (killed, succeeded)) in methods.iter().zip(before) {
            wait_for(&format!("{method} succeeds after the plugin was killed in it"), || {
                let counted = count(method);
                let recovered = counted.0 == killed + 1 && counted.1 > succeeded;
                if recovered { Ok(()) } else { Err(format!("killed and done: {counted:?}")) }
            });
        }
        self.cluster.plugin_healthy(&self.disks);
        done
    }

    /// A command that succeeds, whether the plugin is killed or not.
    fn run(&self, args: &[&str]) -> String {
        let Ran { stdout, stderr, exit } = self.cluster.run(&self.folder, args);
        assert_eq!(exit, 0, "{args:?}: {stdout}{stderr}");
        stdout
    }

    /// Writes the specification of the volume.
    fn specify(&self, more: &str) {
        let text = format!(
            "id        = {VOLUME:?}\nname      = {VOLUME:?}\ntype      = \"csi\"\nplugin_id = {:?}\n{more}\n\
             capability {{\n  access_mode     = \"single-node-writer\"\n  attachment_mode = \"file-system\"\n}}\n",
            self.disks.id
        );
        self.folder.file("volume.hcl", text);
    }

    fn go(&self) {
        let (cluster, plugin) = (&self.cluster, self.disks.id.as_str());
        self.step(Step::Start, || cluster.run_plugin(&self.disks));

        self.specify("capacity_min = \"1MiB\"");
        self.step(Step::Create, || self.run(&["volume", "create", "volume.hcl"]));
        let made = self.disks.stored("volumes");
        assert_eq!(made.len(), 1, "{made:?}");
        let external = made[0].as_str();

        self.run(&["volume", "deregister", VOLUME]);
        self.specify(&format!("external_id = {external:?}"));
        self.step(Step::Register, || self.run(&["volume", "register", "volume.hcl"]));

        let first = self.step(Step::Mount, || {
            cluster.run_user(JOB, VOLUME, "single-node-writer", 1);
            cluster.users(JOB, VOLUME, 1, "").remove(0)
        });
        std::fs::write(cluster.mounted(&first.0).join("note"), "written before").expect("the volume is writable");

        // Nodes ask again and again whether the plugin is well: it is killed while it has a volume mounted.
        self.killed_in(2, &["Probe"], || ());
        assert_eq!(cluster.users(JOB, VOLUME, 1, "").first(), Some(&first), "the allocation goes on");
        let note = std::fs::read_to_string(cluster.mounted(&first.0).join("note"));
        assert_eq!(
            (note.expect("what was written").as_str(), self.disks.violations()),
            ("written before", String::new())
        );

        self.specify("capacity_min = \"4MiB\"");
        self.step(Step::Expand, || self.run(&["volume", "register", "volume.hcl"]));
        let shown = self.run(&["volume", "status", VOLUME]);
        assert!(shown.contains("= 4.0 MiB") && shown.contains(&first.0[..8]), "{shown}");

        let path = format!("/v1/volumes/external?plugin_id={plugin}");
        let listed = self.step(Step::ListVolumes, || cluster.get(&path));
        let ids: Vec<&Json> = listed["Volumes"].as_array().into_iter().flatten().map(|v| &v["ExternalID"]).collect();
        assert_eq!(ids, [&json!(external)], "{listed}");

        self.step(Step::Snapshot, || self.run(&["volume", "snapshot", "create", VOLUME, "nightly"]));
        let taken = self.disks.stored("snapshots");
        assert_eq!(taken.len(), 1, "{taken:?}");
        let listed = self.step(Step::ListSnapshots, || self.run(&["volume", "snapshot", "list", "-plugin", plugin]));
        assert!(listed.contains(taken[0].as_str()), "{listed}");
        self.step(Step::DeleteSnapshot, || self.run(&["volume", "snapshot", "delete", plugin, &taken[0]]));
        assert_eq!(self.disks.stored("snapshots"), Vec::<String>::new());

        let second = self.step(Step::Move, || {
            let drain = json!({"DrainSpec": {"Deadline": 60_000_000_000u64, "IgnoreSystemJobs": true}});
            cluster.put(&format!("/v1/node/{}/drain", first.1), &drain);
            cluster.users(JOB, VOLUME, 1, &first.1).remove(0)
        });
        let note = std::fs::read_to_string(cluster.mounted(&second.0).join("note")).expect("what was written");
        assert_eq!(note, "written before");

        cluster.stop(JOB);
        cluster.unclaimed(VOLUME);
        self.step(Step::Delete, || self.run(&["volume", "delete", VOLUME]));
        assert_eq!(self.disks.stored("volumes"), Vec::<String>::new());
        cluster.nothing_left();
        for (method, _) in POINTS.iter().filter(|(_, step)| *step == Step::Never) {
            assert_eq!(self.disks.begun(method), 0, "{method} needs a step");
        }
    }
}

fn life(when: &'static str) {
    let Some(cluster) = Cluster::start(1, 2, PATIENT) else { return };
    let (disks, folder) = (Disks::new(&format!("disks-{when}")), Folder::new(&format!("csi-kills-{when}")));
    Life { cluster, disks, when, folder }.go();
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_plugin_killed_before_each_call_has_its_effect() {
    life("before");
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_plugin_killed_after_each_call_had_its_effect() {
    life("after");
}
