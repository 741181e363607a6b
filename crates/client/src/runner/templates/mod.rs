//! The templates and the `secret` blocks of a task (`docs/spec/client.md §19.1`, `§19.4`).
//!
//! - [`render`]: the hook `template`. [`reader`]: reads what templates depend on. [`change`]: passes changes on to the
//!   task. [`secret_blocks`]: the hook `secrets`. [`task_state`]: what a task keeps of both.

mod change;
mod reader;
mod render;
mod secret_blocks;
mod task_state;

pub(super) use self::task_state::{Secrets, Templates};
