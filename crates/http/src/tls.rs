//! TLS of listeners, from the configured files (`docs/spec/http-api.md §11`).

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
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

/// Reads the files. Errors name the file or setting, never its content.
pub fn server_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(provider(&files.cipher_suites)?);
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions(&files.min_version)?);
    let builder = builder.map_err(|e| format!("tls: {e}"))?;
    let builder = if files.verify_client {
        let (provider, roots) = authority(files)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
        builder.with_client_cert_verifier(verifier.map_err(|e| format!("tls.ca_file {}: {e}", files.ca))?)
    } else {
        builder.with_no_client_auth()
    };
    let (chain, key) = own_certificate(files)?;
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|e| format!("tls.cert_file {} and tls.key_file {} do not fit: {e}", files.cert, files.key))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The cryptography of the settings, and the certificates of the authority.
///
/// # Errors
/// The file or setting that is wrong.
pub fn authority(files: &TlsFiles) -> Result<(Arc<CryptoProvider>, RootCertStore), String> {
    let mut roots = RootCertStore::empty();
    for cert in certificates(&files.ca, "ca_file")? {
        roots.add(cert).map_err(|e| format!("tls.ca_file {}: {e}", files.ca))?;
    }
    Ok((Arc::new(provider(&files.cipher_suites)?), roots))
}

/// The agent's own certificate, with those that signed it, and its key.
///
/// # Errors
/// The file or setting that is wrong.
pub fn own_certificate(files: &TlsFiles) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let chain = certificates(&files.cert, "cert_file")?;
    let key = PrivateKeyDer::from_pem_file(Path::new(&files.key)).map_err(|e| wrong("key_file", &files.key, &e))?;
    Ok((chain, key))
}

fn certificates(file: &str, setting: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    if file.is_empty() {
        return Err(format!("tls.{setting} must be given when TLS is on"));
    }
    let failed = |e| wrong(setting, file, &e);
    let all = CertificateDer::pem_file_iter(Path::new(file)).map_err(failed)?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if all.is_empty() { Err(format!("tls.{setting} {file} contains no certificate in PEM format")) } else { Ok(all) }
}

fn wrong(setting: &str, file: &str, e: &rustls::pki_types::pem::Error) -> String {
    use rustls::pki_types::pem::Error;
    match e {
        Error::Io(e) => format!("tls.{setting} {file} cannot be read: {e}"),
        Error::NoItemsFound => format!("tls.{setting} {file} contains no matching PEM data"),
        _ => format!("tls.{setting} {file} is not in PEM format"),
    }
}

/// TLS 1.3 alone.
static ONLY_13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// The protocol versions from the least one that is allowed.
///
/// # Errors
/// A version that is unknown or no longer safe.
pub fn versions(min: &str) -> Result<&'static [&'static SupportedProtocolVersion], String> {
    match min.to_ascii_lowercase().as_str() {
        "" | "tls12" => Ok(rustls::DEFAULT_VERSIONS),
        "tls13" => Ok(ONLY_13),
        "tls10" | "tls11" => Err(format!("tls_min_version {min} is no longer safe: use tls12 or tls13")),
        _ => Err(format!("tls_min_version {min} is not known: use tls12 or tls13")),
    }
}

/// The suites that are named, and those of TLS 1.3, which are always there.
fn provider(suites: &str) -> Result<CryptoProvider, String> {
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
        return Err(format!("tls_cipher_suites: {other} is not supported; known are {}", known.join(", ")));
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
            let error = server_config(&files).map(|_| ()).expect_err(want);
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
