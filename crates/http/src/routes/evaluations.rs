//! Routes: evaluations (`docs/spec/http-api.md §5.6`).

use super::rights::*;
use super::row::*;
use crate::api::evals;

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/evaluations"), handler: handler!(evals::list), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: List("eval", "list") },
    Route { methods: DELETE, path: At("/v1/evaluations"), handler: handler!(evals::delete), answered_by: LEADER,
        permission: AfterRegion(MANAGEMENT), audited: &[], metric: Write("eval", "delete") },
    Route { methods: GET, path: At("/v1/evaluations/count"), handler: handler!(evals::count), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: List("eval", "count") },
    Route { methods: GET, path: Below("/v1/evaluation/", "{*id}/allocations"),
        handler: handler!(evals::allocations, id), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: List("eval", "allocations") },
    Route { methods: GET, path: Below("/v1/evaluation/", "{*id}"), handler: handler!(evals::one), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: Read("eval", "get_eval") },
];
