//! Agents that are killed by SIGKILL: networks stay, or are removed by the next run.

use super::*;
use crate::member::{Member, Role, node_ready, running};

fn bridge() -> Json {
    json!({"Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 8000}]})
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_killed_agent_finds_its_networks_again() {
    let Some(net) = Net::new("net-killed") else { return };
    let mut agent = net.start();
    register(&agent, &job("web", &[group("g", bridge(), &server("still here"))]));
    let first = alloc(&agent, "web", "g", ClientStatus::Running);
    let host = host_port(&first, "http");
    serves(host, "still here");
    agent.kill();
    serves(host, "still here");
    let agent = net.start_again();
    let again = alloc(&agent, "web", "g", ClientStatus::Running);
    assert_eq!((id(&again), &again["NetworkStatus"]), (id(&first), &first["NetworkStatus"]));
    serves(host, "still here");
    // Collection, too, leaves nothing.
    stop(&agent, "web");
    alloc(&agent, "web", "g", ClientStatus::Complete);
    let path = format!("/v1/client/allocation/{}/gc", id(&first));
    wait_for("the allocation is collected", || {
        let reply = agent.send("PUT", &path, &Json::Null);
        if reply.status == 200 { Ok(()) } else { Err(reply.body) }
    });
    net.nothing_left(&[id(&first)]);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_job_that_was_stopped_while_the_node_was_down_leaves_nothing() {
    let Some(net) = Net::new("net-down") else { return };
    let mut server_agent = Member::new("net-down-server", Role::Server { expect: 1, join: Vec::new() });
    server_agent.start();
    let mut node = Member::new("net-down-node", Role::Node { servers: vec![server_agent.rpc()] });
    node.more = format!("client {{\n{}}}\n", net.settings());
    node.start();
    node_ready(&server_agent);
    register(server_agent.agent(), &job("web", &[group("g", bridge(), &server("x"))]));
    let alloc = running(&server_agent, "web");
    let record = node.data().join("client/networks").join(format!("{alloc}.json"));
    assert!(record.exists());
    node.kill();
    stop(server_agent.agent(), "web");
    assert!(!net.leaks(&[&alloc]).is_empty());
    node.start();
    net.nothing_left(&[&alloc]);
    wait_for("the record is removed", || if record.exists() { Err(String::new()) } else { Ok(()) });
    node.end(rustix::process::Signal::TERM);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_network_that_was_being_made_is_made_anew() {
    let Some(net) = Net::new("net-midway") else { return };
    let note = "open(here + '/' + command, 'a').write(str(os.getpid()) + '\\n')\n\
                if command == 'ADD' and not os.path.exists(here + '/go'): time.sleep(600)\n\
                if command == 'ADD': result()";
    net.plugin("slow", note);
    let subnet = &net.subnet;
    net.network(
        "n.conflist",
        &json!({"cniVersion": "0.4.0", "name": "n", "plugins": [
            {"type": "bridge", "bridge": net.bridge, "isGateway": true, "ipMasq": true, "ipam": {
                "type": "host-local", "subnet": subnet, "dataDir": net.folder.path().join("ipam"),
            }},
            {"type": "slow"},
        ]}),
    );
    let calls = |operation: &str| {
        std::fs::read_to_string(net.folder.path().join(operation)).unwrap_or_default().lines().count()
    };
    let mut agent = net.start();
    register(&agent, &job("slow", &[group("g", json!({"Mode": "cni/n"}), "exec sleep 600")]));
    wait_for("the plugin hangs", || if calls("ADD") == 1 { Ok(()) } else { Err("not yet".into()) });
    let alloc = alloc(&agent, "slow", "g", ClientStatus::Pending);
    agent.kill();
    let old = std::fs::read_to_string(net.folder.path().join("ADD")).expect("a process");
    assert!(Path::new("/proc").join(old.trim()).exists(), "the call goes on");
    net.folder.file("go", "");
    let agent = net.start_again();
    let running = super::alloc(&agent, "slow", "g", ClientStatus::Running);
    assert_eq!(id(&running), id(&alloc));
    super::plugins::no_calls(id(&alloc));
    assert_eq!((calls("ADD"), calls("DEL")), (2, 1));
    let leased = || {
        let names = std::fs::read_dir(net.folder.path().join("ipam/n")).into_iter().flatten().flatten();
        let names = names.map(|n| n.file_name().display().to_string());
        names.filter(|n| n.starts_with(|c: char| c.is_ascii_digit())).collect::<Vec<_>>()
    };
    assert_eq!(leased(), [own_address(&running, "Address")], "one address");
    stop(&agent, "slow");
    net.nothing_left(&[id(&alloc)]);
    assert_eq!(leased(), Vec::<String>::new());
}
