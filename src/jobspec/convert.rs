//! From the job clients send to the job that is stored (`spec/jobspec.md §11`).
