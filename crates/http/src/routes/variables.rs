//! Routes: variables (`docs/spec/http-api.md §5.10`).

use super::row::*;
use crate::access::right::{Right, VariableCapability};
use crate::api::variables;

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/vars"), handler: handler!(variables::list), answered_by: LEADER,
        permission: ByHandler(Right::Rows(&Right::Variable(VariableCapability::List))),
        audited: &[], metric: List("variables", "list") },
    Route { methods: ANY, path: At("/v1/var/"), handler: handler!(variables::unnamed), answered_by: LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/var/", "{*path}"), handler: handler!(variables::read), answered_by: LEADER,
        permission: ByHandler(Right::Variable(VariableCapability::Read)),
        audited: &[], metric: Read("variables", "read") },
    Route { methods: WRITE, path: Below("/v1/var/", "{*path}"),
        handler: handler!(variables::write, id), answered_by: LEADER,
        permission: ByHandler(Right::Variable(VariableCapability::Write)),
        audited: &[], metric: Write("variables", "apply") },
    Route { methods: DELETE, path: Below("/v1/var/", "{*path}"),
        handler: handler!(variables::delete, id), answered_by: LEADER,
        permission: ByHandler(Right::Variable(VariableCapability::Destroy)),
        audited: &[], metric: Write("variables", "apply") },
    Route { methods: ANY, path: Below("/v1/var/", "{*path}"),
        handler: handler!(variables::no_method), answered_by: LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
];
