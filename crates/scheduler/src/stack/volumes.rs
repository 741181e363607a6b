//! Host and CSI volumes of a group on a node (`docs/spec/scheduling.md §6.6, 6.7`).

use std::borrow::Cow;
use std::sync::Arc;

use crate::working_plan::WorkingPlan;
use encamp_model::{
    ClientStatus, CsiAccess, CsiVolume, DesiredStatus, HostVolume, HostVolumeState, Job, Node, TaskGroup,
    TaskGroupHostVolumeClaim, VolumeAccessMode, VolumeRequest,
};
use encamp_state::{NodeEntry, State};

const NO_HOST_VOLUMES: &str = "missing compatible host volumes";

/// The volumes a group asks for, as one search sees them.
#[derive(Debug, Clone, Default)]
pub(crate) struct VolumeChecks {
    host: Vec<(String, VolumeRequest)>,
    csi: Vec<(String, Option<Arc<CsiVolume>>, bool)>,
    /// CSI volumes that do not exist: no node can do.
    missing: Vec<String>,
    namespace: String,
    job_id: String,
    /// Claims of sticky volumes not met yet.
    claims: Vec<Arc<TaskGroupHostVolumeClaim>>,
}

impl VolumeChecks {
    /// Looks up what the group asks for, in the order of the request's alias.
    pub(crate) fn new(
        state: &State,
        plan: &WorkingPlan,
        job: &Job,
        group: &TaskGroup,
        alloc_name: &str,
    ) -> VolumeChecks {
        let mut out = VolumeChecks { namespace: job.namespace.clone(), job_id: job.id.clone(), ..Default::default() };
        for r in group.volumes.iter().flatten().map(|(_, r)| r) {
            let src = r.source_for(alloc_name);
            match r.r#type.as_str() {
                "host" => out.host.push((src, r.clone())),
                "csi" => {
                    let volume = state.csi_volume(&job.namespace, &src).cloned();
                    if volume.is_none() {
                        out.missing.push(src.clone());
                    }
                    out.csi.push((src, volume, r.read_only));
                }
                _ => {}
            }
        }
        if out.host.iter().any(|(_, r)| r.sticky) {
            out.claims = unmet_claims(state, plan, job);
        }
        out
    }

    /// Names of what is missing for blocked evaluations.
    pub(crate) fn missing_resources(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|id| format!("csi-volume:{}:{id}", self.namespace))
    }

    /// Why the node can't be used, if it can't.
    pub(crate) fn refuses(&mut self, state: &State, plan: &WorkingPlan, node: &NodeEntry) -> Option<Cow<'static, str>> {
        for i in 0..self.host.len() {
            if !self.host_volume_fits(i, state, plan, node) {
                return Some(NO_HOST_VOLUMES.into());
            }
        }
        self.refuses_csi(state, node)
    }

    fn host_volume_fits(&mut self, i: usize, state: &State, plan: &WorkingPlan, node: &NodeEntry) -> bool {
        let (source, request) = &self.host[i];
        let Some(entry) = node.node.host_volumes.get(source) else { return false };
        if entry.id.is_empty() {
            return !request.sticky && (!entry.read_only || request.read_only);
        }
        let Some(volume) = state.host_volume(&entry.id) else { return false };
        if volume.namespace != self.namespace || volume.state != HostVolumeState::Ready || !capable(volume, request) {
            return false;
        }
        let (access, _) = request.host_modes();
        let writable = match access {
            VolumeAccessMode::SingleNodeReaderOnly => request.read_only,
            VolumeAccessMode::SingleNodeWriter => !request.read_only,
            VolumeAccessMode::SingleNodeSingleWriter => !has_writer(state, plan, node, source),
            _ => true,
        };
        if !writable || !request.sticky || self.claims.is_empty() {
            return writable;
        }
        let before = self.claims.len();
        let id = volume.id.clone();
        self.claims.retain(|c| c.volume_id != id);
        self.claims.len() < before
    }

    fn refuses_csi(&self, state: &State, node: &NodeEntry) -> Option<Cow<'static, str>> {
        if self.csi.is_empty() {
            return None;
        }
        if !self.missing.is_empty() {
            return Some(format!("missing CSI volume(s) {}", self.missing.join(", ")).into());
        }
        let in_use = volumes_in_use(state, node);
        self.csi.iter().find_map(|(_, volume, read_only)| {
            let v = volume.as_ref()?;
            self.refuses_csi_volume(state, &node.node, v, *read_only, &in_use)
        })
    }

    fn refuses_csi_volume(
        &self,
        state: &State,
        node: &Node,
        v: &CsiVolume,
        read_only: bool,
        in_use: &[Arc<CsiVolume>],
    ) -> Option<Cow<'static, str>> {
        let plugin_id = &v.plugin_id;
        let Some(plugin) = node.csi_node_plugins.get(plugin_id) else {
            return Some(format!("CSI plugin {plugin_id} is missing from client {}", node.id).into());
        };
        if !plugin.healthy {
            return Some(format!("CSI plugin {plugin_id} is unhealthy on client {}", node.id).into());
        }
        let count = in_use.iter().filter(|u| u.plugin_id == *plugin_id).count() as i64;
        let info = plugin.node_info.as_ref();
        if count >= info.map_or(0, |i| i.max_volumes) {
            let text = format!("CSI plugin {plugin_id} has the maximum number of volumes on client {}", node.id);
            return Some(text.into());
        }
        let segments = info.and_then(|i| i.accessible_topology.as_ref()).map(|t| &t.segments);
        let reachable = v.topologies.is_empty()
            || segments.is_some_and(|have| {
                v.topologies.iter().any(|t| t.segments.iter().all(|(k, want)| have.get(k) == Some(want)))
            });
        if !reachable {
            return Some("did not meet topology requirement".into());
        }
        if read_only {
            let ok = schedulable(v) && v.resource_exhausted.is_zero();
            return (!ok).then(|| {
                format!("CSI volume {} is unschedulable or has exhausted its available reader claims", v.id).into()
            });
        }
        self.refuses_csi_write(state, v)
    }

    fn refuses_csi_write(&self, state: &State, v: &CsiVolume) -> Option<Cow<'static, str>> {
        let writer =
            |mode: &VolumeAccessMode| CsiAccess::of_mode(mode).is_some_and(|access| access.writers() != Some(0));
        let writes = if v.access_mode.is_unset() {
            v.requested_capabilities.iter().any(|c| writer(&c.access_mode))
        } else {
            writer(&v.access_mode)
        };
        if !schedulable(v) || !v.resource_exhausted.is_zero() || !writes {
            return Some(format!("CSI volume {} is unschedulable or is read-only", v.id).into());
        }
        let free = match CsiAccess::of_mode(&v.access_mode) {
            Some(access) => access.writers().is_none_or(|most| v.write_allocs.len() < most),
            None => v.access_mode.is_unset(),
        };
        if free {
            return None;
        }
        let exhausted = format!("CSI volume {} has exhausted its available writer claims", v.id);
        for id in v.write_allocs.keys() {
            let Some(a) = state.alloc(id) else {
                return Some(
                    format!(
                        "{exhausted} and is claimed by a garbage collected allocation {id}; waiting for claim to be released"
                    )
                    .into(),
                );
            };
            if a.alloc.job_id != self.job_id || a.alloc.namespace != self.namespace {
                return Some(exhausted.into());
            }
        }
        None
    }
}

fn capable(v: &HostVolume, r: &VolumeRequest) -> bool {
    let modes = r.host_modes();
    v.requested_capabilities.iter().any(|c| (&c.access_mode, c.attachment_mode.as_str()) == modes)
}

/// Whether a proposed allocation on the node writes to the volume. One whose job or group is gone is taken to.
fn has_writer(state: &State, plan: &WorkingPlan, node: &NodeEntry, name: &str) -> bool {
    plan.proposed(node).iter().any(|a| {
        let a = &a.alloc;
        let Some(group) = state.job(&a.namespace, &a.job_id).and_then(|j| j.lookup_group(&a.task_group)) else {
            return true;
        };
        let mut requests = group.volumes.iter().flatten().map(|(_, r)| r);
        requests.any(|r| r.r#type == "host" && !r.read_only && r.source_for(&a.name) == name)
    })
}

/// Claims of this job whose volume and allocation still exist and that no proposed allocation meets.
fn unmet_claims(state: &State, plan: &WorkingPlan, job: &Job) -> Vec<Arc<TaskGroupHostVolumeClaim>> {
    let open = |c: &&Arc<TaskGroupHostVolumeClaim>| {
        if c.namespace != job.namespace || c.job_id != job.id {
            return false;
        }
        let (Some(alloc), Some(volume)) = (state.alloc(&c.alloc_id), state.host_volume(&c.volume_id)) else {
            return false;
        };
        let Some(node) = state.node(&volume.node_id) else { return true };
        !plan.proposed(node).iter().any(|p| {
            let p = &p.alloc;
            let same_group = p.namespace == c.namespace
                && p.job_id == c.job_id
                && p.task_group == c.task_group_name
                && p.node_id == alloc.alloc.node_id;
            !p.terminal() && (p.id == c.alloc_id || same_group)
        })
    };
    state.host_volume_claims().filter(open).cloned().collect()
}

/// Distinct CSI volumes that stored allocations of the node use.
fn volumes_in_use(state: &State, node: &NodeEntry) -> Vec<Arc<CsiVolume>> {
    let mut out: Vec<Arc<CsiVolume>> = Vec::new();
    for a in &node.allocs {
        let a = &a.alloc;
        if a.desired_status != DesiredStatus::Run && a.client_status != ClientStatus::Running {
            continue;
        }
        let group = a.job.as_ref().and_then(|j| j.lookup_group(&a.task_group));
        for r in group.iter().flat_map(|g| g.volumes.iter().flatten()).map(|(_, r)| r) {
            if r.r#type != "csi" {
                continue;
            }
            if let Some(v) = state.csi_volume(&a.namespace, &r.source_for(&a.name))
                && !out.iter().any(|o| o.id == v.id && o.namespace == v.namespace)
            {
                out.push(v.clone());
            }
        }
    }
    out
}

/// Plugin known, nodes healthy, and a controller where one is needed. `Schedulable` alone tells it where a snapshot has
/// only the volume.
fn schedulable(v: &CsiVolume) -> bool {
    v.nodes_healthy > 0 && (!v.controller_required || v.controllers_healthy > 0) && v.schedulable
}
