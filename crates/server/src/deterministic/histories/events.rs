//! Event streams: no event is lost, doubled or out of order.

use std::collections::BTreeMap;

/// An event, as it was published or received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// The log index.
    pub index: u64,
    /// The topic.
    pub topic: &'static str,
    /// ID or name of the object.
    pub key: String,
    /// The status of the object in the event; empty if it has none.
    pub status: String,
}

/// What one subscription delivered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// The index from which the subscriber asked for events.
    pub asked: u64,
    /// The oldest index that the server still had.
    pub oldest: u64,
    /// The events from `asked` on, in the order of their arrival.
    pub items: Vec<Item>,
}

/// A subscription differs from what happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongStream {
    /// An event that happened before the last one received did not arrive.
    #[error("{0:?} was lost")]
    Lost(Item),
    /// An event arrived twice.
    #[error("{0:?} arrived twice")]
    Doubled(Item),
    /// An event arrived before one that happened earlier.
    #[error("{0:?} arrived too early")]
    Early(Item),
    /// An event never happened.
    #[error("{0:?} never happened")]
    Invented(Item),
    /// One write is told of an object in two events.
    #[error("{0:?} is another event of an object at one index")]
    Repeated(Item),
}

/// Compares a subscription with all events by index. An object has one event of an index.
///
/// # Errors
/// The first difference.
pub(crate) fn check(truth: &BTreeMap<u64, Vec<Item>>, seen: &Delivered) -> Result<(), WrongStream> {
    let Some(last) = seen.items.iter().map(|i| i.index).max() else { return Ok(()) };
    let from = seen.asked.max(seen.oldest);
    let mut due =
        truth.range(from.min(last)..=last).flat_map(|(_, items)| items).filter(|i| i.index >= from).peekable();
    for (at, item) in seen.items.iter().enumerate() {
        if due.next_if(|d| *d == item).is_some() {
            continue;
        }
        let (before, after) = (&seen.items[..at], &seen.items[at + 1..]);
        let same = |other: &&Item| (other.index, other.topic, &other.key) == (item.index, item.topic, &item.key);
        let happened = truth.get(&item.index).is_some_and(|items| items.contains(item));
        return Err(match due.peek() {
            _ if before.iter().chain(after).filter(same).any(|other| other != item) => {
                WrongStream::Repeated(item.clone())
            }
            _ if !happened => WrongStream::Invented(item.clone()),
            _ if before.contains(item) => WrongStream::Doubled(item.clone()),
            Some(d) if !after.contains(d) => WrongStream::Lost((*d).clone()),
            _ => WrongStream::Early(item.clone()),
        });
    }
    due.next().map_or(Ok(()), |d| Err(WrongStream::Lost(d.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::JobStatus;

    fn item(index: u64, key: &str) -> Item {
        Item { index, topic: "Job", key: key.into(), status: JobStatus::Pending.as_str().into() }
    }

    fn judged(asked: u64, oldest: u64, items: &[(u64, &str)]) -> Result<(), WrongStream> {
        let truth = [(3, vec![item(3, "a"), item(3, "b")]), (5, vec![item(5, "a")]), (8, vec![item(8, "c")])].into();
        check(&truth, &Delivered { asked, oldest, items: items.iter().map(|(i, k)| item(*i, k)).collect() })
    }

    #[test]
    fn whole_streams_are_accepted() {
        assert_eq!(judged(0, 3, &[(3, "a"), (3, "b"), (5, "a"), (8, "c")]), Ok(()));
        assert_eq!(judged(4, 3, &[(5, "a")]), Ok(()), "the rest has not arrived yet");
        assert_eq!(judged(4, 6, &[(8, "c")]), Ok(()), "the server has nothing older");
        assert_eq!(judged(9, 3, &[]), Ok(()));
    }

    #[test]
    fn wrong_streams_are_refused() {
        assert_eq!(judged(0, 3, &[(3, "a"), (5, "a")]), Err(WrongStream::Lost(item(3, "b"))));
        assert_eq!(judged(0, 3, &[(5, "a")]), Err(WrongStream::Lost(item(3, "a"))));
        assert_eq!(judged(0, 3, &[(3, "a"), (3, "b"), (8, "c")]), Err(WrongStream::Lost(item(5, "a"))));
        assert_eq!(judged(4, 3, &[(5, "a"), (5, "a")]), Err(WrongStream::Doubled(item(5, "a"))));
        assert_eq!(judged(4, 3, &[(8, "c"), (5, "a")]), Err(WrongStream::Early(item(8, "c"))));
        assert_eq!(judged(0, 3, &[(3, "b"), (3, "a")]), Err(WrongStream::Early(item(3, "b"))));
        assert_eq!(judged(4, 3, &[(5, "z")]), Err(WrongStream::Invented(item(5, "z"))));
        assert_eq!(judged(4, 3, &[(6, "a")]), Err(WrongStream::Invented(item(6, "a"))));
        let dead = Item { status: JobStatus::Dead.as_str().into(), ..item(5, "a") };
        let truth = [(5, vec![item(5, "a")])].into();
        let seen = |items: &[&Item]| {
            check(&truth, &Delivered { asked: 5, oldest: 3, items: items.iter().map(|i| (*i).clone()).collect() })
        };
        assert_eq!(seen(&[&dead, &item(5, "a")]), Err(WrongStream::Repeated(dead.clone())), "it was dead before");
        assert_eq!(seen(&[&item(5, "a"), &dead]), Err(WrongStream::Repeated(dead.clone())));
        assert_eq!(seen(&[&dead]), Err(WrongStream::Invented(dead)), "not what was written last");
    }
}
