//! What registering (or planning) a job does to it: server canonicalisation and mutators (`spec/jobspec.md §12-13`),
//! validation (`§14`) and warnings (`§15`).

pub mod mutate;
pub mod validate;
