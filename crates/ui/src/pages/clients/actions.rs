//! Drains and eligibility of a client.

use std::collections::BTreeMap;

use axum::http::Method;
use encamp_model::duration::parse_duration;
use encamp_model::requests::{DrainSpec, NodeDrainRequest};
use serde_json::{Value, json};

use crate::error::PageError;
use crate::pages::Done;
use crate::parts::link;
use crate::visit::{Visit, path};

/// The deadline of a drain that stops all allocations at once.
const FORCE: i64 = -1;

/// Starts a drain, or changes the one that is in progress.
pub(super) async fn drain(visit: &Visit) -> Result<Done, PageError> {
    let deadline = match visit.field("kind") {
        Some("force") => FORCE,
        Some("unlimited") => 0,
        _ => {
            let text = visit.field("deadline").unwrap_or("1h").trim();
            let bad = || PageError::Input(format!("The deadline is not a duration such as 1h30m: {text}"));
            parse_duration(text).ok().filter(|nanos| *nanos > 0).ok_or_else(bad)?
        }
    };
    let spec = DrainSpec { deadline, ignore_system_jobs: visit.field("ignore_system").is_some() };
    let message = visit.field("message").map(|text| ("message".to_string(), text.to_string()));
    send_drain(visit, Some(spec), message.into_iter().collect()).await?;
    Ok(Done::new(link::client_address(visit.name("id")), "The client drains."))
}

/// Ends a drain.
pub(super) async fn stop_drain(visit: &Visit) -> Result<Done, PageError> {
    send_drain(visit, None, BTreeMap::new()).await?;
    Ok(Done::new(link::client_address(visit.name("id")), "The drain is stopped."))
}

async fn send_drain(
    visit: &Visit,
    drain_spec: Option<DrainSpec>,
    meta: BTreeMap<String, String>,
) -> Result<Value, PageError> {
    let id = visit.name("id");
    let mark_eligible = drain_spec.is_none() && visit.field("eligible").is_some();
    let request = NodeDrainRequest { node_id: id.to_string(), drain_spec, mark_eligible, meta };
    visit.write(Method::PUT, &path("/v1/node/", id, "/drain"), &[], &request).await
}

/// Allows or ends new allocations.
pub(super) async fn eligibility(visit: &Visit) -> Result<Done, PageError> {
    let id = visit.name("id");
    let to = visit.required("to", "The eligibility")?;
    let request = json!({ "NodeID": id, "Eligibility": to });
    let _: Value = visit.write(Method::PUT, &path("/v1/node/", id, "/eligibility"), &[], &request).await?;
    Ok(Done::new(link::client_address(id), format!("The client is {to}.")))
}
