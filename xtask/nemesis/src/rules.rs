//! What happens to a packet: the pure part of the switch.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::dice::Dice;
use crate::place::Place;

/// Disturbances of the packets between some members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Noise {
    /// The shortest and the longest delay of a packet, in milliseconds; packets overtake each other.
    pub(crate) delay: (u64, u64),
    /// Lost packets of a hundred.
    pub(crate) loss: u8,
    /// Packets of a hundred that arrive twice.
    pub(crate) double: u8,
}

/// The rules in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Packets from the first to the second member are dropped.
    blocked: BTreeSet<(Place, Place)>,
    /// The members between which packets are disturbed.
    noisy: BTreeSet<Place>,
    noise: Noise,
}

/// What happens to a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The packet is not delivered.
    Drop,
    /// The packet is delivered after each of these delays.
    Deliver(Vec<Duration>),
}

impl Rules {
    /// Blocks all packets from members of the first list to those of the second.
    pub(crate) fn block(&mut self, from: &[Place], to: &[Place]) {
        let pairs = from.iter().flat_map(|f| to.iter().map(|t| (*f, *t))).filter(|(f, t)| f != t);
        self.blocked.extend(pairs);
    }

    /// Blocks all packets between members of two lists.
    pub(crate) fn separate(&mut self, one: &[Place], other: &[Place]) {
        self.block(one, other);
        self.block(other, one);
    }

    /// Disturbs the packets between these members.
    pub(crate) fn disturb(&mut self, members: &[Place], noise: Noise) {
        self.noisy = members.iter().copied().collect();
        self.noise = noise;
    }

    /// What happens to a packet between two members.
    pub(crate) fn decide(&self, from: Place, to: Place, dice: &mut Dice) -> Verdict {
        if self.blocked.contains(&(from, to)) {
            return Verdict::Drop;
        }
        if !self.noisy.contains(&from) || !self.noisy.contains(&to) {
            return Verdict::Deliver(vec![Duration::ZERO]);
        }
        if dice.percent(self.noise.loss) {
            return Verdict::Drop;
        }
        let copies = if dice.percent(self.noise.double) { 2 } else { 1 };
        let (least, most) = self.noise.delay;
        Verdict::Deliver((0..copies).map(|_| Duration::from_millis(dice.between(least, most))).collect())
    }
}

/// The source and the destination of an IPv4 packet; `None` for anything else.
pub(crate) fn ends(packet: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let header = packet.get(..20)?;
    if header[0] >> 4 != 4 {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    Some((address(12), address(16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Place = Place::Server(0);
    const B: Place = Place::Server(1);
    const C: Place = Place::Node(3);

    fn now() -> Verdict {
        Verdict::Deliver(vec![Duration::ZERO])
    }

    #[test]
    fn partitions_block_in_the_given_directions() {
        let mut dice = Dice::new(1, "test");
        let mut rules = Rules::default();
        assert_eq!(rules.decide(A, B, &mut dice), now());
        rules.block(&[A], &[B]);
        assert_eq!(rules.decide(A, B, &mut dice), Verdict::Drop);
        assert_eq!(rules.decide(B, A, &mut dice), now());
        rules.separate(&[A, B], &[C]);
        assert_eq!((rules.decide(C, A, &mut dice), rules.decide(B, C, &mut dice)), (Verdict::Drop, Verdict::Drop));
        assert_eq!(rules.decide(B, A, &mut dice), now());
    }

    #[test]
    fn noise_disturbs_its_members_alone() {
        let mut dice = Dice::new(1, "test");
        let mut rules = Rules::default();
        rules.disturb(&[A, B], Noise { delay: (20, 40), loss: 30, double: 50 });
        assert_eq!(rules.decide(A, C, &mut dice), now());
        let verdicts: Vec<Verdict> = (0..1000).map(|_| rules.decide(A, B, &mut dice)).collect();
        let lost = verdicts.iter().filter(|v| **v == Verdict::Drop).count();
        let doubled = verdicts.iter().filter(|v| matches!(v, Verdict::Deliver(copies) if copies.len() == 2)).count();
        assert!((200..400).contains(&lost), "{lost}");
        assert!((250..450).contains(&doubled), "{doubled}");
        let delays = verdicts.iter().filter_map(|v| match v {
            Verdict::Deliver(copies) => Some(copies),
            Verdict::Drop => None,
        });
        let range = Duration::from_millis(20)..=Duration::from_millis(40);
        assert!(delays.flatten().all(|d| range.contains(d)));
    }

    #[test]
    fn packets_name_their_ends() {
        let mut packet = vec![0_u8; 24];
        packet[0] = 0x45;
        packet[12..16].copy_from_slice(&[10, 231, 1, 1]);
        packet[16..20].copy_from_slice(&[10, 231, 2, 4]);
        assert_eq!(ends(&packet), Some((A.address(), C.address())));
        packet[0] = 0x60;
        assert_eq!(ends(&packet), None);
        assert_eq!(ends(&packet[..10]), None);
    }
}
