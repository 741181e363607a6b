//! What is read from the cluster, and the commands that are run about it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::Request;
use encamp_model::TaskStatus;
use encamp_ui::{AllocationRow, Cluster, LIVE, NodeRow};
use serde::de::{DeserializeOwned, Deserializer as _, SeqAccess, Visitor};
use serde_json::Value;

use super::commands::command;
use super::plans;
use crate::messages::{Answer, Content, Read};
use crate::row::{Kind, Object, Row, encoded};
use crate::rows::{number, row, text};
use crate::view::View;
use crate::{queues, topology};

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 256 << 20;
/// The longest error that is shown, in bytes.
const MAX_ERROR: usize = 2000;

/// Sends a request; `live`: whether commands can ask a running cluster.
pub(super) async fn answer(cluster: &dyn Cluster, read: Read, live: bool, directory: &Path) -> Answer {
    match read {
        Read::View { view, path, generation, .. } => {
            let content = match view {
                View::Topology => nodes(cluster, &path).await.map(Content::Nodes),
                View::Queues => queue_rows(cluster, &path, live).await.map(Content::Rows),
                View::Servers => members(cluster, &path).await.map(Content::Rows),
                _ => rows(cluster, view, &path).await.map(Content::Rows),
            };
            Answer::View { generation, content }
        }
        Read::Namespaces => {
            let names = list(cluster, "/v1/namespaces", |o: Value| Some(text(&o, "Name"))).await;
            // Tokens that may not list them still have the views of all namespaces.
            let mut names = names.unwrap_or_default();
            names.sort();
            Answer::Namespaces(names)
        }
        Read::Json(object) => Answer::Text(object.title(), json(cluster, &object).await),
        Read::Describe(object) if live => Answer::Text(object.title(), described(cluster, &object).await),
        Read::Describe(object) => Answer::Text(object.title(), json(cluster, &object).await),
        Read::Explain(object) => {
            Answer::Text(format!("Explanation of {}", object.title()), explained(cluster, &object, live).await)
        }
        Read::Tasks(allocation, purpose) => {
            let tasks = tasks(cluster, &allocation).await;
            Answer::Tasks(allocation, purpose, tasks)
        }
        Read::Plan { words, number } => {
            // Each plan has a file of its own: a question about one is never answered for another.
            let file = directory.join(format!("plan-{number}.encamp"));
            Answer::Plan(number, plans::plan(cluster, words, &file).await)
        }
        Read::WhatIf { flags, number } => Answer::WhatIf(number, plans::simulate(cluster, flags).await),
        Read::Directory(directory) => Answer::Directory(plans::entries(&directory)),
        Read::Groups(job) => {
            let groups = groups(cluster, &job).await;
            Answer::Groups(job, groups)
        }
    }
}

/// Reads an answer of the API.
async fn get(cluster: &dyn Cluster, path: &str) -> Result<Bytes, String> {
    let request = Request::get(path).body(Body::empty()).map_err(|e| e.to_string())?;
    let answer = cluster.send(request).await.map_err(|e| e.to_string())?;
    let status = answer.status();
    let body = to_bytes(answer.into_body(), MAX_ANSWER).await.map_err(|e| e.to_string())?;
    if !status.is_success() {
        let text = body.get(..body.len().min(MAX_ERROR)).unwrap_or_default();
        return Err(format!("the cluster answered {status}: {}", String::from_utf8_lossy(text)));
    }
    Ok(body)
}

async fn value<T: DeserializeOwned>(cluster: &dyn Cluster, path: &str) -> Result<T, String> {
    let body = get(cluster, path).await?;
    serde_json::from_slice(&body).map_err(|e| format!("the answer to {path} is not understood: {e}"))
}

/// What a function makes of each object of a list, so that a long list is never kept as it came.
async fn list<T: DeserializeOwned, R>(
    cluster: &dyn Cluster,
    path: &str,
    each: impl FnMut(T) -> Option<R>,
) -> Result<Vec<R>, String> {
    let body = get(cluster, path).await?;
    let mut from = serde_json::Deserializer::from_slice(&body);
    let elements = Elements { each, kind: std::marker::PhantomData::<T> };
    from.deserialize_any(elements).map_err(|e| format!("the answer to {path} is not understood: {e}"))
}

struct Elements<T, F> {
    each: F,
    kind: std::marker::PhantomData<T>,
}

impl<'de, T: DeserializeOwned, R, F: FnMut(T) -> Option<R>> Visitor<'de> for Elements<T, F> {
    type Value = Vec<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Vec<R>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut all: A) -> Result<Vec<R>, A::Error> {
        let mut out = Vec::new();
        while let Some(element) = all.next_element()? {
            out.extend((self.each)(element));
        }
        Ok(out)
    }
}

/// The rows of a list. Allocations, deployments and evaluations are many, and the newest matter most: they come first.
async fn rows(cluster: &dyn Cluster, view: View, path: &str) -> Result<Vec<Row>, String> {
    let newest_first = matches!(view, View::Allocations | View::Deployments | View::Evaluations);
    let index = |o: &Value| if newest_first { number(o, "CreateIndex") } else { 0 };
    let mut rows = list(cluster, path, |o: Value| Some((index(&o), row(view, &o)))).await?;
    rows.sort_by_key(|(index, _)| std::cmp::Reverse(*index));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

async fn members(cluster: &dyn Cluster, path: &str) -> Result<Vec<Row>, String> {
    let answer: Value = value(cluster, path).await?;
    let members = answer.get("Members").and_then(Value::as_array).into_iter().flatten();
    Ok(members.map(|o| row(View::Servers, o)).collect())
}

/// The nodes with what is used of them. Nodes are of use without the allocations that a token may not see.
async fn nodes(cluster: &dyn Cluster, path: &str) -> Result<Vec<topology::NodeUse>, String> {
    let rows = list(cluster, path, Some::<NodeRow>).await?;
    let filter = encoded(LIVE);
    let allocations = format!("/v1/allocations?resources=true&task_states=false&namespace=%2A&filter={filter}");
    let allocations = list(cluster, &allocations, Some::<AllocationRow>).await.unwrap_or_default();
    Ok(topology::nodes(rows, allocations))
}

async fn queue_rows(cluster: &dyn Cluster, path: &str, live: bool) -> Result<Vec<Row>, String> {
    let evaluations: Vec<Value> = list(cluster, path, Some).await?;
    let mut rows = Vec::new();
    if live {
        let metrics: Value = value(cluster, "/v1/metrics").await?;
        rows.extend(queues::of_metrics(&metrics));
        if !queues::is_leader(&metrics) {
            rows.insert(0, queues::without_leader());
        }
    }
    rows.extend(queues::of_evaluations(&evaluations));
    Ok(rows)
}

async fn json(cluster: &dyn Cluster, object: &Object) -> Result<String, String> {
    let path = object.path().ok_or("There is nothing to read about it.")?;
    let object: Value = value(cluster, &path).await?;
    serde_json::to_string_pretty(&object).map_err(|e| e.to_string())
}

/// The text of the command that describes an object.
async fn described(cluster: &dyn Cluster, object: &Object) -> Result<String, String> {
    let words: &[&str] = match object.kind {
        Kind::Job => &["job", "status"],
        Kind::Allocation => &["alloc", "status"],
        Kind::Node => &["node", "status"],
        Kind::Deployment => &["deployment", "status"],
        Kind::Evaluation => &["eval", "status"],
        Kind::Other => return Err("There is nothing to read about it.".to_string()),
    };
    about(cluster, words, &[], object).await
}

/// Why allocations are not placed: from the record of the last evaluation that failed to place some, or by planning the
/// registered job again.
async fn explained(cluster: &dyn Cluster, object: &Object, live: bool) -> Result<String, String> {
    if live && object.kind == Kind::Evaluation {
        return about(cluster, &["eval", "explain"], &[], object).await;
    }
    let job = match object.kind {
        Kind::Job => object.clone(),
        _ => {
            let path = object.path().unwrap_or_default();
            let evaluation: Value = value(cluster, &path).await?;
            Object::new(Kind::Job, &object.namespace, &text(&evaluation, "JobID"))
        }
    };
    if live {
        let path = job.query(&format!("/v1/job/{}/evaluations", encoded(&job.id)));
        let failed = |o: &Value| o.get("FailedTGAllocs").and_then(Value::as_object).is_some_and(|g| !g.is_empty());
        let found = list(cluster, &path, |o: Value| failed(&o).then(|| (number(&o, "CreateIndex"), text(&o, "ID"))));
        if let Some((_, id)) = found.await?.into_iter().max() {
            let evaluation = Object::new(Kind::Evaluation, &job.namespace, &id);
            return about(cluster, &["eval", "explain"], &[], &evaluation).await;
        }
    }
    let file = about(cluster, &["job", "inspect"], &["-hcl"], &job).await?;
    let mut arguments = vec!["job".to_string(), "plan".into(), "-explain".into(), "-diff=false".into()];
    arguments.extend(job.flag());
    arguments.push("-".to_string());
    command(cluster, arguments, file.into_bytes()).await
}

/// The output of a command about an object.
async fn about(cluster: &dyn Cluster, words: &[&str], flags: &[&str], object: &Object) -> Result<String, String> {
    let mut arguments: Vec<String> = words.iter().chain(flags).map(ToString::to_string).collect();
    arguments.extend(object.flag());
    arguments.extend(["--".to_string(), object.id.clone()]);
    command(cluster, arguments, Vec::new()).await
}

/// The tasks of an allocation, those that run first.
async fn tasks(cluster: &dyn Cluster, allocation: &Object) -> Result<Vec<String>, String> {
    let path = allocation.path().unwrap_or_default();
    let allocation: Value = value(cluster, &path).await?;
    let states = allocation.get("TaskStates").and_then(Value::as_object);
    let group = text(&allocation, "TaskGroup");
    let groups = allocation.pointer("/Job/TaskGroups").and_then(Value::as_array).into_iter().flatten();
    let of_group = groups.filter(|g| text(g, "Name") == group).filter_map(|g| g.get("Tasks")?.as_array()).flatten();
    // Tasks that the node has not reported are those of the job.
    let names = of_group.map(|task| text(task, "Name")).chain(states.into_iter().flat_map(|s| s.keys().cloned()));
    let ended = |name: &String| {
        let state = states.and_then(|states| states.get(name)).map(|task| text(task, "State"));
        state.is_some_and(|state| TaskStatus::from(state.as_str()) == TaskStatus::Dead)
    };
    let names: BTreeSet<(bool, String)> = names.map(|name| (ended(&name), name)).collect();
    if names.is_empty() {
        return Err("It has no tasks.".to_string());
    }
    Ok(names.into_iter().map(|(_, name)| name).collect())
}

async fn groups(cluster: &dyn Cluster, job: &Object) -> Result<Vec<(String, i64)>, String> {
    let path = job.path().unwrap_or_default();
    let job: Value = value(cluster, &path).await?;
    let groups = job.get("TaskGroups").and_then(Value::as_array).into_iter().flatten();
    Ok(groups.map(|group| (text(group, "Name"), number(group, "Count"))).collect())
}
