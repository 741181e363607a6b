//! The server: everything between an API write and a committed allocation (`spec/server.md`).

pub mod codec;
pub mod fsm;
pub mod ops;
