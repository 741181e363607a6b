//! Anonymises snapshots so that they can be shared: the plan of every job stays the same, up to names, and nothing
//! identifies the cluster.
//!
//! Everything that is not known to be harmless is replaced or dropped: [`rules`] defines what happens to each member of
//! each object, [`walk`] applies it, [`words`] lists harmless texts. [`names`] generates the replacements,
//! [`conditions`] rewrites constraints.

pub mod conditions;
pub mod names;
mod rules;
mod walk;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use super::file::{SnapshotFile, Volume};
use conditions::{Conditions, Judge};
use encamp_api::json::JsonError;
use encamp_model::{Allocation, Job, Node};
use names::{Kind, Names};
use rules::Table;
use walk::{Walk, allocation_name, member};

/// How to go about it.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where numbers and IDs come from.
    pub seed: u64,
    /// Names that stay.
    pub keep: Vec<Kind>,
}

/// An object can't be rewritten.
#[derive(Debug, Error)]
pub enum AnonymizeError {
    /// The object has no JSON.
    #[error("an object of the snapshot can't be rewritten: {0}")]
    Write(#[from] serde_json::Error),
    /// The replacements do not fit the type of the object.
    #[error("an object of the snapshot can't be rewritten: {0}")]
    Read(#[from] JsonError),
}

/// Replaces what a cluster holds.
pub struct Anonymizer<'a> {
    walk: Walk<'a>,
    /// The replacements of classes.
    classes: HashMap<String, String>,
}

/// A snapshot without names, as text-free as planning allows. The nodes are those of the file.
///
/// # Errors
/// An object can't be rewritten.
pub fn anonymize(file: &SnapshotFile, options: &Options, judge: &Judge<'_>) -> Result<SnapshotFile, AnonymizeError> {
    Anonymizer::new(file, options, judge)?.file(file)
}

impl<'a> Anonymizer<'a> {
    /// Finds the replacements for everything in the file.
    ///
    /// # Errors
    /// An object can't be rewritten.
    pub fn new(
        file: &'a SnapshotFile,
        options: &Options,
        judge: &'a Judge<'a>,
    ) -> Result<Anonymizer<'a>, AnonymizeError> {
        let names = Names::new(&options.keep, harmless_values(&file.nodes));
        let walk = Walk::new(names, Conditions::new(&file.nodes, judge));
        let mut anonymizer = Anonymizer { walk, classes: HashMap::new() };
        anonymizer.each(file)?;
        anonymizer.walk.names.number(options.seed);
        Ok(anonymizer)
    }

    /// The file with everything replaced.
    ///
    /// # Errors
    /// An object can't be rewritten.
    pub fn file(&mut self, file: &SnapshotFile) -> Result<SnapshotFile, AnonymizeError> {
        self.each(file)
    }

    /// The replacements, to look names up.
    pub fn names(&mut self) -> &mut Names {
        &mut self.walk.names
    }

    /// A job with everything replaced.
    ///
    /// # Errors
    /// The job can't be rewritten.
    pub fn job(&mut self, job: &Job) -> Result<Job, AnonymizeError> {
        let (namespace, id) = (job.namespace.clone(), job.id.clone());
        change(job, |v| self.walk.object_of_job(&rules::JOB, v, &namespace, &id))
    }

    /// An allocation with everything replaced.
    ///
    /// # Errors
    /// The allocation can't be rewritten.
    pub fn allocation(&mut self, alloc: &Allocation) -> Result<Allocation, AnonymizeError> {
        change(alloc, |v| {
            let (job, group) = (member(v, "JobID").to_string(), member(v, "TaskGroup").to_string());
            let name = allocation_name(&mut self.walk.names, member(v, "Name"), &group);
            let namespace = member(v, "Namespace").to_string();
            self.walk.object_of_job(&rules::ALLOCATION, v, &namespace, &job);
            v.insert("Name".into(), name.into());
        })
    }

    /// The replacement of a condition of a job, as metrics show it: both sides and the operand, joined by spaces.
    pub fn condition(&mut self, left: &str, operand: &str, right: &str) -> String {
        let condition = (left.to_string(), operand.to_string(), right.to_string());
        let (left, operand, right) = self.walk.conditions.rename(&mut self.walk.names, &condition);
        format!("{left} {operand} {right}")
    }

    /// Jobs come first: what their constraints ask for decides which attributes nodes get.
    fn each(&mut self, file: &SnapshotFile) -> Result<SnapshotFile, AnonymizeError> {
        let jobs: Vec<Job> = file.jobs.iter().map(|j| self.job(j)).collect::<Result<_, _>>()?;
        let allocation_jobs: Vec<Job> = file.allocation_jobs.iter().map(|j| self.job(j)).collect::<Result<_, _>>()?;
        let allocations: Result<Vec<_>, AnonymizeError> =
            file.allocations.iter().map(|a| Ok(Arc::new(self.allocation(a)?))).collect();
        let allocations = allocations?;
        let volumes: Result<Vec<_>, AnonymizeError> = file.volumes.iter().map(|v| self.volume(v)).collect();
        let volumes = volumes?;
        let nodes = self.nodes(&file.nodes)?;
        let configuration = file.scheduler_configuration.as_ref();
        let settings = file.server_settings.as_ref();
        Ok(SnapshotFile {
            version: file.version,
            taken_at: file.taken_at,
            source: "anonymized".into(),
            index: file.index,
            scheduler_configuration: configuration.map(|c| self.one(&rules::CONFIGURATION, c)).transpose()?,
            server_settings: settings.map(|s| self.one(&rules::SERVER_SETTINGS, s)).transpose()?,
            nodes,
            node_pools: self.all(&rules::POOL, &file.node_pools)?,
            namespaces: self.all(&rules::NAMESPACE, &file.namespaces)?,
            jobs,
            allocations,
            allocation_jobs,
            deployments: self.all(&rules::DEPLOYMENT, &file.deployments)?,
            volumes,
            host_volume_claims: self.all(&rules::CLAIM, &file.host_volume_claims)?,
        })
    }

    fn all<T: Serialize + DeserializeOwned>(&mut self, table: &Table, objects: &[T]) -> Result<Vec<T>, AnonymizeError> {
        objects.iter().map(|o| self.one(table, o)).collect()
    }

    fn one<T: Serialize + DeserializeOwned>(&mut self, table: &Table, object: &T) -> Result<T, AnonymizeError> {
        change(object, |v| self.walk.object(table, v))
    }

    fn volume(&mut self, volume: &Volume) -> Result<Volume, AnonymizeError> {
        Ok(match volume {
            Volume::Csi(v) => Volume::Csi(Box::new(self.one(&rules::CSI_VOLUME, v.as_ref())?)),
            Volume::Host(v) => Volume::Host(Box::new(self.one(&rules::HOST_VOLUME, v.as_ref())?)),
        })
    }

    /// The nodes, with the attributes that stand for constraints, and new classes where they were right.
    fn nodes(&mut self, nodes: &[Node]) -> Result<Vec<Node>, AnonymizeError> {
        let mut out: Vec<Node> = self.all(&rules::NODE, nodes)?;
        for (key, holders) in &self.walk.conditions.checks {
            for i in holders {
                if let Some(node) = out.get_mut(*i) {
                    node.attributes.insert(key.clone(), "true".into());
                }
            }
        }
        self.classes.clear();
        for (old, new) in nodes.iter().zip(&out) {
            if old.computed_class == old.compute_class() {
                self.classes.insert(old.computed_class.clone(), new.compute_class());
            }
        }
        for (old, new) in nodes.iter().zip(&mut out) {
            let number = self.classes.len();
            let class = self.classes.entry(old.computed_class.clone());
            let unknown = || if old.computed_class.is_empty() { String::new() } else { format!("v1:{number}") };
            new.computed_class = class.or_insert_with(unknown).clone();
        }
        Ok(out)
    }
}

/// Whether a text is a word that everybody uses and that stays as a value.
pub fn is_harmless(text: &str) -> bool {
    words::harmless(text) || words::segment(text)
}

/// The values of attributes that are the same for all who run the same software on the same hardware.
fn harmless_values(nodes: &[Node]) -> HashSet<String> {
    let attributes = nodes.iter().flat_map(|n| &n.attributes).filter(|(key, _)| words::plain_attribute(key));
    attributes.flat_map(|(_, value)| value.split(',')).map(|part| part.trim().to_string()).collect()
}

/// The object with its JSON changed.
fn change<T: Serialize + DeserializeOwned>(
    object: &T,
    edit: impl FnOnce(&mut Map<String, Value>),
) -> Result<T, AnonymizeError> {
    let mut value = serde_json::to_value(object)?;
    if let Value::Object(object) = &mut value {
        edit(object);
    }
    Ok(encamp_api::json::from_value(&value)?)
}
