//! Snapshots of the store: a sequence of records with an end marker (`docs/spec/server.md §22`). The format is specific
//! to encamp and versioned.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use encamp_model::*;
use encamp_ops::codec;
use encamp_state::{StateStore, Table};

/// The version written by this program.
const VERSION: u32 = 1;
/// The number of allocations stored at once while reading.
const CHUNK: usize = 4096;

#[derive(Serialize, Deserialize)]
enum Record {
    Header {
        version: u32,
    },
    Node(Arc<Node>),
    NodePool(Arc<NodePool>),
    Namespace(Arc<Namespace>),
    /// A version of a job; the current one comes last.
    Job(Arc<Job>),
    /// The job of an allocation; numbered by position.
    AllocJob(Arc<Job>),
    Alloc(Box<Allocation>),
    Eval(Arc<Evaluation>),
    Deployment(Arc<Deployment>),
    Summary(Arc<JobSummary>),
    Submission(Arc<JobSubmission>),
    Launch(Arc<PeriodicLaunch>),
    ScalingPolicy(Arc<ScalingPolicy>),
    ScalingEvents(Arc<JobScalingEvents>),
    Service(Arc<ServiceRegistration>),
    Variable(Arc<VariableEncrypted>),
    CsiPlugin(Arc<CsiPlugin>),
    CsiVolume(Arc<CsiVolume>),
    HostVolume(Arc<HostVolume>),
    HostVolumeClaim(Arc<TaskGroupHostVolumeClaim>),
    SchedulerConfig(Arc<SchedulerConfiguration>),
    Autopilot(Arc<AutopilotConfiguration>),
    ClusterMetadata(Arc<ClusterMetadata>),
    RootKey(Arc<WrappedRootKey>),
    AclPolicy(Arc<AclPolicy>),
    AclToken(Arc<AclToken>),
    AclRole(Arc<AclRole>),
    AclAuthMethod(Arc<AclAuthMethod>),
    AclBindingRule(Arc<AclBindingRule>),
    OneTimeToken(Arc<OneTimeToken>),
    NodeRevocation(Arc<NodeRevocation>),
    /// Table name and index.
    Index(String, u64),
    End,
}

/// A record of a snapshot, as [`visit`] finds it.
pub struct Found<'a> {
    /// The table, as `operator snapshot state` names it.
    pub table: &'static str,
    /// The type, as `operator snapshot inspect` names it.
    pub kind: &'static str,
    /// Its length in bytes.
    pub bytes: u64,
    record: &'a Record,
}

/// Objects as JSON, by table.
pub type Tables = std::collections::BTreeMap<&'static str, Vec<serde_json::Value>>;

impl Found<'_> {
    /// Adds the object to its table.
    ///
    /// # Errors
    /// It holds a number that JSON has no form for.
    pub fn add_to(&self, tables: &mut Tables) -> serde_json::Result<()> {
        tables.entry(self.table).or_default().push(self.object()?);
        Ok(())
    }

    /// The object as JSON.
    ///
    /// # Errors
    /// It holds a number that JSON has no form for.
    pub fn object(&self) -> serde_json::Result<serde_json::Value> {
        // The record's own form has the name of the variant around the object.
        match serde_json::to_value(self.record)? {
            serde_json::Value::Object(of_one) => {
                Ok(of_one.into_iter().next().map_or(serde_json::Value::Null, |(_, v)| v))
            }
            other => Ok(other),
        }
    }
}

impl Record {
    /// The names of its table and of its type; `None` for what is no object.
    fn names(&self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Record::Header { .. } | Record::End => return None,
            Record::Node(_) => ("Nodes", "Node"),
            Record::NodePool(_) => ("NodePools", "NodePool"),
            Record::Namespace(_) => ("Namespaces", "Namespace"),
            Record::Job(_) => ("Jobs", "Job"),
            Record::AllocJob(_) => ("AllocJobs", "AllocJob"),
            Record::Alloc(_) => ("Allocs", "Alloc"),
            Record::Eval(_) => ("Evals", "Eval"),
            Record::Deployment(_) => ("Deployments", "Deployment"),
            Record::Summary(_) => ("JobSummaries", "JobSummary"),
            Record::Submission(_) => ("JobSubmissions", "JobSubmission"),
            Record::Launch(_) => ("PeriodicLaunches", "PeriodicLaunch"),
            Record::ScalingPolicy(_) => ("ScalingPolicies", "ScalingPolicy"),
            Record::ScalingEvents(_) => ("ScalingEvents", "ScalingEvents"),
            Record::Service(_) => ("ServiceRegistrations", "ServiceRegistration"),
            Record::Variable(_) => ("Variables", "Variables"),
            Record::CsiPlugin(_) => ("CSIPlugins", "CSIPlugin"),
            Record::CsiVolume(_) => ("CSIVolumes", "CSIVolume"),
            Record::HostVolume(_) => ("HostVolumes", "HostVolumeSnapshot"),
            Record::HostVolumeClaim(_) => ("HostVolumeClaims", "HostVolumeClaim"),
            Record::SchedulerConfig(_) => ("SchedulerConfig", "SchedulerConfig"),
            Record::Autopilot(_) => ("AutopilotConfig", "AutopilotConfig"),
            Record::ClusterMetadata(_) => ("ClusterMetadata", "ClusterMetadata"),
            Record::RootKey(_) => ("WrappedRootKeys", "WrappedRootKeys"),
            Record::AclPolicy(_) => ("ACLPolicies", "ACLPolicy"),
            Record::AclToken(_) => ("ACLTokens", "ACLToken"),
            Record::AclRole(_) => ("ACLRoles", "ACLRole"),
            Record::AclAuthMethod(_) => ("ACLAuthMethods", "ACLAuthMethod"),
            Record::AclBindingRule(_) => ("ACLBindingRules", "ACLBindingRule"),
            Record::OneTimeToken(_) => ("OneTimeTokens", "OneTimeToken"),
            Record::NodeRevocation(_) => ("NodeRevocations", "NodeRevocation"),
            Record::Index(..) => ("Indexes", "Index"),
        })
    }
}

impl Record {
    /// The record without its secrets; `None` if nothing is left. Lists all records, so that a new one has to be thought
    /// of here.
    fn redacted(mut self, fresh: &mut dyn FnMut() -> String) -> Option<Record> {
        match &mut self {
            Record::OneTimeToken(_) => return None,
            Record::Node(node) => Arc::make_mut(node).secret_id = fresh().into(),
            Record::AclToken(token) => Arc::make_mut(token).secret_id = fresh().into(),
            Record::Eval(eval) => Arc::make_mut(eval).leader_acl = SecretString::default(),
            Record::Submission(submission) => {
                let submission = Arc::make_mut(submission);
                submission.variable_flags.clear();
                submission.variables.clear();
            }
            Record::Variable(variable) => {
                let variable = Arc::make_mut(variable);
                (variable.data, variable.lock) = (Bytes::default(), None);
            }
            Record::CsiVolume(volume) => Arc::make_mut(volume).redact(),
            Record::RootKey(key) => {
                let key = Arc::make_mut(key);
                key.meta.redact();
                (key.data_key, key.rsa_key, key.kek) = Default::default();
            }
            Record::AclAuthMethod(method) => {
                if let Some(config) = &mut Arc::make_mut(method).config {
                    config.oidc_client_secret = SecretString::default();
                    if let Some(assertion) = &mut config.oidc_client_assertion {
                        assertion.client_secret = SecretString::default();
                        if let Some(key) = &mut assertion.private_key {
                            key.pem_key = SecretString::default();
                        }
                    }
                }
            }
            Record::Header { .. }
            | Record::NodePool(_)
            | Record::Namespace(_)
            | Record::Job(_)
            | Record::AllocJob(_)
            | Record::Alloc(_)
            | Record::Deployment(_)
            | Record::Summary(_)
            | Record::Launch(_)
            | Record::ScalingPolicy(_)
            | Record::ScalingEvents(_)
            | Record::Service(_)
            | Record::CsiPlugin(_)
            | Record::HostVolume(_)
            | Record::HostVolumeClaim(_)
            | Record::SchedulerConfig(_)
            | Record::Autopilot(_)
            | Record::ClusterMetadata(_)
            | Record::AclPolicy(_)
            | Record::AclRole(_)
            | Record::AclBindingRule(_)
            | Record::NodeRevocation(_)
            | Record::Index(..)
            | Record::End => {}
        }
        Some(self)
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.from.consume(n);
        self.bytes += n as u64;
    }
}

/// Reads a snapshot without a store: each record is shown as it is stored.
///
/// # Errors
/// It is no snapshot of this version, it is damaged, or `each` fails.
pub fn visit(from: &mut dyn Read, mut each: impl FnMut(&Found<'_>) -> io::Result<()>) -> io::Result<()> {
    records(from, |record, bytes| match record.names() {
        Some((table, kind)) => each(&Found { table, kind, bytes, record: &record }),
        None => Ok(()),
    })
}

/// Whether bytes begin as a snapshot of this program, of whatever version.
pub fn is_snapshot(mut start: &[u8]) -> bool {
    matches!(codec::decode_from::<Record>(&mut start), Ok(Record::Header { .. }))
}

/// Visits the records between the header and the end, with their lengths in bytes.
fn records(from: &mut dyn Read, mut each: impl FnMut(Record, u64) -> io::Result<()>) -> io::Result<()> {
    let mut from = Counted { from: BufReader::with_capacity(1 << 16, from), bytes: 0 };
    let mut next = || {
        let before = from.bytes;
        let record = codec::decode_from::<Record>(&mut from).map_err(|e| invalid(format!("state snapshot: {e}")))?;
        io::Result::Ok((record, from.bytes - before))
    };
    match next()?.0 {
        Record::Header { version: VERSION } => {}
        Record::Header { version } => {
            return Err(invalid(format!("state snapshot: version {version}, this program reads {VERSION}")));
        }
        _ => return Err(invalid("state snapshot: no header")),
    }
    loop {
        match next()? {
            (Record::Header { .. }, _) => return Err(invalid("state snapshot: two headers")),
            (Record::End, _) => return Ok(()),
            (record, bytes) => each(record, bytes)?,
        }
    }
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// Writes a snapshot.
pub fn write(store: &StateStore, mut to: &mut dyn Write) -> io::Result<()> {
    let mut put = |r: &Record| codec::encode_to(r, &mut to).map_err(io::Error::other);
    put(&Record::Header { version: VERSION })?;
    let state = store.state();
    state.nodes().try_for_each(|n| put(&Record::Node(n.node.clone())))?;
    state.node_pools().try_for_each(|p| put(&Record::NodePool(p.clone())))?;
    state.namespaces().try_for_each(|n| put(&Record::Namespace(n.clone())))?;
    for entry in state.jobs() {
        let older = entry.versions.values().filter(|v| v.version != entry.current.version);
        older.chain([&entry.current]).try_for_each(|j| put(&Record::Job(j.clone())))?;
    }
    let mut jobs: HashMap<*const Job, u32> = HashMap::new();
    for a in store.allocs_by_create() {
        let mut a = Allocation::clone(&a.alloc);
        if let Some(job) = a.job.take() {
            let next = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
            let number = *jobs.entry(Arc::as_ptr(&job)).or_insert(next);
            if number == next {
                put(&Record::AllocJob(job))?;
            }
            a.job_ref = Some(number);
        }
        put(&Record::Alloc(Box::new(a)))?;
    }
    store.evals_by_create().try_for_each(|e| put(&Record::Eval(e.clone())))?;
    store.deployments_by_create().try_for_each(|d| put(&Record::Deployment(d.clone())))?;
    store.summaries().try_for_each(|s| put(&Record::Summary(s.clone())))?;
    store.all_submissions().try_for_each(|s| put(&Record::Submission(s.clone())))?;
    store.launches().try_for_each(|l| put(&Record::Launch(l.clone())))?;
    store.scaling_policies().try_for_each(|p| put(&Record::ScalingPolicy(p.clone())))?;
    store.all_scaling_events().try_for_each(|e| put(&Record::ScalingEvents(e.clone())))?;
    store.services().try_for_each(|s| put(&Record::Service(s.clone())))?;
    store.variables().try_for_each(|v| put(&Record::Variable(v.clone())))?;
    store.csi_plugins().try_for_each(|p| put(&Record::CsiPlugin(p.clone())))?;
    state.csi_volumes().try_for_each(|v| put(&Record::CsiVolume(v.clone())))?;
    state.host_volumes().try_for_each(|v| put(&Record::HostVolume(v.clone())))?;
    state.host_volume_claims().try_for_each(|c| put(&Record::HostVolumeClaim(c.clone())))?;
    state.scheduler_config.iter().try_for_each(|c| put(&Record::SchedulerConfig(c.clone())))?;
    store.autopilot().into_iter().try_for_each(|c| put(&Record::Autopilot(c.clone())))?;
    store.cluster_metadata().into_iter().try_for_each(|m| put(&Record::ClusterMetadata(m.clone())))?;
    store.root_keys().try_for_each(|k| put(&Record::RootKey(k.clone())))?;
    store.acl_policies().try_for_each(|p| put(&Record::AclPolicy(p.clone())))?;
    store.acl_tokens().try_for_each(|t| put(&Record::AclToken(t.clone())))?;
    store.acl_roles().try_for_each(|r| put(&Record::AclRole(r.clone())))?;
    store.acl_auth_methods().try_for_each(|m| put(&Record::AclAuthMethod(m.clone())))?;
    store.acl_binding_rules().try_for_each(|r| put(&Record::AclBindingRule(r.clone())))?;
    store.one_time_tokens().try_for_each(|t| put(&Record::OneTimeToken(t.clone())))?;
    store.node_revocations().try_for_each(|r| put(&Record::NodeRevocation(r.clone())))?;
    Table::ALL.into_iter().try_for_each(|t| put(&Record::Index(t.name().into(), store.index_of(t))))?;
    put(&Record::End)
}

/// Copies a snapshot without its secrets (`docs/spec/snapshot-archive.md §14.1`). `fresh` makes secret IDs that nobody
/// knows: an empty one would be easy to guess.
///
/// # Errors
/// It is no snapshot of this version, it is damaged, or it cannot be written.
pub fn redact(from: &mut dyn Read, mut to: &mut dyn Write, fresh: &mut dyn FnMut() -> String) -> io::Result<()> {
    let mut put = |r: &Record| codec::encode_to(r, &mut to).map_err(io::Error::other);
    put(&Record::Header { version: VERSION })?;
    records(from, |record, _| match record.redacted(fresh) {
        Some(record) => put(&record),
        None => Ok(()),
    })?;
    put(&Record::End)
}

/// Reads a snapshot into a new store. Nothing is fixed while reading, because servers read their snapshots at different
/// times and continue with the same log.
pub fn read(from: &mut dyn Read) -> io::Result<StateStore> {
    let mut store = StateStore::default();
    let mut jobs: Vec<Arc<Job>> = Vec::new();
    let mut allocs: Vec<Arc<Allocation>> = Vec::new();
    records(from, |record, _| {
        match record {
            Record::Header { .. } | Record::End => {}
            Record::Node(n) => store.put_node(n),
            Record::NodePool(p) => store.put_node_pool(p),
            Record::Namespace(n) => store.put_namespace(n),
            Record::Job(j) => store.put_job(j),
            Record::AllocJob(j) => jobs.push(j),
            Record::Alloc(mut a) => {
                if let Some(number) = a.job_ref.take() {
                    let job = usize::try_from(number).ok().and_then(|n| jobs.get(n));
                    a.job = Some(job.ok_or_else(|| invalid("state snapshot: an allocation without its job"))?.clone());
                }
                allocs.push(Arc::new(*a));
                if allocs.len() == CHUNK {
                    store.put_allocs(std::mem::take(&mut allocs));
                }
            }
            Record::Eval(e) => store.put_eval(e),
            Record::Deployment(d) => store.put_deployment(d),
            Record::Summary(s) => store.put_summary(s),
            Record::Submission(s) => store.put_submission(s),
            Record::Launch(l) => store.put_launch(l),
            Record::ScalingPolicy(p) => store.put_scaling_policy(p),
            Record::ScalingEvents(e) => store.put_scaling_events(e),
            Record::Service(s) => store.put_service(s),
            Record::Variable(v) => store.put_variable(v),
            Record::CsiPlugin(p) => store.put_csi_plugin(p),
            Record::CsiVolume(v) => store.put_csi_volume(v),
            Record::HostVolume(v) => store.put_host_volume(v),
            Record::HostVolumeClaim(c) => store.put_host_volume_claim(c),
            Record::SchedulerConfig(c) => store.set_scheduler_config(c),
            Record::Autopilot(c) => store.set_autopilot(c),
            Record::ClusterMetadata(m) => store.set_cluster_metadata(m),
            Record::RootKey(k) => store.put_root_key(k),
            Record::AclPolicy(p) => store.put_acl_policy(p),
            Record::AclToken(t) => store.put_acl_token(t),
            Record::AclRole(r) => store.put_acl_role(r),
            Record::AclAuthMethod(m) => store.put_acl_auth_method(m),
            Record::AclBindingRule(r) => store.put_acl_binding_rule(r),
            Record::OneTimeToken(t) => store.put_one_time_token(t),
            Record::NodeRevocation(r) => store.put_node_revocation(r),
            Record::Index(name, index) => {
                if let Some(t) = Table::ALL.into_iter().find(|t| t.name() == name) {
                    store.set_index(t, index);
                }
            }
        }
        Ok(())
    })?;
    store.put_allocs(allocs);
    store.settle_index();
    let index = store.latest_index();
    store.add_built_ins(index.max(1));
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cret";

    fn has(bytes: &[u8], text: &str) -> bool {
        bytes.windows(text.len()).any(|w| w == text.as_bytes())
    }

    #[test]
    fn a_redacted_snapshot_has_no_secrets_and_everything_else() {
        let secret = || SecretString::new(SECRET);
        let mut store = StateStore::default();
        store.put_node(Arc::new(Node { id: "n1".into(), secret_id: secret(), ..Node::default() }));
        store.put_eval(Arc::new(Evaluation { id: "e1".into(), leader_acl: secret(), ..Evaluation::default() }));
        for accessor in ["t1", "t2"] {
            let token = AclToken { accessor_id: accessor.into(), secret_id: secret(), ..AclToken::default() };
            store.put_acl_token(Arc::new(token));
        }
        let key = OidcClientAssertionKey { pem_key: secret(), key_id: "kid".into(), ..Default::default() };
        let assertion =
            OidcClientAssertion { private_key: Some(key), client_secret: secret(), ..OidcClientAssertion::default() };
        let config = AclAuthMethodConfig {
            oidc_client_secret: secret(),
            oidc_client_assertion: Some(assertion),
            ..AclAuthMethodConfig::default()
        };
        let method = AclAuthMethod { name: "m".into(), config: Some(config), ..AclAuthMethod::default() };
        store.put_acl_auth_method(Arc::new(method));
        store.put_one_time_token(Arc::new(OneTimeToken { one_time_secret_id: secret(), ..OneTimeToken::default() }));
        store.put_submission(Arc::new(JobSubmission {
            job_id: "j".into(),
            source: "job {}".into(),
            variable_flags: [("password".to_string(), SECRET.to_string())].into(),
            variables: SECRET.into(),
            ..JobSubmission::default()
        }));
        store.put_variable(Arc::new(VariableEncrypted {
            path: "a/b".into(),
            data: Bytes(SECRET.into()),
            lock: Some(VariableLock { id: SECRET.into(), ..VariableLock::default() }),
            ..VariableEncrypted::default()
        }));
        let options = CsiMountOptions { fs_type: "ext4".into(), mount_flags: vec![SECRET.into()] };
        store.put_csi_volume(Arc::new(CsiVolume {
            id: "v".into(),
            secrets: [("k".to_string(), secret())].into(),
            mount_options: Some(options),
            ..CsiVolume::default()
        }));
        store.put_root_key(Arc::new(WrappedRootKey {
            meta: RootKey { key_id: "k1".into(), ..RootKey::default() },
            data_key: SECRET.as_bytes().to_vec().into(),
            rsa_key: SECRET.as_bytes().to_vec().into(),
            kek: SECRET.as_bytes().to_vec().into(),
        }));
        let mut before = Vec::new();
        write(&store, &mut before).unwrap();
        assert!(has(&before, SECRET) && is_snapshot(&before) && !is_snapshot(b"\x80"));

        let (mut after, mut made) = (Vec::new(), 0);
        let mut fresh = || {
            made += 1;
            format!("fresh-{made}")
        };
        redact(&mut before.as_slice(), &mut after, &mut fresh).unwrap();
        assert!(!has(&after, SECRET), "{}", String::from_utf8_lossy(&after));
        let read = read(&mut after.as_slice()).unwrap();
        assert_eq!(read.acl_tokens().count(), 2);
        assert!(read.acl_tokens().all(|t| t.secret_id.expose().starts_with("fresh-")));
        assert!(read.state().node("n1").is_some_and(|n| n.node.secret_id.expose().starts_with("fresh-")));
        assert_eq!(read.root_keys().next().unwrap().meta.key_id, "k1 [REDACTED]");
        assert_eq!(read.variables().next().unwrap().path, "a/b");
        assert_eq!(read.all_submissions().next().unwrap().source, "job {}");
        assert_eq!(read.one_time_tokens().count(), 0);
        let kinds = |bytes: &[u8]| {
            let mut kinds = Vec::new();
            visit(&mut &*bytes, |found| {
                kinds.push(found.kind);
                Ok(())
            })
            .unwrap();
            kinds.retain(|kind| *kind != "OneTimeToken");
            kinds
        };
        assert_eq!(kinds(&after), kinds(&before));
        assert!(redact(&mut &before[..before.len() / 2], &mut Vec::new(), &mut String::new).is_err());
    }
}
