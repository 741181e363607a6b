//! Garbage collection as the API and the commands show it (`docs/spec/garbage-collection.md §19`): what a run would
//! delete and why, what holds an object, and what a run deleted.
//!
//! Rules, reasons and settings are closed sets: each has a word in JSON and a text for readers.

use serde::{Deserialize, Serialize};

use crate::Time;

/// An enum of which each value has a word in JSON and a text for readers.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word of the value in JSON.
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// The text of the value for readers.
            pub fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }
    };
}

words! {
    /// A kind of objects that servers collect.
    GcKind {
        /// An evaluation.
        Evaluation = "evaluation", "evaluations";
        /// An allocation.
        Allocation = "allocation", "allocations";
        /// A job with all its versions.
        Job = "job", "jobs";
        /// A deployment.
        Deployment = "deployment", "deployments";
        /// A node.
        Node = "node", "nodes";
        /// A one-time token.
        OneTimeToken = "one-time-token", "one-time tokens";
        /// An ACL token of this region.
        LocalToken = "local-token", "local tokens";
        /// An ACL token of all regions.
        GlobalToken = "global-token", "global tokens";
        /// A root key.
        RootKey = "root-key", "root keys";
        /// A CSI plugin.
        CsiPlugin = "csi-plugin", "CSI plugins";
        /// A CSI volume with claims to release; the volume stays.
        CsiVolumeClaims = "csi-volume-claims", "CSI volumes with ended claims";
    }
}

words! {
    /// Why an object is deleted.
    GcRule {
        /// An evaluation that has ended and whose allocations can all be deleted.
        EndedEvaluation = "ended-evaluation", "ended, and all its allocations can be deleted";
        /// An allocation that is terminal and is not needed for rescheduling.
        TerminalAllocation = "terminal-allocation", "terminal, and not needed for rescheduling";
        /// A terminal allocation of an older version of a batch job.
        OldBatchVersion = "old-batch-version", "terminal, of an older version of a batch job";
        /// An object that is deleted together with its job.
        WithJob = "with-job", "deleted together with its job";
        /// A job that is stopped, or a batch job that has finished.
        FinishedJob = "finished-job", "stopped, or a finished batch job";
        /// A deployment that has ended and whose allocations are all terminal.
        EndedDeployment = "ended-deployment", "ended, and all its allocations are terminal";
        /// A node that is down and whose allocations are all terminal.
        DownNode = "down-node", "down, and all its allocations are terminal";
        /// An ACL token that has expired.
        ExpiredToken = "expired-token", "expired";
        /// A one-time token that has expired.
        ExpiredOneTimeToken = "expired-one-time-token", "expired";
        /// A root key that is not active and that nothing uses.
        UnusedKey = "unused-key", "inactive, and nothing uses it";
        /// A CSI plugin that neither nodes nor jobs run.
        EmptyCsiPlugin = "empty-csi-plugin", "neither nodes nor jobs run it";
        /// Claims on a CSI volume of allocations that have ended or are gone: they are released.
        EndedCsiClaims = "ended-csi-claims", "claimed by allocations that have ended";
    }
}

words! {
    /// Why an object is kept.
    GcReason {
        /// Only its age is missing.
        TooYoung = "too-young", "not old enough";
        /// The evaluation has not ended.
        EvaluationNotEnded = "evaluation-not-ended", "the evaluation has not ended";
        /// An allocation of the evaluation is kept.
        AllocationOfEvaluation = "allocation-of-evaluation", "an allocation of the evaluation is kept";
        /// The allocation is not terminal.
        AllocationNotTerminal = "allocation-not-terminal", "the allocation is not terminal";
        /// The servers stopped the allocation, but its node still runs it.
        StillRunning = "still-running", "stopped by the servers, but its node still runs it";
        /// The allocation failed and may be rescheduled.
        Reschedulable = "reschedulable", "failed, and may be rescheduled";
        /// The allocation belongs to the current version of a batch job that was not stopped: the scheduler has to know
        /// that its work is done.
        CurrentBatchVersion = "current-batch-version", "records work of the current version of a batch job";
        /// The evaluation of the allocation has not ended.
        EvaluationOfAllocation = "evaluation-of-allocation", "the evaluation of the allocation has not ended";
        /// The evaluation of the allocation is gone: the allocation is only deleted together with its job.
        EvaluationGone = "evaluation-gone", "its evaluation is gone: it is only deleted together with its job";
        /// The job is not dead.
        JobNotDead = "job-not-dead", "the job is not dead";
        /// The job has no allocations left, but was not stopped.
        JobNotStopped = "job-not-stopped", "the job was not stopped";
        /// A periodic or parameterized job that was not stopped: it starts further jobs.
        JobLaunches = "job-launches", "a periodic or parameterized job that was not stopped";
        /// The current version of the job has a tag.
        CurrentVersionTagged = "current-version-tagged", "the current version of the job has a tag";
        /// An older version of the job has a tag.
        VersionTagged = "version-tagged", "a version of the job has a tag";
        /// An evaluation of the job is kept.
        EvaluationOfJob = "evaluation-of-job", "an evaluation of the job is kept";
        /// An allocation of the job is kept.
        AllocationOfJob = "allocation-of-job", "an allocation of the job is kept";
        /// The deployment still runs.
        DeploymentActive = "deployment-active", "the deployment still runs";
        /// An allocation of the deployment is not terminal.
        AllocationOfDeployment = "allocation-of-deployment", "an allocation of the deployment is not terminal";
        /// The node is not down.
        NodeNotDown = "node-not-down", "the node is not down";
        /// An allocation of the node is not terminal.
        AllocationOfNode = "allocation-of-node", "an allocation of the node is not terminal";
        /// The token never expires.
        NeverExpires = "never-expires", "the token never expires";
        /// There is no access control: tokens are not collected.
        AclDisabled = "acl-disabled", "access control is disabled";
        /// Global tokens belong to another region.
        OtherRegion = "other-region", "global tokens are collected by the authoritative region";
        /// One run deletes a limited number of tokens: the next one continues.
        NextRun = "next-run", "beyond the limit of one run: the next run deletes it";
        /// The key is active.
        KeyActive = "key-active", "the active key";
        /// The key will become active.
        KeyPrepublished = "key-prepublished", "published in advance, becomes active later";
        /// Variables are being encrypted again.
        KeyRekeying = "key-rekeying", "its variables are being encrypted again";
        /// The key has a state that this version does not know.
        KeyUnknown = "key-unknown", "the key has an unknown state";
        /// A variable is encrypted with the key.
        KeyOfVariable = "key-of-variable", "a variable is encrypted with it";
        /// The key signed identities of an allocation that has not ended.
        KeyOfAllocation = "key-of-allocation", "it signed identities of an allocation that has not ended";
        /// The key signed the identity of a node.
        KeyOfNode = "key-of-node", "it signed the identity of a node";
        /// Nodes or jobs run the CSI plugin.
        CsiPluginRuns = "csi-plugin-runs", "nodes or jobs run the plugin";
        /// Nothing of the CSI volume is to be released.
        NoEndedClaims = "no-ended-claims", "no allocation that has ended claims the volume";
        /// Keys are rotated first: the next run deletes unused ones.
        RotationFirst = "rotation-first", "this run rotates keys, the next one deletes unused ones";
    }
}

words! {
    /// What determines how old an object has to be.
    GcSetting {
        /// A forced run: 1 ms.
        Forced = "forced", "forced run";
        /// `eval_gc_threshold`.
        EvalGcThreshold = "eval_gc_threshold", "eval_gc_threshold";
        /// `batch_eval_gc_threshold`.
        BatchEvalGcThreshold = "batch_eval_gc_threshold", "batch_eval_gc_threshold";
        /// `job_gc_threshold`.
        JobGcThreshold = "job_gc_threshold", "job_gc_threshold";
        /// `deployment_gc_threshold`.
        DeploymentGcThreshold = "deployment_gc_threshold", "deployment_gc_threshold";
        /// `node_gc_threshold`.
        NodeGcThreshold = "node_gc_threshold", "node_gc_threshold";
        /// `acl_token_gc_threshold`.
        AclTokenGcThreshold = "acl_token_gc_threshold", "acl_token_gc_threshold";
        /// `root_key_rotation_threshold` and `root_key_gc_threshold` together.
        RootKeyThresholds = "root_key_rotation_threshold + root_key_gc_threshold",
            "root_key_rotation_threshold + root_key_gc_threshold";
        /// `csi_plugin_gc_threshold`.
        CsiPluginGcThreshold = "csi_plugin_gc_threshold", "csi_plugin_gc_threshold";
        /// `csi_volume_claim_gc_threshold`.
        CsiVolumeClaimGcThreshold = "csi_volume_claim_gc_threshold", "csi_volume_claim_gc_threshold";
        /// The interval of the group's reschedule policy.
        RescheduleInterval = "reschedule-interval", "interval of the group's reschedule block";
        /// The time at which the token expires.
        Expiration = "expiration", "expiration of the token";
    }
}

words! {
    /// The timestamp of an object that an age is measured from.
    GcTimestamp {
        /// When the object was changed last.
        ModifyTime = "ModifyTime", "ModifyTime";
        /// When the job was submitted, scaled or stopped.
        SubmitTime = "SubmitTime", "SubmitTime";
        /// When the status of the node was written last, in whole seconds.
        StatusUpdatedAt = "StatusUpdatedAt", "StatusUpdatedAt";
        /// When the object was created.
        CreateTime = "CreateTime", "CreateTime";
        /// When the token expires.
        ExpirationTime = "ExpirationTime", "ExpirationTime";
        /// When the allocation was rescheduled last.
        RescheduleTime = "RescheduleTime", "RescheduleTime";
    }
}

/// The name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcRef {
    /// The kind; empty for a variable, which no run deletes.
    pub kind: Option<GcKind>,
    /// The namespace; empty for objects without one.
    #[serde(default)]
    pub namespace: String,
    /// The ID: a UUID, the ID of a job, or the path of a variable.
    #[serde(rename = "ID")]
    pub id: String,
}

/// From when on an object is old enough, and what determines that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcAge {
    /// What determines the age.
    pub setting: GcSetting,
    /// How long it is, in nanoseconds.
    pub threshold: i64,
    /// The timestamp that the age is measured from.
    pub measured_from: GcTimestamp,
    /// The value of the timestamp.
    pub since: Time,
    /// The object that has the timestamp, where that is another one.
    pub of: Option<GcRef>,
    /// From when on the object is old enough.
    pub from: Time,
}

/// The decision about an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcDecision {
    /// Whether it would be deleted.
    pub collect: bool,
    /// The rule by which it is deleted, now or when it is old enough.
    pub rule: Option<GcRule>,
    /// The age that the rule demands.
    pub age: Option<GcAge>,
    /// Why it is kept.
    pub reason: Option<GcReason>,
    /// The object that keeps it.
    pub held_by: Option<GcRef>,
    /// The tag of the version that keeps a job.
    #[serde(default)]
    pub tag: String,
}

/// An object and the decision about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcObject {
    /// The object.
    #[serde(flatten)]
    pub object: GcRef,
    /// The decision.
    #[serde(flatten)]
    pub decision: GcDecision,
}

/// Objects that would be deleted by one rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcCollected {
    /// The rule.
    pub rule: GcRule,
    /// What determines the age.
    pub setting: GcSetting,
    /// The timestamp that the age is measured from.
    pub measured_from: GcTimestamp,
    /// How many objects.
    pub count: u64,
    /// The earliest timestamp of them.
    pub oldest: Time,
    /// The latest timestamp of them.
    pub newest: Time,
}

/// Objects that would be kept for one reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcKept {
    /// The reason.
    pub reason: GcReason,
    /// What determines the age of objects that are not old enough.
    pub setting: Option<GcSetting>,
    /// How many objects.
    pub count: u64,
    /// When the first of them becomes old enough.
    pub next: Option<Time>,
}

/// What a run would do with one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcKindPlan {
    /// The kind.
    pub kind: GcKind,
    /// Whether the source shows objects of the kind; if not, there are no figures.
    pub visible: bool,
    /// What would be deleted.
    pub collected: Vec<GcCollected>,
    /// What would be kept.
    pub kept: Vec<GcKept>,
}

impl GcKindPlan {
    /// How many objects would be deleted.
    pub fn collected_count(&self) -> u64 {
        self.collected.iter().map(|c| c.count).sum()
    }

    /// How many objects would be kept.
    pub fn kept_count(&self) -> u64 {
        self.kept.iter().map(|k| k.count).sum()
    }
}

/// A threshold and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcThreshold {
    /// The setting.
    pub setting: GcSetting,
    /// Its value in nanoseconds.
    pub threshold: i64,
}

/// What a run would delete and keep (`GET /v1/system/gc/plan`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcPlan {
    /// The time of the run.
    pub at: Time,
    /// The index of the state.
    pub index: u64,
    /// Whether it is a forced run (`system gc`); otherwise all periodic runs, each once.
    pub forced: bool,
    /// The thresholds.
    pub thresholds: Vec<GcThreshold>,
    /// The kinds, all of them.
    pub kinds: Vec<GcKindPlan>,
    /// The objects, as far as they were requested.
    pub objects: Vec<GcObject>,
    /// How many objects are left out of `objects` because there are too many.
    pub objects_omitted: u64,
}

/// One step of the chain from an object to what keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcStep {
    /// The object and the decision about it.
    #[serde(flatten)]
    pub object: GcObject,
    /// The state of the object, for readers: `complete, desired stop`.
    pub state: String,
}

/// When an object is deleted, and what keeps it (`GET /v1/system/gc/explain`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcExplanation {
    /// The time for which the decision is made.
    pub at: Time,
    /// The job that the object belongs to, if it belongs to one.
    pub job: Option<GcRef>,
    /// The object first, then what keeps it, what keeps that, and so on.
    pub chain: Vec<GcStep>,
    /// The decision of a forced run (`system gc`).
    pub forced: GcDecision,
    /// The name of the periodic run that deletes the object, and its interval in nanoseconds.
    pub run: String,
    /// See `run`.
    pub interval: i64,
}

/// The answer to a request for an explanation: one object, or the objects whose IDs begin with the given text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcExplained {
    /// The explanation, if one object matches.
    pub explanation: Option<GcExplanation>,
    /// The objects that match, if there are several; at most 20.
    pub matches: Vec<GcRef>,
}

/// How many objects of a kind a run deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcCount {
    /// The kind.
    pub kind: GcKind,
    /// How many objects.
    pub count: u64,
}

/// What a run deleted (`PUT /v1/system/gc?wait=…`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct GcReport {
    /// The kinds, in the order of [`GcKind::ALL`]; those of which nothing was deleted, too.
    pub collected: Vec<GcCount>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_json() {
        for reason in GcReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
        for rule in GcRule::ALL {
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.word());
        }
        let object = GcRef { kind: Some(GcKind::Job), namespace: "default".into(), id: "web".into() };
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(text, r#"{"Kind":"job","Namespace":"default","ID":"web"}"#);
    }
}
