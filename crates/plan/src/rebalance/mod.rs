//! Plans moves of allocations that bring a cluster closer to a goal: nodes become empty, a job fits, spread is restored,
//! utilisation is evened out. Nothing is carried out here.
//!
//! A scheduler of this kind chooses nodes itself, so a plan consists of what an operator can do: mark nodes ineligible,
//! stop allocations, wait until the replacements are healthy, mark the nodes eligible again. Each step is followed with
//! the full scheduler on the state that the steps before it leave.
//!
//! - [`goal`]: what is wanted, and what may be moved. [`steps`]: the plan that is found, as data that a file can hold.

pub mod goal;
pub mod steps;

pub use goal::{Goal, Limits, Nodes, Request};
pub use steps::{Action, AllocRef, Figures, Move, NodeRef, RebalancePlan, Step, Utilisation};
