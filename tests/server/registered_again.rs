//! Jobs that are registered again: what their plans show, and whether they get a new version.

use serde_json::{Value, json};

use crate::agent::{self, Agent, wait_for};
use crate::program::{Folder, Ran, run_for};

fn dev(folder: &Folder) -> Agent {
    let agent = Agent::start(folder, "", &["-dev"]);
    wait_for("a leader", || match agent.send("GET", "/v1/jobs", &Value::Null).status {
        200 => Ok(()),
        other => Err(other.to_string()),
    });
    agent
}

fn run(agent: &Agent, folder: &Folder, args: &[&str]) -> Ran {
    run_for(agent::PATIENCE, folder.path(), args, &[("NOMAD_ADDR", &agent.address())], "")
}

/// A job with a scaling policy, and with a check that has headers.
fn job_file(policy: &str, header: &str) -> String {
    format!(
        r#"job "web" {{
  group "g" {{
    count = 1
    scaling {{
      max = 3
      policy {{ {policy} }}
    }}
    network {{
      port "http" {{}}
    }}
    service {{
      name     = "web"
      provider = "nomad"
      port     = "http"
      check {{
        type     = "http"
        path     = "/"
        interval = "10s"
        timeout  = "2s"
        {header}
      }}
    }}
    task "t" {{
      driver = "raw_exec"
      config {{ command = "true" }}
    }}
  }}
}}
"#
    )
}

#[test]
fn maps_that_get_their_first_value_are_added_in_plans() {
    let folder = Folder::new("registered-maps");
    let agent = dev(&folder);
    let header = "header {\n X-A = [\"b\"]\n }";
    let states = [job_file("", ""), job_file("cooldown = \"13m\"", header), job_file("cooldown = \"14m\"", "")];
    for (name, text) in ["empty", "one", "other"].iter().zip(&states) {
        folder.file(&format!("{name}.hcl"), text.clone());
    }
    for (old, new, policy, header) in [
        ("empty", "one", "+ Policy {", "+ Header {"),
        ("one", "empty", "- Policy {", "- Header {"),
        ("one", "other", "+/- Policy {", "- Header {"),
        ("empty", "other", "+ Policy {", ""),
    ] {
        let registered = run(&agent, &folder, &["job", "run", "-detach", &format!("{old}.hcl")]);
        assert_eq!(registered.exit, 0, "{registered:?}");
        let plan = run(&agent, &folder, &["job", "plan", &format!("{new}.hcl")]);
        let shown = |what: &str| plan.stdout.lines().any(|l| l.trim_start() == what.trim_start());
        assert!(shown(policy), "{old} => {new}: {}", plan.stdout);
        assert!(
            header.is_empty() && !plan.stdout.contains("Header {") || shown(header),
            "{old} => {new}: {}",
            plan.stdout
        );
    }
    // Without a difference there is no new version.
    let again = run(&agent, &folder, &["job", "run", "-detach", "empty.hcl"]);
    assert_eq!(again.exit, 0, "{again:?}");
    let version = agent.get("/v1/job/web")["Version"].clone();
    run(&agent, &folder, &["job", "run", "-detach", "empty.hcl"]);
    assert_eq!(agent.get("/v1/job/web")["Version"], version);
}

#[test]
fn a_stored_job_that_is_registered_again_keeps_its_version() {
    let folder = Folder::new("registered-again");
    let agent = dev(&folder);
    let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "true"},
        "Identities": [{"Name": "extra", "Audience": ["a"], "TTL": 3_600_000_000_000_i64}]});
    let service = json!({"Name": "s", "Provider": "nomad", "PortLabel": "p",
        "Checks": [{"Name": "c", "Type": "http", "Path": "/", "Interval": 10_000_000_000_i64, "Timeout": 1_000_000_000}]});
    let group = json!({"Name": "g", "Count": 0, "Tasks": [task], "Services": [service],
        "Networks": [{"Mode": "bridge", "DynamicPorts": [{"Label": "p"}]}]});
    let job = json!({"ID": "kept", "Name": "kept", "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]});
    let made = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(made.status, 200, "{}", made.body);
    let stored = agent.get("/v1/job/kept");
    let constraints = |job: &Value| job["TaskGroups"][0]["Constraints"].clone();
    let attributes = constraints(&stored).to_string();
    assert!(attributes.contains(">= 1.7.0-a") && attributes.contains("cni.version.bridge"), "{attributes}");
    for _ in 0..3 {
        let stored = agent.get("/v1/job/kept");
        let again = agent.send("PUT", "/v1/jobs", &json!({ "Job": stored }));
        assert_eq!(again.status, 200, "{}", again.body);
        let now = agent.get("/v1/job/kept");
        assert_eq!((&now["Version"], constraints(&now)), (&json!(0), constraints(&stored)));
    }
}
