//! A single real agent: its process, HTTP API, node, keyring and variables, under adverse conditions and under attack.

// Items shared between modules are public.
#![allow(unreachable_pub)]

#[path = "../support/agent.rs"]
mod agent;
mod agent_process;
mod api;
mod artifacts;
mod audit;
mod autoscale;
#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "aws")]
mod aws_support;
mod client_libraries;
mod client_node;
mod containers;
mod csi;
#[path = "../support/csi_plugin.rs"]
mod csi_plugin;
mod first_service;
mod garbage_collection;
mod hardship;
mod host_threads;
mod host_volumes;
mod hostile_peer;
mod identity_provider;
mod isolation;
mod job_examples;
mod keyring;
mod load_figures;
mod local_collection;
mod log_export;
mod logins;
mod many_allocations;
#[path = "../support/member.rs"]
mod member;
mod networks;
mod node_agent;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/scaling_group.rs"]
mod scaling_group;
mod secrets;
mod snapshot_restore;
#[path = "../support/tls.rs"]
mod tls;
mod variables;
