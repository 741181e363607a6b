//! Search (`docs/spec/http-api.md §5.13`).

use serde::Serialize;

use crate::access::authorization::Access;
use crate::access::right::{Capability, Level, Need, PluginLevel, PoolCapability, VariableCapability};
use crate::error::Error;
use crate::request::Request;
use crate::request::read_options::ReadOptions;
use crate::request::response::{Meta, Outcome, Response};
use encamp_model::requests::SearchRequest;
use encamp_model::responses::SearchResponse;
use encamp_server::endpoints::search::{self, Found, Scope};
use encamp_state::StoreSnapshot;

fn answer<T: Serialize>(found: Found<T>, meta: &Meta) -> Outcome {
    let body = SearchResponse {
        matches: found.matches.into_iter().map(|(context, matches)| (context.to_string(), matches)).collect(),
        truncations: found.truncations.into_iter().map(|(context, cut)| (context.to_string(), cut)).collect(),
        index: meta.index,
        last_contact: i64::try_from(meta.last_contact).unwrap_or(i64::MAX),
        known_leader: meta.known_leader,
        next_token: String::new(),
    };
    Ok(Response::json(&body)?.meta(meta))
}

/// Whether a row of a context may be seen; of an empty name, whether any may.
fn may_see(access: &Access, context: &str, namespace: &str, name: &str) -> bool {
    let of_namespace = |list: &[Capability]| access.allows(&Need::Namespace(namespace, list));
    match context {
        "nodes" => access.allows(&Need::Node(Level::Read)),
        "allocs" | "jobs" | "evals" | "deployment" => of_namespace(&[Capability::ReadJob]),
        "scaling_policy" => of_namespace(&[Capability::ListScalingPolicies, Capability::ReadJob]),
        "volumes" => of_namespace(&[
            Capability::CsiListVolume,
            Capability::CsiReadVolume,
            Capability::ListJobs,
            Capability::ReadJob,
        ]),
        "host_volumes" => of_namespace(&[Capability::HostVolumeRead]),
        "vars" if name.is_empty() => access.allows(&Need::AnyVariable(namespace)),
        "vars" => access.allows(&Need::Variable(namespace, name, VariableCapability::List)),
        "plugins" => access.allows(&Need::Plugin(PluginLevel::List)),
        "node_pools" if name.is_empty() => access.allows(&Need::AnyPool),
        "node_pools" => access.allows(&Need::Pool(name, PoolCapability::Read)),
        _ => access.allows(&Need::AnyIn(namespace)),
    }
}

/// The state to search, and what of it may be seen. Searches do not wait for news.
async fn state(request: &Request, options: &ReadOptions) -> Result<StoreSnapshot, Error> {
    let server = request.server()?;
    if !options.stale {
        server.wait_ready().await?;
    }
    Ok(server.snapshot())
}

fn ask<T: Serialize>(
    request: &Request,
    options: &ReadOptions,
    context: &str,
    find: impl Fn(&Scope<'_>) -> Result<Found<T>, encamp_server::Error>,
) -> Outcome {
    let access = request.authorize()?;
    let allowed = |c: &str| may_see(&access, c, &options.namespace, "");
    if search::CONTEXTS.contains(&context) && !allowed(context) {
        return Err(Error::denied());
    }
    let visible = |context: &str, ns: &str, name: &str| may_see(&access, context, ns, name);
    let scope = Scope { namespace: &options.namespace, allowed: &allowed, visible: &visible };
    let found = find(&scope)?;
    let meta = request.meta(found.index);
    answer(found, &meta)
}

pub(crate) async fn prefix(mut request: Request) -> Outcome {
    let body: SearchRequest = request.json().await?;
    let options = request.read_options()?;
    let store = state(&request, &options).await?;
    ask(&request, &options, &body.context, |scope| search::prefix(&store, scope, &body.context, &body.prefix))
}

pub(crate) async fn fuzzy(mut request: Request) -> Outcome {
    let body: SearchRequest = request.json().await?;
    let options = request.read_options()?;
    let settings = request.server()?.settings().search.clone();
    let store = state(&request, &options).await?;
    let find = |scope: &Scope<'_>| search::fuzzy(&store, scope, &body.context, &body.text, &settings);
    ask(&request, &options, &body.context, find)
}
