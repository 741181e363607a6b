//! What the leader does besides scheduling, and who the servers are.
//!
//! - [`leader`]: taking over and handing over. [`queues`]: what it keeps in memory, with locks and wake-ups.
//! - [`loops`], [`gc`], [`metrics`]: what it does meanwhile.
//! - [`peers`]: the servers that know each other, and who of them is a member of consensus.

pub mod gc;
pub mod leader;
pub mod loops;
pub mod metrics;
pub mod peers;
pub mod queues;
