//! Clients that read and write registers: variables, and jobs that have no allocations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};

use super::cluster::Cluster;
use super::network::{Lost, Place};
use super::sim::{self, Bug};
use super::users::{self, Stop};
use crate::endpoints::variables;
use crate::error::ErrorKind;
use crate::tests::job;
use crate::{Error, Server};
use encamp_host::ids;
use encamp_linear::{Call, Did, NoOrder, Value};
use encamp_model::VariableEncrypted;
use encamp_model::random::Random;
use encamp_ops::{JobRegister, Operation, VariableReply};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// A register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Register {
    /// A variable.
    Variable(u64),
    /// A job.
    Job(u64),
}

/// The calls of a register have no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{register:?} is not linearizable: {source}")]
pub(crate) struct NotLinearizable {
    register: Register,
    source: NoOrder,
}

impl Register {
    /// All registers.
    pub(crate) const ALL: [Register; 4] =
        [Register::Variable(0), Register::Variable(1), Register::Variable(2), Register::Job(0)];

    fn key(self) -> (String, String) {
        match self {
            Register::Variable(n) => ("default".into(), format!("registers/r{n}")),
            Register::Job(n) => ("default".into(), format!("register-{n}")),
        }
    }

    /// The value in a server's state, and its index.
    pub(crate) fn read(self, server: &Server) -> (Value, u64) {
        let (store, key) = (server.snapshot(), self.key());
        match self {
            Register::Variable(_) => store.variable(&key.0, &key.1).map_or((None, 0), |v| {
                let items = variables::open(server, v).ok();
                (items.and_then(|i| i.0.get("v")?.parse().ok()), v.modify_index)
            }),
            Register::Job(_) => store
                .state()
                .job(&key.0, &key.1)
                .map_or((None, 0), |j| (j.meta.get("v").and_then(|v| v.parse().ok()), j.job_modify_index)),
        }
    }

    /// Writes a value; with an index, only if the register has this index.
    async fn write(self, server: &Server, value: Value, cas: Option<u64>) -> Result<Written, Error> {
        let key = self.key();
        match (self, value) {
            (Register::Variable(_), _) => {
                let written = match value {
                    Some(v) => {
                        let items = variables::Items(BTreeMap::from([("v".to_string(), v.to_string())]));
                        variables::put(server, key, items, None, cas).await?
                    }
                    None => variables::delete(server, key, cas).await?,
                };
                let value = |v: &VariableEncrypted| variables::open(server, v).ok()?.0.get("v")?.parse().ok();
                match written.reply {
                    VariableReply::Written(_) => Ok(Written::At(written.index)),
                    VariableReply::Conflict(now) => Ok(Written::Found(now.and_then(|v| value(&v)))),
                    other => Err(Error::internal(format!("{other:?}"))),
                }
            }
            (Register::Job(_), v) => {
                let mut job = job(&key.1, 0);
                job.meta.insert("v".into(), v.unwrap_or(0).to_string());
                let r =
                    JobRegister { job: job.into(), eval: None, submission: None, enforce_index: cas, now: ids::now() };
                match server.commit(Operation::JobRegister(Box::new(r))).await {
                    Ok((index, _)) => Ok(Written::At(index)),
                    Err(e) if e.kind == ErrorKind::ModifyIndex => Ok(Written::Refused),
                    Err(e) => Err(e),
                }
            }
        }
    }
}

/// The result of a write.
#[derive(Debug)]
enum Written {
    /// Written at an index.
    At(u64),
    /// Not written, because the register had this value.
    Found(Value),
    /// Not written, because the register had a different value.
    Refused,
}

/// The operations observed by all clients.
#[derive(Default)]
pub(crate) struct History(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    calls: BTreeMap<Register, Vec<Call>>,
    next: u64,
}

impl History {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock()
    }

    fn fresh(&self) -> u64 {
        let seen = &mut *self.lock();
        seen.next += 1;
        seen.next
    }

    /// Records a call that began at a time. `answered`: the outcome is known.
    pub(crate) fn note(&self, register: Register, from: i64, answered: bool, did: Did) {
        let to = answered.then(ids::now);
        self.lock().calls.entry(register).or_default().push(Call { from, to, did });
    }

    /// The number of calls, and how many of them have an unknown outcome.
    pub(crate) fn size(&self) -> (usize, usize) {
        let seen = self.lock();
        let calls = || seen.calls.values().flatten();
        (calls().count(), calls().filter(|c| c.to.is_none()).count())
    }

    /// Checks that all calls are linearizable.
    ///
    /// # Errors
    /// They are not.
    pub(crate) fn check(&self) -> Result<(), NotLinearizable> {
        let seen = self.lock();
        seen.calls.iter().try_for_each(|(r, calls)| {
            encamp_linear::check(calls).map_err(|source| NotLinearizable { register: *r, source })
        })
    }
}

/// A client, until asked to stop.
pub(crate) async fn client(cluster: Arc<Cluster>, place: Place, history: Arc<History>, slowness: u32, stop: Stop) {
    let mut random = cluster.chance("registers");
    let mut known: BTreeMap<Register, (Value, u64)> = BTreeMap::new();
    while !stop.now() {
        tokio::time::sleep(Duration::from_millis(20 + random.below(700)) * slowness).await;
        let Some(mut to) = users::find_leader(&cluster, &mut random) else { continue };
        if sim::has(Bug::StaleRead) {
            to = random.pick(&cluster.servers()).map_or(to, |s| s.0);
        }
        let register = *random.pick(&Register::ALL).expect("a register");
        step(&cluster, (place, to), register, &history, &mut random, &mut known).await;
    }
}

async fn step(
    cluster: &Cluster,
    link: (Place, Place),
    register: Register,
    history: &History,
    random: &mut Random,
    known: &mut BTreeMap<Register, (Value, u64)>,
) {
    let from = ids::now();
    if random.below(2) == 0 {
        let read = move |s: Server| -> BoxFuture<'static, Result<(Value, u64), Error>> {
            Box::pin(async move {
                if !sim::has(Bug::StaleRead) {
                    s.wait_ready().await?;
                }
                Ok(register.read(&s))
            })
        };
        if let Ok(Ok(seen)) = cluster.network.call(link, PATIENCE, read).await {
            history.note(register, from, true, Did::Read(seen.0));
            cluster.sim.note(format_args!("client {} reads {register:?}: {seen:?}", link.0));
            known.insert(register, seen);
        }
        return;
    }
    // Jobs are not removed, because the indexes of a removed job start at 1 again.
    let removes = matches!(register, Register::Variable(_)) && random.below(6) == 0;
    let value = if removes { None } else { Some(history.fresh()) };
    let before = known.get(&register).copied().filter(|_| random.below(3) > 0);
    let write = move |s: Server| -> BoxFuture<'static, Result<Written, Error>> {
        let cas = before.map(|b| b.1).filter(|_| !sim::has(Bug::UncheckedIndex));
        Box::pin(async move { register.write(&s, value, cas).await })
    };
    let done = cluster.network.call(link, PATIENCE, write).await;
    cluster.sim.note(format_args!("client {} writes {register:?} {value:?} over {before:?}: {done:?}", link.0));
    let did = before.map_or(Did::Write(value), |b| Did::Swap(b.0, value));
    match done {
        Ok(Ok(Written::At(index))) => {
            cluster.sim.watch.acknowledged(&cluster.sim, index);
            history.note(register, from, true, did);
            known.insert(register, (value, if removes { 0 } else { index }));
        }
        Ok(Ok(Written::Found(now))) => {
            history.note(register, from, true, Did::Read(now));
            known.remove(&register);
        }
        Ok(Ok(Written::Refused)) => {
            history.note(register, from, true, Did::Refused(before.and_then(|b| b.0)));
            known.remove(&register);
        }
        Err(Lost::Refused) => {}
        Ok(Err(_)) | Err(Lost::Unknown) => {
            history.note(register, from, false, did);
            known.remove(&register);
        }
    }
}
