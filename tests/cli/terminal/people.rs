//! Messages for people, on a terminal and not through a pipe: what to do about failed requests and unknown
//! commands, warnings in whole words, the constraints behind ineligible classes, eligible nodes of system jobs.

use std::path::Path;
use std::sync::Arc;

use encamp_cli::command::Registry;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;

use crate::answers::mistakes::answering;
use crate::program::{Folder, run_in, run_with};
use crate::server::{Response, Server};
use crate::terminal::screen::Size;
use crate::terminal::{encamp, encamp_with};

const TALL: Size = Size { columns: 100, rows: 70 };
const NARROW: Size = Size { columns: 80, rows: 70 };
const NOBODY: &str = "http://127.0.0.1:1";

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn demo(name: &str) -> Folder {
    let folder = Folder::new(name);
    for file in ["cluster.json", "trainer-fails.hcl", "exporter-system.hcl", "api-destructive.hcl"] {
        folder.file(file, fixture(file));
    }
    folder
}

/// Commands that need a cluster, and whether they can read a snapshot instead.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["job", "plan", "api-destructive.hcl"], true),
    (&["what-if", "-down=dc=dc1"], true),
    (&["capacity", "api-destructive.hcl"], true),
    (&["node", "drain", "-plan", "n1"], true),
    (&["status"], false),
    (&["job", "status"], false),
    (&["job", "run", "-detach", "api-destructive.hcl"], false),
    (&["job", "stop", "api"], false),
    (&["node", "status"], false),
    (&["alloc", "status", "aaaaaaaa"], false),
    (&["eval", "list"], false),
    (&["deployment", "list"], false),
    (&["namespace", "list"], false),
    (&["node", "pool", "list"], false),
    (&["server", "members"], false),
    (&["var", "list"], false),
    (&["acl", "token", "self"], false),
    (&["operator", "raft", "list-peers"], false),
    (&["volume", "status"], false),
    (&["snapshot", "fetch", "-out=s.json"], false),
];

/// Runs all commands against the address, on a terminal and through a pipe. Those whose error names the problem come
/// with what to do; reading a whole cluster has advice of its own about tokens.
fn advised(address: &str, problem: &str, wanted: &str) {
    advised_with(&[], address, problem, wanted);
}

/// The same, with these environment variables.
fn advised_with(env: &[(&str, &str)], address: &str, problem: &str, wanted: &str) {
    let folder = demo("people-advice");
    let on_terminal = [&[("TERM", "xterm-256color")], env].concat();
    let mut met = 0;
    for (args, _) in COMMANDS {
        let piped = run_with(folder.path(), args, &[&[("NOMAD_ADDR", address)], env].concat(), None);
        if !piped.stderr.contains(problem) {
            continue;
        }
        met += 1;
        let ended = encamp_with(TALL, &folder, address, &on_terminal, args).ends();
        let text = ended.contents.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(wanted), "{args:?}:\n{}", ended.contents);
        assert!(!piped.stderr.contains(wanted), "{args:?}: {piped:?}");
        assert_eq!(piped.exit, ended.code(), "{args:?}");
    }
    assert!(met >= COMMANDS.len() - 6, "{met} commands have the problem {problem:?}");
}

#[test]
fn failed_requests_come_with_what_to_do() {
    advised(NOBODY, "connection refused", "No agent answers at http://127.0.0.1:1.");
    let folder = demo("people-snapshot");
    for (args, reads_files) in COMMANDS {
        let shown = encamp(TALL, &folder, NOBODY, args).ends().contents;
        assert_eq!(shown.contains("-snapshot=FILE"), *reads_files, "{args:?}:\n{shown}");
        assert!(shown.contains("encamp agent -dev") && shown.contains("NOMAD_ADDR"), "{args:?}:\n{shown}");
    }
    let denied = Server::start(|_| Response::text(403, "Permission denied"));
    advised(&denied.address, "403", "Use a token that may do it, with -token or NOMAD_TOKEN.");
    let locked = Server::start(|_| Response::text(401, "Unauthorized"));
    advised(&locked.address, "401", "set NOMAD_HTTP_AUTH=user:password");
    // TLS on the one side only.
    let plain = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    advised(&format!("https://{plain}"), "it does not use TLS", &format!("try -address=http://{plain}"));
}

#[test]
fn certificates_that_are_not_accepted_come_with_what_to_do() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["elsewhere".to_string()]).unwrap().self_signed(&key).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = config
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let server = Server::with_tls(Arc::new(config), |_| Response::text(404, "gone"));
    // Other authorities than those of this machine, which may have none.
    let other = CertificateParams::new(["authority".to_string()]).unwrap().self_signed(&key).unwrap();
    let folder = Folder::new("people-authorities");
    for (name, authorities, problem) in [
        ("other.pem", other.pem(), "invalid peer certificate"),
        ("none.pem", String::new(), "no certificate authorities are installed on this machine"),
    ] {
        folder.file(name, authorities);
        let path = folder.path().join(name).display().to_string();
        let advice = "The certificate of the agent is not accepted.";
        advised_with(&[("SSL_CERT_FILE", &path)], &server.address, problem, advice);
    }
}

#[test]
fn unknown_commands_are_named() {
    let folder = Folder::new("people-unknown");
    let registry = Registry::new();
    let groups: Vec<&str> = registry.groups().map(|(name, _)| name).collect();
    let words = ["rollout", "qqqqqq", "xyzzyx"];
    for group in std::iter::once("").chain(groups) {
        for word in words {
            let args: Vec<&str> = group.split(' ').filter(|w| !w.is_empty()).chain([word]).collect();
            let ended = encamp(TALL, &folder, NOBODY, &args).ends();
            let named = format!("There is no command \"{}\"", args.join(" "));
            assert!(ended.contents.contains(&named), "{args:?}:\n{}", ended.contents);
            assert_ne!(ended.code(), 0, "{args:?}");
        }
    }
    let shown = encamp(TALL, &folder, NOBODY, &["rollout"]).ends().contents;
    assert!(shown.contains("Did you mean \"job plan -rollout\"?"), "{shown}");
    let piped = run_in(folder.path(), &["rollout"]);
    assert_eq!((piped.stderr.as_str(), piped.exit), ("", 127));
}

/// A word is what stands between blanks. Those longer than the screen are broken by the terminal.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| word.len() < NARROW.columns.into()).collect()
}

#[test]
fn messages_are_not_broken_within_words() {
    let folder = demo("people-wrapped");
    folder.file("not-a-snapshot", "Terraform used the selected providers to generate the following plan.");
    folder.file("cluster.txt", "{\"Version\": 9}");
    folder.file(
        "warned.hcl",
        "job \"warned\" {\n  type = \"service\"\n  datacenters = [\"*\"]\n  group \"g\" {\n    count = 1\n    network {\n      \
         port \"http\" {}\n    }\n    task \"t\" {\n      driver = \"docker\"\n      config {\n        image = \"i\"\n      \
         }\n      resources {\n        network {\n          mbits = 10\n        }\n      }\n    }\n  }\n}\n",
    );
    let lines: &[&[&str]] = &[
        &["job", "plan", "-snapshot=not-a-snapshot", "trainer-fails.hcl"],
        &["job", "plan", "-snapshot=cluster.txt", "trainer-fails.hcl"],
        &["job", "plan", "-snapshot=none.json", "trainer-fails.hcl"],
        &["job", "plan", "-snapshot=cluster.json", "cluster.json"],
        &["job", "plan", "-remote", "-explain", "trainer-fails.hcl"],
        &["job", "plan", "-fail-on=evicted", "-snapshot=cluster.json", "trainer-fails.hcl"],
        &["job", "plan", "-at=noon", "-snapshot=cluster.json", "trainer-fails.hcl"],
        &["job", "plan", "-snapshot=cluster.json", "warned.hcl"],
        &["job", "validate", "-snapshot=cluster.json", "warned.hcl"],
        &["job", "plan", "-snapshot=cluster.json", "-drain=nowhere", "trainer-fails.hcl"],
        &["what-if", "-snapshot=cluster.json", "-scale=api"],
        &["capacity", "-snapshot=cluster.json", "-survive=moon", "trainer-fails.hcl"],
        &["acl", "login", "-oidc-callback-addr=x"],
        &["plan", "show", "cluster.json"],
        &["node", "drain", "-plan", "-snapshot=cluster.json", "nowhere"],
        &["context", "use", "nowhere"],
    ];
    let mut wrapped = 0;
    for args in lines {
        let piped = run_in(folder.path(), args);
        let ended = encamp(NARROW, &folder, NOBODY, args).ends();
        let shown: Vec<&str> = ended.contents.split_whitespace().collect();
        for line in piped.stderr.lines() {
            let all = words(line).into_iter().all(|word| shown.contains(&word));
            assert!(all, "{args:?}: {line}\n{}", ended.contents);
            wrapped += usize::from(line.len() > usize::from(NARROW.columns));
        }
    }
    assert!(wrapped >= 6, "{wrapped} long lines");
}

#[test]
fn ineligible_classes_come_with_their_constraints() {
    let folder = demo("people-classes");
    let constraints = [
        "${attr.cuda.version} version >= 99.0",
        "${attr.kernel.name} = plan9",
        "${node.class} = nowhere",
        "${node.datacenter} != dc1",
        "${meta.rack} is_set ",
        "${attr.cpu.arch} regexp ^mips",
        "${attr.driver.docker} set_contains 9",
        "${node.pool} = none",
    ];
    let (mut named, mut hidden) = (0, 0);
    for count in 1..=constraints.len() {
        // All of the first ones, and each alone.
        for chosen in [&constraints[..count], &constraints[count - 1..count]] {
            let blocks: Vec<String> = chosen
                .iter()
                .map(|c| {
                    let parts: Vec<&str> = c.splitn(3, ' ').collect();
                    format!(
                        "    constraint {{\n      attribute = \"{}\"\n      operator = \"{}\"\n      value = \"{}\"\n    }}\n",
                        parts[0], parts[1], parts[2]
                    )
                })
                .collect();
            let job = format!(
                "job \"j\" {{\n  datacenters = [\"*\"]\n  node_pool = \"all\"\n  group \"g\" {{\n{}    task \"t\" {{\n      \
                 driver = \"docker\"\n      config {{\n        image = \"i\"\n      }}\n    }}\n  }}\n}}\n",
                blocks.concat()
            );
            folder.file("job.hcl", job);
            let args = ["job", "plan", "-snapshot=cluster.json", "-diff=false", "job.hcl"];
            let piped = run_in(folder.path(), &args).stdout;
            let mark = "Constraint \"computed class ineligible\": ";
            let Some(line) = piped.lines().find(|line| line.contains(mark)) else { continue };
            assert!(line.ends_with("nodes excluded by filter"), "{line}");
            hidden += 1;
            let ended = encamp(Size { columns: 400, rows: 60 }, &folder, NOBODY, &args).ends();
            let shown = ended.contents.lines().find(|line| line.contains(mark)).expect("the line").to_string();
            let (_, reasons) = shown.split_once("excluded by filter (").unwrap_or_else(|| panic!("{shown}"));
            // What is named are the reasons that an explanation of every node gives, besides those counted openly.
            let explained = run_in(folder.path(), &[&args[..4], &["-json-output", "-explain", "job.hcl"]].concat());
            let explained: serde_json::Value = serde_json::from_str(&explained.stdout).expect("JSON");
            let metric = &explained["FailedTGAllocs"]["g"]["ConstraintFiltered"];
            let mut total = 0;
            for reason in explained["Explanation"]["Groups"][0]["Filtered"].as_array().expect("reasons") {
                let text = reason["Reason"].as_str().unwrap();
                let nodes = reason["Nodes"].as_i64().unwrap() - metric[text].as_i64().unwrap_or(0);
                assert_eq!(reasons.contains(&format!("{text:?}")), nodes > 0, "{text}: {shown}");
                total += nodes;
            }
            assert_eq!(Some(total), metric["computed class ineligible"].as_i64(), "{shown}");
            named += 1;
        }
    }
    assert!(named >= 8 && named == hidden, "{named} of {hidden}");
}

#[test]
fn eligible_nodes_of_system_jobs_are_not_called_allocations() {
    let folder = demo("people-system");
    let job = fixture("exporter-system.hcl");
    let registered = fixture("registered/exporter.hcl");
    let cases = [
        ("image", job.clone()),
        ("unchanged", registered.clone()),
        ("priority", registered.replace("priority    = 80", "priority    = 81")),
        ("new", job.replace("job \"exporter\"", "job \"other\"")),
        ("fewer", job.replace("datacenters = [\"*\"]", "datacenters = [\"dc1\"]")),
        ("new in one", job.replace("job \"exporter\"", "job \"other\"").replace("[\"*\"]", "[\"dc2\"]")),
    ];
    let mut seen = 0;
    for (name, text) in cases {
        folder.file("system.hcl", text);
        let args = ["job", "plan", "-snapshot=cluster.json", "system.hcl"];
        let plan = run_in(folder.path(), &[&args[..3], &["-json-output", "system.hcl"]].concat());
        let plan: serde_json::Value = serde_json::from_str(&plan.stdout).expect("JSON");
        let group = &plan["Annotations"]["DesiredTGUpdates"]["node"];
        let eligible = group["Place"].as_u64().unwrap_or(0);
        let shown = encamp(TALL, &folder, NOBODY, &args).ends().contents;
        let piped = run_in(folder.path(), &args).stdout;
        assert!(!piped.contains("eligible node"), "{name}: {piped}");
        if eligible == 0 {
            continue;
        }
        assert!(piped.contains(&format!("{eligible} create")), "{name}: {piped}");
        // An allocation is new if it replaces none.
        let placed =
            run_in(folder.path(), &[&args[..3], &["-placements", "-verbose", "-diff=false", "system.hcl"]].concat());
        let table = placed.stdout.split("\nPlacements\n").nth(1).unwrap_or_default();
        let new = table.lines().filter(|line| line.split_whitespace().nth(3) == Some("-")).count();
        let want = format!("({eligible} eligible node{}; {new} to create", if eligible == 1 { "" } else { "s" });
        assert!(shown.contains(&want), "{name}: {want}\n{shown}");
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
}
