//! The terminal UI: views of a cluster on a terminal, over its HTTP API.
//!
//! A module uses only those before it:
//!
//! 1. [`input`]: bytes of the terminal as keys. [`row`]: objects, and rows of lists. [`view`]: the views and what they
//!    read. [`help`]: the keys.
//! 2. [`rows`], [`events`], [`queues`], [`topology`]: answers of the API as rows and blocks. [`list`]: filter and order.
//!    [`actions`]: what can be done to objects.
//! 3. [`messages`]: what happens to the state, and what the loop does for it. [`state`]: the state of the screen, without
//!    clock and I/O. [`draw`]: the state as a screen.
//! 4. [`run`]: the loop that reads keys, requests and signals, and restores the terminal.
//!
//! **May use** `encamp_ui`. **Never** holds rules: what servers accept and how jobs are placed. What plans, explains and
//! changes are the commands of the program, which [`encamp_ui::Cluster`] runs.

// Terminals of other systems have neither these modes nor these signals.
#![cfg(unix)]
#![warn(missing_docs)]

pub mod actions;
pub mod draw;
pub mod events;
pub mod help;
pub mod input;
pub mod list;
pub mod messages;
pub mod queues;
pub mod row;
pub mod rows;
pub mod run;
pub mod state;
pub mod topology;
pub mod view;
