//! The agent process: start, signals, start errors, and responses.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{Agent, PATIENCE, bootstrap, wait_for};
use crate::program::{Folder, path, run_in};
use encamp_test_support::notes;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value as Json, json};

#[test]
fn a_start_is_reported_and_a_signal_stops_the_agent() {
    let folder = Folder::new("agent-start");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    let lines: Vec<&str> = agent.seen.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "==> Loaded configuration from disk.hcl, agent.hcl",
            "==> Starting encamp agent...",
            "==> encamp agent configuration:",
            ""
        ]
    );
    let port = agent.port;
    assert!(
        lines[4].starts_with(&format!("       Advertise Addrs: HTTP: 127.0.0.1:{port}; RPC: 127.0.0.1:")),
        "{lines:?}"
    );
    assert_eq!(lines[6], "                Client: true");
    assert_eq!(lines[7], "             Log Level: DEBUG");
    let log = agent.until("[INFO]  agent: agent started: http=127.0.0.1:");
    assert!(log.starts_with("    20") && log.contains("Z [INFO]"), "{log}");
    agent.signal(rustix::process::Signal::TERM);
    agent.until("==> Caught signal: terminated");
    assert_eq!(agent.exit(), 1, "without leave_on_terminate");
}

#[test]
fn external_plugins_are_named_and_ignored() {
    let folder = Folder::new("agent-plugins");
    std::fs::create_dir_all(folder.path().join("plugins")).expect("a directory");
    let program = folder.file("plugins/nomad-driver-podman", "#!/bin/sh\ntouch ran\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    folder.file("plugins/README", "text");
    let plugins = folder.path().join("plugins").display().to_string();
    let config = format!("plugin_dir = \"{plugins}\"\nplugin \"podman\" {{\n}}\nplugin \"raw_exec\" {{\n}}\n");
    let mut agent = Agent::start(&folder, &config, &["-dev"]);
    agent.until("agent started");
    let log = agent.log().to_string();
    let warned: Vec<&str> = log.lines().filter(|l| l.contains("external plugins are not supported")).collect();
    assert_eq!(warned.len(), 2, "{log}");
    assert!(warned[0].contains("nomad-driver-podman") && warned[1].contains("plugin=podman"), "{warned:?}");
    assert!(!folder.path().join("ran").exists(), "the program did not run");
}

/// Runs a task that no signal ends but SIGKILL, on an agent in development mode. Returns its process.
fn run_stubborn_task(folder: &Folder, agent: &Agent) -> Pid {
    let file = folder.path().join("pid");
    let script = format!("trap '' TERM INT; echo $$ >{}; while :; do sleep 0.2; done", file.display());
    let job = json!({"Job": {
        "ID": "stubborn", "Name": "stubborn", "Type": "service", "Datacenters": ["*"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{
            "Name": "t", "Driver": "raw_exec", "KillTimeout": 12_000_000_000_i64,
            "Config": {"command": "/bin/sh", "args": ["-c", script]},
        }]}],
    }});
    assert_eq!(agent.send("PUT", "/v1/jobs", &job).status, 200);
    let mut pid = None;
    wait_for("the task", || {
        pid = std::fs::read_to_string(&file).ok().and_then(|t| Pid::from_raw(t.trim().parse().ok()?));
        let allocs = agent.get("/v1/job/stubborn/allocations");
        let runs = allocs[0]["ClientStatus"] == "running";
        if pid.is_some() && runs { Ok(()) } else { Err(allocs.to_string()) }
    });
    pid.expect("a process")
}

#[test]
fn an_agent_in_development_mode_waits_for_its_tasks() {
    let folder = Folder::new("agent-dev-tasks");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    let pid = run_stubborn_task(&folder, &agent);
    agent.signal(Signal::TERM);
    agent.until("Waiting for tasks to end; interrupt again to leave them running...");
    assert_eq!(agent.exit(), 1);
    assert!(test_kill_process(pid).is_err(), "the task has ended");
}

#[test]
fn a_second_signal_ends_an_agent_at_once() {
    let folder = Folder::new("agent-dev-hurry");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    let pid = run_stubborn_task(&folder, &agent);
    agent.signal(Signal::INT);
    agent.until("Waiting for tasks to end; interrupt again to leave them running...");
    agent.signal(Signal::INT);
    assert_eq!(agent.exit(), 1);
    assert!(test_kill_process(pid).is_ok(), "the task goes on");
    kill_process(pid, Signal::KILL).expect("a signal");
}

#[test]
fn leaving_ends_with_success() {
    let folder = Folder::new("agent-leave");
    let mut agent = Agent::start(&folder, "leave_on_interrupt = true", &["-dev"]);
    agent.signal(rustix::process::Signal::INT);
    agent.until("==> Caught signal: interrupt");
    agent.until("==> Gracefully shutting down agent...");
    assert_eq!(agent.exit(), 0);
}

#[test]
fn a_reload_takes_the_log_level_and_survives_errors() {
    let folder = Folder::new("agent-reload");
    let mut agent = Agent::start(&folder, "log_level = \"WARN\"", &["-dev"]);
    folder.file("agent.hcl", "log_level = \"WARN\"\nnosuch = 1");
    agent.signal(rustix::process::Signal::HUP);
    agent.until("==> Caught signal: hangup");
    let error = agent.until("unexpected keys");
    assert!(error.ends_with("Error loading agent.hcl: unexpected keys nosuch (at agent.hcl:2:1)"), "{error}");
    agent.until("==> Failed to reload configs");
    let (head, body) = agent.ask("PUT", "/v1/agent/reload");
    assert!(head.starts_with("HTTP/1.1 500") && body.contains("unexpected keys nosuch"), "{head}\n{body}");
    folder.file("agent.hcl", "log_level = \"LOUD\"");
    agent.signal(rustix::process::Signal::HUP);
    agent.until("==> Invalid log level: LOUD. Valid log levels are: [TRACE DEBUG INFO WARN ERROR OFF]");
    folder.file("agent.hcl", "log_level = \"INFO\"");
    agent.signal(rustix::process::Signal::HUP);
    agent.until("[INFO]  agent: configuration reloaded: log_level=INFO");
    let (head, body) = agent.ask("PUT", "/v1/agent/reload");
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty(), "{head}\n{body}");
}

#[test]
fn the_service_manager_is_notified_of_each_state() {
    let folder = Folder::new("agent-notify");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let receive = || {
        let mut buffer = [0; 100];
        let length = manager.recv(&mut buffer).expect("a message");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    folder.file("agent.hcl", "ports {\n  http = 0\n  rpc  = 0\n  serf = 0\n}\n");
    let mut program = Command::new("env");
    program.arg(format!("NOTIFY_SOCKET={}", socket.display())).arg(path()).args([
        "agent",
        "-config",
        "agent.hcl",
        "-dev",
    ]);
    let mut agent = Agent::launch(&folder, &mut program);
    assert_eq!(receive(), "READY=1\n");
    agent.signal(rustix::process::Signal::HUP);
    assert!(receive().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!(receive(), "READY=1\n");
    agent.signal(rustix::process::Signal::TERM);
    assert_eq!(receive(), "STOPPING=1\n");
    agent.exit();
}

#[test]
fn a_watchdog_hears_of_a_working_agent_and_not_of_one_that_stands_still() {
    let folder = Folder::new("agent-watchdog");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    let receive = |limit: Duration| {
        manager.set_read_timeout(Some(limit)).expect("a timeout");
        let mut buffer = [0; 100];
        manager.recv(&mut buffer).map(|length| String::from_utf8_lossy(&buffer[..length]).into_owned())
    };
    folder.file("agent.hcl", "ports {\n  http = 0\n  rpc  = 0\n  serf = 0\n}\n");
    let mut program = Command::new("env");
    program.arg(format!("NOTIFY_SOCKET={}", socket.display())).arg("WATCHDOG_USEC=300000").arg(path());
    program.args(["agent", "-config", "agent.hcl", "-dev"]);
    let mut agent = Agent::launch(&folder, &mut program);
    assert_eq!(receive(PATIENCE).expect("a message"), "READY=1\n");
    for _ in 0..2 {
        assert_eq!(receive(PATIENCE).expect("a message"), "WATCHDOG=1\n");
    }
    agent.signal(rustix::process::Signal::STOP);
    // What was sent before the agent was stopped is read first.
    let paused = (0..20).any(|_| receive(Duration::from_secs(1)).is_err());
    assert!(paused, "a stopped process sends messages");
    agent.signal(rustix::process::Signal::CONT);
    assert_eq!(receive(PATIENCE).expect("a message"), "WATCHDOG=1\n");
    agent.signal(rustix::process::Signal::TERM);
    let last = (0..20).find_map(|_| receive(PATIENCE).ok().filter(|m| m != "WATCHDOG=1\n"));
    assert_eq!(last.as_deref(), Some("STOPPING=1\n"));
    agent.exit();
}

#[test]
fn metrics_have_both_forms() {
    let folder = Folder::new("agent-metrics");
    let config = "telemetry { disable_hostname = true }\nhttp_api_response_headers { \"X-Extra\" = \"yes\" }";
    let agent = Agent::start(&folder, config, &["-dev"]);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (head, body) = agent.ask("GET", "/v1/metrics");
        assert!(head.contains("application/json") && head.contains("x-extra: yes"), "{head}");
        let json: Json = serde_json::from_str(&body).expect("JSON");
        let keys: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
        for key in ["Timestamp", "Gauges", "Points", "Counters", "Samples"] {
            assert!(keys.contains(&key), "{keys:?}");
        }
        let named = |n: &Json| n["Name"] == "nomad.runtime.sys_bytes" && n["Labels"] == serde_json::json!({});
        if json["Gauges"].as_array().expect("a list").iter().any(named) {
            break;
        }
        assert!(Instant::now() < deadline, "{body}");
        thread::sleep(Duration::from_millis(50));
    }
    let (head, body) = agent.ask("GET", "/v1/metrics?format=prometheus");
    assert!(head.contains("text/plain; version=0.0.4; charset=utf-8; escaping=underscores"), "{head}");
    assert!(body.contains("# TYPE nomad_runtime_sys_bytes gauge\nnomad_runtime_sys_bytes "), "{body}");
    assert!(agent.ask("PUT", "/v1/metrics").0.starts_with("HTTP/1.1 405"));
}

/// Names that Nomad prescribes cause their own complaints (counters without `_total`); the format must be right.
#[test]
fn promtool_reads_the_metrics() {
    let tool = std::env::var("PROMTOOL").unwrap_or_else(|_| "promtool".into());
    let folder = Folder::new("agent-promtool");
    let agent = Agent::start(&folder, "", &["-dev"]);
    let (_, body) = agent.ask("GET", "/v1/metrics?format=prometheus");
    let text = folder.file("metrics.txt", body);
    let input = std::fs::File::open(text).expect("the metrics");
    let Ok(ran) = Command::new(tool).args(["check", "metrics"]).stdin(input).output() else {
        notes::skipped("metrics read by promtool", "promtool is not installed");
        return;
    };
    let complaints = String::from_utf8_lossy(&ran.stderr).into_owned();
    let wrong =
        |l: &&str| !(l.contains("\"_total\" suffix") || l.contains("'camelCase'") || l.contains("\"_count\" suffix"));
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{complaints}");
    assert_eq!(complaints.lines().find(wrong), None);
}

#[test]
fn prometheus_is_refused_unless_it_is_on() {
    let folder = Folder::new("agent-noprom");
    let data = folder.path().join("data").display().to_string();
    let config = format!(
        "bind_addr = \"127.0.0.1\"\ndata_dir = \"{data}\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}"
    );
    let agent = Agent::start(&folder, &config, &[]);
    assert!(agent.seen.contains("WARNING: Bootstrap mode enabled! Potentially unsafe operation."), "{}", agent.seen);
    let (head, body) = agent.ask("GET", "/v1/metrics?format=prometheus");
    assert!(head.starts_with("HTTP/1.1 415") && body == "Prometheus is not enabled", "{head}\n{body}");
}

/// Reads a monitor at this log level until a line contains a text. Returns the line.
fn monitor(agent: &Agent, level: &str) -> impl FnMut(&str) -> String {
    let mut stream = agent.connect();
    let path = format!("/v1/agent/monitor?log_level={level}&plain=true");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("written");
    let mut reader = BufReader::new(stream);
    let mut until = move |text: &str| loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).expect("a line") > 0, "ends before {text}");
        if line.contains(text) {
            return line;
        }
    };
    until("content-type: text/plain");
    until
}

#[test]
fn the_monitor_shows_messages_as_they_come() {
    let folder = Folder::new("agent-monitor");
    let agent = Agent::start(&folder, "log_level = \"ERROR\"", &["-dev"]);
    let mut until = monitor(&agent, "info");
    agent.signal(rustix::process::Signal::HUP);
    let line = until("agent: configuration reloaded");
    assert!(line.contains("[INFO]  agent: ") && line.ends_with("log_level=ERROR\n"), "{line}");
    let (head, body) = agent.ask("GET", "/v1/agent/monitor?log_level=nope");
    assert!(head.starts_with("HTTP/1.1 400") && body == "Unknown log level: nope", "{head}\n{body}");
}

#[test]
fn requests_are_logged_without_their_tokens() {
    let folder = Folder::new("agent-requests");
    let agent = Agent::start(&folder, "log_level = \"ERROR\"", &["-dev"]);
    let mut until = monitor(&agent, "debug");
    agent.ask("GET", "/v1/jobs?prefix=a&token=s3cret");
    let line = until("/v1/jobs");
    let want = "path=\"/v1/jobs?prefix=a&token=<hidden>\" code=200 duration=";
    assert!(line.contains("[DEBUG] http: request complete: method=GET ") && line.contains(want), "{line}");
}

#[test]
fn monitor_frames_are_json_with_heartbeats() {
    let folder = Folder::new("agent-frames");
    let agent = Agent::start(&folder, "", &["-dev"]);
    let mut stream = agent.connect();
    stream.write_all(b"GET /v1/agent/monitor?log_level=error HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    let mut text = String::new();
    let mut reader = BufReader::new(stream);
    while !text.contains("{}") {
        assert!(reader.read_line(&mut text).expect("a line") > 0, "{text}");
    }
    assert!(text.contains("content-type: application/json"), "{text}");
}

#[test]
fn json_logs_are_json_from_the_first_line() {
    let folder = Folder::new("agent-json");
    let mut agent = Agent::start(&folder, "", &["-dev", "-log-json", "-log-include-location"]);
    agent.until("agent started\"");
    for line in agent.seen.lines() {
        let json: Json = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let level = json["@level"].as_str();
        assert!(matches!(level, Some("info" | "warn")) && json["@timestamp"].is_string(), "{line}");
    }
    assert!(agent.seen.lines().last().expect("a line").contains("\"@caller\":\"start.rs:"), "{}", agent.seen);
}

#[test]
fn a_log_file_gets_the_messages_too() {
    let folder = Folder::new("agent-logfile");
    let file = folder.path().join("logs/agent.log");
    let mut agent = Agent::start(&folder, &format!("log_file = \"{}\"", file.display()), &["-dev"]);
    agent.until("agent: agent started");
    let text = std::fs::read_to_string(&file).expect("a log");
    assert!(text.contains("Z [INFO]  agent: agent started: http=127.0.0.1:"), "{text}");
}

#[test]
fn errors_that_prevent_a_start_are_named() {
    let folder = Folder::new("agent-refused");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    folder.file("taken.hcl", format!("ports {{ http = {port} }}"));
    folder.file("blocker", "a file where a folder should be");
    let blocked = folder.path().join("blocker/data").display().to_string();
    folder.file("big.hcl", "ports { http = 70000 }");
    folder.file("loop.hcl", "bind_addr = \"127.0.0.1\"\ndata_dir = \"/tmp\"\nserver { enabled = true }");
    for (args, want) in [
        (
            &["-dev", "-config", "taken.hcl"][..],
            format!(
                "==> Error starting http server: 1 error occurred: listen tcp 127.0.0.1:{port}: bind: address already in use"
            ),
        ),
        (
            &["-dev", "-data-dir", &blocked],
            format!("==> Error starting agent: server setup failed: data_dir {blocked} cannot be used: not a directory"),
        ),
        (
            &["-dev", "-data-dir", "/proc/encamp"],
            "==> Error starting agent: server setup failed: data_dir /proc/encamp cannot be used: no such file or directory"
                .into(),
        ),
        (
            &["-dev", "-config", "big.hcl"],
            "==> Error starting http server: 1 error occurred: listen tcp: address 127.0.0.1:70000: invalid port".into(),
        ),
        (
            &["-config", "loop.hcl"],
            "==> Failed to parse HTTP advertise address (, 127.0.0.1, 4646, false): Defaulting advertise to localhost \
             is unsafe, please set advertise manually"
                .into(),
        ),
        (&[], "==> Must specify either server, client or dev mode for the agent.".into()),
        (
            &["-config", "/nosuch"],
            "==> Error loading configuration from /nosuch: stat /nosuch: no such file or directory".into(),
        ),
        (&["-dev", "-meta", "x"], "==> Error parsing Client.Meta value: x".into()),
        (&["-dev-connect"], "==> -dev-connect is not supported: this agent does not run connect".into()),
    ] {
        let all: Vec<&str> = ["agent"].iter().chain(args).copied().collect();
        let ran = run_in(folder.path(), &all);
        assert_eq!((ran.stderr.lines().last(), ran.exit), (Some(want.as_str()), 1), "{args:?}\n{}", ran.stdout);
    }
}

#[test]
fn a_wrong_flag_shows_the_help_on_standard_error() {
    let folder = Folder::new("agent-flag");
    let ran = run_in(folder.path(), &["agent", "-bogus"]);
    assert!(ran.stderr.starts_with("flag provided but not defined: -bogus\nUsage: encamp agent"), "{}", ran.stderr);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1));
}

#[test]
fn config_validate_answers_like_nomad() {
    let folder = Folder::new("agent-validate");
    folder.file("good.hcl", "data_dir = \"/var/lib/encamp\"\nserver {\n  enabled = true\n  bootstrap_expect = 1\n}\n");
    folder.file("bad.hcl", "data_dir = \"relative/dir\"\nserver {\n  enabled = true\n}\n");
    let mtls = "WARNING: mTLS is not configured - Nomad is not secure without mTLS!\n";
    let good = run_in(folder.path(), &["config", "validate", "good.hcl"]);
    let bootstrap = "WARNING: Bootstrap mode enabled! Potentially unsafe operation.\n";
    assert_eq!(
        (good.stdout.as_str(), good.stderr, good.exit),
        ("Configuration is valid!\n", format!("{mtls}{bootstrap}"), 0)
    );
    let bad = run_in(folder.path(), &["config", "validate", "bad.hcl"]);
    let path = "data-dir must be given as an absolute path: got relative/dir\nConfiguration is invalid\n";
    assert_eq!((bad.stdout.as_str(), bad.stderr, bad.exit), ("", format!("{mtls}{path}"), 1));
    let none = run_in(folder.path(), &["config", "validate"]);
    assert_eq!((none.stderr.as_str(), none.exit), ("Must specify at least one config file or directory\n", 1));
}

/// Parts of a configuration file as items with `|` between them.
const CONFIGURATIONS: [&str; 12] = [
    "ports { http = 4646 | rpc = 4647 | serf = 4648 }",
    "addresses { http = \"127.0.0.1\" | rpc = \"127.0.0.1\" }",
    "advertise { http = \"10.0.0.1\" | rpc = \"10.0.0.1\" | serf = \"10.0.0.1:5000\" }",
    "region = \"eu\" | datacenter = \"dc2\" | log_level = \"WARN\" | leave_on_terminate = true",
    "client { enabled = true | meta { a = \"1\" | b = 2 } | options { \"driver.x\" = \"1\" | y = true } }",
    "client { enabled = true | servers = [\"a\", \"b\"] | host_volume \"v\" { path = \"/tmp\" | read_only = true } }",
    "client { host_network \"n\" { cidr = \"10.0.0.0/8\" | reserved_ports = \"22\" } | cpu_total_compute = 9 }",
    "plugin \"raw_exec\" { config { enabled = true | denied_envvars = [\"A\"] } } | plugin \"docker\" { config {} }",
    "telemetry { collection_interval = \"2s\" | prometheus_metrics = true } | limits { http_max_conns_per_client = 0 }",
    "acl { enabled = true | token_ttl = \"1m\" } | ui { enabled = false | label { text = \"x\" } }",
    "tls { http = false | rpc = false } | autopilot { cleanup_dead_servers = true | min_quorum = 1 }",
    "server { raft_protocol = 3 | server_join { retry_join = [\"a\"] | retry_max = 2 } | bootstrp = 1 }",
];

#[test]
fn items_of_a_configuration_need_no_new_lines() {
    let folder = Folder::new("agent-layout");
    let base = "data_dir = \"/var/lib/encamp\" | server { enabled = true | bootstrap_expect = 1 } | ";
    let answer = |text: &str| {
        folder.file("agent.hcl", text);
        let ran = run_in(folder.path(), &["config", "validate", "agent.hcl"]);
        // Positions are those of the layout.
        let message = ran.stderr.split(" (at agent.hcl:").next().unwrap_or_default().to_string();
        (ran.stdout, message, ran.exit)
    };
    for items in CONFIGURATIONS {
        let written = |separator: &str| format!("{base}{items}").replace(" | ", separator);
        let lines = answer(&written("\n"));
        assert_eq!(lines.2, i32::from(items.contains("bootstrp")), "{items}: {lines:?}");
        for separator in [" ", "\t", ", ", ",", " /* */ ", "\r\n", " # end\n"] {
            assert_eq!(answer(&written(separator)), lines, "{:?}", written(separator));
        }
    }
}

#[test]
fn an_agent_and_its_policies_take_items_on_one_line() {
    let folder = Folder::new("agent-one-line");
    let config = "client { meta { a = \"1\" b = 2 } } acl { enabled = true token_ttl = \"1m\" } log_level = \"WARN\" \
                  region = \"eu\"";
    let mut agent = Agent::start(&folder, config, &["-dev"]);
    agent.token = bootstrap(agent.port);
    let own = agent.get("/v1/agent/self");
    let members = [("/config/Region", "eu"), ("/config/LogLevel", "WARN"), ("/config/Client/Meta/b", "2")];
    for (member, value) in members {
        assert_eq!(own.pointer(member).and_then(Json::as_str), Some(value), "{member}: {own}");
    }
    let rules = [
        "policy = \"read\" | capabilities = [\"submit-job\"]",
        "capabilities = [\"read-logs\"] | policy = \"write\" | variables { path \"a\" { capabilities = [\"read\"] } }",
        "variables { path \"a\" { capabilities = [\"read\"] } | path \"b/*\" { capabilities = [\"list\"] } } | policy = \
         \"deny\"",
        "polcy = \"read\" | capabilities = [\"submit-job\"]",
        "policy = \"read\" | capabilities = [\"nothing\"]",
        "policy | capabilities = [\"submit-job\"]",
        "policy = read | capabilities = []",
    ];
    for (at, rule) in rules.iter().enumerate() {
        let written = |separator: &str| {
            let text =
                format!("namespace \"n\" {{ {rule} }} | node {{ policy = \"read\" }} | agent {{ policy = \"write\" }}");
            let body = json!({"Name": "p", "Rules": text.replace(" | ", separator)});
            agent.send("PUT", "/v1/acl/policy/p", &body).status
        };
        let want = if at < 3 { 200 } else { 400 };
        for separator in ["\n", " ", ", ", "\t", " /* */ "] {
            assert_eq!(written(separator), want, "{rule} with {separator:?}");
        }
    }
    let capability = "capability { access_mode = \"single-node-writer\" attachment_mode = \"file-system\" }";
    let volume = "name = \"v\" type = \"host\" plugin_id = \"mkdir\" parameters { a = \"1\" b = \"2\" }";
    folder.file("volume.hcl", format!("{volume} {capability}"));
    wait_for("a node for the volume", || {
        let nodes = agent.list("/v1/nodes");
        if nodes.iter().any(|node| node["Status"] == "ready") { Ok(()) } else { Err(format!("{nodes:?}")) }
    });
    let created = run_in(
        folder.path(),
        &[
            "volume",
            "create",
            "-detach",
            &format!("-address=http://127.0.0.1:{}", agent.port),
            &format!("-token={}", agent.token),
            "volume.hcl",
        ],
    );
    assert_eq!(created.exit, 0, "{}{}", created.stdout, created.stderr);
    let volumes = agent.get("/v1/volumes?type=host");
    let id = volumes[0]["ID"].as_str().expect("a volume");
    let volume = agent.get(&format!("/v1/volume/host/{id}"));
    assert_eq!(volume["Parameters"], json!({"a": "1", "b": "2"}), "{volume}");
}

#[test]
fn host_volumes_are_created_retained_and_removed() {
    let folder = Folder::new("agent-volumes");
    let data = folder.path().join("data").display().to_string();
    let config = format!(
        "data_dir = \"{data}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n}}\nadvertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n"
    );
    let agent = Agent::start(&folder, &config, &[]);
    let node_is_ready = |agent: &Agent| {
        let nodes = agent.get("/v1/nodes");
        if nodes[0]["Status"] == "ready" { Ok(()) } else { Err(nodes.to_string()) }
    };
    wait_for("a ready node", || node_is_ready(&agent));
    let ask = |agent: &Agent, volume: Json| agent.send("PUT", "/v1/volume/host/create", &json!({ "Volume": volume }));
    let wrong = ask(&agent, json!({ "Name": "v", "Parameters": { "mode": "rwx" } }));
    assert_eq!((wrong.status, wrong.body.as_str()), (400, "invalid value for \"mode\": \"rwx\""));
    let made = ask(&agent, json!({ "Name": "v", "Parameters": { "mode": "0750" } }));
    let volume = &made.json()["Volume"];
    assert_eq!(
        (made.status, &volume["State"], &volume["PluginID"]),
        (200, &json!("pending"), &json!("mkdir")),
        "{made:?}"
    );
    let path = Path::new(volume["HostPath"].as_str().expect("a path"));
    let id = volume["ID"].as_str().expect("an ID");
    assert!(path.is_dir() && path.ends_with(format!("data/host_volumes/{id}")), "{path:?}");
    std::fs::write(path.join("content"), "x").expect("content");
    let twin = ask(&agent, json!({ "Name": "v" }));
    let text = "could not place volume \"v\": no node meets constraints: ";
    assert!(twin.status == 500 && twin.body.starts_with(text), "{}", twin.body);
    let is_ready = |agent: &Agent| {
        let volume = agent.get(&format!("/v1/volume/host/{id}"));
        if volume["State"] == "ready" { Ok(()) } else { Err(volume.to_string()) }
    };
    wait_for("a ready volume", || is_ready(&agent));
    drop(agent);

    let agent = Agent::start(&folder, &config, &[]);
    wait_for("a ready node", || node_is_ready(&agent));
    wait_for("a ready volume", || is_ready(&agent));
    let node = &agent.list("/v1/nodes")[0];
    assert_eq!(node["HostVolumes"]["v"]["ID"], id);
    assert!(path.join("content").is_file());
    let gone = agent.send("DELETE", &format!("/v1/volume/host/{id}"), &json!({}));
    assert!(gone.status == 200 && gone.json()["Index"].is_u64() && !path.exists(), "{}", gone.body);
    assert_eq!(agent.get("/v1/volumes?type=host"), json!([]));
}
