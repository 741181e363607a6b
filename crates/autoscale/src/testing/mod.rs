//! A cluster with one worker pool and its scaling group in memory, for tests of the driver. Time is that of tokio's
//! clock.
//!
//! Every write of a Variable and every side effect is a point. A test may stop the world before or after a point, as a
//! crash would, and inspect what took effect. `faults` makes calls fail, hang and return false data.

mod effects;
pub(crate) mod faults;
mod machine;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use encamp_model::Time;
use encamp_state::Snapshot;

use crate::cluster::{self, Cluster, ClusterError, Items, Stored, Usage};
use crate::notify::{Notification, Notify};
use crate::protection::Servers;
use crate::provider::{self, GroupId, Provider, ProviderError, ScalingGroup};
use crate::record::{ITEM, Record};
use crate::test_cluster::NOW;
pub(crate) use effects::Effect;
use faults::Fault;
pub(crate) use machine::Machine;

/// A crash: so many points from now, and whether it comes after the point.
pub(crate) type Crash = (usize, bool);

/// The world.
pub(crate) struct World {
    machine: Mutex<Machine>,
    began: Instant,
    crashed: tokio::sync::Notify,
    /// Notifications that were sent.
    pub(crate) sent: Mutex<Vec<Notification>>,
}

impl World {
    pub(crate) fn new(machine: Machine) -> Arc<World> {
        let (machine, sent) = (Mutex::new(machine), Mutex::default());
        Arc::new(World { machine, began: Instant::now(), crashed: tokio::sync::Notify::new(), sent })
    }

    /// The machine as it is now.
    pub(crate) fn machine(&self) -> MutexGuard<'_, Machine> {
        let now = self.true_now();
        let mut machine = self.machine.lock();
        machine.advance(now);
        machine
    }

    /// Unix nanoseconds of a clock that never jumps.
    pub(crate) fn true_now(&self) -> i64 {
        NOW + i64::try_from(self.began.elapsed().as_nanos()).unwrap()
    }

    /// Unix nanoseconds as the autoscaler reads them.
    pub(crate) fn now(&self) -> i64 {
        self.true_now() + self.machine().faults.skew
    }

    /// Waits for the crash that was set.
    pub(crate) async fn crash(&self) {
        self.crashed.notified().await;
    }

    /// One point: `act` takes hold unless a crash or a fault comes before.
    async fn point<T, E>(
        &self,
        fail: impl Fn(String) -> E,
        act: impl FnOnce(&mut Machine, i64) -> Result<T, E>,
    ) -> Result<T, E> {
        let crash = self.machine().reach();
        if crash == Some(false) {
            self.crashed.notify_one();
            std::future::pending::<()>().await;
        }
        let fault = self.machine().faults.of_effect();
        match fault {
            Fault::Refused => return Err(fail("refused".into())),
            Fault::Hangs => std::future::pending::<()>().await,
            Fault::None | Fault::LostAnswer => {}
        }
        let now = self.true_now();
        let answer = act(&mut self.machine(), now);
        if crash == Some(true) {
            self.crashed.notify_one();
            std::future::pending::<()>().await;
        }
        if fault == Fault::LostAnswer { Err(fail("the answer was lost".into())) } else { answer }
    }

    async fn effect<E>(&self, fail: impl Fn(String) -> E + Clone, effect: Effect) -> Result<(), E> {
        self.point(fail.clone(), |machine, now| machine.act(effect, now).map_err(|e| fail(e.to_string()))).await
    }

    async fn read<E>(&self, fail: impl Fn(String) -> E) -> Result<(), E> {
        let fault = self.machine().faults.of_read();
        match fault {
            Fault::None => Ok(()),
            Fault::Refused | Fault::LostAnswer => Err(fail("not readable".into())),
            Fault::Hangs => std::future::pending().await,
        }
    }

    /// The state object of the pool.
    pub(crate) fn record(&self) -> Record {
        let machine = self.machine();
        let stored = machine.variable(&crate::paths::pool_state("web"));
        stored.map(|s| Record::read("", s.items.get(ITEM).map(String::as_str)).unwrap()).unwrap_or_default()
    }
}

impl Cluster for World {
    fn name(&self) -> String {
        "test".into()
    }

    fn leads(&self) -> bool {
        self.machine().leads
    }

    fn state(&self) -> cluster::Answer<'_, Snapshot> {
        async {
            self.read(ClusterError::Failed).await?;
            Ok(self.machine().state.snapshot())
        }
        .boxed()
    }

    fn servers(&self) -> cluster::Answer<'_, Servers> {
        async {
            self.read(ClusterError::Failed).await?;
            let machine = self.machine();
            match machine.faults.servers_unknown {
                true => Err(ClusterError::Failed("the servers cannot be read".into())),
                false => Ok(machine.servers.clone()),
            }
        }
        .boxed()
    }

    fn variable<'a>(&'a self, path: &'a str) -> cluster::Answer<'a, Option<Stored>> {
        async { Ok(self.machine().variable(path).cloned()) }.boxed()
    }

    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> cluster::Answer<'a, u64> {
        self.point(ClusterError::Failed, move |machine, _| machine.write(path, items, check)).boxed()
    }

    fn drain<'a>(&'a self, node: &'a str, _: Duration) -> cluster::Answer<'a, ()> {
        self.effect(ClusterError::Failed, Effect::Drain(node.into())).boxed()
    }

    fn cancel_drain<'a>(&'a self, node: &'a str) -> cluster::Answer<'a, ()> {
        self.effect(ClusterError::Failed, Effect::CancelDrain(node.into())).boxed()
    }

    fn purge<'a>(&'a self, node: &'a str) -> cluster::Answer<'a, ()> {
        self.effect(ClusterError::Failed, Effect::Purge(node.into())).boxed()
    }

    fn scale<'a>(&'a self, _: (&'a str, &'a str), group: &'a str, _: i64, _: &'a str) -> cluster::Answer<'a, ()> {
        async move { Err(ClusterError::NotFound(group.into())) }.boxed()
    }

    fn usage<'a>(&'a self, alloc: &'a str) -> cluster::Answer<'a, Usage> {
        async move { Err(ClusterError::NotFound(alloc.into())) }.boxed()
    }
}

impl Provider for World {
    fn group<'a>(&'a self, _: GroupId<'a>) -> provider::Answer<'a, ScalingGroup> {
        async {
            self.read(ProviderError::Throttled).await?;
            let mut machine = self.machine();
            let group = machine.group.clone();
            Ok(machine.faults.of_group(group))
        }
        .boxed()
    }

    fn set_desired<'a>(&'a self, _: GroupId<'a>, desired: i64) -> provider::Answer<'a, ()> {
        self.effect(ProviderError::Failed, Effect::SetDesired(desired)).boxed()
    }

    fn terminate<'a>(&'a self, _: GroupId<'a>, instance: &'a str, decrement: bool) -> provider::Answer<'a, ()> {
        self.effect(ProviderError::Failed, Effect::Terminate(instance.into(), decrement)).boxed()
    }

    fn detach<'a>(&'a self, _: GroupId<'a>, instance: &'a str) -> provider::Answer<'a, ()> {
        self.effect(ProviderError::Failed, Effect::Detach(instance.into())).boxed()
    }
}

impl Notify for World {
    fn send(&self, notification: Notification) {
        self.sent.lock().push(notification);
    }
}

/// A record without what depends on when things happened.
pub(crate) fn timeless(record: &Record) -> Record {
    let mut record = record.clone();
    (record.last_updated, record.last_notification_event) = (None, None);
    record.last_scaling_event = record.last_scaling_event.map(|_| Time::ZERO);
    record.last_scaleout_event = record.last_scaleout_event.map(|_| Time::ZERO);
    record.last_scalein_event = record.last_scalein_event.map(|_| Time::ZERO);
    record.failsafe_admin.clear();
    record
}
