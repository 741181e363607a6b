//! The internal protocol between agents: HTTP/2 with MessagePack bodies, on the RPC port, over TLS where that is
//! configured.
//!
//! A call is a `POST /rpc/v1/<Method>` ([`wire`]); any other request on the port is an HTTP API request that another
//! agent forwarded ([`forward`]). [`calls`] has a type for each call. [`pool`] keeps one connection per peer, [`listener`]
//! speaks HTTP/2 on accepted ones. [`port`] checks who calls, [`service`] carries out calls or has the leader do so, and
//! `answers` says what each call does. [`nodes`] makes the calls of a node; [`node_links`] holds the connections over which
//! servers send requests to nodes, [`node_routes`] finds the server that has one, [`linked_agent`] answers at the node.
//!
//! [`rules`] states which callers may make which call and the maximum size of its message; it is checked against the
//! header of a message ([`caller::Head`], [`proof`]) before the message is read, and [`cost`] bounds its decoded size.
//! [`gossip`] discovers the servers, [`membership`] manages the cluster's members, [`gossip_keys`] changes the keys that
//! encrypt gossip.
//!
//! **Never** decides anything: rules are in [`encamp_server`], and the texts of responses with them.
//!
//! **May use** `encamp_client`, `encamp_host`, `encamp_http`, `encamp_model`, `encamp_ops`, `encamp_raft`,
//! `encamp_server`. **Never** holds rules of writes.

#![warn(missing_docs)]

mod answers;
mod budgets;
pub mod call;
pub mod caller;
pub mod calls;
pub mod cost;
pub mod forward;
pub mod gossip;
pub mod gossip_keys;
mod levels;
pub mod linked_agent;
pub mod listener;
pub mod membership;
pub mod node_links;
pub mod node_routes;
pub mod nodes;
mod passing;
pub mod pool;
pub mod port;
pub mod proof;
pub mod prover;
pub mod raft;
pub mod rules;
pub mod service;
pub mod tls;
pub mod wire;
