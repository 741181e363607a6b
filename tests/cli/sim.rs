//! `sim cluster` and `sim plan` as operators run them.

use crate::program::{Folder, Ran, run_in};

fn sim(folder: &Folder, args: &[&str]) -> Ran {
    run_in(folder.path(), &[&["sim", "cluster"], args].concat())
}

/// The names in a folder.
fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const JOB: &str = r#"job "new" {
  datacenters = ["*"]
  group "g" {
    count = 3
    network {
      port "http" {}
    }
    task "t" {
      driver = "docker"
      config {
        image = "registry.example/new:1"
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
"#;

#[test]
fn a_cluster_is_written_and_planned_against() {
    let folder = Folder::new("sim-plan");
    let ran = sim(&folder, &["-nodes", "50", "-allocs=400", "-seed", "7", "-out", "x.json.zst"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran:?}");
    for line in ["File         = x.json.zst, ", "Nodes        = 50: ", "Allocations  = 400: "] {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    folder.file("new.hcl", JOB);
    let plan = run_in(folder.path(), &["job", "plan", "-snapshot", "x.json.zst", "new.hcl"]);
    assert_eq!((plan.exit, plan.stderr.as_str()), (1, ""), "{plan:?}");
    assert!(plan.stdout.contains("+ Task Group: \"g\" (3 create)"), "{}", plan.stdout);
    assert!(plan.stdout.contains("- All tasks successfully allocated."), "{}", plan.stdout);

    let first = std::fs::read(folder.path().join("x.json.zst")).unwrap();
    let again = sim(&folder, &["-nodes=50", "-allocs=400", "-seed=7", "-out=x.json.zst"]);
    assert_eq!((again.exit, &again.stdout), (0, &ran.stdout));
    assert!(std::fs::read(folder.path().join("x.json.zst")).unwrap() == first, "two runs differ");
    let other = sim(&folder, &["-nodes=50", "-allocs=400", "-seed=8", "-out=y.json.zst"]);
    assert_eq!(other.exit, 0);
    assert!(std::fs::read(folder.path().join("y.json.zst")).unwrap() != first, "the seed does not matter");
    assert_eq!(names(&folder), ["new.hcl", "x.json.zst", "y.json.zst"]);
}

#[test]
fn every_form_holds_the_same_cluster() {
    let folder = Folder::new("sim-forms");
    for name in ["a.json", "a.json.gz", "a.json.zst"] {
        assert_eq!(sim(&folder, &["-nodes=12", "-allocs=60", "-out", name]).exit, 0);
    }
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("a.json").starts_with(b"{\n\"Version\":2,\n"));
    assert!(bytes("a.json.gz").starts_with(&[0x1f, 0x8b]) && bytes("a.json.zst").starts_with(&[0x28, 0xb5]));
    let piped = sim(&folder, &["-nodes=12", "-allocs=60", "-out=-"]);
    assert_eq!((piped.exit, piped.stdout.as_bytes()), (0, &bytes("a.json")[..]));
    assert!(piped.stderr.starts_with("File         = standard output\n"), "{}", piped.stderr);
    let now = sim(&folder, &["-nodes=12", "-allocs=60", "-now=2027-01-02T03:04:05Z", "-out=-"]);
    assert!(now.stdout.contains("\"TakenAt\":\"2027-01-02T03:04:05Z\""));
}

#[test]
fn the_summary_can_be_json() {
    let folder = Folder::new("sim-json");
    let ran = sim(&folder, &["-nodes=30", "-allocs=200", "-out=a.json.gz", "-json"]);
    assert_eq!(ran.exit, 0);
    let summary: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let size = std::fs::metadata(folder.path().join("a.json.gz")).unwrap().len();
    assert_eq!((&summary["Nodes"], &summary["Allocations"]), (&30.into(), &200.into()));
    assert_eq!((&summary["FileBytes"], &summary["File"]), (&size.into(), &"a.json.gz".into()));
    assert!(summary["CPUPercent"].as_f64().unwrap() > 10.0);
    let by_pool = summary["NodesByPool"].as_object().unwrap();
    assert_eq!(by_pool.values().filter_map(|v| v.as_u64()).sum::<u64>(), 30);
}

#[test]
fn failures_leave_no_file() {
    let folder = Folder::new("sim-fail");
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    let small = ["-nodes=12", "-allocs=60"];
    for (out, why) in [
        ("dir", "Error writing \"dir\": is a directory"),
        ("none/x.json", "Error writing \"none/x.json\": no such file or directory"),
        ("/dev/null", "Error writing \"/dev/null\": not a regular file"),
        ("/proc/x.json", "Error writing \"/proc/x.json\": "),
    ] {
        let ran = sim(&folder, &[&small[..], &["-out", out]].concat());
        assert_eq!((ran.exit, ran.stdout.as_str()), (1, ""), "{out}: {ran:?}");
        assert!(ran.stderr.starts_with(why), "{out}: {}", ran.stderr);
    }
    let full = sim(&folder, &["-nodes=2", "-allocs=100000", "-out=x.json"]);
    assert_eq!((full.exit, full.stdout.as_str()), (1, ""));
    assert!(
        full.stderr.starts_with("Error generating the cluster: 2 nodes have capacity for about "),
        "{}",
        full.stderr
    );
    assert!(full.stderr.contains(" of 100000 allocations; request fewer allocations, or about "), "{}", full.stderr);
    assert_eq!(names(&folder), ["dir"]);
}

/// A file that is there stays when writing fails.
#[test]
fn a_failure_keeps_the_old_file() {
    let folder = Folder::new("sim-keep");
    folder.file("x.json", "old");
    let full = sim(&folder, &["-nodes=2", "-allocs=100000", "-out=x.json"]);
    assert_eq!(full.exit, 1);
    assert_eq!(std::fs::read(folder.path().join("x.json")).unwrap(), b"old");
    assert_eq!(sim(&folder, &["-nodes=2", "-allocs=10", "-out=x.json"]).exit, 0);
    assert!(std::fs::read(folder.path().join("x.json")).unwrap().len() > 1000);
    assert_eq!(names(&folder), ["x.json"]);
}

#[test]
fn wrong_uses_are_explained() {
    let folder = Folder::new("sim-usage");
    for (args, why) in [
        (&[][..], "-out is required: the file to write, or - for standard output"),
        (&["-out="], "-out is required: the file to write, or - for standard output"),
        (&["-out=x", "y"], "This command takes no arguments"),
        (&["-out=x", "-nodes=-1"], "-nodes must not be negative: it is -1"),
        (&["-out=x", "-nodes=many"], "invalid value \"many\" for flag -nodes: parse error"),
        (
            &["-out=x", "-nodes=0"],
            "Error generating the cluster: the number of nodes must be between 1 and 100000, not 0",
        ),
        (
            &["-out=x", "-allocs=99999999999"],
            "Error generating the cluster: the number of allocations must be between 0 and",
        ),
        (&["-out=x", "-now=noon"], "-now \"noon\" is not a time after 1970: write it like 2026-03-01T00:00:00Z"),
    ] {
        let ran = sim(&folder, args);
        assert_eq!(ran.exit, 1, "{args:?}");
        assert!(ran.stderr.starts_with(why), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(names(&folder), Vec::<String>::new());
    let help = sim(&folder, &["-h"]);
    assert_eq!(help.exit, 0);
    assert!(help.stdout.starts_with("Usage: encamp sim cluster [options]\n"), "{}", help.stdout);
}

#[test]
fn the_memory_and_time_of_a_plan_are_measured() {
    let folder = Folder::new("sim-measure");
    let measure = |args: &[&str]| run_in(folder.path(), &[&["sim", "plan", "-nodes=20", "-allocs=300"], args].concat());
    let ran = measure(&["-json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let measured: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&measured["nodes"], &measured["allocations"]), (&20.into(), &300.into()));
    assert!(measured["placed"].as_u64().unwrap() > 0, "{measured}");
    assert!(measured["plan_ms"].as_f64().unwrap() > 0.0, "{measured}");
    assert!(measured["peak_rss_bytes"].as_u64() >= measured["state_bytes"].as_u64(), "{measured}");
    let text = measure(&[]);
    assert!(text.stdout.contains("\nPer Allocation = "), "{text:?}");
    assert_eq!(names(&folder), [""; 0]);
    for (args, why) in [
        (&["-nodes=0"][..], "-nodes must be between 1 and 100000, not 0"),
        (&["-allocs=10000001"], "-allocs must be between 1 and 10000000, not 10000001"),
    ] {
        let ran = measure(args);
        assert!(ran.exit != 0 && ran.stderr.starts_with(why), "{ran:?}");
    }
}
