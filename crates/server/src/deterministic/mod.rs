//! The deterministic cluster test: three or five real servers, their clients and their nodes in one thread, with a
//! simulated clock, network and disks, and with faults. A seed decides everything, so that a run can be reproduced
//! (`docs/dev/reliability.md`).
//!
//! - [`run`]: a run from the start until the cluster has settled. [`sim`]: the state of a run: clock, random source,
//!   disks, trace, first violation.
//! - Replacements for the system: [`guest`] for threads, [`disk`], [`network`], [`runtime`] for openraft's timers and
//!   randomness.
//! - [`cluster`]: the servers. Clients ([`users`]): [`registers`], [`jobs`], [`nodes`]. Faults: [`faults`], and
//!   damage of files, [`rot`], and servers without a processor, [`starved`].
//!   Membership: [`members`]. Clocks: [`clocks`]. Clients that wait for news: [`watchers`].
//! - Deliberate bugs: [`sim::Bug`], [`bugs`].
//! - [`launches`]: periodic launches under a moved clock.
//! - Checks: continuously [`watch`] and [`ledger`], at the end [`rest`], [`histories`], and that registers are linearizable
//!   ([`encamp_linear`]).
//!
//! The server itself is unmodified: it uses the [simulation](encamp_host::simulation) of the current thread.

pub(crate) mod bugs;
pub(crate) mod clocks;
pub(crate) mod cluster;
pub(crate) mod disk;
pub(crate) mod faults;
pub(crate) mod guest;
pub(crate) mod histories;
pub(crate) mod jobs;
mod launches;
pub(crate) mod ledger;
pub(crate) mod members;
pub(crate) mod network;
pub(crate) mod nodes;
pub(crate) mod registers;
pub(crate) mod rest;
pub(crate) mod rot;
pub(crate) mod run;
pub(crate) mod sim;
pub(crate) mod starved;
mod tests;
pub(crate) mod users;
pub(crate) mod watch;
pub(crate) mod watchers;

/// The violation found by a check, or `Ok`.
type Verdict = Result<(), Violation>;

/// What is wrong with a cluster, for the person who reads the report of the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Violation(String);

macro_rules! violation {
    ($($text:tt)*) => {
        $crate::deterministic::Violation(format!($($text)*))
    };
}
use violation;
