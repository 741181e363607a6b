//! One real agent: its process, HTTP interface, node, keyring and variables, under hardship and under attack.

// What modules share is public in them.
#![allow(unreachable_pub)]

#[path = "../support/agent.rs"]
mod agent;
mod agent_process;
mod api;
mod autoscale;
mod client_libraries;
mod client_node;
mod hardship;
mod hostile_peer;
mod keyring;
#[path = "../support/member.rs"]
mod member;
mod node_agent;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/scaling_group.rs"]
mod scaling_group;
mod snapshot_restore;
#[path = "../support/tls.rs"]
mod tls;
mod variables;
