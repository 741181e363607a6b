use encamp_model::api;
use serde_json::json;

use super::*;

fn job(members: Json) -> api::Job {
    let mut job: api::Job = serde_json::from_value(members).expect("a job");
    canonicalize(&mut job);
    job
}

/// A job with one task that has these members.
fn with_task(mut task: Json) -> api::Job {
    for (name, value) in [("Name", "t"), ("Driver", "exec")] {
        task[name] = json!(value);
    }
    job(json!({"ID": "web", "TaskGroups": [{"Name": "g", "Tasks": [task]}]}))
}

/// The file of a job that HCL can express.
fn text(job: &api::Job) -> String {
    let written = write(job).expect("a file");
    assert_eq!(written.lost, Vec::<String>::new(), "{}", written.text);
    written.text
}

#[test]
fn values_that_may_be_omitted_are_marked() {
    let text = text(&job(json!({
        "ID": "web", "Datacenters": ["dc1"], "Priority": 70, "Version": 4,
        "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "exec", "Config": {"command": "/bin/date"}}]}],
    })));
    let start = "job \"web\" {\n  region      = \"global\"  # default\n  namespace   = \"default\" # default\n  \
                 type        = \"service\" # default\n  priority    = 70\n  datacenters = [\"dc1\"]\n\n  group \"g\" {\n";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("      config {\n        command = \"/bin/date\"\n      }\n"), "{text}");
    assert!(text.contains("      # default\n      logs {\n        max_files     = 10\n"), "{text}");
}

#[test]
fn a_rollout_that_is_switched_off_stays_so() {
    let off = |r#type: JobType| {
        let mut off = job(json!({"ID": "web", "Type": r#type, "TaskGroups": [{"Name": "g", "Tasks": []}]}));
        off.update = Some(serde_json::from_value(json!({"MaxParallel": 0, "Stagger": 0})).expect("an update"));
        text(&off)
    };
    assert!(off(JobType::Service).contains("max_parallel"), "{}", off(JobType::Service));
    assert!(!off(JobType::Batch).contains("update"), "a batch job has no rollouts: {}", off(JobType::Batch));
}

#[test]
fn texts_keep_their_characters() {
    for value in
        ["${attr.kernel.name}", "${x}", "%{if}", "a\"b\\c", "é\u{1}\t", "line\nline\n", "one\n", "", "$", "${env.A}%{"]
    {
        text(&with_task(json!({"Env": {"A": value}})));
    }
    let names = text(&with_task(json!({"Env": {"A": "${attr.kernel.name} ${other}"}})));
    assert!(names.contains("A = \"${attr.kernel.name} $${other}\""), "{names}");
    let lines = text(&with_task(json!({"Templates": [{"EmbeddedTmpl": "a\n  b\n", "DestPath": "local/x"}]})));
    assert!(lines.contains("= <<EOT\na\n  b\nEOT\n"), "{lines}");
}

#[test]
fn free_values_keep_their_shape() {
    for config in [
        json!({"a": [{"b": 1}, {"b": 2}]}),
        json!({"a": {"b": {"c": true}}}),
        json!({"a": [[1, 2], [{"x": 1.5}]]}),
        json!({"a": [{"not a name": 1}]}),
        json!({"a": [{"b": null}]}),
        json!({"a": ["-c", "x\ny\n"], "b": [["${env.A}\n${x}\n"]], "c": "x\ny\n"}),
        json!({"a": {"b": "x\ny\n", "c": ["x\ny\n"]}}),
        json!({"a": 18_446_744_073_709_551_615_u64, "b": -1, "c": 70.0}),
    ] {
        let written = write(&with_task(json!({"Config": config}))).expect("a file");
        let exact = config["a"] != json!(u64::MAX);
        assert!(!exact || written.lost.is_empty(), "{config}: {:?}\n{}", written.lost, written.text);
    }
}

#[test]
fn durations_are_short() {
    for (nanos, text) in [
        (0, "0s"),
        (30_000_000_000, "30s"),
        (5_400_000_000_000, "1h30m"),
        (1_500_000_000, "1s500ms"),
        (1, "1ns"),
        (-10_000_000_000, "-10s"),
        (i64::MIN, "-2562047h47m16s854ms775us808ns"),
    ] {
        assert_eq!(value::duration_text(nanos), text);
        assert_eq!(encamp_model::duration::parse_duration(text), Ok(nanos));
    }
}

#[test]
fn what_hcl_cannot_express_is_named() {
    let job = with_task(json!({"Services": [{"Name": "s", "Meta": {"not a name": "x"}}]}));
    let written = write(&job).expect("a file");
    assert_eq!(written.lost, ["TaskGroups[0].Tasks[0].Services[0].Meta"]);
}
