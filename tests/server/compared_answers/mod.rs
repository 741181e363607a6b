//! Requests whose answers depend on an ID or on a written object, each with the recorded answer of Nomad, if there is
//! one: `docs/reference/compared-answers.md`. `ENCAMP_UPDATE=1` writes the page.

mod ids;
mod objects;

use std::fmt::Write as _;
use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::{self, Agent, Reply, wait_for};
use crate::program::{Folder, repository};
use encamp_test_support::recorded;

const PAGE: &str = "docs/reference/compared-answers.md";
/// The ID of nothing.
const NIL: &str = "00000000-0000-0000-0000-000000000000";

/// How Nomad 2.0.5 is known to answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Known {
    /// A recorded exchange in `tests/oracle/http`.
    Recorded(String),
    /// A recorded exchange with another text on purpose, or with one that is not an interface: statuses agree.
    Status(String),
    /// Seen on a running Nomad, without a recording.
    Seen(String),
    /// Its API documentation says so.
    Documented(String),
    /// Public bug reports quote such a text.
    Reported,
    /// Nothing is known: the answer is chosen like that of its neighbours.
    Nothing,
}

impl From<String> for Known {
    /// `recorded: nodes/get-404`, `documented: required`, `nothing`.
    fn from(text: String) -> Known {
        let (word, rest) = text.split_once(": ").map_or((text.as_str(), String::new()), |(w, r)| (w, r.to_string()));
        match word {
            "recorded" => Known::Recorded(rest),
            "status" => Known::Status(rest),
            "seen" => Known::Seen(rest),
            "documented" => Known::Documented(rest),
            "reported" => Known::Reported,
            "nothing" => Known::Nothing,
            _ => panic!("what is {text:?}?"),
        }
    }
}

/// Status and text of an answer; JSON only by its kind, as its values are those of one server.
fn status_and_text(status: u64, body: &str) -> String {
    let kind = match serde_json::from_str::<Value>(body) {
        Ok(Value::Object(_)) => "an object".into(),
        Ok(Value::Array(list)) if list.is_empty() => "`[]`".into(),
        Ok(Value::Array(_)) => "a list".into(),
        Ok(value) => format!("`{value}`"),
        Err(_) if body.is_empty() => "empty".into(),
        Err(_) => format!("`{}`", line(body)),
    };
    format!("{status} {kind}")
}

/// A text on one line of a table; IDs have one name.
fn line(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.trim_end();
    while let Some(at) = uuid_at(rest) {
        out.push_str(&rest[..at]);
        out.push_str("<id>");
        rest = &rest[at + 36..];
    }
    out.push_str(rest);
    let flat = out.replace('\n', "⏎").replace('\t', " ").replace('|', "\\|");
    // Debug output and decoder texts are no interface.
    let end = ["&acl.", "json: "].iter().filter_map(|mark| flat.find(mark)).min();
    match end {
        Some(end) => format!("{}…", &flat[..end]),
        None => flat,
    }
}

fn uuid_at(text: &str) -> Option<usize> {
    let is_uuid = |s: &str| {
        s.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
    };
    (0..text.len().saturating_sub(35)).find(|at| text.get(*at..at + 36).is_some_and(is_uuid))
}

/// The recorded answer; `None` where the recordings are replaced by others that lack it.
fn recorded_answer(name: &str) -> Option<String> {
    for dir in ["reference-2.0.5", "reference-2.0.5-acl", "reference-2.0.5-server"] {
        let Some(folder) = recorded::folder(&format!("http/{dir}")) else { continue };
        let wanted = format!("-{}", name.replace('/', "-"));
        let found = recorded::files(&folder, ".json").into_iter().find(|(file, _)| file.get(4..) == Some(&wanted));
        let Some((_, path)) = found else { continue };
        let exchange = recorded::json_at(&path)?;
        let (status, body) = (exchange["response"]["status"].as_u64()?, &exchange["response"]["body"]);
        let text = match (exchange["response"]["body_kind"].as_str(), body) {
            (Some("empty"), _) => String::new(),
            (Some("text"), Value::String(text)) => text.clone(),
            _ => body.to_string(),
        };
        return Some(status_and_text(status, &text));
    }
    assert!(recorded::replaced(), "there is no recording {name}");
    None
}

/// The cell about Nomad, and whether our answer fits it. `fold` removes what is different in every exchange.
fn compare(known: &Known, ours: &str, fold: impl Fn(String) -> String) -> (String, bool) {
    match known {
        Known::Recorded(name) => match recorded_answer(name).map(fold) {
            Some(theirs) if theirs == ours => (format!("the same (`{name}`)"), true),
            Some(theirs) => (format!("{theirs} (`{name}`)"), false),
            None => (format!("the same (`{name}`)"), true),
        },
        Known::Status(name) => match recorded_answer(name) {
            Some(theirs) => {
                let same = theirs.split(' ').next() == ours.split(' ').next();
                (format!("{theirs} (`{name}`)"), same)
            }
            None => (format!("(`{name}`)"), true),
        },
        Known::Seen(theirs) if theirs == ours => ("the same (seen)".into(), true),
        Known::Seen(theirs) => (format!("{theirs} (seen)"), false),
        Known::Documented(what) => (format!("documented: {what}"), true),
        Known::Reported => ("reported".into(), true),
        Known::Nothing => ("not recorded".into(), true),
    }
}

/// An agent that is server and node, with what the tables need.
struct World {
    agent: Agent,
    _folder: Folder,
    node: String,
    eval: String,
}

impl World {
    fn new(name: &str, config: &str) -> World {
        let folder = Folder::new(name);
        let mut agent = Agent::start(&folder, config, &["-dev"]);
        wait_for("a leader", || {
            let leader = agent::call(agent.port, "GET", "/v1/status/leader", "", agent::PATIENCE);
            leader.map_err(|e| e.to_string()).and_then(|l| if l.body.len() > 2 { Ok(()) } else { Err(l.body) })
        });
        if config.contains("acl") {
            let token = agent::bootstrap(agent.port);
            agent = agent.with_token(&token);
        }
        let mut node = String::new();
        wait_for("a node", || match agent.list("/v1/nodes").first() {
            Some(n) if n["Status"] == "ready" => {
                node = n["ID"].as_str().unwrap_or_default().into();
                Ok(())
            }
            other => Err(format!("{other:?}")),
        });
        let job = json!({"ID": "none", "Name": "none", "Type": "service", "Datacenters": ["*"],
            "TaskGroups": [{"Name": "g", "Count": 0, "Tasks": [{"Name": "t", "Driver": "raw_exec",
                "Config": {"command": "true"}}]}]});
        let made = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
        assert_eq!(made.status, 200, "{}", made.body);
        let eval = made.json()["EvalID"].as_str().unwrap_or_default().to_string();
        World { agent, _folder: folder, node, eval }
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> String {
        let text = body.map(Value::to_string).unwrap_or_default();
        let reply = agent::call_as(self.agent.port, &self.agent.token, method, path, &text, agent::PATIENCE);
        let Reply { status, body, .. } = reply.unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        status_and_text(u64::from(status), &body)
    }
}

/// Requests about the members of a cluster, and about the identity of a node.
fn members(world: &World, wrong: &mut Vec<String>) -> String {
    let mut out = String::from("\n## Members and identity\n\nThe agent is a server alone, and a node.\n\n");
    out.push_str("| request | encamp | Nomad 2.0.5 |\n|---|---|---|\n");
    for (method, path, known) in [
        ("GET", "/v1/agent/members", "recorded: agent/members"),
        ("PUT", "/v1/agent/join", "recorded: agent/join-missing"),
        ("PUT", "/v1/agent/join?address=127.0.0.1:1", "recorded: agent/join-unreachable"),
        ("PUT", "/v1/agent/force-leave", "recorded: agent/force-leave-missing"),
        ("PUT", "/v1/agent/force-leave?node=nobody.global", "recorded: agent/force-leave-unknown"),
        ("PUT", "/v1/agent/force-leave?node=nobody.global&prune=true", "nothing"),
        ("PUT", "/v1/agent/force-leave?node=nobody.global&prune=x", "nothing"),
        ("GET", "/v1/client/identity", "recorded: nodes/client-identity"),
        ("PUT", "/v1/client/identity", "nothing"),
        ("PUT", "/v1/client/identity/renew", "nothing"),
        ("GET", "/v1/agent/monitor?server_id=nobody", "nothing"),
        ("GET", "/v1/agent/host?node_id=a&server_id=b", "recorded: agent/host-both-ids"),
        ("GET", "/v1/agent/monitor?node_id=a&server_id=b", "recorded: agent/monitor-both-ids"),
    ] {
        let ours = world.ask(method, path, None);
        let (cell, fits) = compare(&Known::from(known.to_string()), &ours, |theirs| theirs);
        if !fits {
            wrong.push(format!("{method} {path}: {ours}; {cell}"));
        }
        let _ = writeln!(out, "| {method} `{path}` | {ours} | {cell} |");
    }
    out.push_str(MEMBERS);
    out
}

const MEMBERS: &str = "
A server that answers and is forced to leave is `leaving` for 10 s, which was seen on a running Nomad within 6 s. One
that has failed is `left`, as the API documentation says, and is forgotten with `prune`.
";

const HEAD: &str = "\
# Answers compared with Nomad

Answers to requests with IDs of all kinds, and to writes of the smallest valid object and of objects with a member that
is missing, empty or wrong. A test makes every request, compares the answers with the recorded ones of Nomad 2.0.5
(`tests/oracle/http`), and writes this page.

The column \"Nomad 2.0.5\" says how its answer is known:

- \"the same\" or an answer, with the name of the recorded exchange;
- \"seen\": observed on a running server, without a recording;
- \"documented\": what the API documentation says;
- \"reported\": public bug reports quote this text for a look-up of that kind;
- \"not recorded\": nothing is known. encamp answers as it does to the neighbouring requests.

In texts, `<id>` is a UUID, and ⏎ is a line feed. Of JSON only the kind is shown.
";

#[test]
fn answers_are_those_of_nomad_where_they_are_recorded() {
    let mut page = HEAD.to_string();
    let mut wrong = Vec::new();
    let world = World::new("answers-ids", "");
    let (ids, members) = (ids::table(&world, &mut wrong), members(&world, &mut wrong));
    let acl = World::new("answers-objects", "acl {\n enabled = true\n}\n");
    let objects = objects::tables(&acl, &mut wrong);
    let _ = write!(page, "{ids}{members}{objects}");
    assert!(wrong.is_empty(), "answers that differ from Nomad's:\n{}", wrong.join("\n"));
    let path = repository().join(PAGE);
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(stored.lines()).find(|(a, b)| a != b);
    assert!(
        differs.is_none() && page.len() == stored.len(),
        "{PAGE} is stale (ENCAMP_UPDATE=1 writes it): {differs:?}"
    );
}
