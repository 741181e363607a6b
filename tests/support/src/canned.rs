//! Canned answers about one job, its evaluation, its allocations and its deployments.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use encamp_model::{ClientStatus, DeploymentStatus, JobType};
use serde_json::{Value, json};

use crate::program::{Ran, run_for, run_with};
use crate::server::{Request, Response, Server};

pub const EVAL: &str = "eeeeeeee-1111-2222-3333-444444444444";
pub const DEPLOYMENT: &str = "dddddddd-1111-2222-3333-444444444444";
pub const OTHER: &str = "dddddddd-9999-2222-3333-444444444444";
pub const NODE: &str = "bbbbbbbb-1111-2222-3333-444444444444";
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server of fixed answers by request line; several answers to one line come one after the other, the last one again
/// and again.
pub struct Canned {
    pub server: Server,
}

impl Canned {
    pub fn new(routes: &[(&str, Value)]) -> Canned {
        Canned::of(routes.iter().map(|(line, body)| (*line, Response::json(body))).collect())
    }

    pub fn of(routes: Vec<(&str, Response)>) -> Canned {
        let mut answers: BTreeMap<String, (AtomicUsize, Vec<Response>)> = BTreeMap::new();
        for (line, response) in routes {
            answers.entry(line.to_string()).or_default().1.push(response);
        }
        let server = Server::start(move |r: &Request| {
            let Some((next, all)) = answers.get(&r.line()) else { return Response::text(404, "not found") };
            let i = next.fetch_add(1, Ordering::Relaxed).min(all.len() - 1);
            all[i].clone()
        });
        Canned { server }
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        self.typed(args, "")
    }

    /// Runs with that text on standard input.
    pub fn typed(&self, args: &[&str], input: &str) -> Ran {
        self.run_in(&std::env::temp_dir(), args, input)
    }

    pub fn run_in(&self, folder: &Path, args: &[&str], input: &str) -> Ran {
        run_for(PATIENCE, folder, args, &[("NOMAD_ADDR", self.server.address.as_str())], input)
    }

    /// The bodies of the requests with this line.
    pub fn bodies(&self, line: &str) -> Vec<Value> {
        let all = self.server.take();
        all.iter().filter(|r| r.line() == line).map(|r| serde_json::from_slice(&r.body).unwrap()).collect()
    }
}

/// A server of fixed answers by request line.
pub fn serving(routes: Vec<(&str, Response)>) -> Server {
    Canned::of(routes).server
}

/// Runs a command against a server.
pub fn run(server: &Server, args: &[&str]) -> Ran {
    run_in(server, &std::env::temp_dir(), args)
}

/// Runs a command against a server, in a directory.
pub fn run_in(server: &Server, folder: &Path, args: &[&str]) -> Ran {
    run_with(folder, args, &[("NOMAD_ADDR", server.address.as_str())], None)
}

/// What a run printed and how it ended.
pub fn said(ran: &Ran) -> (&str, &str, i32) {
    (ran.stdout.as_str(), ran.stderr.as_str(), ran.exit)
}

/// The requests with this line since the last call; others are dropped.
pub fn sent(server: &Server, line: &str) -> Vec<Request> {
    server.take().into_iter().filter(|r| r.line() == line).collect()
}

/// Times of monitors are those of the run.
pub fn timeless(output: &str) -> String {
    let is_time =
        |word: &str| word.len() >= 20 && word.as_bytes()[4] == b'-' && word.contains('T') && word.contains('Z');
    let line = |l: &str| {
        let words: Vec<String> =
            l.split(' ').map(|w| if is_time(w) { w.replacen(&w[..20], "NOW", 1) } else { w.to_string() }).collect();
        words.join(" ")
    };
    output.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

pub fn stub(id: &str) -> Value {
    json!({"ID": id, "Name": id, "Namespace": "default", "Type": "service", "Priority": 50, "Status": "running",
           "SubmitTime": 1795237200000000000_i64})
}

pub fn job(kind: JobType) -> Value {
    json!({"ID": "web", "Name": "web", "Namespace": "default", "Type": kind, "Priority": 50, "Status": "running",
           "Version": 3, "SubmitTime": 1795237200000000000_i64, "Datacenters": ["dc1"], "NodePool": "default",
           "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": "exec"}]}]})
}

pub fn eval(more: Value) -> Value {
    let mut all = json!({"ID": EVAL, "Priority": 50, "Type": "service", "TriggeredBy": "job-register", "JobID": "web",
                         "Namespace": "default", "Status": "complete", "CreateIndex": 20});
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

pub fn alloc(id: &str, status: ClientStatus, more: Value) -> Value {
    let mut all = json!({"ID": id, "EvalID": EVAL, "NodeID": NODE, "NodeName": "n1", "JobID": "web", "Namespace": "default",
                         "JobType": "service", "TaskGroup": "g", "DesiredStatus": "run", "ClientStatus": status,
                         "CreateIndex": 21, "JobVersion": 3, "TaskStates": {"t": {"State": "running"}}});
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

pub fn deployment(id: &str, status: DeploymentStatus, revert: bool) -> Value {
    json!({"ID": id, "Namespace": "default", "JobID": "web", "JobVersion": 3, "Status": status, "CreateIndex": 22,
           "StatusDescription": "why", "TaskGroups": {"g": {"AutoRevert": revert, "DesiredTotal": 1, "PlacedAllocs": 1,
           "HealthyAllocs": 0, "UnhealthyAllocs": 0, "ProgressDeadline": 1, "RequireProgressBy": "2026-11-21T06:00:00Z"}}})
}

pub const EVAL_LINE: &str = "GET /v1/evaluation/eeeeeeee-1111-2222-3333-444444444444";
pub const ALLOCS_LINE: &str = "GET /v1/evaluation/eeeeeeee-1111-2222-3333-444444444444/allocations";
pub const DEPLOYMENT_LINE: &str = "GET /v1/deployment/dddddddd-1111-2222-3333-444444444444";
