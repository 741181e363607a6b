//! Server canonicalisation and the admission mutators (`spec/jobspec.md §12-13`).
