//! Parts of allocations that are kept as bytes, since there may be millions of them and most are never read: the
//! [states of tasks](TaskStates) with their [events](TaskEvents), the [metrics of a placement](PackedMetric),
//! [lists](PackedList) of networks and ports.
//!
//! Each looks from outside as what it holds: it is written and read in the same form, and gives the same values.

mod codec;
mod display;
mod events;
mod list;
mod metric;
mod network;
mod states;

pub use display::RESTART_WITHIN_POLICY;
pub use events::{TaskEventStamps, TaskEvents, TaskEventsIter};
pub use list::{Pack, PackedList, PackedListIter};
pub use metric::PackedMetric;
pub use states::{TaskStates, TaskStatesIter};
