//! Settings that decide what an operation writes.

/// Settings of the state machine; they must be equal on all servers.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `job_tracked_versions`: the number of retained untagged versions of a job.
    pub tracked_versions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { tracked_versions: 6 }
    }
}
