//! Who makes a call: as the header of its message states it, and as it arrived.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue};

use encamp_model::SecretString;
use encamp_model::capability::CapabilityLevel;
use encamp_raft::ServerId;
use encamp_server::Error;
use encamp_server::nodes::node_auth::NodeProof;

/// ID of the node that calls, and its secret.
const NODE: [&str; 2] = ["x-encamp-node", "x-encamp-secret"];
/// The identity of the node that calls, if it has one. The secret goes with it: servers of before identities were
/// verified know nothing else.
const IDENTITY: &str = "x-encamp-identity";
/// ID of the server that calls, and what it proves that with.
const SERVER: [&str; 2] = ["x-encamp-server", "x-encamp-proof"];

/// The capability level of the calling agent; missing for the first one.
const LEVEL: &str = "x-encamp-level";

/// The calling node and its credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// ID of the node.
    pub node_id: String,
    /// How it proves that it calls.
    pub proof: NodeProof,
}

/// The caller, as stated in the header of a message: it is checked before the message is read.
#[derive(Clone, Default)]
pub struct Head {
    /// The node.
    pub node: Option<Who>,
    /// The server, and what proves that it calls.
    pub server: Option<(ServerId, String)>,
    /// The capability level of the agent that sent the message; none: the first one. Not written: a message that is
    /// sent tells the level of this agent.
    pub level: Option<CapabilityLevel>,
}

impl Head {
    /// The header of a request.
    pub fn of(headers: &HeaderMap) -> Head {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_string);
        let pair = |names: [&str; 2]| text(names[0]).zip(text(names[1]));
        let identity: SecretString = text(IDENTITY).unwrap_or_default().into();
        let node = pair(NODE).map(|(node_id, secret_id)| Who {
            node_id,
            proof: NodeProof { secret_id: secret_id.into(), identity: identity.clone() },
        });
        let level = text(LEVEL).and_then(|level| level.parse().ok());
        Head { node, level, server: pair(SERVER).and_then(|(id, proof)| Some((id.parse().ok()?, proof))) }
    }

    /// Says of an unreadable message that a newer build sent it, if that is so.
    pub(crate) fn explain(&self, mut refusal: Error) -> Error {
        let own = encamp_host::capability::own();
        if let Some(level) = self.level.filter(|level| *level > own) {
            refusal.message.push_str(&format!(
                "; its sender has capability level {level}, and this agent only level {own}: install the newer build \
                 on this agent, too"
            ));
        }
        refusal
    }

    /// Writes the header of a request.
    ///
    /// # Errors
    /// A part holds characters that can't be sent.
    pub(crate) fn write(&self, headers: &mut HeaderMap) -> Result<(), Error> {
        let level = encamp_host::capability::own();
        if level > CapabilityLevel::FIRST {
            headers.insert(LEVEL, level.number().into());
        }
        let mut put = |name: &'static str, value: &str| {
            let bad = |_| Error::bad(format!("{name} holds characters that can't be sent"));
            let mut value = HeaderValue::from_str(value).map_err(bad)?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Ok::<_, Error>(())
        };
        if let Some(who) = &self.node {
            put(NODE[0], &who.node_id)?;
            put(NODE[1], who.proof.secret_id.expose())?;
            if !who.proof.identity.is_empty() {
                put(IDENTITY, who.proof.identity.expose())?;
            }
        }
        if let Some((id, proof)) = &self.server {
            put(SERVER[0], &id.to_string())?;
            put(SERVER[1], proof)?;
        }
        Ok(())
    }
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let node = self.node.as_ref().map(|w| w.node_id.as_str());
        let server = self.server.as_ref().map(|(id, _)| *id);
        f.debug_struct("Head").field("node", &node).field("server", &server).finish()
    }
}

/// The caller of a call that arrived over the network.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The header.
    pub head: Head,
    /// Where the message comes from; `None` if another server has passed it on.
    pub address: Option<IpAddr>,
    /// Length of the message.
    pub bytes: usize,
}
