//! The identity of a node, as clients ask its agent for it (`docs/spec/http-api.md §10.1`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agent::{self, Agent, wait_for};
use crate::program::Folder;
use encamp_test_support::recorded;

/// The members of the recorded claims.
fn recorded_claims() -> BTreeSet<String> {
    let recorded = recorded::json("http/reference-2.0.5/0160-nodes-client-identity.json").unwrap_or_default();
    names(&recorded["response"]["body"]["Claims"])
}

fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().into_iter().flat_map(|o| o.keys().cloned()).collect()
}

/// The claims, at the first question.
fn claims(agent: &Agent, path: &str) -> Value {
    let reply = agent.send("GET", path, &Value::Null);
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    reply.json()["Claims"].clone()
}

/// Checks the claims of the only node against its record.
fn check(agent: &Agent, what: &str) -> Value {
    let claims = claims(agent, "/v1/client/identity");
    let wanted = recorded_claims();
    assert!(wanted.is_empty() || names(&claims) == wanted, "{what}: {claims}");
    let nodes = agent.list("/v1/nodes");
    let [node] = nodes.as_slice() else { panic!("{what}: {nodes:?}") };
    let (id, pool) = (node["ID"].as_str().unwrap_or_default(), node["NodePool"].as_str().unwrap_or_default());
    assert_eq!(
        [&claims["nomad_node_id"], &claims["nomad_node_pool"], &claims["nomad_node_datacenter"], &claims["aud"]],
        [&json!(id), &json!(pool), &node["Datacenter"], &json!("nomadproject.io")],
        "{what}"
    );
    assert_eq!(claims["sub"], json!(format!("node:global:{pool}:{id}:default")), "{what}");
    let time = |name: &str| claims[name].as_f64().unwrap_or_default();
    assert_eq!((time("exp") - time("iat"), time("nbf")), (86_400.0, time("iat")), "{what}: a day");
    assert_eq!(self::claims(agent, &format!("/v1/client/identity?node_id={id}")), claims, "{what}: by its ID");
    claims
}

#[test]
fn a_node_has_its_identity_from_the_first_question_on() {
    let server = |folder: &Folder, more: &str| {
        let data = folder.path().join("data");
        let local = "advertise {\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}\n";
        let roles =
            format!("server {{\n enabled = true\n bootstrap_expect = 1\n}}\nclient {{\n enabled = true\n{more}}}\n");
        format!("bind_addr = \"127.0.0.1\"\ndata_dir = {data:?}\n{local}{roles}")
    };
    // An agent is asked as soon as it serves, in any of these forms.
    for (name, config, dev) in [
        ("dev", "", true),
        ("dev-pool", "client {\n node_pool = \"gpu\"\n node_class = \"\"\n}\n", true),
        ("dev-acl", "acl {\n enabled = true\n}\n", true),
        ("server", "", false),
    ] {
        let folder = Folder::new(&format!("identity-{name}"));
        let config = if dev { config.to_string() } else { server(&folder, config) };
        let args: &[&str] = if dev { &["-dev"] } else { &[] };
        let mut agent = Agent::start(&folder, &config, args);
        if name == "dev-acl" {
            let refused = agent.send("GET", "/v1/client/identity", &Value::Null);
            assert_eq!((refused.status, refused.body.as_str()), (403, "Permission denied"));
            wait_for("a leader", || {
                let leader = agent::call(agent.port, "GET", "/v1/status/leader", "", agent::PATIENCE);
                leader.map_err(|e| e.to_string()).and_then(|l| (l.body.len() > 2).then_some(()).ok_or(l.body))
            });
            agent = {
                let token = agent::bootstrap(agent.port);
                agent.with_token(&token)
            };
        }
        let first = check(&agent, name);

        // A renewed identity has another ID and later times.
        let renewed = agent.send("PUT", "/v1/client/identity/renew", &Value::Null);
        assert_eq!((renewed.status, renewed.body.as_str()), (200, "{}"), "{name}");
        wait_for("another identity", || match claims(&agent, "/v1/client/identity") {
            now if now["jti"] != first["jti"] => Ok(()),
            now => Err(now.to_string()),
        });
        let now = check(&agent, name);
        if dev {
            continue;
        }
        // A restarted node keeps it.
        drop(agent);
        let agent = Agent::start(&folder, &config, args);
        assert_eq!(claims(&agent, "/v1/client/identity"), now);
    }
}
