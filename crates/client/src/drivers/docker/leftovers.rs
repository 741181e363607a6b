//! The last removal of containers, when the agent ends in development mode (`docs/spec/client.md §23.3`): a daemon may
//! have refused to remove one, or may still make one whose start was given up.

use std::time::Duration;

use super::connect::DaemonError;
use super::dangling;
use super::driver_state::Shared;

/// How long the agent waits for the removal.
const LIMIT: Duration = Duration::from_secs(30);
/// Pauses between the attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Removes all containers of the node, and waits until they are gone. `healthy`: the daemon answered when it was asked
/// last.
pub(super) async fn remove(shared: &Shared, healthy: bool) {
    if !healthy && shared.to_remove.lock().is_empty() {
        return;
    }
    if tokio::time::timeout(LIMIT, until_none_is_left(shared)).await.is_err() {
        let containers = shared.to_remove.lock().iter().cloned().collect::<Vec<_>>().join(" ");
        tracing::error!(target: "client.driver_mgr.docker", containers, "containers are left; remove them by hand");
    }
}

async fn until_none_is_left(shared: &Shared) {
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt(shared).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(target: "client.driver_mgr.docker", %error, "a container was not removed; it is tried again");
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Makes one attempt. Returns whether nothing was left before it.
async fn attempt(shared: &Shared) -> Result<bool, DaemonError> {
    let left = dangling::of_node(&shared.daemon, &shared.node_id(), shared.config.gc.container).await?;
    let none = left.is_empty();
    shared.to_remove.lock().extend(left);
    shared.remove_left().await?;
    // The daemon may make another one meanwhile.
    Ok(none)
}
