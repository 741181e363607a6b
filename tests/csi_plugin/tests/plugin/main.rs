//! The plugin as a process, called by the client that encamp uses.
//!
//! Skipped without the right to make mount namespaces.

mod calls;
mod crashes;
mod faults;
mod support;
mod writers;
