//! The driver against a simulated world in memory.

mod crashes;
mod properties;
mod rules;
mod throttling;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::testing::World;

/// An autoscaler on a world.
fn autoscaler(world: &Arc<World>) -> Autoscaler {
    let clock = world.clone();
    Autoscaler::new(
        Settings { drain_deadline: Duration::from_secs(300), ..Settings::default() },
        world.clone(),
        Providers::from([(ProviderKind::Local, world.clone() as Arc<dyn Provider>)]),
        world.clone(),
        Metrics::default(),
        None,
        Arc::new(move || clock.now()),
    )
}
