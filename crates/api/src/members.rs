//! The servers in the response of `/v1/agent/members` (`docs/spec/cluster-scaling.md §6`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::json::{self, JsonError};

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

/// A server of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its name.
    pub name: String,
    /// Its region; empty if it names none.
    pub region: String,
    /// Its addresses, for gossip and for calls; empty ones are not known.
    pub addresses: [String; 2],
}

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
pub fn servers(answer: &Value) -> Result<Vec<ServerAddress>, MembersError> {
    let answer: Answer = json::from_value(answer)?;
    let members = answer.members.ok_or(MembersError::NoList)?;
    let present = members.into_iter().filter(|m| m.status != MemberStatus::Left);
    let server = |mut m: Member| {
        let mut tag = |name: &str| m.tags.remove(name).unwrap_or_default();
        let (region, calls) = (tag("region"), tag("rpc_addr"));
        ServerAddress { name: m.name, region, addresses: [m.addr, calls] }
    };
    Ok(present.map(server).collect())
}

#[cfg(test)]
mod tests {
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
        let want = |name: &str| ServerAddress {
            name: name.into(),
            region: "eu".into(),
            addresses: ["10.0.0.1".into(), "10.0.0.2".into()],
        };
        let read = |answer| servers(&answer).map_err(|e| e.to_string());
        let listed = read(json!({"ServerName": "a", "Members": members}));
        assert_eq!(listed, Ok(["a.eu", "b.eu", "d.eu", "e.eu"].map(want).to_vec()));
        assert_eq!(read(json!({"Members": []})), Ok(Vec::new()));
        for odd in [json!({}), json!({"Members": null}), json!([]), json!({"Members": [{"Addr": "x"}]})] {
            assert!(servers(&odd).is_err(), "{odd}");
        }
    }
}
