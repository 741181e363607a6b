//! What the runner of an allocation has ordered a task to do.

use tokio::sync::watch;

/// The orders of a task. Those who wait for one look at all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// It may start.
    pub may_start: bool,
    /// It is to end.
    pub end: bool,
    /// Waits of its shutdown are over.
    pub hurry: bool,
    /// The allocation is done with it.
    pub release: bool,
    /// How often it was to start again after it was dead.
    pub revivals: u64,
    /// The agent goes, the task stays.
    pub leave: bool,
}

/// Ends when the orders are such.
pub(super) async fn wait(orders: &watch::Sender<Orders>, such: impl FnMut(&Orders) -> bool) {
    // The sender lives as long as the task, whose orders these are.
    let _ = orders.subscribe().wait_for(such).await;
}
