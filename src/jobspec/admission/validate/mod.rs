//! Admission validators and warnings (`spec/jobspec.md §14-15`).
