//! The interface of the server and its consensus to the machine they run on.
//!
//! - [`threads`]: starts threads outside of the asynchronous runtime, and lets them wait. [`watch_value`]: values that tasks
//!   can wait for.
//! - [`parallel`]: work on many items in several threads.
//! - [`ids`]: the clock, random numbers, new IDs. [`disk`]: durable files.
//! - [`capability`]: the capability level of the process. [`platform`]: what systems do differently.
//! - [`simulation`]: a simulated machine. A deterministic cluster test installs one on its threads; [`threads`],
//!   [`ids`] and [`disk`] use it there. Program and test run the same code.
//!
//! **May use** `encamp_model`. **Never** holds what is written, committed or decided: that is in `encamp_raft` and
//! `encamp_server`.

#![warn(missing_docs)]

pub mod capability;
pub mod disk;
pub mod ids;
pub mod parallel;
pub mod platform;
pub mod simulation;
pub mod threads;
pub mod watch_value;
