//! Measures the search for the worst loss on large clusters: 40 rows of five clusters and eight jobs, each for nodes and
//! for datacenters, 7 seconds at most for each search. `docs/dev/performance.md` records the results.

mod survival_cases;

use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::file;

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let options = ClusterOptions { nodes: 5000, allocs: 100_000, seed: 4, now: EPOCH };
    let mixed = file::into_state(cluster(&options).expect("a cluster").into_file()).expect("a state").state;
    survival_cases::all(&mixed, EPOCH);
}
