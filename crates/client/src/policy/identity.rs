//! Workload identities of tasks: which are needed, where they are written, when they are renewed (`docs/spec/client.md
//! §19.3`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::backoff::below;
use encamp_model::random::Random;
use encamp_model::{HOUR, SECOND, Task, WorkloadIdentity};

/// The name of the identity every task has.
const DEFAULT: &str = "default";
/// Identities are not renewed sooner than this.
const SOONEST: i64 = 10 * SECOND;

/// The identities a task gets to see.
pub fn wanted(task: &Task) -> impl Iterator<Item = &WorkloadIdentity> {
    task.identity.iter().chain(&task.identities).filter(|i| i.env || i.file)
}

/// The name that servers know an identity by.
pub fn name(identity: &WorkloadIdentity) -> &str {
    if identity.name.is_empty() { DEFAULT } else { &identity.name }
}

/// The variable that holds the token.
pub fn variable(identity: &WorkloadIdentity) -> String {
    match name(identity) {
        DEFAULT => "NOMAD_TOKEN".into(),
        name => format!("NOMAD_TOKEN_{name}"),
    }
}

/// The file that holds the token, below the task's directory; `filepath` as the job file says it.
pub fn file(identity: &WorkloadIdentity) -> String {
    if !identity.filepath.is_empty() {
        return identity.filepath.clone();
    }
    match name(identity) {
        DEFAULT => "secrets/nomad_token".into(),
        name => format!("secrets/nomad_{name}.jwt"),
    }
}

/// When a token that expires at a time is renewed; none if it does not expire. Unix nanoseconds.
pub(crate) fn renew_at(now: i64, expires: i64, random: &mut Random) -> Option<i64> {
    if expires == 0 {
        return None;
    }
    let half = expires.saturating_sub(now).max(0) / 2;
    let jitter = below(half / 10, random);
    Some(now.saturating_add(half.saturating_add(jitter).max(SOONEST)))
}

/// How long the identity of a node lasts until the servers renew it at a heartbeat, in nanoseconds: two thirds of its
/// life. None for what is no identity, or does not expire. The signature is that of the servers, and is not checked.
pub(crate) fn node_lasts(token: &str, now: i64) -> Option<i64> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Times {
        iat: i64,
        exp: i64,
    }
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let Times { iat, exp } = serde_json::from_slice(&claims).ok()?;
    let life = exp.checked_sub(iat).filter(|life| *life > 0 && exp > 0)?;
    // Servers renew what has less than a third left.
    let at = iat.saturating_add(life - life / 3 + 1).saturating_mul(SECOND);
    // Servers accept it for a minute longer.
    Some(at.saturating_sub(now).max(SOONEST))
}

/// Wait after so many tries in a row that failed, in nanoseconds.
pub fn retry(failed: u32, random: &mut Random) -> i64 {
    let wait = SECOND.saturating_mul(1 << failed.min(12)).min(HOUR);
    wait / 2 + below(wait / 2, random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_tokens_go() {
        let identity = |name: &str, filepath: &str| WorkloadIdentity {
            name: name.into(),
            filepath: filepath.into(),
            ..Default::default()
        };
        let both = |i: &WorkloadIdentity| (variable(i), file(i));
        let texts = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(both(&identity("", "")), texts("NOMAD_TOKEN", "secrets/nomad_token"));
        assert_eq!(both(&identity("default", "local/t")), texts("NOMAD_TOKEN", "local/t"));
        assert_eq!(both(&identity("aws", "")), texts("NOMAD_TOKEN_aws", "secrets/nomad_aws.jwt"));
        let on = |env: bool, file: bool| WorkloadIdentity { env, file, ..Default::default() };
        let task = Task {
            identity: Some(on(false, false)),
            identities: vec![on(true, false), on(false, false), on(false, true)],
            ..Default::default()
        };
        assert_eq!(wanted(&task).count(), 2);
    }

    #[test]
    fn nodes_ask_again_before_their_identity_expires() {
        let token = |claims: &str| format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims));
        let day = token(r#"{"iat":1000,"exp":87400}"#);
        assert_eq!(node_lasts(&day, 1000 * SECOND), Some(57_601 * SECOND));
        assert_eq!(node_lasts(&day, 90_000 * SECOND), Some(SOONEST), "it has expired");
        assert_eq!(node_lasts(&token(r#"{"iat":10,"exp":11}"#), 10 * SECOND), Some(SOONEST));
        for none in ["", "x", "a.b.c", &token("{}"), &token(r#"{"iat":5}"#), &token(r#"{"iat":9,"exp":5}"#)] {
            assert_eq!(node_lasts(none, 0), None, "{none}");
        }
    }

    #[test]
    fn tokens_are_renewed_half_way() {
        let mut r = Random::new(1, "i");
        assert_eq!(renew_at(5, 0, &mut r), None);
        for _ in 0..100 {
            let at = renew_at(100 * SECOND, 160 * SECOND, &mut r).unwrap();
            assert!((130 * SECOND..133 * SECOND).contains(&at), "{at}");
            assert_eq!(renew_at(0, 15 * SECOND, &mut r), Some(SOONEST));
            assert_eq!(renew_at(100 * SECOND, SECOND, &mut r), Some(110 * SECOND), "expired ones, too");
            assert!((SECOND / 2..SECOND).contains(&retry(0, &mut r)));
            assert!((HOUR / 2..HOUR).contains(&retry(99, &mut r)));
        }
    }
}
