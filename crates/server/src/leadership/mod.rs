//! The leader's duties besides scheduling, and cluster membership.
//!
//! - [`leader`]: establishing and revoking leadership.
//! - [`level`]: the capability level of the cluster.
//! - [`loops`], [`gc`], [`metrics`]: the leader's background tasks.
//! - [`peers`]: the known servers, and the Raft peers among them.

pub mod gc;
pub mod leader;
pub mod level;
pub mod loops;
pub mod metrics;
pub mod peers;
