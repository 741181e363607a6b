//! `tls cert create`, `tls cert info` (`docs/spec/cli.md §15.5`).

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType};

use super::authority::Authority;
use super::files::write_pair;
use super::{NOMAD, ca, dns_name, info, params, show};
use crate::prelude::*;

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Server,
    Client,
    Cli,
}

impl Kind {
    /// In file names and DNS names.
    fn name(self) -> &'static str {
        match self {
            Kind::Server => "server",
            Kind::Client => "client",
            Kind::Cli => "cli",
        }
    }

    /// In the messages about the certificate and about its key.
    fn titles(self) -> [&'static str; 2] {
        match self {
            Kind::Server => ["Server", "Server"],
            Kind::Client => ["Client", "Client"],
            Kind::Cli => ["Cli", "CLI"],
        }
    }

    /// Whether it is that of an agent, which accepts connections and makes them.
    fn of_agent(self) -> bool {
        match self {
            Kind::Server | Kind::Client => true,
            Kind::Cli => false,
        }
    }
}

/// Create a certificate
///
/// Creates a certificate for a server, a client or an operator in the current directory, signed by the authority of the
/// cluster: the certificate <region>-<kind>-<domain>.pem and its key <region>-<kind>-<domain>-key.pem. The certificate
/// names <kind>.<region>.<domain> and localhost; agents with verify_server_hostname only accept names in the domain
/// nomad. Existing files are not replaced. Contacts no server.
#[derive(Debug, clap::Parser)]
pub struct TlsCertCreate {
    /// Additional DNS name of the certificate; may be repeated
    #[arg(long, value_name = "name")]
    pub additional_dnsname: Vec<String>,
    /// Additional IP address of the certificate; may be repeated
    #[arg(long, value_name = "ip")]
    pub additional_ipaddress: Vec<String>,
    /// Certificate of the authority; default: <domain>-agent-ca.pem
    #[arg(long, value_name = "file", add = CompleteWith::PEM_FILES)]
    pub ca: Option<String>,
    /// Create a certificate for an operator's commands
    #[arg(long)]
    pub cli: bool,
    /// Create a certificate for a client node
    #[arg(long)]
    pub client: bool,
    /// Validity of the certificate in days
    #[arg(long, value_name = "days", default_value = "365", value_parser = crate::flags::parse_int)]
    pub days: i64,
    /// Domain of the cluster; agents with verify_server_hostname only accept names in nomad
    #[arg(long, value_name = "domain", default_value = NOMAD)]
    pub domain: String,
    /// Key of the authority; default: <domain>-agent-ca-key.pem
    #[arg(long, value_name = "file", add = CompleteWith::PEM_FILES)]
    pub key: Option<String>,
    /// Region of the agent
    #[arg(long, value_name = "region", default_value = "global")]
    pub region: String,
    /// Create a certificate for a server
    #[arg(long)]
    pub server: bool,
}

impl Run for TlsCertCreate {
    const META: Meta = Meta::new("tls cert create").offline_examples(&[
        ("Create a certificate for the servers of a region", "encamp tls cert create -server -region global"),
        (
            "Create a certificate for a node that is also contacted by other names",
            "encamp tls cert create -client -region west \\
    -additional-dnsname node1.example.com \\
    -additional-ipaddress 10.0.0.21",
        ),
        ("Create a certificate for an operator's commands", "encamp tls cert create -cli"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let kind = match (self.server, self.client, self.cli) {
            (true, false, false) => Kind::Server,
            (false, true, false) => Kind::Client,
            (false, false, true) => Kind::Cli,
            _ => return context.failure("Please provide either -server, -client, or -cli"),
        };
        let created = self.create(kind, context);
        context.end(created)
    }
}

impl TlsCertCreate {
    fn create(&self, kind: Kind, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        dns_name("domain", &self.domain)?;
        dns_name("region", &self.region)?;
        // A wildcard stands for one label.
        let plain = |name: &str| dns_name("additional-dnsname", name.strip_prefix("*.").unwrap_or(name));
        self.additional_dnsname.iter().try_for_each(|n| plain(n))?;
        let [ca_file, ca_key] = ca::file_names(&self.domain);
        let (ca_file, ca_key) = (self.ca.clone().unwrap_or(ca_file), self.key.clone().unwrap_or(ca_key));
        let common = format!("{}.{}.{}", kind.name(), self.region, self.domain);
        let mut names = vec![common.clone(), "localhost".into()];
        names.extend(self.additional_dnsname.iter().cloned());

        let (mut params, _) = params(context.clock().now, self.days)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, common.as_str());
        let dns = names.iter().map(|n| Ok(SanType::DnsName(n.as_str().try_into()?)));
        let dns = dns.collect::<Result<Vec<_>, rcgen::Error>>().context("The certificate cannot be created")?;
        params.subject_alt_names =
            dns.into_iter().chain(self.addresses(kind)?.into_iter().map(SanType::IpAddress)).collect();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if kind.of_agent() {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }

        let authority = Authority::read(&context.env.directory, &ca_file, &ca_key)?;
        let key = KeyPair::generate().context("The key cannot be created")?;
        let certificate = authority.sign(&params, &names, &key)?;
        let stem = format!("{}-{}-{}", self.region, kind.name(), self.domain);
        let (certificate_file, key_file) = (format!("{stem}.pem"), format!("{stem}-key.pem"));
        let key = key.serialize_pem().into();
        if kind == Kind::Server {
            context.ui.warn(
                "==> WARNING: Server Certificates grants authority to become a\n    \
                 server and access all state in the cluster including root keys\n    \
                 and all ACL tokens. Do not distribute them to production hosts\n    \
                 that are not server nodes. Store them as securely as CA keys.",
            );
        }
        self.warn_of_domain(kind, &names, context);
        context.ui.output(&format!("==> Using CA file {ca_file} and CA key {ca_key}"));
        write_pair(&context.env.directory, (&certificate_file, &certificate), (&key_file, &key))?;
        let [title, key_title] = kind.titles();
        context.ui.output(&format!("==> {title} Certificate saved to {certificate_file}"));
        context.ui.output(&format!("==> {key_title} Certificate key saved to {key_file}"));
        Ok(0)
    }

    /// The IP addresses of the certificate.
    fn addresses(&self, kind: Kind) -> CommandResult<Vec<IpAddr>> {
        let mut addresses = Vec::new();
        if kind.of_agent() {
            addresses.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        for text in &self.additional_ipaddress {
            let invalid = |_| CommandError::new(format!("-additional-ipaddress: {text:?} is not an IP address"));
            addresses.push(text.parse().map_err(invalid)?);
        }
        Ok(addresses)
    }

    /// Warns if agents that check names would reject the certificate.
    fn warn_of_domain(&self, kind: Kind, names: &[String], context: &mut Context<'_, '_>) {
        let needed = format!("{}.{}.{NOMAD}", kind.name(), self.region);
        if kind.of_agent() && !names.contains(&needed) {
            context.ui.warn(&format!(
                "==> WARNING: Agents with verify_server_hostname reject this certificate:\n    \
                 they only accept {needed}. Use -domain {NOMAD}, or add\n    \
                 -additional-dnsname {needed}."
            ));
        }
    }
}

/// Show a certificate
///
/// Shows what a certificate says. The argument is a file in PEM format. Contacts no server.
#[derive(Debug, clap::Parser)]
pub struct TlsCertInfo {
    #[arg(value_name = "file", add = CompleteWith::PEM_FILES)]
    pub(crate) file: String,
}

impl Run for TlsCertInfo {
    const META: Meta = Meta::new("tls cert info").offline_examples(&[
        (
            "Show the names and the expiry date of a server's certificate",
            "encamp tls cert info global-server-nomad.pem",
        ),
        ("Show those of an operator's certificate", "encamp tls cert info global-cli-nomad.pem"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let shown = info::of_certificate(&context.env.directory, &self.file);
        show(context, shown)
    }
}
