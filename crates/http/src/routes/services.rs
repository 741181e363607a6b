//! Routes: services (`docs/spec/http-api.md §5.11`).

use super::rights::*;
use super::row::*;
use crate::access::right::Capability::{DeleteServiceRegistration, SubmitJob};
use crate::access::right::Right;
use crate::api::services;

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/services"), handler: handler!(services::list), answered_by: LEADER,
        permission: ByHandler(Right::Services), audited: &[], metric: List("service_registration", "list") },
    Route { methods: ANY, path: At("/v1/service/"), handler: handler!(services::unnamed), answered_by: LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/service/", "{name}"),
        handler: handler!(services::registrations), answered_by: LEADER,
        permission: ByHandler(Right::Services), audited: &[], metric: Read("service_registration", "get_service") },
    Route { methods: DELETE, path: Below("/v1/service/", "{name}/{id}"),
        handler: handler!(services::delete), answered_by: LEADER,
        permission: ByHandler(any_of(&[SubmitJob, DeleteServiceRegistration])),
        audited: &[], metric: Write("service_registration", "delete_id") },
    Route { methods: ANY, path: Below("/v1/service/", "{*path}"),
        handler: handler!(services::nothing), answered_by: LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
];
