//! TLS of listeners, from the configured files (`docs/spec/http-api.md §11`).

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

/// The TLS settings of a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authority of client certificates.
    pub ca: String,
    /// The certificate, with those that signed it.
    pub cert: String,
    /// Its key.
    pub key: String,
    /// Whether clients must show a certificate.
    pub verify_client: bool,
    /// `tls12`, `tls13`, or empty for the default.
    pub min_version: String,
    /// Names of cipher suites separated by commas; empty for all.
    pub cipher_suites: String,
}

/// Why TLS settings can't be used. Errors name the file or setting, never its content.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file has to be named.
    #[error("tls.{setting} must be given when TLS is on")]
    Missing {
        /// The name of the setting.
        setting: &'static str,
    },
    /// A file holds nothing of use.
    #[error("tls.{setting} {file} {problem}")]
    File {
        /// The name of the setting.
        setting: &'static str,
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: FileProblem,
    },
    /// The certificates of the authority can't verify others.
    #[error("tls.ca_file {file}: {problem}")]
    Authority {
        /// Their file.
        file: String,
        /// What is wrong with them.
        problem: AuthorityProblem,
    },
    /// The certificate is not that of the key.
    #[error("tls.cert_file {cert} and tls.key_file {key} do not fit: {source}")]
    Mismatch {
        /// The file of the certificate.
        cert: String,
        /// The file of the key.
        key: String,
        /// The reason.
        source: rustls::Error,
    },
    /// A protocol version that may not be used any more.
    #[error("tls_min_version {0} is no longer safe: use tls12 or tls13")]
    UnsafeVersion(String),
    /// A protocol version that does not exist.
    #[error("tls_min_version {0} is not known: use tls12 or tls13")]
    UnknownVersion(String),
    /// A cipher suite that is not there.
    #[error("tls_cipher_suites: {suite} is not supported; known are {}", known.join(", "))]
    UnknownSuite {
        /// Its name.
        suite: String,
        /// The names of those that are there.
        known: Vec<String>,
    },
    /// The settings contradict each other.
    #[error("tls: {0}")]
    Settings(#[source] rustls::Error),
}

/// What is wrong with a file of the TLS settings.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// The system refuses to read it.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// It holds no certificate.
    #[error("contains no certificate in PEM format")]
    NoCertificate,
    /// It holds nothing of the wanted kind.
    #[error("contains no matching PEM data")]
    NoItem,
    /// It is damaged, or of another format.
    #[error("is not in PEM format")]
    NotPem,
}

/// What is wrong with the certificates of an authority.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityProblem {
    /// One of them is invalid.
    #[error(transparent)]
    Certificate(#[from] rustls::Error),
    /// Nothing can be verified with them.
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
}

/// Reads the files.
///
/// # Errors
/// The file or setting that is wrong.
pub fn server_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(provider(&files.cipher_suites)?);
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions(&files.min_version)?);
    let builder = builder.map_err(TlsError::Settings)?;
    let builder = if files.verify_client {
        let (provider, roots) = authority(files)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
        builder.with_client_cert_verifier(verifier.map_err(|e| wrong_authority(files, e))?)
    } else {
        builder.with_no_client_auth()
    };
    let (chain, key) = own_certificate(files)?;
    let mismatch = |source| TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone(), source };
    let mut config = builder.with_single_cert(chain, key).map_err(mismatch)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The cryptography of the settings, and the certificates of the authority.
///
/// # Errors
/// The file or setting that is wrong.
pub fn authority(files: &TlsFiles) -> Result<(Arc<CryptoProvider>, RootCertStore), TlsError> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(&files.ca, "ca_file")? {
        roots.add(cert).map_err(|e| wrong_authority(files, e))?;
    }
    Ok((Arc::new(provider(&files.cipher_suites)?), roots))
}

fn wrong_authority(files: &TlsFiles, problem: impl Into<AuthorityProblem>) -> TlsError {
    TlsError::Authority { file: files.ca.clone(), problem: problem.into() }
}

/// The agent's own certificate, with those that signed it, and its key.
///
/// # Errors
/// The file or setting that is wrong.
pub fn own_certificate(files: &TlsFiles) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates(&files.cert, "cert_file")?;
    let key = PrivateKeyDer::from_pem_file(Path::new(&files.key)).map_err(|e| wrong("key_file", &files.key, e))?;
    Ok((chain, key))
}

fn certificates(file: &str, setting: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    if file.is_empty() {
        return Err(TlsError::Missing { setting });
    }
    let failed = |e| wrong(setting, file, e);
    let all = CertificateDer::pem_file_iter(Path::new(file)).map_err(failed)?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if all.is_empty() {
        return Err(TlsError::File { setting, file: file.into(), problem: FileProblem::NoCertificate });
    }
    Ok(all)
}

fn wrong(setting: &'static str, file: &str, e: pem::Error) -> TlsError {
    let problem = match e {
        pem::Error::Io(e) => FileProblem::Unreadable(e),
        pem::Error::NoItemsFound => FileProblem::NoItem,
        _ => FileProblem::NotPem,
    };
    TlsError::File { setting, file: file.into(), problem }
}

/// TLS 1.3 alone.
static ONLY_13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// The protocol versions from the least one that is allowed.
///
/// # Errors
/// A version that is unknown or no longer safe.
pub fn versions(min: &str) -> Result<&'static [&'static SupportedProtocolVersion], TlsError> {
    match min.to_ascii_lowercase().as_str() {
        "" | "tls12" => Ok(rustls::DEFAULT_VERSIONS),
        "tls13" => Ok(ONLY_13),
        "tls10" | "tls11" => Err(TlsError::UnsafeVersion(min.into())),
        _ => Err(TlsError::UnknownVersion(min.into())),
    }
}

/// The suites that are named, and those of TLS 1.3, which are always there.
fn provider(suites: &str) -> Result<CryptoProvider, TlsError> {
    let mut provider = rustls::crypto::ring::default_provider();
    let names: Vec<String> = suites.split(',').map(|s| s.trim().to_uppercase()).filter(|s| !s.is_empty()).collect();
    if names.is_empty() {
        return Ok(provider);
    }
    // Names may end with the hash that their suite implies.
    let fits = |wanted: &str, suite: &str| wanted == suite || suite.strip_suffix("_SHA256") == Some(wanted);
    let known: Vec<String> =
        provider.cipher_suites.iter().filter_map(|s| s.suite().as_str().map(String::from)).collect();
    if let Some(other) = names.iter().find(|n| !known.iter().any(|k| fits(n, k))) {
        return Err(TlsError::UnknownSuite { suite: other.clone(), known });
    }
    provider.cipher_suites.retain(|s| {
        let name = s.suite().as_str().unwrap_or_default();
        name.starts_with("TLS13_") || names.iter().any(|n| fits(n, name))
    });
    Ok(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_named() {
        let base = TlsFiles { cert: "/nosuch/cert.pem".into(), key: "/nosuch/key.pem".into(), ..TlsFiles::default() };
        for (files, want) in [
            (base.clone(), "tls.cert_file /nosuch/cert.pem cannot be read"),
            (TlsFiles { cert: String::new(), ..base.clone() }, "tls.cert_file must be given when TLS is on"),
            (TlsFiles { verify_client: true, ..base.clone() }, "tls.ca_file must be given when TLS is on"),
            (TlsFiles { min_version: "tls11".into(), ..base.clone() }, "tls_min_version tls11 is no longer safe"),
            (TlsFiles { min_version: "x".into(), ..base.clone() }, "tls_min_version x is not known"),
            (
                TlsFiles { cipher_suites: "TLS_NOPE".into(), ..base.clone() },
                "tls_cipher_suites: TLS_NOPE is not supported",
            ),
        ] {
            let error = server_config(&files).map(|_| ()).expect_err(want).to_string();
            assert!(error.starts_with(want), "{error}");
        }
    }

    #[test]
    fn suites_are_restricted_to_those_named() {
        let all = provider("").expect("suites").cipher_suites.len();
        let some =
            provider("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305").expect("suites");
        assert!(some.cipher_suites.len() < all);
        assert_eq!(some.cipher_suites.iter().filter(|s| s.tls13().is_none()).count(), 2);
    }
}
