//! The events of a task as bytes.
//!
//! First come the number of events and their [stamps](TaskEvents::stamps), then the other members of each event: which
//! of them are set, as bits, and the values of those. Texts that repeat, or follow from others, are not repeated.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::{Reader, Writer, flag};
use crate::alloc::TaskEvent;
use crate::modes::TaskEventType;

/// Texts that many events have; each takes a byte.
const FREQUENT: [&str; 32] = [
    "message",
    "Building Task Directory",
    "exit_code",
    "signal",
    "oom_killed",
    "false",
    "true",
    "exit_message",
    "kill_timeout",
    "5s",
    "kill_reason",
    "restart_reason",
    "start_delay",
    "Restart within policy",
    "fails_task",
    "driver_error",
    "driver_message",
    "image",
    "Downloading image",
    "failed_sibling",
    "kill_error",
    "setup_error",
    "validation_error",
    "download_error",
    "task_signal",
    "task_signal_reason",
    "Client reconnected",
    "Template re-rendered",
    "User requested task to restart",
    "User requested running tasks to restart",
    "The plugin answers",
    "User requested all tasks to restart",
];

/// The type of an event that is written as a text.
const OTHER_TYPE: u64 = 0x7f;

/// Which members of an event are set: those that are set most often have the lowest bits.
mod bit {
    /// The display message is the one that follows from the rest of the event.
    pub(super) const COMPOSED: u64 = 1;
    pub(super) const DETAILS: u64 = 1 << 1;
    pub(super) const MESSAGE: u64 = 1 << 2;
    /// The display message is another one.
    pub(super) const DISPLAY: u64 = 1 << 3;
    pub(super) const FAILS_TASK: u64 = 1 << 4;
    /// The first of the numbers and texts.
    pub(super) const FIRST: u32 = 5;
}

/// The members of one type, in the order of their bits: to be read, and to be set.
macro_rules! members {
    ($read:ident, $set:ident: [$type:ty; $count:literal], $($name:ident)+) => {
        fn $read(event: &TaskEvent) -> [&$type; $count] {
            [$(&event.$name),+]
        }

        fn $set(event: &mut TaskEvent) -> [&mut $type; $count] {
            [$(&mut event.$name),+]
        }
    };
}

members!(numbers, numbers_mut: [i64; 5], exit_code signal kill_timeout start_delay disk_limit);
// Their bits follow those of the numbers.
members!(texts, texts_mut: [String; 13], restart_reason kill_reason driver_message driver_error setup_error kill_error
    download_error validation_error failed_sibling vault_error task_signal_reason task_signal generic_source);

/// The events of a task, the oldest first, in a few dozen bytes instead of half a kilobyte each. Looks as a list of
/// [`TaskEvent`]s when it is written, read, compared and printed; the events are made when they are asked for.
#[derive(Clone, Default, PartialEq)]
pub struct TaskEvents(Box<[u8]>);

impl TaskEvents {
    /// How many events there are.
    pub fn len(&self) -> usize {
        Reader::new(&self.0, &FREQUENT).count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The events, the oldest first.
    pub fn iter(&self) -> TaskEventsIter<'_> {
        let mut rest = Reader::new(&self.0, &FREQUENT);
        let stamps = TaskEventStamps::new(&mut rest);
        TaskEventsIter { stamps, rest }
    }

    /// Types and times (Unix nanoseconds) of the events, the oldest first, without making the events.
    pub fn stamps(&self) -> TaskEventStamps<'_> {
        TaskEventStamps::new(&mut Reader::new(&self.0, &FREQUENT))
    }

    /// The newest event.
    pub fn last(&self) -> Option<TaskEvent> {
        self.iter().last()
    }

    /// Appends an event; the last `keep` of all stay.
    pub fn push(&mut self, event: TaskEvent, keep: usize) {
        let mut events: Vec<TaskEvent> = self.iter().collect();
        events.push(event);
        let surplus = events.len().saturating_sub(keep);
        *self = events.into_iter().skip(surplus).collect();
    }

    /// How many bytes are kept on the heap.
    pub fn packed_len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> TaskEvents {
        TaskEvents(bytes.into())
    }
}

/// Types and times of events: see [`TaskEvents::stamps`].
#[derive(Debug, Clone)]
pub struct TaskEventStamps<'a> {
    left: usize,
    time: i64,
    rest: Reader<'a>,
}

impl<'a> TaskEventStamps<'a> {
    /// Takes the stamps from the beginning of the bytes; the reader continues behind them.
    fn new(reader: &mut Reader<'a>) -> TaskEventStamps<'a> {
        let left = reader.count();
        let stamps: &[u8] = if left == 0 { &[] } else { reader.counted() };
        let rest = Reader::new(stamps, &FREQUENT);
        TaskEventStamps { left, time: 0, rest }
    }
}

impl Iterator for TaskEventStamps<'_> {
    type Item = (TaskEventType, i64);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let kind = match self.rest.number() {
            0 => TaskEventType::Unset,
            OTHER_TYPE => TaskEventType::from(&*self.rest.text()),
            n => {
                let known = usize::try_from(n - 1).ok().and_then(|n| TaskEventType::ALL.get(n));
                known.cloned().unwrap_or_default()
            }
        };
        self.time = self.time.wrapping_add(self.rest.signed());
        Some((kind, self.time))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for TaskEventStamps<'_> {}

/// The events of a task, the oldest first: see [`TaskEvents::iter`].
#[derive(Debug, Clone)]
pub struct TaskEventsIter<'a> {
    stamps: TaskEventStamps<'a>,
    rest: Reader<'a>,
}

impl Iterator for TaskEventsIter<'_> {
    type Item = TaskEvent;

    fn next(&mut self) -> Option<TaskEvent> {
        let (r#type, time) = self.stamps.next()?;
        let mut event = TaskEvent { r#type, time, ..TaskEvent::default() };
        read(&mut self.rest, &mut event);
        Some(event)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stamps.size_hint()
    }
}

impl ExactSizeIterator for TaskEventsIter<'_> {}

/// Whether a bit is set that follows those with names.
fn has(set: u64, at: usize) -> bool {
    set >> bit::FIRST >> at & 1 == 1
}

fn write_stamps(w: &mut Writer<'_>, events: &[TaskEvent]) {
    let mut inner = Writer::new(&FREQUENT, 16);
    let mut before = 0;
    for event in events {
        match TaskEventType::ALL.iter().position(|known| *known == event.r#type) {
            Some(n) => inner.number(n as u64 + 1),
            None if event.r#type.is_unset() => inner.number(0),
            None => {
                inner.number(OTHER_TYPE);
                inner.text(event.r#type.as_str());
            }
        }
        inner.signed(event.time.wrapping_sub(before));
        before = event.time;
    }
    let stamps = inner.finish();
    w.counted(&stamps);
}

fn write<'a>(w: &mut Writer<'a>, event: &'a TaskEvent) {
    let (numbers, texts) = (numbers(event), texts(event));
    let composed = event.has_composed_display();
    let mut set = flag(composed, bit::COMPOSED)
        | flag(!event.details.is_empty(), bit::DETAILS)
        | flag(!event.message.is_empty(), bit::MESSAGE)
        | flag(!composed && !event.display_message.is_empty(), bit::DISPLAY)
        | flag(event.fails_task, bit::FAILS_TASK);
    let of_numbers = numbers.iter().map(|n| **n != 0);
    let of_texts = texts.iter().map(|t| !t.is_empty());
    for (at, is_set) in of_numbers.chain(of_texts).enumerate() {
        set |= u64::from(is_set) << bit::FIRST << at;
    }
    w.number(set);
    if set & bit::MESSAGE != 0 {
        w.text(&event.message);
    }
    if set & bit::DETAILS != 0 {
        w.count(event.details.len());
        for (key, value) in &event.details {
            w.text(key);
            w.text(value);
        }
    }
    numbers.into_iter().filter(|n| **n != 0).for_each(|n| w.signed(*n));
    texts.iter().filter(|t| !t.is_empty()).for_each(|t| w.text(t));
    if set & bit::DISPLAY != 0 {
        w.text(&event.display_message);
    }
}

fn read(r: &mut Reader<'_>, event: &mut TaskEvent) {
    let set = r.number();
    if set & bit::MESSAGE != 0 {
        event.message = r.text().into_owned();
    }
    if set & bit::DETAILS != 0 {
        event.details = (0..r.count()).map(|_| (r.text().into_owned(), r.text().into_owned())).collect();
    }
    event.fails_task = set & bit::FAILS_TASK != 0;
    let mut at = 0;
    for number in numbers_mut(event) {
        if has(set, at) {
            *number = r.signed();
        }
        at += 1;
    }
    for text in texts_mut(event) {
        if has(set, at) {
            *text = r.text().into_owned();
        }
        at += 1;
    }
    if set & bit::DISPLAY != 0 {
        event.display_message = r.text().into_owned();
    } else if set & bit::COMPOSED != 0 {
        event.display_message = event.composed_display();
    }
}

impl From<Vec<TaskEvent>> for TaskEvents {
    fn from(events: Vec<TaskEvent>) -> TaskEvents {
        if events.is_empty() {
            return TaskEvents::default();
        }
        let mut w = Writer::new(&FREQUENT, 64);
        w.count(events.len());
        write_stamps(&mut w, &events);
        events.iter().for_each(|e| write(&mut w, e));
        TaskEvents(w.finish().into_boxed_slice())
    }
}

impl FromIterator<TaskEvent> for TaskEvents {
    fn from_iter<I: IntoIterator<Item = TaskEvent>>(events: I) -> TaskEvents {
        events.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a> IntoIterator for &'a TaskEvents {
    type Item = TaskEvent;
    type IntoIter = TaskEventsIter<'a>;

    fn into_iter(self) -> TaskEventsIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for TaskEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl Serialize for TaskEvents {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for TaskEvents {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<TaskEvents, D::Error> {
        Vec::deserialize(d).map(|events: Vec<TaskEvent>| events.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{SECOND, TaskState};

    fn text() -> impl Strategy<Value = String> {
        proptest::option::of("[a-c]{0,2}|message|true|5s|-?[0-9]{1,19}|\\PC{0,30}").prop_map(Option::unwrap_or_default)
    }

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![Just(0), -200..200_i64, any::<i64>()]
    }

    prop_compose! {
        fn event()(
            kind in prop_oneof![(0..TaskEventType::ALL.len()).prop_map(|n| TaskEventType::ALL[n].to_string()), text()],
            time in prop_oneof![any::<i64>(), 1_770_000_000_000_000_000..1_780_000_000_000_000_000_i64],
            display in proptest::option::of(text()),
            details in proptest::collection::btree_map(text(), text(), 0..4),
            flag in any::<bool>(),
            n in proptest::array::uniform5(number()),
            t in proptest::collection::vec(text(), 14),
        ) -> TaskEvent {
            let mut out = TaskEvent {
                r#type: kind.into(), time, details, fails_task: flag, message: t[13].clone(), ..Default::default()
            };
            numbers_mut(&mut out).into_iter().zip(n).for_each(|(member, n)| *member = n);
            texts_mut(&mut out).into_iter().zip(&t).for_each(|(member, t)| member.clone_from(t));
            out.display_message = display.unwrap_or_else(|| out.composed_display());
            out
        }
    }

    /// What a task state was before its events were packed.
    #[crate::json::null_is_default]
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase", default)]
    struct Plain {
        #[serde(with = "crate::json::nil")]
        events: Vec<TaskEvent>,
    }

    #[crate::json::null_is_default]
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase", default)]
    struct Packed {
        #[serde(with = "crate::json::nil")]
        events: TaskEvents,
    }

    proptest! {
        #[test]
        fn events_stay_as_they_are(list in proptest::collection::vec(event(), 0..6)) {
            let packed: TaskEvents = list.clone().into();
            assert_eq!(packed.iter().collect::<Vec<_>>(), list);
            assert_eq!((packed.len(), packed.is_empty(), packed.last()), (list.len(), list.is_empty(), list.last().cloned()));
            let stamps: Vec<_> = list.iter().map(|e| (e.r#type.clone(), e.time)).collect();
            assert_eq!(packed.stamps().collect::<Vec<_>>(), stamps);
            assert_eq!(format!("{packed:?}"), format!("{list:?}"));
            let mut changed = list.clone();
            if let Some(e) = changed.last_mut() {
                e.time = e.time.wrapping_add(1);
                assert_ne!(packed, changed.into());
            }
        }

        #[test]
        fn forms_are_those_of_a_list(list in proptest::collection::vec(event(), 0..4)) {
            let (plain, packed) = (Plain { events: list.clone() }, Packed { events: list.into() });
            let json = serde_json::to_string(&plain).unwrap();
            assert_eq!(serde_json::to_string(&packed).unwrap(), json);
            assert_eq!(serde_json::from_str::<Packed>(&json).unwrap(), packed);
            let binary = rmp_serde::to_vec_named(&plain).unwrap();
            assert_eq!(rmp_serde::to_vec_named(&packed).unwrap(), binary);
            assert_eq!(rmp_serde::from_slice::<Packed>(&binary).unwrap(), packed);
        }

        #[test]
        fn any_bytes_are_events(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let packed = TaskEvents(bytes.into());
            assert!(packed.iter().count() <= 60 && packed.stamps().count() <= 60);
        }
    }

    #[test]
    fn null_and_absent_lists_are_empty() {
        for text in [r#"{"Events":null}"#, r#"{"Events":[]}"#, "{}"] {
            let state: TaskState = serde_json::from_str(text).unwrap();
            assert!(state.events.is_empty() && state.events.last().is_none());
            assert!(serde_json::to_string(&state).unwrap().contains(r#""Events":null"#));
        }
        let wrong = |text| serde_json::from_str::<TaskEvents>(text).unwrap_err().to_string();
        let plain = |text| serde_json::from_str::<Vec<TaskEvent>>(text).unwrap_err().to_string();
        for text in ["7", "{}", "[7]", r#"[{"Time":"x"}]"#] {
            assert_eq!(wrong(text), plain(text));
        }
    }

    #[test]
    fn the_last_events_stay() {
        let mut events = TaskEvents::default();
        (0..5).for_each(|time| events.push(TaskEvent { time, ..Default::default() }, 3));
        assert_eq!(events.iter().map(|e| e.time).collect::<Vec<_>>(), [2, 3, 4]);
    }

    #[test]
    fn the_events_of_a_started_task_are_few_bytes() {
        let event = |r#type: &str, time| {
            let mut e = TaskEvent { r#type: r#type.into(), time, ..Default::default() };
            e.display_message = e.composed_display();
            e
        };
        let at = 1_772_323_200_123_456_789;
        let mut setup = event("Task Setup", at + SECOND / 50);
        setup.message = setup.display_message.clone();
        setup.details = [("message".to_string(), setup.message.clone())].into();
        let list = vec![event("Received", at), setup, event("Started", at + SECOND / 3)];
        let packed = TaskEvents::from(list);
        assert!(packed.packed_len() <= 40, "{}", packed.packed_len());
        assert!(size_of::<TaskEvents>() <= 16);
    }
}
