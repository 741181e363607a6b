//! Routes: deployments (`docs/spec/http-api.md §5.7`).

use super::rights::*;
use super::row::*;
use crate::access::right::Capability::{
    FailDeployment, PauseDeployment, PromoteDeployment, SetAllocHealthDeployment, SubmitJob, UnblockDeployment,
};
use crate::api::deployments;

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/deployments"), handler: handler!(deployments::list), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: List("deployment", "list") },
    Route { methods: GET, path: Below("/v1/deployment/", "{*id}"),
        handler: handler!(deployments::one), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: Read("deployment", "get_deployment") },
    Route { methods: GET, path: Below("/v1/deployment/allocations/", "{*id}"),
        handler: handler!(deployments::allocations), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: List("deployment", "allocations") },
    Route { methods: WRITE, path: Below("/v1/deployment/pause/", "{*id}"),
        handler: handler!(deployments::pause), answered_by: LEADER,
        permission: ByHandler(any_of(&[SubmitJob, PauseDeployment])),
        audited: &[], metric: Write("deployment", "pause") },
    Route { methods: WRITE, path: Below("/v1/deployment/promote/", "{*id}"),
        handler: handler!(deployments::promote), answered_by: LEADER,
        permission: ByHandler(any_of(&[SubmitJob, PromoteDeployment])),
        audited: &[], metric: Write("deployment", "promote") },
    Route { methods: WRITE, path: Below("/v1/deployment/fail/", "{*id}"),
        handler: handler!(deployments::fail), answered_by: LEADER,
        permission: ByHandler(any_of(&[SubmitJob, FailDeployment])),
        audited: &[], metric: Write("deployment", "fail") },
    Route { methods: WRITE, path: Below("/v1/deployment/unblock/", "{*id}"),
        handler: handler!(deployments::unblock), answered_by: LEADER,
        permission: ByHandler(any_of(&[SubmitJob, UnblockDeployment])),
        audited: &[], metric: Write("deployment", "unblock") },
    Route { methods: WRITE, path: Below("/v1/deployment/allocation-health/", "{*id}"),
        handler: handler!(deployments::health), answered_by: LEADER,
        permission: ByHandler(any_of(&[SubmitJob, SetAllocHealthDeployment])),
        audited: &[], metric: Write("deployment", "set_alloc_health") },
];
