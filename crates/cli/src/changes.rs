//! The flags for assumed changes to a cluster.

use super::completion::values::CompleteWith;
use super::error::CommandResult;
use encamp_plan::what_if::{Change, ChangeError, WhatIf, what_if};
use encamp_state::State;

/// Settings of the scheduler configuration that have few values.
const SETTINGS: &[&str] = &[
    "memory_oversubscription_enabled=false",
    "memory_oversubscription_enabled=true",
    "preemption_config.batch_scheduler_enabled=false",
    "preemption_config.batch_scheduler_enabled=true",
    "preemption_config.service_scheduler_enabled=false",
    "preemption_config.service_scheduler_enabled=true",
    "preemption_config.sysbatch_scheduler_enabled=false",
    "preemption_config.sysbatch_scheduler_enabled=true",
    "preemption_config.system_scheduler_enabled=false",
    "preemption_config.system_scheduler_enabled=true",
    "scheduler_algorithm=binpack",
    "scheduler_algorithm=spread",
];

/// Assumed changes. All flags can be repeated and combined.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ChangeFlags {
    /// Assume that a node (name, ID or ID prefix) or all of dc=NAME, class=NAME or pool=NAME are drained. Can be
    /// repeated
    #[arg(long, value_name = "node")]
    pub drain: Vec<String>,
    /// Assume that a node, or all of dc=NAME, class=NAME or pool=NAME, are lost. Can be repeated
    #[arg(long, value_name = "nodes")]
    pub down: Vec<String>,
    /// Assume N new nodes like a node of the cluster: N:like=NODE. Can be repeated
    #[arg(long, value_name = "nodes")]
    pub add: Vec<String>,
    /// Assume a count of a task group: JOB/GROUP=N. Can be repeated
    #[arg(long, value_name = "count")]
    pub scale: Vec<String>,
    /// Assume that a job is stopped. Can be repeated
    #[arg(long, value_name = "job")]
    pub stop: Vec<String>,
    /// Assume a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Can be
    /// repeated
    #[arg(long, value_name = "setting", add = CompleteWith::Words(SETTINGS))]
    pub config: Vec<String>,
}

impl ChangeFlags {
    /// Whether no change is given.
    pub fn is_empty(&self) -> bool {
        let all = [&self.drain, &self.down, &self.add, &self.scale, &self.stop, &self.config];
        all.iter().all(|list| list.is_empty())
    }

    /// The changes as given on the command line.
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

    /// Applies the changes; returns `None` if there are none.
    pub fn carry_out(&self, before: &State, namespace: &str, now: i64) -> CommandResult<Option<WhatIf>> {
        if self.is_empty() {
            return Ok(None);
        }
        let changes = self.read()?;
        Ok(Some(what_if(before, &changes, namespace, now)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_settings() {
        let mut config = encamp_plan::settings::current(&State::new());
        for setting in SETTINGS {
            let (name, value) = setting.split_once('=').unwrap();
            encamp_plan::settings::set(&mut config, name, value).unwrap();
        }
    }
}
