//! The server: everything between an API write and a committed allocation (`spec/server.md`).

pub mod ops;
