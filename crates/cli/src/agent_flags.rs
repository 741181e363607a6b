//! The flags of `agent`, and the settings that they override (`docs/spec/agent-config.md §7`).

use super::completion::values::CompleteWith;
use super::flags::InvalidFlag;
use encamp_agent::config::kinds::Nanos;
use encamp_agent::config::{SettingsFile, Sources};
use encamp_model::SecretString;

/// Flags of an agent.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct AgentFlags {
    /// Run as both server and client for development. Nothing is persisted
    #[arg(long)]
    pub dev: bool,
    /// Run as a server
    #[arg(long)]
    pub server: bool,
    /// Run as a client node
    #[arg(long)]
    pub client: bool,
    /// Configuration file or directory. Can be given several times; later ones take precedence
    #[arg(long, value_name = "path", add = CompleteWith::HCL_OR_JSON)]
    pub config: Vec<String>,
    /// Address to listen on
    #[arg(long, value_name = "address")]
    pub bind: Option<String>,
    /// Region of the agent. Default: global
    #[arg(long, value_name = "region")]
    pub region: Option<String>,
    /// Datacenter of the agent. Default: dc1
    #[arg(long, value_name = "datacenter")]
    pub dc: Option<String>,
    /// Directory for the agent's data
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub data_dir: Option<String>,
    /// Directory with plugins. Default: plugins in the data directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub plugin_dir: Option<String>,
    /// Name of the agent. Default: the hostname
    #[arg(long, value_name = "name")]
    pub node: Option<String>,
    /// Log level: TRACE, DEBUG, INFO, WARN, ERROR or OFF. Default: INFO
    #[arg(long, value_name = "level", add = CompleteWith::Words(&["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"]))]
    pub log_level: Option<String>,
    /// Log as JSON
    #[arg(long)]
    pub log_json: bool,
    /// Include the source file and line in log messages
    #[arg(long)]
    pub log_include_location: bool,
    /// Number of servers to wait for before the first election
    #[arg(long, value_name = "number")]
    pub bootstrap_expect: Option<i64>,
    /// Key that encrypts gossip between servers
    #[arg(long, value_name = "key")]
    pub encrypt: Option<String>,
    /// Raft protocol version; only 3
    #[arg(long, value_name = "number", add = CompleteWith::Words(&["3"]))]
    pub raft_protocol: Option<i64>,
    /// Rejoin the cluster after leaving it
    #[arg(long)]
    pub rejoin: bool,
    /// Server to join at start. Can be given several times
    #[arg(long, value_name = "address")]
    pub join: Vec<String>,
    /// Server to join, with retries until it succeeds. Can be given several times
    #[arg(long, value_name = "address")]
    pub retry_join: Vec<String>,
    /// Maximum number of join attempts. Default: 0, no limit
    #[arg(long, value_name = "number")]
    pub retry_max: Option<i64>,
    /// Time between join attempts. Default: 30s
    #[arg(long, value_name = "duration")]
    pub retry_interval: Option<String>,
    /// Directory for the client's state. Default: client in the data directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub state_dir: Option<String>,
    /// Directory for allocations. Default: alloc in the data directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub alloc_dir: Option<String>,
    /// Directory for the mounts of allocations. Default: alloc_mounts next to the data directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub alloc_mounts_dir: Option<String>,
    /// Directory for dynamic host volumes. Default: host_volumes in the data directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub host_volumes_dir: Option<String>,
    /// Directory with host volume plugins. Default: host_volume_plugins in the data directory
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub host_volume_plugin_dir: Option<String>,
    /// Class of the node
    #[arg(long, value_name = "class")]
    pub node_class: Option<String>,
    /// Pool of the node. Default: default
    #[arg(long, value_name = "pool")]
    pub node_pool: Option<String>,
    /// Servers of the client, separated by commas
    #[arg(long, value_name = "addresses")]
    pub servers: Option<String>,
    /// Metadata of the node, as key=value. Can be given several times
    #[arg(long, value_name = "key=value")]
    pub meta: Vec<String>,
    /// Network interface of the node
    #[arg(long, value_name = "name")]
    pub network_interface: Option<String>,
    /// Preferred address family of the node: ipv4 or ipv6
    #[arg(long, value_name = "family", add = CompleteWith::Words(&["ipv4", "ipv6"]))]
    pub preferred_address_family: Option<String>,
    /// Speed of the network in Mbit/s
    #[arg(long, value_name = "number")]
    pub network_speed: Option<i64>,
    /// Introduction token of the client. NOMAD_CLIENT_INTRO_TOKEN overrides it
    #[arg(long, value_name = "token")]
    pub client_intro_token: Option<String>,
    /// Enforce access control
    #[arg(long)]
    pub acl_enabled: bool,
    /// Token for replicating policies from the authoritative region
    #[arg(long, value_name = "token")]
    pub acl_replication_token: Option<String>,
    #[command(flatten)]
    elsewhere: Elsewhere,
}

/// Flags for features that this agent does not have. Those for Consul, Vault and Windows are ignored; those that would
/// change the mode of the agent are rejected.
#[derive(Debug, Clone, Default, clap::Args)]
struct Elsewhere {
    #[arg(long, hide = true)]
    dev_connect: bool,
    #[arg(long, hide = true)]
    dev_consul: bool,
    #[arg(long, hide = true)]
    dev_vault: bool,
    #[arg(long = "eventlog", hide = true)]
    _eventlog: bool,
    #[arg(long = "eventlog-level", hide = true)]
    _eventlog_level: Option<String>,
    #[arg(long = "consul-address", hide = true)]
    _consul_address: Option<String>,
    #[arg(long = "consul-auth", hide = true)]
    _consul_auth: Option<String>,
    #[arg(long = "consul-auto-advertise", hide = true)]
    _consul_auto_advertise: bool,
    #[arg(long = "consul-ca-file", hide = true)]
    _consul_ca_file: Option<String>,
    #[arg(long = "consul-cert-file", hide = true)]
    _consul_cert_file: Option<String>,
    #[arg(long = "consul-checks-use-advertise", hide = true)]
    _consul_checks_use_advertise: bool,
    #[arg(long = "consul-client-auto-join", hide = true)]
    _consul_client_auto_join: bool,
    #[arg(long = "consul-client-service-name", hide = true)]
    _consul_client_service_name: Option<String>,
    #[arg(long = "consul-client-http-check-name", hide = true)]
    _consul_client_http_check_name: Option<String>,
    #[arg(long = "consul-key-file", hide = true)]
    _consul_key_file: Option<String>,
    #[arg(long = "consul-server-auto-join", hide = true)]
    _consul_server_auto_join: bool,
    #[arg(long = "consul-server-service-name", hide = true)]
    _consul_server_service_name: Option<String>,
    #[arg(long = "consul-server-http-check-name", hide = true)]
    _consul_server_http_check_name: Option<String>,
    #[arg(long = "consul-server-serf-check-name", hide = true)]
    _consul_server_serf_check_name: Option<String>,
    #[arg(long = "consul-server-rpc-check-name", hide = true)]
    _consul_server_rpc_check_name: Option<String>,
    #[arg(long = "consul-ssl", hide = true)]
    _consul_ssl: bool,
    #[arg(long = "consul-token", hide = true)]
    _consul_token: Option<String>,
    #[arg(long = "consul-verify-ssl", hide = true)]
    _consul_verify_ssl: bool,
    #[arg(long = "vault-enabled", hide = true)]
    _vault_enabled: bool,
    #[arg(long = "vault-address", hide = true)]
    _vault_address: Option<String>,
    #[arg(long = "vault-ca-file", hide = true)]
    _vault_ca_file: Option<String>,
    #[arg(long = "vault-ca-path", hide = true)]
    _vault_ca_path: Option<String>,
    #[arg(long = "vault-cert-file", hide = true)]
    _vault_cert_file: Option<String>,
    #[arg(long = "vault-key-file", hide = true)]
    _vault_key_file: Option<String>,
    #[arg(long = "vault-create-from-role", hide = true)]
    _vault_create_from_role: Option<String>,
    #[arg(long = "vault-namespace", hide = true)]
    _vault_namespace: Option<String>,
    #[arg(long = "vault-tls-server-name", hide = true)]
    _vault_tls_server_name: Option<String>,
    #[arg(long = "vault-tls-skip-verify", hide = true)]
    _vault_tls_skip_verify: bool,
    #[arg(long = "vault-token", hide = true)]
    _vault_token: Option<String>,
}

impl AgentFlags {
    /// Returns the sources of the configuration; `token` is the introduction token of the environment. The error is a
    /// single line.
    pub fn sources(&self, token: Option<String>) -> Result<Sources, InvalidFlag> {
        let e = &self.elsewhere;
        for (given, name) in [(e.dev_connect, "connect"), (e.dev_consul, "consul"), (e.dev_vault, "vault")] {
            if given {
                return Err(InvalidFlag::new(format_args!(
                    "-dev-{name} is not supported: this agent does not run {name}"
                )));
            }
        }
        let intro_token = token.or_else(|| self.client_intro_token.clone()).unwrap_or_default().into();
        Ok(Sources { dev: self.dev, paths: self.config.clone(), flags: self.settings()?, intro_token })
    }

    fn settings(&self) -> Result<SettingsFile, InvalidFlag> {
        let mut s = SettingsFile::default();
        let on = |flag: bool| flag.then_some(true);
        s.bind_addr.0.clone_from(&self.bind);
        s.region.0.clone_from(&self.region);
        s.datacenter.0.clone_from(&self.dc);
        s.data_dir.0.clone_from(&self.data_dir);
        s.plugin_dir.0.clone_from(&self.plugin_dir);
        s.name.0.clone_from(&self.node);
        s.log_level.0.clone_from(&self.log_level);
        s.log_json.0 = on(self.log_json);
        s.log_include_location.0 = on(self.log_include_location);
        s.acl.enabled.0 = on(self.acl_enabled);
        s.acl.replication_token.0 = self.acl_replication_token.as_deref().map(SecretString::from);

        let server = &mut s.server;
        server.enabled.0 = on(self.server);
        server.bootstrap_expect.0 = self.bootstrap_expect;
        server.encrypt.0 = self.encrypt.as_deref().map(SecretString::from);
        server.raft_protocol.0 = self.raft_protocol;
        server.rejoin_after_leave.0 = on(self.rejoin);
        let list = |l: &Vec<String>| (!l.is_empty()).then(|| l.clone());
        server.server_join.start_join.0 = list(&self.join);
        server.server_join.retry_join.0 = list(&self.retry_join);
        server.server_join.retry_max.0 = self.retry_max;
        if let Some(text) = &self.retry_interval {
            let wrong = |e| InvalidFlag::new(format_args!("Error parsing retry interval: {e}"));
            let nanos = encamp_model::duration::parse_duration(text).map_err(wrong)?;
            server.server_join.retry_interval.0 = Some(Nanos(nanos));
        }

        let client = &mut s.client;
        client.enabled.0 = on(self.client);
        client.state_dir.0.clone_from(&self.state_dir);
        client.alloc_dir.0.clone_from(&self.alloc_dir);
        client.alloc_mounts_dir.0.clone_from(&self.alloc_mounts_dir);
        client.host_volumes_dir.0.clone_from(&self.host_volumes_dir);
        client.host_volume_plugin_dir.0.clone_from(&self.host_volume_plugin_dir);
        client.node_class.0.clone_from(&self.node_class);
        client.node_pool.0.clone_from(&self.node_pool);
        client.network_interface.0.clone_from(&self.network_interface);
        client.preferred_address_family.0.clone_from(&self.preferred_address_family);
        client.network_speed.0 = self.network_speed;
        let servers = self.servers.iter().flat_map(|s| s.split(',')).map(|s| s.trim().to_string());
        client.servers.0 = servers.filter(|s| !s.is_empty()).collect();
        for pair in &self.meta {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| InvalidFlag::new(format_args!("Error parsing Client.Meta value: {pair}")))?;
            client.meta.0.insert(key.into(), value.into());
        }
        Ok(s)
    }
}
