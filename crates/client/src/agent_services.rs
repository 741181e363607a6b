//! What the agent does for its node: calls to the servers, the HTTP API for tasks and templates, disks of other nodes,
//! metrics. The settings of a node are plain data ([`Config`](crate::Config)).

use std::sync::Arc;

use encamp_telemetry::Metrics;

use super::disk::DiskReads;
use super::servers::Servers;
use super::task_api::TaskApi;
use super::templates::ApiReads;

/// What the agent does for its node.
#[derive(Clone)]
pub struct AgentServices {
    /// The calls to the servers.
    pub servers: Arc<dyn Servers>,
    /// Serves the HTTP API to tasks; none: there is no task API.
    pub task_api: Option<Arc<dyn TaskApi>>,
    /// Reads of templates by the HTTP API of the agent; none: templates cannot read from servers.
    pub api_reads: Option<Arc<dyn ApiReads>>,
    /// Reads the disks of allocations from the agents of other nodes; none: they are not moved.
    pub disk_reads: Option<Arc<dyn DiskReads>>,
    /// Where metrics go.
    pub metrics: Metrics,
}

impl AgentServices {
    /// The calls to the servers alone; metrics are counted and read by nobody.
    pub fn new(servers: Arc<dyn Servers>) -> AgentServices {
        AgentServices { servers, task_api: None, api_reads: None, disk_reads: None, metrics: Metrics::default() }
    }
}
