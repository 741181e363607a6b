//! Random states: a run deletes what a dry run says, nothing that something else needs, and leaves nothing that could be
//! deleted. Times are a few steps apart, so that ages often equal their thresholds.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::fsm::{self, Limits};
use crate::leadership::gc::decide::View;
use encamp_model::gc::GcKind;
use encamp_model::random::Random;
use encamp_ops::{AclChange, NodeChange, Operation, Reply};
use encamp_test_support::seeds::setting;
use encamp_test_support::tier;

/// The number of cases; `ENCAMP_GC_CASES`, which a release run sets to 100000.
fn cases() -> u64 {
    tier::rounds("ENCAMP_GC_CASES", 200, 400)
}

/// A time up to eight hours ago, in steps of half an hour, sometimes a nanosecond off.
fn past(r: &mut Random) -> i64 {
    NOW - r.below(16) as i64 * 30 * MINUTE + r.below(3) as i64 - 1
}

fn maybe(r: &mut Random) -> bool {
    r.below(2) == 0
}

fn one_of<T: Clone>(r: &mut Random, all: &[T]) -> T {
    all[r.below(all.len() as u64) as usize].clone()
}

fn random_job(r: &mut Random, id: &str) -> Vec<Job> {
    let kind = one_of(r, &[JobType::Service, JobType::Batch, JobType::System, JobType::Sysbatch]);
    let policy = one_of(
        r,
        &[
            None,
            policy(0, 0),
            policy(2, 30 * MINUTE),
            Some(ReschedulePolicy { unlimited: true, ..ReschedulePolicy::default() }),
        ],
    );
    let base = Job {
        id: id.into(),
        r#type: kind,
        submit_time: past(r),
        job_modify_index: r.below(30),
        periodic: (r.below(6) == 0).then(|| PeriodicConfig { enabled: r.below(3) > 0, ..PeriodicConfig::default() }),
        parameterized_job: (r.below(8) == 0).then(ParameterizedJobConfig::default),
        parent_id: if r.below(5) == 0 { "job-0".into() } else { String::new() },
        ..job(one_of(r, &[JobStatus::Dead, JobStatus::Dead, JobStatus::Running, JobStatus::Pending]), maybe(r), policy)
    };
    let tag =
        |r: &mut Random| (r.below(6) == 0).then(|| JobVersionTag { name: "keep".into(), ..JobVersionTag::default() });
    (0..=r.below(2)).map(|version| Job { version, version_tag: tag(r), ..base.clone() }).collect()
}

fn random_alloc(r: &mut Random, number: u64, jobs: u64) -> Allocation {
    let client = one_of(
        r,
        &[
            ClientStatus::Complete,
            ClientStatus::Complete,
            ClientStatus::Failed,
            ClientStatus::Lost,
            ClientStatus::Running,
            ClientStatus::Pending,
            ClientStatus::Unknown,
        ],
    );
    let a = alloc(&format!("alloc-{number}"), client, one_of(r, &[DesiredStatus::Run, DesiredStatus::Stop]));
    let job_id = format!("job-{}", r.below(jobs));
    let a = Allocation {
        // Evaluations have the job of their number; some are gone.
        eval_id: format!("eval-{job_id}-{}", r.below(4)).into(),
        job_id: job_id.into(),
        create_index: r.below(40),
        modify_time: past(r),
        node_id: format!("node-{}", r.below(4)).into(),
        deployment_id: if maybe(r) { format!("deployment-{}", r.below(5)).into() } else { Text::default() },
        next_allocation: if r.below(4) == 0 { "next".into() } else { Text::default() },
        signing_key_id: format!("key-{}", r.below(6)).into(),
        ..a
    };
    if maybe(r) { with_events(a, &[NOW - past(r)]) } else { a }
}

fn random_state(r: &mut Random) -> StateStore {
    let mut s = StateStore::new();
    let jobs = 1 + r.below(5);
    for i in 0..jobs {
        random_job(r, &format!("job-{i}")).into_iter().for_each(|j| s.put_job(Arc::new(j)));
        for n in 0..r.below(4) {
            let id = format!("eval-job-{i}-{n}");
            let status =
                one_of(r, &[EvalStatus::Complete, EvalStatus::Complete, EvalStatus::Failed, EvalStatus::Pending]);
            let kind = one_of(r, &[JobType::Service, JobType::Batch]);
            let e = Evaluation {
                id: id.into(),
                job_id: format!("job-{i}").into(),
                status,
                modify_time: past(r),
                ..eval(kind, 0)
            };
            s.put_eval(Arc::new(e));
        }
    }
    for i in 0..4 {
        let status = one_of(r, &[NodeStatus::Down, NodeStatus::Down, NodeStatus::Ready, NodeStatus::Disconnected]);
        let id = format!("node-{i}");
        let identity_signing_key_id = format!("key-{}", r.below(12));
        let status_updated_at = past(r) / SECOND;
        s.put_node(Arc::new(Node { id, status, status_updated_at, identity_signing_key_id, ..Node::default() }));
    }
    for i in 0..r.below(3) {
        let info = || ("node-9".to_string(), CsiInfo::default());
        let nodes = maybe(r).then(info).into_iter().collect();
        let (id, modify_time) = (format!("plugin-{i}"), past(r));
        s.put_csi_plugin(Arc::new(CsiPlugin { id, nodes, modify_time, ..CsiPlugin::default() }));
    }
    let count = r.below(10);
    s.put_allocs((0..count).map(|i| Arc::new(random_alloc(r, i, jobs))).collect());
    for i in 0..r.below(5) {
        let status = one_of(r, &[DeploymentStatus::Successful, DeploymentStatus::Failed, DeploymentStatus::Running]);
        let (id, job_id) = (format!("deployment-{i}"), format!("job-{}", r.below(jobs + 1)));
        let namespace = "default".into();
        let modify_time = past(r);
        s.put_deployment(Arc::new(Deployment { id, namespace, job_id, status, modify_time, ..Deployment::default() }));
    }
    for i in 0..r.below(5) {
        s.put_acl_token(Arc::new(AclToken {
            accessor_id: format!("token-{i}"),
            secret_id: SecretString::new(format!("secret-{i}")),
            global: maybe(r),
            create_time: Time::from_unix_nanos(past(r)),
            expiration_time: (r.below(3) > 0).then(|| Time::from_unix_nanos(past(r))),
            ..AclToken::default()
        }));
        s.put_one_time_token(Arc::new(OneTimeToken {
            one_time_secret_id: SecretString::new(format!("once-{i}")),
            accessor_id: format!("token-{i}"),
            expires_at: Time::from_unix_nanos(past(r) + 4 * HOUR),
            ..OneTimeToken::default()
        }));
    }
    for i in 0..6 {
        let state = one_of(r, &[RootKeyState::Inactive, RootKeyState::Inactive, RootKeyState::Deprecated]);
        let state = if i == 0 { RootKeyState::Active } else { state };
        key(&mut s, &format!("key-{i}"), state, past(r), 0);
        if r.below(4) == 0 {
            let (namespace, path) = ("default".to_string(), format!("path-{i}"));
            let key_id = format!("key-{i}");
            s.put_variable(Arc::new(VariableEncrypted { namespace, path, key_id, ..VariableEncrypted::default() }));
        }
    }
    s
}

/// The names of all objects.
fn objects(s: &StateStore) -> BTreeSet<(GcKind, String)> {
    let mut all = BTreeSet::new();
    let token = |t: &Arc<AclToken>| if t.global { GcKind::GlobalToken } else { GcKind::LocalToken };
    all.extend(s.evals_from("").map(|e| (GcKind::Evaluation, e.id.to_string())));
    all.extend(s.allocs_from("").map(|a| (GcKind::Allocation, a.alloc.id.to_string())));
    all.extend(s.state().jobs().map(|j| (GcKind::Job, j.current.id.clone())));
    all.extend(s.state().deployments().map(|d| (GcKind::Deployment, d.id.clone())));
    all.extend(s.state().nodes().map(|n| (GcKind::Node, n.node.id.clone())));
    all.extend(s.acl_tokens().map(|t| (token(t), t.accessor_id.clone())));
    all.extend(s.one_time_tokens().map(|t| (GcKind::OneTimeToken, t.accessor_id.clone())));
    all.extend(s.csi_plugins().map(|p| (GcKind::CsiPlugin, p.id.clone())));
    all.extend(s.root_keys().map(|k| (GcKind::RootKey, k.meta.key_id.clone())));
    all
}

/// What a dry run says would be deleted.
fn dry_run(s: &StateStore, thresholds: Thresholds, now: i64) -> BTreeSet<(GcKind, String)> {
    let view = View { store: s, visible: GcKind::ALL, thresholds, now };
    let mut all = BTreeSet::new();
    view.all(|name, decision| {
        if let (Some(kind), true) = (name.kind, decision.collects()) {
            all.insert((kind, name.id.to_string()));
        }
    });
    all
}

/// Applies the operations of all runs, each on the state before: those that `Run` commits.
fn run(before: &StateStore, thresholds: &Thresholds, now: i64) -> StateStore {
    let mut s = before.clone();
    let mut index = 100;
    let mut apply = |op: Operation| {
        index += 1;
        let applied = fsm::apply(&mut s, index, &op, Limits::default());
        assert!(!matches!(applied.reply, Reply::Refused(_)), "{op:?}: {:?}", applied.reply);
    };
    let mut found = select::jobs(before, thresholds, now);
    let reaped =
        |c: Collected| batches(c, 3).into_iter().map(|c| Operation::EvalDelete { evals: c.evals, allocs: c.allocs });
    reaped(std::mem::take(&mut found.rest)).for_each(&mut apply);
    if !found.jobs.is_empty() {
        let jobs = found.jobs.iter().map(|j| j.key()).collect();
        apply(Operation::JobBatchDeregister { jobs });
    }
    let gone = found.keys();
    reaped(select::evals(before, thresholds, now, &gone)).for_each(&mut apply);
    apply(Operation::DeploymentDelete { ids: select::deployments(before, thresholds, now, &gone) });
    if thresholds.acl {
        apply(Operation::Acl(Box::new(AclChange::OneTimeExpire(now))));
    }
    for global in [false, true] {
        let ids = select::tokens(before, thresholds, now, global);
        if !ids.is_empty() {
            apply(Operation::Acl(Box::new(AclChange::TokenDelete(ids))));
        }
    }
    let rotates = !thresholds.forced
        && matches!(keys::rotation(before, now, thresholds.rotation), Some(Step::Activate(_) | Step::Prepublish(_)));
    if !rotates {
        for id in select::keys(before, thresholds, now) {
            apply(Operation::RootKeyDelete { id, force: false });
        }
    }
    for id in select::csi_plugins(before, thresholds, now) {
        apply(Operation::CsiPluginDelete { id });
    }
    let ids = select::nodes(before, thresholds, now);
    if !ids.is_empty() {
        let change = Operation::NodeDeregister { ids };
        apply(Operation::NodeChange(Box::new(NodeChange { change, seed: 1, now })));
    }
    s
}

/// What must not be deleted because something that stays needs it.
fn check_references(before: &StateStore, after: &StateStore, seed: u64) {
    for entry in after.state().jobs() {
        let job = &entry.current;
        let was = before.state().job_entry(&job.namespace, &job.id).map_or(0, |e| e.versions.len());
        assert_eq!(entry.versions.len(), was, "seed {seed}: versions of {}", job.id);
    }
    for a in before.allocs_from("").map(|a| &a.alloc) {
        let (job, stays) = (after.state().job(&a.namespace, &a.job_id), after.state().alloc(&a.id).is_some());
        // What has not ended goes only with its job, and only if no evaluation speaks for it. Allocations of older
        // versions of batch jobs count as ended when the servers stopped them (§3.2 step 3).
        let eval = before.eval(&a.eval_id);
        let orphan = eval.is_none();
        let batch = eval.is_some_and(|e| e.r#type == JobType::Batch);
        let ended = a.terminal() && (batch || a.client_status != ClientStatus::Running);
        assert!(stays || ended || job.is_none() && orphan, "seed {seed}: {} is deleted", a.id);
        if stays && !a.terminal() {
            let node_was = before.state().node(&a.node_id).is_some();
            assert!(!node_was || after.state().node(&a.node_id).is_some(), "seed {seed}: node of {}", a.id);
        }
        let eval_was = before.eval(&a.eval_id).is_some();
        assert!(!stays || !eval_was || after.eval(&a.eval_id).is_some(), "seed {seed}: evaluation of {}", a.id);
        let uses_key = !(a.client_terminal() && a.server_terminal()) && before.root_key(&a.signing_key_id).is_some();
        assert!(!stays || !uses_key || after.root_key(&a.signing_key_id).is_some(), "seed {seed}: key of {}", a.id);
    }
    for e in before.evals_from("").filter(|e| !e.terminal()) {
        assert!(after.eval(&e.id).is_some(), "seed {seed}: {} has not ended", e.id);
    }
    for v in before.variables() {
        assert!(after.root_key(&v.key_id).is_some(), "seed {seed}: key of variable {}", v.path);
    }
    let tagged = |s: &StateStore| {
        let of = |e: &Arc<encamp_state::JobEntry>| e.versions.values().any(|v| v.version_tag.is_some());
        s.state().jobs().filter(|e| of(e)).count()
    };
    assert_eq!(tagged(before), tagged(after), "seed {seed}: tagged versions");
}

#[test]
fn runs_do_what_dry_runs_say() {
    let mut deleted: std::collections::BTreeMap<GcKind, usize> = std::collections::BTreeMap::new();
    let only = setting("ENCAMP_GC_SEED");
    for seed in only.map_or(1..=cases(), |seed| seed..=seed) {
        let mut r = Random::new(seed, "garbage collection");
        let s = random_state(&mut r);
        let gc = GcSettings { key_rotation: 3 * HOUR, key_threshold: 30 * MINUTE, ..GcSettings::default() };
        let gc = GcSettings { batch_eval_threshold: 6 * HOUR, node_threshold: 5 * HOUR, ..gc };
        let acl = AclSettings { enabled: r.below(5) > 0, authoritative: r.below(4) > 0, ..AclSettings::default() };
        let configured = Thresholds::configured(&gc, &acl);
        let thresholds = if maybe(&mut r) { configured.forced() } else { configured };
        let now = NOW + r.below(3) as i64 - 1;
        let says = dry_run(&s, thresholds, now);
        let before = objects(&s);
        let after = run(&s, &thresholds, now);
        let mut left = objects(&after);
        // Evaluations that follow from a removed node are new.
        left.retain(|object| before.contains(object));
        let goes: BTreeSet<_> = before.difference(&left).cloned().collect();
        assert_eq!(goes, says, "ENCAMP_GC_SEED={seed} cargo test -p encamp-server --lib runs_do_what_dry_runs_say");
        check_references(&s, &after, seed);
        goes.iter().for_each(|(kind, _)| *deleted.entry(*kind).or_default() += 1);
        // What one run sets free, such as a job whose evaluations are gone, goes with the next ones.
        let mut last = after;
        for _ in 0..8 {
            last = run(&last, &thresholds, now);
        }
        assert_eq!(dry_run(&last, thresholds, now), BTreeSet::new(), "seed {seed}: left behind");
    }
    if only.is_none() {
        // Claims are released by the watcher of volumes, not deleted by the run.
        let of_runs = GcKind::ALL.iter().filter(|kind| **kind != GcKind::CsiVolumeClaims);
        let missing: Vec<_> = of_runs.filter(|kind| !deleted.contains_key(kind)).collect();
        assert!(missing.is_empty(), "no case deletes {missing:?}");
    }
}
