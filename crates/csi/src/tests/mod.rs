//! Calls against plugins in the same process: honest ones (`calls`), and ones that break the protocol (`hostile`).

mod calls;
mod fake;
mod hostile;
