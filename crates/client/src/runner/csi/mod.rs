//! Storage plugins in the work of runners (`docs/spec/client.md §24.2`).
//!
//! - [`plugin_tasks`]: tasks that are plugins. [`mount`], [`unmount`]: the volumes of allocations. [`server_calls`]:
//!   carries out what servers ask plugins to do.

pub(super) mod mount;
mod plugin_tasks;
mod server_calls;
mod unmount;
