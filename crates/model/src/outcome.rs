//! Error texts of failed requests that state whether the request took effect. Servers answer with them; of HTTP
//! answers, the client of the HTTP API tells them apart.

/// There is no leader: nothing was done.
pub const NO_LEADER: &str = "No cluster leader";
/// The leader is new and does not answer yet: nothing was done.
pub const NOT_READY: &str = "Not ready to serve consistent reads";
/// The server can't go on: what it was doing may be done.
pub const STOPPED: &str = "consensus has stopped";
/// Part of the texts where the answer came too late, or never.
pub const MAY_BE_DONE: &str = "it may still be applied";
