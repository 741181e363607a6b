//! The tables of the store by name, and the index of the last write to each.

/// A table. The order is that of the names in `docs/spec/server.md §17.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Table {
    /// Nodes.
    Nodes,
    /// Node pools.
    NodePools,
    /// Current versions of jobs.
    Jobs,
    /// Counts per job and group.
    JobSummary,
    /// Stored versions of jobs.
    JobVersion,
    /// Sources of job versions.
    JobSubmission,
    /// Deployments.
    Deployment,
    /// Last launches of periodic jobs.
    PeriodicLaunch,
    /// Evaluations.
    Evals,
    /// Allocations.
    Allocs,
    /// ACL policies.
    AclPolicy,
    /// ACL tokens.
    AclToken,
    /// ACL roles.
    AclRoles,
    /// ACL auth methods.
    AclAuthMethods,
    /// ACL binding rules.
    AclBindingRules,
    /// CSI volumes.
    CsiVolumes,
    /// CSI plugins.
    CsiPlugins,
    /// Dynamic host volumes.
    HostVolumes,
    /// Claims of task groups on host volumes.
    TaskVolume,
    /// Scaling policies.
    ScalingPolicy,
    /// Scaling events.
    ScalingEvent,
    /// Registered services.
    ServiceRegistrations,
    /// Encrypted variables.
    Variables,
    /// How much each namespace holds in variables.
    VariablesQuota,
    /// Root keys of the keyring.
    RootKeys,
    /// Namespaces.
    Namespaces,
    /// Autopilot configuration.
    AutopilotConfig,
    /// Scheduler configuration.
    SchedulerConfig,
    /// Cluster metadata.
    ClusterMeta,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 29] = [
        Table::Nodes,
        Table::NodePools,
        Table::Jobs,
        Table::JobSummary,
        Table::JobVersion,
        Table::JobSubmission,
        Table::Deployment,
        Table::PeriodicLaunch,
        Table::Evals,
        Table::Allocs,
        Table::AclPolicy,
        Table::AclToken,
        Table::AclRoles,
        Table::AclAuthMethods,
        Table::AclBindingRules,
        Table::CsiVolumes,
        Table::CsiPlugins,
        Table::HostVolumes,
        Table::TaskVolume,
        Table::ScalingPolicy,
        Table::ScalingEvent,
        Table::ServiceRegistrations,
        Table::Variables,
        Table::VariablesQuota,
        Table::RootKeys,
        Table::Namespaces,
        Table::AutopilotConfig,
        Table::SchedulerConfig,
        Table::ClusterMeta,
    ];

    /// The name in the index table.
    pub fn name(self) -> &'static str {
        match self {
            Table::Nodes => "nodes",
            Table::NodePools => "node_pools",
            Table::Jobs => "jobs",
            Table::JobSummary => "job_summary",
            Table::JobVersion => "job_version",
            Table::JobSubmission => "job_submission",
            Table::Deployment => "deployment",
            Table::PeriodicLaunch => "periodic_launch",
            Table::Evals => "evals",
            Table::Allocs => "allocs",
            Table::AclPolicy => "acl_policy",
            Table::AclToken => "acl_token",
            Table::AclRoles => "acl_roles",
            Table::AclAuthMethods => "acl_auth_methods",
            Table::AclBindingRules => "acl_binding_rules",
            Table::CsiVolumes => "csi_volumes",
            Table::CsiPlugins => "csi_plugins",
            Table::HostVolumes => "host_volumes",
            Table::TaskVolume => "task_volume",
            Table::ScalingPolicy => "scaling_policy",
            Table::ScalingEvent => "scaling_event",
            Table::ServiceRegistrations => "service_registrations",
            Table::Variables => "variables",
            Table::VariablesQuota => "variables_quota",
            Table::RootKeys => "root_keys",
            Table::Namespaces => "namespaces",
            Table::AutopilotConfig => "autopilot-config",
            Table::SchedulerConfig => "scheduler_config",
            Table::ClusterMeta => "cluster_meta",
        }
    }
}

/// The index of the last write to each table (`docs/spec/server.md §17.2`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableIndexes([u64; Table::ALL.len()]);

impl TableIndexes {
    /// The index of the last write, 0 if there was none.
    pub fn get(&self, table: Table) -> u64 {
        self.0.get(table as usize).copied().unwrap_or(0)
    }

    /// Notes a write.
    pub fn set(&mut self, table: Table, index: u64) {
        if let Some(i) = self.0.get_mut(table as usize) {
            *i = index;
        }
    }

    /// The largest index of all tables.
    pub fn latest(&self) -> u64 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_listed_in_their_order() {
        for (i, t) in Table::ALL.into_iter().enumerate() {
            assert_eq!(t as usize, i, "{}", t.name());
        }
        let mut indexes = TableIndexes::default();
        indexes.set(Table::ClusterMeta, 7);
        indexes.set(Table::Nodes, 9);
        assert_eq!((indexes.get(Table::ClusterMeta), indexes.get(Table::Jobs), indexes.latest()), (7, 0, 9));
    }
}
