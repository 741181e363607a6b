//! The second plan on a large snapshot file (`docs/reference/side-index.md`).

use std::fs;
use std::path::PathBuf;

use crate::program::{Folder, Ran, run_with};

const JOB: &str = r#"
job "probe" {
  datacenters = ["*"]
  group "g" {
    count = 20
    network {
      port "http" {}
    }
    task "t" {
      driver = "docker"
      config {
        image = "probe"
      }
      resources {
        cpu    = 200
        memory = 200
      }
    }
  }
}
"#;

/// A folder with a snapshot that is large enough for an index, and a job.
struct Scene {
    folder: Folder,
    cache: String,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let folder = Folder::new(name);
        folder.file("probe.nomad.hcl", JOB);
        let cache = folder.path().join("home").display().to_string();
        let scene = Scene { folder, cache };
        let arguments = ["sim", "cluster", "-nodes", "500", "-allocs", "9000", "-seed", "3", "-out", "c.json.zst"];
        assert_eq!(scene.run(&arguments).exit, 0);
        scene
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        run_with(self.folder.path(), arguments, &[("XDG_CACHE_HOME", &self.cache)], None)
    }

    /// The output of a command with the snapshot, and its exit code.
    fn answer(&self, command: &[&str], more: &[&str]) -> (String, String, i32) {
        let ran = self.run(&[command, &["-snapshot", "c.json.zst"], more].concat());
        (ran.stdout, ran.stderr, ran.exit)
    }

    fn plan(&self) -> (String, String, i32) {
        self.answer(&["job", "plan"], &["probe.nomad.hcl"])
    }

    fn indexes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(PathBuf::from(&self.cache).join("encamp/snapshots"));
        entries.into_iter().flatten().flatten().map(|e| e.path()).collect()
    }
}

#[test]
fn answers_are_the_same_with_and_without_an_index() {
    let scene = Scene::new("side-index-same");
    let commands: [(&[&str], &[&str]); 6] = [
        (&["job", "plan"], &["-placements", "-verbose", "probe.nomad.hcl"]),
        (&["job", "plan"], &["-explain", "-json-output", "probe.nomad.hcl"]),
        (&["job", "plan"], &["-rollout", "-down", "dc=dc1", "probe.nomad.hcl"]),
        (&["what-if"], &["-down", "dc=dc1", "-json"]),
        (&["capacity"], &["probe.nomad.hcl"]),
        (&["job", "diff"], &["probe.nomad.hcl"]),
    ];
    let without: Vec<_> =
        commands.map(|(command, more)| scene.answer(command, &[&["-no-cache"], more].concat())).into_iter().collect();
    assert!(scene.indexes().is_empty(), "-no-cache writes none");
    let cold = scene.plan();
    assert_eq!(cold.2, 1, "{}", cold.1);
    assert_eq!(scene.indexes().len(), 1);
    assert_eq!(scene.plan(), cold);
    for ((command, more), without) in commands.iter().zip(without) {
        assert_eq!(scene.answer(command, more), without, "{command:?} {more:?}");
    }
    let listed = scene.run(&["snapshot", "index"]);
    let name = scene.indexes()[0].file_name().expect("a name").to_string_lossy().into_owned();
    assert!(listed.exit == 0 && listed.stdout.contains(&name), "{}", listed.stdout);
    let cleared = scene.run(&["snapshot", "index", "-clear"]);
    assert_eq!((cleared.stdout.as_str(), cleared.exit), ("Removed 1 side indexes\n", 0));
    assert!(scene.indexes().is_empty());
    assert_eq!(scene.run(&["snapshot", "index"]).stdout, "No side indexes\n");
}

#[test]
fn a_damaged_index_is_replaced_or_named() {
    let scene = Scene::new("side-index-damaged");
    let cold = scene.plan();
    let index = scene.indexes().remove(0);
    let good = fs::read(&index).expect("the index");
    // The core, at the end: noticed before anything is read.
    let mut bytes = good.clone();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&index, &bytes).expect("the index");
    assert_eq!(scene.plan(), cold);
    assert_eq!(scene.plan(), cold, "from the new index");
    // All rows: noticed when the first is read.
    let core = u64::from_le_bytes(good[92..100].try_into().expect("eight bytes"));
    let mut bytes = good.clone();
    bytes[112..usize::try_from(core).expect("small")].fill(7);
    fs::write(&index, &bytes).expect("the index");
    assert_eq!(scene.plan(), cold, "from the snapshot file");
    assert!(!index.exists());
    assert_eq!(scene.plan(), cold, "and again");
    assert_eq!(fs::read(&index).expect("a new index").len(), good.len());
}

#[test]
fn plans_with_damaged_rows_are_those_of_the_file() {
    let scene = Scene::new("side-index-rows");
    let cold = scene.answer(&["job", "plan"], &["-placements", "-explain", "probe.nomad.hcl"]);
    let index = scene.indexes().remove(0);
    let good = fs::read(&index).expect("the index");
    let core = usize::try_from(u64::from_le_bytes(good[92..100].try_into().expect("eight bytes"))).expect("small");
    let mut removed = 0;
    for part in 0..24 {
        let mut bytes = good.clone();
        // A part of the rows each, so that some are read before the first damaged one.
        bytes[112 + (core - 112) / 24 * part..][..(core - 112) / 24].fill(part as u8);
        fs::write(&index, &bytes).expect("the index");
        let got = scene.answer(&["job", "plan"], &["-placements", "-explain", "probe.nomad.hcl"]);
        assert_eq!(got, cold, "part {part}");
        removed += usize::from(!index.exists());
    }
    assert!(removed > 2, "damaged rows were met {removed} times");
}

#[test]
fn an_allocation_that_cannot_be_read_is_an_error_of_the_file() {
    let scene = Scene::new("side-index-unreadable");
    let path = scene.folder.path().join("c.json.zst");
    let text = zstd::decode_all(fs::File::open(&path).expect("the snapshot")).expect("zstd");
    let text =
        String::from_utf8(text).expect("UTF-8").replace("\"AllocModifyIndex\":", "\"AllocModifyIndex\":true,\"New\":");
    fs::write(&path, zstd::encode_all(text.as_bytes(), 3).expect("zstd")).expect("a snapshot");
    let (stdout, stderr, exit) = scene.answer(&["what-if"], &["-no-cache", "-down", "dc=dc1"]);
    assert_eq!((stdout.as_str(), exit), ("", 255));
    assert!(stderr.contains("Allocations[0].AllocModifyIndex: invalid type: boolean"), "{stderr}");
    // The plan of a new job reads the allocations of the nodes that it is placed on: here there are none.
    scene.folder.file("nowhere.nomad.hcl", JOB.replace("[\"*\"]", "[\"none\"]"));
    let (_, stderr, exit) = scene.answer(&["job", "plan"], &["-no-cache", "nowhere.nomad.hcl"]);
    assert_eq!(exit, 1, "{stderr}");
    // That of a registered one does.
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let alloc = &file["Allocations"][0];
    let (id, namespace) = (&alloc["JobID"], &alloc["Namespace"]);
    scene.folder.file("old.nomad.hcl", JOB.replace("\"probe\" {", &format!("{id} {{\n  namespace = {namespace}")));
    let (stdout, stderr, exit) = scene.answer(&["job", "plan"], &["-no-cache", "old.nomad.hcl"]);
    assert_eq!((stdout.as_str(), exit), ("", 255), "{stderr}");
    assert!(stderr.contains("Allocations[0].AllocModifyIndex: invalid type: boolean"), "{stderr}");
}

#[test]
fn commands_at_the_same_time_and_without_a_directory_answer_alike() {
    let scene = Scene::new("side-index-race");
    let want = scene.answer(&["job", "plan"], &["-no-cache", "probe.nomad.hcl"]);
    std::thread::scope(|scope| {
        let plans: Vec<_> = (0..3).map(|_| scope.spawn(|| scene.plan())).collect();
        plans.into_iter().for_each(|plan| assert_eq!(plan.join().expect("a plan"), want));
    });
    assert_eq!(scene.indexes().len(), 1);
    fs::remove_dir_all(&scene.cache).expect("removed");
    fs::write(&scene.cache, "").expect("a file where the directory was");
    assert_eq!(scene.plan(), want);
    let ran = run_with(
        scene.folder.path(),
        &["job", "plan", "-snapshot", "c.json.zst", "probe.nomad.hcl"],
        &[("XDG_CACHE_HOME", "/proc")],
        None,
    );
    assert_eq!((ran.stdout, ran.stderr, ran.exit), want);
}
