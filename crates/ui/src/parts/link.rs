//! Addresses of objects, which are those of Nomad's web UI, and links to them.

use maud::{Markup, html};
use serde::Deserialize;

use crate::error::PageError;
use crate::visit::{Visit, encoded};

/// The characters of a shortened ID.
const SHORT: usize = 8;

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

/// The ID that begins with what an address names. Tools print links with shortened IDs.
///
/// # Errors
/// No object has such an ID, or several have.
pub(crate) async fn full_id(visit: &Visit, list: &str, kind: &'static str, prefix: &str) -> Result<String, PageError> {
    let missing = || PageError::Missing { kind, name: prefix.to_string() };
    // The API wants an even number of digits.
    let digits = prefix.len() - prefix.matches('-').count();
    let asked = if digits.is_multiple_of(2) { prefix } else { prefix.get(..prefix.len() - 1).unwrap_or_default() };
    if asked.is_empty() || !asked.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return Err(missing());
    }
    let query = [("prefix", asked), ("namespace", "*"), ("per_page", "20")];
    let found: Vec<Identified> = visit.read(list, &query).await?;
    let mut fitting = found.into_iter().filter(|row| row.id.starts_with(prefix));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one.id),
        (Some(_), Some(_)) => Err(PageError::Input(format!("The ID of more than one {kind} begins with {prefix}."))),
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
