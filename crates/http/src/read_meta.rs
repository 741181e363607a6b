//! The facts about the state that a read saw (`docs/spec/http-api.md §4.4`).

/// The facts about the state that was read, for the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// `X-Nomad-Index`.
    pub index: u64,
    /// `X-Nomad-KnownLeader`.
    pub known_leader: bool,
    /// `X-Nomad-LastContact`, in milliseconds.
    pub last_contact: u64,
}
