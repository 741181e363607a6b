//! Certificates for agents.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use crate::program::Folder;

/// Signs the certificates of a cluster.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    #[expect(clippy::new_without_default, reason = "each authority is another one")]
    pub fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority"))
    }

    /// Puts a certificate of that name into a folder; gives the configuration that uses it.
    pub fn configure(&self, folder: &Folder, name: &str) -> String {
        self.configure_names(folder, name, name)
    }

    /// Puts a certificate with a common name and a DNS name into a folder; gives the configuration that uses it.
    pub fn configure_names(&self, folder: &Folder, common: &str, alternative: &str) -> String {
        let mut params = CertificateParams::new([alternative.to_string()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, common);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        folder.file("ca.pem", self.0.pem());
        folder.file("own.pem", certificate.pem());
        folder.file("own-key.pem", key.serialize_pem());
        "tls {\n  rpc = true\n  ca_file = \"ca.pem\"\n  cert_file = \"own.pem\"\n  key_file = \"own-key.pem\"\n  \
         verify_server_hostname = true\n}\n"
            .into()
    }
}
