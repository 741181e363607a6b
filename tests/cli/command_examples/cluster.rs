//! A cluster of one node with the jobs that examples name.

use std::cell::RefCell;

use encamp_cli::command_examples::{IDS, Named};
use serde_json::Value;

use super::directory::ExampleDirectory;
use super::end;
use super::shell::Shell;
use crate::agent::{Agent, wait_for};

/// The node is a member of a worker pool, and of the class that examples select. The server encrypts gossip with the key
/// that an example removes.
const CONFIG: &str = r#"
server {
  encrypt = "YSBrZXkgdGhhdCB3YXMgdXNlZCB1bnRpbCBub3cuLi4="
}
client {
  node_class = "large"
  meta {
    replicator_enabled          = "true"
    replicator_worker_pool      = "web-workers"
    replicator_min              = "1"
    replicator_max              = "3"
    replicator_notification_uid = "web-workers"
    replicator_region           = "eu-central-1"
    replicator_provider         = "local"
  }
}
"#;

/// What is in the cluster before the first example.
const SETUP: &[&str] = &[
    "encamp namespace apply prod.hcl",
    "encamp namespace apply testing",
    "encamp node pool apply gpu.hcl",
    "encamp job run web.nomad.hcl",
    "encamp job run api-canary.nomad.hcl",
    "encamp job run backup.nomad.hcl",
    "encamp job run report.nomad.hcl",
    "encamp job run -detach shop.nomad.hcl",
    "encamp job tag apply -namespace prod -name first shop",
    "encamp var put -namespace prod nomad/jobs/shop user=app",
];

pub(super) struct DevCluster {
    agent: Agent,
    shell: Shell,
    /// The allocation of the last example: its tasks may be starting again.
    used: RefCell<String>,
    /// Goes last.
    _directory: ExampleDirectory,
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// The newest of some objects.
fn newest(objects: Vec<Value>) -> Option<Value> {
    objects.into_iter().max_by_key(|object| object["CreateIndex"].as_u64())
}

impl DevCluster {
    pub(super) fn start(name: &str) -> DevCluster {
        let directory = ExampleDirectory::new(name);
        let log = directory.path().join("agent.log");
        let config = format!("log_file = {:?}\n{CONFIG}", log.display().to_string());
        let agent = Agent::start(directory.folder(), &config, &["-dev"]);
        let shell = Shell::new(&directory, &[("NOMAD_ADDR", &agent.address())]);
        let cluster = DevCluster { agent, shell, used: RefCell::default(), _directory: directory };
        wait_for("the node is ready", || match cluster.agent.list("/v1/nodes").first() {
            Some(node) if text(node, "Status") == "ready" => Ok(()),
            other => Err(format!("{other:?}")),
        });
        SETUP.iter().for_each(|line| cluster.shell.must(line));
        cluster
    }

    /// Runs examples. Each of them finds the objects that it names, whatever those before it did.
    pub(super) fn run(self, examples: impl Iterator<Item = (&'static str, &'static str)>) {
        let mut failures = Vec::new();
        for (command, line) in examples {
            self.restore();
            self.prepare(command);
            let line = self.with_live_ids(line);
            failures.extend(self.shell.example(command, &line, end(command, &line)));
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    /// The job `web` runs on an eligible node and is not being updated, and the eval broker is not paused.
    fn restore(&self) {
        let node = &self.agent.list("/v1/nodes")[0];
        if text(node, "SchedulingEligibility") != "eligible" || node["Drain"] == true {
            self.shell.must("encamp node drain -disable -self -yes && encamp node eligibility -enable -self");
        }
        let config = self.agent.get("/v1/operator/scheduler/configuration");
        if config["SchedulerConfig"]["PauseEvalBroker"] == true {
            self.shell.must("encamp operator scheduler set-config -pause-eval-broker=false");
        }
        if !self.agent.list("/v1/jobs").iter().any(|j| text(j, "ID") == "web" && j["Stop"] == false) {
            self.shell.must("encamp job run web.nomad.hcl");
        }
        wait_for("the job web runs and is not being updated", || {
            let running = self.allocations().len();
            let updated = self.agent.list("/v1/job/web/deployments").iter().any(|d| text(d, "Status") == "running");
            if running >= 2 && !updated { Ok(()) } else { Err(format!("{running} running, updated: {updated}")) }
        });
    }

    /// The running allocations of the job `web`.
    fn allocations(&self) -> Vec<Value> {
        let all = self.agent.list("/v1/job/web/allocations").into_iter();
        all.filter(|a| text(a, "ClientStatus") == "running" && text(a, "DesiredStatus") == "run").collect()
    }

    /// The newest allocation besides that of the last example.
    fn another_allocation(&self) -> Option<Value> {
        let mut all = self.allocations();
        all.retain(|a| text(a, "ID") != *self.used.borrow());
        let found = newest(all)?;
        *self.used.borrow_mut() = text(&found, "ID").to_string();
        Some(found)
    }

    /// What a command needs besides.
    fn prepare(&self, command: &str) {
        match command {
            "deployment fail" | "deployment pause" | "deployment promote" | "deployment unblock" | "job promote" => {
                self.start_canary();
            }
            "deployment resume" => {
                self.start_canary();
                self.shell.must(&self.with_live_ids("encamp deployment pause 5456bd7a"));
            }
            "eval delete" => {
                self.shell.must("encamp job eval web");
                self.shell.must("encamp operator scheduler set-config -pause-eval-broker=true");
            }
            "job revert" => self.shell.must("encamp job run -var version=$RANDOM web.nomad.hcl"),
            "rebalance run" => self.shell.must("encamp rebalance -free 1 -out rebalance.json || [ $? -eq 1 ]"),
            "job start" => self.shell.must("encamp job stop web"),
            "volume claim delete" => {
                if self.agent.list("/v1/volumes?type=host&prefix=db").is_empty() {
                    self.shell.must("encamp volume create db.volume.hcl");
                }
                if self.agent.list("/v1/volumes/claims").is_empty() {
                    self.shell.must("encamp job stop -purge db || true; encamp job run -detach db.nomad.hcl");
                }
                wait_for("a claim", || match self.agent.list("/v1/volumes/claims").len() {
                    0 => Err("none".into()),
                    _ => Ok(()),
                });
            }
            "volume delete" => self.shell.must("encamp volume create -detach old.volume.hcl"),
            "volume register" => {
                let node = text(&self.agent.list("/v1/nodes")[0], "ID").to_string();
                self.shell.must(&format!("sed -i s/NODE/{node}/ srv.volume.hcl media.volume.hcl"));
            }
            "operator root keyring remove" => self.shell.must("encamp operator root keyring rotate -now"),
            _ => {}
        }
    }

    /// The latest deployment of the job `api` has a healthy canary and is running.
    fn start_canary(&self) {
        let deployment = || newest(self.agent.list("/v1/job/api/deployments")).unwrap_or_default();
        let waits = |d: &Value| text(d, "Status") == "running" && d["TaskGroups"]["api"]["DesiredCanaries"] == 1;
        let now = deployment();
        if text(&now, "Status") == "paused" {
            self.shell.must(&format!("encamp deployment resume -detach {}", text(&now, "ID")));
        } else if !waits(&now) {
            self.shell.must("encamp job run -detach -var version=$RANDOM api-canary.nomad.hcl");
        }
        wait_for("the canary is healthy", || {
            let now = deployment();
            let group = &now["TaskGroups"]["api"];
            if waits(&now) && group["HealthyAllocs"] == 1 && group["Promoted"] == false {
                Ok(())
            } else {
                Err(now.to_string())
            }
        });
    }

    /// A line with the IDs of objects of this cluster.
    fn with_live_ids(&self, line: &str) -> String {
        let mut line = line.to_string();
        for (id, named) in IDS {
            if line.contains(&id[..8]) {
                let live = self.id(*named);
                line = line.replace(id, &live).replace(&id[..8], &live[..8]);
            }
        }
        // The addresses of servers are those of this one.
        let rpc = format!("127.0.0.1:{}", self.rpc_port());
        line.replace("10.0.0.11:4647", &rpc).replace("10.0.0.12:4647", &rpc)
    }

    fn rpc_port(&self) -> String {
        let member = &self.agent.get("/v1/agent/members")["Members"][0];
        text(&member["Tags"], "port").to_string()
    }

    fn id(&self, named: Named) -> String {
        let found = match named {
            Named::Allocation => self.another_allocation(),
            Named::Deployment => newest(self.agent.list("/v1/job/api/deployments")),
            Named::Evaluation => {
                let all = self.agent.list("/v1/job/web/evaluations").into_iter();
                newest(all.filter(|e| text(e, "Status") == "complete").collect())
            }
            Named::HostVolume => {
                self.agent.list("/v1/volumes?type=host").into_iter().find(|v| text(v, "Name") == "old")
            }
            Named::HostVolumeClaim => self.agent.list("/v1/volumes/claims").into_iter().next(),
            Named::Node => self.agent.list("/v1/nodes").into_iter().next(),
            Named::AclBindingRule | Named::AclRole | Named::AclToken | Named::RaftPeer => None,
            Named::RootKey => {
                let keys = self.agent.list("/v1/operator/keyring/keys").into_iter();
                let key = newest(keys.filter(|k| text(k, "State") == "inactive").collect());
                return text(&key.expect("an inactive root key"), "KeyID").into();
            }
            Named::ScalingPolicy => self.agent.list("/v1/scaling/policies?job=web").into_iter().next(),
        };
        text(&found.unwrap_or_else(|| panic!("no {named:?}")), "ID").into()
    }
}
