//! How the latest runs of garbage collection ended, for those who wait for one.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::evals::core_job::CoreJob;
use encamp_model::gc::GcReport;

/// How many reports are kept.
const KEPT: usize = 64;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It deleted these objects.
    Done(GcReport),
    /// It failed: its error. The broker delivers the evaluation again.
    Failed(String),
}

/// A run that ended.
struct Row {
    number: u64,
    kind: CoreJob,
    /// ModifyIndex of its evaluation: the run saw a state of at least this index.
    index: u64,
    ended: Ended,
}

#[derive(Default)]
struct Rows {
    list: VecDeque<Row>,
    /// The number of the next row.
    next: u64,
}

/// The latest runs that ended while this server was the leader.
#[derive(Default)]
pub struct Runs {
    rows: Mutex<Rows>,
    changed: Notify,
}

impl Runs {
    /// Notes how a run ended.
    pub(crate) fn note(&self, name: &str, index: u64, ended: Ended) {
        let Some(kind) = CoreJob::of_name(name) else { return };
        let mut rows = self.rows.lock();
        let number = rows.next;
        rows.next += 1;
        if rows.list.len() >= KEPT {
            rows.list.pop_front();
        }
        rows.list.push_back(Row { number, kind, index, ended });
        drop(rows);
        self.changed.notify_waiters();
    }

    /// Woken when a run is noted.
    pub(crate) fn changed(&self) -> &Notify {
        &self.changed
    }

    /// The number of the next run that is noted.
    pub(crate) fn next(&self) -> u64 {
        self.rows.lock().next
    }

    /// A forced run that was noted since, and that saw a state of at least an index. A request that a newer one replaced
    /// finds the run of that one.
    pub(crate) fn since(&self, number: u64, index: u64) -> Option<Ended> {
        let rows = self.rows.lock();
        let fits = |row: &&Row| row.number >= number && row.kind == CoreJob::Forced && row.index >= index;
        rows.list.iter().find(fits).map(|row| row.ended.clone())
    }
}
