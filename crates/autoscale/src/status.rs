//! The status of a pool for operators (`docs/spec/cluster-scaling.md §11`), the same for commands and the HTTP API.

use serde::{Deserialize, Serialize};

use encamp_model::Time;

use crate::arithmetic::Arithmetic;
use crate::operation::describe;
use crate::protection::ProtectedNode;
use crate::record::{Direction, Record};
use crate::registry::Pool;
use crate::view::Metric;

/// The last decision about a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Decision {
    /// When.
    pub time: Time,
    /// One of [`Action::name`].
    pub action: Action,
    /// Why, as a sentence.
    pub reason: String,
}

/// The decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Nothing yet.
    #[default]
    None,
    /// A check denied it.
    Denied,
    /// It was requested, not often enough yet.
    Requested,
    /// A scale-out began or goes on.
    ScaleOut,
    /// A scale-in began or goes on.
    ScaleIn,
    /// The node of a scale-in was taken back.
    TakeBack,
    /// The pool is in failsafe mode.
    Failsafe,
    /// The evaluation failed: the state object, the cluster or the provider could not be read or written.
    Error,
}

impl Action {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Action::None => "none",
            Action::Denied => "denied",
            Action::Requested => "requested",
            Action::ScaleOut => "scale_out",
            Action::ScaleIn => "scale_in",
            Action::TakeBack => "take_back",
            Action::Failsafe => "failsafe",
            Action::Error => "error",
        }
    }
}

/// A pool as operators see it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PoolStatus {
    /// Its name.
    pub pool: String,
    /// Registered nodes.
    pub nodes: i64,
    /// The fewest nodes.
    pub min: i64,
    /// The most nodes.
    pub max: i64,
    /// `cpu`, `memory`, `disk`, or empty if nothing is used.
    pub metric: String,
    /// The usage of that resource, in its unit (MHz or MB).
    pub utilization: i64,
    /// The maximum allowed usage of it.
    pub max_allowed: i64,
    /// `in` or `out`; empty before the first evaluation.
    pub direction: String,
    /// Consecutive requests to scale in.
    pub scale_in_requests: i64,
    /// Consecutive requests to scale out.
    pub scale_out_requests: i64,
    /// How long until the next operation of the direction may begin, nanoseconds; of either before the first evaluation.
    pub cooldown_left: i64,
    /// How long until the next scale-in may begin, nanoseconds.
    pub scale_in_cooldown_left: i64,
    /// How long until the next scale-out may begin, nanoseconds.
    pub scale_out_cooldown_left: i64,
    /// The pool is in failsafe mode.
    pub failsafe: bool,
    /// The operator or component that last entered or left it, and the time.
    pub failsafe_admin: String,
    /// Failures since the last success.
    pub failures: i64,
    /// The operation in progress, in words: direction, step, node or instances.
    pub operation: String,
    /// The last decision.
    pub last_decision: Decision,
    /// Nodes that are never removed (`docs/spec/cluster-scaling.md §6`).
    pub protected: Vec<ProtectedNode>,
    /// Nodes that are configured wrongly and parameters that nodes do not agree about, one line each.
    pub problems: Vec<String>,
}

/// The usage of the metric that counts; of CPU if there is none.
pub(crate) fn utilization(figures: &Arithmetic) -> i64 {
    figures.consumed.get(figures.metric.unwrap_or(Metric::Cpu))
}

impl PoolStatus {
    /// The status of a pool at `now` (Unix nanoseconds), from the pool, its state object and the figures of an
    /// evaluation. The last decision, the protected nodes and the problems are left empty.
    pub fn new(name: &str, pool: Option<&Pool>, record: &Record, figures: Option<&Arithmetic>, now: i64) -> PoolStatus {
        let mut status = PoolStatus {
            pool: name.to_string(),
            scale_in_requests: record.scalein_requests,
            scale_out_requests: record.scaleout_requests,
            failsafe: record.failsafe_mode,
            failsafe_admin: record.failsafe_admin.clone(),
            failures: record.failure_count,
            operation: record.operation.as_ref().map(describe).unwrap_or_default(),
            ..PoolStatus::default()
        };
        if let Some(pool) = pool {
            status.nodes = i64::try_from(pool.nodes.len()).unwrap_or(i64::MAX);
            (status.min, status.max) = (pool.parameters.min, pool.parameters.max);
            let left = |direction| pool.parameters.cooldown.nanos_left(direction, record, now);
            (status.scale_in_cooldown_left, status.scale_out_cooldown_left) =
                (left(Direction::In), left(Direction::Out));
            status.cooldown_left = match figures.map(|f| f.direction) {
                Some(Direction::In) => status.scale_in_cooldown_left,
                Some(Direction::Out) => status.scale_out_cooldown_left,
                None => status.scale_in_cooldown_left.max(status.scale_out_cooldown_left),
            };
        }
        if let Some(figures) = figures {
            status.metric = figures.metric.map(Metric::name).unwrap_or_default().to_string();
            status.utilization = utilization(figures);
            status.max_allowed = figures.max_allowed;
            status.direction = figures.direction.name().to_string();
        }
        status
    }
}
