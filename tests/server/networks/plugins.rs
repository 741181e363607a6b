//! Plugins that fail, hang or print what is no result.

use super::*;

/// A network of one plugin.
fn list(net: &Net, plugin: &str) {
    net.network("n.conflist", &json!({"cniVersion": "0.4.0", "name": "n", "plugins": [{"type": plugin}]}));
}

fn network() -> Json {
    json!({"Mode": "cni/n"})
}

/// How often a plugin was called.
fn calls(net: &Net, operation: &str) -> usize {
    std::fs::read_to_string(net.folder.path().join(operation)).unwrap_or_default().lines().count()
}

/// Notes each call.
const NOTE: &str = "open(here + '/' + command, 'a').write(str(os.getpid()) + '\\n')\n\
                    calls = len(open(here + '/' + command).readlines())\n";

#[test]
fn a_plugin_that_fails_twice_is_called_three_times() {
    let Some(net) = Net::new("net-flaky") else { return };
    net.plugin(
        "flaky",
        &format!(
            "{NOTE}if command == 'ADD' and calls < 3:\n    print(json.dumps({{'code': 11, 'msg': 'not yet'}}))\n    sys.exit(1)\n\
             if command == 'ADD': result()"
        ),
    );
    list(&net, "flaky");
    let agent = net.start();
    register(&agent, &job("flaky", &[group("g", network(), "exec sleep 600")]));
    let alloc = alloc(&agent, "flaky", "g", ClientStatus::Running);
    assert_eq!(own_address(&alloc, "Address"), "192.0.2.7");
    assert_eq!((calls(&net, "ADD"), calls(&net, "DEL")), (3, 2));
    stop(&agent, "flaky");
    net.nothing_left(&[id(&alloc)]);
    assert_eq!(calls(&net, "DEL"), 3);
}

#[test]
fn errors_name_the_plugin_the_operation_and_its_text() {
    let Some(net) = Net::new("net-failing") else { return };
    let fail = "if command == 'ADD':\n    print(json.dumps({'code': 7, 'msg': 'no\\nroom', 'details': 'full'}))\n    sys.exit(1)";
    net.plugin("failing", fail);
    net.plugin("garbage", "if command == 'ADD': print('what?')");
    net.plugin("endless", "if command == 'ADD':\n    while True: print('x' * 4096)");
    net.plugin("quiet", "sys.stderr.write('some words\\n')\nif command == 'ADD': os.kill(os.getpid(), 9)");
    let agent = net.start();
    let cases = [
        ("failing", "network plugin \"failing\": ADD: exit status 1: no room; full (code 7)"),
        (
            "garbage",
            "network plugin \"garbage\": ADD: printed an invalid result: expected value at line 1 column 1: \"what?\"",
        ),
        ("endless", "network plugin \"endless\": ADD: printed more than 1048576 bytes and was killed"),
        ("quiet", "network plugin \"quiet\": ADD: killed by signal 9"),
        ("missing", "network plugin \"missing\": ADD: there is no such program in cni_path"),
    ];
    for (plugin, _) in cases {
        let list = json!({"cniVersion": "0.4.0", "name": plugin, "plugins": [{"type": plugin}]});
        net.network(&format!("{plugin}.conflist"), &list);
    }
    agent.signal(rustix::process::Signal::HUP);
    wait_for("the node has the networks", || {
        let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
        let node = agent.get(&format!("/v1/node/{node}"));
        let networks = node["NodeResources"]["Networks"].as_array().cloned().unwrap_or_default();
        let has = |name: &str| networks.iter().any(|n| n["Mode"] == format!("cni/{name}").as_str());
        if cases.iter().all(|(plugin, _)| has(plugin)) { Ok(()) } else { Err(format!("{networks:?}")) }
    });
    for (plugin, _) in cases {
        let network = json!({"Mode": format!("cni/{plugin}")});
        register(&agent, &job(plugin, &[group("g", network, "exec sleep 600")]));
    }
    for (plugin, wanted) in cases {
        let alloc = alloc(&agent, plugin, "g", ClientStatus::Failed);
        let text = shown(&alloc, "Setup Failure").join("\n");
        let wanted = format!("pre-run hook \"network\" failed: failed to configure network: {wanted}");
        assert!(text.contains(&wanted), "{text}\nwanted: {wanted}");
        if plugin != "missing" {
            // The record of a network that can't be removed stays, to be removed later.
            net.nothing_left(&[id(&alloc)]);
        }
    }
    // The list changes before the allocation starts.
    std::fs::write(net.config_dir().join("failing.conflist"), "{\n \"name\": \"failing\",\n oops").expect("a file");
    register(&agent, &job("broken", &[group("g", json!({"Mode": "cni/failing"}), "exec sleep 600")]));
    let alloc = alloc(&agent, "broken", "g", ClientStatus::Failed);
    let text = shown(&alloc, "Setup Failure").join("\n");
    assert!(text.contains("no network \"failing\" in") && text.contains("failing.conflist:3:2:"), "{text}");
}

#[test]
fn a_job_ends_while_a_plugin_hangs() {
    let Some(net) = Net::new("net-hanging") else { return };
    let script = format!(
        "import subprocess\n{NOTE}if command == 'ADD':\n    subprocess.Popen(['sleep', '600'])\n    time.sleep(600)"
    );
    net.plugin("hanging", &script);
    list(&net, "hanging");
    let agent = net.start();
    register(&agent, &job("hanging", &[group("g", network(), "exec sleep 600")]));
    wait_for("the plugin hangs", || if calls(&net, "ADD") == 1 { Ok(()) } else { Err("not yet".into()) });
    let alloc = alloc(&agent, "hanging", "g", ClientStatus::Pending);
    stop(&agent, "hanging");
    super::alloc(&agent, "hanging", "g", ClientStatus::Complete);
    net.nothing_left(&[id(&alloc)]);
    assert_eq!((calls(&net, "ADD"), calls(&net, "DEL")), (1, 1));
    no_calls(id(&alloc));
}

/// Waits until no call of a plugin for an allocation, and nothing that it started, runs.
pub(super) fn no_calls(alloc: &str) {
    let mark = format!("CNI_CONTAINERID={alloc}");
    wait_for("no call of a plugin runs", || {
        let all = procfs::process::all_processes().expect("processes").flatten();
        let environment = |p: &procfs::process::Process| std::fs::read(format!("/proc/{}/environ", p.pid)).ok();
        let of_call = |p: &procfs::process::Process| {
            environment(p).is_some_and(|e| e.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
        };
        let left: Vec<i32> = all.filter(of_call).map(|p| p.pid).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

#[test]
fn the_check_of_a_restart_makes_a_broken_network_again() {
    let Some(net) = Net::new("net-check") else { return };
    // It says a version whose CHECK is used, and calls the real one.
    net.plugin("bridge", "pass");
    let bridge = net.plugin_dir().join("bridge");
    let real = format!("{PLUGINS}/bridge");
    let script = format!(
        "#!/bin/sh\n[ -n \"$CNI_COMMAND\" ] || {{ echo CNI bridge plugin v1.3.0 >&2; exit 0; }}\n\
         echo $CNI_COMMAND >> {}/calls\nexec {real}\n",
        net.folder.path().display()
    );
    std::fs::write(&bridge, script).expect("a plugin");
    let subnet = &net.subnet;
    net.network(
        "n.conflist",
        &json!({"cniVersion": "0.4.0", "name": "n", "plugins": [
            {"type": "bridge", "bridge": net.bridge, "isGateway": true, "ipam": {
                "type": "host-local", "subnet": subnet, "dataDir": net.folder.path().join("ipam"),
            }},
        ]}),
    );
    let called = |operation: &str| {
        let text = std::fs::read_to_string(net.folder.path().join("calls")).unwrap_or_default();
        text.lines().filter(|l| *l == operation).count()
    };
    let mut agent = net.start();
    register(&agent, &job("checked", &[group("g", network(), "exec sleep 600")]));
    let first = alloc(&agent, "checked", "g", ClientStatus::Running);
    agent.kill();
    let mut agent = net.start_again();
    wait_for("a check", || if called("CHECK") == 1 { Ok(()) } else { Err(called("CHECK").to_string()) });
    let path = format!("/v1/allocation/{}", id(&first));
    assert_eq!(agent.get(&path)["NetworkStatus"], first["NetworkStatus"]);
    assert_eq!((called("ADD"), called("DEL")), (1, 0));
    agent.kill();
    let namespace = format!("/var/run/netns/{}", id(&first));
    assert!(output("nsenter", &[&format!("--net={namespace}"), "ip", "link", "del", "eth0"]).0);
    let made_again = |adds: usize| {
        wait_for("the interface is there", || {
            let (there, text) = output("nsenter", &[&format!("--net={namespace}"), "ip", "addr", "show", "eth0"]);
            let good = there && text.contains(net.subnet.trim_end_matches("0/24")) && called("ADD") == adds;
            if good { Ok(()) } else { Err(text) }
        });
    };
    let mut agent = net.start_again();
    made_again(2);
    assert_eq!((called("CHECK"), called("DEL")), (2, 1));
    // The namespace is gone, as after a boot of the host.
    agent.kill();
    assert!(output("ip", &["netns", "del", id(&first)]).0);
    let agent = net.start_again();
    made_again(3);
    assert_eq!((called("CHECK"), called("DEL")), (2, 2));
    stop(&agent, "checked");
    net.nothing_left(&[id(&first)]);
}
