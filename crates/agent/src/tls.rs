//! The agent's TLS: of its HTTP and RPC ports and of its calls to other agents (`docs/spec/http-api.md §11`,
//! `docs/spec/agent-config.md §5.7`). A reload replaces all of it, or nothing.

use encamp_http::serve::listener::{TlsHandle, TlsMode};
use encamp_http::serve::tls::{self, TlsFiles};
use encamp_rpc::tls::{self as rpc, CallTls, CallTlsSettings};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::config::Config;
use super::config::server::Tls;

/// TLS settings that cannot be used, by the port that they are for. The texts name the file or the setting.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The HTTP port.
    #[error(transparent)]
    Http(#[from] tls::TlsError),
    /// The RPC port, and calls.
    #[error(transparent)]
    Rpc(#[from] rpc::TlsError),
}

/// TLS of a running agent.
pub struct AgentTls {
    /// The mode of the HTTP port.
    pub http: TlsHandle,
    /// The mode of the RPC port.
    pub rpc: TlsHandle,
    /// Calls to other agents, and the names that their certificates must have.
    pub calls: CallTls,
    /// What is in force.
    contents: Contents,
}

/// Settings that were read and are valid, but are not in force yet.
pub struct NewTls {
    http: TlsMode,
    rpc: TlsMode,
    calls: CallTlsSettings,
    contents: Contents,
}

/// The settings and the contents of the files, to find out whether they have changed.
#[derive(PartialEq)]
struct Contents {
    settings: Tls,
    region: String,
    /// SHA-256 of the authority, the certificate and the key; `None` for a file that cannot be read.
    files: [Option<[u8; 32]>; 3],
}

impl AgentTls {
    /// Begins with the settings of a configuration.
    ///
    /// # Errors
    /// The file or setting that is wrong.
    pub fn new(config: &Config) -> Result<AgentTls, TlsError> {
        let NewTls { http, rpc, calls, contents } = NewTls::read(config)?;
        let (http, rpc) = (TlsHandle::new(http), TlsHandle::new(rpc));
        Ok(AgentTls { http, rpc, calls: CallTls::new(calls), contents })
    }

    /// Puts settings in force for new connections; returns whether they differ from those before.
    pub fn set(&mut self, new: NewTls) -> bool {
        let NewTls { http, rpc, calls, contents } = new;
        // Otherwise every reload would cost all agents their connections.
        if contents == self.contents {
            return false;
        }
        self.http.set(http);
        self.rpc.set(rpc);
        self.calls.set(calls);
        self.contents = contents;
        true
    }
}

impl NewTls {
    /// Reads the files of a configuration.
    ///
    /// # Errors
    /// The file or setting that is wrong.
    pub fn read(config: &Config) -> Result<NewTls, TlsError> {
        // Before the files are used: if one changes meanwhile, the next reload finds a difference.
        let contents = Contents::read(config);
        let (t, files) = (&config.tls, tls_files(config));
        let http = if t.http { TlsMode::Tls(tls::server_config(&files)?) } else { TlsMode::Plain };
        let rpc = match (t.rpc, t.rpc_upgrade_mode) {
            (false, false) => TlsMode::Plain,
            (true, false) => TlsMode::Tls(rpc::server_config(&files)?),
            (_, true) => TlsMode::Either(rpc::server_config(&files)?),
        };
        let outgoing =
            if t.rpc { Some(rpc::client_config(&files, &config.region, t.verify_server_hostname)?) } else { None };
        let region = t.verify_server_hostname.then(|| config.region.clone());
        Ok(NewTls { http, rpc, calls: CallTlsSettings { outgoing, region }, contents })
    }
}

impl Contents {
    fn read(config: &Config) -> Contents {
        let t = &config.tls;
        let digest = |file: &String| std::fs::read(file).ok().map(|content| Sha256::digest(content).into());
        let files = [&t.ca_file, &t.cert_file, &t.key_file].map(digest);
        Contents { settings: t.clone(), region: config.region.clone(), files }
    }
}

fn tls_files(config: &Config) -> TlsFiles {
    let t = &config.tls;
    TlsFiles {
        ca: t.ca_file.clone(),
        cert: t.cert_file.clone(),
        key: t.key_file.clone(),
        verify_client: t.verify_https_client,
        min_version: t.tls_min_version.clone(),
        cipher_suites: t.tls_cipher_suites.clone(),
    }
}

/// The certificates with which the agent makes HTTP requests to other agents, whose certificates must have a name.
pub fn http_client_tls(config: &Config, server_name: String) -> encamp_api::Tls {
    let file = |path: &str| (config.tls.http && !path.is_empty()).then(|| path.into());
    encamp_api::Tls {
        ca_cert: file(&config.tls.ca_file),
        client_cert: file(&config.tls.cert_file),
        client_key: file(&config.tls.key_file),
        server_name: Some(server_name),
        ..encamp_api::Tls::default()
    }
}
