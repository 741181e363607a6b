//! Access control (`docs/spec/http-api.md §5.16`): policies, tokens, roles, auth methods, binding rules.
//!
//! Without access control all calls but few are refused, after the errors of the request itself.

pub(crate) mod auth_methods;
pub(crate) mod login;
pub(crate) mod policies;
pub(crate) mod roles;
pub(crate) mod tokens;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::request::Request;
use crate::request::json::duration_or_text;
use crate::request::read_options::ReadOptions;
use crate::request::response::{Outcome, Response};
use encamp_model::json::or_default;
use encamp_model::{AclToken, with_secrets};
use encamp_server::endpoints::identity;

/// Refuses calls where there is no access control.
///
/// # Errors
/// 400.
fn enabled(request: &Request) -> Result<(), Error> {
    if request.app().settings().acl_enabled { Ok(()) } else { Err(Error::bad("ACL support disabled")) }
}

/// Begins a read about access control that needs the right of the route.
///
/// # Errors
/// 400: an option is invalid, or there is no access control. 403.
fn begin_read(request: &Request) -> Result<ReadOptions, Error> {
    let options = request.read_options()?;
    enabled(request)?;
    request.authorize()?;
    Ok(options)
}

/// Begins a write without a body.
///
/// # Errors
/// As [`begin_read`].
fn begin_delete(request: &Request) -> Result<(), Error> {
    request.check_region()?;
    enabled(request)?;
    request.authorize()?;
    Ok(())
}

/// A token with its secret: for its owner, or for who may make tokens.
fn body_of(token: &AclToken) -> Result<Value, Error> {
    let mut body = with_secrets(|| serde_json::to_value(token)).map_err(|e| Error::internal(e.to_string()))?;
    if !token.roles.is_empty()
        && let Value::Object(members) = &mut body
    {
        // A token with roles has a list of policies, even if that is empty.
        members.insert("Policies".into(), json!(token.policies));
    }
    Ok(body)
}

/// An answer with the secret of a token.
fn with_secret(token: &AclToken) -> Outcome {
    Response::json(&body_of(token)?)
}

/// A request for a node introduction token.
#[derive(Default, Deserialize)]
#[serde(default)]
struct IntroductionRequest {
    #[serde(rename = "TTL", deserialize_with = "duration_or_text")]
    ttl: i64,
    #[serde(rename = "NodeName", deserialize_with = "or_default")]
    node_name: String,
    #[serde(rename = "NodePool", deserialize_with = "or_default")]
    node_pool: String,
}

/// Works without access control, too.
pub(crate) async fn introduce(mut request: Request) -> Outcome {
    let body: IntroductionRequest = request.json().await?;
    request.check_region()?;
    request.authorize()?;
    let jwt = identity::introduce(request.server()?, &body.node_name, &body.node_pool, body.ttl).await?;
    Response::json(&json!({ "JWT": jwt }))
}

/// What the caller may do: for agents without a server, and for explanations.
pub(crate) async fn access(request: Request) -> Outcome {
    request.read_options()?;
    let access = request.access()?.current().map_err(|_| Error::denied())?;
    let snapshot = request.server()?.snapshot();
    Response::json(&access.told(&snapshot))
}
