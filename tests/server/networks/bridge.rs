//! Network mode `bridge`, and networks that an operator wrote.

use std::net::SocketAddr;

use super::*;
use encamp_test_support::notes;

fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), port)
}

#[test]
fn tasks_in_bridges_are_reached_by_ports_and_addresses() {
    let Some(net) = Net::new("net-bridge") else { return };
    let agent = net.start();
    let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let node = agent.get(&format!("/v1/node/{node}"));
    for plugin in ["bridge", "firewall", "host-local", "loopback", "portmap"] {
        let version = &node["Attributes"][format!("plugins.cni.version.{plugin}")];
        assert!(version.as_str().is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit())), "{plugin}: {version}");
    }
    assert_eq!(node["Attributes"]["nomad.bridge.hairpin_mode"], "false");
    for list in ["Networks", "NodeNetworks"] {
        let modes = node["NodeResources"][list].as_array().expect("networks");
        assert!(modes.iter().any(|n| n["Mode"] == "bridge"), "{list}: {modes:?}");
    }

    let network = || {
        json!({
            "Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 8000}], "Hostname": "web-${NOMAD_ALLOC_INDEX}",
            "DNS": {"Servers": ["192.0.2.53"], "Searches": ["${NOMAD_JOB_ID}.example"]},
        })
    };
    let mut one = group("one", network(), &server("first"));
    one["Services"] = json!([
        {"Name": "own", "Provider": "nomad", "PortLabel": "http", "AddressMode": "alloc"},
        {"Name": "own6", "Provider": "nomad", "PortLabel": "http", "AddressMode": "alloc_ipv6"},
        {"Name": "host", "Provider": "nomad", "PortLabel": "http", "Checks": [
            {"Name": "up", "Type": "http", "Path": "/index", "Interval": 1_000_000_000, "Timeout": 2_000_000_000_i64},
        ]},
    ]);
    let two = group("two", network(), &server("second"));
    register(&agent, &job("web", &[one, two]));
    let (one, two) =
        (alloc(&agent, "web", "one", ClientStatus::Running), alloc(&agent, "web", "two", ClientStatus::Running));
    for (alloc, content) in [(&one, "first"), (&two, "second")] {
        let (v4, v6) = (own_address(alloc, "Address"), own_address(alloc, "AddressIPv6"));
        assert!(v4.starts_with(net.subnet.trim_end_matches("0/24")), "{v4}");
        assert!(v6.starts_with(net.subnet_ipv6.trim_end_matches(":/64")), "{v6}");
        assert_eq!(alloc["NetworkStatus"]["InterfaceName"], "eth0");
        assert_eq!(alloc["NetworkStatus"]["DNS"]["Servers"], json!(["192.0.2.53"]));
        assert_eq!(alloc["NetworkStatus"]["DNS"]["Searches"], json!(["web.example"]));
        serves(at(&v4, 8000), content);
        serves(at(&v6, 8000), content);
        serves(host_port(alloc, "http"), content);
        let dir = net.folder.path().join("data/alloc").join(id(alloc)).join("main/local/env");
        let env = std::fs::read_to_string(dir).expect("the environment");
        let host = host_port(alloc, "http");
        for line in [
            format!("NOMAD_ALLOC_IP_http={v4}"),
            format!("NOMAD_ALLOC_ADDR_http={v4}:8000"),
            "NOMAD_ALLOC_INTERFACE_http=eth0".into(),
            "NOMAD_PORT_http=8000".into(),
            format!("NOMAD_HOST_PORT_http={}", host.port()),
            format!("NOMAD_ADDR_http={host}"),
        ] {
            assert!(env.lines().any(|l| l == line), "{line}\n{env}");
        }
    }
    let service = |name: &str| agent.get(&format!("/v1/service/{name}"))[0].clone();
    assert_eq!((&service("own")["Address"], &service("own")["Port"]), (&one["NetworkStatus"]["Address"], &json!(8000)));
    assert_eq!(service("own6")["Address"], one["NetworkStatus"]["AddressIPv6"]);
    assert_eq!(service("host")["Port"], json!(host_port(&one, "http").port()));
    wait_for("the check succeeds", || {
        let checks = agent.get(&format!("/v1/client/allocation/{}/checks", id(&one)));
        let good = checks.as_object().is_some_and(|c| c.values().any(|c| c["Status"] == "success"));
        if good { Ok(()) } else { Err(checks.to_string()) }
    });
    for (program, subnet) in [("iptables", &net.subnet), ("ip6tables", &net.subnet_ipv6)] {
        let rules = output(program, &["-t", "filter", "-S", "NOMAD-ADMIN"]).1;
        let rule = format!("-A NOMAD-ADMIN -d {subnet} -o {} -j ACCEPT", net.bridge);
        assert_eq!(rules.lines().filter(|l| *l == rule).count(), 1, "{rules}");
    }
    assert!(!net.leaks(&[id(&one), id(&two)]).is_empty(), "leaks are found");
    stop(&agent, "web");
    let ended = alloc(&agent, "web", "one", ClientStatus::Complete);
    assert_eq!(ended["NetworkStatus"], one["NetworkStatus"], "the addresses stay known");
    net.nothing_left(&[id(&one), id(&two)]);
}

/// What a task with a file system of its own shows of its network.
const SHOWS: &str = "exec > local/known; cat /proc/sys/kernel/hostname /etc/resolv.conf /etc/hosts; \
                     echo x >> /etc/hosts || echo unchanged; echo done; exec sleep 600";

#[test]
fn isolated_tasks_have_host_names_and_dns_settings() {
    let Some(net) = Net::new("net-names") else { return };
    let agent = net.start();
    let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let driver = agent.get(&format!("/v1/node/{node}"))["Drivers"]["exec"].clone();
    if driver["Healthy"] != true {
        notes::skipped("host names of isolated tasks", &format!("the driver exec is not healthy here: {driver}"));
        return;
    }
    let network = json!({
        "Mode": "bridge", "Hostname": "web-${NOMAD_ALLOC_INDEX}",
        "DNS": {"Servers": ["192.0.2.53"], "Searches": ["${NOMAD_JOB_ID}.example"], "Options": ["ndots:2"]},
    });
    let mut one = group("one", network, SHOWS);
    one["Tasks"][0]["Driver"] = json!("exec");
    register(&agent, &job("names", &[one]));
    let alloc = alloc(&agent, "names", "one", ClientStatus::Running);
    let file = net.folder.path().join("data/alloc").join(id(&alloc)).join("main/local/known");
    let mut known = String::new();
    wait_for("what the task knows", || {
        known = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        if known.ends_with("done\n") { Ok(()) } else { Err(known.clone()) }
    });
    let address = own_address(&alloc, "Address");
    let wanted = format!(
        "web-0\nnameserver 192.0.2.53\nsearch names.example\noptions ndots:2\n127.0.0.1 localhost\n\
         ::1 localhost ip6-localhost ip6-loopback\n{address} web-0\nunchanged\ndone\n"
    );
    assert_eq!(known, wanted);
    // Commands beside it are in the same network.
    let line =
        ["alloc", "exec", "-task", "main", id(&alloc), "/bin/cat", "/proc/sys/kernel/hostname", "/proc/net/fib_trie"];
    let ran = run_for(COMMAND, net.folder.path(), &line, &[("NOMAD_ADDR", &agent.address())], "");
    assert!(ran.exit == 0 && ran.stdout.starts_with("web-0\n") && ran.stdout.contains(&address), "{}", ran.stdout);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
    assert_ne!(host, "web-0\n", "the name of the host is another one");
    stop(&agent, "names");
    net.nothing_left(&[id(&alloc)]);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn networks_of_the_operator_get_ports_and_arguments() {
    let Some(net) = Net::new("net-cni") else { return };
    net.plugin(
        "note",
        "with open(here + '/' + command, 'a') as f:\n    f.write(json.dumps({'config': config, 'env': dict(os.environ)}) + '\\n')\n\
         if command == 'ADD': result()",
    );
    let subnet = &net.subnet;
    net.network(
        "20-mine.conflist",
        &json!({"cniVersion": "0.4.0", "name": "mine", "plugins": [
            {"type": "loopback"},
            {"type": "bridge", "bridge": net.bridge, "isGateway": true, "ipam": {
                "type": "host-local", "subnet": subnet, "dataDir": "/var/run/cni",
            }},
            {"type": "note", "capabilities": {"portMappings": true, "bandwidth": true}, "more": [1]},
        ]}),
    );
    net.network("10-broken.conf", &json!("x"));
    let mut agent = net.start();
    assert!(agent.log().contains("10-broken.conf:1:"), "{}", agent.log());
    let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    let networks = agent.get(&format!("/v1/node/{node}"))["NodeResources"]["Networks"].clone();
    assert!(networks.as_array().expect("networks").iter().any(|n| n["Mode"] == "cni/mine"), "{networks}");

    let network = json!({
        "Mode": "cni/mine", "DynamicPorts": [{"Label": "http", "To": 8000}],
        "CNI": {"Args": {"color": "${NOMAD_ALLOC_INDEX}-red"}},
    });
    register(&agent, &job("mine", &[group("g", network, &server("mine"))]));
    let alloc = alloc(&agent, "mine", "g", ClientStatus::Running);
    serves(at(&own_address(&alloc, "Address"), 8000), "mine");
    let note = |operation: &str| -> Json {
        let text = std::fs::read_to_string(net.folder.path().join(operation)).unwrap_or_default();
        assert_eq!(text.lines().count(), 1, "{operation}: {text}");
        serde_json::from_str(&text).expect("JSON")
    };
    let added = note("ADD");
    let port = host_port(&alloc, "http").port();
    let mapping = |protocol: &str| json!({"hostPort": port, "containerPort": 8000, "protocol": protocol});
    assert_eq!(
        added["config"]["runtimeConfig"],
        json!({"portMappings": [mapping("tcp"), mapping("udp")]}),
        "only what is known"
    );
    assert_eq!((&added["config"]["name"], &added["config"]["more"]), (&json!("mine"), &json!([1])));
    assert_eq!(added["config"]["prevResult"]["ips"].as_array().map(Vec::len), Some(1));
    assert_eq!(added["config"].get("capabilities"), None);
    let env = &added["env"];
    let wanted = format!(
        "IgnoreUnknown=true;NOMAD_REGION=global;NOMAD_NAMESPACE=default;NOMAD_JOB_ID=mine;NOMAD_GROUP_NAME=g;\
         NOMAD_ALLOC_ID={};color=0-red",
        id(&alloc)
    );
    assert_eq!(env["CNI_ARGS"], wanted.as_str());
    assert_eq!((&env["CNI_IFNAME"], &env["CNI_CONTAINERID"]), (&json!("eth0"), &json!(id(&alloc))));
    assert_eq!(env["CNI_NETNS"], format!("/var/run/netns/{}", id(&alloc)).as_str());
    stop(&agent, "mine");
    super::alloc(&agent, "mine", "g", ClientStatus::Complete);
    net.nothing_left(&[id(&alloc)]);
    assert_eq!(note("DEL")["config"]["prevResult"], added["config"]["prevResult"]);
    let addresses = std::fs::read_dir("/var/run/cni/mine").into_iter().flatten().flatten();
    let prefix = net.subnet.trim_end_matches("0/24");
    assert_eq!(addresses.filter(|a| a.file_name().display().to_string().starts_with(prefix)).count(), 0);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn many_allocations_have_networks_at_the_same_time() {
    let Some(net) = Net::new("net-many") else { return };
    let agent = net.start();
    let network = json!({"Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 8000}]});
    let groups: Vec<Json> = (0..8).map(|n| group(&format!("g{n}"), network.clone(), "exec sleep 600")).collect();
    register(&agent, &job("many", &groups));
    let allocs: Vec<Json> = (0..8).map(|n| alloc(&agent, "many", &format!("g{n}"), ClientStatus::Running)).collect();
    let mut addresses: Vec<String> = allocs.iter().map(|a| own_address(a, "Address")).collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 8, "{addresses:?}");
    stop(&agent, "many");
    let ids: Vec<&str> = allocs.iter().map(id).collect();
    net.nothing_left(&ids);
}
