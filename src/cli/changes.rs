//! Flags that say what is assumed to change in a cluster.

use encamp_plan::what_if::{Change, ChangeError, WhatIf, what_if};
use encamp_state::State;

/// Changes that are assumed, not made. All can be repeated and combined.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ChangeFlags {
    /// Drain a node (name, ID, or the beginning of the ID), or dc=NAME, class=NAME, pool=NAME, to the end. Repeatable
    #[arg(long, value_name = "node")]
    pub drain: Vec<String>,
    /// Lose a node, or all of dc=NAME, class=NAME or pool=NAME. Repeatable
    #[arg(long, value_name = "nodes")]
    pub down: Vec<String>,
    /// Add N new nodes like a node of the cluster: N:like=NODE. Repeatable
    #[arg(long, value_name = "nodes")]
    pub add: Vec<String>,
    /// Set the count of a group: JOB/GROUP=N. Repeatable
    #[arg(long, value_name = "count")]
    pub scale: Vec<String>,
    /// Stop a job. Repeatable
    #[arg(long, value_name = "job")]
    pub stop: Vec<String>,
    /// Set a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Repeatable
    #[arg(long, value_name = "setting")]
    pub config: Vec<String>,
}

impl ChangeFlags {
    /// Whether no change is given.
    pub fn is_empty(&self) -> bool {
        let all = [&self.drain, &self.down, &self.add, &self.scale, &self.stop, &self.config];
        all.iter().all(|list| list.is_empty())
    }

    /// The changes as they are written.
    pub fn read(&self) -> Result<Vec<Change>, ChangeError> {
        type Read = fn(&str) -> Result<Change, ChangeError>;
        let kinds: [(&[String], Read); 6] = [
            (&self.drain, Change::drain),
            (&self.down, Change::down),
            (&self.add, Change::add),
            (&self.scale, Change::scale),
            (&self.stop, Change::stop),
            (&self.config, Change::config),
        ];
        kinds.iter().flat_map(|(texts, read)| texts.iter().map(|t| read(t))).collect()
    }

    /// Carries the changes out; `None` if there are none.
    pub fn carry_out(&self, before: &State, namespace: &str, now: i64) -> Result<Option<WhatIf>, String> {
        if self.is_empty() {
            return Ok(None);
        }
        let changes = self.read().map_err(|e| e.to_string())?;
        what_if(before, &changes, namespace, now).map(Some).map_err(|e| e.to_string())
    }
}
