//! The recorded results ([`crate::recorded`]), and what several tests do with the job files among them.
#![allow(dead_code, unused_imports)]

use std::path::Path;

pub use crate::recorded::*;
use encamp_jobspec::admission::{ServerContext, admit};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_jobspec::parse::{ParseOptions, parse};
use encamp_model::{Job, Namespace, NodePool, WorkloadIdentity};

/// A server of a profile of the recorded job files.
pub fn server(profile: &str) -> ServerContext {
    let named = |name: &str| Namespace { name: name.into(), ..Namespace::default() };
    let mut server =
        ServerContext { namespaces: vec![named("default"), named("platform")], ..ServerContext::default() };
    server.node_pools.push(NodePool { name: "gpu".into(), ..NodePool::default() });
    if profile == "identities" {
        let identity = |audience: &str| {
            Some(WorkloadIdentity { audience: vec![audience.into()], ttl: 3_600_000_000_000, ..Default::default() })
        };
        server.vault_enabled = true;
        server.vault_default_identity = identity("vault.example");
        server.consul_service_identity = identity("consul.example");
        server.consul_task_identity = identity("consul.example");
    }
    server
}

/// The stored job that registering a job file gives, on a server of that profile.
pub fn registered_job(path: &Path, profile: &str) -> Result<Job, String> {
    let options = ParseOptions {
        path: path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
        ..ParseOptions::default()
    };
    let mut job = parse(&std::fs::read(path).expect("the job file"), &options).map_err(|e| e.to_string())?;
    canonicalize(&mut job);
    let options = ConvertOptions { region: "global".into(), ..ConvertOptions::default() };
    let job = to_server(&job, &options).map_err(|e| e.to_string())?;
    Ok(admit(job, &server(profile), None).map_err(|e| e.to_string())?.job)
}
