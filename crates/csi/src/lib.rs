//! The client of storage plugins that implement the Container Storage Interface (CSI), version 1
//! (<https://github.com/container-storage-interface/spec>; `docs/dev/csi.md`).
//!
//! - [`Plugin`]: the connection to the socket of one plugin. Its methods are the calls of the protocol: `identity`
//!   (what the plugin is), `controller` (volumes and snapshots of the storage provider), `node` (mounts of a node).
//! - [`types`]: what the calls take and return. [`modes`]: access and attachment modes, and what they need.
//! - [`error`]: why a call failed, by what the caller can do about it; when to try again.
//! - `transport`: HTTP/2 over a Unix socket, and the checks of answers before they are decoded. `convert`: between
//!   messages and types, with the checks of their contents. `redact`: texts of plugins without secrets.
//! - `proto`: generated messages and services (`cargo xtask csi`).
//!
//! Nothing here trusts a plugin: each call ends at its deadline, and answers, lists and texts are bounded.
//!
//! **May use** `encamp_model`. **Never** decides what to do with a volume, keeps state or logs.

#![warn(missing_docs)]

mod controller;
mod convert;
pub mod error;
mod identity;
pub mod modes;
mod node;
mod plugin;
mod redact;
mod transport;
pub mod types;

#[cfg(test)]
mod tests;

pub use error::{CallError, ErrorKind, retry};
pub use modes::{AccessMode, Attachment, AttachmentMode, Capability, UnknownMode};
pub use plugin::{Limits, Plugin};
pub use types::*;

/// Messages and services of the protocol, as generated.
#[cfg(feature = "server")]
#[allow(clippy::all, missing_docs, rustdoc::all)]
pub mod proto {
    include!("generated/csi.v1.rs");
}

#[cfg(not(feature = "server"))]
#[allow(clippy::all, dead_code, unreachable_pub)]
mod proto {
    include!("generated/csi.v1.rs");
}
