//! The least time between scaling operations (`docs/spec/cluster-scaling.md §1`, `§13`): one time after any operation,
//! or one for each direction.

use std::time::Duration;

use encamp_model::Time;

use crate::meta::Reader;
use crate::record::{Direction, Record};

/// The key of the cooldown between two scale-outs.
pub const SCALE_OUT: &str = "replicator_scaleout_cooldown";
/// The key of the cooldown between two scale-ins.
pub const SCALE_IN: &str = "replicator_scalein_cooldown";

/// The cooldowns of a pool or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cooldowns {
    /// After an operation of any direction, for directions without a cooldown of their own.
    pub both: Duration,
    /// Between two scale-outs; a scale-in does not delay a scale-out then.
    pub scale_out: Option<Duration>,
    /// Between two scale-ins; a scale-out does not delay a scale-in then.
    pub scale_in: Option<Duration>,
}

/// What is left of the cooldown of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CooldownLeft {
    /// How long until the next operation of the direction may begin, nanoseconds.
    pub left: i64,
    /// The operation it counts from is dated in the future and counts as of now.
    pub corrected: bool,
}

impl Cooldowns {
    /// One cooldown after any operation.
    pub fn one(both: Duration) -> Cooldowns {
        Cooldowns { both, scale_out: None, scale_in: None }
    }

    /// Reads the keys of a meta block: `keys` are the names of the cooldown of both directions, `default` its seconds.
    pub(crate) fn read(reader: &mut Reader<'_>, keys: &[&str], default: i64) -> Cooldowns {
        let both = seconds(reader.int_of(keys, 0, Some(default)));
        let mut own = |key| reader.text(key).map(|_| seconds(reader.int(key, 0, None)));
        Cooldowns { both, scale_out: own(SCALE_OUT), scale_in: own(SCALE_IN) }
    }

    /// The cooldown that a direction has to itself.
    pub fn own(&self, direction: Direction) -> Option<Duration> {
        match direction {
            Direction::Out => self.scale_out,
            Direction::In => self.scale_in,
        }
    }

    /// The cooldown of a direction.
    pub fn of(&self, direction: Direction) -> Duration {
        self.own(direction).unwrap_or(self.both)
    }

    /// When the operation ended that the cooldown of a direction counts from.
    pub fn counts_from(&self, direction: Direction, record: &Record) -> Option<i64> {
        let any = record.last_scaling_event;
        let last = match (self.own(direction), record.last_scaleout_event, record.last_scalein_event) {
            // Older versions did not record the direction: the operation may have been of this one.
            (None, _, _) | (Some(_), None, None) => any,
            (Some(_), out, r#in) => match direction {
                Direction::Out => out,
                Direction::In => r#in,
            },
        };
        last.and_then(Time::unix_nanos)
    }

    /// What is left of the cooldown of a direction at `now` (Unix nanoseconds); none if nothing was scaled yet.
    pub fn left(&self, direction: Direction, record: &Record, now: i64) -> Option<CooldownLeft> {
        let last = self.counts_from(direction, record)?;
        let cooldown = i128::try_from(self.of(direction).as_nanos()).unwrap_or(i128::MAX);
        let left = i128::from(last.min(now)).saturating_add(cooldown).saturating_sub(i128::from(now)).max(0);
        Some(CooldownLeft { left: i64::try_from(left).unwrap_or(i64::MAX), corrected: last > now })
    }

    /// Nanoseconds until an operation of a direction may begin.
    pub fn nanos_left(&self, direction: Direction, record: &Record, now: i64) -> i64 {
        self.left(direction, record, now).map_or(0, |l| l.left)
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use encamp_model::SECOND;
    use proptest::prelude::*;

    use super::*;
    use crate::record::ResourceType;
    use crate::test_cluster::NOW;

    fn record(events: &[(Direction, i64)]) -> Record {
        let mut record = Record::new(ResourceType::WorkerPool, "web");
        events.iter().for_each(|(direction, at)| record.note_scaling(*direction, *at));
        record
    }

    fn other(direction: Direction) -> Direction {
        match direction {
            Direction::In => Direction::Out,
            Direction::Out => Direction::In,
        }
    }

    #[test]
    fn records_of_older_versions_delay_both_directions() {
        let old = Record { last_scaling_event: Some(Time::from_unix_nanos(NOW)), ..record(&[]) };
        let minute = Some(Duration::from_secs(60));
        let both = Cooldowns { scale_out: minute, scale_in: minute, ..Cooldowns::one(Duration::ZERO) };
        for direction in [Direction::Out, Direction::In] {
            assert_eq!(both.nanos_left(direction, &old, NOW + SECOND), 59 * SECOND, "{direction:?}");
        }
    }

    fn events() -> impl Strategy<Value = Vec<(Direction, i64)>> {
        let direction = prop_oneof![Just(Direction::In), Just(Direction::Out)];
        proptest::collection::vec((direction, 0..2000i64), 0..6).prop_map(|mut events| {
            events.sort_by_key(|(_, at)| *at);
            events.into_iter().map(|(direction, at)| (direction, NOW + at * SECOND)).collect()
        })
    }

    fn cooldowns() -> impl Strategy<Value = Cooldowns> {
        let own = || proptest::option::of((0..900u64).prop_map(Duration::from_secs));
        (0..900u64, own(), own()).prop_map(|(both, scale_out, scale_in)| Cooldowns {
            both: Duration::from_secs(both),
            scale_out,
            scale_in,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        /// A direction with a cooldown of its own waits for operations of this direction alone; one without waits for
        /// every operation, as it did before there were cooldowns of directions.
        #[test]
        fn cooldowns_of_one_direction_do_not_delay_the_other(
            cooldowns in cooldowns(),
            events in events(),
            later in 0..3000i64,
        ) {
            let now = NOW + later * SECOND;
            for direction in [Direction::In, Direction::Out] {
                let counts: Vec<_> = match cooldowns.own(direction) {
                    Some(_) => events.iter().copied().filter(|(d, _)| *d == direction).collect(),
                    None => events.clone(),
                };
                let last = counts.last().map(|(_, at)| (*at).min(now));
                let cooldown = i64::try_from(cooldowns.of(direction).as_nanos()).unwrap();
                let want = last.map_or(0, |last| (last + cooldown - now).max(0));
                prop_assert_eq!(cooldowns.nanos_left(direction, &record(&events), now), want);
                // Whatever the other direction's cooldown is.
                let mut changed = cooldowns;
                match other(direction) {
                    Direction::In => changed.scale_in = Some(Duration::from_secs(86_400)),
                    Direction::Out => changed.scale_out = Some(Duration::from_secs(86_400)),
                }
                prop_assert_eq!(changed.nanos_left(direction, &record(&events), now), want);
            }
        }
    }
}
