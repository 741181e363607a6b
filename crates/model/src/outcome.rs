//! Error texts of failed requests that state whether the request took effect: servers write them, and clients use them
//! to decide whether to retry a write.

/// There is no leader: nothing was done.
pub const NO_LEADER: &str = "No cluster leader";
/// The leader is new and does not answer yet: nothing was done.
pub const NOT_READY: &str = "Not ready to serve consistent reads";
/// The server can't go on: what it was doing may be done.
pub const STOPPED: &str = "consensus has stopped";
/// Part of the texts where the answer came too late, or never.
pub const MAY_BE_DONE: &str = "it may still be applied";

/// Whether a text says that nothing was done, as there is no leader yet.
pub fn is_without_leader(text: &str) -> bool {
    text.contains(NO_LEADER) || text.contains(NOT_READY)
}

/// Whether a text says that the outcome is unknown.
pub fn is_unknown(text: &str) -> bool {
    text.contains(STOPPED) || text.contains(MAY_BE_DONE)
}
