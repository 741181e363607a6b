//! Agents among peers that wish them ill: what is sent to the ports of servers, to the interface, and to the command
//! line by servers that are none. Each attack has a row in a table that the tests print: what it did, and the most
//! memory that a process took for it.
//!
//! `ENCAMP_HOSTILE_SECONDS=n`: how long random calls are made (10). `ENCAMP_HOSTILE_SEED=n`: what they are made from.

mod attacks;
mod certificates;
mod commands;
mod interface;
mod peer;
mod random_calls;
mod servers;
