//! Plan files: `job plan -out`, `plan show`, and `job run` of a plan file, on a running agent.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, Ran, run_with};
use encamp_test_support::notes;

/// A job that does nothing for a long time and takes as much memory.
fn job(id: &str, memory: u64, count: u64, word: &str) -> String {
    format!(
        "variable \"word\" {{ default = \"{word}\" }}\njob \"{id}\" {{\n  group \"g\" {{\n    count = {count}\n    \
         task \"t\" {{\n      driver = \"raw_exec\"\n      config {{\n        command = \"/bin/sleep\"\n        \
         args    = [\"3600\"]\n      }}\n      env {{ WORD = var.word }}\n      resources {{\n        cpu = 10\n        \
         memory = {memory}\n      }}\n    }}\n  }}\n}}\n"
    )
}

struct Bench {
    folder: Folder,
    agent: Agent,
}

impl Bench {
    fn new(name: &str) -> Bench {
        let folder = Folder::new(name);
        let agent = Agent::start(&folder, "client {\n  memory_total_mb = 1000\n}\n", &["-dev"]);
        wait_for("a node", || {
            let nodes = agent.list("/v1/nodes");
            let ready = nodes.iter().any(|n| n["Status"] == "ready");
            if ready { Ok(()) } else { Err(format!("{nodes:?}")) }
        });
        Bench { folder, agent }
    }

    fn run(&self, args: &[&str]) -> Ran {
        let address = self.agent.address();
        run_with(self.folder.path(), args, &[("NOMAD_ADDR", &address)], None)
    }

    /// Plans a job file into `plan.encamp`.
    fn plan(&self, flags: &[&str]) -> Ran {
        let planned = self.run(&[&["job", "plan", "-out", "plan.encamp"], flags, &["web.hcl"]].concat());
        assert!((0..=1).contains(&planned.exit), "{}{}", planned.stdout, planned.stderr);
        planned
    }

    fn register(&self, flags: &[&str]) -> Ran {
        self.run(&[&["job", "run", "-detach"], flags, &["plan.encamp"]].concat())
    }

    fn is_registered(&self) -> bool {
        self.agent.list("/v1/jobs").iter().any(|j| j["ID"] == "web")
    }

    /// Registers another job and waits until all of its allocations are placed.
    fn take(&self, memory: u64) {
        self.folder.file("other.hcl", job("other", memory, 1, "a"));
        let ran = self.run(&["job", "run", "-detach", "other.hcl"]);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        wait_for("an allocation", || match self.agent.list("/v1/job/other/allocations").as_slice() {
            [] => Err("none".into()),
            _ => Ok(()),
        });
    }
}

#[test]
fn an_unchanged_outcome_is_registered() {
    let bench = Bench::new("plan-file-unchanged");
    bench.folder.file("web.hcl", job("web", 300, 2, "a"));
    let planned = bench.plan(&["-var", "word=hidden-word"]);
    assert!(planned.stdout.ends_with("\n\nencamp job run plan.encamp\n"), "{}", planned.stdout);
    let file = bench.folder.path().join("plan.encamp");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);

    let shown = bench.run(&["plan", "show", "plan.encamp"]);
    assert_eq!(shown.exit, 0, "{}", shown.stderr);
    for text in ["Job        = web", "Variables  = word (flag)", "Signature  = none", "Placements", "web.g[1]"] {
        assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
    }
    let shown = bench.run(&["plan", "show", "-json", "plan.encamp"]);
    let value: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(value["Outcome"]["Placements"].as_array().map(Vec::len), Some(2));
    assert_eq!(value["Job"]["Namespace"], "default");
    assert!(!value["Variables"].to_string().contains("hidden-word"));

    let wrong = bench.register(&["-var", "word=b"]);
    assert_eq!((wrong.exit, wrong.stderr.contains("has another value")), (1, true), "{}", wrong.stderr);
    assert!(!bench.is_registered());

    let ran = bench.register(&["-var", "word=hidden-word"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("The outcome that was reviewed is still the outcome"), "{}", ran.stdout);
    let stored = bench.agent.get("/v1/job/web");
    assert_eq!(stored["TaskGroups"][0]["Tasks"][0]["Env"]["WORD"], "hidden-word");
    let submission = bench.agent.get("/v1/job/web/submission?version=0");
    assert_eq!(submission["VariableFlags"]["word"], "hidden-word");

    // The plan has been carried out: it is not the outcome any more.
    let again = bench.register(&["-allow", "fewer-placed,counts"]);
    assert_eq!(again.exit, 3, "{}{}", again.stdout, again.stderr);
    assert!(again.stderr.contains("the job has been registered since"), "{}", again.stderr);
}

#[test]
fn a_changed_outcome_is_refused_unless_it_is_allowed() {
    let bench = Bench::new("plan-file-changed");
    bench.folder.file("web.hcl", job("web", 300, 3, "a"));
    bench.plan(&[]);
    bench.take(500);
    let refused = bench.register(&[]);
    assert_eq!(refused.exit, 3, "{}{}", refused.stdout, refused.stderr);
    assert!(!bench.is_registered());
    assert!(refused.stderr.starts_with("Job \"web\" not registered: the outcome is no longer"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("of group \"g\" could not be placed, 0 in the reviewed plan (-allow fewer-placed)"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("encamp job plan -out plan.encamp web.hcl"), "{}", refused.stderr);

    let other = bench.register(&["-allow", "placement-moves"]);
    assert_eq!(other.exit, 3, "{}", other.stderr);
    let mistyped = bench.register(&["-allow", "fewer-place"]);
    assert_eq!(mistyped.exit, 1);
    assert!(mistyped.stderr.contains("Did you mean fewer-placed? Valid are placement-moves, "), "{}", mistyped.stderr);
    assert!(!bench.is_registered());

    let allowed = bench.register(&["-allow", "fewer-placed"]);
    assert_eq!(allowed.exit, 0, "{}{}", allowed.stdout, allowed.stderr);
    assert!(allowed.stderr.contains("Allowed by -allow fewer-placed: "), "{}", allowed.stderr);
    assert!(bench.is_registered());

    // Somebody registers another version: whatever is allowed, the job is not overwritten.
    bench.folder.file("web.hcl", job("web", 100, 1, "b"));
    bench.plan(&[]);
    bench.folder.file("web.hcl", job("web", 120, 1, "c"));
    assert_eq!(bench.run(&["job", "run", "-detach", "web.hcl"]).exit, 0);
    let everything =
        "placement-moves,more-placed,fewer-placed,more-stops,fewer-stops,updates,fewer-evictions,counts,warnings";
    let overtaken = bench.register(&["-allow", everything]);
    assert_eq!(overtaken.exit, 3, "{}{}", overtaken.stdout, overtaken.stderr);
    assert!(overtaken.stderr.contains("changed on the servers since"), "{}", overtaken.stderr);
    assert!(overtaken.stderr.contains("(never allowed)"), "{}", overtaken.stderr);
    assert_eq!(bench.agent.get("/v1/job/web")["TaskGroups"][0]["Tasks"][0]["Env"]["WORD"], "c");
}

/// Makes a key with openssl, as the documentation says; the name of the private one, without `.pem`.
fn key(folder: &Folder, name: &str) {
    for line in [
        format!("openssl genpkey -algorithm ed25519 -out {name}.pem"),
        format!("openssl pkey -in {name}.pem -pubout -out {name}.pub.pem"),
    ] {
        let done = Command::new("sh").current_dir(folder.path()).args(["-c", &line]).status().expect("a shell");
        assert!(done.success(), "{line}");
    }
}

#[test]
fn signatures_are_required_before_anything_is_sent() {
    if notes::lacks("signatures of plan files", "openssl") {
        return;
    }
    let bench = Bench::new("plan-file-signed");
    let folder = &bench.folder;
    key(folder, "ours");
    key(folder, "theirs");
    folder.file("web.hcl", job("web", 100, 1, "a"));
    bench.plan(&["-sign", "ours.pem"]);
    let file = folder.path().join("plan.encamp");
    let good = std::fs::read(&file).expect("a file");
    // A server that is not there: nothing may be sent.
    let nowhere = |flags: &[&str]| {
        let args = [&["job", "run", "-address", "http://127.0.0.1:1"], flags, &["plan.encamp"]].concat();
        bench.run(&args)
    };

    let other = nowhere(&["-verify", "theirs.pub.pem"]);
    assert_eq!(other.exit, 4, "{}", other.stderr);
    assert!(other.stderr.contains("it is signed with another key"), "{}", other.stderr);

    let mut tampered = good.clone();
    let last = tampered.len() - 1;
    tampered[last] ^= 1;
    folder.file("plan.encamp", &tampered);
    let wrong = nowhere(&["-verify", "ours.pub.pem"]);
    assert_eq!(wrong.exit, 4, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("its signature is wrong"), "{}", wrong.stderr);
    assert_eq!(bench.run(&["plan", "show", "-verify", "ours.pub.pem", "plan.encamp"]).exit, 4);

    let private = nowhere(&["-verify", "ours.pem"]);
    assert_eq!((private.exit, private.stderr.contains("no public key")), (1, true), "{}", private.stderr);
    let job_file = bench.run(&["job", "run", "-verify", "ours.pub.pem", "web.hcl"]);
    assert_eq!(job_file.exit, 1, "{}", job_file.stderr);

    bench.plan(&[]);
    let unsigned = nowhere(&["-verify", "ours.pub.pem"]);
    assert_eq!(unsigned.exit, 4, "{}", unsigned.stderr);
    assert!(unsigned.stderr.contains("it is not signed"), "{}", unsigned.stderr);
    assert!(!bench.is_registered());

    folder.file("plan.encamp", &good);
    let shown = bench.run(&["plan", "show", "-verify", "ours.pub.pem", "plan.encamp"]);
    assert!(shown.stdout.contains(", verified"), "{}", shown.stdout);
    let ran = bench.register(&["-verify", "theirs.pub.pem", "-verify", "ours.pub.pem"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(bench.is_registered());
}

#[test]
fn damaged_files_and_wrong_flags_are_refused() {
    let folder = Folder::new("plan-file-damaged");
    let run = |args: &[&str]| run_with(folder.path(), args, &[], None);
    folder.file("plan.encamp", "encamp-plan 1\nsignature none\nx");
    let damaged = run(&["job", "run", "plan.encamp"]);
    assert_eq!(damaged.exit, 1);
    assert!(
        damaged.stderr.contains("Error reading plan file \"plan.encamp\": its content is damaged"),
        "{}",
        damaged.stderr
    );
    folder.file("plan.encamp", "encamp-plan 9\n");
    assert!(run(&["plan", "show", "plan.encamp"]).stderr.contains("version 9 of the format"));
    let output = run(&["job", "run", "-output", "plan.encamp"]);
    assert!(output.stderr.starts_with("-output cannot be used with a plan file"), "{}", output.stderr);
    folder.file("web.hcl", job("web", 100, 1, "a"));
    for flags in [&["-out=p", "-remote"][..], &["-out=p", "-stop=x"], &["-sign=key.pem"]] {
        let refused = run(&[&["job", "plan"], flags, &["web.hcl"]].concat());
        assert_eq!(refused.exit, 255, "{flags:?}: {}", refused.stderr);
    }
    assert!(!folder.path().join("p").exists());
}
