//! Plan files: `job plan -out` writes them, `plan show` prints them, `job run` registers them
//! (`docs/spec/cli.md §19`).
//!
//! `format`: the bytes. `keys`: signatures. `variables`: fingerprints of values. `write`, `show`, `run`: the commands.

pub mod format;
pub mod keys;
pub mod run;
pub mod show;
pub mod variables;
pub mod write;

use std::path::Path;

use super::error::{CommandError, CommandResult, ErrorContext};
use encamp_model::quoted;
use encamp_state::State;
use format::{Content, Sealed};
pub(super) use format::{RecordedState, is_one};
use keys::{PublicKey, SignatureError};
pub(super) use run::{PlanFileFlags, run};
pub(super) use write::OutFlags;

/// The exit code of `job run` when the outcome is not the reviewed one.
pub const CHANGED: u8 = 3;
/// The exit code of commands that refuse the signature of a plan file.
pub const UNTRUSTED: u8 = 4;

/// What a plan is recorded with besides its response.
pub struct Reviewed {
    /// What the plan does.
    pub outcome: encamp_plan::review::Outcome,
    /// The Raft index of the state.
    pub index: u64,
}

impl Reviewed {
    /// The record of a plan that was made on this state.
    pub fn new(plan: &encamp_plan::JobPlan, state: &State) -> Reviewed {
        Reviewed { outcome: encamp_plan::review::outcome(plan), index: state.index }
    }
}

/// A plan file whose signature has been checked, if that was requested.
struct Opened {
    content: Content,
    sealed: Sealed,
    verified: bool,
}

/// Reads a plan file. With keys, it has to be signed with one of them; nothing of its content is read before.
fn open(path: &str, keys: &[String], directory: &Path) -> CommandResult<Opened> {
    let reading = || format!("Error reading plan file {}", quoted(path));
    let sealed = format::read(&directory.join(path)).context(reading())?;
    if !keys.is_empty() {
        let keys = keys.iter().map(|key| public_key(key, directory)).collect::<CommandResult<Vec<_>>>()?;
        sealed
            .verify(&keys)
            .map_err(|e| untrusted(&e, &keys).within(format!("Refusing plan file {}", quoted(path))))?;
    }
    let content = sealed.content().context(reading())?;
    Ok(Opened { content, sealed, verified: !keys.is_empty() })
}

fn public_key(path: &str, directory: &Path) -> CommandResult<PublicKey> {
    PublicKey::read(&directory.join(path)).context(format!("Error reading key {}", quoted(path)))
}

fn untrusted(error: &SignatureError, keys: &[PublicKey]) -> CommandError {
    let out = CommandError::new(error).with_exit_code(UNTRUSTED);
    match error {
        SignatureError::OtherKey { .. } => {
            let given: Vec<String> = keys.iter().map(|key| key.id().to_string()).collect();
            out.with_hint(format!("-verify was given {}", given.join(", ")))
        }
        SignatureError::Missing => out.with_hint("job plan -sign signs the file that -out names"),
        SignatureError::Wrong { .. } => out,
    }
}
