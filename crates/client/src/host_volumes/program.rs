//! A program of the plugin directory: its variables, and its answers (`docs/spec/client.md §4.6.1`).

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::operation::{Created, Operation, PluginError};
use crate::programs::{Cancel, MOST_OUTPUT, Output, Run, RunError, one_line, run};
use crate::store::VolumeRecord;
use encamp_model::version::Version;

/// The longest version, in bytes: it becomes an attribute of the node.
const LONGEST_VERSION: usize = 128;

/// The node, as plugins see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    /// Its ID.
    pub id: String,
    /// Its node pool.
    pub pool: String,
}

/// A program.
pub(super) struct Program<'a> {
    /// The ID of the plugin: the name of the file.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// The directory of plugins.
    pub plugin_dir: &'a Path,
    /// The directory of volumes.
    pub volumes_dir: &'a Path,
    /// The node.
    pub node: &'a Node,
}

/// The reply to `fingerprint`.
#[derive(Debug, Deserialize)]
struct FingerprintReply {
    version: String,
}

/// The reply to `create`.
#[derive(Debug, Deserialize)]
struct CreateReply {
    path: String,
    #[serde(default)]
    bytes: i64,
}

impl Program<'_> {
    /// The version of the plugin.
    pub(super) fn fingerprint(&self) -> Result<String, PluginError> {
        let operation = Operation::Fingerprint;
        let output = self.run(operation, Vec::new())?;
        let reply: FingerprintReply = self.reply(operation, &output)?;
        if reply.version.len() > LONGEST_VERSION || Version::parse(&reply.version).is_none() {
            let version = one_line(reply.version.as_bytes());
            return Err(self.invalid(operation, format!("{version:?} is not a version such as \"1.2.3\"")));
        }
        Ok(reply.version)
    }

    /// Creates a volume, or changes one.
    pub(super) fn create(&self, id: &str, volume: &VolumeRecord) -> Result<Created, PluginError> {
        let operation = Operation::Create;
        let mut env = self.variables(id, volume);
        env.push(("DHV_CAPACITY_MIN_BYTES", volume.capacity_min.to_string().into()));
        env.push(("DHV_CAPACITY_MAX_BYTES", volume.capacity_max.to_string().into()));
        let output = self.run(operation, env)?;
        let reply: CreateReply = self.reply(operation, &output)?;
        let invalid = |why: String| Err(self.invalid(operation, why));
        let shown = one_line(reply.path.as_bytes());
        let path = PathBuf::from(&reply.path);
        let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
        if !path.is_absolute() || !plain || reply.path.contains('\0') {
            return invalid(format!("the path {shown:?} of its reply is not an absolute path"));
        }
        if let Err(e) = path.metadata() {
            return invalid(format!("the path {shown:?} of its reply can't be used: {e}"));
        }
        if reply.bytes < 0 {
            return invalid(format!("the size of its reply is negative: {}", reply.bytes));
        }
        Ok(Created { path, bytes: reply.bytes })
    }

    /// Deletes a volume at a path.
    pub(super) fn delete(&self, id: &str, volume: &VolumeRecord, path: &Path) -> Result<(), PluginError> {
        let mut env = self.variables(id, volume);
        env.push(("DHV_CREATED_PATH", path.into()));
        self.run(Operation::Delete, env).map(drop)
    }

    /// The variables of both operations on volumes.
    fn variables(&self, id: &str, volume: &VolumeRecord) -> Vec<(&'static str, OsString)> {
        let parameters = serde_json::to_string(&volume.parameters).unwrap_or_else(|_| "{}".into());
        vec![
            ("DHV_VOLUMES_DIR", self.volumes_dir.into()),
            ("DHV_PLUGIN_DIR", self.plugin_dir.into()),
            ("DHV_NAMESPACE", volume.namespace.as_str().into()),
            ("DHV_VOLUME_NAME", volume.name.as_str().into()),
            ("DHV_VOLUME_ID", id.into()),
            ("DHV_NODE_ID", self.node.id.as_str().into()),
            ("DHV_NODE_POOL", self.node.pool.as_str().into()),
            ("DHV_PARAMETERS", parameters.into()),
        ]
    }

    fn run(&self, operation: Operation, mut env: Vec<(&'static str, OsString)>) -> Result<Output, PluginError> {
        env.push(("DHV_OPERATION", operation.name().into()));
        let ran = run(&Run {
            program: &self.path,
            arguments: &[operation.name()],
            dir: self.plugin_dir,
            env: &env,
            input: &[],
            limit: operation.limit(),
            most_output: MOST_OUTPUT,
            stated: stated_error,
            cancel: &Cancel::default(),
        });
        let (plugin_id, operation_name) = (self.id.as_str(), operation.name());
        match &ran {
            Ok(output) => {
                let (stdout, stderr) = (one_line(&output.stdout), output.messages.as_str());
                tracing::debug!(target: "client.host_volumes", plugin_id, operation = operation_name, stdout, stderr, "host volume plugin ran");
            }
            Err(error) => {
                tracing::debug!(target: "client.host_volumes", plugin_id, operation = operation_name, %error, "host volume plugin failed");
            }
        }
        ran.map_err(|error: RunError| PluginError::Run { plugin: self.id.clone(), operation, error })
    }

    fn reply<T: DeserializeOwned>(&self, operation: Operation, output: &Output) -> Result<T, PluginError> {
        serde_json::from_slice(&output.stdout).map_err(|e| {
            let why = one_line(e.to_string().as_bytes());
            let said = if output.messages.is_empty() { String::new() } else { format!(": {}", output.messages) };
            self.invalid(operation, format!("printed an invalid reply: {why}{said}"))
        })
    }

    fn invalid(&self, operation: Operation, why: String) -> PluginError {
        PluginError::Reply { plugin: self.id.clone(), operation, why }
    }
}

/// The error that a program printed on standard output as `{"error": "…"}`, if it did.
fn stated_error(stdout: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Stated {
        error: String,
    }
    let stated: Stated = serde_json::from_slice(stdout).ok()?;
    let text = one_line(stated.error.as_bytes());
    Some(text).filter(|t| !t.is_empty())
}
