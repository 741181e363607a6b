//! Requests that several agents have a part in: the rows of each in its audit log.

use std::fs;

use crate::agent::wait_for;
use crate::member::{Member, Role, leader, node_ready};
use crate::program::run_in;
use serde_json::{Value as Json, json};

/// What the rows of an agent say about jobs that are written.
fn rows(member: &Member) -> Vec<Json> {
    let text = fs::read_to_string(member.data().join("audit/audit.log")).expect("an audit log");
    let all = text.lines().map(|l| serde_json::from_str::<Json>(l).unwrap_or_else(|e| panic!("{e}: {l}")));
    let writes = all.filter(|r| r["payload"]["request"]["operation"] == "PUT");
    writes.map(|r| r["payload"].clone()).collect()
}

/// An agent with an audit log.
fn audited(mut member: Member) -> Member {
    member.more = "audit {\n  enabled = true\n}\n".into();
    member
}

#[test]
fn every_agent_that_handles_a_request_has_its_rows() {
    let server = |n: u32, join| audited(Member::new(&format!("audit-{n}"), Role::Server { expect: 3, join }));
    let mut servers = vec![server(0, vec![])];
    servers[0].start();
    for n in 1..3 {
        let join = vec![servers[0].serf()];
        servers.push(server(n, join));
        servers[n as usize].start();
    }
    let first = leader(&servers);
    let (follower, third) = ((first + 1) % 3, (first + 2) % 3);
    let mut node = audited(Member::new("audit-node", Role::Node { servers: vec![servers[follower].rpc()] }));
    node.start();

    let job = |id: &str| {
        json!({"Job": {"ID": id, "Name": id, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [
            {"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": "nosuch", "Resources": {"CPU": 20, "MemoryMB": 16}}]}
        ]}})
    };
    wait_for("a job is written", || match servers[follower].agent().send("PUT", "/v1/jobs", &job("web")) {
        reply if reply.status == 200 => Ok(()),
        reply => Err(format!("{reply:?}")),
    });
    let (here, there) = (rows(&servers[follower]), rows(&servers[first]));
    assert!(rows(&servers[third]).is_empty());
    let last = |rows: &[Json]| rows[rows.len() - 2..].to_vec();
    let ([received, complete], [received_there, complete_there]) =
        (<[Json; 2]>::try_from(last(&here)).expect("two rows"), <[Json; 2]>::try_from(last(&there)).expect("two rows"));
    let id = received["request"]["id"].as_str().expect("an ID").to_string();
    for (row, stage) in [
        (&received, "OperationReceived"),
        (&complete, "OperationComplete"),
        (&received_there, "OperationReceived"),
        (&complete_there, "OperationComplete"),
    ] {
        assert_eq!((row["request"]["id"].as_str(), row["stage"].as_str()), (Some(id.as_str()), Some(stage)));
        assert_eq!(
            row["request"]["request_meta"]["remote_address"],
            received["request"]["request_meta"]["remote_address"]
        );
        assert_eq!(row["request"]["route"], "/v1/jobs");
    }
    assert_eq!(here.iter().filter(|r| r["request"]["id"] == id.as_str()).count(), 2);
    assert_eq!(there.iter().filter(|r| r["request"]["id"] == id.as_str()).count(), 2);
    assert_eq!(complete["response"]["index"], complete_there["response"]["index"]);
    assert_eq!(
        (&complete["response"]["forwarded"], &complete_there["response"]["forwarded"]),
        (&json!(true), &Json::Null)
    );
    assert_eq!(complete_there["request"]["request_meta"]["forwarded"], true);
    assert_eq!(complete_there["request"]["parameters"]["job"], "web");

    // Through a node, and perhaps a follower that it has chosen, to the leader: the same request in all their logs.
    let sent = node.agent().send("PUT", "/v1/jobs", &job("second"));
    assert_eq!(sent.status, 200, "{sent:?}");
    let at_node = rows(&node);
    let id = &at_node.last().expect("a row")["request"]["id"];
    let agents = [(&node, true), (&servers[first], true), (&servers[follower], false), (&servers[third], false)];
    for (member, always) in agents {
        let of = rows(member).into_iter().filter(|r| &r["request"]["id"] == id).collect::<Vec<_>>();
        assert!(of.len() == 2 || (of.is_empty() && !always), "{of:?}");
        let address = |r: &Json| r["request"]["request_meta"]["remote_address"].clone();
        assert!(of.iter().all(|row| address(row) == address(&at_node[0])), "{of:?}");
    }
}

#[test]
fn logs_of_killed_agents_have_no_gap_until_a_row_is_removed() {
    let role = Role::Server { expect: 1, join: Vec::new() };
    let mut server = audited(Member::new("audit-chain", role));
    server.start();
    let mut node = audited(Member::new("audit-chain-node", Role::Node { servers: vec![server.rpc()] }));
    node.start();
    node_ready(&server);
    let write = |agent: &Member, n: usize| {
        let path = format!("/v1/var/audit/{n}");
        let body = json!({"Path": format!("audit/{n}"), "Items": {"n": n.to_string()}});
        wait_for("a variable is written", || match agent.agent().send("PUT", &path, &body) {
            reply if reply.status == 200 => Ok(()),
            reply => Err(format!("{reply:?}")),
        });
    };
    for round in 0..3 {
        for n in 0..5 {
            write(&server, round * 10 + n);
            write(&node, round * 10 + n);
        }
        node.kill();
        server.kill();
        server.start();
        node.start();
    }
    write(&server, 100);
    write(&node, 100);

    let logs = [&server, &node].map(|m| m.data().join("audit/audit.log"));
    let names = logs.each_ref().map(|path| path.to_str().expect("text"));
    let verify = |json: &[&str]| {
        let args = [&["operator", "audit", "verify"], json, &names].concat();
        run_in(server.folder().path(), &args)
    };
    let ran = verify(&[]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((ran.exit, lines.len(), lines.last()), (0, 3, Some(&"No problem was found")), "{ran:?}");
    let found = |ran: &crate::program::Ran| serde_json::from_str::<Json>(&ran.stdout).expect("JSON");
    let report = found(&verify(&["-json"]));
    for (chain, path) in report["Chains"].as_array().expect("chains").iter().flat_map(|c| names.map(|n| (c, n))) {
        if chain["Files"] == json!([path]) {
            let lines = fs::read_to_string(path).expect("a log").lines().count();
            assert_eq!((&chain["First"], &chain["Last"], &chain["Rows"]), (&json!(1), &json!(lines), &json!(lines)));
        }
    }

    let text = fs::read_to_string(&logs[0]).expect("a log");
    let kept: String = text.lines().enumerate().filter(|(n, _)| *n != 3).map(|(_, line)| format!("{line}\n")).collect();
    fs::write(&logs[0], kept).expect("written");
    let ran = verify(&[]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    let wanted = "audit/audit.log:4: row 4 is missing before this line\n1 problem\n";
    assert!(ran.stdout.ends_with(wanted), "{ran:?}");
    let report = found(&verify(&["-json"]));
    let problem = &report["Problems"][0];
    assert_eq!((&problem["Kind"], &problem["First"], &problem["Last"]), (&json!("missing"), &json!(4), &json!(4)));
    let ran = run_in(server.folder().path(), &["operator", "audit", "verify", "nosuch.log"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("Error reading the audit log: "), "{ran:?}");
}
