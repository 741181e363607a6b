//! Random sequences of operations: the contents of the store must not depend on its history.
//!
//! After every sequence: writing and reading a snapshot gives an equal store; indexes and derived data equal those of a
//! store built from the rows only; the counters of summaries and deployments match the allocations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::*;
use crate::storage::persist;
use encamp_model::random::Random;
use encamp_model::*;
use encamp_ops::*;
use encamp_state::Table;

const JOBS: [&str; 4] = ["web", "db", "cron", "batch/dispatch-1"];
const NODES: [&str; 3] = ["n1", "n2", "n3"];
const PATHS: [&str; 3] = ["app/a", "app/b", "z"];
const NAMES: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 2] = ["k1", "k2"];

/// All readable contents in a fixed order.
fn dump(s: &StateStore) -> String {
    let mut out = String::new();
    let state = s.state();
    let mut line = |what: &str, value: &dyn std::fmt::Debug| {
        let _ = writeln!(out, "{what} {value:?}");
    };
    for n in state.nodes() {
        line("node", &n.node);
        line("usage", &n.usage);
        line("on node", &n.allocs.iter().map(|a| a.alloc.id.as_str()).collect::<Vec<_>>());
    }
    for id in NODES {
        line("orphaned", &state.allocs_of_node(id).iter().map(|a| a.alloc.id.clone()).collect::<Vec<_>>());
    }
    state.jobs().for_each(|j| line("job", &(&j.current, &j.versions)));
    s.allocs_from("").for_each(|a| line("alloc", &a.alloc));
    line("allocs by create", &s.allocs_by_create().map(|a| a.alloc.id.as_str()).collect::<Vec<_>>());
    s.evals_from("").for_each(|e| line("eval", e));
    line("evals by create", &s.evals_by_create().map(|e| e.id.as_str()).collect::<Vec<_>>());
    s.deployments_by_create().for_each(|d| line("deployment", d));
    for job in JOBS {
        line("of job", &s.evals_of_job("default", job).map(|e| e.id.as_str()).collect::<Vec<_>>());
        line("blocked", &s.blocked_evals_of_job("default", job).map(|e| e.id.as_str()).collect::<Vec<_>>());
        let blocked = s.evals_of_job("default", job).filter(|e| e.status == EvalStatus::Blocked);
        assert!(blocked.eq(s.blocked_evals_of_job("default", job)));
        line("of job", &state.allocs_of_job("default", job).iter().map(|a| a.alloc.id.clone()).collect::<Vec<_>>());
        line("of job", &state.deployments_of_job("default", job).iter().map(|d| d.id.clone()).collect::<Vec<_>>());
        line("children", &s.children("default", job).map(|j| j.id.as_str()).collect::<Vec<_>>());
        line("policies", &s.scaling_policies_of_job("default", job).collect::<Vec<_>>());
    }
    for e in s.evals_from("") {
        line("of eval", &s.allocs_of_eval(&e.id).map(|a| a.alloc.id.as_str()).collect::<Vec<_>>());
    }
    for d in s.deployments_by_create() {
        line("of deployment", &s.allocs_of_deployment(&d.id).map(|a| a.alloc.id.as_str()).collect::<Vec<_>>());
    }
    s.summaries().for_each(|x| line("summary", x));
    s.all_submissions().for_each(|x| line("submission", x));
    s.launches().for_each(|x| line("launch", x));
    s.all_scaling_events().for_each(|x| line("scaling", x));
    s.services().for_each(|x| line("service", x));
    s.variables().for_each(|x| line("variable", x));
    line("below", &s.variables_below("default", "app/").map(|v| v.path.as_str()).collect::<Vec<_>>());
    for key in KEYS {
        line("of key", &s.variables_of_key(key).map(|v| (&v.namespace, &v.path)).collect::<Vec<_>>());
    }
    state.namespaces().for_each(|x| line("namespace", x));
    state.node_pools().for_each(|x| line("pool", x));
    s.root_keys().for_each(|k| line("root key", k));
    s.acl_policies().for_each(|x| line("acl policy", x));
    line("of jobs", &s.acl_policies_of_jobs("default").map(|p| p.name.as_str()).collect::<Vec<_>>());
    s.acl_tokens().for_each(|x| line("token", &(x, x.secret_id.expose())));
    line("tokens by create", &s.acl_tokens_by_create().map(|t| t.accessor_id.as_str()).collect::<Vec<_>>());
    for global in [false, true] {
        line("expiring", &s.acl_tokens_by_expiry(global).map(|t| t.accessor_id.as_str()).collect::<Vec<_>>());
    }
    for name in NAMES {
        line("by secret", &s.acl_token_by_secret(name).map(|t| t.accessor_id.as_str()));
        line("by name", &s.acl_role_by_name(name).map(|r| r.id.as_str()));
        line("once by secret", &s.one_time_token_by_secret(name).map(|t| t.accessor_id.as_str()));
    }
    s.acl_roles().for_each(|x| line("role", x));
    s.acl_auth_methods().for_each(|x| line("auth method", x));
    s.acl_binding_rules().for_each(|x| line("binding rule", x));
    s.one_time_tokens().for_each(|x| line("one-time token", &(x, x.one_time_secret_id.expose())));
    line("config", &(&state.scheduler_config, s.autopilot(), s.cluster_metadata(), s.capability_level()));
    line("indexes", &Table::ALL.map(|t| s.index_of(t)));
    line("index", &state.index);
    out
}

fn job(r: &mut Random, id: &str) -> Job {
    Job {
        id: id.into(),
        name: id.into(),
        namespace: "default".into(),
        r#type: if id == "cron" { JobType::Batch } else { JobType::Service },
        priority: 1 + r.below(99) as i64,
        node_pool: "default".into(),
        periodic: (id == "cron").then(|| PeriodicConfig { enabled: true, spec: "@daily".into(), ..Default::default() }),
        parent_id: if id.contains('/') { "cron".into() } else { String::new() },
        task_groups: vec![TaskGroup {
            name: "g".into(),
            count: r.below(4) as i64,
            scaling: (r.below(2) == 0).then(|| ScalingPolicy {
                id: format!("policy-{id}"),
                enabled: true,
                max: r.below(9) as i64,
                ..Default::default()
            }),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn eval(r: &mut Random, id: String) -> Evaluation {
    Evaluation {
        id: id.into(),
        namespace: "default".into(),
        job_id: (*r.pick(&JOBS).unwrap()).into(),
        r#type: JobType::Service,
        status: r.pick(EvalStatus::ALL).unwrap().clone(),
        queued_allocations: [("g".to_string(), r.below(3) as i64)].into(),
        modify_time: r.below(1000) as i64,
        ..Default::default()
    }
}

fn existing(r: &mut Random, ids: Vec<String>) -> Option<String> {
    r.pick(&ids).cloned()
}

fn alloc_ids(s: &StateStore) -> Vec<String> {
    s.allocs_from("").map(|a| a.alloc.id.to_string()).collect()
}

fn eval_ids(s: &StateStore) -> Vec<String> {
    s.evals_from("").map(|e| e.id.to_string()).collect()
}

fn plan(r: &mut Random, s: &StateStore, n: u64) -> Option<Operation> {
    let eval_id = existing(r, eval_ids(s))?;
    let e = s.eval(&eval_id)?.clone();
    let job = s.state().job(&e.namespace, &e.job_id).cloned();
    let rollout = r.below(3) == 0 && job.is_some();
    let deployment = rollout.then(|| Deployment {
        id: format!("{}-{}", e.job_id, r.below(2)),
        namespace: "default".into(),
        job_id: e.job_id.to_string(),
        status: DeploymentStatus::Running,
        task_groups: [("g".to_string(), Some(DeploymentState { progress_deadline: 5, ..Default::default() }))].into(),
        ..Default::default()
    });
    let placements: Vec<_> = (0..r.below(3))
        .map(|i| {
            Arc::new(Allocation {
                id: format!("a{n}-{i}").into(),
                namespace: "default".into(),
                job_id: Text::from(&e.job_id),
                task_group: "g".into(),
                eval_id: Text::from(&eval_id),
                node_id: (*r.pick(&NODES).unwrap()).into(),
                deployment_id: deployment.as_ref().map(|d| Text::from(&d.id)).unwrap_or_default(),
                previous_allocation: existing(r, alloc_ids(s)).unwrap_or_default().into(),
                desired_status: DesiredStatus::Run,
                client_status: ClientStatus::Pending,
                ..Default::default()
            })
        })
        .collect();
    let stops = existing(r, alloc_ids(s)).map(|id| PlannedStop { id, ..Default::default() });
    Some(Operation::PlanResults(Box::new(PlanResults {
        eval_id,
        job,
        placements,
        deployment,
        stops: stops.into_iter().collect(),
        now: n as i64,
        ..Default::default()
    })))
}

fn variable(r: &mut Random, s: &StateStore, n: u64) -> VariableWrite {
    let key = ((*r.pick(&["default", "apps"]).unwrap()).to_string(), (*r.pick(&PATHS).unwrap()).to_string());
    let stored = s.variable(&key.0, &key.1).cloned();
    let held = stored.as_ref().and_then(|v| v.lock.as_ref()).map(|l| l.id.clone());
    let data = Bytes(n.to_be_bytes().to_vec());
    let sealed = Sealed { key_id: (*r.pick(&KEYS).unwrap()).into(), data };
    let lock_id = if r.below(3) == 0 { format!("l{}", r.below(2)) } else { held.unwrap_or_default() };
    let change = match r.below(5) {
        0 | 1 => VariableChange::Set(sealed),
        2 => VariableChange::Delete,
        3 => VariableChange::Acquire(sealed, VariableLock { id: lock_id.clone(), ttl: SECOND, lock_delay: 0 }),
        _ => VariableChange::Release,
    };
    let cas = [None, Some(0), stored.map(|v| v.modify_index)][r.below(3) as usize];
    VariableWrite { key, change, cas, lock_id, now: n as i64 }
}

fn operation(r: &mut Random, s: &StateStore, n: u64) -> Option<Operation> {
    let id = *r.pick(&JOBS).unwrap();
    let key = JobKey::new("default", id);
    Some(match r.below(28) {
        0 | 1 => {
            let submission = (r.below(2) == 0).then(|| JobSubmission { source: n.to_string(), ..Default::default() });
            let eval = (r.below(2) == 0).then(|| Evaluation { job_id: id.into(), ..eval(r, format!("e{n}")) });
            let r = JobRegister { job: Arc::new(job(r, id)), eval, submission, enforce_index: None, now: n as i64 };
            Operation::JobRegister(Box::new(r))
        }
        2 => Operation::JobDeregister(Box::new(JobDeregister {
            job: key,
            purge: r.below(3) == 0,
            no_shutdown_delay: r.below(2) == 0,
            eval: None,
            submit_time: n as i64,
        })),
        3 => {
            let id = *r.pick(&NODES).unwrap();
            let node = Node {
                id: id.into(),
                status: NodeStatus::Ready,
                node_pool: format!("p{}", r.below(3)),
                ..Default::default()
            };
            Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: r.below(2) == 0, now: n as i64 }))
        }
        4 => Operation::NodeDeregister { ids: vec![(*r.pick(&NODES).unwrap()).into()] },
        5 => {
            let id = format!("e{}", r.below(20));
            Operation::EvalUpdate { evals: vec![eval(r, id)] }
        }
        6 => Operation::EvalDelete {
            evals: existing(r, eval_ids(s)).into_iter().collect(),
            allocs: existing(r, alloc_ids(s)).into_iter().collect(),
        },
        7 | 8 => plan(r, s, n)?,
        9..=11 => {
            let status = &ClientStatus::ALL[1..];
            let healthy = [None, Some(true), Some(false)][r.below(3) as usize];
            let health =
                AllocDeploymentStatus { healthy, timestamp: Time::from_unix_nanos(n as i64), ..Default::default() };
            let update = Allocation {
                id: existing(r, alloc_ids(s))?.into(),
                client_status: r.pick(status).unwrap().clone(),
                deployment_status: Some(Box::new(health)),
                ..Default::default()
            };
            Operation::AllocClientUpdate { allocs: vec![Arc::new(update)], evals: vec![], now: n as i64 }
        }
        12 => {
            let migrate = DesiredTransition { migrate: Some(true), ..Default::default() };
            Operation::AllocTransition { transitions: [(existing(r, alloc_ids(s))?, migrate)].into(), evals: vec![] }
        }
        13 => Operation::JobStability { job: key, version: r.below(4), stable: r.below(2) == 0 },
        14 => {
            let tag = (r.below(2) == 0).then(|| (r.below(4), JobVersionTag { name: "t".into(), ..Default::default() }));
            Operation::JobVersionTag { job: key, name: "t".into(), tag }
        }
        15 => {
            let meta = RootKey {
                key_id: format!("k{}", r.below(4)),
                state: r.pick(RootKeyState::ALL).unwrap().clone(),
                create_time: n as i64,
                ..Default::default()
            };
            let key = WrappedRootKey { meta, kek: vec![n as u8].into(), ..Default::default() };
            Operation::RootKeyUpsert { key: Arc::new(key), rekey: r.below(3) == 0 }
        }
        16 => Operation::RootKeyDelete { id: format!("k{}", r.below(4)), force: r.below(2) == 0 },
        17..=19 => Operation::Variable(Box::new(variable(r, s, n))),
        20..=25 => Operation::Acl(Box::new(acl(r, n))),
        26 => {
            let unknown = std::iter::once("e-missing".to_string());
            let evals = existing(r, eval_ids(s)).into_iter().chain(unknown).collect();
            Operation::EvalCancel { evals, now: n as i64 }
        }
        _ => Operation::ScalingEvent {
            job: key,
            group: "g".into(),
            event: ScalingEvent { time: n as i64, ..Default::default() },
        },
    })
}

/// A change of ACL objects.
fn acl(r: &mut Random, n: u64) -> AclChange {
    let mut name = || (*r.pick(&NAMES).unwrap()).to_string();
    let (id, other, third) = (name(), name(), name());
    let (time, expires) = (Time::from_unix_nanos(n as i64), Time::from_unix_nanos((n + r.below(9)) as i64));
    let yes = r.below(2) == 0;
    match r.below(14) {
        0 => AclChange::PolicyUpsert(vec![AclPolicy {
            name: id,
            job_acl: yes.then(|| JobAcl { namespace: "default".into(), ..Default::default() }),
            ..Default::default()
        }]),
        1 => AclChange::PolicyDelete(vec![id]),
        2 | 3 => AclChange::TokenUpsert(vec![AclToken {
            accessor_id: id,
            secret_id: other.into(),
            global: yes,
            roles: if r.below(2) == 0 { vec![] } else { vec![AclTokenRoleLink { id: third, ..Default::default() }] },
            expiration_time: (r.below(3) > 0).then_some(expires),
            ..Default::default()
        }]),
        4 => AclChange::TokenDelete(vec![id]),
        5 => AclChange::RoleUpsert(vec![AclRole {
            id,
            name: other,
            policies: vec![AclRolePolicyLink { name: third }],
            ..Default::default()
        }]),
        6 => AclChange::RoleDelete(vec![id]),
        7 => AclChange::AuthMethodUpsert(vec![AclAuthMethod {
            name: id,
            default: yes,
            create_time: time,
            ..Default::default()
        }]),
        8 => AclChange::AuthMethodDelete(vec![id]),
        9 => AclChange::BindingRuleUpsert(vec![AclBindingRule {
            id,
            auth_method: other,
            create_time: time,
            ..Default::default()
        }]),
        10 => AclChange::BindingRuleDelete(vec![id]),
        11 => AclChange::OneTimeUpsert(OneTimeToken {
            one_time_secret_id: id.clone().into(),
            accessor_id: id,
            expires_at: expires,
            ..Default::default()
        }),
        12 => AclChange::OneTimeDelete(id, n.saturating_sub(r.below(9))),
        _ => AclChange::OneTimeExpire(n as i64),
    }
}

/// Fails with the first difference.
fn same(got: &str, want: &str, what: &str) {
    let differs = got.lines().zip(want.lines()).find(|(a, b)| a != b);
    assert!(differs.is_none(), "{what}: {differs:?}");
    assert_eq!(got.lines().count(), want.lines().count(), "{what}");
}

/// A store built from the rows of another one, in a different order.
fn rebuilt(s: &StateStore) -> StateStore {
    let mut out = StateStore::default();
    let mut allocs: Vec<_> = s.allocs_by_create().rev().map(|a| a.alloc.clone()).collect();
    allocs.drain(..).for_each(|a| out.put_allocs(vec![a]));
    s.state().nodes().for_each(|n| out.put_node(n.node.clone()));
    for entry in s.state().jobs() {
        entry.versions.values().rev().for_each(|j| out.put_job(j.clone()));
    }
    s.evals_by_create().rev().for_each(|e| out.put_eval(e.clone()));
    s.deployments_by_create().rev().for_each(|d| out.put_deployment(d.clone()));
    s.summaries().for_each(|x| out.put_summary(x.clone()));
    s.all_submissions().for_each(|x| out.put_submission(x.clone()));
    s.launches().for_each(|x| out.put_launch(x.clone()));
    s.scaling_policies().for_each(|x| out.put_scaling_policy(x.clone()));
    s.all_scaling_events().for_each(|x| out.put_scaling_events(x.clone()));
    s.root_keys().for_each(|x| out.put_root_key(x.clone()));
    s.variables().for_each(|x| out.put_variable(x.clone()));
    s.acl_tokens_by_create().rev().for_each(|x| out.put_acl_token(x.clone()));
    s.acl_policies().for_each(|x| out.put_acl_policy(x.clone()));
    s.acl_roles().for_each(|x| out.put_acl_role(x.clone()));
    s.acl_auth_methods().for_each(|x| out.put_acl_auth_method(x.clone()));
    s.acl_binding_rules().for_each(|x| out.put_acl_binding_rule(x.clone()));
    s.one_time_tokens().for_each(|x| out.put_one_time_token(x.clone()));
    s.state().namespaces().for_each(|x| out.put_namespace(x.clone()));
    s.state().node_pools().for_each(|x| out.put_node_pool(x.clone()));
    Table::ALL.into_iter().for_each(|t| out.set_index(t, s.index_of(t)));
    out.settle_index();
    out
}

/// No counter that only grows is negative, and all live allocations are counted.
fn counts_hold(s: &StateStore) {
    for summary in s.summaries() {
        let Some(job) = s.state().job(&summary.namespace, &summary.job_id) else { continue };
        let mut live: BTreeMap<&ClientStatus, i64> = BTreeMap::new();
        let allocs = s.state().allocs_of_job(&summary.namespace, &summary.job_id);
        for a in allocs.iter().filter(|a| a.alloc.job.as_ref().is_some_and(|j| j.create_index == job.create_index)) {
            *live.entry(&a.alloc.client_status).or_default() += 1;
        }
        let group = summary.summary.get("g").cloned().unwrap_or_default();
        let of = |status| live.get(&status).copied().unwrap_or(0);
        for (name, counted, least) in [
            ("running", group.running, of(ClientStatus::Running)),
            ("starting", group.starting, of(ClientStatus::Pending)),
            ("lost", group.lost, of(ClientStatus::Lost)),
            ("unknown", group.unknown, of(ClientStatus::Unknown)),
        ] {
            assert!(counted >= least, "{name} of {}: {counted} counted, {least} there", summary.job_id);
        }
    }
    assert!(s.root_keys().filter(|k| k.meta.state == RootKeyState::Active).count() <= 1);
    for d in s.deployments_by_create() {
        let g = d.task_groups.get("g").cloned().flatten().unwrap_or_default();
        // An allocation that becomes healthy again is not counted, but one that becomes unhealthy again is: the healthy
        // counter may be negative (`docs/spec/server.md §13.5`).
        assert!(g.placed_allocs >= 0 && g.unhealthy_allocs >= 0, "{d:?}");
    }
}

#[test]
fn the_store_does_not_depend_on_its_history() {
    for seed in 0..60 {
        let mut r = Random::new(seed, "store");
        let mut s = StateStore::new();
        for n in 2..80 {
            let Some(op) = operation(&mut r, &s, n) else { continue };
            let before = dump(&s);
            let applied = apply(&mut s, n, &op, Limits { tracked_versions: 3 });
            match applied.reply {
                Reply::Refused(_)
                | Reply::Variable(
                    VariableReply::Conflict(_)
                    | VariableReply::Locked
                    | VariableReply::NotLocked
                    | VariableReply::Missing,
                ) => same(&dump(&s), &before, &format!("seed {seed}: refused {op:?}")),
                _ => assert!(s.latest_index() <= n, "seed {seed}"),
            }
        }
        let whole = dump(&s);
        let mut file = Vec::new();
        persist::write(&s, &mut file).unwrap();
        let read = persist::read(&mut file.as_slice()).unwrap();
        same(&dump(&read), &whole, &format!("seed {seed}: written and read"));
        same(&dump(&rebuilt(&s)), &whole, &format!("seed {seed}: rebuilt from its rows"));
        counts_hold(&s);
    }
}

#[test]
fn damaged_snapshots_are_refused() {
    let mut s = StateStore::new();
    let mut r = Random::new(1, "store");
    for n in 2..40 {
        if let Some(op) = operation(&mut r, &s, n) {
            apply(&mut s, n, &op, Limits::default());
        }
    }
    let mut file = Vec::new();
    persist::write(&s, &mut file).unwrap();
    for cut in [0, 1, file.len() / 2, file.len() - 1] {
        assert!(persist::read(&mut &file[..cut]).is_err(), "cut at {cut}");
    }
}
