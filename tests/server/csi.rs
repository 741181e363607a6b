//! csi-sanity, the conformance tests of the Container Storage Interface, against the storage plugin for tests: what
//! encamp is tested with behaves like a storage plugin.
//!
//! Skipped without Go, the network or the right to mount; without Go or the network, that is a failure with `CI=true`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::csi_plugin;
use crate::program::Folder;
use encamp_test_support::notes;

/// csi-sanity; `None` if it is to be skipped.
fn sanity() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("csi-sanity");
    let mut build = Command::new("go");
    build.args(["build", "-mod=readonly", "-o"]).arg(&program);
    build.arg("github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity");
    let why = match build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/csi")).output() {
        Ok(ran) if ran.status.success() => return Some(program),
        Ok(ran) => String::from_utf8_lossy(&ran.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    notes::missing("conformance of the storage plugin for tests", &format!("csi-sanity can't be built: {why}"));
    None
}

/// A running plugin, stopped at the end.
struct Plugin(Child);

impl Drop for Plugin {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Plugin {
    /// Starts the plugin by a command that sets the mount namespace, and waits until it listens.
    fn start(mut by: Command, folder: &Folder, socket: &str, options: &[&str]) -> Plugin {
        by.arg(csi_plugin::path()).arg("--endpoint").arg(endpoint(folder, socket));
        by.arg("--storage").arg(folder.path().join("storage")).args(options);
        let mut plugin = Plugin(by.stdout(Stdio::piped()).spawn().expect("the plugin starts"));
        let mut said = String::new();
        // Ends with the plugin at the latest.
        let _ = BufReader::new(plugin.0.stdout.take().expect("its output")).read_line(&mut said);
        assert!(said.starts_with("listening"), "{said}");
        plugin
    }
}

fn endpoint(folder: &Folder, socket: &str) -> String {
    format!("unix://{}", folder.path().join(socket).display())
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--"]);
    command
}

/// Runs csi-sanity in the namespace of a plugin; gives how many of its cases ran.
fn conforms(sanity: &Path, plugin: &Plugin, folder: &Folder, options: &[String]) -> usize {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let mut command = Command::new("timeout");
    command.args(["300", "nsenter", &format!("--mount=/proc/{}/ns/mnt", plugin.0.id()), "--"]).arg(sanity);
    command.arg(format!("-csi.mountdir={}", at("mount"))).arg(format!("-csi.stagingdir={}", at("staging")));
    let ran = command.arg("-ginkgo.no-color").args(options).output().expect("csi-sanity starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{}\n{said}", ran.status);
    let summary = said.lines().find(|l| l.starts_with("Ran ")).expect("a summary");
    println!("{summary}");
    summary.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number of cases")
}

const SECRETS: [&str; 12] = [
    "CreateVolumeSecret",
    "DeleteVolumeSecret",
    "ControllerPublishVolumeSecret",
    "ControllerUnpublishVolumeSecret",
    "ControllerValidateVolumeCapabilitiesSecret",
    "NodeStageVolumeSecret",
    "NodePublishVolumeSecret",
    "CreateSnapshotSecret",
    "DeleteSnapshotSecret",
    "ControllerExpandVolumeSecret",
    "ControllerModifyVolumeSecret",
    "ListSnapshotsSecret",
];

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn the_plugin_for_tests_conforms() {
    let tried = unshare().arg("true").output();
    if !tried.as_ref().is_ok_and(|ran| ran.status.success()) {
        notes::skipped("conformance of the storage plugin for tests", &format!("no mount namespaces: {tried:?}"));
        return;
    }
    let Some(sanity) = sanity() else { return };

    // One plugin for all, with secrets, topology and a bound of volumes.
    let folder = Folder::new("csi-sanity");
    let options = ["--topology", "zone=a", "--max-volumes", "4", "--secret", "password=s3cret"];
    let plugin = Plugin::start(unshare(), &folder, "csi.sock", &options);
    let secrets = folder.file("secrets.yaml", SECRETS.map(|s| format!("{s}: {{password: s3cret}}\n")).concat());
    let address = format!("-csi.endpoint={}", endpoint(&folder, "csi.sock"));
    let all = [address.clone(), format!("-csi.secrets={}", secrets.display()), "-csi.testnodevolumeattachlimit".into()];
    let cases = conforms(&sanity, &plugin, &folder, &all);
    assert!(cases >= ALL_CASES, "{cases} cases");
    drop(plugin);

    // A controller and a node, with block devices.
    let folder = Folder::new("csi-sanity-two");
    let node = Plugin::start(unshare(), &folder, "csi.sock", &["--mode", "node"]);
    let mut same = Command::new("nsenter");
    same.arg(format!("--mount=/proc/{}/ns/mnt", node.0.id())).arg("--");
    let controller = Plugin::start(same, &folder, "controller.sock", &["--mode", "controller"]);
    let address = format!("-csi.endpoint={}", endpoint(&folder, "csi.sock"));
    let two = [
        address,
        format!("-csi.controllerendpoint={}", endpoint(&folder, "controller.sock")),
        "-csi.testvolumeaccesstype=block".into(),
    ];
    let cases = conforms(&sanity, &node, &folder, &two);
    assert!(cases >= ALL_CASES - 1, "{cases} cases");
    drop((node, controller));

    // Volumes that are mounted at once.
    let folder = Folder::new("csi-sanity-plain");
    let plugin = Plugin::start(unshare(), &folder, "csi.sock", &["--no-attach", "--no-stage"]);
    let plain = [format!("-csi.endpoint={}", endpoint(&folder, "csi.sock"))];
    let cases = conforms(&sanity, &plugin, &folder, &plain);
    assert!(cases >= PLAIN_CASES, "{cases} cases");
}

/// Cases of csi-sanity that a plugin with all capabilities runs.
const ALL_CASES: usize = 78;
/// Those of a plugin that neither attaches nor stages.
const PLAIN_CASES: usize = 63;
