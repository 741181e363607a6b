//! Certificates, keys and the server name of a connection.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use reqwest::{Certificate, ClientBuilder, Identity, Url};

use super::config::Tls;

/// Applies the settings; the URL gets the name the certificate has to have.
pub(crate) fn apply(mut builder: ClientBuilder, tls: &Tls, url: &mut Url) -> Result<ClientBuilder, String> {
    let authorities = authorities(tls)?;
    if !authorities.is_empty() {
        builder = builder.tls_certs_only(authorities);
    }
    match (&tls.client_cert, &tls.client_key) {
        (Some(cert), Some(key)) => {
            let mut pem = read(cert)?;
            pem.push(b'\n');
            pem.extend(read(key)?);
            let identity = Identity::from_pem(&pem)
                .map_err(|_| format!("{} and {} are not a certificate and key in PEM format", show(cert), show(key)))?;
            builder = builder.identity(identity);
        }
        (None, None) => {}
        (Some(cert), None) => return Err(format!("the client certificate {} has no key", show(cert))),
        (None, Some(key)) => return Err(format!("the client key {} has no certificate", show(key))),
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
fn rename(builder: ClientBuilder, name: &str, url: &mut Url) -> Result<ClientBuilder, String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_string();
    let port = url.port_or_known_default().unwrap_or(443);
    let addresses = (host.as_str(), port).to_socket_addrs().map_err(|e| format!("can't look up {host}: {e}"))?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    url.set_host(Some(name)).map_err(|e| format!("{name:?} is not a valid server name: {e}"))?;
    Ok(builder.resolve_to_addrs(name, &addresses))
}

fn authorities(tls: &Tls) -> Result<Vec<Certificate>, String> {
    if let Some(file) = &tls.ca_cert {
        return certificates(file);
    }
    let Some(folder) = &tls.ca_path else { return Ok(Vec::new()) };
    let entries = fs::read_dir(folder).map_err(|e| format!("can't read {}: {e}", show(folder)))?;
    let mut files: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_file()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        all.extend(certificates(&file)?);
    }
    if all.is_empty() { Err(format!("no certificates are in {}", show(folder))) } else { Ok(all) }
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, String> {
    let none = || format!("{} contains no certificate in PEM format", show(file));
    let found = Certificate::from_pem_bundle(&read(file)?).map_err(|_| none())?;
    if found.is_empty() { Err(none()) } else { Ok(found) }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|e| format!("can't read {}: {e}", show(file)))
}

fn show(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}
