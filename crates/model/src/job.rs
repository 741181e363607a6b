//! Jobs: the top level of a job specification and its policies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bytes::Bytes;
use super::group::*;
use super::json::{narrow, nil, null_is_default};
use super::status::{JobStatus, JobType, ScalingPolicyType};

/// A job: what an operator submits and the schedulers work on.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Job {
    /// Whether the job was stopped.
    pub stop: bool,
    /// The region it runs in.
    pub region: String,
    /// The namespace; with `id` the key of the job.
    pub namespace: String,
    /// 1 or more characters, no spaces; unique in its namespace. Children of periodic and parameterized jobs have the
    /// parent's ID as prefix.
    #[serde(rename = "ID")]
    pub id: String,
    /// The periodic or parameterized job that launched this one; empty: none.
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    /// A name for operators; by default the ID.
    pub name: String,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub r#type: JobType,
    /// From 1 to the server's `job_max_priority`; a larger one takes precedence.
    pub priority: i64,
    /// Whether a plan is rejected as a whole if one node rejects its part.
    pub all_at_once: bool,
    /// Patterns with `*`; the datacenter of a node must match one.
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    /// The node pool; `all` stands for every node.
    pub node_pool: String,
    /// Constraints of all groups, in the order of the job file.
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    /// Affinities of all groups, in the order of the job file.
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
    /// Spreads of all groups, in the order of the job file.
    #[serde(with = "nil")]
    pub spreads: Vec<Spread>,
    /// In the order of the job file; names are unique.
    #[serde(with = "nil")]
    pub task_groups: Vec<TaskGroup>,
    /// The rollout of groups that have none of their own. The stored job keeps only `stagger` and `max_parallel`.
    pub update: UpdateStrategy,
    /// Regions to run in; validation rejects it, as it belongs to the enterprise edition.
    pub multiregion: Option<Multiregion>,
    /// When the job launches children; null: it is not periodic.
    pub periodic: Option<PeriodicConfig>,
    /// Requirements on dispatches; null: the job is not parameterized.
    pub parameterized_job: Option<ParameterizedJobConfig>,
    /// Whether a dispatch made the job.
    pub dispatched: bool,
    /// The token of the dispatch that made the job: a second dispatch with it makes none.
    pub dispatch_idempotency_token: String,
    /// Payload of a dispatched job, compressed as servers store it; see [`Job::uncompressed_payload`].
    pub payload: Option<Bytes>,
    /// Free-form metadata; tasks see them as `NOMAD_META_…`.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    /// The Consul namespace; empty: the agent's.
    pub consul_namespace: String,
    /// The Vault namespace; empty: the agent's.
    pub vault_namespace: String,
    /// Kept as clients send it; servers do not read it.
    #[serde(rename = "NomadTokenID")]
    pub nomad_token_id: String,
    /// `pending`, `running` or `dead`.
    pub status: JobStatus,
    /// Why the status is what it is; mostly empty.
    pub status_description: String,
    /// Whether a deployment of this version succeeded, or an operator said so: a rollback may go here.
    pub stable: bool,
    /// Counts changes of the specification, from 0.
    pub version: u64,
    /// When this version was registered, in Unix nanoseconds.
    pub submit_time: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Raft index of the last change of the specification.
    pub job_modify_index: u64,
    /// Texts and links that web UIs show with the job.
    #[serde(rename = "UI")]
    pub ui: Option<JobUiConfig>,
    /// The tag of this version; null: it has none.
    pub version_tag: Option<JobVersionTag>,
}

impl Job {
    /// The payload as clients see it. Servers store it compressed (snappy, block format); what is not that stays as it
    /// is.
    pub fn uncompressed_payload(&self) -> Option<Bytes> {
        let stored = self.payload.as_ref()?;
        // The length comes from the payload itself; no honest one compresses better.
        let fits = |length: usize| length / MOST_RATIO <= stored.0.len();
        let plain = snap::raw::decompress_len(&stored.0)
            .ok()
            .filter(|n| fits(*n))
            .and_then(|_| snap::raw::Decoder::new().decompress_vec(&stored.0).ok());
        Some(plain.map_or_else(|| stored.clone(), Bytes))
    }
}

/// How many times larger than its compressed form a payload may be.
const MOST_RATIO: usize = 64;

/// The `Constraint` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Constraint {
    /// The left side: a literal, or `${attr.…}`, `${meta.…}`, `${node.…}`.
    #[serde(rename = "LTarget")]
    pub ltarget: String,
    /// The right side: a literal or a target.
    #[serde(rename = "RTarget")]
    pub rtarget: String,
    /// The operator: `=`, `!=`, `<`, `regexp`, `version`, … (`docs/spec/scheduling.md §6.1`).
    pub operand: String,
}

/// The `Affinity` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Affinity {
    /// The left side: a literal, or `${attr.…}`, `${meta.…}`, `${node.…}`.
    #[serde(rename = "LTarget")]
    pub ltarget: String,
    /// The right side: a literal or a target.
    #[serde(rename = "RTarget")]
    pub rtarget: String,
    /// The operator: `=`, `!=`, `<`, `regexp`, `version`, … (`docs/spec/scheduling.md §6.1`).
    pub operand: String,
    /// From -100 to 100, without 0; negative: nodes that match are avoided.
    #[serde(deserialize_with = "narrow::<i8, _, _>")]
    pub weight: i64,
}

/// The `Spread` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spread {
    /// The attribute over whose values allocations are spread: `${node.datacenter}`.
    pub attribute: String,
    /// From 1 to 100: how much this spread counts among several.
    #[serde(deserialize_with = "narrow::<i8, _, _>")]
    pub weight: i64,
    /// The wanted shares; empty: an even spread.
    #[serde(with = "nil")]
    pub spread_target: Vec<SpreadTarget>,
}

/// How changed allocations are rolled out; durations in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateStrategy {
    /// Without effect on rollouts, which go by health; must be more than 0.
    pub stagger: i64,
    /// How many allocations of a group are replaced at a time; 0: all at once, without a deployment.
    pub max_parallel: i64,
    /// How the health of an allocation is determined: `checks`, `task_states` or `manual`.
    pub health_check: String,
    /// How long an allocation must be well to count as healthy.
    pub min_healthy_time: i64,
    /// How long an allocation may take to become healthy.
    pub healthy_deadline: i64,
    /// How long a deployment may go without a newly healthy allocation; 0: the first unhealthy one fails it.
    pub progress_deadline: i64,
    /// Whether a failed deployment takes the job back to the last stable version.
    pub auto_revert: bool,
    /// Whether canaries are promoted as soon as all are healthy.
    pub auto_promote: bool,
    /// Allocations of the new version that are placed beside the old ones until promotion; 0: none.
    pub canary: i64,
}

/// The `Multiregion` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Multiregion {
    /// How the deployment moves from region to region.
    pub strategy: Option<MultiregionStrategy>,
    /// In the order of the job file.
    #[serde(with = "nil")]
    pub regions: Vec<MultiregionRegion>,
}

/// The `PeriodicConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicConfig {
    /// Whether launches happen on their own; if not, only on demand.
    pub enabled: bool,
    /// One cron expression; empty if `specs` are given.
    pub spec: String,
    /// Several cron expressions; the next time of any of them launches.
    pub specs: Option<Vec<String>>,
    /// How the expressions are read: `cron`.
    pub spec_type: String,
    /// Whether a launch is left out while an earlier child runs.
    pub prohibit_overlap: bool,
    /// The IANA time zone of the expressions: `UTC`.
    pub time_zone: String,
}

/// The `ParameterizedJobConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ParameterizedJobConfig {
    /// Whether a dispatch has a payload: `optional`, `required` or `forbidden`.
    pub payload: String,
    /// Keys that the meta of a dispatch must have.
    #[serde(with = "nil")]
    pub meta_required: Vec<String>,
    /// Further keys that the meta of a dispatch may have.
    #[serde(with = "nil")]
    pub meta_optional: Vec<String>,
}

/// The `JobUIConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiConfig {
    /// Markdown of at most 1000 bytes.
    pub description: String,
    /// In the order of the job file.
    #[serde(with = "nil")]
    pub links: Vec<JobUiLink>,
}

/// The `JobVersionTag` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobVersionTag {
    /// Unique among the versions of the job.
    pub name: String,
    /// Free text of at most 1000 bytes.
    pub description: String,
    /// Unix nanoseconds.
    pub tagged_time: i64,
}

/// The `SpreadTarget` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SpreadTarget {
    /// A value of the attribute.
    pub value: String,
    /// The wanted share of the allocations, 0 to 100.
    #[serde(deserialize_with = "narrow::<u8, _, _>")]
    pub percent: u64,
}

/// The `ScalingPolicy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicy {
    /// A UUID that the server chooses.
    #[serde(rename = "ID")]
    pub id: String,
    /// `horizontal` (the count of a group), `vertical_cpu` or `vertical_mem` (resources of a task).
    pub r#type: ScalingPolicyType,
    /// The scaling target: `Namespace`, `Job`, `Group` and, if vertical, `Task`.
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    /// No block and an empty block are different.
    pub policy: Option<BTreeMap<String, Value>>,
    /// The least count.
    pub min: i64,
    /// The largest count; -1: not given, which validation rejects.
    pub max: i64,
    /// Whether autoscalers may act.
    pub enabled: bool,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// The `MultiregionStrategy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionStrategy {
    /// How many regions are deployed to at a time; 0: all.
    pub max_parallel: i64,
    /// The behaviour of other regions when one fails: `fail_all`, `fail_local` or empty.
    pub on_failure: String,
}

/// The `MultiregionRegion` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionRegion {
    /// The region.
    pub name: String,
    /// The count of groups whose own count is 0.
    pub count: i64,
    /// Datacenters in place of the job's.
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    /// The node pool in place of the job's.
    pub node_pool: String,
    /// Entries over those of the job's `meta`.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
}

/// The `JobUILink` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiLink {
    /// The text of the link.
    pub label: String,
    /// Where the link leads.
    pub url: String,
}
