//! ACL objects: rules and texts of writes (`docs/spec/http-api.md §5.16, §7`).
//!
//! The leader checks a write, makes its IDs, secrets and times, and hashes what users set; the state machine refuses
//! what another write made impossible in the meantime.

pub mod auth_methods;
pub mod bootstrap;
pub mod one_time;
pub mod policies;
pub mod roles;
pub mod tokens;

use super::is_name;
use crate::error::{Error, multi_error};
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::SecretString;
use encamp_ops::{AclChange, Operation};

/// The most policies or roles of one token or role.
const MOST_LINKS: usize = 1000;
/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 256;

/// Writes a change to the log. Returns its index.
async fn commit(server: &Leading, change: AclChange) -> Result<u64, Error> {
    Ok(server.commit(Operation::Acl(Box::new(change))).await?.0)
}

/// The error of an object in which these things are wrong.
fn invalid(kind: &str, wrong: &[String]) -> Error {
    Error::bad(format!("{kind} 0 invalid: {}", multi_error(wrong)))
}

/// Checks the name and the description.
fn check_texts(name: &str, description: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !is_name(name, &[]) {
        wrong.push(format!("invalid name '{name}'"));
    }
    wrong.extend(check_description(description));
    wrong
}

fn check_description(description: &str) -> Option<String> {
    let long = description.chars().count() > LONGEST_DESCRIPTION;
    long.then(|| format!("description longer than {LONGEST_DESCRIPTION}"))
}

/// A new secret: a UUID of random digits that nobody can guess.
///
/// # Errors
/// The system provides no random numbers.
fn new_secret() -> Result<SecretString, Error> {
    let mut bytes = [0; 16];
    ids::secret(&mut bytes).map_err(|e| Error::internal(format!("no random numbers: {e}")))?;
    Ok(ids::uuid_of(bytes).into())
}
