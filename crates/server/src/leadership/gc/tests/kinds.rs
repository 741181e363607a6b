//! Every kind of core evaluation in every situation. What is expected is a function of the kind without a default: a
//! new kind does not compile before it has all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::evals::broker::Broker;
use crate::evals::core_job::core_eval;
use crate::leadership::gc::decide::View;
use crate::leadership::gc::select::one_time_tokens;
use crate::leadership::gc::verdict::FORCED;
use encamp_model::gc::GcKind;

/// A state with one object that a kind deletes at [`NOW`], and not before, by the default thresholds.
fn due_now(kind: CoreJob) -> Option<StateStore> {
    let mut s = StateStore::new();
    let token = |global| AclToken {
        accessor_id: "token".into(),
        secret_id: "secret".into(),
        global,
        create_time: Time::from_unix_nanos(NOW - HOUR),
        expiration_time: Some(Time::from_unix_nanos(NOW - MINUTE)),
        ..AclToken::default()
    };
    match kind {
        CoreJob::Evals => {
            return Some(store(job(JobStatus::Running, false, None), eval(JobType::Service, HOUR), vec![]));
        }
        CoreJob::Jobs | CoreJob::Forced => {
            let over = Job { submit_time: NOW - 4 * HOUR, ..job(JobStatus::Dead, true, None) };
            s.put_job(Arc::new(over));
        }
        CoreJob::Deployments => {
            let (id, status) = ("d".to_string(), DeploymentStatus::Successful);
            s.put_deployment(Arc::new(Deployment { id, status, modify_time: NOW - HOUR, ..Deployment::default() }));
        }
        CoreJob::Nodes => {
            let updated_at = (NOW - 24 * HOUR) / SECOND;
            let (id, status) = ("n".to_string(), NodeStatus::Down);
            s.put_node(Arc::new(Node { id, status, status_updated_at: updated_at, ..Node::default() }));
        }
        CoreJob::RootKeys => {
            key(&mut s, "active", RootKeyState::Active, NOW, 0);
            key(&mut s, "old", RootKeyState::Inactive, NOW - 721 * HOUR, 0);
        }
        CoreJob::LocalTokens => s.put_acl_token(Arc::new(token(false))),
        CoreJob::GlobalTokens => s.put_acl_token(Arc::new(token(true))),
        CoreJob::OneTimeTokens => s.put_one_time_token(Arc::new(OneTimeToken {
            one_time_secret_id: "secret".into(),
            accessor_id: "token".into(),
            expires_at: Time::from_unix_nanos(NOW),
            ..OneTimeToken::default()
        })),
        CoreJob::CsiPlugins => {
            s.put_csi_plugin(Arc::new(CsiPlugin { id: "p".into(), modify_time: NOW - HOUR, ..CsiPlugin::default() }));
        }
        CoreJob::CsiClaims => s.put_csi_volume(Arc::new(CsiVolume {
            id: "v".into(),
            read_allocs: [("gone".to_string(), None)].into(),
            modify_time: NOW - 5 * MINUTE,
            ..CsiVolume::default()
        })),
        // Variables are encrypted again, not deleted.
        CoreJob::Rekey => return None,
    }
    Some(s)
}

/// How many objects a kind deletes at a time.
fn deletes(kind: CoreJob, s: &StateStore, thresholds: &Thresholds, now: i64) -> usize {
    let none = JobKeys::new();
    match kind {
        CoreJob::Evals => select::evals(s, thresholds, now, &none).evals.len(),
        CoreJob::Jobs => select::jobs(s, thresholds, now).jobs.len(),
        CoreJob::Deployments => select::deployments(s, thresholds, now, &none).len(),
        CoreJob::Nodes => select::nodes(s, thresholds, now).len(),
        CoreJob::RootKeys => select::keys(s, thresholds, now).len(),
        CoreJob::Rekey => 0,
        CoreJob::LocalTokens => select::tokens(s, thresholds, now, false).len(),
        CoreJob::GlobalTokens => select::tokens(s, thresholds, now, true).len(),
        CoreJob::OneTimeTokens => one_time_tokens(s, thresholds, now),
        CoreJob::CsiPlugins => select::csi_plugins(s, thresholds, now).len(),
        CoreJob::CsiClaims => select::csi_claims(s, thresholds, now).len(),
        CoreJob::Forced => {
            let of = |kind: &&CoreJob| !matches!(kind, CoreJob::Forced);
            CoreJob::ALL.iter().filter(of).map(|kind| deletes(*kind, s, thresholds, now)).sum()
        }
    }
}

#[test]
fn intervals() {
    let gc = GcSettings { job_interval: 7 * MINUTE, key_interval: HOUR, ..GcSettings::default() };
    let gc = GcSettings { csi_claim_interval: 3 * MINUTE, ..gc };
    for kind in CoreJob::ALL.iter().copied() {
        let want = match kind {
            CoreJob::Evals
            | CoreJob::Deployments
            | CoreJob::Nodes
            | CoreJob::LocalTokens
            | CoreJob::GlobalTokens
            | CoreJob::CsiPlugins => Some(5 * MINUTE),
            CoreJob::CsiClaims => Some(3 * MINUTE),
            CoreJob::Jobs => Some(7 * MINUTE),
            CoreJob::RootKeys => Some(HOUR),
            CoreJob::Rekey | CoreJob::OneTimeTokens => Some(10 * MINUTE),
            CoreJob::Forced => None,
        };
        assert_eq!(kind.interval(&gc), want, "{kind:?}");
    }
}

#[test]
fn an_object_is_old_enough_at_its_threshold_and_not_a_nanosecond_earlier() {
    for kind in CoreJob::ALL.iter().copied() {
        let Some(s) = due_now(kind) else { continue };
        for (now, want) in [(NOW - 1, 0), (NOW, 1), (i64::MAX, 1)] {
            assert_eq!(deletes(kind, &s, &defaults(), now), want, "{kind:?} at {now}");
        }
    }
}

#[test]
fn thresholds_of_any_size_are_calculated_without_overflow() {
    for nanos in [i64::MIN, -HOUR, 0, i64::MAX] {
        let gc = GcSettings {
            eval_threshold: nanos,
            job_threshold: nanos,
            deployment_threshold: nanos,
            node_threshold: nanos,
            csi_plugin_threshold: nanos,
            csi_claim_threshold: nanos,
            key_rotation: nanos,
            key_threshold: nanos,
            ..GcSettings::default()
        };
        let acl = AclSettings { enabled: true, gc_threshold: nanos, ..AclSettings::default() };
        let thresholds = Thresholds::configured(&gc, &acl);
        for kind in CoreJob::ALL.iter().copied().filter(|kind| *kind != CoreJob::OneTimeTokens) {
            let Some(s) = due_now(kind) else { continue };
            assert_eq!(deletes(kind, &s, &thresholds, NOW), usize::from(nanos <= 0), "{kind:?} {nanos}");
        }
    }
}

#[test]
fn a_forced_run_waives_the_age_of_all_but_keys() {
    for kind in CoreJob::ALL.iter().copied() {
        let Some(s) = due_now(kind) else { continue };
        let want = match kind {
            // The normal threshold applies.
            CoreJob::RootKeys => 0,
            // Expiration is no age.
            CoreJob::OneTimeTokens => 0,
            CoreJob::Evals
            | CoreJob::Jobs
            | CoreJob::Deployments
            | CoreJob::Nodes
            | CoreJob::LocalTokens
            | CoreJob::GlobalTokens
            | CoreJob::CsiPlugins
            | CoreJob::CsiClaims
            | CoreJob::Forced => 1,
            CoreJob::Rekey => continue,
        };
        assert_eq!(deletes(kind, &s, &defaults().forced(), NOW - 1), want, "{kind:?}");
    }
    let s = due_now(CoreJob::Jobs).unwrap();
    let submitted = NOW - 4 * HOUR;
    let at = |now| deletes(CoreJob::Forced, &s, &defaults().forced(), now);
    assert_eq!((at(submitted + FORCED - 1), at(submitted + FORCED)), (0, 1));
}

#[test]
fn a_dry_run_decides_as_the_run() {
    for kind in CoreJob::ALL.iter().copied() {
        let Some(s) = due_now(kind) else { continue };
        for thresholds in [defaults(), defaults().forced()] {
            for now in [NOW - 1, NOW] {
                let view = View { store: &s, visible: GcKind::ALL, thresholds, now };
                let mut dry = BTreeSet::new();
                view.all(|name, decision| {
                    if decision.collects() {
                        dry.insert(name);
                    }
                });
                let run = if kind == CoreJob::RootKeys && view_rotates(&s, &thresholds, now) {
                    0
                } else {
                    deletes(kind, &s, &thresholds, now)
                };
                assert_eq!(dry.len(), run, "{kind:?} at {now}, forced: {}", thresholds.forced);
            }
        }
    }
}

fn view_rotates(s: &StateStore, thresholds: &Thresholds, now: i64) -> bool {
    !thresholds.forced && keys::rotation(s, now, thresholds.rotation).is_some()
}

/// Takes the next core evaluation of a broker.
fn take(broker: &mut Broker, now: i64) -> Option<(String, String)> {
    let taken = broker.dequeue(&[JobType::Core], now, 0, || format!("token-{now}"));
    taken.ok().flatten().map(|d| (d.eval.job_id.to_string(), d.eval.id.to_string()))
}

#[test]
fn a_leader_change_and_a_pause_drop_core_evaluations() {
    for kind in CoreJob::ALL.iter().copied() {
        let eval = || Arc::new(core_eval(kind, 7));
        let mut broker = Broker::new();
        // Paused, or not the leader: dropped.
        broker.enqueue_all([(eval(), None)], NOW);
        broker.set_enabled(true);
        assert_eq!(take(&mut broker, NOW), None, "{kind:?}");
        // The leader changes while one runs and another one waits.
        broker.enqueue_all([(eval(), None), (eval(), None)], NOW);
        let (name, id) = take(&mut broker, NOW).expect("delivered");
        assert_eq!((name.as_str(), take(&mut broker, NOW)), (kind.name(), None), "{kind:?}: one at a time");
        broker.set_enabled(false);
        broker.set_enabled(true);
        assert!(broker.ack(&id, &format!("token-{NOW}"), NOW).is_err(), "{kind:?}: void");
        assert_eq!(take(&mut broker, NOW), None, "{kind:?}: nothing is caught up");
        // The next tick or request runs.
        broker.enqueue_all([(eval(), None)], NOW);
        assert_eq!(take(&mut broker, NOW).map(|(name, _)| name).as_deref(), Some(kind.name()));
    }
}

#[test]
fn different_kinds_run_at_the_same_time() {
    let mut broker = Broker::new();
    broker.set_enabled(true);
    for kind in CoreJob::ALL.iter().copied() {
        broker.enqueue_all([(Arc::new(core_eval(kind, 7)), None)], NOW);
    }
    let taken: BTreeSet<String> = std::iter::from_fn(|| take(&mut broker, NOW)).map(|(name, _)| name).collect();
    assert_eq!(taken.len(), CoreJob::ALL.len());
}
