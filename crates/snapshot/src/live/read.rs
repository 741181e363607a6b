//! Reads a cluster: lists first, then changed objects in full, then the lists again until nothing changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};

use super::collected::{Collected, JobKey, from_stub};
use super::settings::settings_of_agent;
use super::{Detail, FetchError, Fetched, Options, Progress, Report};
use crate::file::{FORMAT_VERSION, SnapshotFile, Volume};
use encamp_api::{ApiError, Client, Meta, Query};
use encamp_model::responses::{JobListStub, NodeListStub};
use encamp_model::*;
use encamp_state::IdHash;

/// How often the lists are compared again with what was read.
const ROUNDS: usize = 4;

const NEEDS_NODES: &str = "node read";
const NEEDS_JOBS: &str = "read-job and list-jobs on all namespaces";

/// Reads a cluster. `known` is what an earlier fetch left, at that index: what did not change since is not read again.
pub async fn fetch(
    client: &Client,
    options: &Options,
    (known, known_index): (Collected, u64),
    progress: &dyn Progress,
) -> Result<Fetched, FetchError> {
    let before = client.requests();
    let mut reader =
        Reader { client, options, progress, known, report: Report::default(), kept: 0, seen: BTreeSet::new() };
    reader.check_namespaces().await?;
    let small = reader.small().await?;
    let mut lists = reader.lists().await?;
    if reader.report.indexes.1 < known_index {
        // Indexes never fall: this is another cluster at the same address.
        reader.known = Collected::default();
    }
    for round in 1..=ROUNDS {
        let read = reader.update(&lists).await?;
        match round {
            1 => reader.report.kept = reader.kept,
            ROUNDS => reader.report.unsettled = read,
            _ => reader.report.moved += read,
        }
        if read == 0 || round == ROUNDS {
            break;
        }
        // While objects were read others changed, and these again.
        lists = reader.lists().await?;
    }
    let file = reader.assemble(small, lists)?;
    let mut report = reader.report;
    report.requests = client.requests() - before;
    Ok(Fetched { file, report, collected: reader.known })
}

/// The objects that are small enough to be read in full each time.
struct Small {
    scheduler_configuration: Option<SchedulerConfiguration>,
    server_settings: Option<ServerSettings>,
    node_pools: Vec<NodePool>,
    namespaces: Vec<Namespace>,
    volumes: Vec<Volume>,
    host_volume_claims: Vec<TaskGroupHostVolumeClaim>,
}

/// The lists of objects, by ModifyIndex.
struct Lists {
    nodes: BTreeMap<String, NodeListStub>,
    jobs: BTreeMap<JobKey, JobListStub>,
    allocations: HashMap<String, AllocListStub, IdHash>,
    deployments: Vec<Deployment>,
}

struct Reader<'a> {
    client: &'a Client,
    options: &'a Options,
    progress: &'a dyn Progress,
    known: Collected,
    report: Report,
    /// Objects that were known as they are.
    kept: u64,
    /// The texts that [`Report::missing`] names already.
    seen: BTreeSet<String>,
}

impl Reader<'_> {
    /// A result, or the default where partial data will do.
    fn accept<T: Default>(
        &mut self,
        what: impl Into<String>,
        needs: &'static str,
        result: Result<T, ApiError>,
    ) -> Result<T, FetchError> {
        let (what, source) = match result {
            Ok(value) => return Ok(value),
            Err(e) => (what.into(), e),
        };
        let error = FetchError::Api { what, needs, source: Box::new(source) };
        if !self.options.allow_partial {
            return Err(error);
        }
        let text = error.to_string();
        if self.seen.insert(text.clone()) {
            self.report.missing.push(text);
        }
        Ok(T::default())
    }

    /// Takes a list's index into the range that was seen.
    fn indexed<T>(&mut self, (list, meta): (T, Meta)) -> T {
        let (first, last) = &mut self.report.indexes;
        if meta.index > 0 {
            *first = if *first == 0 { meta.index } else { (*first).min(meta.index) };
            *last = (*last).max(meta.index);
        }
        list
    }

    /// Lists leave out what the token can't see, without a word. A namespace nobody made can only be listed by who may
    /// list all.
    async fn check_namespaces(&mut self) -> Result<(), FetchError> {
        let query = Query::in_namespace("encamp-looks-for-what-it-may-see");
        for (what, path) in [("jobs", "/v1/jobs"), ("allocations", "/v1/allocations")] {
            let answer = self.client.get::<Option<Vec<serde_json::Value>>>(path, &query).await;
            match answer {
                Err(e) if e.is_denied() => {
                    let error = FetchError::Namespaces { what };
                    if !self.options.allow_partial {
                        return Err(error);
                    }
                    self.report.missing.push(format!("{what} of namespaces the token may not read"));
                }
                Err(source) => {
                    return Err(FetchError::Api { what: what.into(), needs: NEEDS_JOBS, source: Box::new(source) });
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    async fn small(&mut self) -> Result<Small, FetchError> {
        let client = self.client;
        let configuration = client.scheduler_configuration().await.map(|(c, _)| c);
        let scheduler_configuration = self.accept("the scheduler configuration", "operator read", configuration)?;
        let agent = client.agent_self().await.map(|(agent, _)| settings_of_agent(&agent));
        let server_settings = match agent {
            // Plans say what they assume without.
            Err(e) if e.is_denied() || e.is_not_found() => None,
            other => self.accept("the agent's settings", "agent read", other)?,
        };
        let pools = none_if_unknown(client.node_pools().await).map(|a| self.indexed(a));
        let node_pools = self.accept("node pools", "node_pool read", pools)?;
        let namespaces = client.namespaces().await.map(|a| self.indexed(a));
        let namespaces = self.accept("namespaces", "any capability in them", namespaces)?;
        let claims = none_if_unknown(client.host_volume_claims().await).map(|(list, _)| list);
        let host_volume_claims = self.accept("claims on host volumes", "host-volume-read", claims)?;
        Ok(Small {
            scheduler_configuration,
            server_settings,
            node_pools,
            namespaces,
            volumes: self.volumes().await?,
            host_volume_claims,
        })
    }

    async fn volumes(&mut self) -> Result<Vec<Volume>, FetchError> {
        let client = self.client;
        let csi = none_if_unknown(client.csi_volumes().await).map(|(list, _)| list);
        let csi = self.accept("CSI volumes", "csi-list-volume", csi)?;
        let host = none_if_unknown(client.host_volumes().await).map(|(list, _)| list);
        let host = self.accept("host volumes", "host-volume-read", host)?;
        let mut out = Vec::new();
        for v in csi {
            let read = present(client.csi_volume(&v.namespace, &v.id).await);
            let volume = self.accept(format!("CSI volume {}", v.id), "csi-read-volume", read)?;
            out.extend(volume.map(|v| Volume::Csi(Box::new(v))));
        }
        for v in host {
            let read = present(client.host_volume(&v.namespace, &v.id).await);
            let volume = self.accept(format!("host volume {}", v.id), "host-volume-read", read)?;
            out.extend(volume.map(|v| Volume::Host(Box::new(v))));
        }
        Ok(out)
    }

    async fn lists(&mut self) -> Result<Lists, FetchError> {
        let client = self.client;
        let nodes = client.nodes().await.map(|a| self.indexed(a));
        let nodes = self.accept("nodes", NEEDS_NODES, nodes)?;
        let jobs = client.jobs().await.map(|a| self.indexed(a));
        let jobs = self.accept("jobs", NEEDS_JOBS, jobs)?;
        let allocations = client.allocations().await.map(|a| self.indexed(a));
        let allocations = self.accept("allocations", NEEDS_JOBS, allocations)?;
        let deployments = client.deployments().await.map(|a| self.indexed(a));
        let deployments = self.accept("deployments", NEEDS_JOBS, deployments)?;
        self.report.nodes = nodes.len() as u64;
        Ok(Lists {
            nodes: nodes.into_iter().map(|n| (n.id.clone(), n)).collect(),
            jobs: jobs.into_iter().map(|j| ((j.namespace.clone(), j.id.clone()), j)).collect(),
            allocations: allocations.into_iter().map(|a| (a.id.to_string(), a)).collect(),
            deployments,
        })
    }

    /// Reads what is not known as it is now. Returns how many objects that were.
    async fn update(&mut self, lists: &Lists) -> Result<u64, FetchError> {
        let before = self.report.read;
        self.update_nodes(lists).await?;
        self.update_jobs(lists).await?;
        if self.options.detail == Detail::Everything {
            self.update_allocations_by_node(lists).await?;
        }
        self.update_allocations(lists).await?;
        Ok(self.report.read - before)
    }

    async fn update_nodes(&mut self, lists: &Lists) -> Result<(), FetchError> {
        let (known, wanted): (Vec<_>, Vec<_>) = lists.nodes.values().partition(|n| self.known.has_node(n));
        self.kept += known.len() as u64;
        let client = self.client;
        let ids = wanted.into_iter().map(|n| n.id.clone()).collect();
        let answers = self.many("nodes", ids, |id| async move { client.node(&id).await.map(|(node, _)| node) }).await;
        for (id, answer) in answers {
            if let Some(node) = self.accept(format!("node {id}"), NEEDS_NODES, present_value(answer))? {
                self.known.nodes.insert(id, node);
            }
        }
        Ok(())
    }

    /// Jobs that matter: those to be planned, and for the others those with allocations that run.
    async fn update_jobs(&mut self, lists: &Lists) -> Result<(), FetchError> {
        // Allocations of jobs that are gone have to bring them along.
        self.known.jobs.retain(|key, _| lists.jobs.contains_key(key));
        let matters: Option<BTreeSet<JobKey>> = match &self.options.detail {
            Detail::Everything => None,
            Detail::Jobs(planned) => {
                let running = lists.allocations.values().filter(|a| !stub_is_over(a));
                Some(
                    running
                        .map(|a| (a.namespace.to_string(), a.job_id.to_string()))
                        .chain(planned.iter().cloned())
                        .collect(),
                )
            }
        };
        let all = lists.jobs.iter().filter(|(key, _)| matters.as_ref().is_none_or(|m| m.contains(*key)));
        let (known, wanted): (Vec<_>, Vec<_>) = all.partition(|(key, listed)| self.known.has_job(key, listed));
        self.kept += known.len() as u64;
        let client = self.client;
        let keys: Vec<JobKey> = wanted.into_iter().map(|(key, _)| key.clone()).collect();
        let read = |key: JobKey| async move { client.job_versions(&key.0, &key.1).await.map(|(versions, _)| versions) };
        for (key, answer) in self.many("jobs", keys, read).await {
            let what = format!("job {} in namespace {}", key.1, key.0);
            if let Some(versions) = self.accept(what, NEEDS_JOBS, present_value(answer))? {
                self.known.jobs.insert(key, versions);
            }
        }
        Ok(())
    }

    /// All allocations of nodes where any changed: one request for each node.
    async fn update_allocations_by_node(&mut self, lists: &Lists) -> Result<(), FetchError> {
        let (known, changed): (Vec<_>, Vec<_>) = lists.allocations.values().partition(|a| self.known.has_allocation(a));
        self.kept += known.len() as u64;
        let nodes: BTreeSet<&str> =
            changed.into_iter().map(|a| a.node_id.as_str()).filter(|id| lists.nodes.contains_key(*id)).collect();
        let nodes: Vec<String> = nodes.into_iter().map(str::to_string).collect();
        let client = self.client;
        let read = |id: String| async move { client.node_allocations(&id).await.map(|(list, _)| list) };
        for (id, answer) in self.many("allocations", nodes, read).await {
            let list = self.accept(format!("allocations of node {id}"), NEEDS_JOBS, answer)?;
            list.into_iter().for_each(|a| self.keep(a));
        }
        Ok(())
    }

    /// Single allocations that are still needed in full.
    async fn update_allocations(&mut self, lists: &Lists) -> Result<(), FetchError> {
        let wanted = |a: &AllocListStub| match &self.options.detail {
            Detail::Everything => true,
            Detail::Jobs(planned) => {
                planned.iter().any(|(namespace, id)| *namespace == a.namespace && *id == a.job_id)
                    // The eviction candidates are decided by the job, which may be gone from the table.
                    || !stub_is_over(a) && !self.known.has_version(a, a.job_version)
            }
        };
        let all = lists.allocations.values().filter(|a| wanted(a));
        let (known, wanted): (Vec<_>, Vec<_>) = all.partition(|a| self.known.has_allocation(a));
        if self.options.detail != Detail::Everything {
            // Otherwise they were counted before their nodes' allocations were read.
            self.kept += known.len() as u64;
        }
        let mut ids: Vec<String> = wanted.into_iter().map(|a| a.id.to_string()).collect();
        ids.sort_unstable();
        let client = self.client;
        let read = |id: String| async move { client.allocation(&id).await.map(|(a, _)| a) };
        for (id, answer) in self.many("allocations", ids, read).await {
            if let Some(a) = self.accept(format!("allocation {id}"), NEEDS_JOBS, present_value(answer))? {
                self.keep(a);
            }
        }
        Ok(())
    }

    /// Keeps an allocation, without the copy of its job where that is known.
    fn keep(&mut self, mut a: Allocation) {
        let known = a.job.as_ref().and_then(|own| {
            let versions = self.known.jobs.get(&(a.namespace.to_string(), a.job_id.to_string()))?;
            let same = |j: &&Job| j.version == own.version && j.create_index == own.create_index;
            versions.iter().find(same).filter(|j| j.create_index <= a.create_index)
        });
        if let Some(job) = known {
            a.stored_job_version = Some(job.version);
            a.job = None;
        }
        self.known.allocations.insert(a.id.to_string(), Arc::new(a));
    }

    /// Reads many objects, some at a time.
    async fn many<K, T, F>(
        &mut self,
        what: &'static str,
        keys: Vec<K>,
        read: impl Fn(K) -> F,
    ) -> Vec<(K, Result<T, ApiError>)>
    where
        K: Clone,
        F: Future<Output = Result<T, ApiError>>,
    {
        if keys.is_empty() {
            return Vec::new();
        }
        self.report.read += keys.len() as u64;
        let progress = self.progress;
        progress.begin(what, keys.len() as u64);
        let read = &read;
        let reads = keys.into_iter().map(|key| async move {
            let answer = read(key.clone()).await;
            progress.advance();
            (key, answer)
        });
        let mut reads = stream::iter(reads).buffer_unordered(self.options.concurrency.max(1));
        let mut out = Vec::new();
        while let Some(answer) = reads.next().await {
            // Without this object all others are for nothing.
            let fatal = answer.1.as_ref().is_err_and(|e| !e.is_not_found()) && !self.options.allow_partial;
            out.push(answer);
            if fatal {
                break;
            }
        }
        out
    }

    /// The snapshot: what the lists name, as it was read.
    fn assemble(&mut self, small: Small, lists: Lists) -> Result<SnapshotFile, FetchError> {
        let known = &mut self.known;
        known.nodes.retain(|id, _| lists.nodes.contains_key(id));
        known.allocations.retain(|id, _| lists.allocations.contains_key(id));
        let mut nodes: Vec<Node> = known.nodes.values().cloned().collect();
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        let mut allocations: Vec<Arc<Allocation>> = Vec::with_capacity(lists.allocations.len());
        for stub in lists.allocations.into_values() {
            let full = known.allocations.get(&*stub.id).filter(|a| a.modify_index >= stub.modify_index).cloned();
            allocations.push(full.unwrap_or_else(|| Arc::new(from_stub(stub))));
        }
        allocations.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(SnapshotFile {
            version: Some(FORMAT_VERSION),
            taken_at: Time::from_unix_nanos(self.options.now),
            source: self.client.address().to_string(),
            index: self.report.indexes.1,
            scheduler_configuration: small.scheduler_configuration,
            server_settings: small.server_settings,
            nodes,
            node_pools: small.node_pools,
            namespaces: small.namespaces,
            jobs: known.jobs.values().flatten().cloned().collect(),
            allocations,
            allocation_jobs: Vec::new(),
            deployments: lists.deployments,
            volumes: small.volumes,
            host_volume_claims: small.host_volume_claims,
        })
    }
}

fn stub_is_over(a: &AllocListStub) -> bool {
    a.desired_status != DesiredStatus::Run
        || matches!(a.client_status, ClientStatus::Complete | ClientStatus::Failed | ClientStatus::Lost)
}

/// An object that is gone by now is no failure.
fn present_value<T>(answer: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(e),
    }
}

fn present<T>(answer: Result<(T, Meta), ApiError>) -> Result<Option<T>, ApiError> {
    present_value(answer.map(|(value, _)| value))
}

/// Older servers have no such list.
fn none_if_unknown<T: Default>(answer: Result<(T, Meta), ApiError>) -> Result<(T, Meta), ApiError> {
    match answer {
        Err(e) if e.is_not_found() => Ok(Default::default()),
        other => other,
    }
}
