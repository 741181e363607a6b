//! Membership: every server knows the others as by gossip, and the leader changes the members of consensus by the rules
//! of [`peers`]. Operators let servers join, leave, be removed while they are down, and return with an old disk or none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::cluster::{Absence, Cluster};
use super::network::Place;
use crate::Server;
use crate::leadership::peers::{Change, KnownServer, Status, View};
use encamp_model::capability::CapabilityLevel;
use encamp_model::duration;
use encamp_model::random::Random;
use encamp_raft::{MembershipError, ServerId};

/// How often a server looks at the others.
const LOOK: Duration = Duration::from_secs(1);
/// How long a server may be unreachable until it counts as failed.
const SUSPECTED: Duration = Duration::from_secs(4);
/// How long an operator waits for an answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// What a server knows of the others.
#[derive(Default)]
struct Known {
    reached: BTreeMap<ServerId, Instant>,
    healthy: BTreeMap<ServerId, Instant>,
}

impl Known {
    /// The servers as gossip tells them.
    fn look(&mut self, cluster: &Cluster, at: Place) -> Vec<KnownServer> {
        let mut known = Vec::new();
        for (id, peer, place, absence) in cluster.everyone() {
            if (place == at || cluster.reaches(at, place)) && cluster.id(place) == id {
                self.reached.insert(id, Instant::now());
            }
            let Some(last) = self.reached.get(&id) else { continue };
            let status = match absence {
                Absence::Left => Status::Left,
                Absence::None if last.elapsed() > SUSPECTED => Status::Failed,
                Absence::None => Status::Alive,
            };
            known.push(KnownServer {
                id,
                name: peer.name.clone(),
                region: "global".into(),
                datacenter: "dc1".into(),
                rpc: peer.address.clone(),
                serf: ([10, 0, 0, place as u8], 4648).into(),
                expect: u32::try_from(cluster.founders()).unwrap_or(0),
                status,
                level: Some(CapabilityLevel::BUILD),
            });
        }
        known
    }

    fn next(&mut self, cluster: &Cluster, at: Place, server: &Server) -> Option<Change> {
        let known = self.look(cluster, at);
        let consensus = server.consensus();
        let members = consensus.configuration().servers;
        let autopilot = server.snapshot().autopilot().cloned().unwrap_or_default();
        self.healthy.retain(|id, _| members.iter().any(|m| m.id == *id));
        for k in &known {
            let behind = consensus.behind(k.id);
            if k.status.responds() && behind.is_some_and(|lag| lag <= autopilot.max_trailing_logs) {
                self.healthy.entry(k.id).or_insert_with(Instant::now);
            } else {
                self.healthy.remove(&k.id);
            }
        }
        let least = duration::of_nanos(autopilot.server_stabilization_time);
        let stable = |id| self.healthy.get(&id).is_some_and(|since| since.elapsed() >= least);
        let view = View {
            own: cluster.id(at),
            region: "global",
            expect: u32::try_from(cluster.founders()).unwrap_or(0),
            known: &known,
            members: &members,
            autopilot: &autopilot,
            level: server.snapshot().capability_level(),
            stable: &stable,
        };
        view.next()
    }
}

/// Looks after the members as a server, while it leads; ends with this start of the server.
pub(crate) async fn look_after(cluster: Arc<Cluster>, at: Place, start: u64, server: Server) {
    let mut known = Known::default();
    let mut pause = LOOK;
    while cluster.network.is(at, start) {
        tokio::time::sleep(pause).await;
        pause = LOOK;
        if !server.consensus().leads() {
            known.look(&cluster, at);
            known.healthy.clear();
            continue;
        }
        let Some(change) = known.next(&cluster, at, &server) else { continue };
        let text = format!("{change:?}");
        let done = carry_out(&server, change).await;
        cluster.sim.note(format_args!("server {at} as the leader: {text}: {done:?}"));
        if done.is_ok() {
            cluster.sim.watch.count("changes of members", 1);
            pause = LOOK / 10;
        }
    }
}

async fn carry_out(server: &Server, change: Change) -> Result<(), MembershipError> {
    let consensus = server.consensus();
    match change {
        Change::Add(id, peer) => consensus.add_member(id, peer).await,
        Change::Promote(id) => consensus.give_vote(id).await,
        Change::Rename(id, peer) => consensus.rename_member(id, peer).await,
        Change::Remove(id) => consensus.remove_member(id).await,
    }
}

/// One change of the servers by an operator, or none if it could lose a majority for good.
pub(crate) async fn churn(cluster: &Arc<Cluster>, random: &mut Random) {
    match random.below(6) {
        0 => join(cluster, random).await,
        1 => leave(cluster, random).await,
        2 => removed_while_down(cluster, random).await,
        3 => new_disk(cluster, random).await,
        4 => long_death(cluster, random).await,
        // Two changes at once.
        _ => {
            let (mut first, mut second) = (cluster.chance("join"), cluster.chance("leave"));
            cluster.sim.watch.count("two changes of members at once", 1);
            tokio::join!(join(cluster, &mut first), leave(cluster, &mut second));
        }
    }
}

/// The voters, if the leader knows them, all of them run and nothing changes: one of them may go.
fn dispensable(cluster: &Cluster, random: &mut Random) -> Option<Place> {
    let (_, leader) = cluster.leader()?;
    let configuration = leader.consensus().configuration();
    let members = configuration.servers;
    let voters: Vec<Place> =
        members.iter().filter(|m| m.voter).filter_map(|m| cluster.network.place_of(m.id)).collect();
    let all = voters.len() == members.iter().filter(|m| m.voter).count();
    let run = voters.iter().all(|at| cluster.runs(*at));
    (all && run && voters.len() >= 3 && !configuration.changing).then(|| random.pick(&voters).copied()).flatten()
}

async fn join(cluster: &Arc<Cluster>, random: &mut Random) {
    let idle: Vec<Place> = (0..cluster.size()).filter(|at| cluster.is_idle(*at)).collect();
    let Some(at) = random.pick(&idle).copied() else { return };
    let known = cluster.everyone().iter().any(|(id, ..)| *id == cluster.id(at));
    let old = known && random.below(2) == 0;
    let what = if old { "servers that returned with an old disk" } else { "servers that joined" };
    cluster.sim.watch.count(what, 1);
    if known && !old {
        cluster.renew(at);
    }
    cluster.start(at).await;
}

/// A server leaves as when its agent is asked to.
async fn leave(cluster: &Arc<Cluster>, random: &mut Random) {
    let Some(at) = dispensable(cluster, random) else { return };
    let (Some(server), id) = (cluster.network.server(at), cluster.id(at)) else { return };
    cluster.sim.watch.count("servers that left", 1);
    cluster.sim.note(format_args!("server {at} leaves"));
    let others: Vec<_> = server.consensus().configuration().servers;
    if server.consensus().leads()
        && let Some(heir) = others.iter().find(|m| m.voter && m.id != id)
    {
        server.hand_over(heir).await;
    }
    cluster.absent(at);
    if let Some((leader, _)) = cluster.leader() {
        let work = move |s: Server| -> BoxFuture<'static, bool> {
            Box::pin(async move { s.consensus().remove_member(id).await.is_ok() })
        };
        let done = cluster.network.call((at, leader), PATIENCE, work).await;
        cluster.sim.note(format_args!("server {at} is removed: {done:?}"));
    }
    cluster.halt(at).await;
}

/// A server crashes, is forced to leave, and returns after a while with its old disk.
async fn removed_while_down(cluster: &Arc<Cluster>, random: &mut Random) {
    let Some(at) = dispensable(cluster, random) else { return };
    cluster.sim.watch.count("servers removed while down", 1);
    cluster.crash(at);
    cluster.absent(at);
    tokio::time::sleep(Duration::from_millis(500 + random.below(20_000))).await;
    cluster.start(at).await;
}

/// A server loses its disk and comes back at the same address as another server.
async fn new_disk(cluster: &Arc<Cluster>, random: &mut Random) {
    let Some(at) = dispensable(cluster, random) else { return };
    cluster.sim.watch.count("servers that lost their disk", 1);
    cluster.crash(at);
    cluster.renew(at);
    tokio::time::sleep(Duration::from_millis(random.below(3000))).await;
    cluster.start(at).await;
}

/// A server is down until autopilot may have removed it.
async fn long_death(cluster: &Arc<Cluster>, random: &mut Random) {
    let Some(at) = dispensable(cluster, random) else { return };
    cluster.sim.watch.count("servers down for long", 1);
    cluster.crash(at);
    tokio::time::sleep(Duration::from_millis(10_000 + random.below(30_000))).await;
    cluster.start(at).await;
}
