//! What the server and its consensus ask of the machine they run on.
//!
//! - [`threads`]: how everything outside of the asynchronous runtime starts and waits. [`latest`]: values that can be
//!   waited for.
//! - [`ids`]: the clock, random numbers, new IDs. [`disk`]: files that have to be durable.
//! - [`simulation`]: a machine that is made up. A deterministic test of a cluster installs one on its threads;
//!   [`threads`], [`ids`] and [`disk`] turn to it there. Program and test run the same code.
//!
//! **May use** `encamp_model`. **Never** holds what is written, agreed upon or decided: that is in `encamp_raft` and
//! `encamp_server`.

#![warn(missing_docs)]

pub mod disk;
pub mod ids;
pub mod latest;
pub mod simulation;
pub mod threads;
