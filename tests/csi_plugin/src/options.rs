//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::records::Node;

/// Which services the plugin provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Volumes and snapshots.
    Controller,
    /// Mounts of one node.
    Node,
    /// Both.
    Monolith,
}

/// A storage plugin for tests.
#[derive(Debug, Clone, Parser)]
#[command(name = "csi-test-plugin")]
pub(crate) struct Options {
    /// Where to listen: `unix:///path`; without it, the variable CSI_ENDPOINT.
    #[arg(long)]
    pub(crate) endpoint: Option<String>,
    /// The name of the plugin.
    #[arg(long, default_value = "csi.test.encamp")]
    pub(crate) name: String,
    /// The storage provider's ID of the node.
    #[arg(long, default_value = "node")]
    pub(crate) node_id: String,
    /// The directory of the storage provider, shared by all plugins.
    #[arg(long)]
    pub(crate) storage: PathBuf,
    /// Which services to provide.
    #[arg(long, value_enum, default_value = "monolith")]
    pub(crate) mode: Mode,
    /// Where the node is: `zone=a`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) topology: Vec<(String, String)>,
    /// A file with faults, read at each call.
    #[arg(long)]
    pub(crate) fail: Option<PathBuf>,
    /// The file for the journal; without it, `journal.jsonl` in the storage directory.
    #[arg(long)]
    pub(crate) journal: Option<PathBuf>,
    /// A secret that calls must carry; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) secret: Vec<(String, String)>,
    /// How many volumes a node can hold; 0: any number.
    #[arg(long, default_value_t = 0)]
    pub(crate) max_volumes: u32,
    /// The capacity of the storage provider in bytes.
    #[arg(long, default_value_t = 100 << 40)]
    pub(crate) capacity: u64,
    /// The largest volume in bytes.
    #[arg(long, default_value_t = 1 << 40)]
    pub(crate) max_size: u64,
    /// Volumes are not attached to nodes before they are mounted.
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Volumes are not staged before they are mounted.
    #[arg(long)]
    pub(crate) no_stage: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is expected")?;
    Ok((key.into(), value.into()))
}

impl Options {
    /// The path of the socket.
    pub(crate) fn socket(&self) -> Result<PathBuf, String> {
        let endpoint = match &self.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => std::env::var("CSI_ENDPOINT").map_err(|_| "--endpoint or CSI_ENDPOINT is required")?,
        };
        let path = endpoint.strip_prefix("unix://").or(endpoint.strip_prefix("unix:")).unwrap_or(&endpoint);
        if !path.starts_with('/') {
            return Err(format!("the endpoint {endpoint:?} has no absolute path"));
        }
        Ok(path.into())
    }

    /// What the storage provider knows about the node.
    pub(crate) fn node(&self) -> Node {
        Node { id: self.node_id.clone(), topology: self.topology(), max_volumes: self.max_volumes }
    }

    pub(crate) fn topology(&self) -> BTreeMap<String, String> {
        self.topology.iter().cloned().collect()
    }
}
