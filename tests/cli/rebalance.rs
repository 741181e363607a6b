//! `rebalance` and `rebalance show`, by starting the program on the demo cluster. `rebalance run` needs a running
//! cluster: `tests/cluster/rebalance_run.rs`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::docs;
use crate::program::{Folder, Ran, run_in};

/// A folder with the demo cluster.
fn bench(name: &str) -> Folder {
    let folder = Folder::new(name);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    for file in ["cluster.json", "registered/api.hcl", "trainer-fails.hcl"] {
        let name = Path::new(file).file_name().expect("a name");
        std::fs::copy(demo.join(file), folder.path().join(name)).expect("a copy");
    }
    folder
}

fn rebalance(folder: &Folder, flags: &[&str]) -> Ran {
    run_in(folder.path(), &[&["rebalance", "-snapshot", "cluster.json"], flags].concat())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn steps(plan: &Value) -> &Vec<Value> {
    plan["Steps"].as_array().expect("steps")
}

/// The IDs that actions of one kind name, of all steps.
fn named<'a>(plan: &'a Value, action: &str) -> Vec<&'a str> {
    let actions = steps(plan).iter().flat_map(|step| step["Actions"].as_array().expect("actions"));
    let of_kind = actions.filter(|a| a["Do"] == action);
    of_kind.map(|a| a["Node"]["ID"].as_str().or(a["Allocation"]["Name"].as_str()).expect("a name")).collect()
}

#[test]
fn the_guide_shows_real_output() {
    docs::shows_what_is_printed("rebalance.md", docs::folder_of_guide("rebalance-guide").path(), 4);
}

#[test]
fn a_plan_lists_moves_steps_and_figures() {
    let folder = bench("rebalance");
    let ran = rebalance(&folder, &["-free-nodes", "dc1-general-01"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    let verdict = "2 moves in 1 step free 1 node; no plan has fewer moves.\n";
    assert!(ran.stdout.starts_with(verdict), "{}", ran.stdout);
    for part in ["\nMoves\n", "web.front[2]", "api.server[3]", "\nSteps\n", "\nBefore and after\n", "2 -> 3"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let plan = parsed(&rebalance(&folder, &["-free-nodes", "dc1-general-01", "-json"]).stdout);
    assert_eq!((&plan["Moves"], &plan["AtLeast"], &plan["Reached"]), (&json!(2), &json!(2), &json!(true)));
    assert_eq!(plan["Goal"], "free 1 given node");
    assert_eq!(plan["Freed"][0]["Name"], "dc1-general-01");
    assert_eq!(named(&plan, "stop-allocation").len(), 2);
    // All marks are taken back, unless they are to stay.
    let (mut marked, mut back) = (named(&plan, "mark-ineligible"), named(&plan, "mark-eligible"));
    marked.sort_unstable();
    back.sort_unstable();
    assert_eq!(marked, back);
    let stay = parsed(&rebalance(&folder, &["-free-nodes", "dc1-general-01", "-json", "-leave-ineligible"]).stdout);
    assert!(!named(&stay, "mark-eligible").contains(&plan["Freed"][0]["ID"].as_str().expect("an ID")), "{stay}");
}

#[test]
fn limits_are_kept_and_named_when_they_are_in_the_way() {
    let folder = bench("rebalance-limits");
    let plan = |flags: &[&str]| {
        let ran = rebalance(&folder, &[&["-json", "-free-nodes", "dc1-general-01"], flags].concat());
        (ran.exit, parsed(&ran.stdout))
    };
    let (exit, one) = plan(&["-max-moves", "1"]);
    assert_eq!((exit, &one["Reached"]), (1, &json!(false)), "{one}");
    assert!(one["Moves"].as_i64() <= Some(1) && !one["Missing"].as_array().expect("reasons").is_empty(), "{one}");
    for flags in [["-job", "web"], ["-keep", "node.datacenter=dc1"], ["-priority", "1"], ["-pool", "gpu"]] {
        let (exit, plan) = plan(&flags);
        assert_eq!(exit, 1, "{flags:?}: {plan}");
        assert!(named(&plan, "stop-allocation").iter().all(|name| name.starts_with("web.")), "{flags:?}: {plan}");
        let shown = rebalance(&folder, &[&["-free-nodes", "dc1-general-01"][..], &flags].concat());
        assert!(shown.stdout.contains("\nWhat is missing\n- "), "{flags:?}: {}", shown.stdout);
    }
    let (exit, all) = plan(&["-survive", "node", "-batch=false", "-timeout", "3s"]);
    assert_eq!((exit, &all["Reached"]), (0, &json!(true)), "{all}");
}

#[test]
fn wrong_questions_are_usage_errors() {
    let folder = bench("rebalance-usage");
    for (flags, text) in [
        (&[][..], "No goal given: use one of -free, -free-nodes, -fit, -spread and -even"),
        (&["-even", "-spread"], "Use only one of -free, -free-nodes, -fit, -spread and -even"),
        (&["-free", "0"], "-free must be at least 1"),
        (&["-even", "-cost", "meta.price"], "-cost selects the nodes of -free: give both"),
        (&["-even", "-var", "a=b"], "-var and -var-file are for the job of -fit"),
        (&["-even", "-json", "-markdown"], "Use only one of -json, -markdown and -commands"),
        (&["-even", "extra"], "This command takes no arguments"),
    ] {
        // Before anything is read.
        let ran = run_in(folder.path(), &[&["rebalance", "-snapshot", "nosuch.json"], flags].concat());
        assert_eq!(ran.exit, 255, "{flags:?}: {ran:?}");
        assert!(ran.stderr.starts_with(text), "{flags:?}: {}", ran.stderr);
    }
    for (flags, text) in [
        (["-pool", "nosuch"], "-pool \"nosuch\": no node is in it"),
        (["-dc", "nosuch"], "-dc \"nosuch\": no node is in it"),
        (["-job", "nosuch"], "-job \"nosuch\": "),
        (["-keep", "nosuch"], "-keep \"nosuch\": expected key=value or key!=value"),
        (["-keep", "meta.rack=none"], "No node matches -keep \"meta.rack=none\""),
    ] {
        let ran = rebalance(&folder, &[&["-even"][..], &flags].concat());
        assert_eq!(ran.exit, 255, "{flags:?}: {ran:?}");
        assert!(ran.stderr.starts_with(text), "{flags:?}: {}", ran.stderr);
    }
    for (nodes, text) in [("nosuch", "-free-nodes \"nosuch\": "), (",", "-free-nodes \",\" names no node")] {
        let ran = rebalance(&folder, &["-free-nodes", nodes]);
        assert_eq!(ran.exit, 255, "{ran:?}");
        assert!(ran.stderr.starts_with(text), "{}", ran.stderr);
    }
    let ran = rebalance(&folder, &["-free", "1", "-cost", "meta.nosuch"]);
    assert_eq!(ran.exit, 255, "{ran:?}");
    assert!(ran.stderr.contains("no node has \"nosuch\" in its metadata"), "{}", ran.stderr);
}

#[test]
fn a_job_that_fits_needs_no_moves_and_one_that_cannot_says_why() {
    let folder = bench("rebalance-fit");
    let fits = rebalance(&folder, &["-fit", "api.hcl"]);
    assert_eq!((fits.exit, fits.stderr.as_str()), (0, ""));
    assert_eq!(fits.stdout, "Nothing has to be moved to make job \"api\" fit.\n");
    let cannot = rebalance(&folder, &["-fit", "trainer-fails.hcl"]);
    assert_eq!(cannot.exit, 1, "{cannot:?}");
    assert!(cannot.stdout.starts_with("No moves were found to make job \"trainer\" fit.\n"), "{}", cannot.stdout);
    assert!(cannot.stdout.contains("\nWhat is missing\n- "), "{}", cannot.stdout);
    folder.file("broken.hcl", "job \"x\" {");
    let broken = rebalance(&folder, &["-fit", "broken.hcl"]);
    assert_eq!(broken.exit, 255, "{broken:?}");
    assert!(broken.stderr.contains("broken.hcl"), "{}", broken.stderr);
}

#[test]
fn what_needs_no_moves_is_said_in_words_of_the_goal() {
    let folder = bench("rebalance-nothing");
    let stdout = |flags: &[&str]| {
        let ran = rebalance(&folder, flags);
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{flags:?}");
        ran.stdout
    };
    let empty = stdout(&["-free", "1", "-pool", "default"]);
    assert!(empty.starts_with("Nothing has to be moved: 1 node is already empty (dc"), "{empty}");
    let empty = stdout(&["-free", "2", "-pool", "default"]);
    assert!(empty.starts_with("Nothing has to be moved: 2 nodes are already empty (dc"), "{empty}");
    let spread = stdout(&["-spread"]);
    assert_eq!(spread, "Spread, affinity and anti-affinity scores are already as good as moves can make them.\n");
    let most = rebalance(&folder, &["-free", "10", "-timeout", "1ms"]);
    assert_eq!(most.exit, 1, "{most:?}");
    assert!(most.stdout.starts_with("The goal, to free 10 nodes, is not reached: "), "{}", most.stdout);
    assert!(most.stdout.contains("\n- Only 9 of 10 nodes can be empty at a time\n"), "{}", most.stdout);
}

#[test]
fn plans_are_printed_as_markdown_and_as_commands() {
    let folder = bench("rebalance-forms");
    let goal = ["-free-nodes", "dc1-general-01"];
    let markdown = rebalance(&folder, &[&goal[..], &["-markdown"]].concat());
    assert_eq!((markdown.exit, markdown.stderr.as_str()), (0, ""));
    let head = "### Rebalance: free 1 given node\n\n**2 moves in 1 step free 1 node; no plan has fewer moves.**\n";
    assert!(markdown.stdout.starts_with(head), "{}", markdown.stdout);
    assert!(markdown.stdout.contains("| `1` | `web.front[2]` | `dc1-general-01` | `"), "{}", markdown.stdout);

    let script = rebalance(&folder, &[&goal[..], &["-commands"]].concat()).stdout;
    let plan = parsed(&rebalance(&folder, &[&goal[..], &["-json"]].concat()).stdout);
    for (action, command) in
        [("mark-ineligible", "encamp node eligibility -disable"), ("mark-eligible", "encamp node eligibility -enable")]
    {
        for id in named(&plan, action) {
            assert!(script.lines().any(|line| line == format!("{command} {id}")), "{command} {id}: {script}");
        }
    }
    assert_eq!(script.matches("\nencamp alloc stop ").count(), 2, "{script}");
    // The script runs: with a program that notes its arguments, all of the commands are called in order.
    let fake = "#!/bin/sh\necho \"$@\" >> calls\n";
    let path = folder.file("encamp", fake);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let script = folder.file("script.sh", &script);
    let own = format!("{}:/usr/bin:/bin", folder.path().display());
    let ran =
        Command::new("/bin/sh").arg(script).current_dir(folder.path()).env("PATH", own).output().expect("a shell");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let calls = std::fs::read_to_string(folder.path().join("calls")).expect("calls");
    let count = |text: &str| calls.lines().filter(|line| line.starts_with(text)).count();
    assert_eq!(count("alloc stop"), 2, "{calls}");
    assert_eq!(count("node eligibility -disable"), count("node eligibility -enable"), "{calls}");
    assert_eq!(count("job allocs"), 2, "{calls}");
}

#[test]
fn plan_files_are_private_and_shown() {
    let folder = bench("rebalance-file");
    let ran = rebalance(&folder, &["-free-nodes", "dc1-general-01", "-out", "plan.json"]);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    let hint = "\nPlan written to plan.json. To carry it out step by step, run:\n\nencamp rebalance run plan.json\n";
    assert!(ran.stdout.ends_with(hint), "{}", ran.stdout);
    let path = folder.path().join("plan.json");
    let mode = std::fs::metadata(&path).expect("the plan").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the job of -fit may contain secrets");
    let shown = run_in(folder.path(), &["rebalance", "show", "plan.json"]);
    assert_eq!((shown.exit, shown.stderr.as_str()), (0, ""));
    for part in ["Goal    = free 1 given node\n", "snapshot cluster.json at index ", "Run     = not begun\n"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(shown.stdout.contains("2 moves in 1 step free 1 node"), "{}", shown.stdout);
    let file = parsed(&run_in(folder.path(), &["rebalance", "show", "-json", "plan.json"]).stdout);
    assert_eq!(file, parsed(&std::fs::read_to_string(&path).expect("the plan")));
    assert_eq!(file["State"]["Snapshot"], "cluster.json");

    folder.file("other.json", "{}");
    for (file, text) in [
        ("nosuch.json", "Error reading plan file \"nosuch.json\": No such file or directory"),
        (
            "other.json",
            "Error reading plan file \"other.json\": it is not a plan of a rebalance; rebalance -out writes one",
        ),
    ] {
        for command in ["show", "run"] {
            let ran = run_in(folder.path(), &["rebalance", command, file]);
            assert_eq!(ran.exit, if command == "run" { 255 } else { 1 }, "{ran:?}");
            assert!(ran.stderr.starts_with(text), "{}", ran.stderr);
        }
    }
    assert!(!folder.path().join("other.json.lock").exists());
    let both = run_in(folder.path(), &["rebalance", "run", "-abort", "-dry-run", "plan.json"]);
    assert_eq!((both.exit, both.stderr.lines().next()), (255, Some("Use only one of -abort and -dry-run")));
    let nowhere = rebalance(&folder, &["-even", "-out", "none/plan.json"]);
    assert_eq!(nowhere.exit, 255, "{nowhere:?}");
    assert!(nowhere.stderr.starts_with("Error writing plan file \"none/plan.json\": "), "{}", nowhere.stderr);
}

#[test]
fn a_cluster_that_cannot_be_reached_changes_nothing() {
    let folder = bench("rebalance-unreachable");
    rebalance(&folder, &["-free-nodes", "dc1-general-01", "-out", "plan.json"]);
    let ran = run_in(folder.path(), &["rebalance", "run", "-address", "http://127.0.0.1:1", "plan.json"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("The run ended at step 1 of 1, after 0 moves: Error reading the cluster"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("No node is left ineligible."), "{}", ran.stderr);
    let file = parsed(&std::fs::read_to_string(folder.path().join("plan.json")).expect("the plan"));
    assert_eq!((&file["Run"]["Status"], &file["Run"]["Progress"]["Marked"]), (&json!("stopped"), &json!([])));
}
