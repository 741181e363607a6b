//! A single real agent: its process, HTTP API, node, keyring and variables, under adverse conditions and under attack.

// Items shared between modules are public.
#![allow(unreachable_pub)]

use encamp_test_support::{agent, csi_plugin, member, program, scaling_group, tls};

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
mod compared_answers;
mod containers;
mod csi;
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
mod networks;
mod node_agent;
mod node_identity;
mod registered_again;
mod secrets;
mod snapshot_restore;
mod variables;
mod web_ui;
