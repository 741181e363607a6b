//! The deterministic test of a cluster: three or five real servers, their clients and their nodes in one thread, on a
//! made-up clock, network and disks, with faults. A seed decides everything, so that it gives the same run again
//! (`docs/reliability.md`).
//!
//! - [`run`]: one run from begin to rest. [`sim`]: what a run belongs to - clock, chance, disks, trace, the first
//!   broken rule.
//! - What stands in for the system: [`guest`] for threads, [`disk`], [`network`], [`runtime`] for openraft's timers and
//!   chance.
//! - [`cluster`]: the servers. Who uses them ([`users`]): [`registers`], [`jobs`], [`nodes`]. What goes wrong:
//!   [`faults`].
//! - What is checked: all the time [`watch`] and [`ledger`], in the end [`rest`] and [`linear`].
//!
//! The server does not know of it: it is the [simulation](encamp_host::simulation) that threads of a run turn to.

pub(crate) mod cluster;
#[allow(unreachable_pub)]
#[path = "../../../../tests/property_support/count.rs"]
mod count;
pub(crate) mod disk;
pub(crate) mod faults;
pub(crate) mod guest;
pub(crate) mod jobs;
pub(crate) mod ledger;
pub(crate) mod linear;
pub(crate) mod network;
pub(crate) mod nodes;
pub(crate) mod registers;
pub(crate) mod rest;
pub(crate) mod run;
pub(crate) mod sim;
mod tests;
pub(crate) mod users;
pub(crate) mod watch;

/// What a rule found wrong, or nothing.
type Verdict = Result<(), String>;
