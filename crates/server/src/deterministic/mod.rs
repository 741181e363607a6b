//! The deterministic test of a cluster: three or five real servers, their clients and their nodes in one thread, on a made-up clock,
//! network and disks, with faults. A seed decides everything, so that it gives the same run again (`docs/reliability.md`).
//!
//! - [`run`]: one run from begin to rest. [`sim`]: what a run belongs to - clock, chance, disks, trace, the first broken rule.
//! - What stands in for the system: [`guest`] for threads, [`disk`], [`network`], [`runtime`] for openraft's timers and chance.
//! - [`cluster`]: the servers. Who uses them ([`users`]): [`registers`], [`jobs`], [`nodes`]. What goes wrong: [`faults`].
//! - What is checked: all the time [`watch`] and [`ledger`], in the end [`rest`] and [`linear`].
//!
//! The server does not know of it: it is the [simulation](encamp_host::simulation) that threads of a run turn to.

pub mod cluster;
#[path = "../../../../tests/property_support/count.rs"]
mod count;
pub mod disk;
pub mod faults;
pub mod guest;
pub mod jobs;
pub mod ledger;
pub mod linear;
pub mod network;
pub mod nodes;
pub mod registers;
pub mod rest;
pub mod run;
pub mod sim;
mod tests;
pub mod users;
pub mod watch;

/// What a rule found wrong, or nothing.
type Verdict = Result<(), String>;
