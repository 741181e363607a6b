//! Snapshots of the store: a sequence of records with an end marker (`docs/spec/server.md §22`). The format is specific
//! to encamp and versioned: version 1 holds the records one after the other, version 2 holds most of them in compressed
//! parts, which several threads write and read.
//!
//! - `write`: from a store to bytes; `read`: back. `records`: reads the records of either version in their order.
//! - `parts`: some records as compressed bytes. `redact`: a copy without secrets.

mod parts;
mod read;
mod records;
mod redact;
mod write;

pub use read::read;
pub use redact::redact;
pub use write::write;

use std::io::{self, Read};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use encamp_model::*;
use encamp_ops::codec;

use self::parts::Part;

/// The version written by this program.
const VERSION: u32 = 2;
/// The version without parts, which is read as well.
const WITHOUT_PARTS: u32 = 1;

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
    /// Some of the records above.
    Part(Part),
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
            Record::Header { .. } | Record::Part(_) | Record::End => return None,
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

/// Reads a snapshot without a store: each record is shown as it is stored.
///
/// # Errors
/// It is no snapshot of this version, it is damaged, or `each` fails.
pub fn visit(from: &mut dyn Read, mut each: impl FnMut(&Found<'_>) -> io::Result<()>) -> io::Result<()> {
    records::each(from, |record, bytes| match record.names() {
        Some((table, kind)) => each(&Found { table, kind, bytes, record: &record }),
        None => Ok(()),
    })
}

/// Whether bytes begin as a snapshot of this program, of whatever version.
pub fn is_snapshot(mut start: &[u8]) -> bool {
    matches!(codec::decode_from::<Record>(&mut start), Ok(Record::Header { .. }))
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}
