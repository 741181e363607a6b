//! The server: everything between an API write and a committed allocation (`spec/server.md`).

pub mod broker;

pub mod codec;
pub mod events;
pub mod fsm;
pub mod ops;
pub mod persist;
pub mod plan_check;
pub mod store;
pub mod watch;
