//! encamp: plan, explain and run jobs on clusters that schedule the way Nomad does. See ARCHITECTURE.md for the map.

#![warn(missing_docs)]

pub mod agent;
pub mod cli;
