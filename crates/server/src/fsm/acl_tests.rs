//! What operations about ACL objects do, and what they refuse because of another one that came first.

use super::*;
use crate::storage::events::{Events, Payload};
use encamp_model::*;
use encamp_ops::AclChange;
use encamp_state::Table;

fn run(store: &mut StateStore, index: u64, change: AclChange) -> Result<Applied, Refusal> {
    let applied = apply(store, index, &Operation::Acl(Box::new(change)), Limits::default());
    match applied.reply {
        Reply::Refused(refusal) => Err(refusal),
        _ => Ok(applied),
    }
}

/// The text of a refusal; empty if there was none.
fn text(result: Result<Applied, Refusal>) -> String {
    result.err().map(|e| e.to_string()).unwrap_or_default()
}

fn token(accessor: &str, secret: &str) -> AclToken {
    AclToken {
        accessor_id: accessor.into(),
        secret_id: secret.into(),
        r#type: AclTokenType::Management,
        ..Default::default()
    }
}

fn bootstrap(accessor: &str, reset_index: u64) -> AclChange {
    AclChange::Bootstrap { token: token(accessor, &format!("secret of {accessor}")), reset_index }
}

fn policies(names: &[&str]) -> AclChange {
    AclChange::PolicyUpsert(names.iter().map(|n| AclPolicy { name: (*n).into(), ..Default::default() }).collect())
}

fn role(id: &str, name: &str, policy: &str) -> AclChange {
    let policies = vec![AclRolePolicyLink { name: policy.into() }];
    AclChange::RoleUpsert(vec![AclRole { id: id.into(), name: name.into(), policies, ..Default::default() }])
}

fn method(name: &str, r#type: AuthMethodType, default: bool) -> AclChange {
    AclChange::AuthMethodUpsert(vec![AclAuthMethod { name: name.into(), r#type, default, ..Default::default() }])
}

fn rule(id: &str, auth_method: &str) -> AclChange {
    let rule = AclBindingRule { id: id.into(), auth_method: auth_method.into(), ..Default::default() };
    AclChange::BindingRuleUpsert(vec![rule])
}

fn once(accessor: &str, secret: &str, expires: i64) -> AclChange {
    AclChange::OneTimeUpsert(OneTimeToken {
        one_time_secret_id: secret.into(),
        accessor_id: accessor.into(),
        expires_at: Time::from_unix_nanos(expires),
        ..Default::default()
    })
}

#[test]
fn bootstrap_happens_once_and_again_with_the_reset_index() {
    let mut store = StateStore::new();
    assert_eq!(store.acl_bootstrap_index(), None);
    run(&mut store, 11, bootstrap("a", 0)).unwrap();
    assert_eq!(store.acl_bootstrap_index(), Some(11));
    for reset in [0, 3] {
        let refused = run(&mut store, 12, bootstrap("b", reset));
        assert_eq!(text(refused), "ACL bootstrap already done (reset index: 11)");
    }
    assert_eq!((store.acl_tokens().count(), store.acl_bootstrap_index()), (1, Some(11)));
    run(&mut store, 13, bootstrap("b", 11)).unwrap();
    assert_eq!((store.acl_tokens().count(), store.acl_bootstrap_index()), (2, Some(13)), "the old token stays");
    // Of two resets with the same file, one wins.
    assert_eq!(text(run(&mut store, 14, bootstrap("c", 11))), "ACL bootstrap already done (reset index: 13)");
}

#[test]
fn what_another_write_made_impossible_is_refused() {
    let mut s = StateStore::new();
    run(&mut s, 10, policies(&["dev"])).unwrap();
    run(&mut s, 11, role("r1", "developers", "dev")).unwrap();
    assert_eq!(text(run(&mut s, 12, role("r2", "developers", "dev"))), "role with name developers already exists");
    assert_eq!(text(run(&mut s, 12, role("r2", "others", "nope"))), "cannot find policy nope");
    run(&mut s, 12, role("r1", "renamed", "dev")).unwrap();
    run(&mut s, 13, role("r2", "developers", "dev")).unwrap();
    assert_eq!(s.acl_role_by_name("developers").map(|r| r.id.as_str()), Some("r2"));

    run(&mut s, 20, AclChange::TokenUpsert(vec![token("t1", "secret")])).unwrap();
    let same = AclChange::TokenUpsert(vec![token("t2", "secret")]);
    assert_eq!(text(run(&mut s, 21, same)), "another token has this secret");
    let roles = vec![AclTokenRoleLink { id: "gone".into(), ..Default::default() }];
    let with_role = AclToken { roles, ..token("t3", "other") };
    assert_eq!(text(run(&mut s, 21, AclChange::TokenUpsert(vec![with_role]))), "cannot find role gone");
    // One accessor that is gone, and none is removed.
    let both = AclChange::TokenDelete(vec!["t1".into(), "t2".into()]);
    assert_eq!(text(run(&mut s, 21, both)), "Cannot delete nonexistent tokens: t2");
    assert!(s.acl_token("t1").is_some());

    run(&mut s, 30, method("one", AuthMethodType::Jwt, true)).unwrap();
    let second = run(&mut s, 31, method("two", AuthMethodType::Jwt, true));
    assert_eq!(text(second), "default method for type JWT already exists: one");
    run(&mut s, 31, method("two", AuthMethodType::Jwt, false)).unwrap();
    run(&mut s, 32, method("sso", AuthMethodType::Oidc, true)).unwrap();
    run(&mut s, 33, method("one", AuthMethodType::Jwt, true)).unwrap();

    assert_eq!(text(run(&mut s, 34, rule("x", "nope"))), "ACL auth method nope not found");
    run(&mut s, 34, rule("x", "one")).unwrap();
    run(&mut s, 35, rule("y", "two")).unwrap();
    run(&mut s, 36, AclChange::AuthMethodDelete(vec!["one".into()])).unwrap();
    assert_eq!(s.acl_binding_rules().map(|r| r.id.as_str()).collect::<Vec<_>>(), ["y"]);
    let gone = AclChange::AuthMethodDelete(vec!["one".into()]);
    assert_eq!(text(run(&mut s, 37, gone)), "ACL auth method one not found");
}

#[test]
fn writes_keep_when_objects_were_created() {
    let mut s = StateStore::new();
    run(&mut s, 10, policies(&["dev"])).unwrap();
    run(&mut s, 15, policies(&["dev"])).unwrap();
    let policy = s.acl_policy("dev").unwrap();
    assert_eq!((policy.create_index, policy.modify_index), (10, 15));
    // Removing what is not there writes the table, as the reference does.
    run(&mut s, 16, AclChange::PolicyDelete(vec!["nope".into()])).unwrap();
    assert_eq!(s.index_of(Table::AclPolicy), 16);

    let at = |create: i64| AclAuthMethod {
        name: "m".into(),
        create_time: Time::from_unix_nanos(create),
        modify_time: Time::from_unix_nanos(create),
        ..Default::default()
    };
    run(&mut s, 20, AclChange::AuthMethodUpsert(vec![at(1)])).unwrap();
    run(&mut s, 21, AclChange::AuthMethodUpsert(vec![at(2)])).unwrap();
    let method = s.acl_auth_method("m").unwrap();
    assert_eq!((method.create_time, method.modify_time), (Time::from_unix_nanos(1), Time::from_unix_nanos(2)));
    assert_eq!((method.create_index, method.modify_index), (20, 21));
}

#[test]
fn one_time_tokens_are_used_once() {
    let mut s = StateStore::new();
    run(&mut s, 10, once("a", "first", 100)).unwrap();
    run(&mut s, 11, once("a", "second", 100)).unwrap();
    assert!(s.one_time_token_by_secret("first").is_none(), "one per token");
    assert!(s.one_time_token_by_secret("second").is_some());
    assert!(run(&mut s, 12, AclChange::OneTimeDelete("a".into(), 10)).is_err(), "the one before it");
    assert!(s.one_time_token_by_secret("second").is_some(), "a refused exchange changes nothing");
    run(&mut s, 12, AclChange::OneTimeDelete("a".into(), 11)).unwrap();
    assert!(run(&mut s, 13, AclChange::OneTimeDelete("a".into(), 11)).is_err());

    run(&mut s, 20, once("a", "a", 100)).unwrap();
    run(&mut s, 21, once("b", "b", 101)).unwrap();
    run(&mut s, 22, AclChange::OneTimeExpire(99)).unwrap();
    assert_eq!(s.index_of(Table::OneTimeToken), 21, "nothing expired, nothing written");
    run(&mut s, 23, AclChange::OneTimeExpire(100)).unwrap();
    assert_eq!(s.one_time_tokens().map(|t| t.accessor_id.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(s.index_of(Table::OneTimeToken), 23);
}

#[tokio::test]
async fn events_name_topic_key_and_type() {
    let (mut s, events) = (StateStore::new(), Arc::new(Events::new(100)));
    run(&mut s, 2, policies(&["dev"])).unwrap();
    let changes = [
        (bootstrap("boss", 0), "ACLTokenUpserted", "ACLToken", "boss"),
        (policies(&["dev"]), "ACLPolicyUpserted", "ACLPolicy", "dev"),
        (role("r", "developers", "dev"), "ACLRoleUpserted", "ACLRole", "r"),
        (method("sso", AuthMethodType::Oidc, true), "ACLAuthMethodUpserted", "ACLAuthMethod", "sso"),
        (rule("x", "sso"), "ACLBindingRuleUpserted", "ACLBindingRule", "x"),
        (AclChange::BindingRuleDelete(vec!["x".into()]), "ACLBindingRuleDeleted", "ACLBindingRule", "x"),
        (AclChange::AuthMethodDelete(vec!["sso".into()]), "ACLAuthMethodDeleted", "ACLAuthMethod", "sso"),
        (AclChange::RoleDelete(vec!["r".into()]), "ACLRoleDeleted", "ACLRole", "r"),
        (AclChange::PolicyDelete(vec!["dev".into()]), "ACLPolicyDeleted", "ACLPolicy", "dev"),
        (AclChange::TokenDelete(vec!["boss".into()]), "ACLTokenDeleted", "ACLToken", "boss"),
    ];
    for (index, (change, r#type, topic, key)) in (10..).zip(changes) {
        let event_type = change.event_type().unwrap();
        assert_eq!(event_type, r#type);
        let applied = run(&mut s, index, change).unwrap();
        events.publish(index, event_type, &applied.changes);
        let batch = events.subscribe(index).next().await.unwrap();
        let [event] = &*batch.events else { panic!("{topic}: {:?}", batch.events) };
        assert_eq!((batch.index, event.topic(), event.key(), event.namespace()), (index, topic, key, ""));
        if let Payload::AclToken(token) = &event.payload {
            let shown = serde_json::to_string(&**token).unwrap();
            assert!(shown.contains("\"SecretID\":\"\"") && !shown.contains("secret of"), "{shown}");
        }
    }
    assert_eq!(once("a", "s", 1).event_type(), None);
}
