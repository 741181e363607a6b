//! TLS between agents: both sides present a certificate of the cluster's authority (`docs/spec/http-api.md §11`,
//! `docs/spec/agent-config.md §5.7`).

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};

use encamp_http::tls::{self, TlsFiles};

/// The protocol's name in handshakes.
const ALPN: &[u8] = b"h2";

/// TLS of the RPC port. Certificates are always asked for.
///
/// # Errors
/// The file or setting that is wrong.
pub fn server_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, String> {
    let mut config = ServerConfig::clone(&*tls::server_config(&TlsFiles { verify_client: true, ..files.clone() })?);
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// The DNS names in a certificate.
pub fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let parsed = webpki::EndEntityCert::try_from(certificate);
    parsed.map_or_else(|_| Vec::new(), |c| c.valid_dns_names().map(str::to_string).collect())
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
) -> Result<(Arc<ClientConfig>, ServerName<'static>), String> {
    let name = format!("server.{region}.nomad");
    let server_name = ServerName::try_from(name.clone())
        .map_err(|_| format!("the region {region} cannot be part of a server name"))?;
    let (provider, roots) = tls::authority(files)?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let verifier = verifier.map_err(|e| format!("tls.ca_file {}: {e}", files.ca))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(tls::versions(&files.min_version)?)
        .map_err(|e| format!("tls: {e}"))?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(OfCluster { verifier, verify_name }));
    let (chain, key) = tls::own_certificate(files)?;
    let mut config = builder
        .with_client_auth_cert(chain, key)
        .map_err(|e| format!("tls.cert_file {} and tls.key_file {} do not fit: {e}", files.cert, files.key))?;
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
