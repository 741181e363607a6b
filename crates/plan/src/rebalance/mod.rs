//! Plans moves of allocations that bring a cluster closer to a goal: nodes become empty, a job fits, spread is restored,
//! utilisation is evened out. Nothing is carried out here.
//!
//! A scheduler of this kind chooses nodes itself, so a plan consists of what an operator can do: mark nodes ineligible,
//! stop allocations, wait until the replacements are healthy, mark the nodes eligible again. Each step is followed with
//! the full scheduler on the state that the steps before it leave.
//!
//! - [`goal`]: what is wanted, and what may be moved. [`steps`]: the plan that is found, as data that a file can hold.
//!   [`error`]: why there is none.
//! - [`search`]: from a question to a plan. `movable`: what may be moved. `board`, `kind`: allocations and nodes in
//!   numbers, on which moves are tried. `claims`: what waiting jobs take of them. `exact`: the fewest moves, on small
//!   boards. `course`: moves that were found. `arrange`, `pins`: steps that lead to them, whatever order servers look at
//!   nodes in. `refused`: moves that are not made. [`mod@follow`]: one step with the full scheduler. `figures`: before and
//!   after.
//! - `free`, `fit`, `spread`, `even`: the goals.
//! - [`run`]: how a plan is carried out on a running cluster.

mod arrange;
mod board;
mod claims;
mod course;
pub mod error;
mod even;
mod exact;
mod figures;
mod fit;
pub mod follow;
mod free;
pub mod goal;
mod kind;
mod movable;
mod pins;
mod refused;
pub mod run;
pub mod search;
mod spread;
pub mod steps;

pub use error::{Drift, RebalanceError};
pub use figures::figures;
pub use follow::{Followed, Order, follow, follow_in};
pub use goal::{Goal, Limits, Nodes, Request};
pub use search::rebalance;
pub use steps::{Action, AllocKey, AllocRef, AreaFigures, Figures, Move, NodeRef, RebalancePlan, Step, Utilisation};
