//! ACL endpoints while ACLs are disabled (`docs/spec/http-api.md §5.16`): errors of the request itself take precedence.

use serde::Deserialize;
use serde_json::json;

use super::error::Error;
use super::json::duration_or_text;
use super::request::Request;
use super::response::Response;
use super::route::Outcome;
use encamp_model::json::or_default;
use encamp_server::endpoints::identity;

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
pub(super) async fn introduce(mut request: Request) -> Outcome {
    let body: IntroductionRequest = request.json().await?;
    request.check_region()?;
    request.authorize()?;
    let jwt = identity::introduce(request.server()?, &body.node_name, &body.node_pool, body.ttl).await?;
    Response::json(&json!({ "JWT": jwt }))
}

fn off() -> Error {
    Error::bad("ACL support disabled")
}

pub(super) async fn read(request: Request) -> Outcome {
    request.read_options()?;
    Err(off())
}

/// Writes, and calls of one object.
pub(super) async fn refused(_: Request) -> Outcome {
    Err(off())
}

/// The token of the request, which is a constant one without access control.
pub(super) async fn own_token(request: Request) -> Outcome {
    if request.app().settings().acl_enabled {
        return Err(off());
    }
    request.read_options()?;
    let body = json!({
        "AccessorID": "acls-disabled", "SecretID": "", "Name": "ACLs disabled token", "Type": "client",
        "Policies": null, "Roles": null, "Global": false, "Hash": null, "CreateTime": "0001-01-01T00:00:00Z",
        "ExpirationTime": null, "ExpirationTTL": "", "CreateIndex": 0, "ModifyIndex": 0,
    });
    let index = request.server()?.snapshot().index_of(encamp_state::Table::AclToken);
    Ok(Response::json(&body)?.meta(&request.meta(index)))
}

pub(super) async fn no_policy(_: Request) -> Outcome {
    Err(Error::bad("Missing Policy Name"))
}

pub(super) async fn no_token(_: Request) -> Outcome {
    Err(Error::bad("Missing Token Accessor ID"))
}

pub(super) async fn no_role(_: Request) -> Outcome {
    Err(Error::bad("missing ACL role ID"))
}

pub(super) async fn no_auth_method(_: Request) -> Outcome {
    Err(Error::bad("missing ACL auth-method name"))
}

pub(super) async fn no_binding_rule(_: Request) -> Outcome {
    Err(Error::bad("missing ACL binding rule ID"))
}
