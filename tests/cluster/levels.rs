//! Capability levels (`docs/spec/server.md §23.3`): servers of the tested build, some of which behave as builds of the
//! first level. `upgrades` does the same with the previous build itself.

use std::sync::atomic::Ordering;

use encamp_test_support::tier;
use serde_json::json;

use crate::agent::wait_for;
use crate::member::{Member, Role, leader};
use crate::rolling_restart::whole;
use crate::upgrade_support::{Load, level, lower, reaches, refused, server, upgrade};

/// The orders in which three servers can be upgraded.
const ORDERS: [[usize; 3]; 6] = [[2, 0, 1], [0, 1, 2], [1, 2, 0], [0, 2, 1], [1, 0, 2], [2, 1, 0]];

fn restart(servers: &mut [Member], n: usize, change: fn(&mut Member)) {
    servers[n].kill();
    change(&mut servers[n]);
    servers[n].start();
    whole(servers);
}

/// How often the servers together have raised the level, according to their logs.
fn raised(servers: &mut [Member]) -> usize {
    servers.iter_mut().map(|s| s.log().matches("raised the capability level of the cluster").count()).sum()
}

fn upgraded_in(order: [usize; 3]) {
    let mut servers: Vec<Member> = Vec::new();
    for n in 0..3 {
        let mut new = server(&format!("level-{n}"), &servers);
        lower(&mut new);
        new.start();
        servers.push(new);
    }
    whole(&servers);
    let load = Load::new(&servers);
    load.during(|| {
        load.progress();
        for n in &order[..2] {
            restart(&mut servers, *n, upgrade);
            load.progress();
        }
        assert_eq!(level(&servers[order[0]]), Ok("1".to_string()), "one server is of the first level");
        // Until the last server is upgraded, all of them can go back.
        restart(&mut servers, order[1], lower);
        load.progress();
        restart(&mut servers, order[1], upgrade);
        assert_eq!(raised(&mut servers), 0);
        restart(&mut servers, order[2], upgrade);
        reaches(&servers, "2");
        load.progress();
        assert_eq!(raised(&mut servers), 1, "the level is raised once");

        // From now on, no server can go back.
        servers[order[0]].kill();
        lower(&mut servers[order[0]]);
        let said = refused(&mut servers[order[0]]);
        assert!(said.contains("is of capability level 2, but this build supports only up to level 1"), "{said}");
        assert!(said.contains("Start a build of level 2 on this data directory"), "{said}");
        upgrade(&mut servers[order[0]]);
        servers[order[0]].start();
        whole(&servers);
        load.progress();
    });
    assert!(load.renewals.load(Ordering::Relaxed) > 0 && load.reads.load(Ordering::Relaxed) > 0);
    assert!(load.is_on(&servers) > 0);
    assert_eq!(raised(&mut servers), 1, "not again after restarts and changes of the leader");
    shown(&servers);
    a_server_of_the_first_level_stays_outside(&mut servers);
}

/// What the servers show of their levels.
fn shown(servers: &[Member]) {
    for server in servers {
        wait_for("every server knows the levels of all", || {
            let members = server.read("/v1/agent/members")?;
            let of = |m: &serde_json::Value| m["Tags"]["capability_level"] == "2";
            let all = members["Members"].as_array().is_some_and(|m| m.iter().all(of));
            if all { Ok(()) } else { Err(members.to_string()) }
        });
    }
    let health = servers[leader(servers)].agent().get("/v1/operator/autopilot/health");
    assert_eq!(health["CapabilityLevel"], 2, "{health}");
    assert!(health["Servers"].as_array().is_some_and(|s| s.iter().all(|s| s["CapabilityLevel"] == 2)), "{health}");
}

fn a_server_of_the_first_level_stays_outside(servers: &mut [Member]) {
    let mut old = server("level-old", servers);
    lower(&mut old);
    old.start();
    old.agent_mut().until("the cluster does not accept this server");
    let first = leader(servers);
    servers[first].agent_mut().until("refused a server: its build is of a lower capability level than the cluster");
    let voters = servers[first].agent().get("/v1/operator/raft/configuration");
    assert_eq!(voters["Servers"].as_array().map(Vec::len), Some(3), "{voters}");
}

#[test]
fn a_cluster_uses_a_level_once_all_its_servers_support_it() {
    let rounds = tier::rounds("ENCAMP_LEVEL_ORDERS", 1, ORDERS.len());
    ORDERS.into_iter().take(rounds).for_each(upgraded_in);
}

#[test]
fn a_server_alone_keeps_its_level_while_the_operator_holds_it() {
    let mut alone = Member::new("level-alone", Role::Server { expect: 1, join: Vec::new() });
    lower(&mut alone);
    alone.start();
    leader(std::slice::from_ref(&alone));
    let held = json!({"CleanupDeadServers": true, "DisableUpgradeMigration": true, "MaxTrailingLogs": 250});
    wait_for("the setting is written", || {
        match alone.agent().send("PUT", "/v1/operator/autopilot/configuration", &held) {
            reply if reply.status == 200 => Ok(()),
            reply => Err(reply.body),
        }
    });
    let restart = |alone: &mut Member, change: fn(&mut Member)| {
        alone.kill();
        change(alone);
        alone.start();
        leader(std::slice::from_ref(alone));
    };
    restart(&mut alone, upgrade);
    // The first key of the leader is made after the level would have been raised.
    wait_for("the cluster has a key", || match alone.read("/v1/operator/keyring/keys")? {
        serde_json::Value::Array(keys) if !keys.is_empty() => Ok(()),
        none => Err(none.to_string()),
    });
    assert_eq!(level(&alone), Ok("1".to_string()));
    restart(&mut alone, lower);
    restart(&mut alone, upgrade);
    let free = json!({"CleanupDeadServers": true, "MaxTrailingLogs": 250});
    let set = alone.agent().send("PUT", "/v1/operator/autopilot/configuration", &free);
    assert_eq!(set.status, 200, "{}", set.body);
    reaches(std::slice::from_ref(&alone), "2");
}

#[test]
fn a_level_that_the_build_does_not_support_is_refused() {
    let mut server = Member::new("level-none", Role::Server { expect: 1, join: Vec::new() });
    server.wrapper = vec!["env".into(), "ENCAMP_CAPABILITY_LEVEL=99".into()];
    let said = refused(&mut server);
    assert!(said.contains("ENCAMP_CAPABILITY_LEVEL=99: this build supports the levels 1 to 2"), "{said}");
}
