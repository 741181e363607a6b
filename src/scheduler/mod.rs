//! The schedulers.
