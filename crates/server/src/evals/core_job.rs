//! The kinds of core evaluations (`docs/spec/garbage-collection.md §1, §2`).

use crate::settings::GcSettings;
use encamp_host::ids;
use encamp_model::{EvalStatus, EvalTrigger, Evaluation, JobType, MINUTE};

/// Priority of core evaluations.
const PRIORITY: i64 = 32767;
/// Interval of the kinds without a configuration setting.
pub(crate) const EVERY: i64 = 5 * MINUTE;
/// Interval of the kind that re-encrypts variables.
const REKEY_EVERY: i64 = 10 * MINUTE;
/// Interval of the kind that removes one-time tokens.
const ONE_TIME_EVERY: i64 = 10 * MINUTE;

/// The kinds of core evaluations: one list of variants and names.
macro_rules! core_jobs {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What a core evaluation collects or renews; it names the kind as its job.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CoreJob {
            $($(#[$doc])* $kind,)*
        }

        impl CoreJob {
            /// All kinds.
            pub const ALL: &[CoreJob] = &[$(CoreJob::$kind),*];

            /// The name that the evaluation has as its job.
            pub fn name(self) -> &'static str {
                match self {
                    $(CoreJob::$kind => $name,)*
                }
            }
        }
    };
}

core_jobs! {
    /// Collects evaluations with their allocations.
    Evals = "eval-gc",
    /// Collects jobs.
    Jobs = "job-gc",
    /// Collects deployments.
    Deployments = "deployment-gc",
    /// Collects nodes.
    Nodes = "node-gc",
    /// Rotates and collects root keys.
    RootKeys = "root-key-rotate-gc",
    /// Re-encrypts variables.
    Rekey = "variables-rekey",
    /// Collects expired local ACL tokens.
    LocalTokens = "local-token-expired-gc",
    /// Collects expired global ACL tokens.
    GlobalTokens = "global-token-expired-gc",
    /// Collects expired one-time tokens.
    OneTimeTokens = "one-time-token-gc",
    /// Collects CSI plugins.
    CsiPlugins = "csi-plugin-gc",
    /// Has the claims on CSI volumes released.
    CsiClaims = "csi-volume-claim-gc",
    /// Collects everything that is eligible, regardless of its age.
    Forced = "force-gc",
}

impl CoreJob {
    /// The kind with a name.
    pub(crate) fn of_name(name: &str) -> Option<CoreJob> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The interval at which the leader runs the kind; `None`: it does not (`docs/spec/garbage-collection.md §2`).
    pub(crate) fn interval(self, gc: &GcSettings) -> Option<i64> {
        match self {
            CoreJob::Evals
            | CoreJob::Deployments
            | CoreJob::Nodes
            | CoreJob::LocalTokens
            | CoreJob::GlobalTokens
            | CoreJob::CsiPlugins => Some(EVERY),
            CoreJob::CsiClaims => Some(gc.csi_claim_interval),
            CoreJob::OneTimeTokens => Some(ONE_TIME_EVERY),
            CoreJob::Jobs => Some(gc.job_interval),
            CoreJob::RootKeys => Some(gc.key_interval),
            CoreJob::Rekey => Some(REKEY_EVERY),
            CoreJob::Forced => None,
        }
    }
}

/// A core evaluation: never stored, exists only in the leader's broker (`docs/spec/garbage-collection.md §1.1`).
pub(crate) fn core_eval(kind: CoreJob, index: u64) -> Evaluation {
    Evaluation {
        id: ids::uuid().into(),
        namespace: "-".into(),
        priority: PRIORITY,
        r#type: JobType::Core,
        triggered_by: EvalTrigger::Scheduled,
        job_id: kind.name().into(),
        status: EvalStatus::Pending,
        modify_index: index,
        ..Default::default()
    }
}
