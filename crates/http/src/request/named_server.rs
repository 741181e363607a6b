//! The server that the parameter `server_id` names: by its ID, by its name with the region, or `leader`
//! (`docs/spec/http-api.md §6.5`).

use crate::agent::state::AppState;
use crate::error::Error;

/// Who is meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NamedServer {
    /// The server of this agent.
    This,
    /// Another one, at an RPC address.
    At(String),
    /// Nobody that this server knows.
    Unknown,
}

impl NamedServer {
    /// Looks for a server.
    pub(crate) fn find(app: &AppState, name: &str) -> NamedServer {
        let Some(server) = app.server() else { return NamedServer::Unknown };
        let settings = server.settings();
        let leads = name == "leader" && server.consensus().leads();
        if leads || name == settings.id || name == format!("{}.{}", settings.name, settings.region) {
            return NamedServer::This;
        }
        if name == "leader" {
            return server.leader_address().map_or(NamedServer::Unknown, NamedServer::At);
        }
        let known = app.membership().map(|m| m.members()).unwrap_or_default();
        let found = known.into_iter().find(|k| k.name == name || k.id.to_string() == name);
        found.map_or(NamedServer::Unknown, |k| NamedServer::At(k.rpc))
    }

    /// The error of a request for a server that is not this one.
    pub(crate) fn unknown(name: &str) -> Error {
        Error::internal(format!("unknown Nomad server {name}"))
    }
}
