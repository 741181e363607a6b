//! `snapshot inspect`, `snapshot anonymize` and `snapshot diff` as operators run them.

use crate::program::{Folder, Ran, run_in};
use serde_json::Value;

fn snapshot(folder: &Folder, args: &[&str]) -> Ran {
    run_in(folder.path(), &[&["snapshot"], args].concat())
}

/// A directory with a synthetic cluster in `x.json.zst`.
fn cluster(name: &str) -> Folder {
    let folder = Folder::new(name);
    let args = ["sim", "cluster", "-nodes=40", "-allocs=300", "-seed=3", "-out=x.json.zst"];
    assert_eq!(run_in(folder.path(), &args).exit, 0);
    folder
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

#[test]
fn a_snapshot_is_looked_into() {
    let folder = cluster("snapshot-inspect");
    let ran = snapshot(&folder, &["inspect", "x.json.zst"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran:?}");
    for line in ["Source          = ", "Taken at        = 2026-03-01T00:00:00Z", "\nTables\n", "\nNodes\n", "\nJobs\n"]
    {
        assert!(ran.stdout.contains(line), "{line} in {}", ran.stdout);
    }
    let i = json(&snapshot(&folder, &["inspect", "x.json.zst", "-json"]));
    assert_eq!((&i["SchemaVersion"], &i["Total"]["Nodes"]["Total"]), (&1.into(), &40.into()));
    let objects =
        |table: &str| i["Tables"].as_array().unwrap().iter().find(|t| t["Name"] == table).unwrap()["Objects"].clone();
    assert_eq!((objects("Nodes"), objects("Allocations")), (40.into(), 300.into()));
    let pools = i["Pools"].as_object().unwrap();
    let sum: u64 = pools.iter().filter(|(n, _)| *n != "all").map(|(_, p)| p["Used"]["CPU"].as_u64().unwrap()).sum();
    assert_eq!(i["Total"]["Used"]["CPU"], sum);
    let documented = include_str!("../../docs/reference/snapshot-inspect.schema.json");
    let schema: Value = serde_json::from_str(documented).unwrap();
    let named = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(named(&schema["properties"]), named(&i));
    assert_eq!(named(&schema["$defs"]["tally"]["properties"]), named(&i["Total"]));
}

#[test]
fn problems_with_files_are_explained() {
    let folder = Folder::new("snapshot-problems");
    folder.file("bad.json", "{}");
    let bad = snapshot(&folder, &["inspect", "bad.json"]);
    assert_eq!(bad.exit, 1);
    assert!(
        bad.stderr.contains("it has no Version, so it is not a cluster snapshot; snapshot fetch makes one"),
        "{bad:?}"
    );
    let absent = snapshot(&folder, &["inspect", "absent.json"]);
    assert!(absent.exit == 1 && absent.stderr.contains("absent.json"), "{absent:?}");
    assert_eq!(snapshot(&folder, &["inspect", "a", "b"]).exit, 1);
}

#[test]
fn a_snapshot_is_made_anonymous_and_plans_alike() {
    let folder = Folder::new("snapshot-anonymize");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let demo = root.join("fixtures/demo/cluster.json");
    let demo = demo.to_str().unwrap();
    let ran = snapshot(&folder, &["anonymize", demo, "-out", "anonymous.json", "-seed=7"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.starts_with("Wrote anonymous.json: "), "{ran:?}");
    let path = folder.path().join("anonymous.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    for name in ["dc1-", "\"web\"", "\"api\"", "10.1.0."] {
        assert!(!text.contains(name), "{name} is left");
    }
    // The same totals, and the same file for the same seed alone.
    let totals = |file: &str| json(&snapshot(&folder, &["inspect", "-json", file]))["Total"].clone();
    let (before, after) = (totals(demo), totals("anonymous.json"));
    for part in ["Nodes", "Capacity", "Used", "Allocations", "Jobs", "Devices"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    let again = |seed: &str| {
        assert_eq!(snapshot(&folder, &["anonymize", seed, "-out=again.json", demo]).exit, 0);
        std::fs::read_to_string(folder.path().join("again.json")).unwrap()
    };
    assert!(again("-seed=7") == text && again("-seed=8") != text);
    // A job of the cluster is known by its new name, and has no work to do.
    let kept = ["anonymize", "-keep-names=jobs,groups,datacenters", "-out=kept.json", demo];
    assert_eq!(snapshot(&folder, &kept).exit, 0);
    let text = std::fs::read_to_string(folder.path().join("kept.json")).unwrap();
    assert!(text.contains("\"web\"") && text.contains("\"dc1\"") && !text.contains("dc1-"));
    let wrong = snapshot(&folder, &["anonymize", "-keep-names=everything", "-out=x", demo]);
    assert!(wrong.exit == 1 && wrong.stderr.contains("-keep-names does not support \"everything\""), "{wrong:?}");
    assert_eq!(snapshot(&folder, &["anonymize", demo]).exit, 1);
}

#[test]
fn snapshots_are_compared() {
    let folder = cluster("snapshot-diff");
    let same = snapshot(&folder, &["diff", "x.json.zst", "x.json.zst"]);
    assert_eq!((same.exit, same.stderr.as_str()), (0, ""), "{same:?}");
    assert!(same.stdout.starts_with("Nothing changed.\n"), "{same:?}");
    let change = |old: &str, new: &str| {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(root.join("fixtures/demo/cluster.json")).unwrap();
        assert!(text.contains(old), "{old}");
        folder.file("old.json", &text);
        folder.file("new.json", text.replacen(old, new, 1));
        snapshot(&folder, &["diff", "old.json", "new.json"])
    };
    let down = change("\"Status\":\"ready\"", "\"Status\":\"down\"");
    assert_eq!((down.exit, down.stderr.as_str()), (1, ""), "{down:?}");
    for line in ["\nNodes\n+/- ", "    Status: ready => down\n", "Nodes ready", "The snapshots differ in "] {
        assert!(down.stdout.contains(line), "{line} in {}", down.stdout);
    }
    let d = json(&snapshot(&folder, &["diff", "-json", "old.json", "new.json"]));
    assert_eq!((&d["SchemaVersion"], &d["Equal"], d["Nodes"].as_array().unwrap().len()), (&1.into(), &false.into(), 1));
    let documented: Value =
        serde_json::from_str(include_str!("../../docs/reference/snapshot-diff.schema.json")).unwrap();
    let named = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(named(&documented["properties"]), named(&d));
    assert_eq!(named(&documented["$defs"]["side"]["properties"]), named(&d["New"]));
    let failed = change("\"ClientStatus\":\"running\"", "\"ClientStatus\":\"failed\"");
    assert!(failed.exit == 1 && failed.stdout.contains("\nAllocations\nNamespace  Job"), "{failed:?}");
    let absent = snapshot(&folder, &["diff", "old.json", "absent.json"]);
    assert!(absent.exit == 255 && absent.stderr.contains("absent.json"), "{absent:?}");
    assert_eq!(snapshot(&folder, &["diff", "old.json"]).exit, 255);
}

#[test]
fn changes_of_jobs_are_summed_up_without_their_values() {
    let folder = Folder::new("snapshot-diff-jobs");
    let version = |version: u64, count: u64, secret: &str| {
        serde_json::json!({"ID": "web", "Name": "web", "Namespace": "default", "Type": "service", "Version": version,
            "TaskGroups": [{"Name": "front", "Count": count,
                "Tasks": [{"Name": "server", "Driver": "exec", "Env": {"TOKEN": secret}}]}]})
    };
    let file = |name: &str, jobs: &[Value]| {
        folder.file(name, serde_json::json!({"Version": 1, "Index": 3, "Jobs": jobs}).to_string());
    };
    let first = version(0, 1, "hunter2");
    file("old.json", std::slice::from_ref(&first));
    file("new.json", &[first, version(1, 4, "swordfish")]);
    let ran = snapshot(&folder, &["diff", "old.json", "new.json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (1, ""), "{ran:?}");
    for line in [
        "+/- web in namespace default",
        "Version: 0 => 1",
        "Group \"front\" Count edited",
        "Task \"server\" Env[TOKEN] edited",
    ] {
        assert!(ran.stdout.contains(line), "{line} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("hunter2") && !ran.stdout.contains("swordfish"));
}
