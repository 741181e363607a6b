//! Job diffs (`spec/jobspec.md §17`) and their annotations (`§18`).
