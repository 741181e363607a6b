//! The leader, the Raft peers, the regions (`docs/spec/http-api.md §5.1`).

use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};

/// The routes.
pub const ROUTES: &[Route] =
    &[route!("/v1/status/leader", leader), route!("/v1/status/peers", peers), route!("/v1/regions", regions)];

async fn leader(request: Request) -> Outcome {
    request.only_get()?;
    request.read_options()?;
    Response::json(&request.server()?.leader_address().unwrap_or_default())
}

async fn peers(request: Request) -> Outcome {
    request.only_get()?;
    request.read_options()?;
    let configuration = request.server()?.consensus().configuration();
    let voters = configuration.servers.iter().filter(|m| m.voter);
    Response::json(&voters.map(|m| m.peer.address.clone()).collect::<Vec<_>>())
}

async fn regions(request: Request) -> Outcome {
    request.only_get()?;
    Response::json(&[&request.app().settings().region])
}
