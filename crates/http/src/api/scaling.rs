//! Scaling policies (`docs/spec/http-api.md §5.12`).

use std::sync::Arc;

use crate::request::blocking_read::{found, indexed};
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::*;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

fn in_namespace(policy: &ScalingPolicy) -> &str {
    policy.target.get("Namespace").map_or("default", String::as_str)
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let seen = request.authorize_in(&options.namespace)?;
    let prefix = ids::prefix("scaling_policy", &options.prefix)?;
    let (job, r#type) = (request.query().get("job"), request.query().get("type"));
    let keys = vec![WatchKey::Table(Table::ScalingPolicy)];
    let read = |store: &StateStore| {
        let wanted = |p: &&Arc<ScalingPolicy>| {
            seen.in_namespace(in_namespace(p))
                && (job.is_empty() || p.target.get("Job").is_some_and(|j| j == job))
                && p.r#type.as_str().starts_with(r#type)
                && p.id.starts_with(&prefix)
        };
        let stubs: Vec<_> = store.scaling_policies().filter(wanted).map(|p| p.stub()).collect();
        Ok((store.index_of(Table::ScalingPolicy).max(1), stubs))
    };
    let (stubs, meta) = request.blocking(&options, keys, read).await?;
    Ok(Response::json(&stubs)?.meta(&meta))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let options = request.read_options()?;
    let id = ids::full("scaling_policy", request.rest())?;
    let keys = vec![WatchKey::Table(Table::ScalingPolicy)];
    let read = |store: &StateStore| {
        Ok(indexed(store, Table::ScalingPolicy, store.scaling_policy(&id).cloned(), |p| p.modify_index))
    };
    let (policy, meta) = found(request.blocking(&options, keys, read).await?, "policy not found")?;
    request.authorize_in(in_namespace(&policy))?;
    Ok(Response::json(&*policy)?.meta(&meta))
}
