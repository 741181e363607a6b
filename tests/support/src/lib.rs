//! What the tests, benchmarks and fuzzers of encamp share.
//!
//! - The program: [`program`] runs it, [`agent`] and [`member`] run it as an agent, [`pty`] on a pseudo-terminal;
//!   [`browser`] shows its pages.
//! - Peers of the program: [`server`] is an HTTP server that answers from a script, [`canned`] and [`cluster`] are
//!   answers of clusters, [`scaling_group`] is an auto scaling group, [`mod@csi_plugin`] a storage plugin, [`python`]
//!   installs and runs programs of Python, [`tls`] makes certificates.
//! - Recorded results: [`recorded`] and [`oracle`] read them, [`scheduler_cases`] runs those of the scheduler,
//!   [`answers`] converts them. [`schema`] checks JSON by the published schemas.
//! - Generated input: [`seeds`] runs cases by their seeds, [`dice`] for random choices, [`hostile`] for hostile job files, [`count`] for what allocations
//!   take of a node, [`meter`] for what a run costs.
//! - A run of the tests: [`tier`] and [`permit`] say what runs when, [`notes`] what was skipped and what took long.

pub mod agent;
pub mod answers;
pub mod browser;
pub mod canned;
pub mod cluster;
pub mod count;
pub mod csi_plugin;
pub mod dice;
pub mod hostile;
pub mod member;
pub mod meter;
pub mod notes;
pub mod oracle;
pub mod permit;
pub mod program;
pub mod pty;
pub mod python;
pub mod recorded;
pub mod scaling_group;
pub mod scheduler_cases;
pub mod schema;
pub mod seeds;
pub mod server;
pub mod tier;
pub mod tls;
