//! The plugins of a network, one after the other: `ADD` in their order, `DEL` in the opposite one
//! (`docs/spec/client.md §15.3`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::list::{CniVersion, NetworkList, PluginConfig};
use super::plugin::{Calls, Operation, PluginError};

/// The kind of settings that port maps are.
const PORT_MAPPINGS: &str = "portMappings";

/// A port of the host that leads into a namespace. The form is that of plugins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortMapping {
    /// The port on the host.
    pub host_port: i64,
    /// The port in the namespace.
    pub container_port: i64,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The address on the host; empty: all.
    #[serde(rename = "hostIP", default, skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
}

/// A namespace that plugins attach, or have attached, to a network. It is stored: `DEL` gets what `ADD` got, also after
/// the file of the list changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Attachment {
    /// The plugins.
    pub list: NetworkList,
    /// `CNI_ARGS`.
    pub args: String,
    /// Ports of the host.
    pub ports: Vec<PortMapping>,
    /// The result of the last plugin that ran.
    pub result: Option<Value>,
}

impl Attachment {
    /// Attaches the namespace. `progress` stores the result of each plugin before the next one runs.
    pub(crate) fn add<E: From<PluginError>>(
        &mut self,
        calls: &Calls<'_>,
        mut progress: impl FnMut(&Attachment) -> Result<(), E>,
    ) -> Result<(), E> {
        self.result = None;
        for plugin in self.list.plugins.clone() {
            let config = self.config(&plugin, self.result.as_ref());
            self.result = calls.call(plugin.program(), Operation::Add, &config)?;
            progress(self)?;
        }
        Ok(())
    }

    /// Checks that the namespace is attached as `ADD` left it.
    pub(crate) fn check(&self, calls: &Calls<'_>) -> Result<(), PluginError> {
        if self.list.disable_check || self.list.cni_version < CniVersion::V0_4_0 {
            return Ok(());
        }
        for plugin in &self.list.plugins {
            calls.call(plugin.program(), Operation::Check, &self.config(plugin, self.result.as_ref()))?;
        }
        Ok(())
    }

    /// Detaches the namespace. All plugins are called, also after one failed.
    ///
    /// # Errors
    /// The first one of a plugin.
    pub(crate) fn del(&self, calls: &Calls<'_>) -> Result<(), PluginError> {
        // Older plugins do not know it.
        let previous = self.result.as_ref().filter(|_| self.list.cni_version >= CniVersion::V0_4_0);
        let mut first = Ok(());
        for plugin in self.list.plugins.iter().rev() {
            let done = calls.call(plugin.program(), Operation::Del, &self.config(plugin, previous));
            if let Err(error) = done {
                if error.is_canceled() {
                    return Err(error);
                }
                first = first.and(Err(error));
            }
        }
        first
    }

    /// The configuration that a plugin gets.
    fn config(&self, plugin: &PluginConfig, previous: Option<&Value>) -> Map<String, Value> {
        let mut config = plugin.0.clone();
        config.remove("capabilities");
        config.insert("name".into(), self.list.name.clone().into());
        config.insert("cniVersion".into(), json!(self.list.cni_version));
        if plugin.is_capable(PORT_MAPPINGS) && !self.ports.is_empty() {
            config.insert("runtimeConfig".into(), json!({ PORT_MAPPINGS: self.ports }));
        }
        if let Some(previous) = previous {
            config.insert("prevResult".into(), previous.clone());
        }
        config
    }
}
