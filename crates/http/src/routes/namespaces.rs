//! Routes: namespaces (`docs/spec/http-api.md §5.9`).

use super::rights::*;
use super::row::*;
use crate::access::audited::Audited::Namespace;
use crate::access::right::Right;
use crate::api::namespaces;

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/namespaces"), handler: handler!(namespaces::list), answered_by: LEADER,
        permission: ByHandler(Right::Rows(&Right::AnyInNamespace)),
        audited: &[], metric: List("namespace", "list_namespace") },
    Route { methods: WRITE, path: At("/v1/namespace"), handler: handler!(namespaces::write), answered_by: LEADER,
        permission: ByHandler(MANAGEMENT), audited: &[Namespace], metric: Write("namespace", "upsert_namespaces") },
    Route { methods: ANY, path: At("/v1/namespace/"), handler: handler!(namespaces::unnamed), answered_by: LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/namespace/", "{*name}"),
        handler: handler!(namespaces::one), answered_by: LEADER,
        permission: ByHandler(Right::AnyInNamespace), audited: &[], metric: Read("namespace", "get_namespace") },
    Route { methods: WRITE, path: Below("/v1/namespace/", "{*name}"),
        handler: handler!(namespaces::write), answered_by: LEADER,
        permission: ByHandler(MANAGEMENT), audited: &[Namespace], metric: Write("namespace", "upsert_namespaces") },
    Route { methods: DELETE, path: Below("/v1/namespace/", "{*name}"),
        handler: handler!(namespaces::delete), answered_by: LEADER,
        permission: AfterRegion(MANAGEMENT), audited: &[], metric: Write("namespace", "delete_namespaces") },
];
