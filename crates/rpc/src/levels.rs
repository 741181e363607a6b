//! Capability levels of the servers: they ask each other, the leader raises that of the cluster, and a server of an
//! older build is told why it is not accepted (`docs/spec/server.md §23.3`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::calls::{Levels, ServerLevels};
use super::gossip::Identity;
use super::membership::Members;
use super::wire::CallError;
use encamp_model::capability::CapabilityLevel;
use encamp_raft::ServerId;
use encamp_server::error::ErrorKind;
use encamp_server::leadership::level;

/// Longest wait for the answer of a server.
const ANSWER: Duration = Duration::from_secs(5);
/// Pause between two looks at servers whose level is not known.
const LOOK: Duration = Duration::from_secs(1);

/// What servers told of their levels; clones share it.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<HashMap<ServerId, (u64, ServerLevels)>>>);

impl Told {
    /// The level of a server, if it told one since its last start.
    fn of(&self, server: &Identity) -> Option<CapabilityLevel> {
        self.0.lock().get(&server.id).filter(|(bump, _)| *bump == server.bump).map(|(_, told)| told.own)
    }

    /// The highest level of a cluster that a server told.
    fn cluster(&self) -> Option<CapabilityLevel> {
        self.0.lock().values().map(|(_, told)| told.cluster).max()
    }

    fn note(&self, server: &Identity, told: ServerLevels) {
        self.0.lock().insert(server.id, (server.bump, told));
    }

    fn retain(&self, known: &[Identity]) {
        self.0.lock().retain(|id, _| known.iter().any(|k| k.id == *id));
    }
}

/// What an answer tells of a server; builds of the first level do not know the call.
fn told(answer: Result<ServerLevels, CallError>) -> Option<ServerLevels> {
    match answer {
        Ok(levels) => Some(levels),
        Err(CallError::Refused(e)) if e.kind == ErrorKind::NotFound => {
            Some(ServerLevels { own: CapabilityLevel::FIRST, cluster: CapabilityLevel::FIRST })
        }
        Err(_) => None,
    }
}

impl Members {
    /// The level of a server, if it is this one or told it since its last start.
    pub(super) fn level_of(&self, id: ServerId) -> Option<CapabilityLevel> {
        let own = self.gossip().own();
        if id == own.id {
            return Some(encamp_host::capability::own());
        }
        self.gossip().alive().iter().find(|s| s.id == id).and_then(|s| self.told.of(s))
    }

    /// Asks servers for their levels; gives how many answered.
    async fn ask(&self, servers: Vec<Identity>) -> usize {
        let asked = servers.iter().map(|s| async {
            let answer = self.pool().call_server(ANSWER, s.id, &s.rpc, &Levels { to: s.id }).await;
            told(answer).map(|told| self.told.note(s, told)).is_some()
        });
        futures_util::future::join_all(asked).await.into_iter().filter(|answered| *answered).count()
    }

    /// The other servers that answer.
    fn others(&self) -> Vec<Identity> {
        let own = self.gossip().own().id;
        self.gossip().alive().into_iter().filter(|s| s.id != own).collect()
    }

    /// Asks every server once after each of its starts, and raises the level of the cluster when this server leads.
    pub(super) async fn follow_levels(self) {
        let mut changes = self.gossip().changes();
        let mut refused = None;
        loop {
            let others = self.others();
            self.told.retain(&others);
            let unknown: Vec<Identity> = others.into_iter().filter(|s| self.told.of(s).is_none()).collect();
            self.ask(unknown).await;
            let (own, cluster) = (encamp_host::capability::own(), self.told.cluster());
            if cluster.is_some_and(|cluster| cluster > own) && cluster != refused {
                refused = cluster;
                tracing::error!(
                    target: "nomad", level = own.number(), cluster = cluster.map(CapabilityLevel::number),
                    "the cluster does not accept this server: it needs a build of a higher capability level; install the build of the other servers and start again"
                );
            }
            self.raise_level().await;
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    }

    /// Raises the level of the cluster when all its members support a higher one. What they told may be old: a server
    /// may have been started with another build since, so they are asked again right before.
    async fn raise_level(&self) {
        let consensus = self.server().consensus();
        if !consensus.leads() || level::is_held(self.server()) {
            return;
        }
        let cluster = self.server().snapshot().capability_level();
        let next = || level::next(cluster, &consensus.configuration().servers, |id| self.level_of(id));
        if next().is_none() {
            return;
        }
        let members = consensus.configuration().servers;
        let others: Vec<Identity> =
            self.others().into_iter().filter(|s| members.iter().any(|m| m.id == s.id)).collect();
        let asked = others.len();
        if self.ask(others).await < asked {
            return;
        }
        if let Some(level) = next()
            && let Err(error) = level::raise(self.server(), level).await
        {
            tracing::warn!(target: "nomad", %error, "failed to raise the capability level of the cluster; retrying");
        }
    }
}
