//! The servers of a cluster: joining, bootstrapping, adding and removing Raft peers.
//! [`encamp_server::leadership::peers`] decides what is to be done.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::calls::{Claim, Confirm, ForceLeave, Meet, RemovePeer};
use super::gossip::{Gossip, Identity};
use super::levels::Told;
use super::pool::Pool;
use super::service::{PromiseError, Service};
use super::wire::CallError;
use encamp_http::agent::gossip_keys::{KeysFailure, KeysReport};
use encamp_http::agent::pending::Pending;
use encamp_http::agent::servers::Membership;
use encamp_model::capability::CapabilityLevel;
use encamp_model::{KeyChange, duration};
use encamp_raft::{MembershipError, Peer, ServerId};
use encamp_server::Server;
use encamp_server::leadership::peers::{self, Bootstrap, Change, KnownServer, View, bootstrap};

/// Longest wait for an answer while joining.
const ANSWER: Duration = Duration::from_secs(5);
/// Longest pause between two looks at the members.
const LOOK: Duration = Duration::from_secs(1);
/// Most servers that are greeted because another one named them.
const MOST_GREETED: usize = 64;
/// How long a server is left alone that did not say who it is.
const LEFT_ALONE: Duration = Duration::from_secs(5);
/// How long the departure of a failed server is announced again to servers that missed its failure.
const DEPARTURE_ANNOUNCED: Duration = Duration::from_secs(30);
/// How often it is logged that a server is not added because its build is too old.
const TOO_OLD_LOGGED: Duration = Duration::from_secs(60);
/// How soon a change of the members may follow another one.
const SOON: Duration = Duration::from_millis(100);

/// How this server finds others.
#[derive(Debug, Clone, Default)]
pub struct Joining {
    /// Addresses with ports that are tried until one answers (`retry_join`).
    pub retry: Vec<String>,
    /// Most tries; 0 for no limit.
    pub most: u64,
    /// Pause between two tries.
    pub interval: Duration,
    /// `bootstrap_expect`.
    pub expect: u32,
    /// Where others answer whose address has no port.
    pub default_port: u16,
}

/// Why a server was not joined.
#[derive(Debug, thiserror::Error)]
enum JoinError {
    /// The server answers calls, but no server answers by gossip.
    #[error("failed to join {target}: no server answers by gossip")]
    NoGossip {
        /// The address.
        target: String,
    },
    /// The server answers neither calls nor datagrams.
    #[error("failed to join {target}: {source}")]
    Call {
        /// The address.
        target: String,
        /// The error of the call.
        source: CallError,
    },
}

/// Why this server may not bootstrap the cluster.
#[derive(Debug, thiserror::Error)]
enum ClaimError {
    /// This server follows another one.
    #[error(transparent)]
    Own(#[from] PromiseError),
    /// Another founder does not promise to follow this server.
    #[error("{name}: {source}")]
    Founder {
        /// The name of the founder.
        name: String,
        /// The error of the call.
        source: CallError,
    },
}

/// Why a member was not added, changed or removed.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    /// The server did not confirm its address.
    #[error("{id} does not answer at {address}: {source}")]
    Unconfirmed {
        /// The server.
        id: ServerId,
        /// The address.
        address: String,
        /// The error of the call.
        source: CallError,
    },
    /// Consensus refused the change.
    #[error(transparent)]
    Membership(#[from] MembershipError),
}

/// An address with a port: its own, or the one given.
pub fn with_port(address: &str, port: u16) -> String {
    let bare = address.trim_matches(['[', ']']);
    if bare.parse::<std::net::Ipv6Addr>().is_ok() {
        return format!("[{bare}]:{port}");
    }
    let given = address.rsplit_once(':').is_some_and(|(_, p)| p.parse::<u16>().is_ok());
    if given { address.to_string() } else { format!("{address}:{port}") }
}

/// The members as this server looks after them; clones share it.
#[derive(Clone)]
pub struct Members {
    service: Service,
    gossip: Gossip,
    pool: Pool,
    joining: Arc<Joining>,
    pub(super) told: Told,
    /// Servers of older builds that were not added, and since when that was logged.
    too_old: Arc<Mutex<HashMap<ServerId, Instant>>>,
    /// Servers that did not say that they are who gossip says, and since when.
    unconfirmed: Arc<Mutex<HashMap<ServerId, Instant>>>,
}

impl Members {
    /// Looks after the members; nothing is done before [`Members::start`].
    pub fn new(service: Service, pool: &Pool, joining: Joining) -> Members {
        let (gossip, joining) = (service.gossip().clone(), Arc::new(joining));
        let pool = pool.another();
        Members {
            gossip,
            service,
            pool,
            joining,
            told: Told::default(),
            too_old: Arc::default(),
            unconfirmed: Arc::default(),
        }
    }

    /// Joins, makes the first cluster and looks after its members until the tasks are dropped.
    pub fn start(&self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(self.clone().keep_joining());
        tasks.spawn(self.clone().begin());
        tasks.spawn(self.clone().reconcile());
        tasks.spawn(self.clone().follow_levels());
        tasks
    }

    pub(super) fn server(&self) -> &Server {
        self.service.server()
    }

    pub(super) fn gossip(&self) -> &Gossip {
        &self.gossip
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Joins whoever is at an address, which may be that of the gossip or of calls.
    ///
    /// # Errors
    /// Nobody answers.
    async fn join_one(&self, address: &str) -> Result<(), JoinError> {
        let target = with_port(address, self.joining.default_port);
        let meet = Meet { from: self.gossip.own().addr };
        let by_call = self.pool.call_within(ANSWER, &target, &meet);
        let by_datagram = self.greet(&target);
        tokio::pin!(by_call, by_datagram);
        let known = tokio::select! {
            () = &mut by_datagram => return Ok(()),
            known = &mut by_call => known,
        };
        match known {
            // An address that answered is that of a server. The other servers announce themselves by gossip.
            Ok(servers) => {
                let own = self.gossip.own().addr;
                let others: Vec<SocketAddr> = servers.into_iter().filter(|s| *s != own).take(MOST_GREETED).collect();
                // It was this server that answered.
                if others.is_empty() {
                    return Ok(());
                }
                for other in others {
                    self.gossip.announce(other).await;
                }
                let known = tokio::time::timeout(ANSWER, self.until_others()).await;
                known.map_err(|_| JoinError::NoGossip { target: target.clone() })
            }
            // Where nobody takes calls, somebody may still take datagrams.
            Err(e) => match tokio::time::timeout(LOOK * 2, by_datagram).await {
                Ok(()) => Ok(()),
                Err(_) => Err(JoinError::Call { target: target.clone(), source: e }),
            },
        }
    }

    /// Ends when another server is known.
    async fn until_others(&self) {
        let mut changes = self.gossip.changes();
        while self.gossip.alive().len() < 2 {
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    }

    /// Ends when the server at the address is known, which may advertise another one; never if no server answers.
    async fn greet(&self, target: &str) {
        let Ok(addresses) = tokio::net::lookup_host(target).await else { return std::future::pending().await };
        let addresses: Vec<SocketAddr> = addresses.collect();
        let mut changes = self.gossip.changes();
        loop {
            if let Some(found) = self.gossip.who_is_at(&addresses, LOOK / 2).await {
                if found.id == self.gossip.own().id || self.gossip.address_of(found.id).is_some() {
                    return;
                }
                self.gossip.announce(found.addr).await;
                let _ = tokio::time::timeout(LOOK / 2, changes.changed()).await;
                continue;
            }
            // An answer goes to where the question came from. Where datagrams are forwarded one way only, that is not
            // this server, but servers still reach each other at the addresses that they advertise.
            let own = self.gossip.own().addr;
            if self.gossip.alive().iter().any(|s| addresses.contains(&s.addr) && s.addr != own) {
                return;
            }
            for address in addresses.iter().filter(|a| **a != own) {
                self.gossip.announce(*address).await;
            }
        }
    }

    /// Joins servers; gives how many answered, and what the others said.
    pub async fn join_all(&self, addresses: &[String]) -> (usize, Vec<String>) {
        let tried = futures_util::future::join_all(addresses.iter().map(|a| self.join_one(a))).await;
        let errors: Vec<String> = tried.into_iter().filter_map(|t| Some(t.err()?.to_string())).collect();
        (addresses.len() - errors.len(), errors)
    }

    /// Tries the configured addresses and those of the log until another server is known; again when all are gone.
    async fn keep_joining(self) {
        let interval = self.joining.interval.max(SOON);
        let mut tries = 0;
        loop {
            let own = self.gossip.own();
            if self.gossip.alive().len() < 2 {
                let logged = self.server().consensus().configuration().servers.into_iter().map(|m| m.peer.address);
                let mut targets: Vec<String> = self.joining.retry.clone();
                targets.extend(logged.filter(|a| *a != own.rpc));
                let given_up = self.joining.most > 0 && tries >= self.joining.most;
                if !targets.is_empty() && !given_up {
                    tries += 1;
                    let (_, errors) = self.join_all(&targets).await;
                    for error in errors {
                        tracing::warn!(target: "agent.joiner", error = error.as_str(), "join failed");
                    }
                    if self.gossip.alive().len() < 2 && self.joining.most > 0 && tries >= self.joining.most {
                        tracing::error!(target: "agent.joiner", "max join retry exhausted");
                    }
                }
            }
            tokio::time::sleep(interval).await;
        }
    }

    /// Makes the first cluster when the expected servers know each other (`docs/spec/server.md §23`).
    async fn begin(self) {
        let own = self.gossip.own();
        let mut changes = self.gossip.changes();
        let mut logged = String::new();
        while !self.server().consensus().has_log().await {
            match bootstrap(own.id, &own.region, self.joining.expect, &self.gossip.known()) {
                Bootstrap::Wait => {}
                Bootstrap::Conflict(text) => {
                    if text != logged {
                        tracing::error!(target: "nomad", reason = text.as_str(), "no cluster is bootstrapped");
                        logged = text;
                    }
                }
                Bootstrap::Begin(founders) => match self.claim(own.id, &founders).await {
                    Ok(()) => {
                        let ids: Vec<String> = founders.keys().map(ToString::to_string).collect();
                        tracing::info!(target: "nomad", servers = ids.join(","), "found expected number of servers, bootstrapping");
                        if let Err(error) = self.server().consensus().make_cluster(founders).await {
                            tracing::error!(target: "nomad", %error, "failed to bootstrap the cluster");
                        }
                    }
                    Err(reason) => tracing::info!(target: "nomad", %reason, "bootstrap waits"),
                },
            }
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    }

    /// Has every founder promise to follow this server and no other one. Two clusters with a founder in common can't
    /// begin.
    async fn claim(&self, by: ServerId, founders: &BTreeMap<ServerId, Peer>) -> Result<(), ClaimError> {
        self.service.promise(by).await?;
        let others = founders.iter().filter(|(id, _)| **id != by);
        let asked = others.map(|(to, peer)| async move {
            let asked = self.pool.call_server(ANSWER, *to, &peer.address, &Claim { to: *to, by }).await;
            asked.map_err(|source| ClaimError::Founder { name: peer.name.clone(), source })
        });
        futures_util::future::try_join_all(asked).await.map(drop)
    }

    /// The leader keeps the members of consensus as the servers that there are.
    async fn reconcile(self) {
        let own = self.gossip.own();
        let mut changes = self.gossip.changes();
        let mut healthy: HashMap<ServerId, Instant> = HashMap::new();
        loop {
            tokio::time::sleep(SOON).await;
            let consensus = self.server().consensus();
            let change = if consensus.leads() {
                self.record_health();
                self.next_change(&own, &mut healthy)
            } else {
                healthy.clear();
                None
            };
            let changed = change.is_some();
            if let Some(change) = change {
                self.carry_out(change).await;
            }
            if !changed {
                let _ = tokio::time::timeout(LOOK, changes.changed()).await;
            }
        }
    }

    /// Records the health of the members.
    fn record_health(&self) {
        let (consensus, known) = (self.server().consensus(), self.gossip.known());
        let trailing = self.server().snapshot().autopilot().cloned().unwrap_or_default().max_trailing_logs;
        let members = consensus.configuration().servers;
        let health = peers::health(&members, Some(&known), |id| consensus.behind(id), trailing);
        let metrics = self.server().metrics();
        metrics.gauge("nomad.autopilot.healthy", f64::from(u8::from(health.healthy)), &[]);
        metrics.gauge("nomad.autopilot.failure_tolerance", health.failure_tolerance as f64, &[]);
    }

    /// `healthy`: since when members are alive and up to date.
    fn next_change(&self, own: &Identity, healthy: &mut HashMap<ServerId, Instant>) -> Option<Change> {
        let consensus = self.server().consensus();
        let mut known = self.known();
        {
            let mut unconfirmed = self.unconfirmed.lock();
            unconfirmed.retain(|_, since| since.elapsed() < LEFT_ALONE);
            known.retain(|k| !unconfirmed.contains_key(&k.id));
        }
        let members = consensus.configuration().servers;
        let autopilot = self.server().snapshot().autopilot().cloned().unwrap_or_default();
        let now = Instant::now();
        healthy.retain(|id, _| members.iter().any(|m| m.id == *id));
        for k in &known {
            let up_to_date = || consensus.behind(k.id).is_some_and(|lag| lag <= autopilot.max_trailing_logs);
            if k.status.responds() && up_to_date() {
                healthy.entry(k.id).or_insert(now);
            } else {
                healthy.remove(&k.id);
            }
        }
        let least = duration::of_nanos(autopilot.server_stabilization_time);
        let stable = |id| healthy.get(&id).is_some_and(|since| now - *since >= least);
        let (region, expect) = (own.region.as_str(), self.joining.expect);
        let (known, members, autopilot, stable) = (&known, &members, &autopilot, &stable);
        let level = self.server().snapshot().capability_level();
        let view = View { own: own.id, region, expect, known, members, autopilot, level, stable };
        self.log_too_old(&view);
        view.next()
    }

    /// The servers with the levels that they told.
    fn known(&self) -> Vec<KnownServer> {
        let mut known = self.gossip.known();
        known.iter_mut().for_each(|k| k.level = self.level_of(k.id));
        known
    }

    /// Says which servers are not added because their builds are too old, every now and then.
    fn log_too_old(&self, view: &View<'_>) {
        let mut logged = self.too_old.lock();
        for server in view.too_old() {
            if logged.get(&server.id).is_none_or(|since| since.elapsed() >= TOO_OLD_LOGGED) {
                logged.insert(server.id, Instant::now());
                let (level, cluster) = (server.level.map(CapabilityLevel::number), view.level.number());
                tracing::warn!(target: "nomad", server = server.name, level, cluster, "refused a server: its build is of a lower capability level than the cluster; install the build of the other servers on it");
            }
        }
    }

    async fn carry_out(&self, change: Change) {
        let consensus = self.server().consensus();
        let text = format!("{change:?}");
        let done = match change {
            Change::Add(id, peer) => match self.confirmed(id, &peer.address).await {
                Ok(()) => consensus.add_member(id, peer).await.map_err(ChangeError::from),
                Err(unconfirmed) => Err(unconfirmed),
            },
            Change::Promote(id) => consensus.give_vote(id).await.map_err(ChangeError::from),
            Change::Rename(id, peer) => match self.confirmed(id, &peer.address).await {
                Ok(()) => consensus.rename_member(id, peer).await.map_err(ChangeError::from),
                Err(unconfirmed) => Err(unconfirmed),
            },
            Change::Remove(id) => consensus.remove_member(id).await.map_err(ChangeError::from),
        };
        match done {
            Ok(()) => tracing::info!(target: "nomad", change = text.as_str(), "raft members changed"),
            Err(error) => {
                tracing::warn!(target: "nomad", change = text.as_str(), %error, "raft members could not be changed");
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Datagrams can be forged: a server that becomes a member, or has moved, has to say itself at its address that it
    /// is the one, with its certificate where there are any. One that does not is left alone for a while.
    async fn confirmed(&self, id: ServerId, address: &str) -> Result<(), ChangeError> {
        let answer = self.pool.call_server(ANSWER, id, address, &Confirm { to: id }).await;
        answer.map_err(|e| {
            self.unconfirmed.lock().insert(id, Instant::now());
            ChangeError::Unconfirmed { id, address: address.into(), source: e }
        })
    }

    /// Leaves the cluster for good: hands over, is removed, and tells the others. A server alone only says so.
    pub async fn leave(&self) {
        let consensus = self.server().consensus();
        let own = self.gossip.own().id;
        let others: Vec<_> = consensus.configuration().servers.into_iter().filter(|m| m.id != own && m.voter).collect();
        if consensus.leads() {
            let heir = others.iter().find(|m| self.gossip.address_of(m.id).is_some());
            if let Some(heir) = heir {
                self.server().hand_over(heir).await;
            }
        }
        self.gossip.leave().await;
        if !others.is_empty()
            && let Err(error) = self.service.run(RemovePeer { id: own }).await
        {
            tracing::error!(target: "nomad", %error, "failed to leave the raft members");
        }
    }
}

impl Members {
    /// Tells servers that a server is to leave; gives those that do not know it, or did not answer.
    async fn announce_departure(&self, call: &ForceLeave, to: Vec<Identity>) -> Vec<Identity> {
        let calls = to.iter().map(|s| self.pool.call_server(ANSWER, s.id, &s.rpc, call));
        let answers = futures_util::future::join_all(calls).await;
        let mut unaware = Vec::new();
        for (answer, server) in answers.into_iter().zip(to) {
            match answer {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    let server = server.full_name();
                    tracing::warn!(target: "nomad", server, %error, "failed to announce a departure");
                }
            }
            unaware.push(server);
        }
        unaware
    }

    /// Servers notice a failure at different times, and one that sees the server respond takes it for one that leaves for
    /// a while: without a repeated request, a leader that notices late would keep the server as a peer. Ends when all
    /// agree, when the server is back, or after a while.
    async fn repeat_departure(self, call: ForceLeave, mut unaware: Vec<Identity>) {
        let end = Instant::now() + DEPARTURE_ANNOUNCED;
        while !unaware.is_empty() && Instant::now() < end && !self.gossip.is_alive(&call.name) {
            tokio::time::sleep(LOOK).await;
            unaware = self.announce_departure(&call, unaware).await;
        }
    }
}

impl Membership for Members {
    fn members(&self) -> Vec<KnownServer> {
        self.known()
    }

    fn encrypted(&self) -> bool {
        self.gossip.keyring().encrypts()
    }

    fn gossip_keys(&self, change: Option<KeyChange>) -> Pending<'_, Result<KeysReport, KeysFailure>> {
        Box::pin(self.change_gossip_keys(change))
    }

    fn join(&self, addresses: Vec<String>) -> Pending<'_, (usize, Vec<String>)> {
        Box::pin(async move { self.join_all(&addresses).await })
    }

    fn force_leave(&self, name: String, prune: bool) -> Pending<'_, ()> {
        Box::pin(async move {
            let found = self.gossip.force_leave(&name, prune);
            let own = self.gossip.own().id;
            let others = self.gossip.alive().into_iter().filter(|s| s.id != own).collect();
            let call = ForceLeave { name, prune };
            let unaware = self.announce_departure(&call, others).await;
            if found && !unaware.is_empty() {
                tokio::spawn(self.clone().repeat_departure(call, unaware));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_the_port_they_lack() {
        for (given, want) in [
            ("10.0.0.1", "10.0.0.1:4647"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("a.example", "a.example:4647"),
            ("::1", "[::1]:4647"),
            ("[::1]", "[::1]:4647"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(with_port(given, 4647), want, "{given}");
        }
    }
}
