//! The agents that can answer the requests of a route.

/// Where a request names its allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedIn {
    /// In its path.
    Path,
    /// In a parameter.
    Query(&'static str),
}

/// The agents that can answer a request; others forward it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// Every agent, for itself.
    Agent,
    /// The agent of the node that the parameter `node_id` names; without it, every agent for itself.
    Node,
    /// The agent of the node that has the allocation.
    NodeOfAlloc(NamedIn),
    /// Every server, for itself.
    Server,
    /// The leader, and reads of old data by every server.
    Leader,
    /// The leader, however old the data may be.
    OnlyLeader,
}
