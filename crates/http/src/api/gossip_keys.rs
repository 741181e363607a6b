//! The keys that encrypt gossip between servers (`docs/spec/http-api.md §5.1`): installed, used and removed on all
//! servers at once.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::agent::gossip_keys::KeyCount;
use crate::agent::servers::Membership;
use crate::error::Error;
use crate::request::Request;
use crate::request::response::{Outcome, Response};
use encamp_model::{GossipKey, InvalidGossipKey, KeyChange, SecretString};

#[derive(Deserialize)]
struct Body {
    #[serde(rename = "Key", default)]
    key: SecretString,
}

/// The servers of the cluster; 501 for an agent without a server.
fn membership(request: &Request) -> Result<Option<std::sync::Arc<dyn Membership>>, Error> {
    match request.app().server() {
        Some(_) => Ok(request.app().membership().cloned()),
        None => Err(Error::new(501, "Invalid method")),
    }
}

async fn answer(request: &Request, change: Option<KeyChange>) -> Outcome {
    let Some(membership) = membership(request)? else {
        // A server without gossip has no keys for it.
        return Err(Error::internal("1/1 nodes reported failure"));
    };
    let report = membership.gossip_keys(change).await.map_err(Error::internal)?;
    let counts = |count: fn(&KeyCount) -> usize| -> BTreeMap<&str, usize> {
        report.keys.iter().map(|k| (k.key.expose(), count(k))).filter(|(_, n)| *n > 0).collect()
    };
    Response::json(&json!({
        "Messages": report.messages,
        "Keys": counts(|k| k.installed),
        "PrimaryKeys": counts(|k| k.primary),
        "NumNodes": report.servers,
    }))
}

async fn changed(mut request: Request, change: fn(GossipKey) -> KeyChange) -> Outcome {
    request.authorize()?;
    membership(&request)?;
    let body: Body = request.json().await?;
    let invalid = |e: InvalidGossipKey| Error::bad(format!("Invalid encryption key: {e}"));
    let key = GossipKey::try_from(body.key).map_err(invalid)?;
    answer(&request, Some(change(key))).await
}

pub(crate) async fn list(request: Request) -> Outcome {
    answer(&request, None).await
}

pub(crate) async fn install(request: Request) -> Outcome {
    changed(request, KeyChange::Install).await
}

pub(crate) async fn use_key(request: Request) -> Outcome {
    changed(request, KeyChange::Use).await
}

pub(crate) async fn remove(request: Request) -> Outcome {
    changed(request, KeyChange::Remove).await
}

/// Any other operation.
pub(crate) async fn unknown(request: Request) -> Outcome {
    membership(&request)?;
    Err(Error::not_found("resource not found"))
}
