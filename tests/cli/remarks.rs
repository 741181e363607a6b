//! Warnings about settings without effect, by `job validate`, `job plan` and `job run` (`docs/spec/cli.md §22`).

use std::path::Path;

use serde_json::{Value, json};

use crate::canned::Canned;
use crate::program::{Folder, Ran, run_in};

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).display().to_string()
}

/// A job file: what stands in the job, in its group and in its task.
fn job(r#type: &str, in_job: &str, in_group: &str, in_task: &str) -> String {
    format!(
        "job \"j\" {{\n  type = \"{type}\"\n  {in_job}\n  group \"g\" {{\n    {in_group}\n    task \"t\" {{\n      driver = \
         \"docker\"\n      config {{\n        image = \"x\"\n      }}\n      {in_task}\n    }}\n  }}\n}}\n"
    )
}

fn batch(spec: &str) -> String {
    job("batch", &format!("periodic {{\n    crons = [\"{spec}\"]\n  }}"), "", "")
}

fn group(inside: &str) -> String {
    job("service", "", inside, "")
}

/// A job file, with the message and the line of its warning; none: it has no warning. `bool`: the cluster justifies it,
/// not the file.
type Case = (String, Option<(&'static str, usize)>, bool);

fn cases() -> Vec<Case> {
    let never = "cron \"@\" never fires: none of its months has such a day";
    let mut out = Vec::new();
    for (spec, fires) in [("0 0 31 2 *", false), ("0 0 30 2 *", false), ("0 0 31 4,6 *", false), ("0 0 31 4,5 *", true)]
    {
        let message: &'static str = Box::leak(never.replace('@', spec).into_boxed_str());
        out.push((batch(spec), (!fires).then_some((message, 4)), false));
    }
    out.push((batch("0 0 1 1 * 2020"), Some(("cron \"0 0 1 1 * 2020\" never fires: all of its launches", 4)), false));
    let attribute = |block: &str, attribute: &str, more: &str| {
        group(&format!("{block} {{\n      attribute = \"${{{attribute}}}\"\n      {more}\n    }}"))
    };
    out.push((attribute("spread", "attr.nothing", ""), Some(("this spread cannot spread: none of the", 6)), true));
    out.push((
        attribute("spread", "attr.kernel.name", ""),
        Some(("this spread cannot spread: ${attr.kernel.name} is", 6)),
        true,
    ));
    out.push((attribute("spread", "node.datacenter", ""), None, false));
    out.push((
        job("service", "datacenters = [\"dc1\"]\n  spread {\n    attribute = \"${node.datacenter}\"\n  }", "", ""),
        Some(("this spread cannot spread: ${node.datacenter} is \"dc1\" for every node of the job", 5)),
        false,
    ));
    out.push((
        attribute("spread", "node.datacenter", "target \"dc1\" {\n        percent = 100\n      }"),
        Some(("this spread has one target with 100 %", 5)),
        false,
    ));
    out.push((
        attribute("affinity", "attr.nothing", "value = \"x\""),
        Some(("this affinity prefers no node: ${attr.nothing} = x holds for none of the", 6)),
        true,
    ));
    out.push((attribute("affinity", "node.datacenter", "value = \"dc1\""), None, false));
    let hosts = "constraint {\n      distinct_hosts = true\n    }";
    out.push((
        group(&format!("count = 400\n    {hosts}")),
        Some(("distinct_hosts needs 400 nodes for 400 allocations", 7)),
        true,
    ));
    out.push((group(&format!("count = 1\n    {hosts}")), None, false));
    out.push((job("system", "", hosts, ""), Some(("distinct_hosts has no effect: a system job", 6)), false));
    out.push((
        group("count = 2\n    scaling {\n      min = 2\n      max = 2\n    }"),
        Some(("this scaling policy cannot change the count: min and max are both 2", 8)),
        false,
    ));
    out.push((group("count = 2\n    scaling {\n      min = 1\n      max = 2\n    }"), None, false));
    out.push((
        group("update {\n      max_parallel = 0\n      auto_revert  = true\n    }"),
        Some(("auto_revert has no effect: max_parallel = 0", 7)),
        false,
    ));
    out.push((
        group("update {\n      canary       = 1\n      auto_promote = true\n      health_check = \"manual\"\n    }"),
        Some(("auto_promote waits for healthy canaries", 7)),
        false,
    ));
    let check = |successes: u32| {
        group(&format!(
            "shutdown_delay = \"1s\"\n    network {{\n      port \"http\" {{}}\n    }}\n    service {{\n      \
             name = \"s\"\n      port = \"http\"\n      check {{\n        type = \"tcp\"\n        interval = \"60s\"\n        timeout = \"1s\"\n        \
             success_before_passing = {successes}\n      }}\n    }}"
        ))
    };
    out.push((check(1), None, false));
    out.push((
        check(9),
        Some(("no allocation can become healthy: this check and min_healthy_time take 8m10s", 16)),
        false,
    ));
    out.push((
        job("service", "", "", "env {\n        X = each.key\n      }"),
        Some(("each.key is a name of Terraform", 12)),
        false,
    ));
    out
}

/// The warnings of a run that went well, as message and line.
fn warned(ran: &Ran) -> Vec<(String, usize)> {
    let mut out = Vec::new();
    let mut lines = ran.stderr.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(message) = line.strip_prefix("warning: ") {
            let place = lines
                .peek()
                .and_then(|l| l.trim_start().strip_prefix("--> j.hcl:"))
                .unwrap_or_else(|| panic!("{}", ran.stderr));
            let line = place.split(':').next().and_then(|n| n.parse().ok()).expect("a line");
            out.push((message.to_string(), line));
        }
    }
    assert_eq!(out.len(), ran.stderr.matches("= help: ").count(), "{}", ran.stderr);
    out
}

fn check(ran: &Ran, want: Option<(&str, usize)>, what: &str) {
    let got = warned(ran);
    match want {
        None => assert_eq!(got, [], "{what}\n{}", ran.stderr),
        Some((message, line)) => {
            assert_eq!(got.len(), 1, "{what}\n{}", ran.stderr);
            assert!(got[0].0.starts_with(message), "{what}\n{}", ran.stderr);
            assert_eq!(got[0].1, line, "{what}\n{}", ran.stderr);
        }
    }
}

#[test]
fn commands_warn_about_settings_without_effect() {
    let folder = Folder::new("remarks");
    let snapshot = fixture("demo/cluster.json");
    let canned = Canned::new(&[("PUT /v1/jobs", json!({"EvalID": "", "Warnings": ""}))]);
    let cases = cases();
    assert_eq!(cases.len(), 22);
    for (text, want, by_cluster) in cases {
        folder.file("j.hcl", &text);
        let alone = want.filter(|_| !by_cluster);
        let validated = run_in(folder.path(), &["job", "validate", "j.hcl"]);
        assert_eq!(validated.exit, 0, "{text}{}", validated.stderr);
        check(&validated, alone, &text);
        let against = run_in(folder.path(), &["job", "validate", "-snapshot", &snapshot, "j.hcl"]);
        assert_eq!(against.exit, 0, "{text}{}", against.stderr);
        check(&against, want, &text);
        let plan = run_in(folder.path(), &["job", "plan", "-snapshot", &snapshot, "j.hcl"]);
        assert!(matches!(plan.exit, 0 | 1), "{text}{}", plan.stderr);
        assert!(!plan.stdout.contains("\nwarning: "), "{}", plan.stdout);
        check(&plan, want, &text);
        let args = ["job", "plan", "-json-output", "-diagnostics=json", "-snapshot", &snapshot, "j.hcl"];
        let plan = run_in(folder.path(), &args);
        assert_eq!(plan.stderr, "", "{text}");
        let answer: Value = serde_json::from_str(&plan.stdout).expect("JSON");
        let list = answer["Diagnostics"].as_array().expect("a list");
        let got: Vec<(&str, u64)> =
            list.iter().filter_map(|d| Some((d["message"].as_str()?, d["line"].as_u64()?))).collect();
        assert_eq!(got.len(), usize::from(want.is_some()), "{text}{answer:#}");
        let same = |(message, line): (&str, usize)| got[0].0.starts_with(message) && got[0].1 == line as u64;
        assert!(want.is_none_or(same) && list.iter().all(|d| d["severity"] == "warning"), "{text}{answer:#}");
        let ran = canned.run_in(folder.path(), &["job", "run", "-detach", "j.hcl"], "");
        assert_eq!(ran.exit, 0, "{text}{}", ran.stderr);
        check(&ran, alone, &text);

        let strict = run_in(folder.path(), &["job", "validate", "-strict", "-snapshot", &snapshot, "j.hcl"]);
        let refused = "The job is valid, but -strict treats its 1 warning as errors";
        assert_eq!(
            (strict.exit, strict.stderr.contains(refused)),
            (i32::from(want.is_some()), want.is_some()),
            "{text}"
        );
        let args = ["job", "validate", "-strict", "-diagnostics=json", "-snapshot", &snapshot, "j.hcl"];
        let strict = run_in(folder.path(), &args);
        let answer: Value = serde_json::from_str(&strict.stdout).expect("JSON");
        let list = answer["diagnostics"].as_array().expect("a list");
        assert_eq!((&answer["valid"], list.len()), (&json!(want.is_none()), usize::from(want.is_some())), "{answer:#}");
        assert!(list.iter().all(|d| d["severity"] == "error" && d["suggestion"].is_string()), "{answer:#}");
    }
}

#[test]
fn launches_that_never_come_are_called_so() {
    let folder = Folder::new("never");
    folder.file("j.hcl", batch("0 0 31 2 *"));
    let canned = Canned::new(&[("PUT /v1/jobs", json!({"EvalID": "", "Warnings": ""}))]);
    let ran = canned.run_in(folder.path(), &["job", "run", "j.hcl"], "");
    assert_eq!(ran.stdout, "Job registration successful\nApproximate next launch time: never\n", "{}", ran.stderr);
    let plan = run_in(folder.path(), &["job", "plan", "-snapshot", &fixture("demo/cluster.json"), "j.hcl"]);
    assert!(plan.stdout.contains("- If submitted now, the job would never be launched.\n"), "{}", plan.stdout);
}

#[test]
fn strict_validation_counts_files() {
    let folder = Folder::new("strict");
    folder.file("a.hcl", batch("0 0 31 2 *"));
    folder.file("b.hcl", batch("@daily"));
    // The deprecated attribute is a warning of servers.
    folder.file("c.hcl", batch("@daily").replace("crons = [\"@daily\"]", "cron = \"@daily\""));
    for (flags, summary, exit) in [
        (&[][..], "3 job files: 1 valid, 2 valid with warnings, 0 invalid", 0),
        (&["-strict"], "3 job files: 1 valid, 0 valid with warnings, 2 invalid", 1),
    ] {
        let ran = run_in(folder.path(), &[&["job", "validate"], flags, &["a.hcl", "b.hcl", "c.hcl"]].concat());
        assert!(ran.stdout.ends_with(&format!("{summary}\n")), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.exit, exit);
    }
}
