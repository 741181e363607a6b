//! Notifications about worker pools and job groups (`docs/spec/cluster-scaling.md §10`).
//!
//! Pure: [`webhook`], [`pagerduty`] and [`opsgenie`] build the requests. [`sender`] queues and sends them.

pub mod opsgenie;
pub mod pagerduty;
pub mod sender;
pub mod webhook;

use reqwest::Url;

use encamp_model::SecretString;

/// The subject of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A worker pool entered failsafe mode.
    ClusterFailsafeMode,
    /// A job's group entered failsafe mode.
    JobGroupFailsafeMode,
    /// Nodes or allocations were added.
    ScaleOut,
    /// Nodes or allocations were removed.
    ScaleIn,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 4] =
        [Reason::ClusterFailsafeMode, Reason::JobGroupFailsafeMode, Reason::ScaleOut, Reason::ScaleIn];

    /// Its name in the body of a notification.
    pub fn name(self) -> &'static str {
        match self {
            Reason::ClusterFailsafeMode => "cluster_failsafe_mode",
            Reason::JobGroupFailsafeMode => "job_group_failsafe_mode",
            Reason::ScaleOut => "scale_out",
            Reason::ScaleIn => "scale_in",
        }
    }

    /// How urgent it is.
    pub fn severity(self) -> Severity {
        match self {
            Reason::ClusterFailsafeMode | Reason::JobGroupFailsafeMode => Severity::Critical,
            Reason::ScaleOut | Reason::ScaleIn => Severity::Info,
        }
    }
}

/// How urgent a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Nothing is scaled any more until an operator acts.
    Critical,
    /// An operator may want to know. Only backends with `scale_events` get it.
    Info,
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The tag that the pool or group is configured with (`replicator_notification_uid`).
    pub uid: String,
    /// The cluster: see [`Cluster::name`](crate::cluster::Cluster::name).
    pub cluster: String,
    /// The subject.
    pub reason: Reason,
    /// The pool, or `job/group`.
    pub resource_id: String,
    /// The Variable that holds the state of the pool or group.
    pub state_path: String,
    /// The event, as a sentence.
    pub text: String,
}

/// Takes notifications.
pub trait Notify: Send + Sync {
    /// Sends a notification later. It never blocks and never fails; what cannot be sent is counted and logged.
    fn send(&self, notification: Notification);
}

/// Takes notifications where no backend is configured: they are dropped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Notify for Nobody {
    fn send(&self, _: Notification) {}
}

/// A service that notifications are sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// Any HTTP server that takes a JSON object.
    Webhook {
        /// Where it is posted. It counts as a secret: it may hold credentials or be one itself.
        url: SecretString,
    },
    /// PagerDuty Events v2.
    PagerDuty {
        /// The integration key.
        key: SecretString,
        /// Where events are posted instead of [`pagerduty::URL`].
        url: Option<SecretString>,
    },
    /// Opsgenie Alerts v2.
    Opsgenie {
        /// The API key.
        key: SecretString,
        /// Where alerts are posted instead of [`opsgenie::URL`].
        url: Option<SecretString>,
    },
}

impl Backend {
    /// Its type in configuration.
    pub fn kind(&self) -> &'static str {
        match self {
            Backend::Webhook { .. } => "webhook",
            Backend::PagerDuty { .. } => "pagerduty",
            Backend::Opsgenie { .. } => "opsgenie",
        }
    }

    /// Where notifications are posted.
    fn address(&self) -> &str {
        match self {
            Backend::Webhook { url } => url.expose(),
            Backend::PagerDuty { url, .. } => url.as_ref().map_or(pagerduty::URL, SecretString::expose),
            Backend::Opsgenie { url, .. } => url.as_ref().map_or(opsgenie::URL, SecretString::expose),
        }
    }

    /// Checks the address and the key.
    ///
    /// # Errors
    /// The problem, without the secret.
    pub fn check(&self) -> Result<(), BackendError> {
        self.target().map(|_| ())
    }

    /// The address as a URL.
    fn target(&self) -> Result<Url, BackendError> {
        let url = Url::parse(self.address()).map_err(|_| BackendError::NoUrl)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(BackendError::NotHttp);
        }
        match self {
            Backend::Webhook { .. } => Ok(url),
            Backend::PagerDuty { key, .. } | Backend::Opsgenie { key, .. } => {
                let key = key.expose();
                let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic());
                if plain { Ok(url) } else { Err(BackendError::Key) }
            }
        }
    }
}

/// A backend that cannot be used. Its texts hold no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The address does not parse.
    #[error("the url is not valid")]
    NoUrl,
    /// The address has another scheme, or no host.
    #[error("the url must begin with http:// or https:// and name a host")]
    NotHttp,
    /// The key is empty, or holds spaces or other characters that no key has.
    #[error("the key must be a word of printable ASCII characters")]
    Key,
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made")]
    Client,
}

/// A configured backend (a `notify` block of `docs/spec/cluster-scaling.md §1.1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendSettings {
    /// The name of the block, for logs and metrics.
    pub name: String,
    /// The service.
    pub backend: Backend,
    /// Also sends notifications of [`Severity::Info`].
    pub scale_events: bool,
}

/// A request that delivers a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Value of the header `Authorization`, if the backend wants one.
    pub authorization: Option<SecretString>,
    /// The body, JSON.
    pub body: String,
}

impl BackendSettings {
    /// The request for a notification; none if the backend does not want it.
    pub fn delivery(&self, notification: &Notification) -> Option<Delivery> {
        match notification.reason.severity() {
            Severity::Info if !self.scale_events => return None,
            Severity::Info | Severity::Critical => {}
        }
        Some(match &self.backend {
            Backend::Webhook { .. } => Delivery { authorization: None, body: webhook::body(notification) },
            Backend::PagerDuty { key, .. } => {
                Delivery { authorization: None, body: pagerduty::body(notification, key.expose()) }
            }
            Backend::Opsgenie { key, .. } => Delivery {
                authorization: Some(SecretString::new(format!("GenieKey {}", key.expose()))),
                body: opsgenie::body(notification),
            },
        })
    }
}

/// The beginning of a text, at most `most` characters long.
fn shortened(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The common key of notifications about the same subject: services show them as one alert. It has at most `most`
/// bytes, which is at least 64.
fn alert_key(n: &Notification, most: usize) -> String {
    let key = format!("encamp {} {} {}", n.cluster, n.reason.name(), n.state_path);
    if key.len() <= most { key } else { crate::paths::digest(&key) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A notification about a pool.
    pub(crate) fn example(reason: Reason) -> Notification {
        Notification {
            uid: "team-a".into(),
            cluster: "global".into(),
            reason,
            resource_id: "web".into(),
            state_path: "encamp/autoscale/state/nodes/web".into(),
            text: "3 \"failures\"".into(),
        }
    }

    fn settings(backend: Backend, scale_events: bool) -> BackendSettings {
        BackendSettings { name: "ops".into(), backend, scale_events }
    }

    #[test]
    fn scale_events_go_to_those_who_asked() {
        let hook = || Backend::Webhook { url: SecretString::new("http://127.0.0.1/") };
        for reason in Reason::ALL {
            let failsafe = matches!(reason, Reason::ClusterFailsafeMode | Reason::JobGroupFailsafeMode);
            assert_eq!(settings(hook(), false).delivery(&example(reason)).is_some(), failsafe, "{reason:?}");
            assert!(settings(hook(), true).delivery(&example(reason)).is_some(), "{reason:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = || SecretString::new("s3cr3t");
        let url = || SecretString::new("https://u:s3cr3t@hooks.example/s3cr3t?t=s3cr3t");
        for backend in [
            Backend::Webhook { url: url() },
            Backend::PagerDuty { key: key(), url: Some(url()) },
            Backend::Opsgenie { key: key(), url: None },
        ] {
            let s = settings(backend, true);
            assert_eq!(s.backend.check(), Ok(()));
            let shown = format!("{s:?} {:?}", s.delivery(&example(Reason::ScaleIn)).map(|d| d.authorization));
            assert!(!shown.contains("s3cr3t") && shown.contains("<redacted>"), "{shown}");
        }
    }

    #[test]
    fn wrong_addresses_and_keys() {
        let hook = |url: &str| Backend::Webhook { url: SecretString::new(url) }.check();
        assert_eq!(hook("no url"), Err(BackendError::NoUrl));
        assert_eq!(hook("file:///etc/passwd"), Err(BackendError::NotHttp));
        assert_eq!(hook("https://hooks.example/x"), Ok(()));
        for (key, want) in [("", Err(BackendError::Key)), ("a\nb", Err(BackendError::Key)), ("ab-1", Ok(()))] {
            assert_eq!(Backend::Opsgenie { key: SecretString::new(key), url: None }.check(), want, "{key:?}");
            assert_eq!(Backend::PagerDuty { key: SecretString::new(key), url: None }.check(), want, "{key:?}");
        }
    }

    #[test]
    fn keys_of_alerts_are_bounded() {
        let mut n = example(Reason::ClusterFailsafeMode);
        assert_eq!(alert_key(&n, 255), "encamp global cluster_failsafe_mode encamp/autoscale/state/nodes/web");
        n.cluster = "ü".repeat(300);
        let long = alert_key(&n, 255);
        assert_eq!(long.len(), 40);
        n.cluster.push('x');
        assert_ne!(alert_key(&n, 255), long, "of all of it");
        assert_eq!(shortened("äöü", 2), "äö");
    }
}
