//! Agents among hostile peers: attacks on the ports of servers, on the HTTP interface, and on the command line by fake
//! servers. The tests print a table with a row for each attack: its outcome, and the peak memory of any process during
//! it.
//!
//! `ENCAMP_HOSTILE_SECONDS=n`: duration of the random calls (10). `ENCAMP_HOSTILE_SEED=n`: their seed.

mod attacks;
mod call_matrix;
mod certificates;
mod commands;
mod interface;
mod peer;
mod random_calls;
mod servers;
