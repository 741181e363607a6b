//! Providers, which start and terminate the instances of a pool (`docs/spec/cluster-scaling.md §9`).

#[cfg(feature = "aws")]
pub mod aws;
#[cfg(not(feature = "aws"))]
#[path = "aws_absent.rs"]
pub mod aws;
pub mod command;
pub mod limits;
// It starts node agents.
#[cfg(target_os = "linux")]
pub mod local;

use futures_util::future::BoxFuture;

/// A scaling group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScalingGroup {
    /// How many instances it is meant to have.
    pub desired: i64,
    /// The fewest it may be set to.
    pub min: i64,
    /// The most it may be set to.
    pub max: i64,
    /// Its instances.
    pub instances: Vec<Instance>,
}

/// Whether an instance of a group counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceState {
    /// It starts or runs.
    Active,
    /// It is being terminated or detached.
    Leaving,
}

/// An instance of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its ID.
    pub id: String,
    /// Whether it counts.
    pub state: InstanceState,
}

impl ScalingGroup {
    /// The instances that start or run.
    pub fn active(&self) -> impl Iterator<Item = &Instance> {
        self.instances.iter().filter(|i| i.state == InstanceState::Active)
    }

    /// Whether the group has an instance that starts or runs.
    pub fn has(&self, instance: &str) -> bool {
        self.active().any(|i| i.id == instance)
    }
}

/// Which group is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupId<'a> {
    /// Name of the pool and of the group.
    pub pool: &'a str,
    /// The region.
    pub region: &'a str,
}

/// Why a provider did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// It did not answer in time.
    #[error("the provider did not answer within {0} s")]
    Timeout(u64),
    /// It asks for fewer requests.
    #[error("the provider throttles requests: {0}")]
    Throttled(String),
    /// It does not know the group.
    #[error("the scaling group does not exist: {0}")]
    NoGroup(String),
    /// It refuses the caller.
    #[error("the provider denies access: {0}")]
    Denied(String),
    /// The provider returned an invalid answer.
    #[error("the provider's answer is invalid: {0}")]
    Invalid(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// A pending answer.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ProviderError>>;

/// A provider. Every call has a limit of time of its own.
pub trait Provider: Send + Sync {
    /// Reads a group.
    fn group<'a>(&'a self, group: GroupId<'a>) -> Answer<'a, ScalingGroup>;

    /// Sets the desired size of a group.
    fn set_desired<'a>(&'a self, group: GroupId<'a>, desired: i64) -> Answer<'a, ()>;

    /// Terminates an instance of a group. With `decrement` the desired size is decremented, otherwise the group
    /// replaces it.
    fn terminate<'a>(&'a self, group: GroupId<'a>, instance: &'a str, decrement: bool) -> Answer<'a, ()>;

    /// Takes an instance out of its group with its place; it keeps running.
    fn detach<'a>(&'a self, group: GroupId<'a>, instance: &'a str) -> Answer<'a, ()>;
}
