//! Admission of a job when it is registered or planned: server canonicalisation and mutators (`docs/spec/jobspec.md
//! §12-13`), validation (`§14`) and warnings (`§15`).
//!
//! - [`mutate`]: additions of the server. [`validate`]: errors and warnings.
//! - [`update`]: values inherited from the stored version of the job, and whether the job differs from it (`§16.2`).

pub mod mutate;
pub mod update;
pub mod validate;

use encamp_model::{Job, Namespace, NodePool, SchedulerConfiguration, WorkloadIdentity};
use thiserror::Error;

use mutate::MutatorError;
pub use update::{
    Entry, InvalidRequest, ModifyIndexConflict, UpdateRefused, check_modify_index, check_request, check_update,
    copy_scaling_ids, spec_changed,
};
pub use validate::error_list;

/// The context of admission: cluster objects and server settings.
#[derive(Debug, Clone)]
pub struct ServerContext {
    /// The agent's region.
    pub region: String,
    /// All namespaces.
    pub namespaces: Vec<Namespace>,
    /// All node pools, the built-in ones included.
    pub node_pools: Vec<NodePool>,
    /// The cluster-wide scheduler settings.
    pub scheduler: SchedulerConfiguration,
    /// Highest priority a job may have.
    pub job_max_priority: i64,
    /// Priority of jobs that leave it 0.
    pub job_default_priority: i64,
    /// Most allocations a job may ask for; 0 is no limit.
    pub job_max_count: i64,
    /// Whether the default Vault cluster is enabled.
    pub vault_enabled: bool,
    /// `vault.default_identity` of the server configuration.
    pub vault_default_identity: Option<WorkloadIdentity>,
    /// `consul.service_identity` of the server configuration.
    pub consul_service_identity: Option<WorkloadIdentity>,
    /// `consul.task_identity` of the server configuration.
    pub consul_task_identity: Option<WorkloadIdentity>,
    /// The seed of generated names and IDs: the same seed gives the same job.
    pub random_seed: u64,
}

impl Default for ServerContext {
    /// A server with default settings: Vault off, no identities, namespace `default`, node pools `all` and `default`.
    fn default() -> Self {
        let pool = |name: &str| NodePool { name: name.into(), ..NodePool::default() };
        ServerContext {
            region: "global".into(),
            namespaces: vec![Namespace { name: "default".into(), ..Namespace::default() }],
            node_pools: vec![pool("all"), pool("default")],
            scheduler: SchedulerConfiguration::default(),
            job_max_priority: 100,
            job_default_priority: 50,
            job_max_count: 50_000,
            vault_enabled: false,
            vault_default_identity: None,
            consul_service_identity: None,
            consul_task_identity: None,
            random_seed: 0,
        }
    }
}

/// Why a job was not admitted. Displays as the text the register endpoint answers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AdmissionError {
    /// A mutator failed.
    #[error(transparent)]
    Mutator(#[from] MutatorError),
    /// The items validators reported, in order.
    #[error("{}", error_list(.0))]
    Invalid(Vec<String>),
}

/// A job as it would be stored, and what the server has to say about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    /// The job with everything the server adds; indexes, status and version are not set.
    pub job: Job,
    /// The `Warnings` text, empty without warnings.
    pub warnings: String,
}

/// The result of admission for a job, valid or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The job with everything the server adds.
    pub job: Job,
    /// The errors, in the validators' order; empty for a valid job.
    pub errors: Vec<String>,
    /// The `Warnings` text, empty without warnings.
    pub warnings: String,
}

/// Mutates a converted job and reports on it, as the validate endpoint does.
///
/// # Errors
/// A mutator refuses the job.
pub fn check(mut job: Job, ctx: &ServerContext) -> Result<Checked, MutatorError> {
    mutate::mutate(&mut job, ctx)?;
    let errors = validate::validate(&job, ctx);
    let warnings = validate::warnings(&job, ctx);
    Ok(Checked { job, errors, warnings })
}

/// The check of a converted job without a server: nothing is added to it but defaults, and only its structure is
/// checked (`docs/spec/jobspec.md §1`).
pub fn check_offline(mut job: Job, ctx: &ServerContext) -> Checked {
    mutate::canonicalize(&mut job, ctx);
    let errors = validate::validate_structure(&job);
    let warnings = validate::warnings(&job, ctx);
    Checked { job, errors, warnings }
}

/// Mutates and validates a converted job (`docs/spec/jobspec.md §12-15`). `existing` is the stored job of that id,
/// which only scaling policy ids are taken from.
pub fn admit(job: Job, ctx: &ServerContext, existing: Option<&Job>) -> Result<Admitted, AdmissionError> {
    let Checked { mut job, errors, warnings } = check(job, ctx)?;
    if !errors.is_empty() {
        return Err(AdmissionError::Invalid(errors));
    }
    copy_scaling_ids(existing, &mut job, ctx.random_seed);
    Ok(Admitted { job, warnings })
}
