//! Root keys (`spec/http-api.md §5.15, §9, §10.4`). This server keeps none: lists are empty, changes are checked and refused.

use axum::http::{Method, header};
use serde_json::{Value, json};

use super::access::Need;
use super::error::Error;
use super::params::{decimal_int, parse_bool};
use super::request::Request;
use super::response::Response;
use super::routes::{Outcome, Route, route};
use crate::server::watch::WatchKey;
use crate::state::Table;

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/operator/keyring/", keyring), route!("/.well-known/jwks.json", jwks)];

/// How long the list of public keys may be kept at least, in seconds.
const MAX_AGE: u64 = 900;

async fn keyring(request: Request) -> Outcome {
    let rest = request.rest().to_string();
    match (rest.as_str(), request.method()) {
        ("keys", &Method::GET) => {
            let options = request.read_options()?;
            request.need(&Need::OperatorCapability("keyring-read"))?;
            let keys = vec![WatchKey::Table(Table::RootKeys)];
            let read = request.blocking(&options, keys, |store| Ok((store.index_of(Table::RootKeys), ())));
            let ((), meta) = read.await?;
            Ok(Response::json::<[Value; 0]>(&[])?.meta(&meta))
        }
        ("rotate", &Method::PUT | &Method::POST) => {
            request.check_region()?;
            request.need(&Need::OperatorCapability("keyring-rotate"))?;
            let publish = request.query().get("publish_time");
            if !publish.is_empty() {
                decimal_int(publish).map_err(|e| Error::internal(format!("invalid publish_time: {e}")))?;
                if request.query().has("full") {
                    let text = "keyring cannot be prepublished and full rotated at the same time";
                    return Err(Error::internal(text));
                }
            }
            Err(Error::internal("keyring is not initialized: this server keeps no root keys"))
        }
        (path, &Method::DELETE) if path.starts_with("key/") => {
            request.check_region()?;
            let force = request.query().get("force");
            if !force.is_empty() && parse_bool(force).is_err() {
                return Err(Error::new(422, "invalid force parameter"));
            }
            request.need(&Need::OperatorCapability("keyring-delete"))?;
            Err(Error::internal("root key not found"))
        }
        _ => Err(Error::method()),
    }
}

async fn jwks(request: Request) -> Outcome {
    request.only_get()?;
    let options = request.read_options()?;
    let keys = vec![WatchKey::Table(Table::RootKeys)];
    let read = request.blocking(&options, keys, |store| Ok((store.index_of(Table::RootKeys), ())));
    let ((), meta) = read.await?;
    let body = Response::json(&json!({ "keys": [] }))?;
    Ok(body.meta(&meta).header(header::CACHE_CONTROL, &format!("max-age={MAX_AGE}")))
}
