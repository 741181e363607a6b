//! Merging, units, errors with places: the table of `docs/spec/agent-config.md`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use encamp_model::{HOUR, MINUTE};

/// Files in a folder that goes with the test.
struct Files(PathBuf);

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("encamp-config-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        Files(root)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The configuration of texts in order.
pub(super) fn merged(texts: &[&str]) -> Config {
    let names: Vec<String> = (0..texts.len()).map(|i| format!("{i}.hcl")).collect();
    let files = Files::new(&names.iter().map(String::as_str).zip(texts.iter().copied()).collect::<Vec<_>>());
    let sources = Sources { paths: names.iter().map(|n| files.path(n)).collect(), ..Sources::default() };
    load(&sources).unwrap_or_else(|e| panic!("{texts:?}: {e}")).config
}

/// Why a text is refused, without the names of the file in front.
pub(super) fn refused(text: &str) -> String {
    let files = Files::new(&[("a.hcl", text)]);
    let path = files.path("a.hcl");
    let error = load(&Sources { paths: vec![path.clone()], ..Sources::default() }).expect_err(text).to_string();
    let frame = format!("Error loading configuration from {path}: Error loading {path}: ");
    error.strip_prefix(&frame).unwrap_or_else(|| panic!("{error}")).replace(&path, "a.hcl")
}

pub(super) fn first_error(config: &Config) -> Option<String> {
    validate(config).into_iter().find_map(|f| match f {
        Finding::Error(e) => Some(e.to_string()),
        Finding::Warning(_) => None,
    })
}

/// The checks at the start on a machine with four processors.
fn started(config: &Config) -> Result<(), RefusedStart> {
    check_start(config, 4)
}

#[test]
fn nothing_gives_the_defaults() {
    let c = merged(&[""]);
    assert_eq!((c.region.as_str(), c.datacenter.as_str(), c.log_level.as_str()), ("global", "dc1", "INFO"));
    assert_eq!((c.ports.http, c.ports.rpc, c.ports.serf), (4646, 4647, 4648));
    assert_eq!(c.server.heartbeat_grace, Duration::from_secs(10));
    assert_eq!(c.client.gc_interval, Duration::from_secs(60));
    assert_eq!((c.server.search.limit_results, c.ui.enabled, c.server.num_schedulers), (100, true, None));
    assert_eq!(c.settings, Settings::default());
    assert_eq!(c.client.chroot_env.len(), 9);
    assert_eq!(c.server.default_scheduler_config, None);
}

#[test]
fn dev_mode_has_its_own_defaults_and_files_override_them() {
    let files = Files::new(&[("a.hcl", "log_level = \"WARN\"\nclient { gc_max_allocs = 7 }")]);
    let sources = Sources { dev: true, paths: vec![files.path("a.hcl")], ..Sources::default() };
    let c = load(&sources).expect("a configuration").config;
    assert!(c.dev && c.server.enabled && c.client.enabled && c.enable_debug && c.telemetry.prometheus_metrics);
    assert_eq!((c.log_level.as_str(), c.client.gc_max_allocs, c.bind_addr.as_str()), ("WARN", 7, "127.0.0.1"));
    assert_eq!(c.client.options.get("driver.raw_exec.enable").map(String::as_str), Some("true"));
    assert_eq!(c.client.gc_interval, Duration::from_secs(600));
    assert!(validate(&c).is_empty(), "{:?}", validate(&c));
}

/// `docs/spec/agent-config.md §12`, example 2.
#[test]
fn files_and_flags_merge_as_the_example_tells() {
    let files = Files::new(&[
        (
            "a.hcl",
            "leave_on_interrupt = true
             client {
               meta { k1 = \"a\" k2 = \"a\" }
               host_volume \"v\" { path = \"/srv/a\" read_only = true }
             }"
            .replace("\" k2", "\"\n k2")
            .replace("\" read", "\"\n read")
            .as_str(),
        ),
        (
            "b.json",
            r#"{"leave_on_interrupt": false, "client": {"meta": {"k2": "b"}, "host_volume": [{"v": {"path": "/srv/b"}}]}}"#,
        ),
    ]);
    let mut flags = SettingsFile::default();
    flags.datacenter.0 = Some("Flag".into());
    let paths = vec![files.path("a.hcl"), files.path("b.json")];
    let c = load(&Sources { paths: paths.clone(), flags, ..Sources::default() }).expect("a configuration").config;
    assert!(c.leave_on_interrupt, "false does not override true");
    assert_eq!(c.client.meta, [("k1".into(), "a".into()), ("k2".into(), "b".into())].into());
    let volume = &c.client.host_volume["v"];
    assert_eq!((volume.path.as_str(), volume.read_only), ("/srv/b", false), "replaced as a whole");
    assert_eq!((c.datacenter.as_str(), &c.files), ("Flag", &paths));
}

#[test]
fn each_kind_merges_by_its_rule() {
    let c = merged(&[
        "name = \"a\"\nlog_rotate_bytes = 5\nlimits { http_max_conns_per_client = 7 }\ndisable_update_check = true
         client { servers = [\"x\"]\n server_join { retry_join = [\"a\", \"b\"] } }
         telemetry { prefix_filter = [\"+a\"]\n in_memory_collection_interval = \"5s\" }
         plugin \"docker\" { config { a = 1 } }\nserver { num_schedulers = 4\n enabled_schedulers = [\"batch\"] }",
        "name = \"\"\nlog_rotate_bytes = 0\nlimits { http_max_conns_per_client = 0 }\ndisable_update_check = false
         client { servers = [\"y\"]\n server_join { retry_join = [\"c\"] } }
         telemetry { prefix_filter = [\"-b\"]\n in_memory_collection_interval = \"0s\" }
         plugin \"docker\" { args = [\"-x\"] }\nserver { num_schedulers = 0\n enabled_schedulers = [\"service\"] }",
    ]);
    assert_eq!((c.name.as_str(), c.log_rotate_bytes), ("a", 5), "empty and 0 never override");
    assert_eq!((c.limits.http_max_conns_per_client, c.disable_update_check), (0, false), "what is explicit does");
    assert_eq!(c.client.servers, ["x", "y"], "appended");
    assert_eq!(c.client.server_join.retry_join, ["c"], "replaced");
    assert_eq!(c.telemetry.prefix_filter, ["-b"]);
    assert_eq!(c.telemetry.in_memory_collection_interval, Duration::from_secs(5));
    let docker = &c.plugin["docker"];
    assert_eq!((docker.args.len(), docker.config["a"].as_i64()), (1, Some(1)), "field by field");
    assert_eq!(c.server.num_schedulers, Some(0), "0 pauses");
    assert_eq!(c.server.enabled_schedulers, ["batch", "service"]);
}

#[test]
fn some_blocks_replace_the_former_as_a_whole() {
    let c = merged(&["server { search { limit_query = 33 } }\nui { label { text = \"x\" } }"]);
    assert_eq!((c.server.search.limit_query, c.server.search.limit_results), (33, 0));
    assert!(!c.server.search.fuzzy_enabled && !c.ui.enabled);
    let c = merged(&["server { default_scheduler_config { scheduler_algorithm = \"spread\" } }"]);
    let scheduler = c.server.default_scheduler_config.clone().expect("given");
    assert_eq!(scheduler.scheduler_algorithm, "spread");
    assert!(!scheduler.preemption_config.system_scheduler_enabled, "exactly what is written");
    let c = merged(&["client { bind_wildcard_default_host_network = false\n nomad_service_discovery = false }"]);
    assert!(c.client.bind_wildcard_default_host_network && !c.client.nomad_service_discovery);
}

#[test]
fn values_are_taken_from_other_types_where_nothing_is_lost() {
    let c = merged(&["Log_Level = \"warn\"\nclient { enabled = \"1\"\n gc_max_allocs = \"0x10\"\n stats { x = 1 }
        gc_disk_usage_threshold = \"75.5\"\n meta { a = 1\n b = true\n c = 1.50 }
        options { \"driver.raw_exec.enable\" = 1 } }
        server { enabled = 1\n job_max_source_size = \"2MiB\"\n eval_gc_threshold = \"1h30m\" }"]);
    assert_eq!(c.log_level, "warn");
    assert!(c.client.enabled && c.server.enabled);
    assert_eq!((c.client.gc_max_allocs, c.client.gc_disk_usage_threshold), (16, 75.5));
    let meta: Vec<&str> = c.client.meta.values().map(String::as_str).collect();
    assert_eq!(meta, ["1", "true", "1.50"], "as written");
    assert_eq!(c.client.options["driver.raw_exec.enable"], "1");
    assert_eq!((c.server.job_max_source_size, c.server.eval_gc_threshold), (2_097_152, 90 * MINUTE));
}

#[test]
fn json_labels_may_be_written_both_ways() {
    for text in [
        r#"{"client": {"host_volume": [{"v": {"path": "/a"}}], "reserved": [{"cpu": 5}]}, "plugin": [{"x": {"config": [{"a": 1}]}}]}"#,
        r#"{"client": {"host_volume": {"v": {"path": "/a"}}, "reserved": {"cpu": 5}}, "plugin": {"x": {"config": {"a": 1}}}}"#,
    ] {
        let c = merged(&[text]);
        assert_eq!((c.client.host_volume["v"].path.as_str(), c.client.reserved.cpu), ("/a", 5), "{text}");
        assert!(c.plugin.contains_key("x"));
    }
}

#[test]
fn a_block_may_stand_twice_and_a_scalar_may_not() {
    let c = merged(&["client { enabled = true }\nclient { node_class = \"x\" }"]);
    assert!(c.client.enabled && c.client.node_class == "x");
    assert_eq!(refused("region = \"a\"\nregion = \"b\""), "unexpected keys region (at a.hcl:2:1)");
    assert_eq!(
        refused("client {\n  node_class = 1\n  node_class = 2\n}"),
        "client unexpected keys node_class (at a.hcl:3:3)"
    );
}

#[test]
fn wrong_content_is_told_with_its_place() {
    for (text, want) in [
        ("a = 1\n b = 2", "unexpected keys a, b (at a.hcl:1:1)"),
        ("client {\n  gc_intervall = \"1s\"\n}", "client unexpected keys gc_intervall (at a.hcl:2:3)"),
        ("client { template { wait { x = 1 } } }", "client.template.wait unexpected keys x (at a.hcl:1:28)"),
        ("dev_mode = true", "unexpected keys dev_mode (at a.hcl:1:1)"),
        ("log_json = \"yes\"", "log_json: decodeBool: Unknown value for boolean: \"yes\" (at a.hcl:1:12)"),
        ("ports { http = 1.5 }", "ports.http: expected an integer, found 1.5 (at a.hcl:1:16)"),
        ("client { gc_interval = 60 }", "gc_interval can't parse time duration 60 (at a.hcl:1:24)"),
        (
            "server {\n heartbeat_grace = \"1 hour\" }",
            "server.heartbeat_grace can't parse time duration 1 hour (at a.hcl:2:20)",
        ),
        ("client { servers = \"x\" }", "client.servers: expected a list, found \"x\" (at a.hcl:1:20)"),
        ("client = 5", "client: expected a block, found 5 (at a.hcl:1:10)"),
        ("region = { a = 1 }", "region: expected text, found a block (at a.hcl:1:10)"),
        (
            "client { artifact { http_max_size = \"x\" } }",
            "client.artifact.http_max_size: \"x\" is not a size such as 512, 100MB or 1GiB (at a.hcl:1:37)",
        ),
        (
            "server { heartbeat_grace = \"-1s\" }",
            "server.heartbeat_grace must not be negative, got -1s (at a.hcl:1:28)",
        ),
        (
            "server { node_gc_threshold = \"1 day\" }",
            "server.node_gc_threshold can't parse time duration 1 day (at a.hcl:1:30)",
        ),
    ] {
        assert_eq!(refused(text), want, "{text}");
    }
    let syntax = refused("client {\n  enabled = yes\n}");
    assert_eq!(syntax, "failed to decode HCL file a.hcl: At 2:13: yes is not a value; text needs quotes");
}

#[test]
fn folders_are_read_in_order_and_odd_names_left_out() {
    let files = Files::new(&[
        ("d/b.json", "{\"region\": \"b\"}"),
        ("d/a.hcl", "region = \"a\"\ndatacenter = \"a\""),
        ("d/c.hcl~", "region = \"c\""),
        ("d/.#x.hcl", "region = \"c\""),
        ("d/#x.hcl#", "region = \"c\""),
        ("d/z.txt", "region = \"z\""),
        ("d/sub/z.hcl", "region = \"z\""),
        ("d/dir.hcl/x", ""),
        ("empty/x.txt", ""),
    ]);
    let sources = Sources { paths: vec![files.path("d"), files.path("empty")], ..Sources::default() };
    let loaded = load(&sources).expect("a configuration");
    assert_eq!((loaded.config.region.as_str(), loaded.config.datacenter.as_str()), ("b", "a"));
    assert_eq!(loaded.config.files, [files.path("d/a.hcl"), files.path("d/b.json")]);
    assert_eq!(loaded.warnings, [format!("No configuration loaded from {}", files.path("empty"))]);
    let missing = load(&Sources { paths: vec!["/nosuch".into()], ..Sources::default() }).expect_err("missing");
    assert_eq!(
        missing.to_string(),
        "Error loading configuration from /nosuch: stat /nosuch: no such file or directory"
    );
}

#[test]
fn validation_has_the_texts_of_the_reference() {
    let server = "data_dir = \"/d\"\nserver {\n enabled = true\n bootstrap_expect = 1\n}\n";
    let client = "data_dir = \"/d\"\nclient {\n enabled = true\n";
    for (text, want) in [
        (String::new(), "Must specify either server, client or dev mode for the agent."),
        (format!("{server}datacenter = \"a*\""), "Datacenter contains invalid characters (null or '*')"),
        (format!("{server}region = \"a\0\""), "Region contains invalid characters"),
        (
            format!("{server}telemetry {{ in_memory_collection_interval = \"2m\" }}"),
            "telemetry block invalid: telemetry in-memory collection interval cannot be greater than retention period",
        ),
        (
            format!("{server}telemetry {{ in_memory_retention_period = \"-1s\" }}"),
            "telemetry block invalid: telemetry in-memory retention period must be greater than zero",
        ),
        (
            "data_dir = \"relative/dir\"\nserver { enabled = true }".into(),
            "data-dir must be given as an absolute path: got relative/dir",
        ),
        (format!("{client} meta {{ \"a..b\" = 1 }}\n}}"), "Invalid Client.Meta key: a..b"),
        (
            format!("{client} node_pool = \"all\"\n}}"),
            "Invalid node pool: node is not allowed to register in node pool \"all\"",
        ),
        (
            format!("{client} node_pool = \"a b\"\n}}"),
            "Invalid node pool: invalid name \"a b\", must match regex ^[a-zA-Z0-9-_]{1,128}$",
        ),
        (format!("{client} host_volume \"v\" {{}}\n}}"), "Missing path in host_volume config"),
        (
            format!("{client} min_dynamic_port = 30000\n max_dynamic_port = 20000\n}}"),
            "Invalid dynamic port range: min_dynamic_port=30000 and max_dynamic_port=20000",
        ),
        (format!("{client} min_dynamic_port = 70000\n}}"), "Invalid dynamic port range: min_dynamic_port=70000"),
        (
            format!("{client} reserved {{ reserved_ports = \"1-,5\" }}\n}}"),
            "reserved.reserved_ports \"1-,5\" invalid: strconv.ParseUint: parsing \"\": invalid syntax",
        ),
        (
            format!("{client} host_network \"n\" {{ reserved_ports = \"0\" }}\n}}"),
            "host_network[\"n\"].reserved_ports \"0\" invalid: port must be > 0",
        ),
        (
            format!("{client} preferred_address_family = \"x\"\n}}"),
            "Invalid preferred-address-family value: x (valid values: ipv4, ipv6)",
        ),
        ("server { enabled = true }".into(), "Must specify \"data_dir\" config option or \"data-dir\" CLI flag"),
        (
            "client { enabled = true }".into(),
            "Must specify the state, alloc-dir, alloc-mounts-dir and plugin-dir if data-dir is omitted.",
        ),
        (format!("{client}}}\nserver {{ bootstrap_expect = 3 }}"), "Bootstrap requires server mode to be enabled"),
        (
            format!("{server}server {{ protocol_version = 3 }}"),
            "Please remove deprecated protocol_version field from config.",
        ),
        (
            format!("{server}server {{ encrypt = \"abcd\" }}"),
            "Invalid encryption key: it has 3 bytes, not 16, 24 or 32",
        ),
        (
            format!("{server}server {{ default_scheduler_config {{ scheduler_algorithm = \"x\" }} }}"),
            "invalid scheduler algorithm: x",
        ),
        (
            format!("{server}log_level = \"loud\""),
            "Invalid log level: LOUD. Valid log levels are: [TRACE DEBUG INFO WARN ERROR OFF]",
        ),
        (
            format!("{server}server {{ retry_join = [\"a\"]\n server_join {{ retry_join = [\"b\"] }} }}"),
            "server_join and retry_join cannot both be defined; prefer setting the server_join block",
        ),
        (
            format!("{client} server_join {{ retry_join = [\"b\"]\n start_join = [\"a\"] }}\n}}"),
            "start_join is not supported for Nomad clients",
        ),
    ] {
        assert_eq!(first_error(&merged(&[&text])).as_deref(), Some(want), "{text}");
    }
    assert_eq!(first_error(&merged(&[server])), None);
    assert_eq!(
        first_error(&merged(&[&format!("{client} server_join {{ start_join = [\"a\"] }}\n}}")])),
        None,
        "a quirk"
    );
}

#[test]
fn warnings_come_in_order() {
    let c = merged(&[
        "data_dir = \"/d\"\nserver {\n enabled = true\n bootstrap_expect = 2\n oidc_issuer = \"http://x\"\n}",
    ]);
    let want = [
        "WARNING: mTLS is not configured - Nomad is not secure without mTLS!",
        "WARNING: Number of bootstrap servers should ideally be set to an odd number.",
        "WARNING: server.oidc_issuer \"http://x\" should use https",
    ];
    assert_eq!(validate(&c), want.map(|w| Finding::Warning(w.into())));
}

#[test]
fn the_start_is_checked_with_its_own_texts() {
    let server = "data_dir = \"/d\"\nserver {\n enabled = true\n";
    let setup = "Error starting agent: server config setup failed: ";
    for (text, want) in [
        (
            format!("{server} raft_protocol = 2\n}}"),
            format!("{setup}raft_protocol must be 3 in Nomad v1.4 and later, got 2"),
        ),
        (format!("{server} num_schedulers = 5\n}}"), format!("{setup}number of schedulers should be between 0 and 4")),
        (
            format!("{server} job_max_priority = 50\n}}"),
            format!("{setup}job_max_priority cannot be 50. Must be between 100 and 32766"),
        ),
        (
            format!("{server}}}\nlimits {{ rpc_max_conns_per_client = 10 }}"),
            format!("{setup}rpc_max_conns_per_client must be > 25; found: 10"),
        ),
        (
            format!("{server}}}\nlimits {{ http_max_conns_per_client = -1 }}"),
            "Error starting http server: http_max_conns_per_client must be >= 0".into(),
        ),
        (format!("{server} job_gc_interval = \"0s\"\n}}"), format!("{setup}job_gc_interval should be greater than 0s")),
        (
            format!("{server} csi_volume_claim_gc_interval = \"-5m\"\n}}"),
            format!("{setup}csi_volume_claim_gc_interval should be greater than 0s"),
        ),
        (
            format!("{server} root_key_gc_interval = \"0\"\n}}"),
            format!("{setup}root_key_gc_interval should be greater than 0s"),
        ),
        (
            format!("{server} plan_rejection_tracker {{ node_window = \"0s\" }}\n}}"),
            format!("{setup}plan_rejection_tracker.node_window must be greater than 0"),
        ),
        (
            format!("{server}}}\ntelemetry {{ prefix_filter = [\"x\"] }}"),
            "Error initializing telemetry: Filter rule must begin with either '+' or '-': \"x\"".into(),
        ),
        (
            "client { enabled = true\n host_volume \"v\" { path = \"/nosuch\" } }".into(),
            "Error starting agent: client setup failed: node setup failed: failed to validate volume v, err: \
             stat /nosuch: no such file or directory"
                .into(),
        ),
        (
            "client { enabled = true\n bridge_network_subnet = \"x\" }".into(),
            "Error starting agent: client setup failed: invalid bridge_network_subnet: invalid CIDR address: x".into(),
        ),
        (
            "client { enabled = true\n bridge_network_subnet_ipv6 = \"10.0.0.0/8\" }".into(),
            "Error starting agent: client setup failed: invalid bridge_network_subnet_ipv6: invalid CIDR address: \
             10.0.0.0/8"
                .into(),
        ),
    ] {
        assert_eq!(started(&merged(&[&text])).unwrap_err().to_string(), want, "{text}");
    }
    started(&merged(&[&format!("{server} num_schedulers = 0\n}}")])).unwrap();
}

#[test]
fn gc_thresholds_of_zero_and_less_are_taken() {
    let of = |text: &str| {
        let c = merged(&["server { node_gc_threshold = \"48h\" }", &format!("server {{ {text} }}")]);
        (c.server.node_gc_threshold, c.server.eval_gc_threshold)
    };
    assert_eq!(of(""), (48 * HOUR, HOUR));
    assert_eq!(of("node_gc_threshold = \"\""), (48 * HOUR, HOUR), "an empty text is none");
    assert_eq!(of("node_gc_threshold = \"0s\"\n eval_gc_threshold = \"0s\""), (0, 0));
    assert_eq!(of("node_gc_threshold = \"-1h\"\n eval_gc_threshold = \"-1ns\""), (-HOUR, -1));
    let text = "data_dir = \"/d\"\nserver {\n enabled = true\n job_gc_threshold = \"-1h\"\n}";
    started(&merged(&[text])).unwrap();
}

#[test]
fn port_lists_count_what_they_name() {
    assert_eq!(parse_ports("80,8000-8010").map(|p| p.len()), Ok(12));
    assert_eq!(parse_ports(" 2 , 1 - 3,2"), Ok(vec![1, 2, 3]));
    assert_eq!(parse_ports(""), Ok(vec![]));
    for (text, want) in [
        ("1,,2", "can't specify empty port"),
        ("0", "port must be > 0"),
        ("65536", "port must be < 65536 but found 65536"),
        ("5-3", "invalid range: ending value (3) less than starting (5) value"),
        ("1-2-3", "can only parse single port numbers or port ranges (ex. 80,100-120,150)"),
        ("1-,5", "strconv.ParseUint: parsing \"\": invalid syntax"),
        ("99999999999999999999", "strconv.ParseUint: parsing \"99999999999999999999\": value out of range"),
    ] {
        assert_eq!(parse_ports(text).map_err(|e| e.to_string()), Err(want.into()), "{text}");
    }
}

#[test]
fn the_shown_form_has_the_known_keys_and_no_secrets() {
    let mut c = merged(&["server { encrypt = \"cGxhaW5zZWNyZXQ=\" }\nacl { replication_token = \"plainsecret\" }
        telemetry { circonus_api_token = \"plainsecret\" }\nclient { host_volume \"v\" { path = \"/a\" } }"]);
    c.intro_token = "plainsecret".into();
    let json = c.json();
    assert_eq!(json["Version"]["Version"], COMPATIBLE_VERSION);
    assert_eq!(json["Client"]["GCInterval"], 60_000_000_000_u64);
    assert_eq!(json["Client"]["HostVolumes"][0]["Name"], "v");
    assert_eq!(json["ACL"]["ReplicationToken"], "<redacted>");
    for key in ["Region", "Datacenter", "LogLevel", "Addresses", "AdvertiseAddrs", "Telemetry", "Server", "UI", "Files"]
    {
        assert!(!json[key].is_null(), "{key}");
    }
    let shown = format!("{json} {c:?}");
    assert!(!shown.contains("plainsecret") && !shown.contains("cGxhaW5"), "{shown}");
}

#[test]
fn folders_are_below_the_data_folder_unless_they_are_given() {
    let c = merged(&["data_dir = \"/var/lib/x\"\nclient { alloc_dir = \"/fast/alloc\" }"]);
    assert_eq!(c.server_dir(), PathBuf::from("/var/lib/x/server"));
    assert_eq!(c.state_dir(), PathBuf::from("/var/lib/x/client"));
    assert_eq!((c.alloc_dir(), c.alloc_mounts_dir()), ("/fast/alloc".into(), "/var/lib/alloc_mounts".into()));
    assert_eq!(c.plugin_dir(), PathBuf::from("/var/lib/x/plugins"));
    assert_eq!(Config::default().state_dir(), PathBuf::new());
}

/// The configuration that exchanges of the reference were recorded with.
#[test]
fn the_recorded_agents_configuration_is_understood() {
    let text = include_str!("../../../../fixtures/agent/recorded.hcl");
    let c = merged(&[text]);
    assert_eq!((c.client.cpu_total_compute, c.client.disk_free_mb), (4000, 40_000));
    assert_eq!(c.client.options["driver.allowlist"], "raw_exec");
    assert_eq!(c.plugin["raw_exec"].config["enabled"], true);
    assert!(c.telemetry.disable_hostname && c.telemetry_settings().expect("settings").host.is_none());
}
