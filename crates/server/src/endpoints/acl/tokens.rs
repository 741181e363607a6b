//! Tokens (`docs/spec/http-api.md §7.6`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{MOST_LINKS, commit, invalid, new_secret};
use crate::endpoints::LONGEST_OBJECT_NAME;
use crate::error::Error;
use crate::leading::Leading;
use crate::server_state::ServerState;
use crate::settings::AclSettings;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::AclChange;
use encamp_state::StateStore;

/// The longest name, in characters.
const LONGEST_NAME: usize = 256;

/// Writes a token: a new one, unless its accessor is known. Returns it with its secret, and the index.
///
/// # Errors
/// 400: a member is invalid, or there is no leader.
pub async fn upsert(server: &Leading, token: AclToken) -> Result<(Arc<AclToken>, u64), Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let (now, limits) = (ids::now(), server.settings().acl.clone());
    let token = prepare(&snapshot, token, now, &limits, (ids::uuid(), new_secret()?))?;
    let accessor = token.accessor_id.clone();
    let index = commit(server, AclChange::TokenUpsert(vec![token])).await?;
    Ok((stored(server, &accessor)?, index))
}

/// A token that was written.
///
/// # Errors
/// It is gone again.
pub(super) fn stored(server: &ServerState, accessor: &str) -> Result<Arc<AclToken>, Error> {
    let snapshot = server.snapshot();
    let token = snapshot.acl_token(accessor).ok_or_else(|| Error::bad(format!("cannot find token {accessor}")))?;
    Ok(shown(&snapshot, token))
}

/// A token as it is shown: with the names of its roles, and lists that are empty only where there can be something.
pub fn shown(store: &StateStore, token: &Arc<AclToken>) -> Arc<AclToken> {
    if token.roles.is_empty() {
        return token.clone();
    }
    let mut token = AclToken::clone(token);
    for link in &mut token.roles {
        link.name = store.acl_role(&link.id).map(|r| r.name.clone()).unwrap_or_default();
    }
    Arc::new(token)
}

/// A token as it goes to the log. `new`: accessor and secret of a token that is created.
fn prepare(
    store: &StateStore,
    mut token: AclToken,
    now: i64,
    limits: &AclSettings,
    new: (String, SecretString),
) -> Result<AclToken, Error> {
    let known = store.acl_token(&token.accessor_id).filter(|_| !token.accessor_id.is_empty()).cloned();
    let mut wrong = check(&token);
    match &known {
        Some(old) => {
            wrong.extend(check_unchanged(&token, old));
            token.secret_id = old.secret_id.clone();
            token.create_time = old.create_time;
        }
        None => {
            let given = ids::is_uuid(&token.accessor_id) && ids::is_uuid(token.secret_id.expose());
            if token.accessor_id.is_empty() {
                (token.accessor_id, token.secret_id) = new;
            } else if !given || token.r#type == AclTokenType::Management {
                return Err(Error::bad(format!("cannot find token {}", token.accessor_id)));
            }
            token.create_time = Time::from_unix_nanos(now);
            wrong.extend(set_expiry(&mut token, now, limits));
        }
    }
    if !wrong.is_empty() {
        return Err(invalid("token", &wrong));
    }
    let mut seen = BTreeSet::new();
    token.policies.retain(|name| seen.insert(name.clone()));
    token.roles = roles(store, &token.roles)?;
    token.hash = Some(token.compute_hash());
    Ok(token)
}

/// Checks what holds for new and for changed tokens.
fn check(token: &AclToken) -> Vec<String> {
    let mut wrong: Vec<String> = Vec::new();
    let links = !token.policies.is_empty() || !token.roles.is_empty();
    match (&token.r#type, links) {
        (AclTokenType::Client, false) => wrong.push("client token missing policies or roles".into()),
        (AclTokenType::Management, true) => {
            wrong.push("management token cannot be associated with policies or roles".into());
        }
        (AclTokenType::Client, true) | (AclTokenType::Management, false) => {}
        (AclTokenType::Unset | AclTokenType::Other(_), _) => {
            wrong.push("token type must be client or management".into());
        }
    }
    if token.policies.len() > MOST_LINKS || token.roles.len() > MOST_LINKS {
        wrong.push(format!("a token has at most {MOST_LINKS} policies and {MOST_LINKS} roles"));
    }
    if token.policies.iter().any(|name| name.len() > LONGEST_OBJECT_NAME) {
        wrong.push(format!("the name of a policy is longer than {LONGEST_OBJECT_NAME}"));
    }
    if token.name.chars().count() > LONGEST_NAME {
        wrong.push("token name too long".into());
    }
    wrong
}

/// What an update must leave alone.
fn check_unchanged(token: &AclToken, old: &AclToken) -> Option<String> {
    let text = if token.global != old.global {
        "cannot toggle global mode"
    } else if token.expiration_ttl != old.expiration_ttl {
        "cannot update expiration TTL"
    } else if token.expiration_time != old.expiration_time {
        "cannot update expiration time"
    } else {
        return None;
    };
    Some(text.into())
}

/// Sets the time at which a new token expires, within the limits.
fn set_expiry(token: &mut AclToken, now: i64, limits: &AclSettings) -> Option<String> {
    if token.expiration_ttl < 0 {
        return Some(format!(
            "token expiration TTL '{}' should not be negative",
            format_duration(token.expiration_ttl)
        ));
    }
    if token.expiration_ttl > 0 {
        token.expiration_time = Some(Time::from_unix_nanos(now.saturating_add(token.expiration_ttl)));
    }
    let at = token.expiration_time.filter(|t| !t.is_zero())?;
    let left = at.unix_nanos()?.saturating_sub(now);
    let (relation, limit) = if left < limits.min_ttl {
        ("less", limits.min_ttl)
    } else if left > limits.max_ttl {
        ("more", limits.max_ttl)
    } else {
        return None;
    };
    let (limit, left) = (format_duration(limit), format_duration(left));
    Some(format!("expiration time cannot be {relation} than {limit} in the future (was {left})"))
}

/// The roles of a token by ID; users also name them.
fn roles(store: &StateStore, links: &[AclTokenRoleLink]) -> Result<Vec<AclTokenRoleLink>, Error> {
    let mut out: Vec<AclTokenRoleLink> = Vec::new();
    for link in links {
        let role = match link.id.as_str() {
            "" => store.acl_role_by_name(&link.name),
            id => store.acl_role(id),
        };
        let given = if link.id.is_empty() { &link.name } else { &link.id };
        let role = role.ok_or_else(|| Error::bad(format!("cannot find role {given}")))?;
        if !out.iter().any(|l| l.id == role.id) {
            out.push(AclTokenRoleLink { id: role.id.clone(), name: String::new() });
        }
    }
    Ok(out)
}

/// Removes a token. Returns the index.
///
/// # Errors
/// 400: the token does not exist, or there is no leader.
pub async fn delete(server: &Leading, accessor: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    commit(server, AclChange::TokenDelete(vec![accessor.into()])).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_243_431 * SECOND;
    const UUIDS: [&str; 2] = ["11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"];

    fn prepared(store: &StateStore, token: AclToken) -> Result<AclToken, String> {
        let new = ("a".to_string(), SecretString::new("s"));
        prepare(store, token, NOW, &AclSettings::default(), new).map_err(|e| e.message)
    }

    fn client() -> AclToken {
        AclToken { r#type: AclTokenType::Client, policies: vec!["dev".into()], ..Default::default() }
    }

    #[test]
    fn rules_of_new_tokens() {
        let store = StateStore::new();
        let text = |wrong: &str| Err(format!("token 0 invalid: 1 error occurred:\n\t* {wrong}\n\n"));
        let checked = |token| prepared(&store, token).map(|_| ());
        for (token, wrong) in [
            (AclToken { r#type: "zz".into(), ..client() }, "token type must be client or management"),
            (AclToken { policies: vec![], ..client() }, "client token missing policies or roles"),
            (
                AclToken { r#type: AclTokenType::Management, ..client() },
                "management token cannot be associated with policies or roles",
            ),
            (AclToken { name: "x".repeat(257), ..client() }, "token name too long"),
            (
                AclToken { policies: vec!["dev".into(); MOST_LINKS + 1], ..client() },
                "a token has at most 1000 policies and 1000 roles",
            ),
            (AclToken { policies: vec!["x".repeat(129)], ..client() }, "the name of a policy is longer than 128"),
            (
                AclToken { expiration_ttl: SECOND, ..client() },
                "expiration time cannot be less than 1m0s in the future (was 1s)",
            ),
            (
                AclToken { expiration_ttl: 100 * HOUR, ..client() },
                "expiration time cannot be more than 24h0m0s in the future (was 100h0m0s)",
            ),
            (AclToken { expiration_ttl: -SECOND, ..client() }, "token expiration TTL '-1s' should not be negative"),
        ] {
            assert_eq!(checked(token), text(wrong));
        }
        let made = prepared(&store, AclToken { expiration_ttl: HOUR, ..client() }).expect("a token");
        assert_eq!(made.expiration_time, Some(Time::from_unix_nanos(NOW + HOUR)));
        assert_eq!((made.accessor_id.as_str(), made.secret_id.expose()), ("a", "s"));
        let twice = AclToken { policies: ["b", "a", "b"].map(String::from).into(), ..client() };
        assert_eq!(prepared(&store, twice).expect("a token").policies, ["b", "a"]);
        let nope = AclTokenRoleLink { id: String::new(), name: "nope".into() };
        assert_eq!(checked(AclToken { roles: vec![nope], ..client() }), Err("cannot find role nope".into()));
    }

    #[test]
    fn given_ids_and_updates() {
        let mut store = StateStore::new();
        let given = |accessor: &str, secret: &str| AclToken {
            accessor_id: accessor.into(),
            secret_id: SecretString::new(secret),
            ..client()
        };
        let unknown = Err(format!("cannot find token {}", UUIDS[0]));
        assert_eq!(prepared(&store, given(UUIDS[0], "")).map(|_| ()), unknown);
        assert_eq!(prepared(&store, given(UUIDS[0], "short")).map(|_| ()), unknown);
        let management = AclToken { r#type: AclTokenType::Management, policies: vec![], ..given(UUIDS[0], UUIDS[1]) };
        assert_eq!(
            prepared(&store, management).map(|_| ()),
            unknown,
            "nobody chooses the secret of a management token"
        );
        let token = prepared(&store, given(UUIDS[0], UUIDS[1])).expect("a token");
        store.put_acl_token(Arc::new(token.clone()));
        let renamed = AclToken { name: "n".into(), secret_id: SecretString::new("other"), ..token.clone() };
        let renamed = prepared(&store, renamed).expect("an update");
        assert_eq!((renamed.secret_id.expose(), renamed.create_time), (UUIDS[1], token.create_time));
        assert_ne!(renamed.hash, token.hash);
        for (changed, wrong) in [
            (AclToken { global: true, ..token.clone() }, "cannot toggle global mode"),
            (AclToken { expiration_ttl: HOUR, ..token.clone() }, "cannot update expiration TTL"),
            (
                AclToken { expiration_time: Some(Time::from_unix_nanos(NOW + HOUR)), ..token.clone() },
                "cannot update expiration time",
            ),
        ] {
            assert!(prepared(&store, changed).is_err_and(|e| e.contains(wrong)), "{wrong}");
        }
    }
}
