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
const SHORT_WAITS: u32 = 10;

/// How long the plugin of a task may take to answer its first probe.
pub fn health_timeout(config: &TaskCsiPluginConfig) -> Duration {
    if config.health_timeout > 0 { duration::of_nanos(config.health_timeout) } else { HEALTH_TIMEOUT }
}

/// What servers can do about a call of a plugin that failed, after it was repeated as often as is of use.
pub fn error_kind(kind: ErrorKind) -> CsiErrorKind {
    match kind {
        kind if kind.may_succeed_later() => CsiErrorKind::Retry,
        ErrorKind::NotFound => CsiErrorKind::NotFound,
        ErrorKind::Unimplemented => CsiErrorKind::Unsupported,
        _ => CsiErrorKind::Refused,
    }
}

/// Whether to claim a volume again after servers did not give it: others may use it still, its controller may not run,
/// servers may not be reached, or they do not know the node until it has registered again.
pub fn claims_again(error: &ServersError) -> bool {
    match error {
        ServersError::NotFound(_) | ServersError::Refused(_) => false,
        ServersError::NoServers
        | ServersError::Unreachable { .. }
        | ServersError::NoLeader
        | ServersError::NodeNotFound
        | ServersError::SecretMismatch
        | ServersError::PermissionDenied
        | ServersError::Revoked
        | ServersError::NotYet(_) => true,
    }
}

/// How long to wait after so many failed attempts to claim or to unmount a volume: ten times 1 s, then 2, 4, … 30 s.
/// After a restart of an agent its plugins are ready within seconds.
pub fn wait(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(SHORT_WAITS).min(16);
    (FIRST_WAIT * 2_u32.pow(doublings)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(claims_again(&ServersError::NotYet("in use".into())) && claims_again(&ServersError::NoLeader));
        assert!(!claims_again(&ServersError::NotFound("volume not found: v".into())));
        assert!(!claims_again(&ServersError::Refused("not registered for that".into())));
        let waits: Vec<u64> = [0, 1, 10, 11, 12, 13, 14, 15, u32::MAX].map(|n| wait(n).as_secs()).to_vec();
        assert_eq!(waits, [1, 1, 1, 2, 4, 8, 16, 30, 30]);
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
