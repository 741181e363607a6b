//! Whether the daemon is there, and what it is (`docs/spec/client.md §4.2`, `§4.5`).

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::Duration;

use bollard::query_parameters::InspectNetworkOptions;
use tokio::sync::watch;

use super::super::Fingerprint;
use super::connect::{DaemonError, SHORT};
use super::driver_state::Shared;
use crate::config::docker::DockerConfig;

/// How often the daemon is checked: one that answers, and one that does not.
const PERIOD: Duration = Duration::from_secs(30);
const MISSING: Duration = Duration::from_secs(2);
/// Why the driver can't run tasks.
const NO_DAEMON: &str = "Failed to connect to docker daemon";

/// A daemon that does not answer; `known`: it did before.
pub(super) fn missing(known: bool) -> Fingerprint {
    Fingerprint { detected: known, healthy: false, description: NO_DAEMON.into(), attributes: BTreeMap::new() }
}

/// Looks at the daemon, until the driver goes.
pub(super) async fn look_forever(shared: Weak<Shared>, found: watch::Sender<Fingerprint>) {
    let mut known = false;
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let seen = match look(&shared).await {
            Ok(attributes) => {
                known = true;
                if let Err(error) = shared.remove_left().await {
                    tracing::warn!(target: "client.driver_mgr.docker", %error, "a container was not removed; it is tried again");
                }
                Fingerprint { attributes, ..Fingerprint::healthy() }
            }
            Err(error) => {
                if found.borrow().healthy {
                    tracing::warn!(target: "client.driver_mgr.docker", %error, "the container daemon is lost");
                }
                missing(known)
            }
        };
        let period = if seen.healthy { PERIOD } else { MISSING };
        found.send_if_modified(|before| {
            let changed = *before != seen;
            *before = seen;
            changed
        });
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            // A call that found nobody says so at once; but not more often than a daemon that is missing is looked for.
            () = async {
                tokio::time::sleep(MISSING).await;
                shared.daemon.lost.notified().await;
            } => {}
        }
    }
}

/// The attributes of the daemon.
async fn look(shared: &Shared) -> Result<BTreeMap<String, String>, DaemonError> {
    let daemon = &shared.daemon;
    let info = daemon.call("look at the daemon", SHORT, |d| async move { d.info().await }).await?;
    let network = daemon.call("look at the network", SHORT, |d| async move {
        d.inspect_network("bridge", None::<InspectNetworkOptions>).await
    });
    // The daemon may have no such network.
    let network = network.await.ok();
    let gateway = network.and_then(|n| n.ipam?.config?.into_iter().find_map(|c| c.gateway.filter(|g| !g.is_empty())));
    let mut runtimes: Vec<String> = info.runtimes.unwrap_or_default().into_keys().collect();
    runtimes.sort();
    Ok(attributes(&shared.config, info.server_version, gateway, info.os_type, &runtimes))
}

fn attributes(
    config: &DockerConfig,
    version: Option<String>,
    bridge_ip: Option<String>,
    os_type: Option<String>,
    runtimes: &[String],
) -> BTreeMap<String, String> {
    let flag = |on: bool| on.then(|| "true".to_string());
    let known = [
        ("version", version),
        ("bridge_ip", bridge_ip),
        ("os_type", os_type),
        ("runtimes", Some(runtimes.join(",")).filter(|r| !r.is_empty())),
        ("volumes.enabled", flag(config.volumes_enabled)),
        ("privileged.enabled", flag(config.allow_privileged)),
        ("pids.limit", config.pids_limit.map(|n| n.to_string())),
    ];
    known.into_iter().filter_map(|(k, v)| Some((format!("driver.docker.{k}"), v?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_daemon() {
        let config = DockerConfig { allow_privileged: true, pids_limit: Some(9), ..DockerConfig::default() };
        let got =
            attributes(&config, Some("4.3.1".into()), None, Some("linux".into()), &["crun".into(), "runc".into()]);
        let want = [
            ("os_type", "linux"),
            ("pids.limit", "9"),
            ("privileged.enabled", "true"),
            ("runtimes", "crun,runc"),
            ("version", "4.3.1"),
        ];
        assert_eq!(got, want.map(|(k, v)| (format!("driver.docker.{k}"), v.to_string())).into());
        assert!(missing(true).detected && !missing(false).detected && !missing(true).healthy);
    }
}
