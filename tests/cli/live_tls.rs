//! TLS to running clusters: authorities, client certificates, server names.

use std::sync::Arc;

use crate::program::{Folder, run_with};
use crate::server::{Response, Server};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key.
    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new([name.to_string()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }
}

#[test]
fn certificates_are_checked_on_both_sides() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.issue("server.global.nomad");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(authority.0.der().to_vec())).unwrap();
    let clients = rustls::server::WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
    let config = rustls::ServerConfig::builder()
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    // A client that completes the handshake learns that the endpoint does not exist.
    let server = Server::with_tls(Arc::new(config), |_| Response::text(404, "gone"));

    let folder = Folder::new("live-tls");
    folder.file("job.hcl", "job \"a\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n");
    let (own, own_key) = authority.issue("client");
    let (wrong, wrong_key) = stranger.issue("client");
    folder.file("ca.pem", authority.0.pem());
    folder.file("other-ca.pem", stranger.0.pem());
    folder.file("own.pem", own.pem());
    folder.file("own-key.pem", own_key.serialize_pem());
    folder.file("wrong.pem", wrong.pem());
    folder.file("wrong-key.pem", wrong_key.serialize_pem());
    folder.file("text.pem", "no certificate");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    std::fs::copy(folder.path().join("ca.pem"), folder.path().join("folder/ca.pem")).unwrap();

    let plan = |flags: &str, env: &[(&str, &str)]| {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        let args = [&["job", "plan", "-remote", "-address", &server.address], &flags[..], &["job.hcl"]].concat();
        let ran = run_with(folder.path(), &args, env, None);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255));
        ran.stderr
    };
    let through = "Error during plan: Unexpected response code: 404 (gone)\n";
    let named = "-tls-server-name server.global.nomad";
    let mine = "-client-cert own.pem -client-key own-key.pem";
    assert_eq!(plan(&format!("-ca-cert ca.pem {mine} {named}"), &[]), through);
    assert_eq!(plan(&format!("-ca-path folder {mine} {named}"), &[]), through);
    assert_eq!(plan(&format!("{mine} -tls-skip-verify"), &[]), through);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (ca, cert, key) = (path("ca.pem"), path("own.pem"), path("own-key.pem"));
    let env = [
        ("NOMAD_CACERT", ca.as_str()),
        ("NOMAD_CLIENT_CERT", &cert),
        ("NOMAD_CLIENT_KEY", &key),
        ("NOMAD_TLS_SERVER_NAME", "server.global.nomad"),
    ];
    assert_eq!(plan("", &env), through);

    for flags in [
        format!("-ca-cert other-ca.pem {mine} {named}"),
        format!("-ca-cert ca.pem {mine}"),
        format!("-ca-cert ca.pem {named}"),
        format!("-ca-cert ca.pem {named} -client-cert wrong.pem -client-key wrong-key.pem"),
    ] {
        let said = plan(&flags, &[]);
        assert!(said.starts_with("Error during plan: Put \"https://127.0.0.1:"), "{flags}: {said}");
    }
    // Those of the machine, of which there may be none.
    let machine = |file: &str| [("SSL_CERT_FILE", path(file)), ("SSL_CERT_DIR", path("empty"))];
    let with_machine = |file: &str| {
        let env = machine(file);
        let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        plan(&format!("{mine} {named}"), &env)
    };
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(with_machine("ca.pem"), through);
    let missing = "no certificate authorities are installed on this machine; install the package ca-certificates";
    assert!(with_machine("text.pem").contains(missing), "{}", with_machine("text.pem"));
    assert!(!with_machine("other-ca.pem").contains(missing), "{}", with_machine("other-ca.pem"));

    for (flags, want) in [
        ("-ca-cert none.pem", "can't read "),
        ("-ca-cert text.pem", "contains no certificate in PEM format"),
        ("-client-cert own.pem", "has no key"),
        ("-client-key own-key.pem", "has no certificate"),
        ("-client-cert own.pem -client-key text.pem", "are not a certificate and key in PEM format"),
        ("-ca-path none", "can't read "),
    ] {
        let said = plan(flags, &[]);
        assert!(said.starts_with("Error initializing client: ") && said.contains(want), "{flags}: {said}");
    }
}
