//! Reads the disks of allocations from the agents of other nodes (`docs/spec/client.md §9.3`), with the TLS settings of
//! this agent.

use std::time::Duration;

use encamp_api::stream::{ByteStream, RawRequest};
use encamp_api::{ApiError, Client};
use encamp_client::disk::{DiskBytes, DiskReads, ReadError};
use encamp_model::PreviousDisk;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use parking_lot::RwLock;

use super::Config;
use super::tls::http_client_tls;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an agent may send nothing; the first answer may wait for others that read from it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The agents of other nodes.
#[derive(Debug)]
pub struct Agents {
    /// How they are contacted, without address and token.
    config: RwLock<encamp_api::Config>,
}

impl Agents {
    /// The agents, contacted with the TLS settings of a configuration.
    pub fn new(config: &Config) -> Agents {
        Agents { config: RwLock::new(how(config)) }
    }

    /// New requests use other TLS settings.
    pub fn tls_changed(&self, config: &Config) {
        *self.config.write() = how(config);
    }

    async fn open(&self, disk: &PreviousDisk) -> Result<ByteStream, ApiError> {
        let scheme = if disk.tls_enabled { "https" } else { "http" };
        let address = format!("{scheme}://{}", disk.http_addr);
        let config = self.config.read().clone();
        let client = Client::new(encamp_api::Config { address, token: Some(disk.token.clone()), ..config })?;
        let request = RawRequest {
            path: encamp_api::path("/v1/client/allocation/", &disk.alloc_id, "/snapshot"),
            // Compression would hide where a transfer was cut off.
            headers: vec![("accept-encoding".into(), "identity".into())],
            ..RawRequest::default()
        };
        client.accepted(&request, false).await
    }
}

fn how(config: &Config) -> encamp_api::Config {
    let tls = http_client_tls(config, format!("client.{}.nomad", config.region));
    encamp_api::Config { tls, connect_timeout: CONNECT, read_timeout: PATIENCE, ..encamp_api::Config::default() }
}

impl DiskReads for Agents {
    fn read<'a>(&'a self, disk: &'a PreviousDisk) -> BoxFuture<'a, Result<DiskBytes, ReadError>> {
        Box::pin(async move {
            let opened = self.open(disk).await.map_err(wrong)?;
            let pieces = stream::unfold(Some(opened), |opened| async move {
                let mut opened = opened?;
                match opened.next().await {
                    Ok(None) => None,
                    Ok(Some(piece)) => Some((Ok(piece), Some(opened))),
                    Err(error) => Some((Err(wrong(error)), None)),
                }
            });
            Ok(pieces.boxed())
        })
    }
}

fn wrong(error: ApiError) -> ReadError {
    ReadError(Box::new(error))
}
