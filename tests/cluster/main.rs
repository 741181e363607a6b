//! Clusters of real servers and nodes: membership, crashes, network and disk faults, rolling restarts, load.

// Items shared between modules are public.
#![allow(unreachable_pub)]

use encamp_test_support::{agent, csi_plugin, dice, member, program, tls};

mod audit;
mod crash;
mod crash_support;
mod csi_agent_kills;
mod csi_guide;
mod csi_plugin_kills;
mod csi_support;
mod csi_volumes;
mod disk_migration;
mod fault_support;
mod faults;
mod forced_collection;
mod gossip_keys;
mod leader_kills;
mod levels;
mod load_scenarios;
mod members;
mod node_requests;
mod node_restart;
mod rebalance_run;
mod recorded_build;
mod revocation;
mod rolling_restart;
mod secure;
mod stolen_node;
mod storage_repair;
mod tls_reload;
mod tls_rollout;
mod upgrade_support;
mod upgrades;
mod worker_pools;
