//! A job with its versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::Job;

/// A job with its stored versions.
#[derive(Debug, Clone)]
pub struct JobEntry {
    /// The current version.
    pub current: Arc<Job>,
    /// All stored versions, the current one included, by version.
    pub versions: BTreeMap<u64, Arc<Job>>,
}
