//! Addresses of objects, which are those of Nomad's web UI, and links to them.

use maud::{Markup, html};
use serde::Deserialize;

use crate::error::PageError;
use crate::visit::{Visit, encoded};

/// The characters of a shortened ID.
const SHORT: usize = 8;
/// The characters of an ID.
const FULL: usize = 36;

/// A name in a namespace, as addresses have it: `web@default`.
fn in_namespace(name: &str, namespace: &str) -> String {
    format!("{}@{}", encoded(name), encoded(namespace))
}

/// The address of a job; `tab`: a page below it, such as `versions`.
pub(crate) fn job_address(namespace: &str, id: &str, tab: &str) -> String {
    let slash = if tab.is_empty() { "" } else { "/" };
    format!("/ui/jobs/{}{slash}{tab}", in_namespace(id, namespace))
}

/// A link to a job.
pub(crate) fn job(namespace: &str, id: &str) -> Markup {
    html! { a href=(job_address(namespace, id, "")) { (id) } }
}

/// The address of an allocation.
pub(crate) fn allocation_address(id: &str) -> String {
    format!("/ui/allocations/{}", encoded(id))
}

/// A link to an allocation by its short ID.
pub(crate) fn allocation(id: &str) -> Markup {
    html! { a href=(allocation_address(id)) title=(id) { code { (short(id)) } } }
}

/// The address of a task of an allocation; `part`: a page below it, such as `logs`.
pub(crate) fn task_address(allocation: &str, task: &str, part: &str) -> String {
    let slash = if part.is_empty() { "" } else { "/" };
    format!("{}/{}{slash}{part}", allocation_address(allocation), encoded(task))
}

/// The full ID that an address names: tools print links with shortened ones. `list`: where to look for it.
///
/// # Errors
/// No object has an ID that begins with it, or several have.
pub(crate) async fn full_id(visit: &Visit, list: &str, kind: &'static str, id: &str) -> Result<String, PageError> {
    if id.len() == FULL {
        return Ok(id.to_string());
    }
    let missing = || PageError::Missing { kind, name: id.to_string() };
    if id.len() > FULL || !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return Err(missing());
    }
    // The API wants an even number of digits.
    let digits = id.bytes().filter(|b| *b != b'-').count();
    let prefix = if digits.is_multiple_of(2) { id } else { id.get(..id.len().saturating_sub(1)).unwrap_or_default() };
    let query = [("prefix", prefix), ("namespace", "*"), ("per_page", "20")];
    let found: Vec<Identified> = if prefix.is_empty() { Vec::new() } else { visit.read(list, &query).await? };
    let mut fitting = found.into_iter().filter(|row| row.id.starts_with(id));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one.id),
        (Some(_), Some(_)) => Err(PageError::Input(format!("The ID of more than one {kind} begins with {id}."))),
        (None, _) => Err(missing()),
    }
}

#[derive(Debug, Deserialize)]
struct Identified {
    #[serde(rename = "ID")]
    id: String,
}

/// The address of a node.
pub(crate) fn client_address(id: &str) -> String {
    format!("/ui/clients/{}", encoded(id))
}

/// A link to a node: its name, or its short ID where the name is not known.
pub(crate) fn client(id: &str, name: &str) -> Markup {
    html! {
        a href=(client_address(id)) title=(id) { @if name.is_empty() { code { (short(id)) } } @else { (name) } }
    }
}

/// A link to an evaluation.
pub(crate) fn evaluation(id: &str) -> Markup {
    html! { a href={ "/ui/evaluations?currentEval=" (encoded(id)) } title=(id) { code { (short(id)) } } }
}

/// A link to a deployment.
pub(crate) fn deployment(id: &str) -> Markup {
    html! { a href={ "/ui/deployments/" (encoded(id)) } title=(id) { code { (short(id)) } } }
}

/// The first characters of an ID.
pub(crate) fn short(id: &str) -> &str {
    id.char_indices().nth(SHORT).map_or(id, |(end, _)| id.get(..end).unwrap_or(id))
}

/// The name and the namespace in a part of an address, `web@default`: without a namespace, `default`.
pub(crate) fn split(text: &str) -> (&str, &str) {
    text.rsplit_once('@').unwrap_or((text, "default"))
}
