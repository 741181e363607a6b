//! Connections: the listener with its protocols, TLS, bodies and their memory, compression, connections that are taken
//! over. Nothing here knows what a request asks for.

pub mod bodies;
pub mod duplex;
pub mod encode;
pub mod http1;
pub mod listener;
pub mod tls;
mod turn;
pub(crate) mod websocket;
