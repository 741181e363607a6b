//! `tls ca` and `tls cert`: certificates and their files, compared with recorded runs (`tests/oracle/cli` 334-338).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

use crate::oracle;
use crate::program::{Folder, Ran, run_in};

/// A recorded run.
struct Recorded {
    args: Vec<String>,
    stdout: String,
    stderr: String,
    exit: i32,
}

fn recorded(name: &str) -> Option<Recorded> {
    let text = oracle::text(&format!("cli/{name}.txt"))?;
    let (command, rest) = text.split_once('\n').expect("a command");
    let (output, exit) = rest.rsplit_once("[exit ").expect("an exit code");
    let (stdout, stderr) = output.split_once("[stderr]\n").unwrap_or((output, ""));
    Some(Recorded {
        args: command.split(' ').skip(2).map(String::from).collect(),
        stdout: stdout.into(),
        stderr: stderr.into(),
        exit: exit.trim_end().trim_end_matches(']').parse().expect("a number"),
    })
}

/// Serial numbers and times differ between runs; columns keep their places.
fn comparable(output: &str) -> String {
    let serial = Regex::new(r"\b\d{30,}\b").expect("a pattern");
    let time = Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC").expect("a pattern");
    time.replace_all(&serial.replace_all(output, "<serial>"), "<time>").into_owned()
}

fn run(folder: &Folder, args: &str) -> Ran {
    run_in(folder.path(), &args.split(' ').collect::<Vec<_>>())
}

/// Runs a command that succeeds; gives its output.
fn done(folder: &Folder, args: &str) -> String {
    let ran = run(folder, args);
    assert_eq!(ran.exit, 0, "{args}: {ran:?}");
    ran.stdout
}

/// Runs a command that fails; gives its error.
fn refused(folder: &Folder, args: &str) -> String {
    let ran = run(folder, args);
    assert_eq!((ran.exit, ran.stdout.as_str()), (1, ""), "{args}: {ran:?}");
    ran.stderr
}

/// The value of a row of the table of a certificate.
fn row(table: &str, title: &str) -> String {
    let line = table.lines().find_map(|l| l.strip_prefix(title));
    line.unwrap_or_else(|| panic!("no {title}: {table}")).trim().into()
}

#[test]
fn recorded_runs_print_the_same() {
    let folder = Folder::new("tls-recorded");
    for name in [
        "334-tls-ca-create",
        "335-tls-cert-create-server",
        "336-tls-cert-create-none",
        "337-tls-ca-info",
        "338-tls-cert-info",
    ] {
        let Some(wanted) = recorded(name) else { continue };
        let ran = run_in(folder.path(), &wanted.args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(comparable(&ran.stdout), comparable(&wanted.stdout), "{name}");
        assert_eq!((ran.stderr, ran.exit), (wanted.stderr, wanted.exit), "{name}");
    }
}

#[test]
fn keys_are_readable_by_their_owner_alone_and_no_file_is_replaced() {
    let folder = Folder::new("tls-files");
    done(&folder, "tls ca create");
    for kind in ["server", "client", "cli"] {
        done(&folder, &format!("tls cert create -{kind} -region eu"));
    }
    let mut before = Vec::new();
    for stem in ["nomad-agent-ca", "eu-server-nomad", "eu-client-nomad", "eu-cli-nomad"] {
        let read = |name: &str| {
            let path = folder.path().join(name);
            let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
            (fs::read_to_string(path).expect("a text"), mode)
        };
        let ((certificate, _), (key, mode)) = (read(&format!("{stem}.pem")), read(&format!("{stem}-key.pem")));
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"), "{certificate}");
        assert!(key.starts_with("-----BEGIN PRIVATE KEY-----") && !certificate.contains("PRIVATE"));
        assert_eq!(mode, 0o600, "{stem}");
        before.push((format!("{stem}-key.pem"), key));
    }
    let exists = |file: &str| format!("{file} already exists: remove it, or change to another directory\n");
    assert_eq!(refused(&folder, "tls ca create"), exists("nomad-agent-ca.pem"));
    let again = run(&folder, "tls cert create -client -region eu");
    assert_eq!((again.exit, again.stderr), (1, exists("eu-client-nomad.pem")));
    // A key alone stops it, too, and no certificate remains.
    fs::remove_file(folder.path().join("eu-client-nomad.pem")).expect("a file");
    let again = run(&folder, "tls cert create -client -region eu");
    assert_eq!((again.exit, again.stderr), (1, exists("eu-client-nomad-key.pem")));
    assert!(!folder.path().join("eu-client-nomad.pem").exists());
    for (name, key) in before {
        assert_eq!(fs::read_to_string(folder.path().join(&name)).expect("a key"), key, "{name}");
    }
}

#[test]
fn flags_determine_what_certificates_say() {
    let folder = Folder::new("tls-flags");
    let ca = run_in(
        folder.path(),
        &[
            "tls",
            "ca",
            "create",
            "-common-name",
            "Ours, Inc.",
            "-country",
            "DE",
            "-locality",
            "Köln",
            "-province",
            "",
            "-street-address",
            "",
            "-postal-code",
            "",
            "-organization",
            "Ours",
            "-organizational-unit",
            "IT",
            "-domain",
            "example.com",
            "-name-constraint",
            "-additional-domain",
            "nomad",
            "-days",
            "10",
        ],
    );
    assert_eq!(ca.exit, 0, "{ca:?}");
    let table = done(&folder, "tls ca info example.com-agent-ca.pem");
    assert_eq!(row(&table, "Issuer CN"), "Ours, Inc.");
    assert_eq!(row(&table, "Common Name"), "CN=Ours\\, Inc.,OU=IT,O=Ours,L=Köln,C=DE");
    assert_eq!(row(&table, "Permitted DNS Domains"), "[example.com localhost nomad]");

    // Agents that check names would reject that one, and the command says so.
    let ran = run(&folder, "tls cert create -client -domain example.com -region eu");
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert!(ran.stderr.contains("Agents with verify_server_hostname reject this certificate"), "{}", ran.stderr);
    assert!(ran.stderr.contains("-additional-dnsname client.eu.nomad"), "{}", ran.stderr);
    let made = "tls cert create -client -domain example.com -additional-dnsname client.global.nomad \
                -additional-dnsname *.web.example.com -additional-ipaddress 10.0.0.1 -additional-ipaddress ::1";
    let ran = run(&folder, made);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let table = done(&folder, "tls cert info global-client-example.com.pem");
    assert_eq!(row(&table, "Common Name"), "CN=client.global.example.com");
    let names = "[client.global.example.com localhost client.global.nomad *.web.example.com]";
    assert_eq!(row(&table, "DNS Names"), names);
    assert_eq!(row(&table, "IP Addresses"), "[127.0.0.1 10.0.0.1 ::1]");
    let cli = run(&folder, "tls cert create -cli -domain example.com");
    assert_eq!((cli.exit, cli.stderr.as_str()), (0, ""), "{cli:?}");
    assert!(cli.stdout.contains("==> Cli Certificate saved to global-cli-example.com.pem\n"), "{}", cli.stdout);
    assert!(cli.stdout.contains("==> CLI Certificate key saved to global-cli-example.com-key.pem\n"), "{}", cli.stdout);
    let table = done(&folder, "tls cert info global-cli-example.com.pem");
    assert_eq!(row(&table, "IP Addresses"), "[]");

    let forbidden = refused(&folder, "tls cert create -cli -domain example.com -region x -additional-dnsname evil.org");
    let want =
        "example.com-agent-ca.pem only signs for the domains example.com, localhost, nomad, not for \"evil.org\"\n";
    assert_eq!(forbidden, want);
}

#[test]
fn what_cannot_work_is_refused_and_leaves_no_files() {
    let folder = Folder::new("tls-refused");
    let other = Folder::new("tls-other");
    done(&folder, "tls ca create");
    done(&other, "tls ca create");
    let ours = fs::read(other.path().join("nomad-agent-ca-key.pem")).expect("a key");
    folder.file("other-key.pem", ours);
    folder.file("text.pem", "no certificate");
    folder.file("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    folder.file("damaged-key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    done(&folder, "tls cert create -cli -region leaf");
    let files = || fs::read_dir(folder.path()).expect("a directory").count();
    let before = files();
    for (args, want) in [
        ("tls ca create -days 0 -domain x", "-days must be a number from 1 to 365000, not 0"),
        ("tls ca create -domain ../x", "-domain: \"../x\" is not a DNS name"),
        ("tls ca create -domain y -additional-domain z", "-additional-domain needs -name-constraint"),
        ("tls ca create x", "This command takes no arguments"),
        ("tls cert create -server -client", "Please provide either -server, -client, or -cli\n"),
        ("tls cert create -cli -region a/b", "-region: \"a/b\" is not a DNS name"),
        ("tls cert create -cli -days -1", "-days must be a number from 1 to 365000, not -1"),
        ("tls cert create -cli -additional-ipaddress x", "-additional-ipaddress: \"x\" is not an IP address"),
        ("tls cert create -cli -domain nowhere", "nowhere-agent-ca.pem cannot be read: "),
        ("tls cert create -cli -ca text.pem", "text.pem contains no certificate in PEM format"),
        ("tls cert create -cli -ca damaged.pem", "damaged.pem contains no valid certificate"),
        ("tls cert create -cli -key text.pem", "text.pem contains no private key in PEM format"),
        ("tls cert create -cli -key damaged-key.pem", "damaged-key.pem contains no usable private key"),
        (
            "tls cert create -cli -key other-key.pem",
            "other-key.pem is not the key of the certificate nomad-agent-ca.pem",
        ),
        ("tls cert create -cli -ca leaf-cli-nomad.pem", "leaf-cli-nomad.pem is not the certificate of an authority"),
        ("tls ca info", "This command takes one argument: <file>"),
        ("tls ca info none.pem", "none.pem cannot be read: "),
        ("tls cert info text.pem", "text.pem contains no certificate in PEM format"),
        ("tls cert info damaged.pem", "damaged.pem contains no valid certificate"),
    ] {
        let said = refused(&folder, args);
        assert!(said.starts_with(want), "{args}: {said}");
    }
    assert_eq!(files(), before);
}

/// Nomad writes keys as `EC PRIVATE KEY`.
#[test]
fn an_authority_of_nomad_signs_certificates() {
    let folder = Folder::new("tls-sec1");
    done(&folder, "tls ca create");
    let path = folder.path().join("nomad-agent-ca-key.pem");
    let pem = fs::read_to_string(&path).expect("a key");
    let text: String = pem.lines().filter(|l| !l.starts_with("-----")).collect();
    let der = STANDARD.decode(text).expect("base64");
    // Version, algorithm and the head of the octet string stand before the key itself.
    let inner = der.get(29..).filter(|inner| inner.starts_with(&[0x30])).expect("a key on P-256");
    fs::write(
        &path,
        format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", STANDARD.encode(inner)),
    )
    .expect("a file");
    done(&folder, "tls cert create -client");
    assert_eq!(
        row(&done(&folder, "tls cert info global-client-nomad.pem"), "Issuer CN"),
        row(&done(&folder, "tls ca info nomad-agent-ca.pem"), "Issuer CN")
    );
}
