//! The tables of the store by name, and the index of the last write to each.

/// The tables: one list of variants and names, so that none can be missing from [`Table::ALL`].
macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident = $name:literal,)*) => {
        /// A table. The order is that of the names in `docs/spec/server.md §17.1`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Table {
            $($(#[$doc])* $table,)*
        }

        impl Table {
            /// All tables, in their order.
            pub const ALL: [Table; [$(Table::$table),*].len()] = [$(Table::$table),*];

            /// The name in the index table.
            pub fn name(self) -> &'static str {
                match self {
                    $(Table::$table => $name,)*
                }
            }
        }
    };
}

tables! {
    /// Nodes.
    Nodes = "nodes",
    /// Node pools.
    NodePools = "node_pools",
    /// Current versions of jobs.
    Jobs = "jobs",
    /// Counts per job and group.
    JobSummary = "job_summary",
    /// Stored versions of jobs.
    JobVersion = "job_version",
    /// Sources of job versions.
    JobSubmission = "job_submission",
    /// Deployments.
    Deployment = "deployment",
    /// Last launches of periodic jobs.
    PeriodicLaunch = "periodic_launch",
    /// Evaluations.
    Evals = "evals",
    /// Allocations.
    Allocs = "allocs",
    /// ACL policies.
    AclPolicy = "acl_policy",
    /// ACL tokens.
    AclToken = "acl_token",
    /// The index at which the first management token was made.
    AclTokenBootstrap = "acl_token_bootstrap",
    /// One-time tokens.
    OneTimeToken = "one_time_token",
    /// ACL roles.
    AclRoles = "acl_roles",
    /// ACL auth methods.
    AclAuthMethods = "acl_auth_methods",
    /// ACL binding rules.
    AclBindingRules = "acl_binding_rules",
    /// CSI volumes.
    CsiVolumes = "csi_volumes",
    /// CSI plugins.
    CsiPlugins = "csi_plugins",
    /// Dynamic host volumes.
    HostVolumes = "host_volumes",
    /// Claims of task groups on host volumes.
    TaskVolume = "task_volume",
    /// Scaling policies.
    ScalingPolicy = "scaling_policy",
    /// Scaling events.
    ScalingEvent = "scaling_event",
    /// Registered services.
    ServiceRegistrations = "service_registrations",
    /// Encrypted variables.
    Variables = "variables",
    /// How much each namespace holds in variables.
    VariablesQuota = "variables_quota",
    /// Root keys of the keyring.
    RootKeys = "root_keys",
    /// Namespaces.
    Namespaces = "namespaces",
    /// Autopilot configuration.
    AutopilotConfig = "autopilot-config",
    /// Scheduler configuration.
    SchedulerConfig = "scheduler_config",
    /// Cluster metadata.
    ClusterMeta = "cluster_meta",
    /// Revoked identities of nodes.
    NodeRevocations = "node_revocations",
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
