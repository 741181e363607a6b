//! The terminal UI: views of a cluster on a terminal, over its HTTP API.
//!
//! [`view`]: the views, what they read, and how rows are made of answers. [`model`]: the state of the screen and how keys
//! and answers change it, without clock and I/O. [`draw`]: the state as a screen. [`run`]: the loop that reads keys,
//! requests and signals, and restores the terminal.
//!
//! **May use** `encamp_host` (signals), `encamp_ui`. **Never** holds rules: what servers accept.

#![warn(missing_docs)]

pub mod draw;
pub mod model;
pub mod run;
#[cfg_attr(unix, path = "signals_unix.rs")]
#[cfg_attr(not(unix), path = "signals_windows.rs")]
mod signals;
pub mod view;
