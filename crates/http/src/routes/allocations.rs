//! Routes: allocations (`docs/spec/http-api.md §5.4`).

use super::rights::*;
use super::row::*;
use crate::access::right::Capability::{GcAllocation, SubmitJob};
use crate::api::{allocs, client, exec};

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/allocations"), handler: handler!(allocs::list), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: List("alloc", "list") },
    Route { methods: GET, path: Below("/v1/allocation/", "{id}"),
        handler: handler!(allocs::one, id), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: Read("alloc", "get_alloc") },
    Route { methods: WRITE, path: Below("/v1/allocation/", "{id}/stop"),
        handler: handler!(allocs::stop, id), answered_by: LEADER,
        permission: ByHandler(ALLOC_LIFECYCLE), audited: &[], metric: Write("alloc", "stop") },
    Route { methods: GET, path: Below("/v1/allocation/", "{id}/services"),
        handler: handler!(allocs::services, id), answered_by: LEADER,
        permission: InNamespaceOfRead(READ_JOB), audited: &[], metric: Read("alloc", "get_service_registrations") },
    Route { methods: GET, path: Below("/v1/allocation/", "{id}/checks"),
        handler: handler!(allocs::checks, id), answered_by: LEADER,
        permission: ByHandler(READ_JOB), audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/allocation/", "{*path}"),
        handler: handler!(allocs::nothing), answered_by: LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/client/allocation/", "{id}/stats"),
        handler: handler!(client::alloc_stats, id), answered_by: ALLOC_NODE,
        permission: ByHandlerOrLeader(READ_JOB), audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/client/allocation/", "{id}/checks"),
        handler: handler!(allocs::checks, id), answered_by: ALLOC_NODE,
        permission: ByHandler(READ_JOB), audited: &[], metric: NotCounted },
    Route { methods: WRITE, path: Below("/v1/client/allocation/", "{id}/restart"),
        handler: handler!(client::restart, id), answered_by: ALLOC_NODE,
        permission: ByHandler(ALLOC_LIFECYCLE), audited: &[], metric: NotCounted },
    Route { methods: WRITE, path: Below("/v1/client/allocation/", "{id}/signal"),
        handler: handler!(client::send_signal, id), answered_by: ALLOC_NODE,
        permission: ByHandler(ALLOC_LIFECYCLE), audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/client/allocation/", "{id}/gc"),
        handler: handler!(client::collect, id), answered_by: ALLOC_NODE,
        permission: ByHandler(any_of(&[SubmitJob, GcAllocation])), audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/client/allocation/", "{id}/pause"),
        handler: handler!(client::pause_state), answered_by: AGENT,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: WRITE, path: Below("/v1/client/allocation/", "{id}/pause"),
        handler: handler!(client::pause), answered_by: AGENT,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/client/allocation/", "{id}/snapshot"),
        handler: handler!(client::snapshot, id), answered_by: AGENT,
        permission: MigrateToken, audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/client/allocation/", "{id}/exec"),
        handler: handler!(exec::exec, id), answered_by: ALLOC_NODE,
        permission: InSession(ALLOC_EXEC), audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/client/allocation/", "{*path}"),
        handler: handler!(allocs::nothing), answered_by: AGENT,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
];
