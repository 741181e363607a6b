//! The permission that the requests of a route need: a right, and on what and when it is checked.

use super::right::Right;

/// The permission that the requests of a route need. The first error decides the answer, so the variants also say what
/// is checked before the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The right is checked before anything else.
    AtOnce(Right),
    /// After the region of a write.
    AfterRegion(Right),
    /// After the parameters of a read.
    AfterOptions(Right),
    /// In the namespace of the query, after the region of a write.
    InNamespaceOfWrite(Right),
    /// In the namespace of the query, after the parameters of a read.
    InNamespaceOfRead(Right),
    /// By the handler, on the objects that it finds or that the body names, or after parameters of its own.
    ByHandler(Right),
    /// As [`Permission::ByHandler`]; the leader's token is accepted as well: to read the usage of an allocation, and to
    /// ask what the token may do (`docs/spec/server.md §2.2`).
    ByHandlerOrLeader(Right),
    /// By the handler, once the first message of the websocket has named the token.
    InSession(Right),
    /// In the namespace of the job, by the endpoint, once the job is admitted.
    OfJob(Right),
    /// As [`Permission::OfJob`], with the rights that the volumes and plugins of the job require
    /// (`docs/spec/http-api.md §5.3` 6).
    OfJobAndVolumes(Right),
    /// The token is none of access control: it is the migrate token of an allocation (`docs/spec/http-api.md §5.4`),
    /// which the handler checks.
    MigrateToken,
}

impl Permission {
    /// The right that is checked.
    pub(crate) fn right(self) -> Right {
        match self {
            Permission::AtOnce(right)
            | Permission::AfterRegion(right)
            | Permission::AfterOptions(right)
            | Permission::InNamespaceOfWrite(right)
            | Permission::InNamespaceOfRead(right)
            | Permission::ByHandler(right)
            | Permission::ByHandlerOrLeader(right)
            | Permission::InSession(right)
            | Permission::OfJob(right)
            | Permission::OfJobAndVolumes(right) => right,
            Permission::MigrateToken => Right::Anonymous,
        }
    }

    /// Whether the token may be that of the leader.
    pub(crate) fn accepts_leader(self) -> bool {
        matches!(self, Permission::ByHandlerOrLeader(_))
    }

    /// Whether the requests open a session over a websocket, whose first message names the token.
    pub(crate) fn is_checked_in_session(self) -> bool {
        matches!(self, Permission::InSession(_))
    }
}
