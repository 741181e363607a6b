//! Access: the permissions that routes need, the checks of them while a request lasts, and what the audit log records.

pub(crate) mod audit_trail;
pub(crate) mod audited;
pub mod authorization;
pub(crate) mod job_permission;
pub(crate) mod permission;
pub(crate) mod remote_permissions;
pub mod right;
pub(crate) mod token_check;
pub(crate) mod visible_rows;
