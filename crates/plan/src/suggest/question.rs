//! What is asked, and what is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::{Job, api};
use encamp_state::State;

use super::edit::Edit;
use crate::stop::Stop;

/// How many allocations of others the rollout of a job that is about to be registered evicts; `None`: it does not come to
/// its end.
pub type RolloutCheck<'a> = dyn Fn(&State, &Arc<Job>) -> Option<usize> + 'a;

/// A job that may not fit.
pub struct Question<'a> {
    /// The cluster.
    pub state: &'a State,
    /// The job as a client sends it.
    pub job: &'a api::Job,
    /// How it is converted.
    pub options: &'a ConvertOptions,
    /// The settings of the servers.
    pub server: &'a ServerContext,
    /// Unix nanoseconds.
    pub now: i64,
    /// Follows rollouts of more than one step; `None`: the first step decides.
    pub rollout: Option<&'a RolloutCheck<'a>>,
    /// Whether moves of other allocations are looked for. That may take longer than all other edits.
    pub moves: bool,
    /// Ends the search.
    pub stop: Stop,
}

/// An allocation that a suggestion evicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evicted {
    /// Its ID.
    pub alloc_id: String,
    /// Its name.
    pub name: String,
    /// The namespace of its job.
    pub namespace: String,
    /// Its job.
    pub job_id: String,
    /// The priority of that job.
    pub priority: i64,
    /// The name of its node.
    pub node_name: String,
}

/// Changes with which everything is placed.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The changes.
    pub edits: Vec<Edit>,
    /// How far they are from what was asked for ([`mod@super::cost`]).
    pub cost: f64,
    /// Allocations that the plan with them places.
    pub placed: usize,
    /// Allocations of others that it evicts.
    pub evicted: Vec<Evicted>,
    /// How many more the later steps of its rollout evict.
    pub evicted_later: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suggestions {
    /// Allocations that are not placed, by group.
    pub unplaced: BTreeMap<String, i64>,
    /// Servers would reject a part of the plan.
    pub rejected: bool,
    /// Everything is placed at once, but the rollout does not come to its end.
    pub rollout_blocked: bool,
    /// The cheapest first.
    pub list: Vec<Suggestion>,
    /// The search was ended early: there may be more suggestions, and cheaper ones.
    pub cut: bool,
    /// Plans that were made.
    pub plans: usize,
}

impl Suggestions {
    /// Whether there is something to suggest anything for.
    pub fn are_needed(&self) -> bool {
        !self.unplaced.is_empty() || self.rejected || self.rollout_blocked
    }
}
