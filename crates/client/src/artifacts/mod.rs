//! Artifacts of tasks: files that a task needs are downloaded before it starts (`docs/spec/client.md §18`).
//!
//! A process of its own downloads each artifact, with an environment and a view of the file system that hold no more
//! than it needs. It downloads to a directory of the allocation that only the agent uses, unpacks and checks there, and
//! moves the result to its destination.
//!
//! - `fetch`: starts that process and waits for it. `child`: its life. `isolation`: what it may reach.
//! - `source`: sources and options. `http`, `git`, `s3`: transfers. `checksum`: checksums.
//! - [`archive`]: unpacking. `publish`: checks of the result, and its way to the destination.
//! - `destination`: where that is. `order`: what the agent and that process say to each other.

pub mod archive;
mod checksum;
mod child;
mod destination;
mod fetch;
mod git;
mod http;
mod isolation;
mod order;
pub(crate) mod publish;
mod s3;
mod source;

pub use child::main;
pub(crate) use destination::destination;
pub(crate) use fetch::{FetchError, fetch};
pub(crate) use order::{AT_ONCE, Mode, Order, STAGING};
