//! The node of this agent, as seen by the HTTP interface.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::io::AsyncReadExt;

use encamp_client::{ClientError, Handle, Unhealthy};
use encamp_http::agent::control::AgentStats;
use encamp_http::agent::local_client::{
    ActionRequest, AllocFileInfo, ExecRequest, ExecSession, Frames, LocalClient, LogsRequest, NodeMeta, StreamRequest,
};
use encamp_http::agent::pending::ByteStream;
use encamp_http::agent::pending::Pending;
use encamp_http::error::{Error, multi_error};
use encamp_model::{CsiCall, CsiError, CsiReply, HostVolume};
use encamp_server::keyring::jwt;

/// Bytes read from a file at a time.
const CHUNK: usize = 64 << 10;

/// Access to the node.
pub struct Local(pub Handle);

fn shown<T: Serialize>(value: &T) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|e| Error::internal(e.to_string()))
}

fn offset(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn frames(from: encamp_client::logs::stream::Frames) -> Frames {
    let next = |mut from: encamp_client::logs::stream::Frames| async move {
        let frame = from.recv().await?;
        Some((frame.map_err(Error::from), from))
    };
    stream::unfold(from, next).boxed()
}

/// A future that is ready.
fn now<'a, T: Send + 'a>(value: T) -> Pending<'a, T> {
    Box::pin(std::future::ready(value))
}

/// Runs a blocking disk operation.
fn on_disk<'a, T: Send + 'static>(
    node: &Handle,
    work: impl FnOnce(&Handle) -> Result<T, ClientError> + Send + 'static,
) -> Pending<'a, Result<T, Error>> {
    let node = node.clone();
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(move || work(&node)).await;
        done.map_err(|e| Error::internal(e.to_string()))?.map_err(Error::from)
    })
}

impl LocalClient for Local {
    fn node_id(&self) -> String {
        self.0.node_id()
    }

    fn servers(&self) -> Vec<String> {
        self.0.servers()
    }

    fn set_servers(&self, servers: Vec<String>) -> Pending<'_, Result<(), Error>> {
        Box::pin(async move {
            let replaced = self.0.replace_servers(servers).await;
            replaced.map_err(|errors| Error::bad(multi_error(&errors)))
        })
    }

    fn health(&self) -> Result<(), Unhealthy> {
        self.0.health()
    }

    fn stats(&self) -> AgentStats {
        [("client".to_string(), self.0.stats())].into()
    }

    fn host_stats(&self) -> Pending<'_, Result<Value, Error>> {
        now(shown(&self.0.host_stats()))
    }

    fn metadata(&self) -> Pending<'_, Result<NodeMeta, Error>> {
        now(Ok(self.0.meta()))
    }

    fn identity(&self) -> Pending<'_, Option<serde_json::Map<String, Value>>> {
        Box::pin(async { jwt::claims(self.0.identity().await.expose()) })
    }

    fn renew_identity(&self) {
        self.0.renew_identity();
    }

    fn set_metadata(&self, new: BTreeMap<String, Option<String>>) -> Pending<'_, Result<NodeMeta, Error>> {
        now(self.0.apply_meta(&new).map_err(Error::from))
    }

    fn create_volume<'a>(&'a self, volume: &'a HostVolume) -> Pending<'a, Result<(String, i64), Error>> {
        let volume = volume.clone();
        on_disk(&self.0, move |node| node.create_volume(&volume))
    }

    fn register_volume<'a>(&'a self, volume: &'a HostVolume) -> Pending<'a, Result<(), Error>> {
        let volume = volume.clone();
        on_disk(&self.0, move |node| node.register_volume(&volume))
    }

    fn delete_volume<'a>(&'a self, id: &'a str) -> Pending<'a, Result<(), Error>> {
        let id = id.to_string();
        on_disk(&self.0, move |node| node.delete_volume(&id))
    }

    fn ask_csi_plugin(&self, call: CsiCall) -> Pending<'_, Result<CsiReply, CsiError>> {
        Box::pin(self.0.ask_csi_plugin(call))
    }

    fn collect_all(&self) -> Pending<'_, Result<(), Error>> {
        self.0.gc_all();
        now(Ok(()))
    }

    fn alloc_namespace(&self, alloc_id: &str) -> Option<String> {
        self.0.alloc_namespace(alloc_id)
    }

    fn isolates(&self, alloc_id: &str, task: &str) -> bool {
        self.0.isolates(alloc_id, task)
    }

    fn alloc_stats<'a>(&'a self, alloc_id: &'a str, task: &'a str) -> Pending<'a, Result<Value, Error>> {
        now(self.0.alloc_stats(alloc_id, task).map_err(Error::from).and_then(|s| shown(&s)))
    }

    fn checks<'a>(&'a self, alloc_id: &'a str) -> Pending<'a, Result<Value, Error>> {
        now(self.0.checks(alloc_id).map_err(Error::from).and_then(|c| shown(&c)))
    }

    fn restart<'a>(&'a self, alloc_id: &'a str, task: &'a str, all: bool) -> Pending<'a, Result<(), Error>> {
        Box::pin(async move { self.0.restart(alloc_id, task, all).await.map_err(Error::from) })
    }

    fn signal<'a>(&'a self, alloc_id: &'a str, task: &'a str, signal: &'a str) -> Pending<'a, Result<(), Error>> {
        Box::pin(async move { self.0.signal(alloc_id, task, signal).await.map_err(Error::from) })
    }

    fn collect<'a>(&'a self, alloc_id: &'a str) -> Pending<'a, Result<(), Error>> {
        Box::pin(async move { self.0.gc_alloc(alloc_id).await.map_err(Error::from) })
    }

    fn list<'a>(&'a self, alloc_id: &'a str, path: &'a str) -> Pending<'a, Result<Vec<AllocFileInfo>, Error>> {
        now(self.0.fs_list(alloc_id, path).map_err(Error::from))
    }

    fn stat<'a>(&'a self, alloc_id: &'a str, path: &'a str) -> Pending<'a, Result<AllocFileInfo, Error>> {
        now(self.0.fs_stat(alloc_id, path).map_err(Error::from))
    }

    fn read<'a>(
        &'a self,
        alloc_id: &'a str,
        path: &'a str,
        from: i64,
        limit: Option<i64>,
    ) -> Pending<'a, Result<ByteStream, Error>> {
        Box::pin(async move {
            let limit = limit.map_or(0, offset);
            let contents = self.0.fs_read(alloc_id, path, offset(from), limit).await.map_err(Error::from)?;
            let chunks = stream::unfold(Some(contents), |contents| async move {
                let mut contents = contents?;
                let mut buffer = vec![0; CHUNK];
                match contents.read(&mut buffer).await {
                    Ok(0) => None,
                    Ok(n) => {
                        buffer.truncate(n);
                        Some((Ok(buffer.into()), Some(contents)))
                    }
                    Err(e) => Some((Err(Error::internal(e.to_string())), None)),
                }
            });
            Ok(chunks.boxed())
        })
    }

    fn stream<'a>(&'a self, alloc_id: &'a str, r: StreamRequest) -> Pending<'a, Result<Frames, Error>> {
        let started = self.0.fs_stream(alloc_id, &r.path, r.origin, r.offset, r.follow);
        now(started.map(frames).map_err(Error::from))
    }

    fn logs<'a>(&'a self, alloc_id: &'a str, r: LogsRequest) -> Pending<'a, Result<Frames, Error>> {
        now(self.0.logs(alloc_id, &r).map(frames).map_err(Error::from))
    }

    fn disk<'a>(&'a self, alloc_id: &'a str, token: &'a str) -> Pending<'a, Result<ByteStream, Error>> {
        Box::pin(async move {
            let bytes = self.0.disk(alloc_id, token).await.map_err(Error::from)?;
            let shown = |e: encamp_client::disk::ReadError| Error::internal(e.to_string());
            Ok(bytes.map(move |piece| piece.map(Into::into).map_err(shown)).boxed())
        })
    }

    fn exec<'a>(&'a self, alloc_id: &'a str, r: ExecRequest) -> Pending<'a, Result<ExecSession, Error>> {
        Box::pin(async move { self.0.exec(alloc_id, &r.task, r.command, r.tty).await.map_err(Error::from) })
    }

    fn run_action<'a>(&'a self, alloc_id: &'a str, r: ActionRequest) -> Pending<'a, Result<ExecSession, Error>> {
        Box::pin(async move {
            let command = self.0.action(alloc_id, &r.job_id, &r.task, &r.action).map_err(Error::from)?;
            self.0.exec(alloc_id, &r.task, command, r.tty).await.map_err(Error::from)
        })
    }
}
