//! Plans and explanations of garbage collection as text (`docs/spec/garbage-collection.md §19`).

use encamp_model::gc::{
    GcAge, GcDecision, GcExplanation, GcKept, GcKind, GcObject, GcPlan, GcReason, GcRef, GcReport, GcSetting, GcStep,
};
use encamp_model::{Time, format_duration, short_id};
use jiff::tz::TimeZone;

use super::table::{self, Columns, Form, cell, headed, pairs, table};
use super::ui::Ui;
use super::values::{difference, time};

/// A time in a zone.
fn at(t: Time, zone: &TimeZone) -> String {
    t.unix_nanos().map(|nanos| time(nanos, zone)).unwrap_or_default()
}

/// The name of one object of a kind.
fn one(kind: GcKind) -> &'static str {
    match kind {
        GcKind::Evaluation => "evaluation",
        GcKind::Allocation => "allocation",
        GcKind::Job => "job",
        GcKind::Deployment => "deployment",
        GcKind::Node => "node",
        GcKind::OneTimeToken => "one-time token",
        GcKind::LocalToken => "local token",
        GcKind::GlobalToken => "global token",
        GcKind::RootKey => "root key",
        GcKind::CsiPlugin => "CSI plugin",
        GcKind::CsiVolumeClaims => "CSI volume",
    }
}

/// An object in words: `job web@default`.
fn named(object: &GcRef) -> String {
    let kind = object.kind.map_or("variable", one);
    match object.kind {
        Some(GcKind::Job) | None => format!("{kind} {}@{}", object.id, object.namespace),
        Some(_) => format!("{kind} {}", object.id),
    }
}

/// Prints what a run would do.
pub fn plan(ui: &mut Ui<'_>, plan: &GcPlan, source: &str, verbose: bool, zone: &TimeZone) {
    let run = if plan.forced { "system gc: objects may have any age" } else { "periodic runs: configured thresholds" };
    let head = [
        ("Source", source.to_string()),
        ("As of", at(plan.at, zone)),
        ("Index", plan.index.to_string()),
        ("Run", run.to_string()),
    ];
    ui.output(&pairs(&head));
    let collected = deleted(plan, zone);
    if collected.len() > 1 {
        ui.section("Would be deleted", &table(&collected, Form::List));
    } else {
        ui.output("\nNothing would be deleted.");
    }
    let kept = kept(plan, zone);
    if kept.len() > 1 {
        ui.section("Would be kept", &table(&kept, Form::List));
    }
    if verbose && !plan.objects.is_empty() {
        ui.heading("Objects");
        ui.output(&listed(&plan.objects, zone));
        if plan.objects_omitted > 0 {
            ui.output(&format!("({} more objects are not listed)", plan.objects_omitted));
        }
    }
    let hidden: Vec<&str> = plan.kinds.iter().filter(|k| !k.visible).map(|k| k.kind.text()).collect();
    if !hidden.is_empty() {
        ui.output(&format!("\nNot visible in this source: {}", hidden.join(", ")));
    }
}

/// A setting with its value.
fn setting(plan: &GcPlan, setting: GcSetting) -> String {
    let value = plan.thresholds.iter().find(|t| t.setting == setting).filter(|_| setting != GcSetting::Forced);
    match value {
        Some(t) => format!("{} ({})", setting.text(), format_duration(t.threshold)),
        None => setting.text().to_string(),
    }
}

fn deleted(plan: &GcPlan, zone: &TimeZone) -> Vec<String> {
    let mut rows = vec!["Kind|Count|Rule|Setting|Measured From|Oldest|Newest".to_string()];
    for kind in &plan.kinds {
        rows.extend(kind.collected.iter().map(|c| {
            let (oldest, newest) = (at(c.oldest, zone), at(c.newest, zone));
            let (rule, from) = (c.rule.text(), c.measured_from.text());
            let setting = setting(plan, c.setting);
            format!("{}|{}|{rule}|{setting}|{from}|{oldest}|{newest}", kind.kind.text(), c.count)
        }));
    }
    rows
}

fn kept(plan: &GcPlan, zone: &TimeZone) -> Vec<String> {
    let mut rows = vec!["Kind|Count|Reason|Setting|Next Collectable".to_string()];
    let row = |kind: GcKind, k: &GcKept| {
        let setting = k.setting.map_or("-".into(), |s| setting(plan, s));
        let next = k.next.map_or("-".into(), |t| at(t, zone));
        format!("{}|{}|{}|{setting}|{next}", kind.text(), k.count, k.reason.text())
    };
    for kind in &plan.kinds {
        rows.extend(kind.kept.iter().map(|k| row(kind.kind, k)));
    }
    rows
}

fn listed(objects: &[GcObject], zone: &TimeZone) -> String {
    let age = |o: &GcObject, text: &dyn Fn(&GcAge) -> String| o.decision.age.as_ref().map_or("-".to_string(), text);
    let columns: &Columns<'_, GcObject> = &[
        ("Kind", &|o| o.object.kind.map_or("variable", one).into()),
        ("ID", &|o| cell(&o.object.id)),
        ("Namespace", &|o| namespace(&o.object)),
        ("Decision", &|o| if o.decision.collect { "delete" } else { "keep" }.into()),
        ("Why", &|o| why(&o.decision)),
        ("Setting", &|o| age(o, &|a| a.setting.text().into())),
        ("Since", &|o| age(o, &|a| at(a.since, zone))),
        ("Collectable From", &|o| age(o, &|a| at(a.from, zone))),
        ("Held By", &|o| cell(&o.decision.held_by.as_ref().map_or("-".to_string(), named))),
    ];
    table::columns(objects, columns)
}

fn namespace(o: &GcRef) -> String {
    if o.namespace.is_empty() { "-".into() } else { cell(&o.namespace) }
}

/// Why an object is deleted or kept.
fn why(d: &GcDecision) -> String {
    match (d.reason, d.rule) {
        (Some(reason), _) if !d.tag.is_empty() => format!("{}: {}", reason.text(), cell(&d.tag)),
        (Some(reason), _) => reason.text().into(),
        (None, Some(rule)) => rule.text().into(),
        (None, None) => String::new(),
    }
}

/// The list of objects that a prefix matches.
pub fn matches(objects: &[GcRef]) -> String {
    let columns: &Columns<'_, GcRef> =
        &[("Kind", &|o| o.kind.map_or("variable", one).into()), ("ID", &|o| cell(&o.id)), ("Namespace", &namespace)];
    table::columns(objects, columns)
}

/// An age in words: what determines it, and from which timestamp it counts.
fn measured(age: &GcAge, zone: &TimeZone) -> String {
    let of = age.of.as_ref().map(|of| format!(" of {}", named(of))).unwrap_or_default();
    let length = match age.setting {
        GcSetting::Expiration => String::new(),
        _ => format!(" ({})", format_duration(age.threshold)),
    };
    format!("{}{length} after {} {}{of}", age.setting.text(), age.measured_from.text(), at(age.since, zone))
}

/// Prints an explanation.
pub fn explanation(ui: &mut Ui<'_>, e: &GcExplanation, zone: &TimeZone) {
    let Some(first) = e.chain.first() else { return };
    let (now, d) = (e.at.unix_nanos().unwrap_or(0), &first.object.decision);
    let mut head = vec![("Object", named(&first.object.object))];
    if let Some(job) = &e.job {
        head.push(("Job", format!("{}@{}", job.id, job.namespace)));
    }
    head.push(("State", first.state.clone()));
    head.push(("As of", at(e.at, zone)));
    let from = d.age.as_ref().and_then(|a| a.from.unix_nanos());
    head.push(("Decision", decision(e, d, from, now, zone)));
    head.push(("Reason", why(d)));
    if let Some(age) = &d.age {
        head.push(("Decided By", measured(age, zone)));
    }
    head.push(("system gc", if e.forced.collect { "would delete it now".into() } else { forced(&e.forced) }));
    ui.output(&pairs(&head));
    if e.chain.len() > 1 {
        ui.heading("What keeps it");
        let rows = e.chain.iter().enumerate().map(|(i, step)| {
            let d = &step.object.decision;
            let decision = match &d.age {
                _ if d.collect => "delete".to_string(),
                Some(age) => format!("keep until {}", at(age.from, zone)),
                None => "keep".to_string(),
            };
            format!("{}|{}|{}|{decision}|{}", i + 1, cell(&named(&step.object.object)), cell(&step.state), why(d))
        });
        ui.output(&table(&headed("Step|Object|State|Decision|Reason", rows), Form::List));
    }
    ui.section("What to do", &advice(e));
}

fn decision(e: &GcExplanation, d: &GcDecision, from: Option<i64>, now: i64, zone: &TimeZone) -> String {
    let every = format_duration(e.interval);
    match from {
        _ if d.collect => format!("deleted by the next run of {} (every {every})", e.run),
        Some(from) if d.reason == Some(GcReason::TooYoung) => {
            let wait = difference(now, from);
            format!("kept until {} (in {wait}), then deleted by {} (every {every})", time(from, zone), e.run)
        }
        _ => "kept as long as the reason lasts".into(),
    }
}

fn forced(d: &GcDecision) -> String {
    match d.reason {
        Some(reason) => format!("would keep it: {}", reason.text()),
        None => "would keep it".into(),
    }
}

/// What an operator can do, by the last object of the chain: the one that keeps the others.
fn advice(e: &GcExplanation) -> String {
    let Some((first, last)) = e.chain.first().zip(e.chain.last()) else { return String::new() };
    if first.object.decision.collect {
        return format!("Nothing: the next run of {} deletes it.", e.run);
    }
    if first.object.decision.reason == Some(GcReason::TooYoung) {
        let sooner = if e.forced.collect { " encamp system gc deletes it at once." } else { "" };
        return format!("Nothing: it is deleted when it is old enough.{sooner}");
    }
    let last = e.chain.iter().rev().find(|step| step.object.decision.reason.is_some()).unwrap_or(last);
    of_reason(e, last)
}

/// The job of an object, as arguments of commands: its ID, behind the flag for its namespace.
fn job_arguments(e: &GcExplanation, object: &GcRef) -> (String, String) {
    let job = match (object.kind, &e.job) {
        (Some(GcKind::Job), _) | (_, None) => object,
        (_, Some(job)) => job,
    };
    let namespace = match job.namespace.as_str() {
        "" | "default" => String::new(),
        namespace => format!("-namespace {namespace} "),
    };
    (namespace, job.id.clone())
}

fn of_reason(e: &GcExplanation, step: &GcStep) -> String {
    let object = &step.object.object;
    let id = if object.kind == Some(GcKind::Job) { object.id.as_str() } else { short_id(&object.id) };
    let (namespace, job) = job_arguments(e, object);
    let stop = format!("encamp job stop {namespace}{job}");
    let Some(reason) = step.object.decision.reason else { return "Nothing.".into() };
    match reason {
        GcReason::TooYoung => format!("Wait until {} is old enough, or run encamp system gc.", named(object)),
        GcReason::AllocationNotTerminal => {
            format!("Wait until the allocation ends, or end it: {stop}, or encamp alloc stop {id}.")
        }
        GcReason::StillRunning => format!(
            "Wait until its node reports that it has ended; encamp alloc status {id} shows the node. If the node does not \
             come back, the allocation is lost as soon as the node is down."
        ),
        GcReason::Reschedulable => format!(
            "Wait for its replacement: encamp job status {namespace}{job} shows whether one can be placed. {stop} gives it \
             up."
        ),
        GcReason::CurrentBatchVersion => {
            format!("Nothing, if the job still matters: it is deleted together with the job. {stop} ends the job.")
        }
        GcReason::EvaluationNotEnded | GcReason::EvaluationOfAllocation => {
            format!("encamp eval status {id} shows what the evaluation waits for.")
        }
        GcReason::EvaluationGone => format!("Delete it together with its job: {stop} -purge."),
        GcReason::JobNotDead | GcReason::JobNotStopped | GcReason::JobLaunches => {
            format!("Nothing, if the job is still needed; else {stop}.")
        }
        GcReason::CurrentVersionTagged | GcReason::VersionTagged => {
            let tag = &step.object.decision.tag;
            format!("Remove the tag, if the version is not needed: encamp job tag unset {namespace}-name {tag} {job}")
        }
        GcReason::DeploymentActive => format!("encamp deployment status {id} shows what the deployment waits for."),
        GcReason::NodeNotDown => "Only nodes that are down are deleted.".into(),
        GcReason::NeverExpires => format!("encamp acl token delete {} deletes it.", object.id),
        GcReason::AclDisabled => "Nothing: without access control, tokens have no effect.".into(),
        GcReason::OtherRegion => "Ask the servers of the authoritative region.".into(),
        GcReason::NextRun => "Nothing: the next run deletes it.".into(),
        GcReason::KeyActive => "encamp operator root keyring rotate -now makes another key the active one.".into(),
        GcReason::KeyPrepublished => "Nothing: the key becomes active at its publish time.".into(),
        GcReason::KeyRekeying => "Wait until all variables are encrypted again.".into(),
        GcReason::KeyUnknown => "Ask the servers, with a program of their version.".into(),
        GcReason::KeyOfVariable => {
            "encamp operator root keyring rotate -full encrypts all variables with a new key.".into()
        }
        GcReason::KeyOfAllocation => "Wait until the allocation has ended.".into(),
        GcReason::KeyOfNode => "Wait until the node renews its identity.".into(),
        GcReason::CsiPluginRuns => "Nothing: it is deleted when no node and no job runs it any more.".into(),
        GcReason::NoEndedClaims => "Nothing: there is no claim to release.".into(),
        GcReason::RotationFirst => "Nothing: the next run deletes it.".into(),
        GcReason::AllocationOfEvaluation
        | GcReason::EvaluationOfJob
        | GcReason::AllocationOfJob
        | GcReason::AllocationOfDeployment
        | GcReason::AllocationOfNode => format!("See what keeps {}.", named(object)),
    }
}

/// The counts of a run.
pub fn report(report: &GcReport) -> String {
    let rows = report.collected.iter().map(|c| format!("{}|{}", c.kind.text(), c.count));
    table(&headed("Kind|Deleted", rows), Form::List)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::gc::GcRule;

    fn decision_of(reason: Option<GcReason>) -> GcDecision {
        GcDecision {
            collect: reason.is_none(),
            rule: Some(GcRule::FinishedJob),
            age: None,
            reason,
            held_by: None,
            tag: "keep".into(),
        }
    }

    #[test]
    fn every_reason_has_advice() {
        for reason in GcReason::ALL {
            let object = GcRef { kind: Some(GcKind::Job), namespace: "ops".into(), id: "web".into() };
            let decision = decision_of(Some(*reason));
            let step = GcStep { object: GcObject { object, decision: decision.clone() }, state: "state".into() };
            let explanation = GcExplanation {
                at: Time::from_unix_nanos(0),
                job: None,
                chain: vec![step],
                forced: decision,
                run: "job-gc".into(),
                interval: 1,
            };
            assert!(advice(&explanation).ends_with(['.', 'b']), "{reason:?}: {}", advice(&explanation));
        }
    }
}
