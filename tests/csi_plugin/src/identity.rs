//! The identity service.

use encamp_csi::proto::identity_server::Identity;
use encamp_csi::proto::plugin_capability::{Service as ServiceType, Type, VolumeExpansion, service, volume_expansion};
use encamp_csi::proto::{
    GetPluginCapabilitiesRequest, GetPluginCapabilitiesResponse, GetPluginInfoRequest, GetPluginInfoResponse,
    PluginCapability, ProbeRequest, ProbeResponse,
};
use tonic::{Request, Response, Status};

use crate::Service;
use crate::calls::Call;

#[tonic::async_trait]
impl Identity for Service {
    async fn get_plugin_info(
        &self,
        _: Request<GetPluginInfoRequest>,
    ) -> Result<Response<GetPluginInfoResponse>, Status> {
        let name = self.options.name.clone();
        let info = GetPluginInfoResponse { name, vendor_version: "1.0.0".into(), ..Default::default() };
        self.calls.run(Call::new("GetPluginInfo"), |_| Ok(info)).await
    }

    async fn get_plugin_capabilities(
        &self,
        _: Request<GetPluginCapabilitiesRequest>,
    ) -> Result<Response<GetPluginCapabilitiesResponse>, Status> {
        let service = |kind: service::Type| Type::Service(ServiceType { r#type: kind.into() });
        // Also of a plugin that only mounts: others are the controller.
        let mut all = vec![service(service::Type::ControllerService)];
        if !self.options.topology.is_empty() {
            all.push(service(service::Type::VolumeAccessibilityConstraints));
        }
        all.push(Type::VolumeExpansion(VolumeExpansion { r#type: volume_expansion::Type::Online.into() }));
        let capabilities = all.into_iter().map(|t| PluginCapability { r#type: Some(t) }).collect();
        let answer = GetPluginCapabilitiesResponse { capabilities };
        self.calls.run(Call::new("GetPluginCapabilities"), |_| Ok(answer)).await
    }

    async fn probe(&self, _: Request<ProbeRequest>) -> Result<Response<ProbeResponse>, Status> {
        self.calls.run(Call::new("Probe"), |_| Ok(ProbeResponse { ready: Some(true) })).await
    }
}
