//! TLS between agents: both sides present a certificate of the cluster's authority (`docs/spec/http-api.md §11`,
//! `docs/spec/agent-config.md §5.7`).

use std::fmt::Display;
use std::sync::Arc;

use parking_lot::RwLock;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use encamp_http::serve::tls::{self, TlsFiles};

/// The protocol's name in handshakes.
const ALPN: &[u8] = b"h2";

/// Why TLS of the RPC port, or towards it, cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or a setting is wrong: the reason, which names it.
    #[error("{0}")]
    Settings(String),
    /// The region cannot be part of a DNS name.
    #[error("the region {0} cannot be part of a server name")]
    Region(String),
    /// The certificates of the authority cannot verify others.
    #[error("tls.ca_file {file}: {source}")]
    Authority {
        /// The file.
        file: String,
        /// The reason.
        source: VerifierBuilderError,
    },
    /// The versions of the protocol do not fit the ciphers.
    #[error("tls: {0}")]
    Versions(#[source] Error),
    /// The certificate and the key do not fit each other.
    #[error("tls.cert_file {cert} and tls.key_file {key} do not fit: {source}")]
    Certificate {
        /// The file of the certificate.
        cert: String,
        /// The file of the key.
        key: String,
        /// The reason.
        source: Error,
    },
}

/// Errors of settings that the HTTP interface has too.
fn settings(e: impl Display) -> TlsError {
    TlsError::Settings(e.to_string())
}

/// TLS of the RPC port. Certificates are always asked for.
///
/// # Errors
/// The file or setting that is wrong.
pub fn server_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let files = TlsFiles { verify_client: true, ..files.clone() };
    let mut config = ServerConfig::clone(&*tls::server_config(&files).map_err(settings)?);
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// TLS of calls: how they are made, and what is asked of callers.
#[derive(Debug, Default)]
pub struct CallTlsSettings {
    /// The settings of connections to servers, and the name that their certificates must have; `None` without TLS.
    pub outgoing: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// The region that certificates of callers must name (`tls.verify_server_hostname`); `None` if names do not count.
    pub region: Option<String>,
}

/// TLS of calls, which may change while the agent runs; clones share it.
#[derive(Debug, Clone, Default)]
pub struct CallTls(Arc<RwLock<Arc<CallTlsSettings>>>);

impl CallTls {
    /// Begins with settings.
    pub fn new(settings: CallTlsSettings) -> CallTls {
        CallTls(Arc::new(RwLock::new(Arc::new(settings))))
    }

    /// New settings, for new calls.
    pub fn set(&self, settings: CallTlsSettings) {
        *self.0.write() = Arc::new(settings);
    }

    pub(crate) fn get(&self) -> Arc<CallTlsSettings> {
        self.0.read().clone()
    }
}

/// The names in a certificate: its common names, then its DNS names, each once. Empty if it cannot be read.
pub fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let common = parsed.subject().iter_common_name().filter_map(|n| n.as_str().ok());
    let alternative = parsed.subject_alternative_name().ok().flatten();
    let alternative = alternative.into_iter().flat_map(|e| &e.value.general_names).filter_map(|n| match n {
        GeneralName::DNSName(name) => Some(*name),
        _ => None,
    });
    let mut names: Vec<String> = Vec::new();
    for name in common.chain(alternative) {
        if !names.iter().any(|n| n == name) {
            names.push(name.into());
        }
    }
    names
}

/// TLS towards servers of a region, and the name they must have. Without `verify_name` any certificate of the authority
/// is taken.
///
/// # Errors
/// The file or setting that is wrong.
pub fn client_config(
    files: &TlsFiles,
    region: &str,
    verify_name: bool,
) -> Result<(Arc<ClientConfig>, ServerName<'static>), TlsError> {
    let name = format!("server.{region}.nomad");
    let server_name = ServerName::try_from(name).map_err(|_| TlsError::Region(region.into()))?;
    let (provider, roots) = tls::authority(files).map_err(settings)?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let verifier = verifier.map_err(|source| TlsError::Authority { file: files.ca.clone(), source })?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(tls::versions(&files.min_version).map_err(settings)?)
        .map_err(TlsError::Versions)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(OfCluster { verifier, verify_name }));
    let (chain, key) = tls::own_certificate(files).map_err(settings)?;
    let (cert_file, key_file) = (files.cert.clone(), files.key.clone());
    let mut config = builder.with_client_auth_cert(chain, key).map_err(|source| TlsError::Certificate {
        cert: cert_file,
        key: key_file,
        source,
    })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok((Arc::new(config), server_name))
}

/// Takes certificates of the authority; whether their names count is a setting.
#[derive(Debug)]
struct OfCluster {
    verifier: Arc<WebPkiServerVerifier>,
    verify_name: bool,
}

impl ServerCertVerifier for OfCluster {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is verified last: the authority and the dates are valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.verify_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

    use super::*;
    use crate::calls::Ping;
    use crate::listener::{Handler, Http2, Peer};
    use crate::pool::{Pool, PoolSettings};
    use crate::wire;
    use axum::body::Body;
    use axum::http::{Request, Response};
    use encamp_http::serve::listener::{AcceptSettings, Listener, TlsHandle, TlsMode};
    use futures_util::future::BoxFuture;

    fn certificate(common: &str, alternative: &[&str]) -> CertificateDer<'static> {
        let names: Vec<String> = alternative.iter().map(|n| n.to_string()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, common);
        params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate").der().clone()
    }

    #[test]
    fn common_names_and_dns_names_count() {
        let found = names(&certificate("client.global.nomad", &["localhost", "server.global.nomad", "127.0.0.1"]));
        assert_eq!(found, ["client.global.nomad", "localhost", "server.global.nomad"]);
        assert_eq!(names(&certificate("a", &["a", "b"])), ["a", "b"]);
        assert_eq!(names(&CertificateDer::from(vec![0x30, 0x03, 1, 1])), [] as [String; 0]);
    }

    /// Tells the names that the caller has shown, or `plain`.
    struct Names;

    impl Handler for Names {
        fn answer(self: Arc<Self>, peer: Peer, _: Request<Body>) -> BoxFuture<'static, Response<Body>> {
            let names = peer.names.map_or_else(|| "plain".into(), |names| names.join(" "));
            Box::pin(async move { wire::response::<Ping>(Ok(names)) })
        }
    }

    /// The files of an agent in a new directory.
    fn files(name: &str) -> TlsFiles {
        let dir = std::env::temp_dir().join(format!("encamp-rpc-tls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_string()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        let own = params.signed_by(&key, &ca).expect("a certificate");
        let file = |file: &str, text: String| {
            let path = dir.join(file);
            std::fs::write(&path, text).expect("a file");
            path.display().to_string()
        };
        TlsFiles {
            ca: file("ca.pem", ca.pem()),
            cert: file("own.pem", own.pem()),
            key: file("own-key.pem", key.serialize_pem()),
            ..TlsFiles::default()
        }
    }

    #[tokio::test]
    async fn ports_and_calls_change_between_plain_and_tls() {
        let files = files("server.global.nomad");
        let mode = TlsHandle::default();
        let calls = CallTls::default();
        let listener = Listener::bind(&[([127, 0, 0, 1], 0).into()]).await.expect("a port");
        let address = listener.addresses()[0].to_string();
        let settings = AcceptSettings { tls: mode.clone(), ..AcceptSettings::default() };
        let serving = listener.serve(Arc::new(Http2(Arc::new(Names))), settings);
        let pool = Pool::new(PoolSettings { tls: calls.clone(), ..PoolSettings::default() });
        let plain = Pool::new(PoolSettings::default());
        let secure = || CallTlsSettings {
            outgoing: Some(client_config(&files, "global", true).expect("settings")),
            region: None,
        };

        assert_eq!(pool.call(&address, &Ping {}).await.as_deref(), Ok("plain"));
        mode.set(TlsMode::Either(server_config(&files).expect("settings")));
        assert_eq!(pool.call(&address, &Ping {}).await.as_deref(), Ok("plain"));
        calls.set(secure());
        assert_eq!(pool.call(&address, &Ping {}).await.as_deref(), Ok("server.global.nomad"));
        assert_eq!(plain.call(&address, &Ping {}).await.as_deref(), Ok("plain"));
        mode.set(TlsMode::Tls(server_config(&files).expect("settings")));
        assert_eq!(pool.call(&address, &Ping {}).await.as_deref(), Ok("server.global.nomad"));
        // The open connection ends, and no other one is accepted.
        let refused = async { while plain.call(&address, &Ping {}).await.is_ok() {} };
        tokio::time::timeout(std::time::Duration::from_secs(20), refused).await.expect("refused");
        mode.set(TlsMode::Plain);
        let served = async { while plain.call(&address, &Ping {}).await.is_err() {} };
        tokio::time::timeout(std::time::Duration::from_secs(20), served).await.expect("served");
        serving.stop().await;
        std::fs::remove_dir_all(std::path::Path::new(&files.ca).parent().expect("a directory")).expect("removed");
    }
}
