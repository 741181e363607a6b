//! Access control: what policies say, and what a caller may do (`docs/spec/http-api.md §7.2-7.5, §7.10`).
//!
//! - [`capability`]: the words of policies.
//! - [`policy`]: the text of a policy as [`Rules`].
//! - [`acl`]: the rules of all policies of a caller as an [`Acl`], which decides about a [`Need`]. [`labels`]: rules by
//!   label, exact or with wildcards.
//! - [`explain`]: why something is allowed or not. [`difference`]: what a change of policies gives and takes.
//!
//! **May use** `encamp_hcl`, `encamp_model`. **Never** knows tokens, states or clocks: who has which policies is decided
//! by `encamp_server`.

#![warn(missing_docs)]

pub mod acl;
pub mod capability;
pub mod difference;
pub mod explain;
pub mod labels;
#[cfg(test)]
mod naive;
pub mod policy;
#[cfg(test)]
mod tests;

pub use acl::{Acl, Need, Workload};
pub use capability::{
    Capability, HostVolumeCapability, Level, OperatorCapability, PluginLevel, PoolCapability, VariableCapability,
};
pub use policy::{PolicyError, Rules};
