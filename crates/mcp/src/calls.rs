//! What a call of a tool does: runs a command, reads the API, keeps and registers plans.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use encamp_model::SecretString;
use encamp_ui::{Cluster, CommandOutput, NoCommand, Source};
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::arguments::Arguments;
use crate::conceal::Conceal;
use crate::objects::{self, Kind};
use crate::output::Rests;
use crate::tools::{Action, Offered, Tool};

/// The longest answer of the API, in bytes.
const MAX_ANSWER: usize = 64 << 20;
/// Objects of a page, unless the call says another number, and at most.
const PAGE: u64 = 100;
const MAX_PAGE: u64 = 500;
/// Plans that are kept.
const PLANS: usize = 16;
/// Objects that a message names.
const NAMED: usize = 10;

/// What a server may do.
#[derive(Debug)]
pub struct Settings {
    /// Whether reviewed plans can be registered.
    pub allow_writes: bool,
    /// A private directory for plan files.
    pub directory: PathBuf,
    /// Removes secrets from answers.
    pub conceal: Conceal,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// Why a tool failed.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("{0}")]
    NoCommand(#[from] NoCommand),
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    #[error("the cluster answered {status}: {text}")]
    Status { status: u16, text: String },
    #[error("the answer of the cluster is not understood: {0}")]
    NotUnderstood(String),
    #[error("there is no {kind} with the ID or prefix \"{id}\"; list_{kind}s lists them")]
    None { kind: &'static str, id: String },
    #[error("several {kind}s have the prefix \"{id}\": {names}")]
    Several { kind: &'static str, id: String, names: String },
    #[error("the argument \"{0}\" must not have quotes")]
    Quotes(&'static str),
    #[error("there is no plan \"{0}\": plan the job again with plan_job")]
    NoPlan(String),
    #[error("the plan \"{0}\" was not shown to its end: read it on with read_on first")]
    Unread(String),
    #[error("there is no such answer any more: call the tool again")]
    NoAnswer,
}

/// A plan that was made and shown.
#[derive(Debug)]
struct Plan {
    file: PathBuf,
    /// The answer that showed it, if that was cut.
    answer: Option<u64>,
}

#[derive(Debug, Default)]
struct Memory {
    rests: Rests,
    plans: BTreeMap<u64, Plan>,
    planned: u64,
}

/// The tools of a cluster.
pub struct Calls {
    cluster: Arc<dyn Cluster>,
    settings: Settings,
    memory: Mutex<Memory>,
}

impl Calls {
    /// The tools of this cluster.
    pub fn new(cluster: Arc<dyn Cluster>, settings: Settings) -> Calls {
        Calls { cluster, settings, memory: Mutex::default() }
    }

    /// What the tools are about, in words.
    pub fn about(&self) -> String {
        match self.cluster.source() {
            Source::Agent { region, .. } => format!("the cluster of region {region}"),
            Source::Address(address) => format!("the cluster at {address}"),
            Source::File { name, .. } => format!("the snapshot file {name}, which nothing can change"),
        }
    }

    /// Whether plans can be registered.
    pub fn writes(&self) -> bool {
        self.settings.allow_writes && self.cluster.source().is_live()
    }

    /// Why a tool is not offered; `None` if it is.
    pub fn refusal(&self, tool: &Tool) -> Option<String> {
        let name = tool.name;
        let live = self.cluster.source().is_live();
        match tool.offered {
            Offered::Live | Offered::Writes if !live => {
                Some(format!("{name} needs a running cluster, and this server is about a file"))
            }
            Offered::Writes if !self.settings.allow_writes => Some(format!(
                "{name} changes the cluster, and this server only reads: it was started without -allow-writes"
            )),
            _ => None,
        }
    }

    /// Calls a tool. The command that it runs is killed if the future is dropped.
    pub async fn call(&self, tool: &Tool, arguments: Arguments) -> Answer {
        match timeout(tool.limit, self.run(tool, arguments)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(e)) => self.failure(&e.to_string()),
            Err(_) => self.failure(&format!("{} did not end within {} seconds", tool.name, tool.limit.as_secs())),
        }
    }

    fn failure(&self, text: &str) -> Answer {
        let text = self.memory.lock().rests.first(self.settings.conceal.text(&format!("Error: {text}"))).0;
        Answer { text, is_error: true }
    }

    async fn run(&self, tool: &Tool, arguments: Arguments) -> Result<Answer, Failed> {
        match tool.action {
            Action::Command { words, flags, answers } => {
                let output = self.command(words, flags, arguments).await?;
                // Some commands end with 1 both after an error and after an answer that asks for something to be done.
                let failed = output.code != 0 && output.stdout.is_empty();
                Ok(self.shown(&text_of(&output), failed || !answers.contains(&output.code)))
            }
            Action::Plan => self.plan(arguments).await,
            Action::RunPlan => self.run_plan(arguments).await,
            Action::Summary => self.summary().await,
            Action::List(kind) => self.list(kind, &arguments).await,
            Action::Describe(kind) => self.describe(kind, &arguments).await,
            Action::ReadOn => {
                let number = |name| arguments.value(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
                let from = usize::try_from(number("from")).unwrap_or(usize::MAX);
                let text = self.memory.lock().rests.from(number("answer"), from).ok_or(Failed::NoAnswer)?;
                Ok(Answer { text, is_error: false })
            }
        }
    }

    /// An answer without secrets, cut to its bound.
    fn shown(&self, text: &str, is_error: bool) -> Answer {
        let text = self.settings.conceal.text(text);
        let text = if text.is_empty() { "(no output)\n".to_string() } else { text };
        Answer { text: self.memory.lock().rests.first(text).0, is_error }
    }

    async fn command(&self, words: &[&str], flags: &[&str], given: Arguments) -> Result<CommandOutput, Failed> {
        let fixed = words.iter().chain(flags).map(|word| (*word).to_string());
        let arguments = fixed.chain(given.flags).chain(given.words).collect();
        Ok(self.cluster.run(SecretString::default(), arguments, given.input.into_bytes()).await?)
    }

    async fn plan(&self, mut arguments: Arguments) -> Result<Answer, Failed> {
        let (number, file) = {
            let mut memory = self.memory.lock();
            memory.planned = memory.planned.saturating_add(1);
            (memory.planned, self.settings.directory.join(format!("plan-{}.encamp", memory.planned)))
        };
        arguments.flags.push(format!("-out={}", file.display()));
        let output = self.command(&["job", "plan"], &[], arguments).await?;
        if ![0, 1].contains(&output.code) {
            return Ok(self.shown(&text_of(&output), true));
        }
        let shown = self.command(&["plan", "show"], &[], Arguments::of_word(file.display().to_string())).await?;
        let mut text = self.settings.conceal.text(&text_of(&shown));
        text.push_str(&format!("\nPlan: plan-{number}\n"));
        if self.writes() {
            text.push_str("run_plan registers it, if the cluster would still do this. Let a person review it first.\n");
        }
        let mut memory = self.memory.lock();
        let (text, answer) = memory.rests.first(text);
        memory.plans.insert(number, Plan { file, answer });
        while memory.plans.len() > PLANS {
            if let Some((_, old)) = memory.plans.pop_first() {
                // A file that is left is removed with its directory.
                let _ = std::fs::remove_file(old.file);
            }
        }
        Ok(Answer { text, is_error: shown.code != 0 })
    }

    async fn run_plan(&self, mut arguments: Arguments) -> Result<Answer, Failed> {
        let name = arguments.words.pop().unwrap_or_default();
        let file = {
            let memory = self.memory.lock();
            let number = name.strip_prefix("plan-").and_then(|n| n.parse::<u64>().ok());
            let plan = number.and_then(|n| memory.plans.get(&n)).ok_or_else(|| Failed::NoPlan(name.clone()))?;
            if plan.answer.is_some_and(|answer| !memory.rests.was_read(answer)) {
                return Err(Failed::Unread(name));
            }
            plan.file.display().to_string()
        };
        arguments.words.push(file);
        let output = self.command(&["job", "run"], &["-detach"], arguments).await?;
        Ok(self.shown(&text_of(&output), output.code != 0))
    }

    async fn summary(&self) -> Result<Answer, Failed> {
        let nodes = self.read("/v1/nodes").await?.0;
        let jobs = self.read("/v1/jobs?namespace=*").await?.0;
        let blocked = format!("/v1/evaluations?namespace=*&filter={}", encoded("Status == `blocked`"));
        let blocked = self.read(&blocked).await?.0;
        let running = format!("/v1/deployments?namespace=*&filter={}", encoded("Status == `running`"));
        let running = self.read(&running).await?.0;
        let counts = |value: &Value| value.as_array().map_or(0, Vec::len);
        let text = json!({
            "Source": self.about(),
            "Nodes": counts_of(&nodes, &["Status", "SchedulingEligibility"]),
            "Datacenters": counts_of(&nodes, &["Datacenter"]),
            "NodePools": counts_of(&nodes, &["NodePool"]),
            "Jobs": counts_of(&jobs, &["Type", "Status"]),
            "Allocations": allocations_of(&jobs),
            "BlockedEvaluations": counts(&blocked),
            "RunningDeployments": counts(&running),
        });
        Ok(self.shown(&pretty(&text), false))
    }

    async fn list(&self, kind: Kind, arguments: &Arguments) -> Result<Answer, Failed> {
        let per_page = arguments.value("per_page").and_then(|n| n.parse().ok()).unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let mut path = format!("{}?per_page={per_page}", kind.list());
        if kind != Kind::Node {
            path.push_str(&format!("&namespace={}", encoded(arguments.value("namespace").unwrap_or("*"))));
        }
        if let Some(page) = arguments.value("page") {
            path.push_str(&format!("&next_token={}", encoded(page)));
        }
        let mut filters = Vec::new();
        if let Some(job) = arguments.value("job") {
            filters.push(format!("JobID == {}", quoted("job", job)?));
        }
        if let Some(node) = arguments.value("node") {
            let node = quoted("node", node)?;
            filters.push(format!("(NodeName == {node} or NodeID == {node})"));
        }
        if let Some(status) = arguments.value("status") {
            filters.push(format!("{} == {}", kind.status(), quoted("status", status)?));
        }
        filters.extend(arguments.value("filter").map(|filter| format!("({filter})")));
        if !filters.is_empty() {
            path.push_str(&format!("&filter={}", encoded(&filters.join(" and "))));
        }
        let (objects, next) = self.read(&path).await?;
        let rows = objects.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut text = String::new();
        for row in rows {
            text.push_str(&kind.told_in_list(row, &self.settings.conceal).to_string());
            text.push('\n');
        }
        text.push_str(&format!("{} {}s\n", rows.len(), kind.name()));
        if let Some(next) = next {
            text.push_str(&format!("There are more: call again with page={next}\n"));
        }
        Ok(self.shown(&text, false))
    }

    async fn describe(&self, kind: Kind, arguments: &Arguments) -> Result<Answer, Failed> {
        let id = arguments.value(kind.name()).unwrap_or_default();
        let text = match kind {
            Kind::Job => self.job(id, arguments.value("namespace")).await?,
            _ => {
                let full = self.full_id(kind, id).await?;
                let object = self.read(&format!("/v1/{}/{}", kind.name(), encoded(&full))).await?.0;
                kind.told(&object, &self.settings.conceal)
            }
        };
        Ok(self.shown(&pretty(&text), false))
    }

    async fn job(&self, id: &str, namespace: Option<&str>) -> Result<Value, Failed> {
        let query = namespace.map(|n| format!("?namespace={}", encoded(n))).unwrap_or_default();
        let path = |below: &str| format!("/v1/job/{}{below}{query}", encoded(id));
        let conceal = &self.settings.conceal;
        let mut told = Kind::Job.told(&self.read(&path("")).await?.0, conceal);
        let summary = objects::told(&self.read(&path("/summary")).await?.0, objects::SUMMARY, conceal);
        let evaluations = self.read(&path("/evaluations")).await?.0;
        let created = |e: &&Value| e.get("CreateIndex").and_then(Value::as_u64);
        let latest = evaluations.as_array().into_iter().flatten().max_by_key(created);
        if let Some(members) = told.as_object_mut() {
            members.insert("Allocations".into(), summary.get("Summary").cloned().unwrap_or_default());
            if let Some(latest) = latest {
                members.insert("LatestEvaluation".into(), Kind::Evaluation.told(latest, conceal));
            }
        }
        Ok(told)
    }

    /// The ID of the object with this ID, prefix of an ID or, if it is a node, name.
    async fn full_id(&self, kind: Kind, id: &str) -> Result<String, Failed> {
        let hex = id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        if hex && id.len() == 36 {
            return Ok(id.to_string());
        }
        let mut found = Vec::new();
        if hex {
            let path = format!("{}?namespace=*&per_page={NAMED}&prefix={}", kind.list(), encoded(id));
            found = ids(&self.read(&path).await?.0);
        }
        if found.is_empty() && kind == Kind::Node {
            let filter = encoded(&format!("Name == {}", quoted("node", id)?));
            found = ids(&self.read(&format!("{}?filter={filter}", kind.list())).await?.0);
        }
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(Failed::None { kind: kind.name(), id: id.to_string() }),
            several => Err(Failed::Several { kind: kind.name(), id: id.to_string(), names: several.join(", ") }),
        }
    }

    /// An answer of the API, and the next page.
    async fn read(&self, path: &str) -> Result<(Value, Option<String>), Failed> {
        let request = Request::get(path).body(Body::empty()).map_err(|e| Failed::Unreachable(e.to_string()))?;
        let answer = self.cluster.send(request).await.map_err(|e| Failed::Unreachable(e.to_string()))?;
        let status = answer.status();
        let next = answer.headers().get("x-nomad-nexttoken").and_then(|v| v.to_str().ok()).map(String::from);
        let body = to_bytes(answer.into_body(), MAX_ANSWER).await.map_err(|e| Failed::Unreachable(e.to_string()))?;
        if !status.is_success() {
            let text = String::from_utf8_lossy(&body).trim().to_string();
            return Err(Failed::Status { status: status.as_u16(), text });
        }
        let value = serde_json::from_slice(&body).map_err(|e| Failed::NotUnderstood(e.to_string()))?;
        Ok((value, next.filter(|n| !n.is_empty())))
    }
}

/// What a command printed: its result, then what it said about it.
fn text_of(output: &CommandOutput) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.stderr.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&output.stderr);
    }
    text
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The IDs of listed objects.
fn ids(list: &Value) -> Vec<String> {
    let objects = list.as_array().into_iter().flatten();
    objects.filter_map(|object| Some(object.get("ID")?.as_str()?.to_string())).collect()
}

/// How many objects have each combination of values.
fn counts_of(list: &Value, members: &[&str]) -> Map<String, Value> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for object in list.as_array().into_iter().flatten() {
        let values: Vec<&str> = members.iter().filter_map(|m| object.get(m)?.as_str()).collect();
        let count = counts.entry(values.join(" ")).or_default();
        *count = count.saturating_add(1);
    }
    counts.into_iter().map(|(name, count)| (name, count.into())).collect()
}

/// The allocations of jobs by state.
fn allocations_of(jobs: &Value) -> Map<String, Value> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let summaries = jobs.as_array().into_iter().flatten().filter_map(|job| job.pointer("/JobSummary/Summary"));
    let groups = summaries.filter_map(Value::as_object).flat_map(|groups| groups.values());
    for (state, number) in groups.filter_map(Value::as_object).flatten() {
        let count = counts.entry(state.clone()).or_default();
        *count = count.saturating_add(number.as_u64().unwrap_or(0));
    }
    counts.into_iter().map(|(name, count)| (name, count.into())).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// A value in a filter expression.
fn quoted(name: &'static str, value: &str) -> Result<String, Failed> {
    if value.contains(['`', '"']) { Err(Failed::Quotes(name)) } else { Ok(format!("`{value}`")) }
}
