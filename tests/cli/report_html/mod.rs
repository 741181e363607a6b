//! `job plan -html`, `what-if -html` and `rebalance -html`: the files, and what a browser makes of them.
//!
//! The pictures of the reports, light and dark, stay in the directory `report-html` of the tests' temporary directory.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use encamp_test_support::browser::{Browser, axe};
use encamp_test_support::notes;
use serde_json::Value;

use crate::program::{Folder, Ran, run_in};

/// Markup that would show or do something if it was not escaped, in the form that JSON and HCL strings have: with the
/// characters that names of jobs, groups and tasks can have, and with all.
const NAME: &str = r#"\"'><script>window.reached=1;&lt;<!--"#;
const VALUE: &str = r#"\"'><script>window.reached=1</script><img src=http://127.0.0.1:9/x onerror=window.reached=1>&lt;</title></style><!--"#;
/// The job files of the demo cluster, one for each job.
const JOBS: [&str; 4] = ["api-destructive.hcl", "exporter-system.hcl", "trainer-fails.hcl", "web-canary.hcl"];
/// The bytes that the report about a cluster of thousands of nodes may have.
const MOST_BYTES: usize = 600_000;

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).display().to_string()
}

fn demo() -> String {
    fixture("demo/cluster.json")
}

/// Runs a command that writes `report.html` into a folder, and returns the report.
fn written(folder: &Folder, args: &[&str]) -> (Ran, String) {
    // Flags come before paths.
    let (command, rest) = args.split_at(if args.first() == Some(&"job") { 2 } else { 1 });
    let ran = run_in(folder.path(), &[command, &["-html", "report.html"], rest].concat());
    let report = std::fs::read_to_string(folder.path().join("report.html"));
    let report = report.unwrap_or_else(|e| panic!("{args:?}: {e}: {}", ran.stderr));
    (ran, report)
}

/// The demo cluster and a job, with markup in the names of nodes, datacenters, pools, jobs, groups, tasks and in values.
fn hostile(folder: &Folder) -> (String, String) {
    let text = |name: &str| std::fs::read_to_string(fixture(name)).expect("a file of the demo cluster");
    let mut cluster = text("demo/cluster.json");
    let snapshot: Value = serde_json::from_str(&cluster).expect("JSON");
    let nodes = snapshot["Nodes"].as_array().expect("nodes").iter().map(|n| n["Name"].as_str().unwrap());
    let values = nodes.chain(["general"]).map(|name| (name, VALUE));
    let names = ["dc1", "dc2", "gpu", "api", "web", "report", "exporter", "server", "front", "monthly"];
    for (name, markup) in values.chain(names.map(|name| (name, NAME))) {
        cluster = cluster.replace(&format!("\"{name}\""), &format!("\"{name}{markup}\""));
        cluster = cluster.replace(&format!("\"{name}."), &format!("\"{name}{markup}."));
    }
    let mut job = text("demo/api-destructive.hcl");
    for name in ["job \"api\"", "group \"server\"", "task \"server\"", "\"dc1\"", "\"dc2\""] {
        let end = name.len() - 1;
        job = job.replace(name, &format!("{}{NAME}\"", &name[..end]));
    }
    job = job.replace("\"v1\"", &format!("\"{VALUE}\""));
    let unplaced = format!(
        "  group \"large{NAME}\" {{\n    meta {{ note = \"{VALUE}\" }}\n    constraint {{\n      attribute = \
         \"${{meta.rack}}\"\n      value = \"{VALUE}\"\n    }}\n    task \"t{NAME}\" {{\n      driver = \
         \"docker\"\n      config {{ image = \"{VALUE}\" }}\n    }}\n  }}\n}}\n"
    );
    let end = job.rfind('}').expect("the end of the job");
    job.replace_range(end.., &unplaced);
    let path = |path: PathBuf| path.display().to_string();
    (path(folder.file("hostile.json", cluster)), path(folder.file("hostile'\"<u>.hcl", job)))
}

/// A cluster of many nodes.
fn large(folder: &Folder) -> String {
    let mut cluster: Value = serde_json::from_slice(&std::fs::read(demo()).expect("the cluster")).expect("JSON");
    let like = cluster["Nodes"].as_array().expect("nodes").clone();
    let nodes = (0..6000_usize).map(|n| {
        let mut node = like[n % like.len()].clone();
        node["ID"] = format!("{n:08x}-0000-0000-0000-{n:012x}").into();
        node["Name"] = format!("{}-{n:05}", node["Datacenter"].as_str().unwrap()).into();
        node
    });
    cluster["Nodes"] = nodes.collect();
    folder.file("large.json", cluster.to_string()).display().to_string()
}

#[test]
fn a_report_does_not_change_the_rest() {
    let folder = Folder::new("html-rest");
    let job = fixture("demo/api-destructive.hcl");
    let demo = demo();
    let plan = ["job", "plan", "-snapshot", &demo, &job];
    let rebalance = ["rebalance", "-snapshot", &demo, "-free-nodes=dc1-general-01"];
    let drain = ["what-if", "-snapshot", &demo, "-drain", "dc1-general-01", "-json"];
    for args in [plan.as_slice(), &drain, &rebalance] {
        let without = run_in(folder.path(), args);
        let (with, first) = written(&folder, args);
        assert_eq!((&with.stdout, &with.stderr, with.exit), (&without.stdout, &without.stderr, without.exit));
        let mode = std::fs::metadata(folder.path().join("report.html")).expect("the report").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "the job may contain secrets");
        let (_, second) = written(&folder, args);
        assert!(first == second, "the same input makes the same report");
    }
    let remote = run_in(folder.path(), &[&plan[..2], &["-remote", "-html=x.html", &job]].concat());
    assert_eq!(remote.exit, 255);
    assert_eq!(remote.stderr, "-html requires a local plan: it cannot be combined with -remote\n");
    let nowhere = run_in(folder.path(), &[&plan[..2], &["-html=none/x.html"], &plan[2..]].concat());
    assert_eq!((nowhere.exit, nowhere.stdout.as_str()), (255, ""));
    assert!(nowhere.stderr.starts_with("Error writing \"none/x.html\": "), "{}", nowhere.stderr);
}

#[test]
fn a_report_holds_the_result() {
    let folder = Folder::new("html-result");
    let plan = |cluster: &str, flags: &[&str]| {
        let snapshot = fixture(&format!("{cluster}/cluster.json"));
        written(&folder, &[&["job", "plan", "-snapshot", &snapshot], flags].concat()).1
    };
    let evicts = plan("preemption", &[&fixture("preemption/webapp.hcl")]);
    assert!(evicts.contains("Disruption: 3 evicted (batch-analytics, email-marketing), 1 to place"));
    assert!(evicts.contains(">Evictions</h2>") && evicts.contains("<code>email-marketing.main[0]</code>"), "{evicts}");
    let fails = plan("demo", &["-fail-on=unplaced", &fixture("demo/trainer-fails.hcl")]);
    assert!(fails.contains("Problem: ") && fails.contains("Group <code>train</code>: "), "{fails}");
    assert!(fails.contains("Conditions of -fail-on that hold"), "{fails}");
    let jobs = JOBS.map(|job| fixture(&format!("demo/{job}")));
    let jobs = jobs.iter().map(String::as_str);
    let several = plan("demo", &["-down=dc1-general-01"].into_iter().chain(jobs).collect::<Vec<_>>());
    assert!(several.contains("Assumed changes") && several.contains("<a href=\"#job-0\">"), "{several}");
    assert_eq!(several.matches(">Placements</h3>").count(), 4);
    // Each plan has allocations of its own.
    assert_eq!(several.matches("<p>No allocation is placed.</p>").count(), 0, "{several}");
    assert_eq!(several.matches(">Nodes before and after</h2>").count(), 1);
    let (_, changes) = written(&folder, &["what-if", "-snapshot", &demo(), "-drain", "dc1-general-01"]);
    assert!(changes.contains("No problem: No allocation would be unplaced."), "{changes}");
    assert!(changes.contains("<td>drained</td>") && changes.contains("Nodes that change"), "{changes}");
}

#[test]
fn names_and_values_stay_text() {
    let folder = Folder::new("html-hostile");
    let (cluster, job) = hostile(&folder);
    let plan = ["job", "plan", "-verbose", "-snapshot", &cluster, &job];
    for args in [plan.as_slice(), &["what-if", "-all", "-snapshot", &cluster, "-drain=00000001"]] {
        let (_, report) = written(&folder, args);
        assert!(report.contains("&gt;&lt;script&gt;window.reached"), "{report}");
        for markup in ["<script", "<img", "<!--", "<u>", "</title></style>"] {
            assert!(!report.contains(markup), "{markup}");
        }
        assert_eq!(report.matches("</style>").count(), 1);
    }
}

#[test]
fn a_large_cluster_makes_a_small_report() {
    let folder = Folder::new("html-large");
    let cluster = large(&folder);
    let job = fixture("demo/api-destructive.hcl");
    let plan = ["job", "plan", "-snapshot", &cluster, &job];
    for args in [plan.as_slice(), &["what-if", "-snapshot", &cluster, "-down=dc=dc1"]] {
        let (_, report) = written(&folder, args);
        assert!(report.len() < MOST_BYTES, "{} bytes", report.len());
        assert!(report.contains("a cell stands for up to 10 nodes"), "what is left out is said");
    }
}

/// What a page did that a report must not do.
fn misdeeds(browser: &mut Browser, events: &[Value], file: &Path) -> Vec<String> {
    let own = format!("file://{}", file.display());
    let mut found = Vec::new();
    for event in events {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" if params["request"]["url"] != *own => {
                found.push(format!("request: {}", params["request"]["url"]));
            }
            "Network.webSocketCreated" => found.push("web socket".into()),
            "Log.entryAdded" => found.push(format!("log: {}", params["entry"]["text"])),
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => found.push("script".into()),
            _ => {}
        }
    }
    if browser.evaluate("typeof window.reached") != "undefined" {
        found.push("script".into());
    }
    found
}

/// Moves through the first steps of a page by keyboard: the link to the report comes first, and leads there.
fn by_keyboard(browser: &mut Browser) {
    browser.press("Tab", 9);
    assert_eq!(browser.evaluate("document.activeElement.className"), "skip");
    browser.press("Tab", 9);
    assert_eq!(browser.evaluate("document.activeElement.closest('nav') !== null"), true);
    assert_eq!(browser.evaluate("document.querySelector(document.activeElement.hash) !== null"), true);
}

#[test]
fn reports_in_a_browser() {
    let folder = Folder::new("html-browser");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("reports in a browser", "chromium is not installed");
    };
    let axe = axe("accessibility of reports");
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-html");
    std::fs::create_dir_all(&pictures).expect("a directory");
    let (cluster, job) = hostile(&folder);
    let (preemption, demo, large) = (fixture("preemption/cluster.json"), demo(), large(&folder));
    let jobs = ["webapp", "api-destructive", "trainer-fails"];
    let [webapp, api, trainer] =
        jobs.map(|job| fixture(&format!("{}/{job}.hcl", if job == "webapp" { "preemption" } else { "demo" })));
    let all = JOBS.map(|job| fixture(&format!("demo/{job}")));
    let mut several = vec!["job", "plan", "-fail-on=destroy", "-snapshot", &demo];
    several.extend(all.iter().map(String::as_str));
    let reports: [(&str, Vec<&str>); 10] = [
        ("evictions", vec!["job", "plan", "-explain", "-snapshot", &preemption, &webapp]),
        ("update", vec!["job", "plan", "-rollout", "-snapshot", &demo, &api]),
        ("unplaced", vec!["job", "plan", "-down=dc1-gpu-10", "-snapshot", &demo, &trainer]),
        ("several", several),
        ("drain", vec!["what-if", "-snapshot", &demo, "-drain=dc1-general-01", "-down=dc2-general-07"]),
        ("growth", vec!["what-if", "-snapshot", &demo, "-down=dc=dc1", "-add=2:like=dc2-general-08"]),
        ("large", vec!["what-if", "-snapshot", &large, "-down=dc=dc1"]),
        ("rebalance", vec!["rebalance", "-snapshot", &demo, "-free-nodes=dc1-general-01"]),
        ("hostile-plan", vec!["job", "plan", "-verbose", "-snapshot", &cluster, &job]),
        ("hostile-drain", vec!["what-if", "-snapshot", &cluster, "-drain=00000001"]),
    ];
    for (name, args) in reports {
        let (_, report) = written(&folder, &args);
        let file = folder.file(&format!("{name}.html"), &report);
        for scheme in ["light", "dark"] {
            browser.emulate(1200, scheme);
            let events = browser.open(&file);
            let loaded = events.iter().filter(|e| e["method"] == "Network.requestWillBeSent").count();
            assert_eq!(loaded, 1, "{name}: the report itself is the only request");
            assert_eq!(misdeeds(&mut browser, &events, &file), [""; 0], "{name}");
            let picture = browser.screenshot();
            std::fs::write(pictures.join(format!("{name}-{scheme}.png")), picture).expect("a picture");
            if let Some(axe) = &axe {
                let found = browser.accessibility(axe);
                assert_eq!(found, Value::Array(Vec::new()), "{name} {scheme}: {found:#}");
            }
        }
        browser.open(&file);
        by_keyboard(&mut browser);
        browser.emulate(360, "light");
        browser.open(&file);
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert!(width.as_u64().is_some_and(|width| width <= 360), "{name}: {width} pixels wide on a telephone");
    }
    the_checks_work(&mut browser, &folder);
}

/// Markup in a report is found by the checks, and the policy of the report keeps it from doing anything.
fn the_checks_work(browser: &mut Browser, folder: &Folder) {
    let report = std::fs::read_to_string(folder.path().join("update.html")).expect("a report");
    let markup = "<p><script>window.reached=1</script><img src=http://127.0.0.1:9/x></p></main>";
    let injected = report.replace("</main>", markup);
    let file = folder.file("injected.html", &injected);
    let events = browser.open(&file);
    let found = misdeeds(browser, &events, &file);
    assert!(found.iter().any(|f| f.starts_with("log: ") && f.contains("Content Security Policy")), "{found:?}");
    assert!(!found.contains(&"script".to_string()), "{found:?}");
    let (before, rest) = injected.split_once("<meta http-equiv").expect("the policy");
    let (_, after) = rest.split_once('>').expect("its end");
    let file = folder.file("without-policy.html", format!("{before}{after}"));
    let events = browser.open(&file);
    let found = misdeeds(browser, &events, &file);
    assert!(found.iter().any(|f| f.starts_with("request: ")) && found.contains(&"script".to_string()), "{found:?}");
}
