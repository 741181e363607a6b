//! One call of a network plugin: where its program is, its variables, and its answer (`docs/spec/client.md §15.3`).

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::programs::{Cancel, Run, RunError, is_executable, one_line, run};

/// The variable by which plugins know the namespace, and by which calls of a killed agent are found.
pub(super) const CONTAINER: &str = "CNI_CONTAINERID";
/// The maximum number of bytes that a plugin may print.
const MOST_OUTPUT: usize = 1 << 20;
/// The number of characters of an invalid answer that are shown.
const SHOWN: usize = 200;

/// The operations of a plugin that the agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Attaches a namespace.
    Add,
    /// Checks that a namespace is still attached.
    Check,
    /// Detaches a namespace.
    Del,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Add => "ADD",
            Operation::Check => "CHECK",
            Operation::Del => "DEL",
        })
    }
}

/// A plugin did not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PluginError {
    /// There is no such program.
    #[error("network plugin {plugin:?}: {operation}: there is no such program in cni_path ({path})")]
    Missing {
        /// The plugin.
        plugin: String,
        /// The operation.
        operation: Operation,
        /// The directories.
        path: String,
    },
    /// The program failed, or did not end in time.
    #[error("network plugin {plugin:?}: {operation}: {error}")]
    Run {
        /// The plugin.
        plugin: String,
        /// The operation.
        operation: Operation,
        /// The reason.
        error: RunError,
    },
    /// The answer is not a result.
    #[error("network plugin {plugin:?}: {operation}: printed an invalid result: {why}")]
    Answer {
        /// The plugin.
        plugin: String,
        /// The operation.
        operation: Operation,
        /// The mistake.
        why: String,
    },
}

impl PluginError {
    /// Whether the plugin was ended because the allocation, or the agent, is to end.
    pub(crate) fn is_canceled(&self) -> bool {
        matches!(self, PluginError::Run { error: RunError::Canceled, .. })
    }
}

/// What all calls for one namespace have in common.
pub(crate) struct Calls<'a> {
    /// The directories of programs, in the order of the search.
    pub path: &'a [PathBuf],
    /// The ID that plugins know the namespace by.
    pub container: &'a str,
    /// The namespace; none: it is gone.
    pub namespace: Option<&'a Path>,
    /// The interface to be made.
    pub interface: &'a str,
    /// `CNI_ARGS`.
    pub args: &'a str,
    /// How long one call may take.
    pub limit: Duration,
    /// Ends a call early.
    pub cancel: &'a Cancel,
}

impl Calls<'_> {
    /// Calls a plugin. Gives its result, which only `ADD` has.
    pub(crate) fn call(
        &self,
        plugin: &str,
        operation: Operation,
        config: &Map<String, Value>,
    ) -> Result<Option<Value>, PluginError> {
        let path = self.path.iter().map(|d| d.to_string_lossy()).collect::<Vec<_>>().join(":");
        let missing = || PluginError::Missing { plugin: plugin.into(), operation, path: path.clone() };
        let program = find(self.path, plugin).ok_or_else(missing)?;
        let invalid = |why: String| PluginError::Answer { plugin: plugin.into(), operation, why };
        let input = serde_json::to_vec(config).map_err(|e| invalid(e.to_string()))?;
        let namespace = self.namespace.map(|n| n.as_os_str().to_owned()).unwrap_or_default();
        let env: [(&str, OsString); 6] = [
            ("CNI_COMMAND", operation.to_string().into()),
            (CONTAINER, self.container.into()),
            ("CNI_NETNS", namespace),
            ("CNI_IFNAME", self.interface.into()),
            ("CNI_ARGS", self.args.into()),
            ("CNI_PATH", path.clone().into()),
        ];
        let ran = run(&Run {
            program: &program,
            arguments: &[],
            dir: Path::new("/"),
            env: &env,
            input: &input,
            limit: self.limit,
            most_output: MOST_OUTPUT,
            stated,
            cancel: self.cancel,
        });
        let (alloc_id, operation_name) = (self.container, operation.to_string());
        let output = match ran {
            Ok(output) => output,
            Err(error) => {
                tracing::debug!(target: "client.network", alloc_id, plugin, operation = operation_name, %error, "network plugin failed");
                return Err(PluginError::Run { plugin: plugin.into(), operation, error });
            }
        };
        tracing::debug!(target: "client.network", alloc_id, plugin, operation = operation_name, stderr = output.messages, "network plugin ran");
        if operation != Operation::Add {
            return Ok(None);
        }
        match serde_json::from_slice(&output.stdout) {
            Ok(result @ Value::Object(_)) => Ok(Some(result)),
            Ok(_) => Err(invalid("it is no object".into())),
            Err(e) => {
                let shown: String = one_line(&output.stdout).chars().take(SHOWN).collect();
                Err(invalid(format!("{e}: {shown:?}")))
            }
        }
    }
}

/// The program of a plugin: the first executable file of that name.
pub(crate) fn find(path: &[PathBuf], plugin: &str) -> Option<PathBuf> {
    path.iter().map(|dir| dir.join(plugin)).find(|file| is_executable(file))
}

/// The error that a plugin printed, as one line.
fn stated(stdout: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Stated {
        #[serde(default)]
        code: u64,
        msg: String,
        #[serde(default)]
        details: String,
    }
    let stated: Stated = serde_json::from_slice(stdout).ok()?;
    let (text, details) = (one_line(stated.msg.as_bytes()), one_line(stated.details.as_bytes()));
    let details = if details.is_empty() { details } else { format!("; {details}") };
    (!text.is_empty()).then(|| format!("{text}{details} (code {})", stated.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_plugins_are_one_line() {
        let text = stated(br#"{"cniVersion": "0.4.0", "code": 11, "msg": "no\n address", "details": "range full"}"#);
        assert_eq!(text.as_deref(), Some("no address; range full (code 11)"));
        assert_eq!(stated(b"{\"code\": 7}"), None);
        assert_eq!(stated(b"garbage"), None);
    }
}
