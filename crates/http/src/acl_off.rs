//! ACL endpoints while ACLs are disabled (`docs/spec/http-api.md §5.16`): errors of the request itself take precedence.

use axum::http::Method;
use serde::Deserialize;
use serde_json::json;

use super::access::{Level, Need};
use super::error::Error;
use super::json::duration_or_text;
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::json::or_default;
use encamp_server::endpoints::identity;

/// The routes.
pub(crate) const ROUTES: &[Route] = &[
    route!("/v1/acl/bootstrap", write),
    route!("/v1/acl/policies", read),
    route!("/v1/acl/policy/", policy),
    route!("/v1/acl/tokens", read),
    route!("/v1/acl/token", write),
    route!("/v1/acl/token/", token),
    route!("/v1/acl/roles", read),
    route!("/v1/acl/role", write),
    route!("/v1/acl/role/", role),
    route!("/v1/acl/auth-methods", read),
    route!("/v1/acl/auth-method", write),
    route!("/v1/acl/auth-method/", auth_method),
    route!("/v1/acl/binding-rules", read),
    route!("/v1/acl/binding-rule", write),
    route!("/v1/acl/binding-rule/", binding_rule),
    route!("/v1/acl/oidc/auth-url", write),
    route!("/v1/acl/oidc/complete-auth", write),
    route!("/v1/acl/login", write),
    route!("/v1/acl/identity/client-introduction-token", introduce),
];

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
async fn introduce(mut request: Request) -> Outcome {
    request.only_write()?;
    let body: IntroductionRequest = request.json().await?;
    request.check_region()?;
    request.need(&Need::Node(Level::Write))?;
    let jwt = identity::introduce(request.server()?, &body.node_name, &body.node_pool, body.ttl).await?;
    Response::json(&json!({ "JWT": jwt }))
}

fn off() -> Error {
    Error::bad("ACL support disabled")
}

async fn read(request: Request) -> Outcome {
    request.only_get()?;
    request.read_options()?;
    Err(off())
}

async fn write(request: Request) -> Outcome {
    request.only_write()?;
    Err(off())
}

/// Reading, writing and removing one object.
fn object(request: &Request, missing: &str) -> Outcome {
    if request.rest().is_empty() {
        return Err(Error::bad(missing));
    }
    match *request.method() {
        Method::GET | Method::PUT | Method::POST | Method::DELETE => Err(off()),
        _ => Err(Error::method()),
    }
}

async fn policy(request: Request) -> Outcome {
    object(&request, "Missing Policy Name")
}

async fn token(request: Request) -> Outcome {
    if request.rest() == "self" && request.is_get() && !request.app().settings().acl_enabled {
        request.read_options()?;
        let body = json!({
            "AccessorID": "acls-disabled", "SecretID": "", "Name": "ACLs disabled token", "Type": "client",
            "Policies": null, "Roles": null, "Global": false, "Hash": null, "CreateTime": "0001-01-01T00:00:00Z",
            "ExpirationTime": null, "ExpirationTTL": "", "CreateIndex": 0, "ModifyIndex": 0,
        });
        let index = request.server()?.snapshot().index_of(encamp_state::Table::AclToken);
        return Ok(Response::json(&body)?.meta(&request.meta(index)));
    }
    object(&request, "Missing Token Accessor ID")
}

async fn role(request: Request) -> Outcome {
    object(&request, "missing ACL role ID")
}

async fn auth_method(request: Request) -> Outcome {
    object(&request, "missing ACL auth-method name")
}

async fn binding_rule(request: Request) -> Outcome {
    object(&request, "missing ACL binding rule ID")
}
