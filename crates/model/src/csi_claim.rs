//! The words and numbers of CSI plugins and of claims on CSI volumes, as closed sets (`docs/spec/snapshot-archive.md §7`),
//! and what follows from them.

use super::modes::VolumeAccessMode;
use super::volume::{CsiPlugin, CsiVolume, CsiVolumeClaim};

/// The services that a plugin of a type provides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CsiServices {
    /// Volumes and snapshots of the storage provider.
    pub controller: bool,
    /// Mounts of the node.
    pub node: bool,
}

/// One of the services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsiService {
    /// Volumes and snapshots of the storage provider.
    Controller,
    /// Mounts of the node.
    Node,
}

impl CsiServices {
    /// The services of a plugin type (`docs/spec/jobspec.md`, `csi_plugin`); `None`: the type is unknown.
    pub fn of_type(plugin_type: &str) -> Option<CsiServices> {
        match plugin_type {
            "controller" => Some(CsiServices { controller: true, node: false }),
            "node" => Some(CsiServices { controller: false, node: true }),
            "monolith" => Some(CsiServices { controller: true, node: true }),
            _ => None,
        }
    }

    /// Whether a service is among them.
    pub fn has(self, service: CsiService) -> bool {
        match service {
            CsiService::Controller => self.controller,
            CsiService::Node => self.node,
        }
    }

    /// Whether the two have a service in common.
    pub fn overlap(self, other: CsiServices) -> bool {
        (self.controller && other.controller) || (self.node && other.node)
    }
}

/// What a claim is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsiClaimMode {
    /// The allocation reads.
    Read,
    /// The allocation writes.
    Write,
    /// No allocation: past claims of the volume are to be released.
    Collect,
}

impl CsiClaimMode {
    /// The number in [`CsiVolumeClaim::mode`].
    pub fn number(self) -> i64 {
        match self {
            CsiClaimMode::Read => 0,
            CsiClaimMode::Write => 1,
            CsiClaimMode::Collect => 2,
        }
    }
}

/// How far the release of a claim is. The order is that of the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CsiClaimState {
    /// The allocation may use the volume.
    Taken,
    /// The release has begun.
    Unpublishing,
    /// The node does not mount the volume any more.
    NodeDetached,
    /// The controller has detached the volume from the node.
    ControllerDetached,
    /// Nothing is left to do.
    ReadyToFree,
}

impl CsiClaimState {
    /// The number in [`CsiVolumeClaim::state`].
    pub fn number(self) -> i64 {
        match self {
            CsiClaimState::Taken => 0,
            CsiClaimState::NodeDetached => 1,
            CsiClaimState::ControllerDetached => 2,
            CsiClaimState::ReadyToFree => 3,
            CsiClaimState::Unpublishing => 4,
        }
    }
}

/// Who may use a volume at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsiAccess {
    /// Readers on one node.
    SingleNodeReader,
    /// One writer, and readers on its node.
    SingleNodeWriter,
    /// Readers on any nodes.
    MultiNodeReader,
    /// One writer, and readers on any nodes.
    MultiNodeSingleWriter,
    /// Writers and readers on any nodes.
    MultiNodeMultiWriter,
}

impl CsiAccess {
    /// The access of an access mode; `None`: CSI volumes have no such mode.
    pub fn of_mode(mode: &VolumeAccessMode) -> Option<CsiAccess> {
        Some(match mode {
            VolumeAccessMode::SingleNodeReaderOnly => CsiAccess::SingleNodeReader,
            VolumeAccessMode::SingleNodeWriter => CsiAccess::SingleNodeWriter,
            VolumeAccessMode::MultiNodeReaderOnly => CsiAccess::MultiNodeReader,
            VolumeAccessMode::MultiNodeSingleWriter => CsiAccess::MultiNodeSingleWriter,
            VolumeAccessMode::MultiNodeMultiWriter => CsiAccess::MultiNodeMultiWriter,
            VolumeAccessMode::SingleNodeSingleWriter
            | VolumeAccessMode::SingleNodeMultiWriter
            | VolumeAccessMode::Unset
            | VolumeAccessMode::Other(_) => return None,
        })
    }

    /// Whether all claims have to be on one node.
    pub fn one_node(self) -> bool {
        matches!(self, CsiAccess::SingleNodeReader | CsiAccess::SingleNodeWriter)
    }

    /// How many claims may write; `None`: any number.
    pub fn writers(self) -> Option<usize> {
        match self {
            CsiAccess::SingleNodeReader | CsiAccess::MultiNodeReader => Some(0),
            CsiAccess::SingleNodeWriter | CsiAccess::MultiNodeSingleWriter => Some(1),
            CsiAccess::MultiNodeMultiWriter => None,
        }
    }
}

impl CsiVolumeClaim {
    /// What the claim is for; `None`: the number is unknown.
    pub fn purpose(&self) -> Option<CsiClaimMode> {
        [CsiClaimMode::Read, CsiClaimMode::Write, CsiClaimMode::Collect].into_iter().find(|m| m.number() == self.mode)
    }

    /// How far its release is; `None`: the number is unknown.
    pub fn progress(&self) -> Option<CsiClaimState> {
        use CsiClaimState::*;
        let all = [Taken, Unpublishing, NodeDetached, ControllerDetached, ReadyToFree];
        all.into_iter().find(|s| s.number() == self.state)
    }
}

impl CsiVolume {
    /// Takes over the health of its plugin: the stored copy is stale (`docs/spec/snapshot-archive.md §11.4`). `None`:
    /// there is no such plugin.
    pub fn follow_plugin(&mut self, plugin: Option<&CsiPlugin>) {
        match plugin {
            None => {
                (self.controllers_healthy, self.nodes_healthy, self.schedulable) = (0, 0, false);
            }
            Some(p) => {
                self.provider.clone_from(&p.provider);
                self.provider_version.clone_from(&p.version);
                self.controller_required = p.controller_required;
                self.controllers_healthy = p.controllers_healthy;
                self.nodes_healthy = p.nodes_healthy;
                self.controllers_expected = p.controllers_expected;
                self.nodes_expected = p.nodes_expected;
                self.schedulable = p.nodes_healthy > 0 && (!p.controller_required || p.controllers_healthy > 0);
            }
        }
    }

    /// Removes what nobody is shown: secrets and mount flags.
    pub fn redact(&mut self) {
        self.secrets.clear();
        if let Some(options) = &mut self.mount_options
            && !options.mount_flags.is_empty()
        {
            options.mount_flags = vec!["[REDACTED]".into()];
        }
    }

    /// Whether an allocation claims the volume, or did and the claim is not released yet.
    pub fn in_use(&self) -> bool {
        self.claiming().next().is_some()
    }

    /// The IDs of the allocations that claim the volume or whose claim is not released yet; an allocation may come more
    /// than once.
    pub fn claiming(&self) -> impl Iterator<Item = &String> {
        let allocs = self.read_allocs.keys().chain(self.write_allocs.keys());
        let claims = self.read_claims.keys().chain(self.write_claims.keys()).chain(self.past_claims.keys());
        allocs.chain(claims)
    }

    /// The stored claim of an allocation: the one that is being released, else that for writing, else that for reading.
    pub fn claim_of(&self, alloc_id: &str) -> Option<&CsiVolumeClaim> {
        let past = self.past_claims.get(alloc_id);
        past.or_else(|| self.write_claims.get(alloc_id)).or_else(|| self.read_claims.get(alloc_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_services() {
        let services = |text| CsiServices::of_type(text).map(|s| (s.controller, s.node));
        assert_eq!(services("controller"), Some((true, false)));
        assert_eq!(services("node"), Some((false, true)));
        assert_eq!(services("monolith"), Some((true, true)));
        assert_eq!(services(""), None);
        let [one, other, both] = ["controller", "node", "monolith"].map(|t| CsiServices::of_type(t).unwrap());
        assert!(!one.overlap(other) && one.overlap(both) && other.overlap(both));
        assert!(one.has(CsiService::Controller) && !one.has(CsiService::Node) && both.has(CsiService::Node));
    }

    #[test]
    fn numbers_and_words_are_those_of_the_archive() {
        for (number, state) in [
            (0, CsiClaimState::Taken),
            (1, CsiClaimState::NodeDetached),
            (2, CsiClaimState::ControllerDetached),
            (3, CsiClaimState::ReadyToFree),
            (4, CsiClaimState::Unpublishing),
        ] {
            let claim = CsiVolumeClaim { state: number, ..Default::default() };
            assert_eq!((claim.progress(), state.number()), (Some(state), number));
        }
        let odd = CsiVolumeClaim { state: 5, mode: 3, ..Default::default() };
        assert_eq!((odd.progress(), odd.purpose()), (None, None));
        assert!(CsiClaimState::Unpublishing < CsiClaimState::NodeDetached);
        assert_eq!(CsiAccess::of_mode(&VolumeAccessMode::MultiNodeSingleWriter).and_then(CsiAccess::writers), Some(1));
        assert_eq!(CsiAccess::of_mode(&VolumeAccessMode::Unset), None);
    }
}
