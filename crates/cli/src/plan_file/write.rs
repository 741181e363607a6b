//! `job plan -out`.

use std::io::Write;

use super::Reviewed;
use super::format::{self, Content, RecordedFile, RecordedState};
use super::keys::SigningKey;
use super::variables::Fingerprints;
use crate::completion::values::CompleteWith;
use crate::context::Environment;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::job_file::{JobFile, VariableFlags};
use encamp_model::quoted;
use encamp_snapshot::replace::{make_private, replace};

/// The flags of `job plan` that write a plan file.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct OutFlags {
    /// Write the plan to this file, which job run registers if the outcome is then still the same
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub out: Option<String>,
    /// Sign the plan file with the Ed25519 key in this PEM file
    #[arg(long, value_name = "key file", add = CompleteWith::PEM_FILES)]
    pub sign: Option<String>,
}

impl OutFlags {
    /// The message about flags that do not go together. `local`: the plan is made here, of one job, on the state as it
    /// is.
    pub(crate) fn conflict(&self, local: bool) -> Option<&'static str> {
        match (&self.out, &self.sign) {
            (None, Some(_)) => Some("-sign signs the file that -out names: give both"),
            (Some(_), _) if !local => Some(
                "-out records a plan of one job, made locally on the cluster as it is: it cannot be combined with \
                 -remote, assumed changes or several files",
            ),
            _ => None,
        }
    }

    /// Writes the file, if one is named. Returns a line about it.
    pub(crate) fn write(
        &self,
        file: &JobFile,
        variables: &VariableFlags,
        namespace: &str,
        reviewed: &Reviewed,
        mut state: RecordedState,
        env: &Environment,
    ) -> CommandResult<Option<String>> {
        let Some(out) = &self.out else { return Ok(None) };
        let key = match &self.sign {
            Some(path) => {
                let read = SigningKey::read(&env.directory.join(path));
                Some(read.context(format!("Error reading key {}", quoted(path)))?)
            }
            None => None,
        };
        state.index = reviewed.index;
        let fingerprints = Fingerprints::new(variables, env)?;
        let source = RecordedFile { path: file.path().into(), format: file.format().into(), source: file.text() };
        let outcome = reviewed.outcome.clone();
        let content = Content::new(env.now, state, namespace, source, fingerprints, file.job.clone(), outcome);
        let writing = || format!("Error writing plan file {}", quoted(out));
        let bytes = format::encode(&content, key.as_ref()).context(writing())?;
        // The job may contain secrets.
        let written = replace(&env.directory.join(out), |to| {
            make_private(to)?;
            to.write_all(&bytes)
        });
        written.map_err(CommandError::new).context(writing())?;
        Ok(Some(format!(
            "Plan written to {out}. To register it if its outcome is still the same, run:\n\nencamp job run {out}"
        )))
    }
}

/// An address without the name and password that it may contain.
fn without_user(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let authority = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

impl RecordedState {
    /// The source of a state; the index is set later.
    pub(crate) fn new(time: i64, snapshot: Option<&str>, address: &str) -> RecordedState {
        let address = snapshot.is_none().then(|| without_user(address));
        RecordedState { index: 0, time, snapshot: snapshot.map(String::from), address }
    }
}

#[cfg(test)]
mod tests {
    use super::without_user;

    #[test]
    fn addresses_are_recorded_without_passwords() {
        assert_eq!(without_user("https://op:se@cret@nomad:4646/x@y"), "https://nomad:4646/x@y");
        assert_eq!(without_user("http://127.0.0.1:4646"), "http://127.0.0.1:4646");
        assert_eq!(without_user("unix:///run/nomad.sock"), "unix:///run/nomad.sock");
    }
}
