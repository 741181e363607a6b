//! The internal protocol between agents: HTTP/2 with MessagePack bodies, on the RPC port, over TLS where that is
//! configured.
//!
//! A call is a `POST /rpc/v1/<Method>` ([`wire`]); anything else on the port is a request of the HTTP interface that
//! another agent passed on ([`forward`]). [`pool`] keeps one connection per peer, [`listener`] takes connections in,
//! [`service`] answers calls, [`nodes`] makes those of a node. Who may call what, and how long a message may be, is in
//! [`rules`]; it is checked by the head of a message ([`proof`], [`wire::Head`]) before the message is read, and
//! [`cost`] bounds what it becomes in memory. [`gossip`] tells which servers there are, [`membership`] keeps them
//! together.
//!
//! **Never** decides anything: rules are in [`encamp_server`], and the answers' texts with them.
//!
//! **May use** `encamp_client`, `encamp_host`, `encamp_http`, `encamp_model`, `encamp_ops`, `encamp_raft`,
//! `encamp_server`. **Never** holds rules of writes.

#![warn(missing_docs)]

pub mod calls;
pub mod cost;
pub mod forward;
pub mod gossip;
pub mod listener;
pub mod membership;
pub mod nodes;
pub mod pool;
pub mod proof;
pub mod raft;
pub mod rules;
pub mod service;
pub mod tls;
pub mod wire;
