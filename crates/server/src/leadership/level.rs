//! The capability level of the cluster: when the leader raises it (`docs/spec/server.md §23.3`).

use std::sync::Arc;

use crate::error::Error;
use crate::leading::Leading;
use encamp_model::capability::CapabilityLevel;
use encamp_ops::Operation;
use encamp_raft::{Member, ServerId};

/// The level that the cluster may be raised to: the lowest one that its members told, if it is higher than that of the
/// cluster. A member that told none keeps the cluster where it is. Pure.
pub fn next(
    cluster: CapabilityLevel,
    members: &[Member],
    told: impl Fn(ServerId) -> Option<CapabilityLevel>,
) -> Option<CapabilityLevel> {
    let levels: Option<Vec<CapabilityLevel>> = members.iter().map(|m| told(m.id)).collect();
    levels?.into_iter().min().filter(|lowest| *lowest > cluster)
}

/// Raises the level of the cluster; every server is known to support it.
///
/// # Errors
/// This server does not lead.
pub async fn raise(server: &Leading, level: CapabilityLevel) -> Result<(), Error> {
    let before = server.snapshot().capability_level();
    let (index, _) = server.commit_shared(Arc::new(Operation::CapabilityLevel { level })).await?;
    tracing::info!(
        target: "nomad", level = level.number(), before = before.number(), index,
        "raised the capability level of the cluster: servers of older builds can no longer start or join"
    );
    Ok(())
}

/// Whether the operator holds the level where it is (`disable_upgrade_migration`).
pub fn is_held(server: &Leading) -> bool {
    server.snapshot().autopilot().is_some_and(|a| a.disable_upgrade_migration)
}

/// Raises the level of a cluster of this server alone; other servers tell theirs over the network.
///
/// # Errors
/// This server does not lead.
pub(super) async fn raise_alone(server: &Leading) -> Result<(), Error> {
    let members = server.consensus().configuration().servers;
    let own = encamp_host::capability::own();
    let raised = (members.len() == 1 && !is_held(server))
        .then(|| next(server.snapshot().capability_level(), &members, |_| Some(own)));
    match raised.flatten() {
        Some(level) => raise(server, level).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_raft::Peer;

    #[test]
    fn the_lowest_member_decides_and_an_unknown_one_holds() {
        let level = |n: u32| CapabilityLevel::try_from(n).expect("a level");
        let id = |n: u64| format!("00000000-0000-0000-0000-{n:012x}").parse().expect("a UUID");
        let members: Vec<Member> =
            (1..4).map(|n| Member { id: id(n), peer: Peer::default(), leader: n == 1, voter: n < 3 }).collect();
        let of = |cluster: u32, told: [Option<u32>; 3]| {
            let told = |asked| (1..4).zip(told).find(|(n, _)| id(*n) == asked).and_then(|(_, l)| l).map(level);
            next(level(cluster), &members, told).map(CapabilityLevel::number)
        };
        assert_eq!(of(1, [Some(2), Some(2), Some(2)]), Some(2));
        assert_eq!(of(1, [Some(3), Some(2), Some(3)]), Some(2));
        assert_eq!(of(1, [Some(2), Some(2), Some(1)]), None, "a server of an older build, with a vote or without");
        assert_eq!(of(1, [Some(2), Some(2), None]), None, "a server that does not answer");
        assert_eq!(of(2, [Some(2), Some(2), Some(2)]), None, "once");
    }
}
