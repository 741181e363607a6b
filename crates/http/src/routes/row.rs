//! What the rows of the table are written with: methods, agents that answer, and the names of variants.

use axum::http::Method;

pub(super) use super::metric::Metric::{List, NotCounted, Read, Write};
pub(super) use super::route::RoutePath::{At, Below};
pub(super) use super::route::{Methods, Route, handler};
use crate::access::permission::Permission;
pub(super) use crate::access::permission::Permission::{
    AfterOptions, AfterRegion, AtOnce, ByHandler, ByHandlerOrLeader, InNamespaceOfRead, InNamespaceOfWrite, InSession,
    MigrateToken, OfJob, OfJobAndVolumes,
};
use crate::access::right::Right;
use crate::request::answered_by::{AnsweredBy, NamedIn};

pub(super) const ANY: Methods = Methods::Any;
pub(super) const GET: Methods = Methods::Only(&[Method::GET]);
pub(super) const PUT: Methods = Methods::Only(&[Method::PUT]);
pub(super) const POST: Methods = Methods::Only(&[Method::POST]);
pub(super) const DELETE: Methods = Methods::Only(&[Method::DELETE]);
/// PUT and POST, which are interchangeable for most writes.
pub(super) const WRITE: Methods = Methods::Only(&[Method::PUT, Method::POST]);

pub(super) const AGENT: AnsweredBy = AnsweredBy::Agent;
pub(super) const NODE: AnsweredBy = AnsweredBy::Node;
pub(super) const ALLOC_NODE: AnsweredBy = AnsweredBy::NodeOfAlloc(NamedIn::Path);
pub(super) const ACTION_NODE: AnsweredBy = AnsweredBy::NodeOfAlloc(NamedIn::Query("allocID"));
pub(super) const SERVER: AnsweredBy = AnsweredBy::Server;
pub(super) const LEADER: AnsweredBy = AnsweredBy::Leader;
pub(super) const ONLY_LEADER: AnsweredBy = AnsweredBy::OnlyLeader;

/// No permission.
pub(super) const ANONYMOUS: Permission = ByHandler(Right::Anonymous);
