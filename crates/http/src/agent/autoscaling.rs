//! The autoscaler of the agent (`docs/spec/cluster-scaling.md §11, §13`).

use super::pending::Pending;
use crate::error::Error;
use encamp_autoscale::jobs::GroupId;
use encamp_autoscale::jobs::status::GroupStatus;
use encamp_autoscale::status::PoolStatus;

/// The worker pools that the leader scales (`docs/spec/cluster-scaling.md §11`).
pub trait Autoscaling: Send + Sync {
    /// All pools by name, as they are now. Empty where this server does not lead.
    fn pools(&self) -> Vec<PoolStatus>;

    /// The job groups that are scaled, by namespace, job and group; empty where this server does not lead, none where
    /// job groups are not scaled at all (`docs/spec/cluster-scaling.md §13`).
    fn groups(&self) -> Option<Vec<GroupStatus>>;

    /// Enters or leaves the failsafe mode of a job group and gives the group. The error of an unknown group is 404.
    fn set_group_failsafe<'a>(
        &'a self,
        group: &'a GroupId,
        enable: bool,
        who: &'a str,
    ) -> Pending<'a, Result<GroupStatus, Error>>;

    /// Enters or leaves the failsafe mode of a pool and gives the pool; `who` asks for it. The error of an unknown pool
    /// is 404.
    fn set_failsafe<'a>(&'a self, pool: &'a str, enable: bool, who: &'a str) -> Pending<'a, Result<PoolStatus, Error>>;
}
