//! Reads of a list: its content is that of its index, indexes never go back, reads of the leader are linearizable, stale
//! reads are no older than they say, and waiting reads are answered when there is something new.

use std::collections::BTreeMap;

use encamp_model::SECOND;

/// How much older than it says a stale read may be: a server that hears the leader, but is not heard, gets no further
/// entries until its answers arrive.
const SLACK: i64 = 20 * SECOND;
/// How long an answer may take after what it waited for was applied.
const PROMPT: i64 = SECOND;

/// Which server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The leader.
    Leader,
    /// Any server, which says how long ago it heard of a leader, in nanoseconds; `None`: never, or it is catching up.
    Stale(Option<i64>),
}

/// An answered read of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    /// Which server answers.
    pub mode: Mode,
    /// The index that the client knew; the read waits for a newer one.
    pub asked: u64,
    /// The index of the list.
    pub index: u64,
    /// A checksum of the list.
    pub content: u32,
    /// The index of the server's state.
    pub applied: u64,
    /// When the client asked.
    pub from: i64,
    /// When the server answered.
    pub to: i64,
    /// When the server applied what it answers with, if that is known.
    pub news: Option<i64>,
}

/// The writes to the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    /// The checksum of the list after each write to it, by index.
    pub contents: BTreeMap<u64, u32>,
    /// When writes to the list were acknowledged, and their indexes.
    pub acknowledged: Vec<(i64, u64)>,
}

/// A read that no client may see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongRead {
    /// The list is not the one at that index.
    #[error("the content is not that at its index: {0:?}")]
    Content(Read),
    /// The index of a later read of the same client is lower.
    #[error("the index went back from {before}: {read:?}")]
    Back {
        /// The index of the read before.
        before: u64,
        /// The read.
        read: Read,
    },
    /// It lacks a write that was acknowledged before the read began.
    #[error("the write at index {missing}, acknowledged before, is missing: {read:?}")]
    Old {
        /// The write.
        missing: u64,
        /// The read.
        read: Read,
    },
    /// It was answered long after the news had come.
    #[error("nobody woke the read: {0:?}")]
    Late(Read),
}

/// Checks the reads of one client, in their order.
///
/// # Errors
/// The first wrong read.
pub(crate) fn check(truth: &Truth, reads: &[Read]) -> Result<(), WrongRead> {
    let mut before = 0;
    for read in reads {
        let (index, content) = truth.contents.range(..=read.applied).next_back().map_or((0, 0), |(i, c)| (*i, *c));
        if (index, content) != (read.index, read.content) {
            return Err(WrongRead::Content(read.clone()));
        }
        let by = match read.mode {
            Mode::Leader => Some(read.from),
            Mode::Stale(heard) => heard.map(|ago| read.to.saturating_sub(ago).saturating_sub(SLACK)),
        };
        let known = truth.acknowledged.iter().filter(|(at, _)| by.is_some_and(|by| *at < by));
        let newest = known.map(|(_, index)| *index).max().unwrap_or(0);
        if newest > read.applied {
            return Err(WrongRead::Old { missing: newest, read: read.clone() });
        }
        if read.mode == Mode::Leader {
            if read.index < before {
                return Err(WrongRead::Back { before, read: read.clone() });
            }
            before = read.index;
        }
        let waited = read.index > read.asked && read.news.is_some_and(|n| read.to - n.max(read.from) > PROMPT);
        if waited {
            return Err(WrongRead::Late(read.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Truth {
        Truth { contents: [(3, 33), (7, 77), (9, 99)].into(), acknowledged: vec![(10, 3), (20, 7), (90 * SECOND, 9)] }
    }

    fn read(mode: Mode, index: u64, content: u32, applied: u64, from: i64) -> Read {
        Read { mode, asked: 0, index, content, applied, from, to: from + 5, news: Some(from) }
    }

    #[test]
    fn right_reads_are_accepted() {
        let leader = Mode::Leader;
        let reads = [read(leader, 3, 33, 5, 11), read(leader, 7, 77, 7, 21), read(leader, 7, 77, 8, 30)];
        assert_eq!(check(&truth(), &reads), Ok(()));
        assert_eq!(check(&truth(), &[read(leader, 0, 0, 2, 5)]), Ok(()), "before the first write");
        let stale = [read(Mode::Stale(Some(0)), 7, 77, 8, SECOND), read(Mode::Stale(None), 3, 33, 4, 200 * SECOND)];
        assert_eq!(check(&truth(), &stale), Ok(()), "stale reads may go back");
    }

    #[test]
    fn wrong_reads_are_refused() {
        let refused = |reads: &[Read]| check(&truth(), reads).unwrap_err();
        let torn = read(Mode::Leader, 7, 78, 7, 21);
        assert_eq!(refused(std::slice::from_ref(&torn)), WrongRead::Content(torn));
        let renamed = read(Mode::Leader, 3, 33, 7, 5);
        assert_eq!(refused(std::slice::from_ref(&renamed)), WrongRead::Content(renamed));
        let back = read(Mode::Leader, 3, 33, 5, 15);
        let reads = [read(Mode::Leader, 7, 77, 7, 15), back.clone()];
        assert_eq!(refused(&reads), WrongRead::Back { before: 7, read: back });
        let old = read(Mode::Leader, 3, 33, 5, 21);
        assert_eq!(refused(std::slice::from_ref(&old)), WrongRead::Old { missing: 7, read: old });
        let too_stale = read(Mode::Stale(Some(SECOND)), 7, 77, 8, 112 * SECOND);
        assert_eq!(refused(std::slice::from_ref(&too_stale)), WrongRead::Old { missing: 9, read: too_stale });
        let late = Read { to: 40 + 2 * SECOND, ..read(Mode::Leader, 7, 77, 8, 40) };
        assert_eq!(refused(std::slice::from_ref(&late)), WrongRead::Late(late.clone()));
    }
}
