//! The provider `aws`: auto scaling groups, through the official SDK (`docs/spec/cluster-scaling.md §9.3`).

mod errors;
mod http;

pub use http::client as http_client;

use std::collections::BTreeMap;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::config::{Credentials, SharedHttpClient};
use aws_sdk_autoscaling::types::{AutoScalingGroup, LifecycleState};
use parking_lot::Mutex;

use super::{Answer, GroupId, Instance, InstanceState, Provider, ProviderError, ScalingGroup, limits};
use encamp_model::SecretString;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// Attempts of one call; who calls tries again, too.
const ATTEMPTS: u32 = 2;
/// The most regions whose clients are kept.
const REGIONS: usize = 64;

/// Settings that replace those of the surroundings (environment, profiles, roles). Tests set them; `AWS_ENDPOINT_URL`
/// works without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AwsSettings {
    /// Where the API is, as a URL.
    pub endpoint: Option<String>,
    /// Access key and secret.
    pub keys: Option<(String, SecretString)>,
    /// How long one call may take; 30 s unless set.
    pub timeout: Option<Duration>,
}

/// The provider `aws`.
#[derive(Debug)]
pub struct Aws {
    settings: AwsSettings,
    http: SharedHttpClient,
    /// By region.
    clients: Mutex<BTreeMap<String, Client>>,
}

impl Default for Aws {
    fn default() -> Aws {
        Aws::new()
    }
}

impl Aws {
    /// The provider with credentials from the usual places: environment, profiles, web identity, container, instance
    /// role.
    pub fn new() -> Aws {
        Aws::with(AwsSettings::default())
    }

    /// The provider with settings.
    pub fn with(settings: AwsSettings) -> Aws {
        Aws { settings, http: http::client(), clients: Mutex::default() }
    }

    fn limit(&self) -> Duration {
        self.settings.timeout.unwrap_or(limits::CALL)
    }

    async fn within<T>(&self, call: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
        tokio::time::timeout(self.limit(), call).await.unwrap_or_else(|_| Err(limits::timeout(self.limit())))
    }

    /// The client of a region.
    async fn client(&self, region: &str) -> Client {
        let known = self.clients.lock().get(region).cloned();
        if let Some(client) = known {
            return client;
        }
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .region(Region::new(region.to_string()))
            .http_client(self.http.clone())
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .timeout_config(TimeoutConfig::builder().connect_timeout(CONNECT).operation_timeout(self.limit()).build());
        if let Some(endpoint) = &self.settings.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some((access, secret)) = &self.settings.keys {
            loader = loader.credentials_provider(Credentials::new(access, secret.expose(), None, None, "settings"));
        }
        let client = Client::new(&loader.load().await);
        let mut clients = self.clients.lock();
        if clients.len() >= REGIONS {
            clients.clear();
        }
        clients.insert(region.to_string(), client.clone());
        client
    }

    async fn read(&self, client: &Client, group: GroupId<'_>) -> Result<ScalingGroup, ProviderError> {
        let answer = client.describe_auto_scaling_groups().auto_scaling_group_names(group.pool).send().await;
        let answer = answer.map_err(|e| errors::provider_error(e, self.limit()))?;
        let found = answer.auto_scaling_groups().iter().find(|g| g.auto_scaling_group_name() == Some(group.pool));
        let missing = |text: &str| ProviderError::NoGroup(format!("{} {text} {}", group.pool, group.region));
        match found {
            None => Err(missing("is not in")),
            // Groups have a status only while they are deleted.
            Some(g) if g.status().is_some() => Err(missing("is being deleted from")),
            Some(g) => scaling_group(g),
        }
    }

    /// The group's instance, if it is not already leaving.
    async fn instance(&self, client: &Client, group: GroupId<'_>, id: &str) -> Result<Option<()>, ProviderError> {
        let read = self.read(client, group).await?;
        match read.instances.iter().find(|i| i.id == id).map(|i| i.state) {
            Some(InstanceState::Active) => Ok(Some(())),
            Some(InstanceState::Leaving) => Ok(None),
            None => Err(limits::no_instance(group.pool, id)),
        }
    }
}

fn scaling_group(group: &AutoScalingGroup) -> Result<ScalingGroup, ProviderError> {
    let size = |name: &str, size: Option<i32>| {
        size.map(i64::from).ok_or_else(|| ProviderError::Invalid(format!("the group has no {name} size")))
    };
    let instance = |i: &aws_sdk_autoscaling::types::Instance| {
        let state = state(i.lifecycle_state()?)?;
        Some(Instance { id: i.instance_id().unwrap_or_default().to_string(), state })
    };
    limits::checked(ScalingGroup {
        desired: size("desired", group.desired_capacity())?,
        min: size("min", group.min_size())?,
        max: size("max", group.max_size())?,
        instances: group.instances().iter().filter_map(instance).collect(),
    })
}

/// The state of an instance by its lifecycle state. Health does not matter: a group terminates instances that are not
/// healthy. `None`: the instance waits in a warm pool and does not belong to the group.
fn state(state: &LifecycleState) -> Option<InstanceState> {
    match state {
        LifecycleState::Terminating
        | LifecycleState::TerminatingWait
        | LifecycleState::TerminatingProceed
        | LifecycleState::TerminatingRetained
        | LifecycleState::Terminated
        | LifecycleState::Detaching
        | LifecycleState::Detached => Some(InstanceState::Leaving),
        LifecycleState::WarmedHibernated
        | LifecycleState::WarmedPending
        | LifecycleState::WarmedPendingProceed
        | LifecycleState::WarmedPendingRetained
        | LifecycleState::WarmedPendingWait
        | LifecycleState::WarmedRunning
        | LifecycleState::WarmedStopped
        | LifecycleState::WarmedTerminated
        | LifecycleState::WarmedTerminating
        | LifecycleState::WarmedTerminatingProceed
        | LifecycleState::WarmedTerminatingRetained
        | LifecycleState::WarmedTerminatingWait => None,
        // Pending, in service, on standby, quarantined, root volume being replaced; and what is not known yet: an
        // instance that is taken for a running one is waited for, not started twice.
        _ => Some(InstanceState::Active),
    }
}

impl Provider for Aws {
    fn group<'a>(&'a self, group: GroupId<'a>) -> Answer<'a, ScalingGroup> {
        Box::pin(self.within(async move { self.read(&self.client(group.region).await, group).await }))
    }

    fn set_desired<'a>(&'a self, group: GroupId<'a>, desired: i64) -> Answer<'a, ()> {
        Box::pin(self.within(async move {
            let client = self.client(group.region).await;
            // The API has one error for unknown groups and impossible sizes.
            limits::within_bounds(&self.read(&client, group).await?, desired)?;
            let size = i32::try_from(desired).map_err(|e| ProviderError::Failed(e.to_string()))?;
            let call = client.set_desired_capacity().auto_scaling_group_name(group.pool).desired_capacity(size);
            let answer = call.honor_cooldown(false).send().await;
            answer.map(drop).map_err(|e| errors::provider_error(e, self.limit()))
        }))
    }

    fn terminate<'a>(&'a self, group: GroupId<'a>, instance: &'a str, decrement: bool) -> Answer<'a, ()> {
        Box::pin(self.within(async move {
            let client = self.client(group.region).await;
            // The API takes an instance of any group, and decrements again for one that is leaving.
            if self.instance(&client, group, instance).await?.is_none() {
                return Ok(());
            }
            let call = client.terminate_instance_in_auto_scaling_group().instance_id(instance);
            let answer = call.should_decrement_desired_capacity(decrement).send().await;
            answer.map(drop).map_err(|e| errors::provider_error(e, self.limit()))
        }))
    }

    fn detach<'a>(&'a self, group: GroupId<'a>, instance: &'a str) -> Answer<'a, ()> {
        Box::pin(self.within(async move {
            let client = self.client(group.region).await;
            if self.instance(&client, group, instance).await?.is_none() {
                return Ok(());
            }
            let call = client.detach_instances().auto_scaling_group_name(group.pool).instance_ids(instance);
            let answer = call.should_decrement_desired_capacity(true).send().await;
            answer.map(drop).map_err(|e| errors::provider_error(e, self.limit()))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifecycle_states() {
        for (name, want) in [
            ("Pending", Some(InstanceState::Active)),
            ("Pending:Wait", Some(InstanceState::Active)),
            ("InService", Some(InstanceState::Active)),
            ("EnteringStandby", Some(InstanceState::Active)),
            ("Standby", Some(InstanceState::Active)),
            ("SomethingNew", Some(InstanceState::Active)),
            ("Terminating", Some(InstanceState::Leaving)),
            ("Terminating:Wait", Some(InstanceState::Leaving)),
            ("Terminated", Some(InstanceState::Leaving)),
            ("Detaching", Some(InstanceState::Leaving)),
            ("Detached", Some(InstanceState::Leaving)),
            ("Warmed:Stopped", None),
        ] {
            assert_eq!(state(&LifecycleState::from(name)), want, "{name}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let settings = AwsSettings { keys: Some(("id".into(), "secret".into())), ..AwsSettings::default() };
        let shown = format!("{settings:?}");
        assert!(shown.contains("id") && !shown.contains("secret"), "{shown}");
    }
}
