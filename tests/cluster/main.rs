//! Clusters of real servers and nodes: membership, crashes, network and disk faults, rolling restarts, load.

// Items shared between modules are public.
#![allow(unreachable_pub)]

#[path = "../support/agent.rs"]
mod agent;
mod audit;
mod crash;
mod crash_support;
mod csi_agent_kills;
mod csi_guide;
#[path = "../support/csi_plugin.rs"]
mod csi_plugin;
mod csi_plugin_kills;
mod csi_support;
mod csi_volumes;
#[path = "../property_support/dice.rs"]
mod dice;
mod disk_migration;
mod fault_support;
mod faults;
mod forced_collection;
mod gossip_keys;
mod load_scenarios;
#[path = "../support/member.rs"]
mod member;
mod members;
mod node_requests;
#[path = "../support/program.rs"]
mod program;
mod revocation;
mod rolling_restart;
mod secure;
mod stolen_node;
#[path = "../support/tls.rs"]
mod tls;
mod tls_reload;
mod tls_rollout;
mod worker_pools;
