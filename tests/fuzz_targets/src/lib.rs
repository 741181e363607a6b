//! What the fuzzers run: a function per kind of input from outside, from its bytes to what the program makes of them.
//!
//! The coverage-guided fuzzers in `fuzz/` and the replay of the kept inputs (`tests/oracle_tests/fuzz_replay.rs`) call
//! [`check`]. A target panics when a promise about its input is broken; that an input is refused is no failure.
//!
//! - `agent`: configuration and access policies. `backups`: server backups, snapshot files and their side indexes.
//! - `consensus`: files of the Raft log. `peers`: calls between agents and gossip. `web`: the HTTP API.
//! - `programs`: answers of container daemons, storage plugins and network plugins. `plans`: plan files.
//! - `pieces`: inputs with several parts. `scratch`: the directory that targets use.

mod agent;
mod backups;
mod consensus;
mod peers;
mod pieces;
mod plans;
mod programs;
mod scratch;
mod web;

use encamp_test_support::meter;

/// One kind of input.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: that of the directory of its kept inputs.
    pub name: &'static str,
    /// Takes an input all the way; whether it was accepted.
    pub run: fn(&[u8]) -> bool,
    /// Most memory that an input of at most [`LONGEST`] bytes may take, in bytes.
    pub memory: usize,
}

/// The longest input that fuzzers make, in bytes.
pub const LONGEST: usize = 65_536;

/// Most processor time of the thread that an input may take, in seconds.
pub const MOST_SECONDS: f64 = 10.0;

const MIB: usize = 1 << 20;

/// All targets, by name.
pub const TARGETS: [Target; 16] = [
    Target { name: "acl_policies", run: agent::policy, memory: 32 * MIB },
    Target { name: "agent_configuration", run: agent::configuration, memory: 64 * MIB },
    Target { name: "csi_answers", run: programs::csi, memory: 32 * MIB },
    Target { name: "docker_answers", run: programs::docker, memory: 32 * MIB },
    Target { name: "gossip_packets", run: peers::gossip, memory: 32 * MIB },
    Target { name: "http_bodies", run: web::body, memory: 160 * MIB },
    Target { name: "http_parameters", run: web::parameters, memory: 64 * MIB },
    Target { name: "network_plugins", run: programs::network, memory: 32 * MIB },
    Target { name: "plan_files", run: plans::file, memory: 160 * MIB },
    Target { name: "raft_logs", run: consensus::log, memory: 64 * MIB },
    Target { name: "raft_snapshots", run: consensus::snapshot, memory: 128 * MIB },
    Target { name: "rpc_frames", run: peers::frames, memory: 32 * MIB },
    Target { name: "rpc_messages", run: peers::message, memory: 128 * MIB },
    Target { name: "server_backups", run: backups::archive, memory: 200 * MIB },
    Target { name: "side_indexes", run: backups::side_index, memory: 64 * MIB },
    Target { name: "snapshot_files", run: backups::snapshot_file, memory: 128 * MIB },
];

/// The target of that name.
pub fn named(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// Runs an input, and tells whether it was accepted; panics when the target does, and when the input takes too long or
/// too much memory. Memory is counted if [`meter::Counting`] is the allocator.
pub fn check(target: Target, data: &[u8]) -> bool {
    let mut accepted = false;
    let cost = meter::measure(|| accepted = (target.run)(data));
    let Target { name, memory, .. } = target;
    assert!(cost.seconds <= MOST_SECONDS, "{name}: an input took {:.1} s", cost.seconds);
    assert!(cost.memory <= memory, "{name}: an input took {} MiB, more than {} MiB", cost.memory / MIB, memory / MIB);
    accepted
}
