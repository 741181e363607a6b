//! What outgoing HTTPS connections trust: the builder that every HTTP client of encamp starts from, and the explanation of
//! a connection that no certificate can make trusted. It depends on no other crate of encamp.

use std::error::Error;

use reqwest::{Certificate, ClientBuilder};

/// Trusts the certificate authorities of this machine. Machines without any, such as minimal containers, still get a
/// client for `http` addresses; `https` addresses fail at the handshake, as [`missing_authorities`] explains.
pub fn client_builder() -> ClientBuilder {
    client_builder_trusting(system_authorities())
}

/// Trusts these authorities alone; with none, for addresses that need no encryption.
pub fn client_builder_trusting(authorities: Vec<Certificate>) -> ClientBuilder {
    install_cryptography();
    ClientBuilder::new().tls_certs_only(authorities)
}

/// Makes *ring* the cryptography of this process, unless it has one.
pub fn install_cryptography() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Why an exchange failed: the innermost cause, which names no URL; what to do, if no certificate can be trusted here.
pub fn cause(error: &reqwest::Error) -> String {
    if let Some(explanation) = missing_authorities(error) {
        return explanation.into();
    }
    let inner = error.source().and_then(|inner| chain(inner).last());
    match inner {
        Some(innermost) => innermost.to_string(),
        None if error.is_timeout() => "timed out".into(),
        None => "the cause is not known".into(),
    }
}

/// What to do about a failed handshake on a machine that has no certificate authorities; nothing for other errors.
pub fn missing_authorities(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let unknown = tls_error(error).is_some_and(is_unknown_issuer);
    (unknown && !has_system_authorities()).then_some(
        "no certificate authorities are installed on this machine; install the package ca-certificates, or name a file \
         of certificates with SSL_CERT_FILE",
    )
}

/// The error of TLS behind an error.
pub fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    chain(error).find_map(|e| e.downcast_ref())
}

/// An error and its causes, the innermost last.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |e| source_of(*e))
}

/// The next error of a chain. I/O errors hide the error that they were made of.
fn source_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn is_unknown_issuer(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer))
}

/// Whether this machine has certificate authorities that can be used.
pub fn has_system_authorities() -> bool {
    !system_authorities().is_empty()
}

/// They are read anew each time: an agent that runs for months sees what an upgrade of the system brings.
fn system_authorities() -> Vec<Certificate> {
    let mut usable = rustls::RootCertStore::empty();
    // One certificate of a file that is of no use does not make the others useless.
    let certificates = rustls_native_certs::load_native_certs().certs.into_iter();
    let certificates = certificates.filter(|der| usable.add(der.clone()).is_ok());
    certificates.filter_map(|der| Certificate::from_der(&der).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_issuers_are_found_below_other_errors() {
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = std::io::Error::other(std::io::Error::other(unknown));
        assert!(tls_error(&wrapped).is_some_and(is_unknown_issuer));
        let expired = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert!(!is_unknown_issuer(&expired));
    }

    #[test]
    fn clients_are_made_without_authorities() {
        assert!(client_builder_trusting(Vec::new()).build().is_ok());
    }
}
