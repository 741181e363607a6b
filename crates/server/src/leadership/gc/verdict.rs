//! What the rules say about an object: from when on it is old enough, or what keeps it. No verdict depends on the
//! current time, so one verdict serves runs, dry runs and explanations for any time.

use encamp_model::gc::{GcAge, GcDecision, GcKind, GcReason, GcRef, GcRule, GcSetting, GcTimestamp};
use encamp_model::*;

use crate::settings::{AclSettings, GcSettings};

/// The assumed age of all objects in a forced run, in nanoseconds.
pub(crate) const FORCED: i64 = 1_000_000;

/// The name of an object. Nothing is copied: runs look at millions of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Named<'a> {
    /// The kind; none for a variable.
    pub kind: Option<GcKind>,
    /// The namespace; empty for objects without one.
    pub namespace: &'a str,
    /// The ID, or the path of a variable.
    pub id: &'a str,
}

impl<'a> Named<'a> {
    fn new(kind: GcKind, namespace: &'a str, id: &'a str) -> Named<'a> {
        Named { kind: Some(kind), namespace, id }
    }

    /// An evaluation.
    pub fn eval(eval: &'a Evaluation) -> Named<'a> {
        Named::new(GcKind::Evaluation, &eval.namespace, &eval.id)
    }

    /// An allocation.
    pub fn alloc(alloc: &'a Allocation) -> Named<'a> {
        Named::new(GcKind::Allocation, &alloc.namespace, &alloc.id)
    }

    /// A job.
    pub fn job(job: &'a Job) -> Named<'a> {
        Named::new(GcKind::Job, &job.namespace, &job.id)
    }

    /// A deployment.
    pub fn deployment(deployment: &'a Deployment) -> Named<'a> {
        Named::new(GcKind::Deployment, &deployment.namespace, &deployment.id)
    }

    /// A node.
    pub fn node(node: &'a Node) -> Named<'a> {
        Named::new(GcKind::Node, "", &node.id)
    }

    /// An ACL token.
    pub fn token(token: &'a AclToken) -> Named<'a> {
        let kind = if token.global { GcKind::GlobalToken } else { GcKind::LocalToken };
        Named::new(kind, "", &token.accessor_id)
    }

    /// A one-time token, by the accessor of the token that it stands for.
    pub fn one_time_token(token: &'a OneTimeToken) -> Named<'a> {
        Named::new(GcKind::OneTimeToken, "", &token.accessor_id)
    }

    /// A root key.
    pub fn key(key: &'a WrappedRootKey) -> Named<'a> {
        Named::new(GcKind::RootKey, "", &key.meta.key_id)
    }

    /// A CSI plugin.
    pub fn csi_plugin(plugin: &'a CsiPlugin) -> Named<'a> {
        Named::new(GcKind::CsiPlugin, "", &plugin.id)
    }

    /// The claims on a CSI volume.
    pub fn csi_claims(volume: &'a CsiVolume) -> Named<'a> {
        Named::new(GcKind::CsiVolumeClaims, &volume.namespace, &volume.id)
    }

    /// A variable.
    pub(super) fn variable(variable: &'a VariableEncrypted) -> Named<'a> {
        Named { kind: None, namespace: &variable.namespace, id: &variable.path }
    }

    /// The name as the API shows it.
    pub fn shown(self) -> GcRef {
        GcRef { kind: self.kind, namespace: self.namespace.into(), id: self.id.into() }
    }
}

/// How old objects have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// What determines it.
    pub setting: GcSetting,
    /// Nanoseconds; may be negative.
    pub nanos: i64,
}

impl Age {
    /// When an object becomes old enough.
    pub(super) fn of(self, rule: GcRule, measured_from: GcTimestamp, since: i64) -> Due<'static> {
        Due { rule, age: self, measured_from, since, of: None, at: since.saturating_add(self.nanos) }
    }
}

/// From when on an object can be deleted, if nothing else changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due<'a> {
    /// The rule.
    pub rule: GcRule,
    /// The age that determines the time.
    pub age: Age,
    /// The timestamp that the age is measured from.
    pub measured_from: GcTimestamp,
    /// Its value in Unix nanoseconds.
    pub since: i64,
    /// The object that has the timestamp, where that is another one.
    pub of: Option<Named<'a>>,
    /// The first moment at which the object can be deleted, in Unix nanoseconds.
    pub at: i64,
}

impl<'a> Due<'a> {
    /// One nanosecond later: an age that has to be exceeded.
    pub(super) fn exceeded(self) -> Due<'a> {
        Due { at: self.at.saturating_add(1), ..self }
    }

    /// The later of two conditions of the same object.
    pub(super) fn and(self, other: Due<'a>) -> Due<'a> {
        if other.at > self.at { Due { rule: self.rule, ..other } } else { self }
    }

    /// The later of this condition and one of another object.
    pub(super) fn and_of(self, other: Due<'a>, of: Named<'a>) -> Due<'a> {
        self.and(Due { of: other.of.or(Some(of)), ..other })
    }

    fn shown(&self) -> GcAge {
        GcAge {
            setting: self.age.setting,
            threshold: self.age.nanos,
            measured_from: self.measured_from,
            since: Time::from_unix_nanos(self.since),
            of: self.of.map(Named::shown),
            from: Time::from_unix_nanos(self.at),
        }
    }
}

/// What keeps an object, whatever its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold<'a> {
    /// The reason.
    pub reason: GcReason,
    /// The object that keeps it, if it is another one.
    pub by: Option<Named<'a>>,
    /// The tag of the version that keeps a job; else empty.
    pub tag: &'a str,
}

impl<'a> Hold<'a> {
    pub(super) fn new(reason: GcReason) -> Hold<'a> {
        Hold { reason, by: None, tag: "" }
    }

    pub(super) fn by(reason: GcReason, by: Named<'a>) -> Hold<'a> {
        Hold { reason, by: Some(by), tag: "" }
    }
}

/// What the rules say about an object.
pub type Verdict<'a> = Result<Due<'a>, Hold<'a>>;

/// The verdict of an object that waits for another one: the later of both times, or the reason of the first that is
/// kept. `reason` is why the object is kept if the other one is.
pub(super) fn also<'a>(own: Verdict<'a>, other: Verdict<'a>, of: Named<'a>, reason: GcReason) -> Verdict<'a> {
    match (own, other) {
        (Err(held), _) => Err(held),
        (Ok(_), Err(_)) => Err(Hold::by(reason, of)),
        (Ok(own), Ok(other)) => Ok(own.and_of(other, of)),
    }
}

/// The objects that a caller wants to know about.
#[derive(Debug, Clone, Copy)]
pub enum Looking {
    /// A run at this time, in Unix nanoseconds: objects that it cannot delete are not examined further.
    For(i64),
    /// All objects.
    Everywhere,
}

impl Looking {
    /// Whether an object with this verdict so far needs no further examination.
    pub(super) fn done_with(self, verdict: &Verdict) -> bool {
        match self {
            Looking::For(now) => !is_due(verdict, now),
            Looking::Everywhere => false,
        }
    }
}

/// Whether an object can be deleted at a time.
pub(super) fn is_due(verdict: &Verdict, now: i64) -> bool {
    verdict.is_ok_and(|due| due.at <= now)
}

/// What happens to an object at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// It is deleted.
    Collect(Due<'a>),
    /// It is kept because it is not old enough.
    Young(Due<'a>),
    /// It is kept for another reason.
    Held(Hold<'a>),
}

impl<'a> Decision<'a> {
    /// Decides between the ways in which an object can be deleted: deleted if one of them allows it, otherwise when the
    /// first of them does; a reason is that of the first way.
    pub(super) fn of(first: Verdict<'a>, second: Option<Verdict<'a>>, now: i64) -> Decision<'a> {
        let second = second.and_then(Result::ok);
        let due = match (first, second) {
            (Ok(a), Some(b)) => Ok(if b.at < a.at { b } else { a }),
            (Ok(due), None) | (Err(_), Some(due)) => Ok(due),
            (Err(held), None) => Err(held),
        };
        match due {
            Ok(due) if due.at <= now => Decision::Collect(due),
            Ok(due) => Decision::Young(due),
            Err(held) => Decision::Held(held),
        }
    }

    /// The object that determines the decision, if it is another one.
    pub(super) fn because_of(&self) -> Option<Named<'a>> {
        match self {
            Decision::Collect(due) | Decision::Young(due) => due.of,
            Decision::Held(held) => held.by,
        }
    }

    /// Whether the object is deleted.
    pub fn collects(&self) -> bool {
        matches!(self, Decision::Collect(_))
    }

    /// The decision as the API shows it.
    pub fn shown(&self) -> GcDecision {
        let none =
            GcDecision { collect: false, rule: None, age: None, reason: None, held_by: None, tag: String::new() };
        match self {
            Decision::Collect(due) => {
                GcDecision { collect: true, rule: Some(due.rule), age: Some(due.shown()), ..none }
            }
            Decision::Young(due) => GcDecision {
                rule: Some(due.rule),
                age: Some(due.shown()),
                reason: Some(GcReason::TooYoung),
                held_by: due.of.map(Named::shown),
                ..none
            },
            Decision::Held(held) => GcDecision {
                reason: Some(held.reason),
                held_by: held.by.map(Named::shown),
                tag: held.tag.into(),
                ..none
            },
        }
    }
}

/// How old the objects of each kind have to be, and what else the configuration says.
#[derive(Debug, Clone, Copy)]
pub struct Thresholds {
    /// Evaluations that are not of type `batch`, and their allocations.
    pub eval: Age,
    /// Evaluations of type `batch`, and their allocations.
    pub batch_eval: Age,
    /// Jobs, with their evaluations and allocations.
    pub job: Age,
    /// Deployments.
    pub deployment: Age,
    /// Nodes.
    pub node: Age,
    /// Expired tokens.
    pub token: Age,
    /// CSI plugins.
    pub csi_plugin: Age,
    /// CSI volumes with claims to release.
    pub csi_claim: Age,
    /// Root keys.
    pub key: Age,
    /// The age at which a root key is replaced, in nanoseconds.
    pub rotation: i64,
    /// A forced run: nothing is rotated.
    pub forced: bool,
    /// Whether there is access control.
    pub acl: bool,
    /// Whether global tokens belong to this region.
    pub authoritative: bool,
}

impl Thresholds {
    /// Those of the configuration.
    pub fn configured(gc: &GcSettings, acl: &AclSettings) -> Thresholds {
        let age = |setting, nanos| Age { setting, nanos };
        Thresholds {
            eval: age(GcSetting::EvalGcThreshold, gc.eval_threshold),
            batch_eval: age(GcSetting::BatchEvalGcThreshold, gc.batch_eval_threshold),
            job: age(GcSetting::JobGcThreshold, gc.job_threshold),
            deployment: age(GcSetting::DeploymentGcThreshold, gc.deployment_threshold),
            node: age(GcSetting::NodeGcThreshold, gc.node_threshold),
            token: age(GcSetting::AclTokenGcThreshold, acl.gc_threshold),
            csi_plugin: age(GcSetting::CsiPluginGcThreshold, gc.csi_plugin_threshold),
            csi_claim: age(GcSetting::CsiVolumeClaimGcThreshold, gc.csi_claim_threshold),
            key: age(GcSetting::RootKeyThresholds, gc.key_rotation.saturating_add(gc.key_threshold)),
            rotation: gc.key_rotation,
            forced: false,
            acl: acl.enabled,
            authoritative: acl.authoritative,
        }
    }

    /// Those of a forced run: only keys have to be as old as usual (`docs/spec/garbage-collection.md §13.1`).
    pub fn forced(self) -> Thresholds {
        let age = Age { setting: GcSetting::Forced, nanos: FORCED };
        Thresholds {
            eval: age,
            batch_eval: age,
            job: age,
            deployment: age,
            node: age,
            token: age,
            csi_plugin: age,
            csi_claim: age,
            forced: true,
            ..self
        }
    }

    /// The thresholds, each once.
    pub fn list(&self) -> Vec<Age> {
        let mut list = Vec::new();
        let csi = [self.csi_plugin, self.csi_claim];
        let all = [self.eval, self.batch_eval, self.job, self.deployment, self.node, self.token, self.key];
        for age in all.into_iter().chain(csi) {
            if !list.contains(&age) {
                list.push(age);
            }
        }
        list
    }

    /// The one of an evaluation (`docs/spec/garbage-collection.md §3.1`).
    pub(super) fn of_eval(&self, r#type: &JobType) -> Age {
        if *r#type == JobType::Batch { self.batch_eval } else { self.eval }
    }
}
