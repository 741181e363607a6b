//! Markers in the place of every secret of an agent, and a search for them in everything that it writes, answers and
//! shows: logs at the lowest level, errors, metrics, events, `ps`, environments, profiles, exports, the audit log, and
//! the files of the data directory.
//!
//! Secrets are where they have to be, and nowhere else: see [`HOMES`].

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{KeyPair, PublicKeyData};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value as Json, json};

use crate::agent::{Agent, PATIENCE, Reply, call_as, wait_for};
use crate::program::{self, Folder, Ran, run_for};

const ROOT: &str = "5ec2e7aa-0000-4000-8000-0000a0000001";
const UNKNOWN: &str = "5ec2e7aa-0000-4000-8000-0000a0000002";
const MALFORMED: &str = "marker-malformed-token";
const IN_BODIES: &str = "marker-in-a-wrong-body";
const IN_VARIABLES: &str = "marker-in-a-variable";
const IN_LOGINS: &str = "marker-in-a-login";
const IN_QUERIES: &str = "marker-in-a-query";
const INTRODUCTION: &str = "marker.introduction.token";
const REPLICATION: &str = "marker-replication-token";
const NOTIFICATION: &str = "marker-notification-key";
const CLIENT_SECRET: &str = "marker-oidc-client-secret";
const OF_AGENT: &str = "marker-token-of-the-agents-environment";

/// Where secrets are below the data directory, and why. Nobody but the agent's user, or the task of a secret, can read
/// these.
const HOMES: &[(&str, &str)] = &[
    ("server/", "the log and the snapshots of the server's state; its root keys, and the keys of gossip"),
    ("client/", "the node's own state: its secret, and the environments of tasks that it adopts after a restart"),
    ("alloc/", "only the directory of secrets of the task itself"),
    ("audit/hmac.key", "the key of the hashes"),
];

/// All secrets, by what they are.
#[derive(Default)]
struct Secrets(BTreeMap<String, String>);

impl Secrets {
    fn add(&mut self, what: &str, secret: &str) {
        assert!(secret.len() >= 16, "{what}: {secret:?} may be found by chance");
        self.0.insert(what.into(), secret.into());
    }

    /// What is in a text that should not be there.
    fn found_in(&self, bytes: &[u8]) -> Vec<&str> {
        let holds = |secret: &str| bytes.windows(secret.len()).any(|w| w == secret.as_bytes());
        self.0.iter().filter(|(_, secret)| holds(secret)).map(|(what, _)| what.as_str()).collect()
    }

    fn absent(&self, place: &str, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let found = self.found_in(text);
        assert!(found.is_empty(), "{place} holds {found:?}: {}", self.around(text));
    }

    /// The text around the first secret.
    fn around(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let at = self.0.values().filter_map(|secret| text.find(secret.as_str())).min().unwrap_or(0);
        let from = text.floor_char_boundary(at.saturating_sub(300));
        text[from..text.ceil_char_boundary((at + 300).min(text.len()))].to_string()
    }
}

struct Bench {
    folder: Folder,
    agent: Agent,
    secrets: Secrets,
}

impl Bench {
    fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> Reply {
        call_as(self.agent.port, token, method, path, body, PATIENCE).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    fn done(&self, method: &str, path: &str, body: &Json) -> Json {
        let reply = self.ask(ROOT, method, path, &body.to_string());
        assert_eq!(reply.status, 200, "{method} {path}: {reply:?}");
        reply.json()
    }

    /// A command with a token in its environment. No output holds a secret.
    fn command(&self, token: &str, args: &[&str]) -> Ran {
        let ran = self.command_that_shows(token, args);
        self.secrets.absent(&format!("{args:?}"), format!("{}\n{}", ran.stdout, ran.stderr));
        ran
    }

    fn command_that_shows(&self, token: &str, args: &[&str]) -> Ran {
        let env = [("NOMAD_ADDR", self.agent.address()), ("NOMAD_TOKEN", token.into())];
        let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (*k, v.as_str())).collect();
        run_for(PATIENCE, self.folder.path(), args, &env, "")
    }

    /// A stream from its beginning until it is quiet.
    fn stream(&self, path: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.agent.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_millis(1500))).expect("a timeout");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nX-Nomad-Token: {ROOT}\r\n\r\n").expect("written");
        let (mut all, mut part) = (Vec::new(), [0; 65536]);
        let end = Instant::now() + Duration::from_secs(5);
        while let Ok(n @ 1..) = stream.read(&mut part) {
            all.extend_from_slice(&part[..n]);
            if all.len() > 8 << 20 || Instant::now() > end {
                break;
            }
        }
        all
    }
}

/// A key that issues logins.
struct Issuer {
    pem: String,
    key: EcdsaKeyPair,
}

impl Issuer {
    fn new() -> Issuer {
        let pair = KeyPair::generate().expect("a key");
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pair.serialize_der(), &random);
        let der = STANDARD.encode(pair.subject_public_key_info());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
        Issuer { pem, key: key.expect("a key") }
    }

    fn token(&self, subject: &str) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
        let claims = json!({ "iss": "tests", "aud": "encamp", "sub": subject, "iat": now, "exp": now + 600 });
        let part = |v: Json| URL_SAFE_NO_PAD.encode(v.to_string());
        let text = format!("{}.{}", part(json!({ "alg": "ES256", "typ": "JWT" })), part(claims));
        let signature = self.key.sign(&SystemRandom::new(), text.as_bytes()).expect("a signature");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// An agent with a secret wherever one can be configured.
fn start() -> Bench {
    let folder = Folder::new("secrets");
    let data = folder.path().join("data");
    let log = folder.path().join("log/agent.log");
    let gossip = STANDARD.encode(b"marker: key of encrypted gossip!");
    let config = format!(
        r#"
ports {{
  http = 0
  rpc  = 0
  serf = 0
}}
bind_addr    = "127.0.0.1"
data_dir     = {data:?}
log_level    = "TRACE"
log_file     = {log:?}
enable_debug = true
advertise {{
  http = "127.0.0.1"
  rpc  = "127.0.0.1"
  serf = "127.0.0.1"
}}
server {{
  enabled          = true
  bootstrap_expect = 1
  client_introduction {{
    enforcement = "none"
  }}
}}
client {{
  enabled = true
}}
acl {{
  enabled           = true
  replication_token = "{REPLICATION}"
}}
audit {{
  enabled = true
}}
telemetry {{
  prometheus_metrics         = true
  publish_allocation_metrics = true
  publish_node_metrics       = true
}}
autoscaling {{
  notify "ops" {{
    type = "pagerduty"
    url  = "http://127.0.0.1:1/{NOTIFICATION}"
    key  = "{NOTIFICATION}"
  }}
}}
plugin "raw_exec" {{
  config {{
    enabled = true
  }}
}}
"#
    );
    folder.file("agent.hcl", config);
    let mut command = Command::new(program::path());
    command.args(["agent", "-config", "agent.hcl", "-encrypt", &gossip]);
    // What is set here is what `launch` clears: a shell sets it again.
    let script = format!("export NOMAD_TOKEN={OF_AGENT} NOMAD_CLIENT_INTRO_TOKEN={INTRODUCTION}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    let mut agent = Agent::launch(&folder, &mut shell);
    agent.serves();
    let mut secrets = Secrets::default();
    for (what, secret) in [
        ("management token", ROOT),
        ("unknown token", UNKNOWN),
        ("malformed token", MALFORMED),
        ("text of a wrong body", IN_BODIES),
        ("item of a variable", IN_VARIABLES),
        ("login token of no form", IN_LOGINS),
        ("token of a query", IN_QUERIES),
        ("introduction token", INTRODUCTION),
        ("replication token", REPLICATION),
        ("key of notifications", NOTIFICATION),
        ("secret of an OIDC client", CLIENT_SECRET),
        ("token of the agent's environment", OF_AGENT),
        ("gossip key", &gossip),
        ("gossip key, decoded", "marker: key of encrypted gossip!"),
    ] {
        secrets.add(what, secret);
    }
    Bench { folder, agent, secrets }
}

/// Uses every secret once.
fn use_secrets(bench: &mut Bench) {
    wait_for("the first token", || {
        let reply = bench.ask("", "PUT", "/v1/acl/bootstrap", &json!({ "BootstrapSecret": ROOT }).to_string());
        if reply.status == 200 { Ok(()) } else { Err(format!("{reply:?}")) }
    });
    let issuer = Issuer::new();
    let config = json!({
        "JWTValidationPubKeys": [issuer.pem], "BoundAudiences": ["encamp"], "BoundIssuer": ["tests"],
        "OIDCClientSecret": CLIENT_SECRET, "ClaimMappings": { "sub": "who" },
    });
    let method =
        json!({ "Name": "ci", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": "1h", "Config": config });
    bench.done("PUT", "/v1/acl/auth-method", &method);
    let rule = json!({ "AuthMethod": "ci", "BindType": "management", "BindName": "" });
    bench.done("PUT", "/v1/acl/binding-rule", &rule);

    // Logins: one over HTTP, one by a command, refused ones.
    let (first, second) = (issuer.token("first"), issuer.token("second"));
    let forged = format!("{}x", issuer.token("forged"));
    for (what, jwt) in [("login token", &first), ("second login token", &second), ("forged login token", &forged)] {
        bench.secrets.add(what, jwt);
        bench.secrets.add(&format!("signature of the {what}"), &jwt[jwt.len() - 40..]);
    }
    let login = |jwt: &str| json!({ "AuthMethodName": "ci", "LoginToken": jwt }).to_string();
    let made = bench.ask("", "PUT", "/v1/acl/login", &login(&first));
    assert_eq!(made.status, 200, "{made:?}");
    bench.secrets.add("token of a login", made.json()["SecretID"].as_str().expect("a secret"));
    for jwt in [&forged, IN_LOGINS, &format!("{IN_LOGINS}.{IN_LOGINS}.{IN_LOGINS}")] {
        let refused = bench.ask("", "PUT", "/v1/acl/login", &login(jwt));
        assert!((400..500).contains(&refused.status), "{refused:?}");
        bench.secrets.absent("a refused login", &refused.body);
    }
    bench.command(ROOT, &["login", "-method", "ci", "-login-token", &forged]);
    let ran = bench.command_that_shows(ROOT, &["login", "-method", "ci", "-login-token", &second, "-json"]);
    let shown: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    bench.secrets.add("token of a login by a command", shown["SecretID"].as_str().expect("a secret"));

    // A client token, a one-time token, an identity for a node.
    let policy = json!({ "Name": "dev", "Rules": "namespace \"default\" {\n policy = \"write\"\n}" });
    bench.done("PUT", "/v1/acl/policy/dev", &policy);
    let token = bench.done("PUT", "/v1/acl/token", &json!({ "Name": "dev", "Type": "client", "Policies": ["dev"] }));
    let client = token["SecretID"].as_str().expect("a secret").to_string();
    bench.secrets.add("client token", &client);
    let once = bench.ask(&client, "POST", "/v1/acl/token/onetime", "").json();
    bench.secrets.add("one-time token", once["OneTimeToken"]["OneTimeSecretID"].as_str().expect("a secret"));
    let exchange = json!({ "OneTimeSecretID": once["OneTimeToken"]["OneTimeSecretID"] }).to_string();
    assert_eq!(bench.ask("", "POST", "/v1/acl/token/onetime/exchange", &exchange).status, 200);
    assert!(bench.ask("", "POST", "/v1/acl/token/onetime/exchange", &exchange).status >= 400, "once");
    let intro = bench.done("POST", "/v1/acl/identity/client-introduction-token", &json!({ "NodeName": "n" }));
    bench.secrets.add("introduction of a node", intro["JWT"].as_str().expect("a token"));

    // Variables, over HTTP and by commands.
    bench.done("PUT", "/v1/var/app/db", &json!({ "Items": { "password": IN_VARIABLES } }));
    let item = format!("password={IN_VARIABLES}");
    let ran = bench.command(&client, &["var", "put", "-out", "none", "app/web", &item]);
    assert_ne!((ran.exit, ran.stderr.as_str()), (0, ""), "a policy for jobs gives no variables: {ran:?}");
    let ran = bench.command(ROOT, &["var", "put", "-out", "none", "app/web", &item]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert_eq!(bench.command(ROOT, &["var", "put", "-out", "none", "app/web", &item]).exit, 1, "a conflict");

    // Errors: bodies of the wrong form, tokens that are none.
    for (method, path, body) in [
        ("PUT", "/v1/var/app/x", json!({ "Items": IN_BODIES })),
        ("PUT", "/v1/var/app/x", json!({ "Items": { "a": { "b": IN_BODIES } } })),
        ("PUT", "/v1/var/app/x", json!(IN_BODIES)),
        ("PUT", "/v1/acl/token", json!({ "SecretID": [IN_BODIES] })),
        ("PUT", "/v1/acl/token", json!(IN_BODIES)),
        ("PUT", "/v1/acl/token", json!({ "Name": "x", "Type": "client", "Policies": IN_BODIES })),
        ("PUT", "/v1/acl/bootstrap", json!({ "BootstrapSecret": { "x": IN_BODIES } })),
        ("PUT", "/v1/acl/bootstrap", json!({ "BootstrapSecret": IN_BODIES })),
        ("PUT", "/v1/acl/login", json!({ "LoginToken": [IN_BODIES] })),
        ("PUT", "/v1/acl/login", json!([IN_BODIES])),
        ("POST", "/v1/acl/token/onetime/exchange", json!({ "OneTimeSecretID": [IN_BODIES] })),
        ("POST", "/v1/acl/token/onetime/exchange", json!({ "OneTimeSecretID": IN_BODIES })),
        ("PUT", "/v1/acl/auth-method", json!({ "Name": "x", "Config": { "OIDCClientSecret": [IN_BODIES] } })),
        ("PUT", "/v1/acl/auth-method", json!({ "Name": "x", "Type": "JWT", "Config": IN_BODIES })),
        ("PUT", "/v1/jobs", json!({ "Job": IN_BODIES })),
    ] {
        let refused = bench.ask(ROOT, method, path, &body.to_string());
        assert!(refused.status >= 400, "{method} {path} {body}: {refused:?}");
        bench.secrets.absent(&format!("the error of {method} {path} {body}"), &refused.body);
    }
    for token in [UNKNOWN, MALFORMED] {
        for path in ["/v1/jobs", "/v1/acl/token/self", "/v1/agent/self", "/v1/operator/keyring/keys"] {
            let refused = bench.ask(token, "GET", path, "");
            assert_eq!(refused.status, 403, "{path}: {refused:?}");
            bench.secrets.absent("a refusal", &refused.body);
        }
        bench.command(token, &["job", "status"]);
        bench.command("", &["job", "status", "-token", token]);
    }
    bench.ask("", "GET", &format!("/v1/jobs?token={IN_QUERIES}"), "");
    bench.command("", &["node", "status", "-token", &client]);
    bench.command("", &["node", "status", "-token", ROOT, "-address", "http://127.0.0.1:1"]);
    bench.command(ROOT, &["acl", "token", "list"]);
    bench.command(ROOT, &["acl", "auth-method", "info", "ci"]);
}

/// Runs a task that shows all that it can see, and gives the ID of its allocation.
fn run_task(bench: &mut Bench) -> String {
    let script = "env; echo; tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline; ps -ef; \
                  touch local/done; exec sleep 600";
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": { "command": "/bin/sh", "args": ["-c", script] },
        "Resources": { "CPU": 20, "MemoryMB": 20 },
        "Identities": [{ "Name": "other", "Audience": ["other"], "File": true }],
    });
    let group = json!({ "Name": "g", "Count": 1, "Tasks": [task] });
    let job = json!({ "Job": { "ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"], "TaskGroups": [group] } });
    bench.done("PUT", "/v1/jobs", &job);
    let mut alloc = String::new();
    wait_for("the task", || {
        let list = bench.ask(ROOT, "GET", "/v1/job/web/allocations", "").json();
        alloc = list[0]["ID"].as_str().ok_or_else(|| list.to_string())?.to_string();
        let done = bench.folder.path().join(format!("data/alloc/{alloc}/t/local/done"));
        if done.exists() { Ok(()) } else { Err(list.to_string()) }
    });
    let secret = bench.folder.path().join(format!("data/alloc/{alloc}/t/secrets/nomad_other.jwt"));
    let secret = fs::read_to_string(&secret).unwrap_or_else(|e| panic!("{}: {e}", secret.display()));
    bench.secrets.add("identity of the task", &secret);
    let node = bench.folder.path().join("data/client/secret-id");
    let node = fs::read_to_string(&node).unwrap_or_else(|e| panic!("{}: {e}", node.display()));
    bench.secrets.add("secret of the node", node.trim());
    alloc
}

/// The processes that descend from one.
fn descendants(of: u32) -> Vec<u32> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").expect("processes").map_while(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let after = stat.rsplit_once(')').map(|(_, rest)| rest.to_string()).unwrap_or_default();
        let parent = after.split_whitespace().nth(1).and_then(|p| p.parse::<u32>().ok());
        parents.insert(pid, parent.unwrap_or(0));
    }
    let descends = |mut pid: u32| {
        for _ in 0..64 {
            match parents.get(&pid) {
                Some(parent) if *parent == of => return true,
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| descends(*pid)).collect()
}

fn search_processes(bench: &Bench) {
    // What everybody on the machine can read.
    for process in procfs::process::all_processes().expect("the processes").flatten() {
        if let Ok(line) = fs::read(format!("/proc/{}/cmdline", process.pid())) {
            bench.secrets.absent(&format!("the command line of process {}", process.pid()), line);
        }
    }
    let children = descendants(bench.agent.pid());
    assert!(children.len() >= 2, "a supervisor and its task: {children:?}");
    for pid in children {
        for file in ["cmdline", "environ"] {
            if let Ok(bytes) = fs::read(format!("/proc/{pid}/{file}")) {
                bench.secrets.absent(&format!("{file} of process {pid}"), bytes);
            }
        }
    }
    let own = fs::read(format!("/proc/{}/cmdline", bench.agent.pid())).expect("a command line");
    assert!(own.windows(8).any(|w| w == b"-encrypt"), "the agent has the flag");
    bench.secrets.absent("the command line of the agent", own);
}

fn search_interfaces(bench: &Bench, alloc: &str) {
    let metrics = ["/v1/metrics", "/v1/metrics?format=prometheus"];
    let agent =
        ["/v1/agent/self", "/v1/agent/members", "/v1/agent/host", "/v1/agent/health", "/v1/agent/pprof/cmdline"];
    let lists =
        ["/v1/acl/tokens", "/v1/acl/auth-methods", "/v1/acl/auth-method/ci", "/v1/vars", "/v1/nodes?resources=true"];
    let objects =
        ["/v1/job/web", "/v1/job/web/submission", "/v1/node/", "/v1/operator/keyring/keys", "/v1/allocations"];
    for path in metrics.iter().chain(&agent).chain(&lists).chain(&objects) {
        let reply = bench.ask(ROOT, "GET", path, "");
        bench.secrets.absent(path, &reply.body);
    }
    bench.secrets.absent("the allocation", bench.ask(ROOT, "GET", &format!("/v1/allocation/{alloc}"), "").body);
    for stream in ["stdout", "stderr"] {
        let path = format!("/v1/client/fs/logs/{alloc}?task=t&type={stream}&plain=true");
        let text = bench.ask(ROOT, "GET", &path, "").body;
        assert!(stream == "stderr" || text.contains("NOMAD_ALLOC_ID="), "{text}");
        bench.secrets.absent("what the task sees", text);
    }
    let events = bench.stream("/v1/event/stream?topic=*&namespace=*&index=0");
    let text = String::from_utf8_lossy(&events);
    for topic in ["ACLToken", "ACLAuthMethod", "Job", "Allocation", "Node"] {
        assert!(text.contains(&format!("\"Topic\":\"{topic}\"")), "no event about {topic}: {text}");
    }
    bench.secrets.absent("events", &events);
    bench.secrets.absent("the log over HTTP", bench.stream("/v1/agent/monitor?log_level=trace"));
    let export = bench.ask(ROOT, "GET", "/v1/agent/monitor/export?on_disk=true", "");
    bench.secrets.absent("the exported log", &export.body);
    for args in [
        &["agent-info"][..],
        &["operator", "metrics"],
        &["operator", "raft", "list-peers"],
        &["acl", "explain", "-token", ROOT, "read-job"],
        &["snapshot", "fetch", "-out", "cluster.json"],
        &["operator", "snapshot", "save", "-redact", "shared.snap"],
        &["operator", "snapshot", "save", "back.snap"],
        &["operator", "snapshot", "redact", "back.snap"],
        &["node", "status", "-self", "-verbose"],
        &["alloc", "status", alloc],
    ] {
        bench.command(ROOT, args);
    }
    let snapshot = fs::read(bench.folder.path().join("cluster.json")).expect("a snapshot");
    bench.secrets.absent("a snapshot file", snapshot);
    for name in ["shared.snap", "back.snap"] {
        let archive = fs::File::open(bench.folder.path().join(name)).expect("an archive");
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(archive).read_to_end(&mut content).expect("gzip");
        bench.secrets.absent("a redacted archive", content);
    }
}

/// All files below a directory.
fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())).map_while(Result::ok) {
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            files(&entry.path(), out);
        } else if kind.is_file() {
            out.push(entry.path());
        }
    }
}

/// Whether others than the owner can read a file: neither it nor a directory above it, up to `root`, keeps them out.
fn is_open(path: &Path, root: &Path) -> bool {
    let mode = fs::metadata(path).expect("a file").mode();
    let above = path.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
    let passes = |dir: &Path| fs::metadata(dir).expect("a directory").permissions().mode() & 0o011 != 0;
    mode & 0o044 != 0 && above.into_iter().all(passes)
}

fn search_files(bench: &Bench, alloc: &str) {
    let data = bench.folder.path().join("data");
    let mut all = Vec::new();
    files(&data, &mut all);
    let mut holders = 0;
    for path in &all {
        let Ok(bytes) = fs::read(path) else { continue };
        let found = bench.secrets.found_in(&bytes);
        if found.is_empty() {
            continue;
        }
        holders += 1;
        let relative = path.strip_prefix(&data).expect("below").to_string_lossy().into_owned();
        assert!(HOMES.iter().any(|(home, _)| relative.starts_with(home)), "{relative} holds {found:?}");
        assert!(!is_open(path, &data), "{relative} holds {found:?}, and others can read it");
        if relative.starts_with("alloc/") {
            assert!(relative.starts_with(&format!("alloc/{alloc}/t/secrets/")), "{relative} holds {found:?}");
            assert_eq!(found, ["identity of the task"], "{relative}");
        }
        assert!(relative == "server/serf.keyring" || !found.contains(&"gossip key"), "{relative} holds {found:?}");
        // Variables are encrypted, logins are forgotten.
        for what in ["item of a variable", "login token", "second login token", "text of a wrong body"] {
            assert!(!found.contains(&what), "{relative} holds {found:?}");
        }
    }
    assert!(holders >= 2, "the log holds tokens, the node its secret: the search finds nothing");
}

#[test]
fn secrets_are_nowhere_but_in_their_homes() {
    let mut bench = start();
    use_secrets(&mut bench);
    let alloc = run_task(&mut bench);
    search_processes(&bench);
    search_interfaces(&bench, &alloc);
    bench.agent.signal(rustix::process::Signal::HUP);
    bench.agent.until("configuration reloaded");
    search_files(&bench, &alloc);
    let audit = fs::read_to_string(bench.folder.path().join("data/audit/audit.log")).expect("the audit log");
    assert!(audit.lines().count() > 100, "{audit}");
    bench.secrets.absent("the audit log", audit);
    bench.agent.signal(rustix::process::Signal::TERM);
    bench.agent.exit();
    let said = bench.agent.log().to_string();
    assert!(said.contains("[TRACE]") || said.contains("[DEBUG]"), "{said}");
    bench.secrets.absent("the output of the agent", said);
    bench.secrets.absent("the log file", fs::read(bench.folder.path().join("log/agent.log")).expect("the log file"));
    assert_ne!(
        bench.secrets.found_in(format!("x{ROOT}y").as_bytes()),
        Vec::<&str>::new(),
        "the search finds what is there"
    );
}

#[test]
fn the_command_line_of_a_command_hides_its_token() {
    // A port that accepts and never answers: the command waits.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let mut child = Command::new(program::path())
        .args(["job", "status", "-address", &address, "-token", MALFORMED])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a command");
    let connection = listener.accept().expect("a connection");
    let line = fs::read(format!("/proc/{}/cmdline", child.id())).expect("a command line");
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    assert!(line.contains(&format!("-token {}", "x".repeat(MALFORMED.len()))), "{line}");
    drop(connection);
    child.kill().expect("ended");
    child.wait().expect("ended");
}
