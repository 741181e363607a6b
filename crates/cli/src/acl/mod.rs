//! Commands about access control (`docs/spec/cli.md §13`).
//!
//! [`tokens`]: bootstrap and tokens. [`policies`], [`roles`], [`auth_methods`], [`binding_rules`]. [`login`], with a
//! browser: [`browser_login`]. [`explain`]: why something is allowed. [`effects`]: what a new text of a policy would change.

pub mod auth_methods;
pub mod binding_rules;
mod browser_login;
pub mod effects;
pub mod explain;
pub mod login;
pub mod policies;
pub mod roles;
pub mod tokens;

use super::context::Context;
use super::error::{CommandError, CommandResult};
use encamp_model::{AclRole, AclToken, Time, format_duration};

/// A time in full, in UTC; `<none>` where there is none.
fn time(time: Time) -> String {
    if time.is_zero() {
        return "<none>".into();
    }
    let written = time.to_string();
    format!("{} +0000 UTC", written.trim_end_matches('Z').replacen('T', " ", 1))
}

/// A duration in nanoseconds; nothing where there is none.
fn duration(nanos: i64) -> String {
    if nanos == 0 { String::new() } else { format_duration(nanos) }
}

/// The names of the policies of a role.
fn policy_names(role: &AclRole) -> impl Iterator<Item = String> {
    role.policies.iter().map(|policy| policy.name.clone())
}

/// Whether a token has expired.
fn is_expired(token: &AclToken, now: i64) -> bool {
    token.expiration_time.and_then(Time::unix_nanos).is_some_and(|at| at < now)
}

/// The content of a file, or of standard input, as text.
fn read_text(path: &str, context: &Context<'_, '_>) -> CommandResult<String> {
    let bytes = super::spec_file::read(path, context.env)?;
    String::from_utf8(bytes).map_err(|_| CommandError::new(format!("{path:?} is not text in UTF-8")))
}
