//! Routes: scaling policies (`docs/spec/http-api.md §5.12`), and the autoscaler (`docs/spec/cluster-scaling.md §11`,
//! `§13`).

use super::rights::*;
use super::row::*;
use crate::api::{autoscale, scaling};

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/scaling/policies"), handler: handler!(scaling::list), answered_by: LEADER,
        permission: ByHandler(LIST_POLICIES), audited: &[], metric: List("scaling", "list_policies") },
    Route { methods: GET, path: Below("/v1/scaling/policy/", "{*id}"),
        handler: handler!(scaling::one), answered_by: LEADER,
        permission: ByHandler(READ_POLICY), audited: &[], metric: Read("scaling", "get_policy") },
    Route { methods: GET, path: At("/v1/autoscale/pools"), handler: handler!(autoscale::list), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_READ), audited: &[], metric: List("autoscale", "list_pools") },
    Route { methods: ANY, path: At("/v1/autoscale/pools"),
        handler: handler!(autoscale::no_pool_method), answered_by: ONLY_LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: WRITE, path: Below("/v1/autoscale/pool/", "{*name}/failsafe"),
        handler: handler!(autoscale::failsafe, id), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_WRITE), audited: &[], metric: Write("autoscale", "set_failsafe") },
    Route { methods: ANY, path: Below("/v1/autoscale/pool/", "{*name}/failsafe"),
        handler: handler!(autoscale::no_pool_method), answered_by: ONLY_LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/autoscale/pool/", "{*name}"),
        handler: handler!(autoscale::one), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_READ), audited: &[], metric: Read("autoscale", "get_pool") },
    Route { methods: ANY, path: Below("/v1/autoscale/pool/", "{*name}"),
        handler: handler!(autoscale::no_pool_method), answered_by: ONLY_LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: At("/v1/autoscale/groups"),
        handler: handler!(autoscale::groups), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_READ), audited: &[], metric: NotCounted },
    Route { methods: ANY, path: At("/v1/autoscale/groups"),
        handler: handler!(autoscale::no_group_method), answered_by: ONLY_LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: WRITE, path: Below("/v1/autoscale/group/", "{*name}/failsafe"),
        handler: handler!(autoscale::group_failsafe, id), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_WRITE), audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/autoscale/group/", "{*name}/failsafe"),
        handler: handler!(autoscale::group), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_READ), audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/autoscale/group/", "{*name}/failsafe"),
        handler: handler!(autoscale::no_group_method), answered_by: ONLY_LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
    Route { methods: GET, path: Below("/v1/autoscale/group/", "{*name}"),
        handler: handler!(autoscale::group), answered_by: ONLY_LEADER,
        permission: ByHandler(OPERATOR_READ), audited: &[], metric: NotCounted },
    Route { methods: ANY, path: Below("/v1/autoscale/group/", "{*name}"),
        handler: handler!(autoscale::no_group_method), answered_by: ONLY_LEADER,
        permission: ANONYMOUS, audited: &[], metric: NotCounted },
];
