//! Decisions about storage plugins and the volumes that they mount (`docs/spec/client.md §24.2`).

use std::time::Duration;

use encamp_csi::ErrorKind;
use encamp_model::{CsiErrorKind, TaskCsiPluginConfig, duration};

use crate::servers::ServersError;

/// How long a plugin may take to answer its first probe if its task does not say.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(30);

/// The waits of [`wait`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The services that the task of a plugin provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Services {
    /// Volumes and snapshots of the storage provider.
    pub controller: bool,
    /// Mounts of the node.
    pub node: bool,
}

/// One of the services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Volumes and snapshots of the storage provider.
    Controller,
    /// Mounts of the node.
    Node,
}

impl Services {
    /// The services of a plugin type; `None`: the type is unknown.
    pub fn of(plugin_type: &str) -> Option<Services> {
        match plugin_type {
            "controller" => Some(Services { controller: true, node: false }),
            "node" => Some(Services { controller: false, node: true }),
            "monolith" => Some(Services { controller: true, node: true }),
            _ => None,
        }
    }

    /// Whether a service is among them.
    pub fn has(self, service: Service) -> bool {
        match service {
            Service::Controller => self.controller,
            Service::Node => self.node,
        }
    }

    /// Whether the two have a service in common.
    pub fn overlap(self, other: Services) -> bool {
        (self.controller && other.controller) || (self.node && other.node)
    }
}

/// How long the plugin of a task may take to answer its first probe.
pub fn health_timeout(config: &TaskCsiPluginConfig) -> Duration {
    if config.health_timeout > 0 { duration::of_nanos(config.health_timeout) } else { HEALTH_TIMEOUT }
}

/// What servers can do about a call of a plugin that failed, after it was repeated as often as is of use.
pub fn error_kind(kind: ErrorKind) -> CsiErrorKind {
    match kind {
        ErrorKind::Unavailable
        | ErrorKind::Interrupted
        | ErrorKind::Timeout
        | ErrorKind::InProgress
        | ErrorKind::InUse
        | ErrorKind::ResourceExhausted
        | ErrorKind::Other(_) => CsiErrorKind::Retry,
        ErrorKind::NotFound => CsiErrorKind::NotFound,
        ErrorKind::Unimplemented => CsiErrorKind::Unsupported,
        ErrorKind::AlreadyExists
        | ErrorKind::OutOfRange
        | ErrorKind::InvalidArgument
        | ErrorKind::Denied
        | ErrorKind::ProtocolViolation => CsiErrorKind::Refused,
    }
}

/// Whether to claim a volume again after servers did not give it: it may be in use still, or they can't be reached.
pub fn claims_again(error: &ServersError) -> bool {
    match error {
        ServersError::NotFound(_) => false,
        ServersError::NoServers
        | ServersError::Unreachable { .. }
        | ServersError::NoLeader
        | ServersError::NodeNotFound
        | ServersError::SecretMismatch
        | ServersError::PermissionDenied
        | ServersError::Revoked
        | ServersError::Refused(_) => true,
    }
}

/// How long to wait after so many failed attempts to claim or to unmount a volume: 1, 2, 4, … 30 s.
pub fn wait(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(16);
    (FIRST_WAIT * 2_u32.pow(doublings)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_services() {
        let services = |text| Services::of(text).map(|s| (s.controller, s.node));
        assert_eq!(services("controller"), Some((true, false)));
        assert_eq!(services("node"), Some((false, true)));
        assert_eq!(services("monolith"), Some((true, true)));
        assert_eq!(services(""), None);
        let [one, other, both] = ["controller", "node", "monolith"].map(|t| Services::of(t).unwrap());
        assert!(!one.overlap(other) && one.overlap(both) && other.overlap(both));
        assert!(one.has(Service::Controller) && !one.has(Service::Node) && both.has(Service::Node));
    }

    #[test]
    fn a_timeout_of_zero_is_the_default() {
        let timeout = |health_timeout| health_timeout_of(TaskCsiPluginConfig { health_timeout, ..Default::default() });
        assert_eq!((timeout(0), timeout(2_000_000_000)), (HEALTH_TIMEOUT, Duration::from_secs(2)));
    }

    fn health_timeout_of(config: TaskCsiPluginConfig) -> Duration {
        health_timeout(&config)
    }

    #[test]
    fn claims_wait_for_volumes_in_use() {
        assert!(claims_again(&ServersError::Refused("in use".into())) && claims_again(&ServersError::NoLeader));
        assert!(!claims_again(&ServersError::NotFound("volume not found: v".into())));
        let waits: Vec<u64> = [0, 1, 2, 3, 5, 6, u32::MAX].map(|n| wait(n).as_secs()).to_vec();
        assert_eq!(waits, [1, 1, 2, 4, 16, 30, 30]);
    }

    #[test]
    fn servers_repeat_what_may_succeed_later() {
        assert_eq!(error_kind(ErrorKind::Interrupted), CsiErrorKind::Retry);
        assert_eq!(error_kind(ErrorKind::Other(13)), CsiErrorKind::Retry);
        assert_eq!(error_kind(ErrorKind::NotFound), CsiErrorKind::NotFound);
        assert_eq!(error_kind(ErrorKind::Unimplemented), CsiErrorKind::Unsupported);
        assert_eq!(error_kind(ErrorKind::Denied), CsiErrorKind::Refused);
        assert_eq!(error_kind(ErrorKind::ProtocolViolation), CsiErrorKind::Refused);
    }
}
