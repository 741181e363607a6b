//! Writers: each writes its own objects, one write after the other, until it is stopped or gets no answer.

use encamp_model::JobType;
use encamp_model::random::Random;
use serde_json::{Value as Json, json};

use super::ledger::{Cell, End, Kind, Ledger};
use crate::dice::Dice;

/// The parameterized job; it is registered before the load starts.
pub const PARENT: &str = "parent";
/// A second in API units (nanoseconds).
const SECOND: i64 = 1_000_000_000;

/// The objects written by a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Registers, scales, stops and purges its own jobs.
    Jobs,
    /// Makes the node ineligible, drains it, and makes it eligible again.
    Node,
    /// Writes namespaces, node pools and the scheduler configuration.
    Settings,
    /// Dispatches, evaluates, stops allocations.
    Restless,
    /// Writes variables, each write with the index of the previous one.
    Variables,
}

/// A writer and its ledger.
pub struct Writer {
    pub role: Role,
    pub ledger: Ledger,
    random: Random,
    /// Incremented with every write, so that each write leaves a different value.
    seq: u64,
}

impl Writer {
    pub fn new(role: Role, cells: Vec<Cell>, seed: u64, number: u64) -> Writer {
        let random = Random::new(seed, &format!("writer {number}"));
        Writer { role, ledger: Ledger::new(cells), random, seq: 0 }
    }

    /// Writes until the server is gone. Returns the reason.
    pub fn run(&mut self) -> End {
        loop {
            if let Err(end) = self.step() {
                return end;
            }
        }
    }

    pub fn step(&mut self) -> Result<(), End> {
        self.seq += 1;
        match self.role {
            Role::Jobs => self.job()?,
            Role::Node => self.node()?,
            Role::Settings => self.setting()?,
            Role::Restless => self.restless()?,
            Role::Variables => self.variable()?,
        }
        // Written objects are also read.
        if self.random.one_in(8)
            && let Some(cell) = self.known()
        {
            self.ledger.check(cell, "", false)?;
        }
        Ok(())
    }

    /// Picks a cell whose content is known: a write without an answer may be executed late and undo later writes.
    fn known(&mut self) -> Option<usize> {
        let known: Vec<usize> =
            self.ledger.cells.iter().zip(0..).filter(|(c, _)| c.maybe.is_empty()).map(|(_, i)| i).collect();
        if known.is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(20));
            return None;
        }
        Some(self.random.of(&known))
    }

    fn variable(&mut self) -> Result<(), End> {
        let cell = self.random.roll(self.ledger.cells.len());
        if !self.ledger.cells[cell].maybe.is_empty() {
            self.ledger.check(cell, "", false)?;
        }
        let Cell { id, index, .. } = &self.ledger.cells[cell];
        let path = format!("/v1/var/{id}?cas={index}");
        let seq = self.seq.to_string();
        self.ledger.write(cell, "PUT", &path, &json!({"Items": {"seq": seq}}), json!({"Seq": seq}))?;
        Ok(())
    }

    fn job(&mut self) -> Result<(), End> {
        let Some(cell) = self.known() else { return Ok(()) };
        let Cell { id, acked, .. } = self.ledger.cells[cell].clone();
        let kind = kind_of(&id);
        let runs = acked["Stop"] == false;
        match self.random.roll(10) {
            0..2 if runs => {
                let purge = self.random.one_in(2);
                let leaves = if purge {
                    Json::Null
                } else {
                    json!({"Stop": true, "Count": acked["Count"], "Seq": acked["Seq"]})
                };
                self.ledger.write(cell, "DELETE", &format!("/v1/job/{id}?purge={purge}"), &Json::Null, leaves)?;
            }
            2..5 if runs && kind != JobType::System => {
                // A different count: the answer for an unchanged job would contain a different index.
                let count = (acked["Count"].as_i64().unwrap_or(0) + self.random.between(1, 6)) % 7;
                let body = json!({"Count": count, "Target": {"Group": "g"}, "Message": "load"});
                let leaves = json!({"Stop": false, "Count": count, "Seq": acked["Seq"]});
                self.ledger.write(cell, "PUT", &format!("/v1/job/{id}/scale"), &body, leaves)?;
            }
            5 if runs => drop(self.ledger.make("PUT", &format!("/v1/job/{id}/evaluate"), &json!({"JobID": id}))?),
            _ => {
                let count = if kind == JobType::System { 1 } else { self.random.between(0, 6) };
                let seq = self.seq.to_string();
                let leaves = json!({"Stop": false, "Count": count, "Seq": seq});
                let body = json!({"Job": self.body(&id, &kind, count)});
                self.ledger.write(cell, "PUT", "/v1/jobs", &body, leaves)?;
            }
        }
        Ok(())
    }

    fn body(&mut self, id: &str, kind: &JobType, count: i64) -> Json {
        let deploys = id.ends_with("rollout");
        let update = match (kind, deploys) {
            (JobType::Service, true) => {
                json!({"MaxParallel": 2, "MinHealthyTime": SECOND / 20, "HealthCheck": "task_states"})
            }
            (JobType::Service, false) => json!({"MaxParallel": 0}),
            _ => Json::Null,
        };
        json!({
            "ID": id, "Name": id, "Type": kind, "Datacenters": ["*"], "Meta": {"seq": self.seq.to_string()},
            "Priority": self.random.between(20, 90), "Update": update,
            "TaskGroups": [{
                "Name": "g", "Count": count, "EphemeralDisk": {"SizeMB": 150},
                "Tasks": [{
                    "Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1h"},
                    "Resources": {"CPU": 50 * self.random.between(1, 8), "MemoryMB": 100 * self.random.between(1, 8)},
                }],
            }],
        })
    }

    fn node(&mut self) -> Result<(), End> {
        if self.known().is_none() {
            return Ok(());
        }
        let id = self.ledger.cells[0].id.clone();
        let drained = self.ledger.cells[0].acked["DrainSeq"].as_u64().unwrap_or(0);
        let meta = json!({"seq": (drained + 1).to_string()});
        match self.random.roll(4) {
            0 => {
                let leaves = json!({"Eligibility": "ineligible", "DrainSeq": drained + 1});
                let deadline = self.random.of(&[-1, SECOND / 5, 3600 * SECOND]);
                let body = json!({"DrainSpec": {"Deadline": deadline}, "Meta": meta});
                self.ledger.write(0, "PUT", &format!("/v1/node/{id}/drain"), &body, leaves)?;
            }
            1 => {
                let body = json!({"NodeID": id, "Eligibility": "ineligible"});
                let leaves = json!({"Eligibility": "ineligible", "DrainSeq": drained});
                self.ledger.write(0, "PUT", &format!("/v1/node/{id}/eligibility"), &body, leaves)?;
            }
            _ => self.open()?,
        }
        std::thread::sleep(std::time::Duration::from_millis(self.random.below(100)));
        Ok(())
    }

    /// Ends drains and makes the node eligible.
    pub fn open(&mut self) -> Result<(), End> {
        let id = self.ledger.cells[0].id.clone();
        let drained = self.ledger.cells[0].acked["DrainSeq"].as_u64().unwrap_or(0);
        let body = json!({"DrainSpec": null, "MarkEligible": true, "Meta": {"seq": drained.to_string()}});
        let leaves = json!({"Eligibility": "eligible", "DrainSeq": drained});
        self.ledger.write(0, "PUT", &format!("/v1/node/{id}/drain"), &body, leaves)?;
        Ok(())
    }

    fn setting(&mut self) -> Result<(), End> {
        let Some(cell) = self.known() else { return Ok(()) };
        let Cell { kind, id, acked, .. } = self.ledger.cells[cell].clone();
        let text = format!("write {}", self.seq);
        let (path, body, leaves) = match kind {
            Kind::Config => {
                let algorithm = self.random.text(&["binpack", "spread"]);
                let (service, batch) = (self.random.one_in(2), self.random.one_in(2));
                let preemption = json!({
                    "SystemSchedulerEnabled": true, "ServiceSchedulerEnabled": service, "BatchSchedulerEnabled": batch,
                });
                let body = json!({"SchedulerAlgorithm": algorithm, "PreemptionConfig": preemption});
                let leaves = json!({"Algorithm": algorithm, "Service": service, "Batch": batch});
                ("/v1/operator/scheduler/configuration".to_string(), body, leaves)
            }
            Kind::Namespace => {
                (format!("/v1/namespace/{id}"), json!({"Name": id, "Description": text}), json!({"Description": text}))
            }
            _ => {
                (format!("/v1/node/pool/{id}"), json!({"Name": id, "Description": text}), json!({"Description": text}))
            }
        };
        if kind != Kind::Config && !acked.is_null() && self.random.one_in(3) {
            self.ledger.write(cell, "DELETE", &path, &Json::Null, Json::Null)?;
        } else {
            self.ledger.write(cell, "PUT", &path, &body, leaves)?;
        }
        Ok(())
    }

    fn restless(&mut self) -> Result<(), End> {
        if self.random.one_in(2) {
            let body = json!({"Meta": {"n": self.seq.to_string()}});
            self.ledger.make("PUT", &format!("/v1/job/{PARENT}/dispatch"), &body)?;
        } else {
            let all = self.ledger.call("GET", "/v1/allocations", &Json::Null)?.json();
            let running =
                |a: &&Json| a["DesiredStatus"] == "run" && a["ClientStatus"] == "running" && a["JobType"] != "system";
            let ids: Vec<String> = all
                .as_array()
                .into_iter()
                .flatten()
                .filter(running)
                .filter_map(|a| a["ID"].as_str().map(String::from))
                .collect();
            if !ids.is_empty() {
                let id = self.random.of(&ids);
                if self.ledger.make("PUT", &format!("/v1/allocation/{id}/stop"), &json!({}))? {
                    self.ledger.stopped.push(id);
                }
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(self.random.below(60)));
        Ok(())
    }
}

/// The type of a job, derived from its ID.
fn kind_of(id: &str) -> JobType {
    match id.split('-').nth(1) {
        Some(kind) if JobType::from(kind).is_known() => kind.into(),
        _ => JobType::Service,
    }
}

/// All writers of a cluster.
pub fn all(node: &str, seed: u64) -> Vec<Writer> {
    let jobs = |n: usize| {
        let cells = ["service", "rollout", if n == 0 { "system" } else { "batch" }];
        cells.iter().map(|kind| Cell::new(Kind::Job, &format!("w{n}-{kind}"))).collect::<Vec<_>>()
    };
    let settings = vec![
        Cell::new(Kind::Namespace, "team-a"),
        Cell::new(Kind::Namespace, "team-b"),
        Cell::new(Kind::Pool, "pool-a"),
        Cell::new(Kind::Config, ""),
    ];
    let variables =
        |name: &str| (0..3).map(|n| Cell::new(Kind::Variable, &format!("load/{name}{n}"))).collect::<Vec<_>>();
    let roles = [
        (Role::Jobs, jobs(0)),
        (Role::Jobs, jobs(1)),
        (Role::Jobs, jobs(2)),
        (Role::Node, vec![Cell::new(Kind::Node, node)]),
        (Role::Settings, settings),
        (Role::Restless, Vec::new()),
        (Role::Variables, variables("a")),
        (Role::Variables, variables("b")),
    ];
    roles.into_iter().zip(0..).map(|((role, cells), number)| Writer::new(role, cells, seed, number)).collect()
}

/// The parameterized job.
pub fn parent() -> Json {
    json!({"Job": {
        "ID": PARENT, "Name": PARENT, "Type": "batch", "Datacenters": ["*"], "Priority": 40,
        "ParameterizedJob": {"MetaOptional": ["n"]},
        "TaskGroups": [{
            "Name": "g", "Count": 1, "EphemeralDisk": {"SizeMB": 150},
            "Tasks": [{
                "Name": "t", "Driver": "mock_driver", "Config": {"run_for": "50ms"},
                "Resources": {"CPU": 20, "MemoryMB": 32},
            }],
        }],
    }})
}
