//! Suggestions for jobs that do not fit (`docs/spec/cli.md §7.11`): the story of the guide, what is refused, and where
//! they appear.

use std::path::Path;

use serde_json::{Value, json};

use crate::cluster::{Cluster, serve};
use crate::docs::{folder_of_guide, shows_what_is_printed};
use crate::oracle;
use crate::program::{Folder, Ran, path, run_in, run_with};
use crate::server::Response;
use crate::terminal::screen::{Screen, Size};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn plan(folder: &Folder, flags: &[&str], file: &str) -> Ran {
    let args = [&["job", "plan", "-diff=false", "-snapshot=fixtures/demo/cluster.json"], flags, &[file]].concat();
    run_in(folder.path(), &args)
}

/// A job that asks for too much memory, however it says so.
fn too_big(head: &str, memory: &str) -> String {
    format!(
        "{head}job \"j\" {{\n  datacenters = [\"dc1\"]\n\n  group \"g\" {{\n    task \"t\" {{\n      driver = \"docker\"\n      \
         config {{\n        image = \"x\"\n      }}\n      resources {{\n        cpu    = 200\n        memory = {memory} # \
         MB\n      }}\n    }}\n  }}\n}}\n"
    )
}

#[test]
fn the_story_of_the_guide() {
    let folder = folder_of_guide("suggest-guide");
    std::fs::copy(root().join("docs/guide/search.nomad.hcl"), folder.path().join("search.nomad.hcl")).unwrap();
    shows_what_is_printed("suggest.md", folder.path(), 3);
    let (old, new) = (root().join("docs/guide/search.nomad.hcl"), folder.path().join("search.nomad.hcl"));
    let (old, new) = (std::fs::read_to_string(old).unwrap(), std::fs::read_to_string(new).unwrap());
    let changed: Vec<(&str, &str)> = old.lines().zip(new.lines()).filter(|(a, b)| a != b).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].1.ends_with("# measured under load"), "the comment stays: {changed:?}");
    assert!(plan(&folder, &[], "search.nomad.hcl").stdout.contains("All tasks successfully allocated"));
}

#[test]
fn suggestions_are_planned_again_and_change_no_exit_code() {
    let folder = folder_of_guide("suggest-json");
    let trainer = "fixtures/demo/trainer-fails.hcl";
    let (plain, suggested) = (plan(&folder, &[], trainer), plan(&folder, &["-suggest"], trainer));
    assert_eq!(plain.exit, suggested.exit);
    assert!(suggested.stdout.starts_with(plain.stdout.trim_end()), "the plan itself is the same");
    assert!(!plain.stdout.contains("Suggestions"), "nothing unasked for through a pipe");
    let answer: Value = serde_json::from_str(&plan(&folder, &["-suggest", "-json-output"], trainer).stdout).unwrap();
    let found = &answer["Suggestions"];
    assert_eq!((&found["Unplaced"], &found["Complete"]), (&json!({"train": 2}), &json!(true)));
    let list = found["List"].as_array().unwrap();
    let costs: Vec<f64> = list.iter().map(|s| s["Cost"].as_f64().unwrap()).collect();
    assert!(!list.is_empty() && costs.is_sorted(), "{list:?}");
    let count = list.iter().flat_map(|s| s["Edits"].as_array().unwrap()).find(|e| e["Kind"] == "count").unwrap();
    assert_eq!((&count["File"], &count["Line"], &count["Old"]), (&json!(trainer), &json!(9), &json!("3")));
    let text = plan(&folder, &["-suggest"], "fixtures/demo/registered/web.hcl").stdout;
    assert!(text.ends_with("Suggestions: none are needed, everything is placed\n"), "{text}");
}

#[test]
fn a_suggestion_is_written_where_its_value_comes_from() {
    let folder = folder_of_guide("suggest-write");
    let apply = |file: &str, flags: &[&str]| plan(&folder, &[&["-apply-suggestion", "1"], flags].concat(), file);
    let head = "variable \"size\" {\n  default = 90000 # of one copy\n}\n\n";
    folder.file("variable.hcl", too_big(head, "var.size"));
    let ran = apply("variable.hcl", &[]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{}", ran.stdout);
    let text = std::fs::read_to_string(folder.path().join("variable.hcl")).unwrap();
    let value: i64 = text.lines().nth(1).unwrap().split_whitespace().nth(2).unwrap().parse().unwrap();
    assert_eq!(text, too_big(&head.replace("90000", &value.to_string()), "var.size"));
    assert!(ran.stdout.contains("-  default = 90000 # of one copy\n+  default = "), "{}", ran.stdout);
    assert!(plan(&folder, &[], "variable.hcl").stdout.contains("All tasks successfully allocated"));

    let local = "locals {\n  size = 90000\n}\n\n";
    for (file, text, flags, want) in [
        ("flag.hcl", too_big(head, "var.size"), &["-var=size=80000"][..], "comes from a variable that -var"),
        (
            "none.hcl",
            too_big("variable \"size\" {\n  type = number\n}\n", "var.size"),
            &["-var=size=80000"],
            "comes from the variable \"size\", which has no literal default",
        ),
        ("local.hcl", too_big(local, "local.size"), &[], "comes from the local value \"size\""),
        ("function.hcl", too_big("", "max(90000, 2)"), &[], "comes from the function \"max\""),
        ("sum.hcl", too_big("", "80000 + 5"), &[], "is the expression \"80000 + 5\""),
    ] {
        folder.file(file, &text);
        let ran = apply(file, flags);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255), "{file}");
        assert!(
            ran.stderr.contains("Suggestion 1 is not written: ") && ran.stderr.contains(want),
            "{file}: {}",
            ran.stderr
        );
        assert_eq!(std::fs::read_to_string(folder.path().join(file)).unwrap(), text, "{file} stays as it is");
    }
}

/// The first step of the update finds two nodes; the second one finds no more than one.
const UPDATE: &str = r#"job "api" {
  datacenters = ["dc*"]
  priority    = 60

  group "server" {
    count = 4

    constraint {
      attribute = "${node.unique.name}"
      operator  = "set_contains_any"
      value     = "dc1-general-01,dc1-general-02,dc1-general-03"
    }

    update {
      max_parallel = 2
    }

    task "server" {
      driver = "docker"

      config {
        image = "registry.example/api:9"
      }

      resources {
        cpu    = 500
        memory = 7300
      }
    }
  }
}
"#;

#[test]
fn an_update_that_does_not_finish_gets_suggestions_with_which_it_does() {
    let folder = folder_of_guide("suggest-update");
    folder.file("api.hcl", UPDATE);
    let rollout = || plan(&folder, &["-rollout"], "api.hcl").stdout;
    assert!(rollout().contains("The deployment fails after"), "{}", rollout());
    let answer: Value = serde_json::from_str(&plan(&folder, &["-suggest", "-json-output"], "api.hcl").stdout).unwrap();
    let found = &answer["Suggestions"];
    assert_eq!((&found["Unplaced"], &found["RolloutBlocked"]), (&json!({}), &json!(true)));
    let list = found["List"].as_array().unwrap();
    let kinds: Vec<&str> = list.iter().filter_map(|s| s["Edits"][0]["Kind"].as_str()).collect();
    assert!(kinds.contains(&"memory") && kinds.contains(&"constraint") && kinds.contains(&"count"), "{kinds:?}");
    for s in list.iter().filter(|s| s["Edits"].as_array().unwrap().iter().all(|e| e["InJobFile"] == true)) {
        folder.file("api.hcl", UPDATE);
        let ran = plan(&folder, &["-apply-suggestion", &s["Number"].to_string()], "api.hcl");
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{s}");
        let after = rollout();
        assert!(!after.contains("deployment fails") && !after.contains("unplaced"), "{s}\n{after}");
    }
}

#[test]
fn what_cannot_be_applied_is_refused_with_a_reason() {
    let folder = folder_of_guide("suggest-refused");
    let trainer = "fixtures/demo/trainer-fails.hcl";
    let answer: Value = serde_json::from_str(&plan(&folder, &["-suggest", "-json-output"], trainer).stdout).unwrap();
    let list = answer["Suggestions"]["List"].as_array().unwrap();
    let nodes = list.iter().find(|s| s["Edits"][0]["Kind"] == "nodes").unwrap()["Number"].to_string();
    for (flags, file, want) in [
        (
            &["-apply-suggestion", nodes.as_str()][..],
            trainer,
            "is no edit of the job file: start 2 more nodes of class \"gpu\"",
        ),
        (&["-apply-suggestion", "99"], trainer, "There is no suggestion 99; -suggest lists "),
        (&["-apply-suggestion", "1"], "fixtures/demo/registered/web.hcl", "There is nothing to apply"),
        (&["-apply-suggestion", "1"], "-", "-apply-suggestion writes to the job file"),
        (&["-suggest", "-markdown"], trainer, "-suggest cannot be combined with -markdown"),
        (&["-suggest"], "fixtures/demo", "-suggest is about one job file at a time"),
    ] {
        let ran = plan(&folder, flags, file);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255), "{flags:?}");
        assert!(ran.stderr.contains(want), "{flags:?}: {}", ran.stderr);
    }
    let remote = run_in(folder.path(), &["job", "plan", "-remote", "-suggest", trainer]);
    assert!(remote.stderr.contains("-suggest requires a local plan"), "{}", remote.stderr);
}

#[test]
fn a_terminal_shows_the_cheapest_without_being_asked() {
    let folder = folder_of_guide("suggest-terminal");
    let args =
        ["job", "plan", "-diff=false", "-snapshot=fixtures/demo/cluster.json", "fixtures/demo/trainer-fails.hcl"];
    let size = Size { columns: 150, rows: 50 };
    let screen = Screen::start(size, folder.path(), &[("TERM", "xterm")], &path(), &args);
    screen.wait_for("Suggestions: each of these, planned again, places everything");
    let ended = screen.ends();
    let rows = ended.contents.lines().filter(|l| l.starts_with(['1', '2', '3', '4'])).count();
    assert!((1..=3).contains(&rows), "{}", ended.contents);
}

#[test]
fn a_blocked_evaluation_is_explained_with_suggestions() {
    let Some(all) = oracle::json("archive/dev-acl.expected.json") else { return };
    let mut evaluations = all["Evaluations"].as_array().unwrap().iter();
    let blocked = evaluations.find(|e| e["JobID"] == "too-big" && e["Status"] == "blocked").expect("it is recorded");
    let id = blocked["ID"].as_str().unwrap();
    let (server, cluster) = serve(Cluster::recorded("dev-acl").expect("the same sample"));
    cluster.lock().unwrap().failures = vec![
        (format!("/v1/evaluation/{id}/allocations"), Response::json(&json!([]))),
        (format!("/v1/evaluation/{id}"), Response::json(blocked)),
    ];
    let folder = Folder::new("suggest-eval");
    let cache = folder.path().join("cache").display().to_string();
    let env = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
    let explain = |flags: &[&str]| run_with(folder.path(), &[&["eval", "explain"], flags, &[id]].concat(), &env, None);
    let plain = explain(&[]);
    let ran = explain(&["-suggest"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{}", ran.stdout);
    assert!(ran.stdout.starts_with(&plain.stdout) && !plain.stdout.contains("Suggestions"), "{}", ran.stdout);
    assert!(ran.stdout.contains("memory of task "), "{}", ran.stdout);
    let answer: Value = serde_json::from_str(&explain(&["-suggest", "-json"]).stdout).unwrap();
    assert_eq!(answer["Suggestions"]["List"][0]["Edits"][0]["Kind"], "memory-max");
    assert_eq!(answer["Suggestions"]["List"][0]["Edits"][0]["File"], Value::Null);
}
