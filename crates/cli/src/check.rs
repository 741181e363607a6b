//! `check`: agent health for monitoring (`docs/spec/cli.md §15.6`).

use serde::Deserialize;

use super::data::typed;
use super::flags::parse_int;
use super::prelude::*;
use encamp_api::types::AgentSelf;
use encamp_model::duration::parse_duration;
use encamp_model::json::null_is_default;

/// The exit code for an unhealthy agent.
const CRITICAL: u8 = 2;

/// Check the health of the contacted agent
///
/// A server is healthy if it knows enough peers, a client if it knows enough servers and its last heartbeat is recent.
#[derive(Debug, clap::Parser)]
pub struct Check {
    /// Minimum number of peers of a server
    #[arg(long, value_name = "n", default_value = "0", value_parser = parse_int)]
    pub min_peers: i64,
    /// Minimum number of servers that a client knows
    #[arg(long, value_name = "n", default_value = "1", value_parser = parse_int)]
    pub min_servers: i64,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for Check {
    const META: Meta = Meta::new("check")
        .surplus(Surplus::Ignored)
        .unlisted()
        .usage_exit(2)
        .exit_status(&[(0, "The agent is healthy."), (2, "The agent is unhealthy or does not respond.")])
        .examples(&[
            ("Check the health of the contacted agent", "encamp check"),
            ("Expect a server with at least two peers", "encamp check -min-peers 2"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (peers, servers) = (self.min_peers, self.min_servers);
        context.connected(&self.general, |c, context| {
            let (agent, _) = match c.wait(c.client.agent_self()) {
                Ok(agent) => agent,
                Err(e) => {
                    context.ui.output(&format!("unable to query agent info: {e}"));
                    return Ok(CRITICAL);
                }
            };
            match judge(&typed::<AgentSelf<Stats>>(&agent)?.stats, peers, servers) {
                Ok(()) => Ok(0),
                Err(problem) => {
                    context.ui.output(&problem.to_string());
                    Ok(CRITICAL)
                }
            }
        })
    }
}

/// The reason that an agent is not healthy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Unhealthy {
    #[error("unable to read {0}")]
    Unreadable(&'static str),
    #[error("known peers: {peers}, is less than expected number of peers: {min_peers}")]
    FewPeers { peers: i64, min_peers: i64 },
    #[error("known servers: {known}, is less than expected number of servers: {min_servers}")]
    FewServers { known: i64, min_servers: i64 },
    #[error("last heartbeat is {last}, expected heartbeat ttl: {ttl}")]
    LateHeartbeat { last: String, ttl: String },
}

/// The statistics of an agent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stats {
    raft: Option<RaftStats>,
    client: Option<ClientStats>,
}

/// The statistics of a server.
#[null_is_default]
#[derive(Default, Deserialize)]
#[serde(default)]
struct RaftStats {
    num_peers: String,
}

/// The statistics of a client.
#[null_is_default]
#[derive(Default, Deserialize)]
#[serde(default)]
struct ClientStats {
    /// Addresses, separated by commas.
    known_servers: String,
    last_heartbeat: String,
    heartbeat_ttl: String,
}

/// Judges the statistics of an agent; the error states the problem.
fn judge(stats: &Stats, min_peers: i64, min_servers: i64) -> Result<(), Unhealthy> {
    if let Some(raft) = &stats.raft {
        let peers: i64 = raft.num_peers.parse().map_err(|_| Unhealthy::Unreadable("the number of peers"))?;
        if peers < min_peers {
            return Err(Unhealthy::FewPeers { peers, min_peers });
        }
        return Ok(());
    }
    let Some(client) = &stats.client else { return Ok(()) };
    let known = client.known_servers.split(',').filter(|s| !s.trim().is_empty()).count();
    let known = i64::try_from(known).unwrap_or(i64::MAX);
    if known < min_servers {
        return Err(Unhealthy::FewServers { known, min_servers });
    }
    let ClientStats { last_heartbeat, heartbeat_ttl, .. } = client;
    let last = parse_duration(last_heartbeat).map_err(|_| Unhealthy::Unreadable("last_heartbeat"))?;
    let ttl = parse_duration(heartbeat_ttl).map_err(|_| Unhealthy::Unreadable("heartbeat_ttl"))?;
    if last > ttl {
        return Err(Unhealthy::LateHeartbeat { last: last_heartbeat.clone(), ttl: heartbeat_ttl.clone() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_need_peers_and_clients_servers_and_answers_in_time() {
        let client = |known: &str, last: &str| json!({"client": {"known_servers": known, "last_heartbeat": last, "heartbeat_ttl": "18s"}});
        let judge = |stats: serde_json::Value, peers, servers| {
            let stats: Stats = serde_json::from_value(stats).expect("statistics");
            super::judge(&stats, peers, servers).map_err(|problem| problem.to_string())
        };
        assert_eq!(judge(json!({"raft": {"num_peers": "2"}}), 2, 1), Ok(()));
        assert!(judge(json!({"raft": {"num_peers": "1"}}), 2, 1).unwrap_err().starts_with("known peers: 1"));
        assert!(judge(json!({"raft": {}}), 0, 1).is_err());
        assert_eq!(judge(client("a:1,b:1", "11.3s"), 0, 2), Ok(()));
        assert!(judge(client("", "1s"), 0, 1).unwrap_err().starts_with("known servers: 0"));
        assert!(judge(client("a:1", "19s"), 0, 1).unwrap_err().starts_with("last heartbeat is 19s"));
    }
}
