//! Background loops of the leader that make progress on jobs. Each is a state machine over the store and a thin driver.
//!
//! - [`periodic`]: launches of periodic jobs. [`locks`]: expiry of variable locks.
//! - [`drain`]: node drains. [`deployments`]: deployments of job versions. Both are run by the [`driver`].

pub mod deployments;
pub mod drain;
pub mod driver;
pub mod locks;
pub mod periodic;

use tokio::task::JoinSet;

use crate::error::Error;
use crate::leading::Leading;
use encamp_host::simulation::here;
use encamp_model::token_bucket::TokenBucket;

/// State reads per second of the drainer, and their burst size.
const DRAIN_RATE: f64 = 100.0;
/// Burst size of the deployment watcher's state reads.
const DEPLOYMENT_BURST: f64 = 100.0;

/// Starts the loops; they end with the set, that is, when leadership is lost.
///
/// # Errors
/// Missed launches could not be determined or caught up.
pub async fn start(server: &Leading, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    let rate = TokenBucket::per_second(server.settings().deploy_query_rate, DEPLOYMENT_BURST);
    tasks.spawn(here(driver::run(server.clone(), deployments::Deployments::default(), rate)));
    let rate = TokenBucket::per_second(DRAIN_RATE, DRAIN_RATE);
    tasks.spawn(here(driver::run(server.clone(), drain::Drainer::default(), rate)));
    periodic::catch_up(server, encamp_host::ids::now()).await?;
    tasks.spawn(here(periodic::drive(server.clone())));
    locks::start(server);
    tasks.spawn(here(locks::drive(server.clone())));
    Ok(())
}

#[cfg(test)]
mod tests;
