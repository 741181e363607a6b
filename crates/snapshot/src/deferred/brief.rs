//! What is read of an allocation at once.

use std::sync::Arc;

use serde::Deserialize;

use crate::build_state::Named;
use crate::lines::Kept;
use encamp_model::json::or_default;
use encamp_model::{AllocatedResources, ClientStatus, DesiredStatus, Job, Text, UniqueText};
use encamp_state::{AllocPhase, AllocUsage, Id};

/// The members that tables and sums need. They are read as those of `encamp_model::Allocation` are.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Members {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    id: UniqueText,
    #[serde(deserialize_with = "or_default")]
    namespace: Text,
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    node_id: Text,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    job_id: Text,
    job: Option<Arc<Job>>,
    job_version: Option<u64>,
    job_ref: Option<u32>,
    allocated_resources: Option<AllocatedResources>,
    #[serde(deserialize_with = "or_default")]
    desired_status: DesiredStatus,
    #[serde(deserialize_with = "or_default")]
    client_status: ClientStatus,
    #[serde(deserialize_with = "or_default")]
    modify_index: u64,
}

/// Where the line of an allocation is: a block of lines, and the bytes in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinePlace {
    pub(super) block: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What tables and sums need of an allocation, and where the rest is.
pub(super) struct Brief {
    pub(super) id: Id,
    pub(super) node_id: Text,
    pub(super) job: Named,
    pub(super) usage: AllocUsage,
    pub(super) phase: AllocPhase,
    pub(super) modify_index: u64,
    pub(super) place: LinePlace,
}

impl Kept for Brief {
    fn read(line: &str, block: usize, start: usize) -> Option<Brief> {
        let m: Members = serde_json::from_str(line).ok()?;
        let place = LinePlace {
            block: u32::try_from(block).ok()?,
            start: u32::try_from(start).ok()?,
            end: u32::try_from(start + line.len()).ok()?,
        };
        Some(Brief {
            id: Id::new(&m.id),
            node_id: m.node_id,
            phase: AllocPhase::of_statuses(&m.desired_status, &m.client_status),
            usage: m.allocated_resources.as_ref().map(AllocUsage::new).unwrap_or_default(),
            job: Named { namespace: m.namespace, job_id: m.job_id, version: m.job_version, own: m.job_ref, job: m.job },
            modify_index: m.modify_index,
            place,
        })
    }
}
