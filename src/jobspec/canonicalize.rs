//! Defaults that are filled in before a job is sent or converted (`spec/jobspec.md §10`).
