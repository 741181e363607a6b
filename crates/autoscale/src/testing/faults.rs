//! Calls that fail, hang and return false data, at random from a seed.

use crate::provider::{Instance, InstanceState, ScalingGroup};

/// An instance that only a provider that lies lists.
pub(crate) const UNHEARD_OF: &str = "i-unheard-of";

/// The fate of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is answered.
    None,
    /// It fails without effect.
    Refused,
    /// It has its effect and fails.
    LostAnswer,
    /// It is never answered.
    Hangs,
}

/// How often things go wrong, in thousandths, and the state of chance.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    pub(crate) seed: u64,
    pub(crate) reads: u64,
    pub(crate) effects: u64,
    pub(crate) lies: u64,
    /// The provider accepts calls and does half of it, or nothing.
    pub(crate) halves: u64,
    /// Every write of a Variable fails.
    pub(crate) disk_full: bool,
    /// Which agents are servers cannot be read.
    pub(crate) servers_unknown: bool,
    /// Others write the state object as well.
    pub(crate) conflicts: u64,
    /// New instances that never become nodes.
    pub(crate) stillborn: u64,
    /// The clock was off once.
    pub(crate) skewed: bool,
    /// How far the autoscaler's clock is off, nanoseconds.
    pub(crate) skew: i64,
}

impl Faults {
    /// Nothing goes wrong.
    pub(crate) fn none(seed: u64) -> Faults {
        let (reads, effects, lies, halves, conflicts, stillborn) = (0, 0, 0, 0, 0, 0);
        let (disk_full, servers_unknown, skewed, skew) = (false, false, false, 0);
        Faults { seed, reads, effects, lies, halves, disk_full, servers_unknown, conflicts, stillborn, skewed, skew }
    }

    /// Evenly spread (splitmix64).
    pub(crate) fn chance(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// True so many times in a thousand.
    pub(crate) fn happens(&mut self, thousandths: u64) -> bool {
        thousandths > 0 && self.chance() % 1000 < thousandths
    }

    fn fault(&mut self, thousandths: u64) -> Fault {
        if !self.happens(thousandths) {
            return Fault::None;
        }
        match self.chance() % 8 {
            0 => Fault::Hangs,
            1..=4 => Fault::Refused,
            _ => Fault::LostAnswer,
        }
    }

    pub(crate) fn of_read(&mut self) -> Fault {
        self.fault(self.reads)
    }

    pub(crate) fn of_effect(&mut self) -> Fault {
        self.fault(self.effects)
    }

    /// The group as the provider reports it.
    pub(crate) fn of_group(&mut self, mut group: ScalingGroup) -> ScalingGroup {
        if !self.happens(self.lies) {
            return group;
        }
        match self.chance() % 5 {
            0 => group.desired += 1,
            1 => group.desired -= 1,
            2 => drop(group.instances.pop()),
            3 => group.instances.clear(),
            _ => group.instances.push(Instance { id: UNHEARD_OF.into(), state: InstanceState::Active }),
        }
        group
    }
}
