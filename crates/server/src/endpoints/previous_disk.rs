//! The disk that an allocation takes over from another node (`docs/spec/client.md §9.3`).

use crate::error::Error;
use crate::nodes::node_auth::{NodeProof, authenticate};
use crate::server_state::ServerState;
use encamp_model::*;
use encamp_state::State;

/// Where the disk is that an allocation of the calling node takes over from another node, with the token for it
/// (`docs/spec/client.md §9.3`). `None`: there is none to move, or its node is not ready.
///
/// # Errors
/// The node is unknown, or the proof is wrong.
pub fn find(server: &ServerState, id: &str, proof: &NodeProof, alloc_id: &str) -> Result<Option<PreviousDisk>, Error> {
    authenticate(server, id, proof)?;
    Ok(disk_elsewhere(server.snapshot().state(), id, alloc_id))
}

fn disk_elsewhere(state: &State, node: &str, alloc_id: &str) -> Option<PreviousDisk> {
    let alloc = &state.alloc(alloc_id)?.alloc;
    if alloc.node_id != node || alloc.terminal() || !alloc.group()?.ephemeral_disk.as_ref()?.migrate {
        return None;
    }
    let previous = &state.alloc(&alloc.previous_allocation)?.alloc;
    let holder = &state.node(&previous.node_id)?.node;
    // A task of a node that is not heard of may still run.
    let ready = holder.status == NodeStatus::Ready && !holder.http_addr.is_empty();
    if previous.node_id == node || previous.namespace != alloc.namespace || !previous.client_terminal() || !ready {
        return None;
    }
    Some(PreviousDisk {
        alloc_id: previous.id.to_string(),
        http_addr: holder.http_addr.clone(),
        tls_enabled: holder.tls_enabled,
        token: migrate_token(&previous.id, &holder.secret_id)?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Server;
    use crate::endpoints::{alloc, node};
    use crate::nodes::node_rpc;
    use crate::tests::{self, Dir, eventually, job, register, running};
    use encamp_host::ids;

    const OLD: &str = "11111111-0000-4000-8000-000000000001";
    const NEW: &str = "22222222-0000-4000-8000-000000000001";

    fn secret(node: &str) -> SecretString {
        format!("secret of {node}").into()
    }

    async fn join(server: &Server, id: &str) {
        let node = Node { secret_id: secret(id), http_addr: format!("{id}:4646"), ..tests::node(id) };
        node_rpc::register(server, node, "").await.unwrap();
        node_rpc::update_status(server, id, &secret(id).into(), "", NodeStatus::Ready).await.unwrap();
    }

    fn find_as(server: &Server, node: &str, alloc: &str) -> Result<Option<PreviousDisk>, Error> {
        find(server, node, &secret(node).into(), alloc)
    }

    /// Moves the one allocation of a job from one node to the other; gives the old and the new one.
    async fn moved(server: &Server, id: &str, migrate: bool) -> (String, String) {
        let of_job = || server.snapshot().state().allocs_of_job("default", id).to_vec();
        node::eligibility(server, OLD, NodeEligibility::Eligible).await.unwrap();
        node::eligibility(server, NEW, NodeEligibility::Ineligible).await.unwrap();
        let mut job = job(id, 1);
        job.task_groups[0].ephemeral_disk = Some(EphemeralDisk { sticky: true, migrate, size_mb: 10 });
        register(server, job).await;
        eventually("placement", || running(server, id) == 1).await;
        let old = of_job()[0].alloc.id.to_string();
        node::eligibility(server, NEW, NodeEligibility::Eligible).await.unwrap();
        node::eligibility(server, OLD, NodeEligibility::Ineligible).await.unwrap();
        alloc::stop(server, &old, false, false).await.unwrap();
        eventually("a replacement", || of_job().iter().any(|a| a.alloc.previous_allocation == old)).await;
        let new = of_job().iter().find(|a| a.alloc.previous_allocation == old).unwrap().alloc.clone();
        assert_eq!(new.node_id, NEW);
        (old, new.id.to_string())
    }

    async fn ended(server: &Server, node: &str, id: &str) {
        let report = Allocation { id: id.into(), client_status: ClientStatus::Complete, ..Allocation::default() };
        node_rpc::update_allocs(server, node, &secret(node).into(), vec![report]).await.unwrap();
        eventually("the end", || {
            server.snapshot().state().alloc(id).is_some_and(|a| a.alloc.client_status == ClientStatus::Complete)
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_node_gets_the_tokens_of_its_own_allocations_alone() {
        let dir = Dir::new();
        let server = tests::start(&dir, &ids::uuid()).await;
        join(&server, OLD).await;
        join(&server, NEW).await;
        let (old, new) = moved(&server, "moves", true).await;
        assert_eq!(find_as(&server, NEW, &new).unwrap(), None, "its tasks still run");
        ended(&server, OLD, &old).await;
        let disk = find_as(&server, NEW, &new).unwrap().unwrap();
        let token = migrate_token(&old, &secret(OLD)).unwrap();
        let want = PreviousDisk { alloc_id: old.clone(), http_addr: format!("{OLD}:4646"), tls_enabled: false, token };
        assert_eq!(disk, want);
        let wrong = find(&server, NEW, &secret(OLD).into(), &new).unwrap_err();
        assert_eq!((wrong.status(), wrong.message.as_str()), (403, "Permission denied"));
        assert_eq!(find_as(&server, OLD, &new).unwrap(), None, "of another node");
        assert_eq!(find_as(&server, NEW, &old).unwrap(), None, "of another node");
        assert_eq!(find_as(&server, NEW, "unknown").unwrap(), None);

        let (old, stays) = moved(&server, "stays", false).await;
        ended(&server, OLD, &old).await;
        assert_eq!(find_as(&server, NEW, &stays).unwrap(), None, "its group does not migrate");

        node_rpc::update_status(&server, OLD, &secret(OLD).into(), "", NodeStatus::Down).await.unwrap();
        assert_eq!(find_as(&server, NEW, &new).unwrap(), None, "the other node is down");
        node_rpc::update_status(&server, OLD, &secret(OLD).into(), "", NodeStatus::Ready).await.unwrap();
        assert!(find_as(&server, NEW, &new).unwrap().is_some());
        ended(&server, NEW, &new).await;
        assert_eq!(find_as(&server, NEW, &new).unwrap(), None, "it has ended");
        tokio::time::timeout(Duration::from_secs(30), server.shutdown()).await.unwrap();
    }
}
