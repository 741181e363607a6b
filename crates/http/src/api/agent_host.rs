//! Diagnostic information about the agent's host (`docs/spec/http-api.md §5.1`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::host_addresses;
use crate::error::Error;
use crate::request::Request;
use crate::request::named_server::NamedServer;
use crate::request::response::{Outcome, Response};
use encamp_client::fingerprint::host::mounts;

/// Parts of the names of variables whose values are not shown.
const SECRETS: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH"];

pub(crate) async fn host(request: Request) -> Outcome {
    let settings = request.app().settings();
    request.authorize()?;
    // Without access control anybody could ask.
    if !settings.acl_enabled && !settings.debug {
        return Err(Error::denied());
    }
    let (node, server) = (request.query().get("node_id"), request.query().get("server_id"));
    if !node.is_empty() && !server.is_empty() {
        return Err(Error::bad("Can only forward to either client node or server"));
    }
    let data = tokio::task::spawn_blocking(host_data).await.map_err(|e| Error::internal(e.to_string()))?;
    if node.is_empty() && server.is_empty() {
        return Response::json(&data);
    }
    let own_node = request.app().client().is_some_and(|c| c.node_id() == node);
    let own_server = !server.is_empty() && NamedServer::find(request.app(), server) == NamedServer::This;
    if own_node || own_server {
        return Response::json(&json!({ "AgentID": if own_node { node } else { server }, "HostData": data }));
    }
    Err(match node {
        "" => NamedServer::unknown(server),
        id => Error::not_found(format!("Unknown node {}", encamp_model::quoted(id))),
    })
}

fn shown(name: &str, value: String) -> String {
    let upper = name.to_uppercase();
    if SECRETS.iter().any(|s| upper.contains(s)) { "<redacted>".into() } else { value }
}

fn host_data() -> Value {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()))
        .map(|(k, v)| (k.clone(), shown(&k, v)))
        .collect();
    let uname = rustix::system::uname();
    let words = [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()];
    let os: Vec<_> = words.iter().map(|w| w.to_string_lossy()).collect();
    json!({
        "OS": os.join(" "),
        "Network": host_addresses::all(),
        "ResolvConf": text("/etc/resolv.conf"),
        "Hosts": text("/etc/hosts"),
        "Environment": environment,
        "Disk": disks(),
    })
}

/// Size and use of what is mounted from devices, in MB.
fn disks() -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    for mount in mounts().into_iter().filter(|m| m.fs_spec.starts_with('/')) {
        if let Ok(s) = rustix::fs::statvfs(&mount.fs_file) {
            let mb = |blocks: u64| blocks.saturating_mul(s.f_frsize) >> 20;
            let used = mb(s.f_blocks).saturating_sub(mb(s.f_bavail));
            out.insert(mount.fs_file, json!({ "DiskMB": mb(s.f_blocks), "UsedMB": used }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(shown("PATH", "/bin".into()), "/bin");
        for name in ["NOMAD_TOKEN", "aws_secret_access_key", "Db_Password"] {
            assert_eq!(shown(name, "x".into()), "<redacted>");
        }
        assert!(host_data()["OS"].as_str().is_some_and(|os| os.contains("Linux")));
    }
}
