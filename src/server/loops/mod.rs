//! Loops of the leader that drive jobs on. Each is a pure state machine over the store and a thin driver.
//!
//! - [`periodic`]: launches of periodic jobs.

pub mod periodic;

use tokio::task::JoinSet;

use super::error::Error;
use super::handle::Server;

/// Starts them; they end with the set, that is with leadership.
///
/// # Errors
/// What launches were missed is not known, or could not be made up for.
pub async fn start(server: &Server, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    periodic::catch_up(server, super::ids::now()).await?;
    tasks.spawn(periodic::drive(server.clone()));
    Ok(())
}

#[cfg(test)]
mod tests;
