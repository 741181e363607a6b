//! Routes: nodes and pools (`docs/spec/http-api.md §5.8`).

use super::rights::*;
use super::row::*;
use crate::access::audited::Audited::NodePool;
use crate::access::right::Right;
use crate::api::{nodes, pools};

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: GET, path: At("/v1/nodes"), handler: handler!(nodes::list), answered_by: LEADER,
        permission: ByHandler(NODE_READ), audited: &[], metric: List("client", "list") },
    Route { methods: WRITE, path: Below("/v1/node/", "{*id}/evaluate"),
        handler: handler!(nodes::evaluate, id), answered_by: LEADER,
        permission: ByHandler(NODE_WRITE), audited: &[], metric: Write("client", "evaluate") },
    Route { methods: GET, path: Below("/v1/node/", "{*id}/allocations"),
        handler: handler!(nodes::allocations, id), answered_by: LEADER,
        permission: ByHandler(NODE_READ), audited: &[], metric: List("client", "get_allocs") },
    Route { methods: WRITE, path: Below("/v1/node/", "{*id}/drain"),
        handler: handler!(nodes::drain, id), answered_by: LEADER,
        permission: ByHandler(NODE_WRITE), audited: &[], metric: Write("client", "update_drain") },
    Route { methods: WRITE, path: Below("/v1/node/", "{*id}/eligibility"),
        handler: handler!(nodes::eligibility, id), answered_by: LEADER,
        permission: ByHandler(NODE_WRITE), audited: &[], metric: Write("client", "update_eligibility") },
    Route { methods: WRITE, path: Below("/v1/node/", "{*id}/identity/revoke"),
        handler: handler!(nodes::revoke_identity, id), answered_by: LEADER,
        permission: ByHandler(NODE_WRITE), audited: &[], metric: Write("client", "revoke_identity") },
    Route { methods: WRITE, path: Below("/v1/node/", "{*id}/purge"),
        handler: handler!(nodes::purge, id), answered_by: LEADER,
        permission: ByHandler(NODE_WRITE), audited: &[], metric: Write("client", "deregister") },
    Route { methods: GET, path: Below("/v1/node/", "{*id}"), handler: handler!(nodes::read, id), answered_by: LEADER,
        permission: AfterOptions(NODE_READ), audited: &[], metric: Read("client", "get_node") },
    Route { methods: GET, path: At("/v1/node/pools"), handler: handler!(pools::list), answered_by: LEADER,
        permission: ByHandler(Right::Rows(&POOL_READ)), audited: &[], metric: List("node_pool", "list") },
    Route { methods: WRITE, path: At("/v1/node/pools"), handler: handler!(pools::write), answered_by: LEADER,
        permission: ByHandler(POOL_WRITE), audited: &[NodePool], metric: Write("node_pool", "upsert_node_pools") },
    Route { methods: GET, path: Below("/v1/node/pool/", "{*name}/nodes"),
        handler: handler!(pools::nodes_of, id), answered_by: LEADER,
        permission: ByHandler(Right::All(&[POOL_READ, NODE_READ])),
        audited: &[], metric: List("node_pool", "list_nodes") },
    Route { methods: GET, path: Below("/v1/node/pool/", "{*name}/jobs"),
        handler: handler!(pools::jobs_of, id), answered_by: LEADER,
        permission: ByHandler(POOL_READ), audited: &[], metric: List("node_pool", "list_jobs") },
    Route { methods: GET, path: Below("/v1/node/pool/", "{*name}"), handler: handler!(pools::one), answered_by: LEADER,
        permission: ByHandler(POOL_READ), audited: &[], metric: Read("node_pool", "get_node_pool") },
    Route { methods: WRITE, path: Below("/v1/node/pool/", "{*name}"),
        handler: handler!(pools::write), answered_by: LEADER,
        permission: ByHandler(POOL_WRITE), audited: &[NodePool], metric: Write("node_pool", "upsert_node_pools") },
    Route { methods: DELETE, path: Below("/v1/node/pool/", "{*name}"),
        handler: handler!(pools::delete), answered_by: LEADER,
        permission: ByHandler(POOL_DELETE), audited: &[], metric: Write("node_pool", "delete_node_pools") },
];
