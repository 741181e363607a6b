//! The calls of the identity service: what a plugin is.

use crate::convert::{self, Text};
use crate::error::{CallError, ErrorKind};
use crate::plugin::Plugin;
use crate::proto;
use crate::types::{PluginCapabilities, PluginIdentity};

impl Plugin {
    /// Whether the plugin is ready. It may answer before it is.
    ///
    /// # Errors
    /// The plugin does not answer ([`ErrorKind::Unavailable`], also if it says that it is not healthy).
    pub async fn probe(&self) -> Result<bool, CallError> {
        let call = self.question("Probe");
        let request = call.request(proto::ProbeRequest {});
        match self.answer(&call, self.identity().probe(request)).await {
            // A plugin that does not say is ready.
            Ok(answer) => Ok(answer.ready.unwrap_or(true)),
            Err(e) if e.kind == ErrorKind::InUse => Err(CallError { kind: ErrorKind::Unavailable, ..e }),
            Err(e) => Err(e),
        }
    }

    /// Name and version.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn plugin_info(&self) -> Result<PluginIdentity, CallError> {
        let call = self.question("GetPluginInfo");
        let request = call.request(proto::GetPluginInfoRequest {});
        let answer = self.answer(&call, self.identity().get_plugin_info(request)).await?;
        let name = convert::text(&call, Text::Required("name"), answer.name)?;
        let version = convert::text(&call, Text::Optional("version"), answer.vendor_version)?;
        Ok(PluginIdentity { name, version })
    }

    /// What the plugin as a whole can do.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn plugin_capabilities(&self) -> Result<PluginCapabilities, CallError> {
        let call = self.question("GetPluginCapabilities");
        let request = call.request(proto::GetPluginCapabilitiesRequest {});
        let answer = self.answer(&call, self.identity().get_plugin_capabilities(request)).await?;
        Ok(convert::plugin_capabilities(&answer.capabilities))
    }
}
