//! A certificate authority, read from its files: it signs certificates.

use std::path::Path;

use rcgen::{CertificateParams, Issuer, KeyPair};
use thiserror::Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::files::{self, FileError};

/// The frame of a key on the curve P-256 in PKCS #8, before the length and the bytes of the key as of RFC 5915.
const P256: [u8; 24] = [
    0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
    0xce, 0x3d, 0x03, 0x01, 0x07,
];

/// An authority that cannot sign a certificate.
#[derive(Debug, Error)]
pub(super) enum AuthorityError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The certificate is damaged.
    #[error("{0} contains no valid certificate")]
    Certificate(String),
    /// The certificate may not sign others.
    #[error("{0} is not the certificate of an authority")]
    NoAuthority(String),
    /// The key is damaged or of an unknown kind.
    #[error(
        "{0} contains no usable private key: ECDSA keys on P-256 and P-384, Ed25519 and RSA keys (PKCS #8) are supported"
    )]
    Key(String),
    /// Key and certificate do not fit.
    #[error("{key} is not the key of the certificate {certificate}")]
    Mismatch {
        /// The file of the certificate.
        certificate: String,
        /// The file of the key.
        key: String,
    },
    /// The authority may not sign for a name.
    #[error("{authority} only signs for the domains {}, not for {name:?}", domains.join(", "))]
    Forbidden {
        /// The file of the authority.
        authority: String,
        /// The domains.
        domains: Vec<String>,
        /// The name.
        name: String,
    },
    /// Signing fails.
    #[error("the certificate cannot be signed: {0}")]
    Sign(#[from] rcgen::Error),
}

/// An authority with its key.
#[derive(Debug)]
pub(super) struct Authority {
    file: String,
    issuer: Issuer<'static, KeyPair>,
    /// The domains that it may sign for; `None` for all.
    domains: Option<Vec<String>>,
}

impl Authority {
    /// Reads the files.
    pub(super) fn read(directory: &Path, certificate: &str, key: &str) -> Result<Authority, AuthorityError> {
        let der = files::certificate(directory, certificate)?;
        let invalid = || AuthorityError::Certificate(certificate.into());
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| invalid())?;
        // rcgen panics on empty parts of names.
        if !parsed.is_ca() || parsed.subject().iter().any(|part| part.iter().next().is_none()) {
            return Err(AuthorityError::NoAuthority(certificate.into()));
        }
        let pair = pair(&files::key(directory, key)?).ok_or_else(|| AuthorityError::Key(key.into()))?;
        if parsed.public_key().subject_public_key.data.as_ref() != pair.public_key_raw() {
            return Err(AuthorityError::Mismatch { certificate: certificate.into(), key: key.into() });
        }
        let domains = permitted_domains(&parsed);
        let issuer = Issuer::from_ca_cert_der(&der.as_slice().into(), pair).map_err(|_| invalid())?;
        Ok(Authority { file: certificate.into(), issuer, domains })
    }

    /// Signs a certificate; gives it in PEM format. `names` are its DNS names.
    pub(super) fn sign(
        &self,
        params: &CertificateParams,
        names: &[String],
        key: &KeyPair,
    ) -> Result<String, AuthorityError> {
        if let Some(domains) = &self.domains {
            let below = |name: &str, domain: &str| {
                name == domain || domain.is_empty() || name.strip_suffix(domain).is_some_and(|n| n.ends_with('.'))
            };
            if let Some(name) = names.iter().find(|n| !domains.iter().any(|d| below(n, d))) {
                let domains = domains.clone();
                return Err(AuthorityError::Forbidden { authority: self.file.clone(), domains, name: name.clone() });
            }
        }
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }
}

/// The DNS domains that an authority may sign for; `None` for all.
pub(super) fn permitted_domains(certificate: &X509Certificate<'_>) -> Option<Vec<String>> {
    let constraints = certificate.name_constraints().ok().flatten()?.value;
    let subtrees = constraints.permitted_subtrees.as_ref()?;
    let domains = subtrees.iter().filter_map(|s| match &s.base {
        GeneralName::DNSName(name) => Some(name.to_string()),
        _ => None,
    });
    Some(domains.collect::<Vec<_>>()).filter(|d| !d.is_empty())
}

/// The key of a file. Nomad writes keys in the format of RFC 5915 (`EC PRIVATE KEY`).
fn pair(pem: &x509_parser::pem::Pem) -> Option<KeyPair> {
    if pem.label != "EC PRIVATE KEY" {
        return KeyPair::try_from(pem.contents.as_slice()).ok();
    }
    let inner = tagged(0x04, &pem.contents)?;
    KeyPair::try_from(tagged(0x30, &[&P256[..], &inner].concat())?.as_slice()).ok()
}

/// Bytes with a tag and their length before them, in DER.
fn tagged(tag: u8, content: &[u8]) -> Option<Vec<u8>> {
    let length = u8::try_from(content.len()).ok()?;
    let head = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
    Some([head.as_slice(), content].concat())
}
