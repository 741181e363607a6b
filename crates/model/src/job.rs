//! Jobs: the top of a job specification and the policies that hang off it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bytes::Bytes;
use super::group::*;
use super::json::{narrow, nil, or_default};

/// A job: what an operator submits and the schedulers work on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Job {
    #[serde(deserialize_with = "or_default")]
    pub stop: bool,
    #[serde(deserialize_with = "or_default")]
    pub region: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(rename = "ParentID", deserialize_with = "or_default")]
    pub parent_id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub priority: i64,
    #[serde(deserialize_with = "or_default")]
    pub all_at_once: bool,
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub node_pool: String,
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
    #[serde(with = "nil")]
    pub spreads: Vec<Spread>,
    #[serde(with = "nil")]
    pub task_groups: Vec<TaskGroup>,
    #[serde(deserialize_with = "or_default")]
    pub update: UpdateStrategy,
    pub multiregion: Option<Multiregion>,
    pub periodic: Option<PeriodicConfig>,
    pub parameterized_job: Option<ParameterizedJobConfig>,
    #[serde(deserialize_with = "or_default")]
    pub dispatched: bool,
    #[serde(deserialize_with = "or_default")]
    pub dispatch_idempotency_token: String,
    /// Payload of a dispatched job, compressed as servers store it; see [`Job::uncompressed_payload`].
    pub payload: Option<Bytes>,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub consul_namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub vault_namespace: String,
    #[serde(rename = "NomadTokenID", deserialize_with = "or_default")]
    pub nomad_token_id: String,
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    #[serde(deserialize_with = "or_default")]
    pub status_description: String,
    #[serde(deserialize_with = "or_default")]
    pub stable: bool,
    #[serde(deserialize_with = "or_default")]
    pub version: u64,
    #[serde(deserialize_with = "or_default")]
    pub submit_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    #[serde(rename = "UI")]
    pub ui: Option<JobUiConfig>,
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Constraint {
    #[serde(rename = "LTarget", deserialize_with = "or_default")]
    pub ltarget: String,
    #[serde(rename = "RTarget", deserialize_with = "or_default")]
    pub rtarget: String,
    #[serde(deserialize_with = "or_default")]
    pub operand: String,
}

/// The `Affinity` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Affinity {
    #[serde(rename = "LTarget", deserialize_with = "or_default")]
    pub ltarget: String,
    #[serde(rename = "RTarget", deserialize_with = "or_default")]
    pub rtarget: String,
    #[serde(deserialize_with = "or_default")]
    pub operand: String,
    #[serde(deserialize_with = "narrow::<i8, _, _>")]
    pub weight: i64,
}

/// The `Spread` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spread {
    #[serde(deserialize_with = "or_default")]
    pub attribute: String,
    #[serde(deserialize_with = "narrow::<i8, _, _>")]
    pub weight: i64,
    #[serde(with = "nil")]
    pub spread_target: Vec<SpreadTarget>,
}

/// How changed allocations are rolled out; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateStrategy {
    #[serde(deserialize_with = "or_default")]
    pub stagger: i64,
    #[serde(deserialize_with = "or_default")]
    pub max_parallel: i64,
    #[serde(deserialize_with = "or_default")]
    pub health_check: String,
    #[serde(deserialize_with = "or_default")]
    pub min_healthy_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub healthy_deadline: i64,
    #[serde(deserialize_with = "or_default")]
    pub progress_deadline: i64,
    #[serde(deserialize_with = "or_default")]
    pub auto_revert: bool,
    #[serde(deserialize_with = "or_default")]
    pub auto_promote: bool,
    #[serde(deserialize_with = "or_default")]
    pub canary: i64,
}

/// The `Multiregion` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Multiregion {
    pub strategy: Option<MultiregionStrategy>,
    #[serde(with = "nil")]
    pub regions: Vec<MultiregionRegion>,
}

/// The `PeriodicConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicConfig {
    #[serde(deserialize_with = "or_default")]
    pub enabled: bool,
    #[serde(deserialize_with = "or_default")]
    pub spec: String,
    pub specs: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub spec_type: String,
    #[serde(deserialize_with = "or_default")]
    pub prohibit_overlap: bool,
    #[serde(deserialize_with = "or_default")]
    pub time_zone: String,
}

/// The `ParameterizedJobConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ParameterizedJobConfig {
    #[serde(deserialize_with = "or_default")]
    pub payload: String,
    #[serde(with = "nil")]
    pub meta_required: Vec<String>,
    #[serde(with = "nil")]
    pub meta_optional: Vec<String>,
}

/// The `JobUIConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiConfig {
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(with = "nil")]
    pub links: Vec<JobUiLink>,
}

/// The `JobVersionTag` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobVersionTag {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(deserialize_with = "or_default")]
    pub tagged_time: i64,
}

/// The `SpreadTarget` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SpreadTarget {
    #[serde(deserialize_with = "or_default")]
    pub value: String,
    #[serde(deserialize_with = "narrow::<u8, _, _>")]
    pub percent: u64,
}

/// The `ScalingPolicy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicy {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    /// No block and an empty block are different.
    pub policy: Option<BTreeMap<String, Value>>,
    #[serde(deserialize_with = "or_default")]
    pub min: i64,
    #[serde(deserialize_with = "or_default")]
    pub max: i64,
    #[serde(deserialize_with = "or_default")]
    pub enabled: bool,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The `MultiregionStrategy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionStrategy {
    #[serde(deserialize_with = "or_default")]
    pub max_parallel: i64,
    #[serde(deserialize_with = "or_default")]
    pub on_failure: String,
}

/// The `MultiregionRegion` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionRegion {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub count: i64,
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub node_pool: String,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
}

/// The `JobUILink` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiLink {
    #[serde(deserialize_with = "or_default")]
    pub label: String,
    #[serde(deserialize_with = "or_default")]
    pub url: String,
}
