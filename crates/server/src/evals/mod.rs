//! Evaluations that wait: for a worker, for room, for their end. Pure: times and random numbers come in.
//!
//! - [`broker`]: who gets which evaluation. [`blocked`]: evaluations that wait for room.
//! - [`evaluating`]: what a write entails for both. [`reapers`]: evaluations that nobody will process.

pub mod blocked;
pub mod broker;
pub mod evaluating;
pub mod reapers;
