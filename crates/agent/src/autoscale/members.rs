//! Which agents are servers, according to the cluster members (`docs/spec/cluster-scaling.md §6`).

use std::collections::BTreeMap;

use encamp_api::json::{self, JsonError};
use encamp_autoscale::protection::ServerMember;
use encamp_server::leadership::peers::{KnownServer, Status};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// A response of `/v1/agent/members` that cannot be used.
#[derive(Debug, Error)]
pub enum MembersError {
    /// It does not have the members that it must have.
    #[error(transparent)]
    Form(#[from] JsonError),
    /// It has no list.
    #[error("it has no list of members")]
    NoList,
}

/// The response of `/v1/agent/members`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    members: Option<Vec<Member>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Member {
    name: String,
    #[serde(default)]
    addr: String,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    status: MemberStatus,
}

/// The status of a member. A failed member may come back, so it counts.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MemberStatus {
    /// The member left the cluster and is no longer a voter.
    Left,
    #[default]
    #[serde(other)]
    Present,
}

/// The servers in a response of `/v1/agent/members`, except those that left.
///
/// # Errors
/// The response is invalid.
pub fn of_answer(answer: &Value) -> Result<Vec<ServerMember>, MembersError> {
    let answer: Answer = json::from_value(answer)?;
    let members = answer.members.ok_or(MembersError::NoList)?;
    let present = members.iter().filter(|m| m.status != MemberStatus::Left);
    let tag = |m: &'_ Member, name: &str| m.tags.get(name).cloned().unwrap_or_default();
    let server = |m: &Member| ServerMember::new(&m.name, &tag(m, "region"), [m.addr.as_str(), &tag(m, "rpc_addr")]);
    Ok(present.map(server).collect())
}

/// The servers that a server knows through gossip, except those that left.
pub fn of_known(known: &[KnownServer]) -> Vec<ServerMember> {
    let present = known.iter().filter(|k| match k.status {
        Status::Alive | Status::Leaving | Status::Failed => true,
        Status::Left => false,
    });
    present.map(|k| ServerMember::new(&k.name, &k.region, [k.serf.ip().to_string().as_str(), &k.rpc])).collect()
}

#[cfg(test)]
mod tests {
    use encamp_raft::ServerId;
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_that_left_do_not_count() {
        let member = |name: &str, status: &str| {
            let tags = json!({"region": "eu", "rpc_addr": "10.0.0.2", "role": "nomad"});
            json!({"Name": name, "Addr": "10.0.0.1", "Port": 4648, "Tags": tags, "Status": status})
        };
        let statuses = [("a.eu", "alive"), ("b.eu", "failed"), ("c.eu", "left"), ("d.eu", "leaving"), ("e.eu", "new")];
        let members: Vec<Value> = statuses.iter().map(|(name, status)| member(name, status)).collect();
        let want = |name: &str| ServerMember::new(name, "eu", ["10.0.0.1", "10.0.0.2"]);
        let read = |answer| of_answer(&answer).map_err(|e| e.to_string());
        let listed = read(json!({"ServerName": "a", "Members": members}));
        assert_eq!(listed, Ok(["a.eu", "b.eu", "d.eu", "e.eu"].map(want).to_vec()));
        assert_eq!(read(json!({"Members": []})), Ok(Vec::new()));
        for odd in [json!({}), json!({"Members": null}), json!([]), json!({"Members": [{"Addr": "x"}]})] {
            assert!(of_answer(&odd).is_err(), "{odd}");
        }

        let known = |name: &str, status| KnownServer {
            id: ServerId::default(),
            name: name.into(),
            region: "eu".into(),
            datacenter: "dc1".into(),
            rpc: "10.0.0.2:4647".into(),
            serf: ([10, 0, 0, 1], 4648).into(),
            expect: 3,
            status,
            level: None,
        };
        let known = [known("a.eu", Status::Alive), known("b.eu", Status::Failed), known("c.eu", Status::Left)];
        assert_eq!(of_known(&known), ["a.eu", "b.eu"].map(want));
    }
}
