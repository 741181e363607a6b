//! Checks of recorded histories: pure functions over what clients saw and what the servers did. Times are true times in
//! nanoseconds.
//!
//! - [`events`]: event streams. [`reads`]: lists, blocking queries, stale reads. [`locks`]: locks of variables.
//! - [`placements`]: preemption and the limits of rolling updates. The operations of registers are checked by
//!   [`encamp_linear`].

pub(crate) mod events;
pub(crate) mod locks;
pub(crate) mod placements;
pub(crate) mod reads;
