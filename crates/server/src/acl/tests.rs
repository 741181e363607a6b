//! Tests of resolution. Decisions are tested in `encamp_acl`.

use std::sync::Arc;

use encamp_acl::{Capability, Need, Workload};
use encamp_model::*;
use encamp_state::{StateStore, Table};

use super::{Caller, Denied, Resolver};
use crate::keyring::Keyring;

const SECRET: &str = "5d3e5a0e-1111-4222-8333-444455556666";
const NOW: i64 = 1_795_243_431 * SECOND;

fn policy(name: &str, rules: &str, index: u64) -> Arc<AclPolicy> {
    Arc::new(AclPolicy { name: name.into(), rules: rules.into(), modify_index: index, ..Default::default() })
}

fn store() -> StateStore {
    let mut store = StateStore::new();
    store.put_acl_policy(policy("reader", r#"namespace "default" { policy = "read" }"#, 5));
    store.put_acl_policy(policy("writer", r#"namespace "default" { policy = "write" }"#, 6));
    store.set_index(Table::AclPolicy, 6);
    let role = AclRole {
        id: "r1".into(),
        name: "writers".into(),
        policies: vec![AclRolePolicyLink { name: "writer".into() }],
        ..Default::default()
    };
    store.put_acl_role(Arc::new(role));
    store.set_index(Table::AclRoles, 7);
    put_token(&mut store, "client", &["reader", "gone"], &[], None);
    store
}

fn put_token(store: &mut StateStore, r#type: &str, policies: &[&str], roles: &[&str], expires: Option<i64>) {
    let index = store.index_of(Table::AclToken) + 1;
    let token = AclToken {
        accessor_id: "a1".into(),
        secret_id: SECRET.to_string().into(),
        r#type: r#type.into(),
        policies: policies.iter().map(|p| (*p).to_string()).collect(),
        roles: roles.iter().map(|id| AclTokenRoleLink { id: (*id).into(), name: String::new() }).collect(),
        expiration_time: expires.map(Time::from_unix_nanos),
        modify_index: index,
        ..Default::default()
    };
    store.put_acl_token(Arc::new(token));
    store.set_index(Table::AclToken, index);
}

fn may(resolver: &Resolver, store: &StateStore, secret: &str, capability: Capability) -> Result<bool, Denied> {
    let access = resolver.resolve(store, &Keyring::default(), secret, NOW)?;
    Ok(access.allows(&Need::Namespace("default", &[capability])))
}

#[test]
fn changes_count_at_once() {
    let (resolver, mut store) = (Resolver::default(), store());
    for _ in 0..2 {
        assert_eq!(may(&resolver, &store, SECRET, Capability::ReadJob), Ok(true));
        assert_eq!(may(&resolver, &store, SECRET, Capability::SubmitJob), Ok(false));
    }
    // A role.
    put_token(&mut store, "client", &["reader"], &["r1", "gone"], None);
    assert_eq!(may(&resolver, &store, SECRET, Capability::SubmitJob), Ok(true));
    // The policy of the role.
    store.put_acl_policy(policy("writer", r#"namespace "default" { policy = "deny" }"#, 9));
    store.set_index(Table::AclPolicy, 9);
    assert_eq!(may(&resolver, &store, SECRET, Capability::ReadJob), Ok(false), "deny wins");
    // Policies that are gone are skipped.
    store.remove_acl_policy("writer");
    store.set_index(Table::AclPolicy, 10);
    assert_eq!(may(&resolver, &store, SECRET, Capability::ReadJob), Ok(true));
    store.remove_acl_policy("reader");
    store.set_index(Table::AclPolicy, 11);
    assert_eq!(may(&resolver, &store, SECRET, Capability::ReadJob), Ok(false));
    // Another type.
    put_token(&mut store, "management", &[], &[], None);
    assert_eq!(may(&resolver, &store, SECRET, Capability::SubmitJob), Ok(true));
    store.remove_acl_token("a1");
    assert_eq!(may(&resolver, &store, SECRET, Capability::ReadJob), Err(Denied::Unknown));
}

#[test]
fn tokens_expire_after_their_time() {
    let (resolver, mut store) = (Resolver::default(), store());
    for (expires, want) in [(NOW + 1, Ok(true)), (NOW, Ok(true)), (NOW - 1, Err(Denied::Expired))] {
        put_token(&mut store, "client", &["reader"], &[], Some(expires));
        assert_eq!(may(&resolver, &store, SECRET, Capability::ReadJob), want, "{expires}");
    }
}

#[test]
fn other_secrets() {
    let (resolver, mut store) = (Resolver::default(), store());
    assert_eq!(may(&resolver, &store, "", Capability::ReadJob), Ok(false), "there is no anonymous policy");
    store.put_acl_policy(policy("anonymous", r#"namespace "default" { policy = "read" }"#, 12));
    store.set_index(Table::AclPolicy, 12);
    assert_eq!(may(&resolver, &store, "", Capability::ReadJob), Ok(true));
    for (secret, want) in [
        ("5d3e5a0e-1111-4222-8333-444455556667", Denied::Unknown),
        ("5D3E5A0E-1111-4222-8333-444455556666", Denied::Unknown),
        ("a1", Denied::Malformed),
        ("5d3e5a0e-1111-4222-8333-44445555666", Denied::Malformed),
        ("x.y.z", Denied::Malformed),
        ("eyJhbGciOiJub25lIn0.e30.", Denied::Malformed),
    ] {
        assert_eq!(may(&resolver, &store, secret, Capability::ReadJob), Err(want), "{secret}");
    }
    let access = resolver.resolve(&store, &Keyring::default(), SECRET, NOW).expect("the token");
    assert!(matches!(access.caller(), Caller::Token(t) if t.accessor_id == "a1"));
    assert_eq!(access.caller().name(), "token:a1");
}

#[test]
fn policies_of_a_job_do_not_reach_jobs_whose_names_begin_alike() {
    let mut store = store();
    let put = |store: &mut StateStore, name: &str, of: [&str; 4]| {
        let [namespace, job_id, group, task] = of.map(String::from);
        let job_acl = Some(JobAcl { namespace, job_id, group, task });
        let rules = r#"namespace "default" { policy = "write" }"#.into();
        store.put_acl_policy(Arc::new(AclPolicy { name: name.into(), rules, job_acl, ..Default::default() }));
    };
    put(&mut store, "of-job", ["default", "app", "", ""]);
    put(&mut store, "of-group", ["default", "app", "web", ""]);
    put(&mut store, "of-task", ["default", "app", "web", "main"]);
    put(&mut store, "elsewhere", ["default-2", "app", "", ""]);
    let policies = |namespace: &str, job: &str, group: &str, task: &str| {
        let [namespace, job, group, task] = [namespace, job, group, task].map(String::from);
        let of = super::resolve::policies_of_workload(&store, &Workload { namespace, job, group, task });
        of.iter().map(|p| p.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(policies("default", "app", "web", "main"), ["of-group", "of-job", "of-task"]);
    assert_eq!(policies("default", "app", "web", "main-2"), ["of-group", "of-job"]);
    assert_eq!(policies("default", "app", "web-2", "main"), ["of-job"]);
    assert_eq!(policies("default", "app", "we", "main"), ["of-job"]);
    assert_eq!(policies("default-2", "app", "web", "main"), ["elsewhere"]);
    for (namespace, job) in [("default", "app-2"), ("default", "ap"), ("default", ""), ("default-", "app"), ("", "app")]
    {
        assert_eq!(policies(namespace, job, "web", "main"), Vec::<String>::new(), "{namespace} {job}");
    }
}
