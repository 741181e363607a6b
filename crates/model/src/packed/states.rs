//! The states of the tasks of an allocation as bytes.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::{Reader, Writer, flag};
use super::events::TaskEvents;
use crate::alloc::TaskState;
use crate::sorted_map::SortedMap;
use crate::status::TaskStatus;
use crate::time::Time;

/// Texts that many states have; each takes a byte.
const FREQUENT: [&str; 8] = ["server", "web", "app", "main", "task", "sidecar", "init", "worker"];

/// Which members of a state are set.
mod bit {
    pub(super) const STARTED_AT: u64 = 1;
    pub(super) const FINISHED_AT: u64 = 1 << 1;
    pub(super) const FAILED: u64 = 1 << 2;
    pub(super) const RESTARTS: u64 = 1 << 3;
    pub(super) const LAST_RESTART: u64 = 1 << 4;
    pub(super) const PAUSED: u64 = 1 << 5;
    /// The status is a text.
    pub(super) const OTHER_STATUS: u64 = 1 << 6;
    /// Some time is written in another zone than UTC.
    pub(super) const ZONES: u64 = 1 << 7;
}

/// The states of the tasks of an allocation by task, in ascending order, in a few dozen bytes. Looks as a map of
/// [`TaskState`]s when it is written, read, compared and printed; the states are made when they are asked for.
#[derive(Clone, Default)]
pub struct TaskStates(Box<[u8]>);

impl TaskStates {
    /// How many tasks there are.
    pub fn len(&self) -> usize {
        Reader::new(&self.0, &FREQUENT).count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and states by ascending name.
    pub fn iter(&self) -> TaskStatesIter<'_> {
        let mut rest = Reader::new(&self.0, &FREQUENT);
        TaskStatesIter { left: rest.count(), seconds: 0, rest }
    }

    /// The names, ascending.
    pub fn keys(&self) -> impl Iterator<Item = String> {
        self.iter().map(|(name, _)| name)
    }

    /// The states by ascending name.
    pub fn values(&self) -> impl Iterator<Item = TaskState> {
        let mut rest = self.iter();
        std::iter::from_fn(move || rest.take_next(true).map(|(_, state)| state))
    }

    /// The states without their events, by ascending name. Makes nothing on the heap.
    pub fn without_events(&self) -> impl Iterator<Item = TaskState> {
        let mut rest = self.iter();
        std::iter::from_fn(move || rest.take_next(false).map(|(_, state)| state))
    }

    /// The state of a task.
    pub fn get(&self, name: &str) -> Option<TaskState> {
        let mut rest = self.iter();
        std::iter::from_fn(|| rest.take_next(true)).find(|(n, _)| n == name).map(|(_, state)| state)
    }

    /// Sets the state of a task.
    pub fn insert(&mut self, name: String, state: TaskState) {
        let mut all: SortedMap<TaskState> = self.iter().collect();
        all.insert(name, state);
        *self = all.into();
    }

    /// Changes all states.
    pub fn change(&mut self, change: impl FnMut(&mut TaskState)) {
        let mut all: SortedMap<TaskState> = self.iter().collect();
        all.values_mut().for_each(change);
        *self = all.into();
    }

    /// How many bytes are kept on the heap.
    pub fn packed_len(&self) -> usize {
        self.0.len()
    }
}

/// Names and states by ascending name: see [`TaskStates::iter`].
#[derive(Debug, Clone)]
pub struct TaskStatesIter<'a> {
    left: usize,
    /// Unix seconds of the time before.
    seconds: i64,
    rest: Reader<'a>,
}

impl<'a> TaskStatesIter<'a> {
    /// Takes the next state, and its events if they are wanted.
    fn take_next(&mut self, events: bool) -> Option<(Cow<'a, str>, TaskState)> {
        self.left = self.left.checked_sub(1)?;
        let name = self.rest.text();
        let mut state = read(&mut self.rest, &mut self.seconds);
        let packed = self.rest.counted();
        if events {
            state.events = TaskEvents::from_bytes(packed);
        }
        Some((name, state))
    }
}

impl Iterator for TaskStatesIter<'_> {
    type Item = (String, TaskState);

    fn next(&mut self) -> Option<(String, TaskState)> {
        self.take_next(true).map(|(name, state)| (name.into_owned(), state))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for TaskStatesIter<'_> {}

/// The statuses with a number: the others are written as texts.
const STATUSES: [TaskStatus; 4] = [TaskStatus::Unset, TaskStatus::Pending, TaskStatus::Running, TaskStatus::Dead];

fn write<'a>(w: &mut Writer<'a>, state: &'a TaskState, seconds: &mut i64) {
    let times = [
        (state.started_at, bit::STARTED_AT),
        (state.finished_at, bit::FINISHED_AT),
        (state.last_restart, bit::LAST_RESTART),
    ];
    let parts =
        times.map(|(time, bit)| (time.parts(), bit)).into_iter().filter(|(parts, _)| *parts != Time::ZERO.parts());
    let parts: Vec<_> = parts.collect();
    let zones = parts.iter().any(|((_, _, zone), _)| *zone != 0);
    let status = STATUSES.iter().position(|known| *known == state.state);
    let set = parts.iter().map(|(_, bit)| bit).sum::<u64>()
        + flag(state.failed, bit::FAILED)
        + flag(state.restarts != 0, bit::RESTARTS)
        + flag(!state.paused.is_empty(), bit::PAUSED)
        + flag(zones, bit::ZONES)
        + flag(status.is_none(), bit::OTHER_STATUS);
    w.number(set);
    match status {
        Some(n) => w.count(n),
        None => w.text(state.state.as_str()),
    }
    for ((now, nanos, zone), _) in parts {
        w.signed(now.wrapping_sub(*seconds));
        w.number(nanos.into());
        if zones {
            w.signed(zone.into());
        }
        *seconds = now;
    }
    if state.restarts != 0 {
        w.number(state.restarts);
    }
    if !state.paused.is_empty() {
        w.text(&state.paused);
    }
}

fn read(r: &mut Reader<'_>, seconds: &mut i64) -> TaskState {
    let set = r.number();
    let mut out = TaskState { failed: set & bit::FAILED != 0, ..TaskState::default() };
    out.state = if set & bit::OTHER_STATUS != 0 {
        TaskStatus::from(&*r.text())
    } else {
        usize::try_from(r.number()).ok().and_then(|n| STATUSES.get(n)).cloned().unwrap_or_default()
    };
    for (time, bit) in [
        (&mut out.started_at, bit::STARTED_AT),
        (&mut out.finished_at, bit::FINISHED_AT),
        (&mut out.last_restart, bit::LAST_RESTART),
    ] {
        if set & bit != 0 {
            *seconds = seconds.wrapping_add(r.signed());
            let nanos = u32::try_from(r.number()).unwrap_or_default();
            let zone = if set & bit::ZONES != 0 { r.signed() } else { 0 };
            *time = Time::from_parts(*seconds, nanos, i32::try_from(zone).unwrap_or_default());
        }
    }
    if set & bit::RESTARTS != 0 {
        out.restarts = r.number();
    }
    if set & bit::PAUSED != 0 {
        out.paused = r.text().into_owned();
    }
    out
}

impl From<SortedMap<TaskState>> for TaskStates {
    fn from(states: SortedMap<TaskState>) -> TaskStates {
        if states.is_empty() {
            return TaskStates::default();
        }
        let mut w = Writer::new(&FREQUENT, 128);
        w.count(states.len());
        let mut seconds = 0;
        for (name, state) in &states {
            w.text(name);
            write(&mut w, state, &mut seconds);
            w.counted(state.events.as_bytes());
        }
        TaskStates(w.finish().into_boxed_slice())
    }
}

/// Of equal names the last wins.
impl FromIterator<(String, TaskState)> for TaskStates {
    fn from_iter<I: IntoIterator<Item = (String, TaskState)>>(states: I) -> TaskStates {
        states.into_iter().collect::<SortedMap<TaskState>>().into()
    }
}

impl<const N: usize> From<[(String, TaskState); N]> for TaskStates {
    fn from(states: [(String, TaskState); N]) -> TaskStates {
        states.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a TaskStates {
    type Item = (String, TaskState);
    type IntoIter = TaskStatesIter<'a>;

    fn into_iter(self) -> TaskStatesIter<'a> {
        self.iter()
    }
}

/// Times are compared as instants, whatever their zones.
impl PartialEq for TaskStates {
    fn eq(&self, other: &TaskStates) -> bool {
        self.0 == other.0 || self.iter().eq(other.iter())
    }
}

impl fmt::Debug for TaskStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl Serialize for TaskStates {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self)
    }
}

impl<'de> Deserialize<'de> for TaskStates {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<TaskStates, D::Error> {
        SortedMap::deserialize(d).map(|states: SortedMap<TaskState>| states.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;
    use crate::{SECOND, TaskEvent};

    fn time() -> impl Strategy<Value = Time> {
        let plain = prop_oneof![any::<i64>(), 1_770_000_000 * SECOND..1_780_000_000 * SECOND];
        prop_oneof![
            Just(Time::ZERO),
            plain.prop_map(Time::from_unix_nanos),
            (0..60_u8).prop_map(|n| Time::parse(&format!("2026-11-21T12:40:{n:02}+05:30")).unwrap()),
        ]
    }

    prop_compose! {
        fn state()(
            status in "|pending|running|dead|[a-z]{1,5}",
            failed in any::<bool>(),
            restarts in prop_oneof![Just(0), any::<u64>()],
            times in proptest::array::uniform3(time()),
            paused in "|pause|\\PC{0,5}",
            events in 0..4_i64,
        ) -> TaskState {
            let event = |time| TaskEvent { r#type: "Started".into(), time, ..Default::default() };
            TaskState {
                state: status.into(), failed, restarts, last_restart: times[0], started_at: times[1],
                finished_at: times[2], paused, events: (0..events).map(event).collect(),
            }
        }
    }

    proptest! {
        #[test]
        fn states_stay_as_they_are(list in btree_map("web|init|[a-c]{0,2}|\\PC{0,8}", state(), 0..4)) {
            let plain: SortedMap<TaskState> = list.clone().into_iter().collect();
            let packed: TaskStates = list.clone().into_iter().collect();
            // Texts of times have their zones.
            assert_eq!(format!("{:?}", packed.iter().collect::<Vec<_>>()), format!("{:?}", plain.iter().collect::<Vec<_>>()));
            assert_eq!(format!("{packed:?}"), format!("{plain:?}"));
            assert_eq!((packed.len(), packed.is_empty()), (list.len(), list.is_empty()));
            for (name, state) in &list {
                assert_eq!(packed.get(name).as_ref(), Some(state));
            }
            assert_eq!(packed.get("none of them"), None);
            assert_eq!(packed.values().collect::<Vec<_>>(), plain.values().cloned().collect::<Vec<_>>());
            let bare = |s: &TaskState| TaskState { events: TaskEvents::default(), ..s.clone() };
            assert_eq!(packed.without_events().collect::<Vec<_>>(), plain.values().map(bare).collect::<Vec<_>>());
            let json = serde_json::to_string(&plain).unwrap();
            assert_eq!(serde_json::to_string(&packed).unwrap(), json);
            assert_eq!(serde_json::from_str::<TaskStates>(&json).unwrap(), packed);
            assert_eq!(rmp_serde::to_vec_named(&packed).unwrap(), rmp_serde::to_vec_named(&plain).unwrap());
            let mut changed = packed.clone();
            changed.change(|state| state.restarts ^= 1);
            assert_eq!(changed == packed, list.is_empty());
            changed.change(|state| state.restarts ^= 1);
            assert_eq!(changed, packed);
        }

        #[test]
        fn any_bytes_are_states(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            assert!(TaskStates(bytes.into()).iter().count() <= 60);
        }
    }

    #[test]
    fn times_are_compared_as_instants() {
        let at = |text: &str| -> TaskStates {
            [("a".to_string(), TaskState { started_at: Time::parse(text).unwrap(), ..Default::default() })].into()
        };
        assert_eq!(at("2026-11-21T12:40:39+05:30"), at("2026-11-21T07:10:39Z"));
        assert_ne!(at("2026-11-21T12:40:39+05:30"), at("2026-11-21T12:40:39Z"));
    }

    #[test]
    fn states_are_set_by_name() {
        let mut states = TaskStates::default();
        ["b", "a", "b"].into_iter().zip(1..).for_each(|(name, restarts)| {
            states.insert(name.into(), TaskState { restarts, ..Default::default() });
        });
        assert_eq!(
            states.iter().map(|(name, s)| (name, s.restarts)).collect::<Vec<_>>(),
            [("a".into(), 2), ("b".into(), 3)]
        );
        assert_eq!(states.keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_running_task_takes_few_bytes() {
        let started_at = Time::from_unix_nanos(1_772_323_200_123_456_789);
        let state = TaskState { state: TaskStatus::Running, started_at, ..Default::default() };
        let states = TaskStates::from([("server".to_string(), state)]);
        assert!(states.packed_len() <= 16, "{}", states.packed_len());
    }
}
