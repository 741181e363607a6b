//! Garbage collection (`spec/garbage-collection.md`).

use tokio::task::JoinSet;

use super::handle::Server;
use crate::model::Evaluation;
use crate::state::StoreSnapshot;

/// Runs a core evaluation: what it names is collected.
pub async fn run(_: &Server, eval: &Evaluation, _: &StoreSnapshot) -> Result<(), String> {
    Err(format!("core scheduler cannot handle job '{}'", eval.job_id))
}

/// Starts the tickers of the leader.
pub fn start_tickers(_: &Server, _: &mut JoinSet<()>) {}
