//! Job files to client jobs (`spec/jobspec.md §2-4, 6, 8, 9`).
