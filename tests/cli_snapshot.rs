//! `snapshot inspect`, `snapshot anonymize` and `snapshot diff` as operators run them.

#[path = "support/program.rs"]
mod program;

use program::{Folder, Ran, run_in};
use serde_json::Value;

fn snapshot(folder: &Folder, args: &[&str]) -> Ran {
    run_in(folder.path(), &[&["snapshot"], args].concat())
}

/// A folder with a made-up cluster in `x.json.zst`.
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
    let i = json(&snapshot(&folder, &["inspect", "-json", "x.json.zst"]));
    assert_eq!((&i["SchemaVersion"], &i["Total"]["Nodes"]["Total"]), (&1.into(), &40.into()));
    let objects =
        |table: &str| i["Tables"].as_array().unwrap().iter().find(|t| t["Name"] == table).unwrap()["Objects"].clone();
    assert_eq!((objects("Nodes"), objects("Allocations")), (40.into(), 300.into()));
    let pools = i["Pools"].as_object().unwrap();
    let sum: u64 = pools.iter().filter(|(n, _)| *n != "all").map(|(_, p)| p["Used"]["CPU"].as_u64().unwrap()).sum();
    assert_eq!(i["Total"]["Used"]["CPU"], sum);
    let documented = include_str!("../docs/snapshot-inspect.schema.json");
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
    assert!(bad.stderr.contains("it has no Version, so it is not a cluster snapshot"), "{bad:?}");
    let absent = snapshot(&folder, &["inspect", "absent.json"]);
    assert!(absent.exit == 1 && absent.stderr.contains("absent.json"), "{absent:?}");
    assert_eq!(snapshot(&folder, &["inspect", "a", "b"]).exit, 1);
}
