//! Routes: search (`docs/spec/http-api.md §5.13`).

use super::row::*;
use crate::access::right::Right;
use crate::api::search;

/// The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(super) static ROUTES: &[Route] = &[
    Route { methods: WRITE, path: At("/v1/search"), handler: handler!(search::prefix), answered_by: LEADER,
        permission: ByHandler(Right::Rows(&Right::AnyInNamespace)),
        audited: &[], metric: List("search", "prefix_search") },
    Route { methods: WRITE, path: At("/v1/search/fuzzy"), handler: handler!(search::fuzzy), answered_by: LEADER,
        permission: ByHandler(Right::Rows(&Right::AnyInNamespace)),
        audited: &[], metric: List("search", "fuzzy_search") },
];
