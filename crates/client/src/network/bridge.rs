//! The network of mode `bridge`: its plugins, and the chain for rules of the operator (`docs/spec/client.md §15.2`).

use std::path::Path;

use serde_json::{Map, Value, json};

use super::list::{CniVersion, NetworkList, PluginConfig};
use crate::config::NetworkConfig;
use crate::programs::{Cancel, Run, RunError, run};

/// The name of the network.
const NAME: &str = "nomad";
/// The chain of the table `filter` that plugins leave to the operator.
const ADMIN_CHAIN: &str = "NOMAD-ADMIN";
/// Where addresses in use are noted; the directory ends with the boot of the host, as namespaces do.
const ADDRESSES: &str = "/var/run/cni";
/// The maximum number of bytes that a list of rules may have.
const MOST_OUTPUT: usize = 4 << 20;

/// A rule of the firewall could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{program}: {what} {ADMIN_CHAIN}: {error}")]
pub(crate) struct FirewallError {
    /// `iptables` or `ip6tables`.
    program: &'static str,
    /// The operation.
    what: &'static str,
    /// The reason.
    error: RunError,
}

impl FirewallError {
    /// Why the program failed.
    pub(super) fn reason(&self) -> &RunError {
        &self.error
    }
}

/// The plugins of the network.
pub(crate) fn list(config: &NetworkConfig) -> NetworkList {
    let subnets = [&config.bridge_subnet, &config.bridge_subnet_ipv6].into_iter().filter(|s| !s.is_empty());
    let ranges: Vec<Value> = subnets.map(|s| json!([{"subnet": s}])).collect();
    let mut routes = vec![json!({"dst": "0.0.0.0/0"})];
    if !config.bridge_subnet_ipv6.is_empty() {
        routes.push(json!({"dst": "::/0"}));
    }
    let plugins = [
        json!({"type": "loopback"}),
        json!({
            "type": "bridge", "bridge": config.bridge_name, "ipMasq": true, "isGateway": true, "forceAddress": true,
            "hairpinMode": config.bridge_hairpin_mode,
            "ipam": {"type": "host-local", "ranges": ranges, "routes": routes, "dataDir": ADDRESSES},
        }),
        json!({"type": "firewall", "backend": "iptables", "iptablesAdminChainName": ADMIN_CHAIN}),
        json!({"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}),
    ];
    let object = |plugin: Value| match plugin {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    NetworkList {
        cni_version: CniVersion::V0_4_0,
        name: NAME.into(),
        disable_check: false,
        plugins: plugins.into_iter().map(|p| PluginConfig(object(p))).collect(),
    }
}

/// Makes sure that the chain exists and accepts what goes to the bridge.
pub(crate) fn admin_chain(config: &NetworkConfig, cancel: &Cancel) -> Result<(), FirewallError> {
    let families = [("iptables", &config.bridge_subnet), ("ip6tables", &config.bridge_subnet_ipv6)];
    for (program, subnet) in families.into_iter().filter(|(_, subnet)| !subnet.is_empty()) {
        let tool = Tool { program, config, cancel };
        if !tool.has("looking for", &["-n", "-L", ADMIN_CHAIN])? {
            let made = tool.run("creating", &["-N", ADMIN_CHAIN]);
            // Another one may have made it meanwhile.
            if made.is_err() && !tool.has("looking for", &["-n", "-L", ADMIN_CHAIN])? {
                made?;
            }
        }
        let rule = [ADMIN_CHAIN, "-o", config.bridge_name.as_str(), "-d", subnet.as_str(), "-j", "ACCEPT"];
        if !tool.has("looking for the rule in", &[&["-C"][..], &rule].concat())? {
            tool.run("adding the rule to", &[&["-A"][..], &rule].concat())?;
        }
    }
    Ok(())
}

/// A program that shows and changes the rules of an address family.
struct Tool<'a> {
    program: &'static str,
    config: &'a NetworkConfig,
    cancel: &'a Cancel,
}

impl Tool<'_> {
    /// Whether something is there: the program exits with another status if it is not.
    fn has(&self, what: &'static str, arguments: &[&str]) -> Result<bool, FirewallError> {
        match self.run(what, arguments) {
            Ok(()) => Ok(true),
            Err(FirewallError { error: RunError::Exit { .. }, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn run(&self, what: &'static str, arguments: &[&str]) -> Result<(), FirewallError> {
        let ran = run(&Run {
            program: Path::new(self.program),
            arguments: &[&["-w", "10", "-t", "filter"][..], arguments].concat(),
            dir: Path::new("/"),
            env: &[],
            input: &[],
            limit: self.config.plugin_limit,
            most_output: MOST_OUTPUT,
            stated: |_| None,
            cancel: self.cancel,
        });
        ran.map(drop).map_err(|error| FirewallError { program: self.program, what, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugins_of_the_bridge() {
        let list = list(&NetworkConfig::default());
        let programs: Vec<_> = list.plugins.iter().map(PluginConfig::program).collect();
        assert_eq!(programs, ["loopback", "bridge", "firewall", "portmap"]);
        let bridge = &list.plugins[1].0;
        assert_eq!((&bridge["bridge"], &bridge["hairpinMode"]), (&json!("nomad"), &json!(false)));
        assert_eq!(bridge["ipam"]["ranges"], json!([[{"subnet": "172.26.64.0/20"}]]));
        assert_eq!(bridge["ipam"]["routes"], json!([{"dst": "0.0.0.0/0"}]));
        let config = NetworkConfig { bridge_subnet_ipv6: "fd00::/64".into(), ..NetworkConfig::default() };
        let ipam = &super::list(&config).plugins[1].0["ipam"];
        assert_eq!(ipam["ranges"], json!([[{"subnet": "172.26.64.0/20"}], [{"subnet": "fd00::/64"}]]));
        assert_eq!(ipam["routes"], json!([{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]));
    }
}
