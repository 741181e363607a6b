//! The leader, the Raft peers, the regions (`docs/spec/http-api.md §5.1`).

use crate::request::Request;
use crate::request::response::{Outcome, Response};

pub(crate) async fn leader(request: Request) -> Outcome {
    request.read_options()?;
    Response::json(&request.server()?.leader_address().unwrap_or_default())
}

pub(crate) async fn peers(request: Request) -> Outcome {
    request.read_options()?;
    let configuration = request.server()?.consensus().configuration();
    let voters = configuration.servers.iter().filter(|m| m.voter);
    Response::json(&voters.map(|m| m.peer.address.clone()).collect::<Vec<_>>())
}

pub(crate) async fn regions(request: Request) -> Outcome {
    Response::json(&[&request.app().settings().region])
}
