//! Where evaluations go: what a write entails for the broker and the blocked evaluations (`spec/server.md §3.4`), and how a new
//! leader fills them (§2.2). Pure.

use super::blocked::{BlockedEvals, Released};
use super::broker::Broker;
use super::fsm::{Applied, Change};
use crate::state::StateStore;

/// What the blocked evaluations learn of a write; gives the evaluations that the broker is to get ([`take_over`]). `now` in
/// Unix nanoseconds.
pub fn entail(applied: &Applied, index: u64, now: i64, blocked: &mut BlockedEvals) -> Released {
    let mut released = Vec::new();
    for u in &applied.unblocks {
        released.extend(blocked.unblock_class(&u.class, index, now));
        if let Some(node) = &u.node {
            released.extend(blocked.unblock_node(node, now));
        }
    }
    for change in &applied.changes {
        let Change::Eval(e) = change else { continue };
        match e.status.as_str() {
            "pending" => released.push((e.clone(), None)),
            "blocked" => released.extend(blocked.block(e.clone(), None, now)),
            "complete" if e.failed_tg_allocs.is_empty() => blocked.untrack(&e.namespace, &e.job_id, now),
            _ => {}
        }
    }
    released
}

/// Gives the broker what a write released; follow-ups that nobody needs any more are dropped.
pub fn take_over(applied: &Applied, released: Released, now: i64, broker: &mut Broker) {
    for e in &applied.dropped_evals {
        broker.drop_waiting(&e.id);
    }
    broker.enqueue_all(released, now);
}

/// Fills queues that were just switched on from the store.
pub fn refill(store: &StateStore, now: i64, broker: &mut Broker, blocked: &mut BlockedEvals) {
    for eval in store.evals_by_create() {
        match eval.status.as_str() {
            "pending" => broker.restore(eval.clone(), now),
            "blocked" => broker.enqueue_all(blocked.block(eval.clone(), None, now), now),
            _ => {}
        }
    }
}
