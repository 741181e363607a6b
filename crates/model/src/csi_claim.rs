//! The words and numbers of claims on CSI volumes, as closed sets (`docs/spec/snapshot-archive.md §7`).

use super::volume::{CsiVolume, CsiVolumeClaim};

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
    /// The access of an access mode; `None`: there is no such mode.
    pub fn of_mode(mode: &str) -> Option<CsiAccess> {
        Some(match mode {
            "single-node-reader-only" => CsiAccess::SingleNodeReader,
            "single-node-writer" => CsiAccess::SingleNodeWriter,
            "multi-node-reader-only" => CsiAccess::MultiNodeReader,
            "multi-node-single-writer" => CsiAccess::MultiNodeSingleWriter,
            "multi-node-multi-writer" => CsiAccess::MultiNodeMultiWriter,
            _ => return None,
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
        assert_eq!(CsiAccess::of_mode("multi-node-single-writer").and_then(CsiAccess::writers), Some(1));
        assert_eq!(CsiAccess::of_mode(""), None);
    }
}
