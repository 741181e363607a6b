//! What is common to all calls: the journal, faults, secrets, and one call per volume at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};
use tonic::metadata::MetadataValue;
use tonic::{Response, Status};

use crate::faults::{Faults, What, When};
use crate::options::Options;
use crate::storage::{Locked, Storage, append};
use crate::twice;

/// What is known about a call before it is made.
pub(crate) struct Call {
    method: &'static str,
    /// What no other call may be about at the same time; empty: nothing.
    key: String,
    detail: Value,
    secrets: Option<BTreeMap<String, String>>,
}

impl Call {
    pub(crate) fn new(method: &'static str) -> Call {
        Call { method, key: String::new(), detail: json!({}), secrets: None }
    }

    /// The volume or snapshot that the call is about, and what the journal tells about the call besides.
    pub(crate) fn about(mut self, key: &str, mut detail: Value) -> Call {
        self.key = key.into();
        if let Some(detail) = detail.as_object_mut() {
            detail.insert("id".into(), key.into());
        }
        self.detail = detail;
        self
    }

    /// The secrets of the call, which are checked.
    pub(crate) fn secrets(mut self, secrets: &BTreeMap<String, String>) -> Call {
        self.secrets = Some(secrets.clone());
        self
    }
}

/// The state of the process.
pub(crate) struct Calls {
    storage: Storage,
    faults: Faults,
    journal: PathBuf,
    node: String,
    /// What calls must carry.
    secrets: BTreeMap<String, String>,
    pending: Mutex<BTreeSet<String>>,
    number: AtomicU64,
}

/// A call in progress.
struct Pending<'a>(&'a Calls, &'a str);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Ok(mut pending) = self.0.pending.lock() {
            pending.remove(self.1);
        }
    }
}

impl Calls {
    pub(crate) fn new(storage: Storage, options: &Options) -> Calls {
        let journal = options.journal.clone().unwrap_or_else(|| storage.root().join("journal.jsonl"));
        Calls {
            faults: Faults::new(options.fail.clone()),
            journal,
            node: options.node_id.clone(),
            secrets: options.secret.iter().cloned().collect(),
            storage,
            pending: Mutex::default(),
            number: AtomicU64::new(0),
        }
    }

    /// Makes a call: its work, with the faults around it, between two lines of the journal.
    pub(crate) async fn run<R: Default>(
        &self,
        call: Call,
        work: impl FnOnce(&mut Locked<'_>) -> Result<R, Status>,
    ) -> Result<Response<R>, Status> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let line = |event: &str| {
            json!({
                "event": event, "method": call.method, "node": self.node, "process": std::process::id(),
                "number": number, "detail": call.detail,
            })
        };
        self.log(&line("begin"))?;
        let result = self.guarded(&call, work).await;
        let mut end = line("end");
        end["code"] = i32::from(result.as_ref().err().map_or(tonic::Code::Ok, Status::code)).into();
        if let Err(status) = &result {
            end["message"] = status.message().into();
        }
        self.log(&end)?;
        result
    }

    fn log(&self, line: &Value) -> Result<(), Status> {
        append(&self.journal, line).map_err(|e| Status::internal(format!("{}: {e}", self.journal.display())))
    }

    async fn guarded<R: Default>(
        &self,
        call: &Call,
        work: impl FnOnce(&mut Locked<'_>) -> Result<R, Status>,
    ) -> Result<Response<R>, Status> {
        let _pending = self.begin(&call.key)?;
        let faults = self.faults.of(call.method, &self.storage)?;
        let mut twice = false;
        if let Some(answer) = apply(call, &faults, When::Before, &mut twice).await? {
            return Ok(answer);
        }
        self.check_secrets(call)?;
        let result = tokio::task::block_in_place(|| work(&mut self.storage.lock()?));
        if let Some(answer) = apply(call, &faults, When::After, &mut twice).await? {
            return Ok(answer);
        }
        let mut response = Response::new(result?);
        if twice {
            response.metadata_mut().insert(twice::HEADER, MetadataValue::from_static("1"));
        }
        Ok(response)
    }

    /// Refuses a second call about the same.
    fn begin<'a>(&'a self, key: &'a str) -> Result<Option<Pending<'a>>, Status> {
        if key.is_empty() {
            return Ok(None);
        }
        let mut pending = self.pending.lock().map_err(|e| Status::internal(e.to_string()))?;
        if !pending.insert(key.into()) {
            return Err(Status::aborted(format!("a call for {key} is in progress")));
        }
        Ok(Some(Pending(self, key)))
    }

    fn check_secrets(&self, call: &Call) -> Result<(), Status> {
        let Some(given) = &call.secrets else { return Ok(()) };
        match self.secrets.iter().find(|(name, value)| given.get(*name) != Some(value)) {
            // An echo, as careless plugins have it.
            Some((name, _)) => Err(Status::unauthenticated(format!("the secret {name} is wrong in {given:?}"))),
            None => Ok(()),
        }
    }
}

/// Applies the faults of one time; gives an answer that replaces that of the call.
async fn apply<R: Default>(
    call: &Call,
    faults: &[(When, What)],
    when: When,
    twice: &mut bool,
) -> Result<Option<Response<R>>, Status> {
    for (_, what) in faults.iter().filter(|(w, _)| *w == when) {
        match what {
            What::Exit => {
                let _ = kill_process(getpid(), Signal::KILL);
                std::future::pending::<()>().await;
            }
            What::Hang => std::future::pending().await,
            What::Error(code) => {
                let secrets = call.secrets.clone().unwrap_or_default();
                return Err(Status::new(*code, format!("a fault of the test; secrets: {secrets:?}")));
            }
            What::Slow(time) => tokio::time::sleep(*time).await,
            What::Lie => return Ok(Some(Response::new(R::default()))),
            What::Twice => *twice = true,
        }
    }
    Ok(None)
}
