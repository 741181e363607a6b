//! Certificates, keys and the server name of a connection.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fs, io};

use reqwest::{Certificate, ClientBuilder, Identity, Url};

use super::config::Tls;

/// Why a file or a name of the TLS settings can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file or a directory can't be read.
    #[error("can't read {}: {source}", show(path))]
    Read {
        /// The file or the directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of certificates of authorities holds none.
    #[error("{} contains no certificate in PEM format", show(.0))]
    NoCertificate(PathBuf),
    /// A directory of certificates of authorities holds none.
    #[error("no certificates are in {}", show(.0))]
    NoCertificates(PathBuf),
    /// The client's certificate and key are not PEM.
    #[error("{} and {} are not a certificate and key in PEM format", show(cert), show(key))]
    Identity {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The client has a certificate and no key.
    #[error("the client certificate {} has no key", show(.0))]
    NoKey(PathBuf),
    /// The client has a key and no certificate.
    #[error("the client key {} has no certificate", show(.0))]
    NoClientCertificate(PathBuf),
    /// The host of an address has no known IP address.
    #[error("can't look up {host}: {source}")]
    LookUp {
        /// The host.
        host: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The name that the server's certificate has to have is no host name.
    #[error("{name:?} is not a valid server name: {source}")]
    ServerName {
        /// The name.
        name: String,
        /// What is wrong with it.
        source: <Url as FromStr>::Err,
    },
}

/// A client of a server at this URL; the URL gets the name the certificate has to have.
pub(crate) fn builder(tls: &Tls, url: &mut Url) -> Result<ClientBuilder, TlsError> {
    let authorities = authorities(tls)?;
    // The authorities of the machine take longer to read than a command takes: only where they are of use.
    let mut builder = match authorities.is_empty() && url.scheme() == "https" {
        true => encamp_tls::client_builder(),
        false => encamp_tls::client_builder_trusting(authorities),
    };
    match (&tls.client_cert, &tls.client_key) {
        (Some(cert), Some(key)) => {
            let mut pem = read(cert)?;
            pem.push(b'\n');
            pem.extend(read(key)?);
            let identity =
                Identity::from_pem(&pem).map_err(|_| TlsError::Identity { cert: cert.clone(), key: key.clone() })?;
            builder = builder.identity(identity);
        }
        (None, None) => {}
        (Some(cert), None) => return Err(TlsError::NoKey(cert.clone())),
        (None, Some(key)) => return Err(TlsError::NoClientCertificate(key.clone())),
    }
    if tls.skip_verify {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    match tls.server_name.as_deref().filter(|name| url.host_str() != Some(*name)) {
        Some(name) => rename(builder, name, url),
        None => Ok(builder),
    }
}

/// The address stays that of the URL's host, whatever its name is now.
fn rename(builder: ClientBuilder, name: &str, url: &mut Url) -> Result<ClientBuilder, TlsError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_string();
    let port = url.port_or_known_default().unwrap_or(443);
    let addresses = match (host.as_str(), port).to_socket_addrs() {
        Ok(addresses) => addresses.collect::<Vec<SocketAddr>>(),
        Err(source) => return Err(TlsError::LookUp { host, source }),
    };
    url.set_host(Some(name)).map_err(|source| TlsError::ServerName { name: name.to_string(), source })?;
    Ok(builder.resolve_to_addrs(name, &addresses))
}

fn authorities(tls: &Tls) -> Result<Vec<Certificate>, TlsError> {
    if let Some(file) = &tls.ca_cert {
        return certificates(file);
    }
    let Some(folder) = &tls.ca_path else { return Ok(Vec::new()) };
    let entries = fs::read_dir(folder).map_err(unreadable(folder))?;
    let mut files: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_file()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        all.extend(certificates(&file)?);
    }
    if all.is_empty() { Err(TlsError::NoCertificates(folder.clone())) } else { Ok(all) }
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, TlsError> {
    let none = || TlsError::NoCertificate(file.to_path_buf());
    let found = Certificate::from_pem_bundle(&read(file)?).map_err(|_| none())?;
    if found.is_empty() { Err(none()) } else { Ok(found) }
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(file).map_err(unreadable(file))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> TlsError {
    move |source| TlsError::Read { path: path.to_path_buf(), source }
}

fn show(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
