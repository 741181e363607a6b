//! `tls ca create`, `tls ca info` (`docs/spec/cli.md §15.5`).

use rcgen::{
    BasicConstraints, DistinguishedName, DnType, GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose, NameConstraints,
};

use super::files::write_pair;
use super::{NOMAD, dns_name, info, params, show};
use crate::prelude::*;

/// The object identifiers of parts of names that have no name of their own in rcgen.
const STREET_ADDRESS: [u64; 4] = [2, 5, 4, 9];
const POSTAL_CODE: [u64; 4] = [2, 5, 4, 17];

/// Create a certificate authority
///
/// Creates the certificate authority of a cluster in the current directory: the certificate <domain>-agent-ca.pem,
/// which all agents and operators get, and the key <domain>-agent-ca-key.pem, which signs certificates. Store the key
/// where no agent runs: whoever has it can create a certificate for a server. Existing files are not replaced. Contacts
/// no server.
#[derive(Debug, clap::Parser)]
pub struct TlsCaCreate {
    /// Domain that the authority may sign for besides -domain; may be repeated; needs -name-constraint
    #[arg(long, value_name = "domain")]
    pub additional_domain: Vec<String>,
    /// Common name of the authority; default: Nomad Agent CA and the serial number
    #[arg(long, value_name = "name")]
    pub common_name: Option<String>,
    /// Country of the authority
    #[arg(long, value_name = "code", default_value = "US")]
    pub country: String,
    /// Validity of the certificate in days
    #[arg(long, value_name = "days", default_value = "1825", value_parser = crate::flags::parse_int)]
    pub days: i64,
    /// Domain of the cluster; agents with verify_server_hostname only accept names in nomad
    #[arg(long, value_name = "domain", default_value = NOMAD)]
    pub domain: String,
    /// Locality of the authority
    #[arg(long, value_name = "name", default_value = "San Francisco")]
    pub locality: String,
    /// Restrict the authority to names in -domain, in -additional-domain, and localhost
    #[arg(long)]
    pub name_constraint: bool,
    /// Organization of the authority
    #[arg(long, value_name = "name", default_value = "HashiCorp Inc.")]
    pub organization: String,
    /// Organizational unit of the authority
    #[arg(long, value_name = "name", default_value = "Nomad")]
    pub organizational_unit: String,
    /// Postal code of the authority
    #[arg(long, value_name = "code", default_value = "94105")]
    pub postal_code: String,
    /// Province of the authority
    #[arg(long, value_name = "name", default_value = "CA")]
    pub province: String,
    /// Street address of the authority
    #[arg(long, value_name = "address", default_value = "101 Second Street")]
    pub street_address: String,
}

impl Run for TlsCaCreate {
    const META: Meta = Meta::new("tls ca create").offline_examples(&[
        ("Create the certificate authority of a cluster", "encamp tls ca create"),
        (
            "Create one that is valid for a year and only signs for two domains",
            "encamp tls ca create -days 365 -name-constraint \\
    -domain example.com -additional-domain nomad \\
    -common-name 'Example CA'",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.additional_domain.is_empty() && !self.name_constraint {
            return context.usage_error("-additional-domain needs -name-constraint");
        }
        let created = self.create(context);
        context.end(created)
    }
}

impl TlsCaCreate {
    fn create(&self, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        dns_name("domain", &self.domain)?;
        self.additional_domain.iter().try_for_each(|d| dns_name("additional-domain", d))?;
        let (mut params, serial) = params(context.clock().now, self.days)?;
        params.distinguished_name = self.name(serial);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        if self.name_constraint {
            let mut domains = vec![self.domain.clone(), "localhost".into()];
            domains.extend(self.additional_domain.iter().cloned());
            params.name_constraints = Some(NameConstraints {
                permitted_subtrees: domains.into_iter().map(GeneralSubtree::DnsName).collect(),
                excluded_subtrees: Vec::new(),
            });
        }
        let key = KeyPair::generate().context("The key cannot be created")?;
        let certificate = params.self_signed(&key).context("The certificate cannot be created")?;
        let [certificate_file, key_file] = file_names(&self.domain);
        let key = key.serialize_pem().into();
        write_pair(&context.env.directory, (&certificate_file, &certificate.pem()), (&key_file, &key))?;
        context.ui.output(&format!("==> CA certificate saved to: {certificate_file}"));
        context.ui.output(&format!("==> CA certificate key saved to: {key_file}"));
        Ok(0)
    }

    fn name(&self, serial: u128) -> DistinguishedName {
        let common = self.common_name.clone().unwrap_or_else(|| format!("Nomad Agent CA {serial}"));
        let mut name = DistinguishedName::new();
        for (kind, value) in [
            (DnType::CountryName, &self.country),
            (DnType::StateOrProvinceName, &self.province),
            (DnType::LocalityName, &self.locality),
            (DnType::CustomDnType(STREET_ADDRESS.into()), &self.street_address),
            (DnType::CustomDnType(POSTAL_CODE.into()), &self.postal_code),
            (DnType::OrganizationName, &self.organization),
            (DnType::OrganizationalUnitName, &self.organizational_unit),
            (DnType::CommonName, &common),
        ] {
            if !value.is_empty() {
                name.push(kind, value.as_str());
            }
        }
        name
    }
}

/// The files of the authority of a domain: certificate and key.
pub(super) fn file_names(domain: &str) -> [String; 2] {
    [format!("{domain}-agent-ca.pem"), format!("{domain}-agent-ca-key.pem")]
}

/// Show the certificate of an authority
///
/// Shows what the certificate of an authority says. The argument is a file in PEM format. Contacts no server.
#[derive(Debug, clap::Parser)]
pub struct TlsCaInfo {
    #[arg(value_name = "file", add = CompleteWith::PEM_FILES)]
    pub(crate) file: String,
}

impl Run for TlsCaInfo {
    const META: Meta = Meta::new("tls ca info").offline_examples(&[
        ("Show the certificate of the authority", "encamp tls ca info nomad-agent-ca.pem"),
        ("Show for which domains an authority signs", "encamp tls ca info example.com-agent-ca.pem"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let shown = info::of_authority(&context.env.directory, &self.file);
        show(context, shown)
    }
}
