//! Containers that belong to no task: they are left when an agent is killed at a bad moment (`docs/spec/client.md §23.3`).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum as Status};
use bollard::query_parameters::ListContainersOptions;

use super::connect::{Daemon, DaemonError, LONG};
use super::container_state;
use super::create::{ALLOC_LABEL, NODE_LABEL};
use super::driver_state::Shared;
use crate::config::docker::Dangling;

/// Whether a container of the driver is to be removed. `now` in Unix seconds; `ended`: also containers that ended.
fn is_dangling(
    container: &ContainerSummary,
    node_id: &str,
    tracked: &BTreeSet<String>,
    grace: Duration,
    now: i64,
    ended: bool,
) -> bool {
    let labels = container.labels.clone().unwrap_or_default();
    let of_us = labels.contains_key(ALLOC_LABEL) && labels.get(NODE_LABEL).is_none_or(|n| n == node_id);
    let names = container.names.clone().unwrap_or_default();
    let known = names.iter().any(|n| tracked.contains(n.trim_start_matches('/')));
    let grace = i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
    let old = container.created.is_some_and(|at| now.saturating_sub(at) > grace);
    let is_over = matches!(container.state, Some(Status::EXITED | Status::DEAD | Status::REMOVING));
    of_us && !known && old && (ended || !is_over)
}

/// Looks for such containers now and then, until the driver goes.
pub(super) async fn remove_forever(shared: std::sync::Weak<Shared>, settings: Dangling) {
    let mut pause = settings.period.max(settings.creation_grace);
    loop {
        tokio::time::sleep(pause).await;
        pause = settings.period;
        let Some(shared) = shared.upgrade() else { return };
        pass(&shared, &settings).await;
    }
}

/// The containers of a daemon that have the label of allocations.
pub(super) async fn of_allocations(daemon: &Daemon) -> Result<Vec<ContainerSummary>, DaemonError> {
    let filters: HashMap<String, Vec<String>> = [("label".to_string(), vec![ALLOC_LABEL.to_string()])].into();
    let options = ListContainersOptions { all: true, filters: Some(filters), ..ListContainersOptions::default() };
    daemon.call("list the containers", LONG, |d| async move { d.list_containers(Some(options)).await }).await
}

/// Those of some containers that belong to no task of a node without tasks.
pub(super) fn without_tasks(containers: &[ContainerSummary], node_id: &str) -> usize {
    let none = BTreeSet::new();
    containers.iter().filter(|c| is_dangling(c, node_id, &none, Duration::ZERO, 0, true)).count()
}

/// The containers of a node without tasks; `ended`: also those that ended.
pub(super) async fn of_node(daemon: &Daemon, node_id: &str, ended: bool) -> Result<Vec<String>, DaemonError> {
    let none = BTreeSet::new();
    let mut found = of_allocations(daemon).await?;
    // Those of other nodes of this daemon, and of drivers that do not say whose they are, stay.
    found.retain(|c| c.labels.as_ref().is_some_and(|l| l.contains_key(NODE_LABEL)));
    found.retain(|c| is_dangling(c, node_id, &none, Duration::ZERO, i64::MAX, ended));
    Ok(found.into_iter().filter_map(|c| c.id).collect())
}

async fn pass(shared: &Shared, settings: &Dangling) {
    let Ok(found) = of_allocations(&shared.daemon).await else { return };
    let (node_id, now) = (shared.node_id(), crate::clock::now() / 1_000_000_000);
    let ended = shared.config.gc.container;
    for container in found {
        let tracked = shared.tracked();
        if !is_dangling(&container, &node_id, &tracked, settings.creation_grace, now, ended) {
            continue;
        }
        let Some(id) = container.id else { continue };
        let name = container.names.unwrap_or_default().join(",");
        if settings.dry_run {
            tracing::info!(target: "client.driver_mgr.docker", container = name, "a container of no task would be removed");
            continue;
        }
        match container_state::remove(&shared.daemon, &id).await {
            Ok(()) => {
                tracing::info!(target: "client.driver_mgr.docker", container = name, "removed a container of no task")
            }
            Err(error) => {
                tracing::warn!(target: "client.driver_mgr.docker", container = name, %error, "a container of no task was not removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_no_task() {
        let container = |labels: &[(&str, &str)], name: &str, state, created| ContainerSummary {
            labels: Some(labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()),
            names: Some(vec![format!("/{name}")]),
            state: Some(state),
            created: Some(created),
            ..ContainerSummary::default()
        };
        let tracked: BTreeSet<String> = ["t-1".to_string()].into();
        let grace = Duration::from_secs(300);
        let is = |c: &ContainerSummary, ended| is_dangling(c, "n1", &tracked, grace, 1000, ended);
        let ours = [(ALLOC_LABEL, "a"), (NODE_LABEL, "n1")];
        assert!(is(&container(&ours, "t-2", Status::RUNNING, 100), false));
        assert!(is(&container(&ours, "t-2", Status::CREATED, 100), false));
        assert!(!is(&container(&ours, "t-1", Status::RUNNING, 100), false), "tracked");
        assert!(!is(&container(&ours, "t-2", Status::RUNNING, 900), false), "young");
        assert!(!is(&container(&[(NODE_LABEL, "n1")], "t-2", Status::RUNNING, 100), false), "not of the driver");
        assert!(
            !is(&container(&[(ALLOC_LABEL, "a"), (NODE_LABEL, "n2")], "t-2", Status::RUNNING, 100), false),
            "of a neighbor"
        );
        let ended = container(&ours, "t-2", Status::EXITED, 100);
        assert!(is(&ended, true) && !is(&ended, false));
    }
}
