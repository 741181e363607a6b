//! `state.bin`: a list of records, each of one table (`docs/spec/snapshot-archive.md §5, 6`), decoded one by one as
//! they arrive.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde::de::DeserializeOwned;

use super::container::Piece;
use super::error::ArchiveError;
use encamp_model::version::Version;
use encamp_model::*;
use encamp_msgpack::wire::{Extent, Head, MAX_DEPTH, Malformed, head};
use encamp_msgpack::{Profile, ValueError, text_member};
use encamp_state::IdHash;

/// Makes an object of a record.
fn decode<T: DeserializeOwned>(value: &[u8]) -> Result<T, ValueError> {
    encamp_msgpack::decode(value, Profile::Archive)
}

/// The most bytes a record may have.
const MAX_RECORD: usize = 64 << 20;

/// The records of an archive, by table. Each list is sorted by the key of its table, without duplicates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    /// Nodes, by ID.
    pub nodes: Vec<Node>,
    /// The current version of each job, by namespace and ID.
    pub jobs: Vec<Job>,
    /// Stored versions of jobs, by namespace, ID and version.
    pub job_versions: Vec<Job>,
    /// The index at which each table changed last, by table.
    pub indexes: Vec<IndexEntry>,
    /// Evaluations, by ID.
    pub evaluations: Vec<Evaluation>,
    /// Allocations, by ID. `job_ref` is the position of their job in `allocation_jobs`.
    pub allocations: Vec<Allocation>,
    /// The jobs of allocations as of their placement, each once.
    pub allocation_jobs: Vec<Job>,
    /// Last launches of periodic jobs, by namespace and ID.
    pub periodic_launches: Vec<PeriodicLaunch>,
    /// Job summaries, by namespace and job.
    pub job_summaries: Vec<JobSummary>,
    /// Deployments, by ID.
    pub deployments: Vec<Deployment>,
    /// ACL policies, by name.
    pub acl_policies: Vec<AclPolicy>,
    /// ACL tokens, by accessor.
    pub acl_tokens: Vec<AclToken>,
    /// ACL roles, by ID.
    pub acl_roles: Vec<AclRole>,
    /// Authentication methods, by name.
    pub acl_auth_methods: Vec<AclAuthMethod>,
    /// Binding rules, by ID.
    pub acl_binding_rules: Vec<AclBindingRule>,
    /// Scheduler configuration, if the cluster ever had a leader.
    pub scheduler_configuration: Option<SchedulerConfiguration>,
    /// The identity of the cluster.
    pub cluster_metadata: Option<ClusterMetadata>,
    /// Scaling policies, by ID.
    pub scaling_policies: Vec<ScalingPolicy>,
    /// Scaling events, by namespace and job.
    pub scaling_events: Vec<JobScalingEvents>,
    /// CSI plugins, by ID.
    pub csi_plugins: Vec<CsiPlugin>,
    /// CSI volumes, by namespace and ID.
    pub csi_volumes: Vec<CsiVolume>,
    /// Dynamic host volumes, by namespace and ID.
    pub host_volumes: Vec<HostVolume>,
    /// Registered services, by namespace and ID.
    pub service_registrations: Vec<ServiceRegistration>,
    /// Variables, by namespace and path.
    pub variables: Vec<VariableEncrypted>,
    /// Quota usage of variables, by namespace.
    pub variables_quotas: Vec<VariablesQuota>,
    /// Keys of the keyring without the keys themselves, by ID.
    pub root_keys: Vec<RootKey>,
    /// Node pools, by name.
    pub node_pools: Vec<NodePool>,
    /// Sources of jobs, by namespace, job and version.
    pub job_submissions: Vec<JobSubmission>,
    /// Namespaces, by name.
    pub namespaces: Vec<Namespace>,
}

/// How much of a table an archive holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableSize {
    /// How many records.
    pub records: u64,
    /// How many bytes they take in `state.bin`.
    pub bytes: u64,
}

/// The content of `state.bin`.
#[derive(Debug, Default)]
pub struct State {
    /// The records.
    pub tables: Tables,
    /// How many of each type there are, those included that are not kept.
    pub sizes: BTreeMap<u8, TableSize>,
}

/// The name of a record type, as `operator snapshot inspect` prints it; `None` for types this build does not know.
pub fn type_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "Node",
        1 => "Job",
        2 => "Index",
        3 => "Eval",
        4 => "Alloc",
        5 => "TimeTable",
        6 => "PeriodicLaunch",
        7 => "JobSummary",
        8 => "VaultAccessor",
        9 => "JobVersion",
        10 => "Deployment",
        11 => "ACLPolicy",
        12 => "ACLToken",
        13 => "SchedulerConfig",
        14 => "ClusterMetadata",
        15 => "ServiceIdentityTokenAccessor",
        16 => "ScalingPolicy",
        17 => "CSIPlugin",
        18 => "CSIVolume",
        19 => "ScalingEvents",
        21 => "ServiceRegistration",
        22 => "Variables",
        23 => "VariablesQuota",
        24 => "RootKeyMeta",
        25 => "ACLRole",
        26 => "ACLAuthMethod",
        27 => "ACLBindingRule",
        28 => "NodePool",
        29 => "JobSubmission",
        30 => "WrappedRootKeys",
        31 => "HostVolumeSnapshot",
        64 => "Namespace",
        _ => return None,
    })
}

/// Members that tell one record of a table from another, the most telling first.
const KEYS: &[&str] = &["ID", "Key", "AccessorID", "KeyID", "JobID", "Path", "Name", "Namespace"];

/// Decodes the pieces of `state.bin`. Types that are not known are refused, or skipped when reading leniently.
pub fn read(pieces: &Receiver<Piece>, lenient: bool) -> Result<State, ArchiveError> {
    let mut input = Input { pieces, buffer: Vec::new(), start: 0, offset: 0, size: 0 };
    let mut reader = Reader { state: State::default(), jobs: Jobs::default(), lenient, record: 0 };
    let header = input.value(|offset| format!("header, offset {offset}"))?;
    if !matches!(head(input.bytes(header)), Ok(Some((Head::Map(_), _)))) {
        let problem = "it does not begin with a map: it is not the state of a server".into();
        return Err(ArchiveError::Framing { place: "header, offset 0".into(), problem });
    }
    input.consume(header);
    while let Some(kind) = input.byte() {
        let start = input.offset;
        reader.record += 1;
        input.consume(1);
        let size = input.value(|offset| reader.place(kind, offset))?;
        reader.keep(kind, input.bytes(size), start)?;
        input.consume(size);
        let of_kind = reader.state.sizes.entry(kind).or_default();
        of_kind.records += 1;
        of_kind.bytes += 1 + size as u64;
    }
    let mut state = reader.state;
    state.tables.allocation_jobs = reader.jobs.jobs;
    state.tables.settle();
    Ok(state)
}

/// The input buffer over the chunks of `state.bin`.
struct Input<'a> {
    pieces: &'a Receiver<Piece>,
    buffer: Vec<u8>,
    /// The start of the part that is not processed yet.
    start: usize,
    /// Where `start` is in `state.bin`.
    offset: u64,
    /// Length of `state.bin`.
    size: u64,
}

impl Input<'_> {
    /// Waits for more; false at the end.
    fn more(&mut self) -> bool {
        match self.pieces.recv() {
            Ok(Piece::Size(size)) => {
                self.size = size;
                true
            }
            Ok(Piece::Data(data)) => {
                self.buffer.drain(..self.start);
                self.start = 0;
                self.buffer.extend_from_slice(&data);
                true
            }
            Err(_) => false,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        while self.start == self.buffer.len() {
            if !self.more() {
                return None;
            }
        }
        self.buffer.get(self.start).copied()
    }

    fn bytes(&self, n: usize) -> &[u8] {
        &self.buffer[self.start..self.start + n]
    }

    fn consume(&mut self, n: usize) {
        self.start += n;
        self.offset += n as u64;
    }

    /// Waits for a whole value; returns its length.
    fn value(&mut self, place: impl Fn(u64) -> String) -> Result<usize, ArchiveError> {
        let mut extent = Extent::default();
        loop {
            let left = self.size.saturating_sub(self.offset);
            let there = &self.buffer[self.start..];
            let problem = match extent.advance(there, left) {
                Ok(Some(size)) => return Ok(size),
                Ok(None) if there.len() > MAX_RECORD => {
                    let text = format!("the record has more than {} MiB, which no record has", MAX_RECORD >> 20);
                    return Err(ArchiveError::Limit(format!("state.bin, {}: {text}", place(self.offset))));
                }
                Ok(None) if self.more() => continue,
                Ok(None) => "state.bin ends within a value".to_string(),
                Err(Malformed::TooLong(n)) => format!("a length of {n} reaches beyond the end of state.bin"),
                Err(Malformed::TooDeep) => {
                    let text = format!("values are nested more than {MAX_DEPTH} levels deep");
                    return Err(ArchiveError::Limit(format!("state.bin, {}: {text}", place(self.offset))));
                }
                Err(Malformed::Byte(byte)) => {
                    let problem = format!("byte 0x{byte:02x} is not a value");
                    return Err(ArchiveError::Value { place: place(self.offset + extent.position() as u64), problem });
                }
            };
            return Err(ArchiveError::Framing { place: place(self.offset + extent.position() as u64), problem });
        }
    }
}

/// Collects records.
struct Reader {
    state: State,
    jobs: Jobs,
    lenient: bool,
    /// Number of the current record, from 1.
    record: u64,
}

impl Reader {
    fn place(&self, kind: u8, offset: u64) -> String {
        let name = type_name(kind).map_or_else(|| format!("type {kind}"), str::to_string);
        format!("record {} ({name}), offset {offset}", self.record)
    }

    /// Decodes a record and keeps it. `start` is where its type byte is.
    fn keep(&mut self, kind: u8, value: &[u8], start: u64) -> Result<(), ArchiveError> {
        fn push<T: DeserializeOwned>(table: &mut Vec<T>, value: &[u8]) -> Result<(), ValueError> {
            table.push(decode(value)?);
            Ok(())
        }
        let (t, jobs) = (&mut self.state.tables, &mut self.jobs);
        let kept = match kind {
            0 => push(&mut t.nodes, value),
            1 => push(&mut t.jobs, value),
            2 => push(&mut t.indexes, value),
            3 => push(&mut t.evaluations, value),
            4 => decode(value).map(|a| t.allocations.push(jobs.share(a))),
            6 => push(&mut t.periodic_launches, value),
            7 => push(&mut t.job_summaries, value),
            9 => push(&mut t.job_versions, value),
            10 => push(&mut t.deployments, value),
            11 => push(&mut t.acl_policies, value),
            12 => push(&mut t.acl_tokens, value),
            13 => decode(value).map(|c| t.scheduler_configuration = Some(c)),
            14 => decode(value).map(|c| t.cluster_metadata = Some(c)),
            16 => push(&mut t.scaling_policies, value),
            17 => push(&mut t.csi_plugins, value),
            18 => push(&mut t.csi_volumes, value),
            19 => push(&mut t.scaling_events, value),
            21 => push(&mut t.service_registrations, value),
            22 => push(&mut t.variables, value),
            23 => push(&mut t.variables_quotas, value),
            24 | 30 => push(&mut t.root_keys, value),
            25 => push(&mut t.acl_roles, value),
            26 => push(&mut t.acl_auth_methods, value),
            27 => push(&mut t.acl_binding_rules, value),
            28 => push(&mut t.node_pools, value),
            29 => push(&mut t.job_submissions, value),
            31 => push(&mut t.host_volumes, value),
            64 => push(&mut t.namespaces, value),
            // Tables of older servers that nothing needs any more: time table, Vault and Consul accessors.
            5 | 8 | 15 => Ok(()),
            20 => return Err(self.unknown(kind, start, "records of type 20 have been forbidden since 1.0")),
            _ if self.lenient => Ok(()),
            _ => {
                let text =
                    "a table of a newer server or another edition; it can be left out with -ignore-unknown-tables";
                return Err(self.unknown(kind, start, text));
            }
        };
        kept.map_err(|e| self.problem(kind, value, start + 1, &e))
    }

    fn unknown(&self, kind: u8, start: u64, what: &str) -> ArchiveError {
        let version = self.state.tables.server_version();
        let version = version.map_or_else(String::new, |v| format!(" (its newest client is of version {v})"));
        ArchiveError::Type { place: self.place(kind, start), problem: format!("{what}{version}") }
    }

    fn problem(&self, kind: u8, value: &[u8], start: u64, e: &ValueError) -> ArchiveError {
        let mut place = self.place(kind, start + e.offset() as u64);
        if let Some(name) = text_member(value, KEYS) {
            place.push_str(&format!(" of {}", quoted(&name)));
        }
        let path = e.path();
        if !path.is_empty() {
            place.push_str(&format!(", {path}"));
        }
        ArchiveError::Value { place, problem: e.to_string() }
    }
}

/// The jobs of allocations, each value once: thousands of allocations repeat a few hundred jobs
/// (`docs/spec/snapshot-archive.md §15` point 1).
#[derive(Default)]
struct Jobs {
    jobs: Vec<Job>,
    /// Positions by a hash of what tells most jobs apart.
    known: HashMap<u64, Vec<u32>, IdHash>,
}

impl Jobs {
    /// Replaces the job of an allocation by its position.
    fn share(&mut self, mut a: Allocation) -> Allocation {
        a.stored_job_version = None;
        a.job_ref = a.job.take().map(|job| self.position(Arc::unwrap_or_clone(job)));
        a
    }

    fn position(&mut self, job: Job) -> u32 {
        let told_apart_by = (&job.id, &job.namespace, job.version, job.modify_index, &job.status, job.stable);
        let hash = self.known.hasher().hash_one(told_apart_by);
        let positions = self.known.entry(hash).or_default();
        let same = |i: &&u32| self.jobs.get(**i as usize) == Some(&job);
        if let Some(i) = positions.iter().find(same) {
            return *i;
        }
        let i = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        positions.push(i);
        self.jobs.push(job);
        i
    }
}

impl Tables {
    /// Sorts every table by its key. Of records with the same key the last one counts.
    fn settle(&mut self) {
        settle(&mut self.nodes, |v| (&v.id, "", 0));
        settle(&mut self.jobs, |v| (&v.namespace, &v.id, 0));
        settle(&mut self.job_versions, |v| (&v.namespace, &v.id, v.version));
        settle(&mut self.indexes, |v| (&v.key, "", 0));
        settle(&mut self.evaluations, |v| (&v.id, "", 0));
        settle(&mut self.allocations, |v| (&v.id, "", 0));
        settle(&mut self.periodic_launches, |v| (&v.namespace, &v.id, 0));
        settle(&mut self.job_summaries, |v| (&v.namespace, &v.job_id, 0));
        settle(&mut self.deployments, |v| (&v.id, "", 0));
        settle(&mut self.acl_policies, |v| (&v.name, "", 0));
        settle(&mut self.acl_tokens, |v| (&v.accessor_id, "", 0));
        settle(&mut self.acl_roles, |v| (&v.id, "", 0));
        settle(&mut self.acl_auth_methods, |v| (&v.name, "", 0));
        settle(&mut self.acl_binding_rules, |v| (&v.id, "", 0));
        settle(&mut self.scaling_policies, |v| (&v.id, "", 0));
        settle(&mut self.scaling_events, |v| (&v.namespace, &v.job_id, 0));
        settle(&mut self.csi_plugins, |v| (&v.id, "", 0));
        settle(&mut self.csi_volumes, |v| (&v.namespace, &v.id, 0));
        settle(&mut self.host_volumes, |v| (&v.namespace, &v.id, 0));
        settle(&mut self.service_registrations, |v| (&v.namespace, &v.id, 0));
        settle(&mut self.variables, |v| (&v.namespace, &v.path, 0));
        settle(&mut self.variables_quotas, |v| (&v.namespace, "", 0));
        // Redacted archives hold every key twice, once without its indexes (`docs/spec/snapshot-archive.md §14`).
        self.root_keys.sort_by_key(|k| k.modify_index);
        settle(&mut self.root_keys, |v| (&v.key_id, "", 0));
        settle(&mut self.node_pools, |v| (&v.name, "", 0));
        settle(&mut self.job_submissions, |v| (&v.namespace, &v.job_id, v.version));
        settle(&mut self.namespaces, |v| (&v.name, "", 0));
    }

    /// The newest release that a client of the cluster runs: servers are at least as new.
    pub(crate) fn server_version(&self) -> Option<&str> {
        let versions = self.nodes.iter().filter_map(|n| n.attributes.get("nomad.version"));
        let newest = versions
            .filter_map(|v| Some((Version::parse(v)?, v.as_str())))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        newest.map(|(_, v)| v)
    }

    /// The value of an index row; 0 for tables without one.
    pub fn index(&self, table: &str) -> u64 {
        let found = self.indexes.binary_search_by(|row| row.key.as_str().cmp(table));
        found.ok().and_then(|i| self.indexes.get(i)).map_or(0, |row| row.value)
    }
}

/// The key of a record: up to two texts and a number.
type Key<'a> = (&'a str, &'a str, u64);

fn settle<T>(table: &mut Vec<T>, key: for<'a> fn(&'a T) -> Key<'a>) {
    if table.is_sorted_by(|a, b| key(a) < key(b)) {
        return;
    }
    table.sort_by(|a, b| key(a).cmp(&key(b)));
    table.reverse();
    table.dedup_by(|a, b| key(a) == key(b));
    table.reverse();
}
