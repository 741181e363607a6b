//! The flags of `rebalance` that ask the question.

use std::time::Duration;

use crate::completion::values::{CompleteWith, Objects};
use crate::context::Environment;
use crate::diagnostics::{DiagnosticsFormat, Refused};
use crate::error::{CommandError, CommandResult};
use crate::flags::{FlagKind, InvalidFlag, parse_wait};
use crate::general::GeneralFlags;
use crate::job_file::{JSON_ENDINGS, JobFile, JobFileFlags, VariableFlags};
use crate::node::drain_plan::{Survive, selected};
use encamp_model::{NodeStatus, quoted};
use encamp_plan::capacity::subject;
use encamp_plan::rebalance::{Goal, Limits, Nodes, Request};
use encamp_plan::server_context;
use encamp_plan::what_if::change::{self, Change};
use encamp_plan::what_if::find;
use encamp_state::State;

/// The goals, of which one is given.
#[derive(Debug, Clone, clap::Args)]
pub struct GoalFlags {
    /// Goal: empty so many nodes, those that need the fewest moves
    #[arg(long, value_name = "n")]
    pub free: Option<usize>,
    /// Goal: empty these nodes (name, ID or ID prefix, or dc=NAME, class=NAME or pool=NAME), separated by commas
    #[arg(long, value_name = "nodes", add = CompleteWith::Live(Objects::Nodes))]
    pub free_nodes: Option<String>,
    /// With -free: empty the nodes first whose metadata has the highest number for this key, such as meta.price
    #[arg(long, value_name = "meta.key")]
    pub cost: Option<String>,
    /// Goal: make the job of this file fit, without preemption. -var, -var-file and -hcl2-strict are for it. The job is
    /// read as JSON if the name ends in .json
    #[arg(long, value_name = "job file", add = CompleteWith::JOB_FILES)]
    pub fit: Option<String>,
    #[command(flatten)]
    pub(crate) variables: VariableFlags,
    /// Goal: restore the scores for spread, affinity and anti-affinity, such as after nodes joined
    #[arg(long)]
    pub spread: bool,
    /// Goal: lower the highest utilisation of a node, of CPU or memory
    #[arg(long)]
    pub even: bool,
}

/// What may be moved, and how much at a time.
#[derive(Debug, Clone, clap::Args)]
pub struct LimitFlags {
    /// Move only allocations on nodes of this pool. Can be given several times
    #[arg(long, value_name = "pool", action = clap::ArgAction::Append)]
    pub pool: Vec<String>,
    /// Move only allocations on nodes of this datacenter. Can be given several times
    #[arg(long, value_name = "datacenter", action = clap::ArgAction::Append)]
    pub dc: Vec<String>,
    /// Move only allocations of this job: ID or ID@NAMESPACE. Can be given several times
    #[arg(long, value_name = "job", action = clap::ArgAction::Append, add = CompleteWith::Live(Objects::Jobs))]
    pub job: Vec<String>,
    /// Move nothing away from the nodes with these attributes: key=value or key!=value, separated by commas, where the
    /// key is that of a constraint, such as meta.rack, node.class or attr.kernel.name
    #[arg(long, value_name = "selector")]
    pub keep: Option<String>,
    /// The maximum number of moves
    #[arg(long, value_name = "n")]
    pub max_moves: Option<usize>,
    /// Move no allocations of jobs with a higher priority than this
    #[arg(long, value_name = "priority")]
    pub priority: Option<i64>,
    /// Move allocations of batch jobs, too, which start again; -batch=false leaves them where they are
    #[arg(long, switch = Some(true))]
    pub batch: bool,
    /// Have each step leave the cluster so that after the loss of any node or dc no more allocations are unplaced than
    /// before the step
    #[arg(long, value_name = "loss", value_enum)]
    pub survive: Option<Survive>,
    /// Leave the emptied nodes ineligible after the last step
    #[arg(long)]
    pub leave_ineligible: bool,
    /// End the search after this time with the best plan so far. Default: 8s
    #[arg(long, value_name = "duration", value_parser = parse_wait)]
    pub timeout: Option<Duration>,
}

/// A goal as the flags name it.
enum Named<'a> {
    Free(usize),
    FreeNodes(&'a str),
    Fit,
    Spread,
    Even,
}

impl GoalFlags {
    /// The one goal.
    fn named(&self) -> Result<Named<'_>, InvalidFlag> {
        let goals = [
            self.free.map(Named::Free),
            self.free_nodes.as_deref().map(Named::FreeNodes),
            self.fit.is_some().then_some(Named::Fit),
            self.spread.then_some(Named::Spread),
            self.even.then_some(Named::Even),
        ];
        let mut given = goals.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(goal), None) => Ok(goal),
            (None, _) => Err(InvalidFlag::new("No goal given: use one of -free, -free-nodes, -fit, -spread and -even")),
            (Some(_), Some(_)) => Err(InvalidFlag::new("Use only one of -free, -free-nodes, -fit, -spread and -even")),
        }
    }

    /// Refuses flags that do not go together.
    pub(super) fn check(&self) -> Result<(), InvalidFlag> {
        let goal = self.named()?;
        let variables = !(self.variables.var.is_empty() && self.variables.var_file.is_empty());
        match goal {
            Named::Free(0) => Err(InvalidFlag::new("-free must be at least 1")),
            Named::Free(_) if variables => Err(InvalidFlag::new("-var and -var-file are for the job of -fit")),
            Named::Free(_) => Ok(()),
            _ if self.cost.is_some() => Err(InvalidFlag::new("-cost selects the nodes of -free: give both")),
            Named::Fit => Ok(()),
            Named::FreeNodes(_) | Named::Spread | Named::Even if variables => {
                Err(InvalidFlag::new("-var and -var-file are for the job of -fit"))
            }
            Named::FreeNodes(_) | Named::Spread | Named::Even => Ok(()),
        }
    }

    /// The job file of `-fit`.
    pub(super) fn job_file(&self, env: &Environment) -> Result<Option<JobFile>, Refused> {
        let Some(path) = &self.fit else { return Ok(None) };
        let json = JSON_ENDINGS.iter().any(|end| path.ends_with(end));
        let variables = self.variables.clone();
        let flags = JobFileFlags { json, diagnostics: DiagnosticsFormat::Text, variables, vault_namespace: None };
        flags.load(path, env).map(Some)
    }

    /// The goal on this state.
    pub(super) fn goal(
        &self,
        file: Option<&JobFile>,
        state: &State,
        general: &GeneralFlags,
        env: &Environment,
        now: i64,
    ) -> Result<Goal, Refused> {
        Ok(match self.named().map_err(CommandError::new)? {
            Named::Free(count) => {
                let cost = self.cost.as_deref().map(|key| key.strip_prefix("meta.").unwrap_or(key).to_string());
                Goal::Free(Nodes::Count { count, cost })
            }
            Named::FreeNodes(texts) => Goal::Free(Nodes::Named(named_nodes(state, texts)?)),
            Named::Spread => Goal::Spread,
            Named::Even => Goal::Even,
            Named::Fit => {
                let Some(file) = file else { return Err(CommandError::new("The job file was not read").into()) };
                let options = general.convert_options(&file.job, env, state);
                let job = subject(state, &file.job, &options, &server_context(state), now);
                Goal::Fit(job.map_err(|e| file.refused(&e))?)
            }
        })
    }
}

/// The full IDs of the nodes that a list names.
fn named_nodes(state: &State, texts: &str) -> CommandResult<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for text in texts.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        let Change::Drain(which) = Change::drain(text)? else { continue };
        let found =
            find::nodes(state, &which).map_err(|e| CommandError::new(format!("-free-nodes {}: {e}", quoted(text))))?;
        let named = matches!(which, change::Nodes::One(_));
        let up = found.iter().filter(|n| named || n.status != NodeStatus::Down);
        for node in up.filter(|n| !ids.contains(&n.id)).collect::<Vec<_>>() {
            ids.push(node.id.clone());
        }
    }
    if ids.is_empty() {
        return Err(CommandError::new(format!("-free-nodes {} names no node", quoted(texts))));
    }
    Ok(ids)
}

impl LimitFlags {
    /// The limits on this state. Jobs without a namespace are those of `namespace`.
    fn limits(&self, state: &State, namespace: &str) -> CommandResult<Limits> {
        let keep = self.keep.as_deref().map(|text| selected(state, "keep", text)).transpose()?;
        let jobs = self.job.iter().map(|text| job(state, text, namespace)).collect::<CommandResult<_>>()?;
        for (flag, given, known) in [("pool", &self.pool, pools(state)), ("dc", &self.dc, datacenters(state))] {
            if let Some(unknown) = given.iter().find(|name| !known.contains(name)) {
                return Err(CommandError::new(format!("-{flag} {}: no node is in it", quoted(unknown))));
            }
        }
        Ok(Limits {
            pools: self.pool.clone(),
            datacenters: self.dc.clone(),
            jobs,
            keep: keep.unwrap_or_default(),
            max_moves: self.max_moves,
            priority_ceiling: self.priority,
            batch: self.batch,
            survive: self.survive.map(Survive::loss),
            leave_ineligible: self.leave_ineligible,
        })
    }
}

fn pools(state: &State) -> Vec<String> {
    state.nodes().map(|e| e.node.node_pool.clone()).collect()
}

fn datacenters(state: &State) -> Vec<String> {
    state.nodes().map(|e| e.node.datacenter.clone()).collect()
}

/// Namespace and ID of a registered job.
fn job(state: &State, text: &str, namespace: &str) -> CommandResult<(String, String)> {
    let found = find::job(state, text, namespace);
    let job = found.map_err(|e| CommandError::new(format!("-job {}: {e}", quoted(text))))?;
    Ok((job.namespace.clone(), job.id.clone()))
}

/// The question that the flags ask about this state.
pub(super) fn request(
    (goal, limits): (&GoalFlags, &LimitFlags),
    file: Option<&JobFile>,
    state: &State,
    general: &GeneralFlags,
    env: &Environment,
    now: i64,
) -> Result<Request, Refused> {
    let namespace = general.namespace(env).unwrap_or("default");
    let limits = limits.limits(state, namespace)?;
    Ok(Request { goal: goal.goal(file, state, general, env, now)?, limits })
}
