//! Records what a writer wrote, and checks it after faults.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::agent::{Reply, call};

/// Maximum time for one answer from a server that is killed much earlier.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// An object written by a single writer.
#[derive(Debug, Clone)]
pub struct Cell {
    pub kind: Kind,
    pub id: String,
    /// The content after the last acknowledged write.
    pub acked: Json,
    /// The possible contents after writes with unknown outcome.
    pub maybe: Vec<Json>,
    /// The modify index of the last acknowledged write, for jobs and variables.
    pub index: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Job,
    Node,
    Namespace,
    Pool,
    Config,
    Variable,
}

impl Cell {
    pub fn new(kind: Kind, id: &str) -> Cell {
        Cell { kind, id: id.into(), acked: Json::Null, maybe: Vec::new(), index: 0 }
    }

    /// The path from which it is read.
    pub fn path(&self) -> String {
        let id = &self.id;
        match self.kind {
            Kind::Job => format!("/v1/job/{id}"),
            Kind::Node => format!("/v1/node/{id}"),
            Kind::Namespace => format!("/v1/namespace/{id}"),
            Kind::Pool => format!("/v1/node/pool/{id}"),
            Kind::Config => "/v1/operator/scheduler/configuration".into(),
            Kind::Variable => format!("/v1/var/{id}"),
        }
    }

    /// The index in an answer about the object; 0 for objects without one.
    fn index_in(&self, answer: &Json) -> u64 {
        let key = match self.kind {
            Kind::Job => "JobModifyIndex",
            Kind::Variable => "ModifyIndex",
            _ => return 0,
        };
        answer[key].as_u64().unwrap_or(0)
    }

    /// The checked parts of an object; null if it does not exist.
    pub fn view(&self, reply: &Reply) -> Json {
        let o = reply.json();
        if reply.status == 404 {
            return Json::Null;
        }
        match self.kind {
            Kind::Job => {
                json!({"Stop": o["Stop"], "Count": o["TaskGroups"][0]["Count"], "Seq": o["Meta"]["seq"]})
            }
            Kind::Node => {
                let seq = o["LastDrain"]["Meta"]["seq"].as_str().and_then(|s| s.parse::<u64>().ok());
                json!({"Eligibility": o["SchedulingEligibility"], "DrainSeq": seq.unwrap_or(0)})
            }
            Kind::Namespace | Kind::Pool => json!({"Description": o["Description"]}),
            Kind::Config => json!({
                "Algorithm": o["SchedulerConfig"]["SchedulerAlgorithm"],
                "Service": o["SchedulerConfig"]["PreemptionConfig"]["ServiceSchedulerEnabled"],
                "Batch": o["SchedulerConfig"]["PreemptionConfig"]["BatchSchedulerEnabled"],
            }),
            Kind::Variable => json!({"Seq": o["Items"]["seq"]}),
        }
    }
}

/// Whether the found content is the expected one. Of drains only the newest is visible, which may be a later one.
fn agrees(found: &Json, expected: &Json) -> bool {
    let (Some(f), Some(e)) = (found.as_object(), expected.as_object()) else { return found == expected };
    e.iter().all(|(key, value)| match key.as_str() {
        "DrainSeq" => f[key].as_u64() >= value.as_u64(),
        _ => f[key] == *value,
    })
}

/// The reason why a writer stops.
#[derive(Debug)]
pub enum End {
    /// No answer, or an answer that leaves the outcome unknown.
    Gone(String),
    /// An answer that violates the rules.
    Wrong(String),
}

/// The ledger of a writer.
#[derive(Debug)]
pub struct Ledger {
    /// The server's port, and the timeout of one answer.
    pub port: u16,
    pub patience: Duration,
    pub cells: Vec<Cell>,
    /// Evaluations and jobs created by acknowledged writes.
    pub evals: Vec<String>,
    pub children: Vec<String>,
    /// Allocations for which a stop was acknowledged.
    pub stopped: Vec<String>,
    pub acked: usize,
    pub refused: usize,
    /// Error texts of refused writes, for the report.
    pub refusals: Vec<String>,
}

impl Ledger {
    pub fn new(cells: Vec<Cell>) -> Ledger {
        Ledger {
            port: 0,
            patience: PATIENCE,
            cells,
            evals: Vec::new(),
            children: Vec::new(),
            stopped: Vec::new(),
            acked: 0,
            refused: 0,
            refusals: Vec::new(),
        }
    }

    /// Resets the counters; the cells are retained.
    pub fn begin(&mut self) {
        *self = Ledger { port: self.port, patience: self.patience, ..Ledger::new(std::mem::take(&mut self.cells)) };
    }

    pub fn call(&self, method: &str, path: &str, body: &Json) -> Result<Reply, End> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let reply = call(self.port, method, path, &body, self.patience)
            .map_err(|e| End::Gone(format!("{method} {path}: {e}")))?;
        // The outcome is unknown.
        if reply.status >= 500 {
            return Err(End::Gone(format!("{method} {path}: {} {}", reply.status, reply.body)));
        }
        Ok(reply)
    }

    /// Records the objects created by a write, according to its answer.
    fn note(&mut self, reply: &Reply) -> Json {
        let answer = reply.json();
        self.acked += 1;
        let made = |key: &str| answer[key].as_str().filter(|id| !id.is_empty()).map(String::from);
        self.evals.extend(made("EvalID"));
        self.evals
            .extend(answer["EvalIDs"].as_array().into_iter().flatten().filter_map(|id| id.as_str().map(String::from)));
        self.children.extend(made("DispatchedJobID"));
        answer
    }

    /// A write that creates a new object. Returns whether it was acknowledged.
    pub fn make(&mut self, method: &str, path: &str, body: &Json) -> Result<bool, End> {
        let reply = self.call(method, path, body)?;
        if reply.status != 200 {
            self.refuse(&reply);
            return Ok(false);
        }
        self.note(&reply);
        Ok(true)
    }

    fn refuse(&mut self, reply: &Reply) {
        self.refused += 1;
        self.refusals.push(format!("{} {}", reply.status, reply.body));
    }

    /// A write to a cell, and the resulting content.
    pub fn write(&mut self, cell: usize, method: &str, path: &str, body: &Json, leaves: Json) -> Result<bool, End> {
        self.cells[cell].maybe.push(leaves.clone());
        let reply = self.call(method, path, body)?;
        if reply.status != 200 {
            self.refuse(&reply);
            let cell = &mut self.cells[cell];
            cell.maybe.pop();
            if reply.status == 409 && cell.kind == Kind::Variable && cell.maybe.is_empty() {
                return Err(End::Wrong(format!("{path}: a conflict with nobody: {}\n{cell:?}", reply.body)));
            }
            return Ok(false);
        }
        let answer = self.note(&reply);
        let cell = &mut self.cells[cell];
        // Earlier writes without an answer cannot be executed any more: either this is a check-and-set, or there are
        // none.
        cell.maybe.clear();
        cell.acked = leaves;
        cell.index = cell.index_in(&answer);
        Ok(true)
    }

    /// Takes over the current content.
    pub fn observe(&mut self) -> Result<(), End> {
        for i in 0..self.cells.len() {
            let reply = self.call("GET", &self.cells[i].path(), &Json::Null)?;
            self.cells[i].acked = self.cells[i].view(&reply);
        }
        Ok(())
    }

    /// Reads a cell and compares it. The found content becomes the known one, unless writes without an answer may still
    /// be executed: `over` says that they cannot.
    pub fn check(&mut self, cell: usize, query: &str, over: bool) -> Result<(), End> {
        let path = format!("{}{query}", self.cells[cell].path());
        let reply = self.call("GET", &path, &Json::Null)?;
        let cell = &mut self.cells[cell];
        let found = cell.view(&reply);
        let index = cell.index_in(&reply.json());
        let wrong = |why: &str| Err(End::Wrong(format!("{path} {why}: {found}, index {index}\n{cell:?}")));
        let acked = agrees(&found, &cell.acked);
        if !acked && !cell.maybe.iter().any(|m| agrees(&found, m)) {
            return wrong("is not what was acknowledged");
        }
        if acked && cell.maybe.is_empty() && cell.index != 0 && !found.is_null() && index != cell.index {
            return wrong("has another index than acknowledged");
        }
        if index < cell.index && !found.is_null() {
            return wrong("went back");
        }
        if over || !acked {
            (cell.acked, cell.index) = (found, index);
            cell.maybe.clear();
        }
        Ok(())
    }
}
