//! Commands about namespaces (`docs/spec/cli.md §12.1`).
//!
//! [`show`]: listing and looking into them. [`change`]: writing and deleting them.

pub mod change;
pub mod show;

use std::collections::BTreeMap;

use serde::Deserialize;

use encamp_api::ApiObject;
use encamp_model::NamespaceCapabilities;
use encamp_model::json::null_is_default;

/// The members of a namespace that commands show.
#[null_is_default]
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Namespace {
    name: String,
    description: String,
    quota: String,
    capabilities: NamespaceCapabilities,
    node_pool_configuration: Option<Choice>,
    vault_configuration: Option<Choice>,
    consul_configuration: Option<Choice>,
    meta: BTreeMap<String, String>,
    create_index: u64,
}

/// The node pools or clusters that jobs may use.
#[null_is_default]
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Choice {
    default: String,
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl ApiObject for Namespace {
    const ONE: &'static str = "/v1/namespace";
    const ALL: &'static str = "/v1/namespaces";
}
