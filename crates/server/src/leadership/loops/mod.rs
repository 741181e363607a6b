//! Loops of the leader that drive jobs on. Each is a pure state machine over the store and a thin driver.
//!
//! - [`periodic`]: launches of periodic jobs. [`locks`]: locks of variables that are not renewed.
//! - [`drain`]: nodes that are to be left. [`deployments`]: jobs that are rolled out. Both are run by the [`driver`].

pub mod deployments;
pub mod drain;
pub mod driver;
pub mod locks;
pub mod periodic;

use tokio::task::JoinSet;

use crate::error::Error;
use crate::handle::Server;
use crate::rate::Rate;

/// State reads per second of the drainer, and the bursts it may have.
const DRAIN_RATE: f64 = 100.0;
/// The bursts of state reads that the deployment watcher may have.
const DEPLOYMENT_BURST: f64 = 100.0;

/// Starts them; they end with the set, that is with leadership.
///
/// # Errors
/// What launches were missed is not known, or could not be made up for.
pub async fn start(server: &Server, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    let rate = Rate::new(server.settings().deploy_query_rate, DEPLOYMENT_BURST);
    tasks.spawn(driver::run(server.clone(), deployments::Deployments::default(), rate));
    tasks.spawn(driver::run(server.clone(), drain::Drainer::default(), Rate::new(DRAIN_RATE, DRAIN_RATE)));
    periodic::catch_up(server, encamp_host::ids::now()).await?;
    tasks.spawn(periodic::drive(server.clone()));
    locks::start(server);
    tasks.spawn(locks::drive(server.clone()));
    Ok(())
}

#[cfg(test)]
mod tests;
