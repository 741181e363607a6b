//! The general options, which all commands share (`docs/spec/cli.md §2.4`).

use super::completion::values::{CompleteWith, Objects};
use super::context::Environment;
use super::output_settings::ColourWhen;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::api;
use encamp_state::State;

/// The heading of these flags in help texts.
pub const GENERAL_OPTIONS: &str = "General options";

/// The flags for the output. The full command line is searched for them before a command runs (`docs/spec/cli.md §2.4`).
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ColourFlags {
    /// Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same
    #[arg(long, help_heading = GENERAL_OPTIONS)]
    pub no_color: bool,
    /// Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same
    #[arg(long, help_heading = GENERAL_OPTIONS)]
    pub force_color: bool,
    /// When to print with colours. Overrides NOMAD_CLI_NO_COLOR and NOMAD_CLI_FORCE_COLOR
    #[arg(long, value_name = "when", value_enum, help_heading = GENERAL_OPTIONS)]
    pub color: Option<ColourWhen>,
    /// Do not shorten the columns of tables to the width of the terminal
    #[arg(long, help_heading = GENERAL_OPTIONS)]
    pub wide: bool,
    /// Do not show long output in a pager. Empty ENCAMP_PAGER or PAGER do the same
    #[arg(long, help_heading = GENERAL_OPTIONS)]
    pub no_pager: bool,
}

/// The flags that select the cluster and the colours of the output.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = GENERAL_OPTIONS)]
pub struct GeneralFlags {
    /// Saved context that selects the cluster, see "encamp context list". Replaces NOMAD_ADDR, NOMAD_TOKEN and the other
    /// variables of the connection. Overrides ENCAMP_CONTEXT
    #[arg(long, value_name = "name")]
    pub context: Option<String>,
    /// Address of the HTTP API, or a comma-separated list of addresses: if one does not respond, the next is tried, for
    /// up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646
    #[arg(long, value_name = "addr")]
    pub address: Option<String>,
    /// Region of the request. Overrides NOMAD_REGION
    #[arg(long, value_name = "region")]
    pub region: Option<String>,
    /// Namespace of the request. Overrides NOMAD_NAMESPACE
    #[arg(long, value_name = "namespace", add = CompleteWith::Live(Objects::Namespaces))]
    pub namespace: Option<String>,
    /// Secret ID of the ACL token of the request. Overrides NOMAD_TOKEN
    #[arg(long, value_name = "token")]
    pub token: Option<String>,
    /// File with the certificate authority that signed the server's certificate. Overrides NOMAD_CACERT and -ca-path
    #[arg(long, value_name = "path", add = CompleteWith::ANY_FILE)]
    pub ca_cert: Option<String>,
    /// Directory with certificates of certificate authorities. Overrides NOMAD_CAPATH
    #[arg(long, value_name = "path", add = CompleteWith::DIRECTORIES)]
    pub ca_path: Option<String>,
    /// Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT
    #[arg(long, value_name = "path", add = CompleteWith::ANY_FILE)]
    pub client_cert: Option<String>,
    /// Key of the client certificate. Overrides NOMAD_CLIENT_KEY
    #[arg(long, value_name = "path", add = CompleteWith::ANY_FILE)]
    pub client_key: Option<String>,
    /// Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME
    #[arg(long, value_name = "name")]
    pub tls_server_name: Option<String>,
    /// Do not verify the server's certificate. NOMAD_SKIP_VERIFY does the same
    #[arg(long)]
    pub tls_skip_verify: bool,
    /// Alias of -tls-skip-verify
    #[arg(long)]
    pub insecure: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
}

/// The general flags of commands that contact no server: those of the connection are accepted, because scripts give them
/// to every command, and have no effect.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = GENERAL_OPTIONS)]
pub struct LocalFlags {
    #[arg(long = "address", hide = true)]
    _address: Option<String>,
    #[arg(long = "region", hide = true)]
    _region: Option<String>,
    #[arg(long = "namespace", hide = true, add = CompleteWith::Live(Objects::Namespaces))]
    _namespace: Option<String>,
    #[arg(long = "token", hide = true)]
    _token: Option<String>,
    #[arg(long = "ca-cert", hide = true, add = CompleteWith::ANY_FILE)]
    _ca_cert: Option<String>,
    #[arg(long = "ca-path", hide = true, add = CompleteWith::DIRECTORIES)]
    _ca_path: Option<String>,
    #[arg(long = "client-cert", hide = true, add = CompleteWith::ANY_FILE)]
    _client_cert: Option<String>,
    #[arg(long = "client-key", hide = true, add = CompleteWith::ANY_FILE)]
    _client_key: Option<String>,
    #[arg(long = "tls-server-name", hide = true)]
    _tls_server_name: Option<String>,
    #[arg(long = "tls-skip-verify", hide = true)]
    _tls_skip_verify: bool,
    #[arg(long = "insecure", hide = true)]
    _insecure: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
}

impl GeneralFlags {
    /// The namespace of the flag or the environment.
    pub fn namespace<'a>(&'a self, env: &'a Environment) -> Option<&'a str> {
        self.namespace.as_deref().filter(|n| !n.is_empty()).or_else(|| env.var("NOMAD_NAMESPACE"))
    }

    /// The namespace of a job: its own, or that of the flag or the environment.
    pub fn namespace_of<'a>(&'a self, job: &'a api::Job, env: &'a Environment) -> &'a str {
        let own = job.namespace.as_deref().filter(|n| !n.is_empty());
        own.or_else(|| self.namespace(env)).unwrap_or("default")
    }

    /// The region of the flag or the environment.
    pub fn region<'a>(&'a self, env: &'a Environment) -> Option<&'a str> {
        self.region.as_deref().filter(|r| !r.is_empty()).or_else(|| env.var("NOMAD_REGION"))
    }

    /// The namespace and region of a job that a client submits: those in the job, otherwise those of the flags or the
    /// environment. Jobs of the servers have the region of the servers.
    pub fn convert_options(&self, job: &api::Job, env: &Environment, state: &State) -> ConvertOptions {
        let own = |value: &Option<String>| value.clone().filter(|v| !v.is_empty());
        let region = state.jobs().map(|entry| entry.current.region.as_str()).find(|r| !r.is_empty());
        ConvertOptions {
            region: region.unwrap_or("global").into(),
            request_region: own(&job.region).or_else(|| self.region(env).map(String::from)),
            namespace: own(&job.namespace).or_else(|| self.namespace(env).map(String::from)),
        }
    }
}
