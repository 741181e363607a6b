//! The language server over its protocol and in an editor, and the schema of jobs in JSON.

mod client;
mod corpus;
mod mistakes;
mod neovim;
mod order;
mod scenes;
mod schema;

use std::path::PathBuf;

use crate::program;

fn root() -> PathBuf {
    program::repository().to_path_buf()
}
