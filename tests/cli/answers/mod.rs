//! Answers that have to be right: plans that servers would reject, survival of losses, statuses, settings of running
//! clusters, and what is said about mistakes on the command line. The real program runs.

pub(crate) mod mistakes;
mod rejected_plans;
mod server_settings;
mod statuses;
mod worst_loss;

use std::path::{Path, PathBuf};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}
