//! Binding rules.

use std::sync::Arc;

use serde_json::json;

use super::*;

fn method() -> AclAuthMethod {
    let config = AclAuthMethodConfig {
        claim_mappings: BTreeMap::from([("email".into(), "email".into()), ("/a/b".into(), "deep".into())]),
        list_claim_mappings: BTreeMap::from([("groups".into(), "groups".into())]),
        ..Default::default()
    };
    AclAuthMethod {
        name: "jwt".into(),
        r#type: AuthMethodType::Jwt,
        max_token_ttl: HOUR,
        token_locality: TokenLocality::Local,
        token_name_format: "${auth_method_type}-${value.email}".into(),
        config: Some(config),
        ..Default::default()
    }
}

fn claims() -> Value {
    json!({"email": "a@example.test", "groups": ["ops", "dev"], "a": {"b": 7}})
}

#[test]
fn rules_give_roles_and_policies() {
    let mut store = StateStore::new();
    let (method, config) = (method(), method().config.expect("a config"));
    let policy = |name: &str| Arc::new(AclPolicy { name: name.into(), ..Default::default() });
    store.put_acl_policy(policy("dev"));
    store.put_acl_policy(policy("team-a@example.test"));
    store.put_acl_role(Arc::new(AclRole { id: "r1".into(), name: "ops".into(), ..Default::default() }));
    let identity = Identity::of(&claims(), &config);
    assert_eq!(identity.value["deep"], "7");
    let mut put = |id: &str, r#type: BindType, name: &str, selector: &str| {
        store.put_acl_binding_rule(Arc::new(AclBindingRule {
            id: id.into(),
            auth_method: "jwt".into(),
            bind_type: r#type,
            bind_name: name.into(),
            selector: selector.into(),
            ..Default::default()
        }));
    };
    put("1", BindType::Policy, "dev", "\"dev\" in list.groups");
    put("2", BindType::Policy, "gone", "");
    put("3", BindType::Role, "ops", "value.email == \"a@example.test\"");
    put("4", BindType::Policy, "dev", "value.email == \"b@example.test\"");
    put("5", BindType::Policy, "${value.missing}", "");
    put("6", BindType::Policy, "team-${value.email}", "");
    put("7", BindType::Management, "", "\"admins\" in list.groups");
    put("8", BindType::Management, "", "value.nothing == \"x\"");
    let token = bindings(&store, &method, &identity).expect("a token");
    assert_eq!((token.policies, token.roles.len()), (vec!["dev".to_string(), "team-a@example.test".into()], 1));
    assert_eq!((token.name.as_str(), token.expiration_ttl, token.global), ("JWT-a@example.test", HOUR, false));
    let nobody = bindings(&store, &AclAuthMethod { name: "other".into(), ..method.clone() }, &identity);
    assert_eq!(nobody.map_err(|e| e.message), Err("no role or policy bindings matched".into()));
    let mut admin = identity;
    admin.list.insert("groups".into(), vec!["admins".into()]);
    let token = bindings(&store, &method, &admin).expect("a token");
    assert!(token.r#type == AclTokenType::Management && token.roles.is_empty());
}
