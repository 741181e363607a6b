//! Typed endpoints (`docs/spec/http-api.md §5`).

use serde::de::DeserializeOwned;

use super::client::{Client, Meta, Query, path};
use super::error::ApiError;
use super::types::*;
use encamp_model::requests::{JobPlanRequest, JobValidateRequest};
use encamp_model::responses::*;
use encamp_model::*;

type Answer<T> = Result<(T, Meta), ApiError>;

impl Client {
    /// All nodes, with the index of their last change.
    pub async fn nodes(&self) -> Answer<Vec<NodeListStub>> {
        self.list("/v1/nodes", &Query::default()).await
    }

    /// One node in full.
    pub async fn node(&self, id: &str) -> Answer<Node> {
        self.get(&path("/v1/node/", id, ""), &Query::default()).await
    }

    /// All allocations of a node in full, with their jobs.
    pub async fn node_allocations(&self, id: &str) -> Answer<Vec<Allocation>> {
        self.rows(&path("/v1/node/", id, "/allocations"), &Query::default()).await
    }

    /// All allocations of all namespaces as list entries with their resources.
    pub async fn allocations(&self) -> Answer<Vec<AllocListStub>> {
        let query = Query::all_namespaces().with("resources", "true").with("task_states", "false");
        self.list("/v1/allocations", &query).await
    }

    /// One allocation in full, with its job.
    pub async fn allocation(&self, id: &str) -> Answer<Allocation> {
        self.get(&path("/v1/allocation/", id, ""), &Query::default()).await
    }

    /// All jobs of all namespaces as list entries.
    pub async fn jobs(&self) -> Answer<Vec<JobListStub>> {
        self.list("/v1/jobs", &Query::all_namespaces()).await
    }

    /// The job as it is registered.
    pub async fn job(&self, namespace: &str, id: &str) -> Answer<Job> {
        self.get(&path("/v1/job/", id, ""), &Query::in_namespace(namespace)).await
    }

    /// All stored versions of a job, newest first.
    pub async fn job_versions(&self, namespace: &str, id: &str) -> Answer<Vec<Job>> {
        let (answer, meta): (JobVersionsResponse<Job>, _) =
            self.get(&path("/v1/job/", id, "/versions"), &Query::in_namespace(namespace)).await?;
        Ok((answer.versions, meta))
    }

    /// The job in the form that clients read and write: nothing is filled in.
    pub async fn job_as_stored(&self, namespace: &str, id: &str) -> Answer<api::Job> {
        self.get(&path("/v1/job/", id, ""), &Query::in_namespace(namespace)).await
    }

    /// The same for all stored versions, newest first.
    pub async fn job_versions_as_stored(&self, namespace: &str, id: &str) -> Answer<Vec<api::Job>> {
        let (answer, meta): (JobVersionsResponse<api::Job>, _) =
            self.get(&path("/v1/job/", id, "/versions"), &Query::in_namespace(namespace)).await?;
        Ok((answer.versions, meta))
    }

    /// Jobs whose ID starts so and that match a filter expression, at most that many.
    pub async fn jobs_with_prefix(&self, prefix: &str, most: u32, filter: Option<&str>) -> Answer<Vec<JobListStub>> {
        let mut query = Query::default().with("prefix", prefix).with("per_page", most.to_string());
        if let Some(filter) = filter {
            query = query.with("filter", filter);
        }
        self.rows("/v1/jobs", &query).await
    }

    /// The submitted source of a job version.
    pub async fn job_submission(&self, namespace: &str, id: &str, version: u64) -> Answer<JobSubmission> {
        let query = Query::in_namespace(namespace).with("version", version.to_string());
        self.get(&path("/v1/job/", id, "/submission"), &query).await
    }

    /// All deployments of all namespaces.
    pub async fn deployments(&self) -> Answer<Vec<Deployment>> {
        self.list("/v1/deployments", &Query::all_namespaces()).await
    }

    /// All namespaces.
    pub async fn namespaces(&self) -> Answer<Vec<Namespace>> {
        self.list("/v1/namespaces", &Query::default()).await
    }

    /// All node pools.
    pub async fn node_pools(&self) -> Answer<Vec<NodePool>> {
        self.list("/v1/node/pools", &Query::default()).await
    }

    /// All CSI volumes as list entries.
    pub async fn csi_volumes(&self) -> Answer<Vec<VolumeListStub>> {
        self.list("/v1/volumes", &Query::all_namespaces().with("type", "csi")).await
    }

    /// One CSI volume in full.
    pub async fn csi_volume(&self, namespace: &str, id: &str) -> Answer<CsiVolume> {
        self.get(&path("/v1/volume/csi/", id, ""), &Query::in_namespace(namespace)).await
    }

    /// All dynamic host volumes as list entries.
    pub async fn host_volumes(&self) -> Answer<Vec<VolumeListStub>> {
        self.list("/v1/volumes", &Query::all_namespaces().with("type", "host")).await
    }

    /// One dynamic host volume in full.
    pub async fn host_volume(&self, namespace: &str, id: &str) -> Answer<HostVolume> {
        self.get(&path("/v1/volume/host/", id, ""), &Query::in_namespace(namespace)).await
    }

    /// All claims on sticky host volumes.
    pub async fn host_volume_claims(&self) -> Answer<Vec<TaskGroupHostVolumeClaim>> {
        self.list("/v1/volumes/claims", &Query::all_namespaces()).await
    }

    /// The scheduler configuration.
    pub async fn scheduler_configuration(&self) -> Answer<Option<SchedulerConfiguration>> {
        let (answer, meta): (SchedulerConfigurationResponse, _) =
            self.get("/v1/operator/scheduler/configuration", &Query::default()).await?;
        Ok((answer.scheduler_config, meta))
    }

    /// Plans a job on the servers. The job is sent as a client would register it.
    pub async fn plan_job(
        &self,
        id: &str,
        namespace: Option<&str>,
        job: &api::Job,
        policy_override: bool,
    ) -> Answer<JobPlanResponse> {
        let query = Query { namespace: namespace.map(str::to_string), ..Query::default() };
        let body = JobPlanRequest { job: Some(job.clone()), diff: true, policy_override, ..JobPlanRequest::default() };
        self.put(&path("/v1/job/", id, "/plan"), &query, &body).await
    }

    /// Validates a job on the servers.
    pub async fn validate_job(&self, namespace: Option<&str>, job: &api::Job) -> Answer<JobValidateResponse> {
        let query = Query { namespace: namespace.map(str::to_string), ..Query::default() };
        self.put("/v1/validate/job", &query, &JobValidateRequest { job: Some(job.clone()) }).await
    }
}

impl Client {
    /// Evaluations whose ID starts so.
    pub async fn evaluations_with_prefix(&self, prefix: &str) -> Answer<Vec<Evaluation>> {
        self.list("/v1/evaluations", &Query::all_namespaces().with("prefix", prefix)).await
    }

    /// One evaluation, with the evaluations it belongs to.
    pub async fn evaluation(&self, id: &str) -> Answer<Evaluation> {
        self.get(&path("/v1/evaluation/", id, ""), &Query::default().with("related", "true")).await
    }

    /// One evaluation without the evaluations it belongs to.
    pub async fn evaluation_alone(&self, id: &str) -> Answer<Evaluation> {
        self.get(&path("/v1/evaluation/", id, ""), &Query::default()).await
    }

    /// The allocations that an evaluation made, as list entries.
    pub async fn evaluation_allocations(&self, id: &str) -> Answer<Vec<AllocListStub>> {
        self.rows(&path("/v1/evaluation/", id, "/allocations"), &Query::default()).await
    }
}

/// A query in a namespace, or in the client's own.
fn within(namespace: Option<&str>) -> Query {
    Query { namespace: namespace.map(str::to_string), ..Query::default() }
}

/// Jobs and what belongs to them, in a namespace or the client's own.
impl Client {
    /// A list as the query asks for it; `null` is the empty list.
    pub async fn rows<T: DeserializeOwned>(&self, path: &str, query: &Query) -> Answer<Vec<T>> {
        let (list, meta) = self.get::<Option<Vec<T>>>(path, query).await?;
        Ok((list.unwrap_or_default(), meta))
    }

    /// A job in the form that clients read and write.
    pub async fn job_within(&self, namespace: Option<&str>, id: &str) -> Answer<api::Job> {
        self.get(&path("/v1/job/", id, ""), &within(namespace)).await
    }

    /// All stored versions, newest first, and how they differ: each from the next older one, or from the tagged or
    /// numbered version.
    pub async fn job_history(
        &self,
        namespace: Option<&str>,
        id: &str,
        diffs: bool,
        tag: Option<&str>,
        version: Option<u64>,
    ) -> Answer<JobVersionsResponse<api::Job>> {
        let mut query = within(namespace).with("diffs", diffs.to_string());
        if let Some(tag) = tag {
            query = query.with("diff_tag", tag);
        }
        if let Some(version) = version {
            query = query.with("diff_version", version.to_string());
        }
        self.get(&path("/v1/job/", id, "/versions"), &query).await
    }

    /// The submitted source of a job version.
    pub async fn submission_within(&self, namespace: Option<&str>, id: &str, version: u64) -> Answer<JobSubmission> {
        let query = within(namespace).with("version", version.to_string());
        self.get(&path("/v1/job/", id, "/submission"), &query).await
    }

    /// How many allocations of a job are in which state.
    pub async fn job_summary(&self, namespace: Option<&str>, id: &str) -> Answer<JobSummary> {
        self.get(&path("/v1/job/", id, "/summary"), &within(namespace)).await
    }

    /// Allocations of a job; with `all` also those of earlier jobs of the same ID.
    pub async fn job_allocations(&self, namespace: Option<&str>, id: &str, all: bool) -> Answer<Vec<AllocListStub>> {
        let query = within(namespace).with("all", all.to_string());
        self.rows(&path("/v1/job/", id, "/allocations"), &query).await
    }

    /// Evaluations of a job.
    pub async fn job_evaluations(&self, namespace: Option<&str>, id: &str) -> Answer<Vec<Evaluation>> {
        self.rows(&path("/v1/job/", id, "/evaluations"), &within(namespace)).await
    }

    /// The newest deployment of a job.
    pub async fn latest_deployment(&self, namespace: Option<&str>, id: &str) -> Answer<Option<Deployment>> {
        self.get(&path("/v1/job/", id, "/deployment"), &within(namespace)).await
    }

    /// The scaling events of a job's groups.
    pub async fn job_scale_status(&self, namespace: Option<&str>, id: &str) -> Answer<JobScaleStatus> {
        self.get(&path("/v1/job/", id, "/scale"), &within(namespace)).await
    }

    /// One deployment; answers when it is newer than `index`, if one is given.
    pub async fn deployment(
        &self,
        id: &str,
        index: Option<u64>,
        wait: Option<std::time::Duration>,
    ) -> Answer<Deployment> {
        let query = Query { index, wait, stale: index.is_some(), ..Query::default() };
        self.get(&path("/v1/deployment/", id, ""), &query).await
    }

    /// Deployments whose ID starts so.
    pub async fn deployments_with_prefix(&self, prefix: &str) -> Answer<Vec<Deployment>> {
        self.rows("/v1/deployments", &Query::default().with("prefix", prefix)).await
    }

    /// The allocations of a deployment.
    pub async fn deployment_allocations(&self, id: &str) -> Answer<Vec<AllocListStub>> {
        self.rows(&path("/v1/deployment/allocations/", id, ""), &Query::default()).await
    }

    /// How many evaluations a filter matches.
    pub async fn count_evaluations(&self, filter: &str) -> Answer<EvalCountResponse> {
        self.get("/v1/evaluations/count", &Query::default().with("filter", filter)).await
    }

    /// The scaling policy with that ID.
    pub async fn scaling_policy(&self, id: &str) -> Answer<ScalingPolicy> {
        self.get(&path("/v1/scaling/policy/", id, ""), &Query::default()).await
    }
}
