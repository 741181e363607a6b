//! `autoscale plan`: a dry run of the autoscaler (`docs/spec/cluster-scaling.md §3`, `§4`, `§11`).

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::plan_text;
use super::pools::Pools;
use crate::cluster::{ClusterFlags, TimeFlags, block_on};
use crate::prelude::*;
use encamp_autoscale::arithmetic::Arithmetic;
use encamp_autoscale::checks::CheckResult;
use encamp_autoscale::cycle::Outcome;
use encamp_autoscale::params::ProviderKind;
use encamp_autoscale::proof::Proof;
use encamp_autoscale::protection::{ProtectedNode, protected_nodes};
use encamp_autoscale::provider::aws::Aws;
use encamp_autoscale::provider::command::{Command, CommandSettings};
use encamp_autoscale::provider::{GroupId, Provider, ProviderError, ScalingGroup};
use encamp_autoscale::record::Record;
use encamp_autoscale::registry::Pool;

/// The time limit for reading a scaling group from a provider, including the provider's own retries.
const PATIENCE: Duration = Duration::from_secs(30);

/// Dry-run the autoscaler on worker pools
///
/// Evaluates every worker pool, or the named one, as the autoscaler does, and prints every step: the capacity and usage
/// of the pool, the maximum allowed usage, the safety checks and their values, the node that would be removed, whether
/// its allocations can be placed on other nodes, and the outcome. Nothing is changed, and the evaluation does not count
/// as a request.
///
/// With -snapshot, the state is read from a file instead of the running cluster. A snapshot contains no state objects:
/// the number of consecutive requests starts at 0.
///
/// For a running cluster, the limits of the scaling group are also checked if this machine can read them: with
/// -provider-command, or, for the provider aws, with AWS credentials in the environment or in files. Otherwise the plan
/// states that they were not checked.
#[derive(Debug, clap::Parser)]
pub struct AutoscalePlan {
    /// Program that describes scaling groups, with its arguments separated by spaces: the command of the provider
    /// "command"
    #[arg(long, value_name = "command")]
    pub provider_command: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "pool")]
    pub(crate) optional_args: Vec<String>,
}

/// The result (`docs/reference/autoscale-plan.schema.json`).
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Plan {
    schema_version: u8,
    /// The pools by name.
    pub pools: Vec<PoolPlan>,
    /// Nodes that belong to no pool because their configuration is invalid.
    pub problems: Vec<String>,
    /// Notes about the result.
    pub notes: Vec<String>,
}

/// The evaluation of one pool.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct PoolPlan {
    /// Its name.
    pub pool: String,
    /// The minimum number of nodes.
    pub min: i64,
    /// The maximum number of nodes.
    pub max: i64,
    /// The figures.
    pub arithmetic: Arithmetic,
    /// The results of the checks.
    pub checks: Vec<CheckResult>,
    /// Whether the limits of the scaling group were read.
    pub provider_limits_read: bool,
    /// Nodes that could leave, best first.
    pub candidates: Vec<Candidate>,
    /// Nodes that are never removed, and why.
    pub protected: Vec<ProtectedNode>,
    /// The result of the scheduler for the first candidate.
    pub proof: Option<Proof>,
    /// The outcome.
    pub outcome: OutcomeKind,
    /// The outcome as a sentence.
    pub sentence: String,
    /// Problems of the configuration.
    pub problems: Vec<String>,
}

/// A node that could be removed.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Candidate {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its name.
    pub name: String,
}

/// The outcome of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutcomeKind {
    /// The pool is in failsafe mode.
    Failsafe,
    /// An operation is in progress.
    InProgress,
    /// A check failed.
    Denied,
    /// More consecutive requests are required.
    Requested,
    /// A scale-out would start.
    ScaleOut,
    /// A scale-in would start.
    ScaleIn,
}

impl AutoscalePlan {
    fn plan(&self, pool: Option<&str>, env: &Environment) -> CommandResult<Plan> {
        let pools = Pools::load(&self.cluster, &self.time, &self.general, env)?;
        let mut notes = pools.notes.clone();
        let mut planned = Vec::new();
        for pool in pools.chosen(pool)? {
            let record = match pools.records.get(&pool.name) {
                Some(Ok(record)) => record,
                Some(Err(e)) => return Err(e.clone()),
                None => continue,
            };
            let group = self.group(pool, env)?;
            if group.is_none() {
                notes.push(not_checked(pool, self.cluster.snapshot.is_some()));
            }
            planned.push(pool_plan(&pools, pool, record, group.as_ref()));
        }
        Ok(Plan { schema_version: 1, pools: planned, problems: pools.stray_problems(), notes })
    }

    /// Reads the scaling group of a pool from its provider; `None` if this machine cannot reach the provider.
    fn group(&self, pool: &Pool, env: &Environment) -> CommandResult<Option<Result<ScalingGroup, ProviderError>>> {
        let words = self.provider_command.iter().flat_map(|c| c.split_whitespace());
        let words: Vec<String> = words.map(String::from).collect();
        let given = CommandSettings::new(&words);
        let provider: Arc<dyn Provider> = match (given, pool.parameters.provider) {
            (Some(settings), _) => Arc::new(Command::new(settings)),
            (None, ProviderKind::Aws) if self.cluster.snapshot.is_none() && has_aws_credentials(env) => {
                Arc::new(Aws::new())
            }
            (None, ProviderKind::Aws | ProviderKind::Command | ProviderKind::Local) => return Ok(None),
        };
        let id = GroupId { pool: &pool.name, region: &pool.parameters.region };
        let asked = block_on(async { tokio::time::timeout(PATIENCE, provider.group(id)).await });
        let asked = asked.map_err(CommandError::new)?;
        Ok(Some(asked.unwrap_or(Err(ProviderError::Timeout(PATIENCE.as_secs())))))
    }
}

/// Whether the environment or a file of the user contains AWS credentials. Instance roles are not queried: without one,
/// the query only ends after a long timeout.
fn has_aws_credentials(env: &Environment) -> bool {
    const NAMES: [&str; 5] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ];
    let file = |name: &str, usual: &str| match (env.var(name), env.var("HOME")) {
        (Some(path), _) => env.directory.join(path).is_file(),
        (None, Some(home)) => std::path::Path::new(home).join(usual).is_file(),
        (None, None) => false,
    };
    NAMES.iter().any(|name| env.var(name).is_some())
        || file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")
        || file("AWS_CONFIG_FILE", ".aws/config")
}

/// The note for a scaling group that was not read.
fn not_checked(pool: &Pool, snapshot: bool) -> String {
    let name = encamp_model::quoted(&pool.name);
    let why = match (snapshot, pool.parameters.provider) {
        (true, _) => "a snapshot does not contain it",
        (false, ProviderKind::Aws) => "neither the environment nor the user's files contain AWS credentials",
        (false, ProviderKind::Command) => "-provider-command is not given",
        (false, ProviderKind::Local) => "only the autoscaler itself can read it",
    };
    format!("The limits of the provider were not checked: the scaling group of {name} was not read: {why}")
}

fn pool_plan(
    pools: &Pools,
    pool: &Pool,
    record: &Record,
    group: Option<&Result<ScalingGroup, ProviderError>>,
) -> PoolPlan {
    let e = pools.evaluate(pool, record, group);
    let name = |id: &String| pools.state.node(id).map_or_else(String::new, |n| n.node.name.clone());
    PoolPlan {
        pool: pool.name.clone(),
        min: pool.parameters.min,
        max: pool.parameters.max,
        provider_limits_read: group.is_some(),
        candidates: e.candidates.iter().map(|id| Candidate { id: id.clone(), name: name(id) }).collect(),
        protected: protected_nodes(&e.view),
        outcome: kind(&e.outcome),
        sentence: plan_text::sentence(pools, record, &e),
        problems: pools.problems(Some(&pool.name)),
        arithmetic: e.arithmetic,
        checks: e.checks,
        proof: e.proof,
    }
}

fn kind(outcome: &Outcome) -> OutcomeKind {
    use encamp_autoscale::record::Direction;
    match outcome {
        Outcome::Failsafe => OutcomeKind::Failsafe,
        Outcome::InProgress => OutcomeKind::InProgress,
        Outcome::Denied { .. } => OutcomeKind::Denied,
        Outcome::Requested { .. } => OutcomeKind::Requested,
        Outcome::Begin(operation) => match operation.direction {
            Direction::Out => OutcomeKind::ScaleOut,
            Direction::In => OutcomeKind::ScaleIn,
        },
    }
}

impl Run for AutoscalePlan {
    const META: Meta = Meta::new("autoscale plan")
        .usage_exit(255)
        .exit_status(&[
            (0, "No pool would be scaled."),
            (1, "An operation would start in at least one pool."),
            (255, "An error occurred."),
        ])
        .offline_examples(&[
            (
                "Show what the autoscaler would do to the worker pools of a snapshot",
                "encamp autoscale plan -snapshot fixtures/worker-pools/cluster.json",
            ),
            (
                "Print the plan of one pool as JSON",
                "encamp autoscale plan -json \\
    -snapshot fixtures/worker-pools/cluster.json web-workers",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let pool = match self.optional_args.as_slice() {
            [] => None,
            [pool] => Some(pool.as_str()),
            _ => return context.usage_error("This command takes no arguments or one: <pool>"),
        };
        context.attempt(|context| {
            let plan = self.plan(pool, context.env)?;
            plan.notes.iter().for_each(|note| context.ui.warn(note));
            match self.json {
                true => context.print_json(&plan)?,
                false => plan_text::print(context.ui, &plan),
            }
            let begins = |p: &PoolPlan| matches!(p.outcome, OutcomeKind::ScaleOut | OutcomeKind::ScaleIn);
            Ok(u8::from(plan.pools.iter().any(begins)))
        })
    }
}
