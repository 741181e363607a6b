//! The directory in which examples run: the files that they name.

use std::fs;
use std::path::Path;

use crate::program::{Folder, run_in};

/// Files that examples name, and programs that they start. `DIRECTORY` in them stands for the path of the directory.
const FILES: &str = "tests/cli/command_examples/files";
/// Snapshots that examples compare, and where they come from.
const SNAPSHOTS: [(&str, &str); 2] =
    [("monday.json.zst", "fixtures/demo/cluster.json"), ("tuesday.json.zst", "fixtures/worker-pools/cluster.json")];

/// A directory with the files that the examples name.
pub(super) struct ExampleDirectory(Folder);

impl ExampleDirectory {
    pub(super) fn new(name: &str) -> ExampleDirectory {
        let folder = Folder::new(name);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::os::unix::fs::symlink(root.join("fixtures"), folder.path().join("fixtures")).expect("a link");
        copy(&root.join(FILES), folder.path(), &folder.path().display().to_string());
        fs::create_dir(folder.path().join("jobs")).expect("a directory");
        fs::copy(folder.path().join("web.nomad.hcl"), folder.path().join("jobs/web.nomad.hcl")).expect("a copy");
        fs::create_dir_all(folder.path().join(".config/encamp")).expect("a directory");
        folder.file(".config/encamp/config.toml", "[contexts.staging]\naddress = \"http://127.0.0.1:4646\"\n");
        // The state of a node without allocations.
        fs::create_dir_all(folder.path().join("data/client/allocs")).expect("a directory");
        fs::create_dir_all(folder.path().join("data/audit")).expect("a directory");
        let row = r#"{"event_type":"audit","chain":{"id":"5d8f0c1e2a3b4c5d","sequence":1,"previous":""}}"#;
        folder.file("data/audit/audit.log", format!("{row}\n"));
        for (copy, original) in SNAPSHOTS {
            let text = fs::read(root.join(original)).expect("a snapshot");
            folder.file(copy, zstd::encode_all(text.as_slice(), 0).expect("a compressed snapshot"));
        }
        let plan = ["job", "plan", "-out=plan.encamp", "-snapshot=fixtures/demo/cluster.json", "web.nomad.hcl"];
        let ran = run_in(folder.path(), &plan);
        assert!((0..=1).contains(&ran.exit), "{}", ran.stderr);
        ExampleDirectory(folder)
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.0
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Copies the files of a directory and of those in it.
fn copy(from: &Path, to: &Path, directory: &str) {
    for entry in fs::read_dir(from).expect("a directory") {
        let original = entry.expect("an entry").path();
        let copied = to.join(original.file_name().expect("a name"));
        if original.is_dir() {
            fs::create_dir(&copied).expect("a directory");
            copy(&original, &copied, directory);
            continue;
        }
        let text = fs::read_to_string(&original).expect("a text").replace("DIRECTORY", directory);
        fs::write(&copied, text).expect("a file");
        let permissions = fs::metadata(&original).expect("a file").permissions();
        fs::set_permissions(&copied, permissions).expect("the permissions");
    }
}
