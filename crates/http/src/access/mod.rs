//! Access: the rights that routes need, the checks of them while a request lasts, and what the audit log records.

pub(crate) mod audit_trail;
pub(crate) mod authorization;
pub(crate) mod remote;
pub mod right;
