//! Root keys and identities with the real program: keys that survive restarts and are rotated; tokens that tasks
//! receive and any client can verify.

use crate::agent::{Agent, PATIENCE, call, wait_for};
use crate::program::{Folder, run_in};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::{Value as Json, json};

const SERVER: &str = "bind_addr = \"127.0.0.1\"\nserver {\n enabled = true\n bootstrap_expect = 1\n}\n\
                      client { enabled = true }\n\
                      advertise {\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}\n";

fn keys(agent: &Agent) -> Vec<Json> {
    agent.list("/v1/operator/keyring/keys")
}

fn ids(keys: &[Json], state: &str) -> Vec<String> {
    let of_state = keys.iter().filter(|k| k["State"] == state);
    of_state.map(|k| k["KeyID"].as_str().expect("an ID").to_string()).collect()
}

/// Waits for the active key.
fn active(agent: &Agent) -> String {
    let mut found = String::new();
    wait_for("an active key", || {
        let list = keys(agent);
        found = ids(&list, "active").pop().ok_or(format!("{list:?}"))?;
        Ok(())
    });
    found
}

fn decoded(part: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(part).unwrap_or_else(|e| panic!("{part}: {e}"))
}

/// The claims of a token, verified with a published public key, and the key.
fn verified(agent: &Agent, token: &str) -> (Json, String) {
    let parts: Vec<&str> = token.split('.').collect();
    let [head, claims, signature] = parts[..] else { panic!("no token: {token}") };
    let head: Json = serde_json::from_slice(&decoded(head)).expect("a header");
    assert_eq!((&head["alg"], &head["typ"]), (&json!("RS256"), &json!("JWT")));
    let jwks = agent.get("/.well-known/jwks.json");
    let list = jwks["keys"].as_array().expect("keys");
    let key = list.iter().find(|k| k["kid"] == head["kid"]).unwrap_or_else(|| panic!("no key {head} in {jwks}"));
    assert_eq!((&key["kty"], &key["alg"], &key["use"]), (&json!("RSA"), &json!("RS256"), &json!("sig")));
    let part = |name: &str| decoded(key[name].as_str().expect("a number"));
    let public = RsaPublicKeyComponents { n: part("n"), e: part("e") };
    let text = token.rsplit_once('.').expect("parts").0;
    public.verify(&RSA_PKCS1_2048_8192_SHA256, text.as_bytes(), &decoded(signature)).expect("a valid signature");
    (serde_json::from_slice(&decoded(claims)).expect("claims"), head["kid"].as_str().expect("an ID").into())
}

/// A job with one task that shows its environment and keeps running.
fn job(identities: Json) -> Json {
    let script = "umask 077; cp secrets/nomad_token local/file 2>/dev/null; cp own/aws.jwt local/aws 2>/dev/null; \
                  env > local/env.new; mv local/env.new local/env; exec sleep 600";
    json!({"Job": {
        "ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{
            "Name": "t", "Driver": "raw_exec",
            "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Resources": {"CPU": 20, "MemoryMB": 20},
            "Identities": identities,
        }]}],
    }})
}

const RAW_EXEC: &str = "plugin \"raw_exec\" {\n config { enabled = true }\n}\n";

fn running(agent: &Agent) -> Json {
    let mut found = Json::Null;
    wait_for("a running allocation", || {
        let list = agent.list("/v1/job/web/allocations");
        let up = |a: &&Json| a["ClientStatus"] == "running" && a["DesiredStatus"] == "run";
        found = list.iter().find(up).cloned().ok_or(format!("{list:?}"))?;
        Ok(())
    });
    agent.get(&format!("/v1/allocation/{}", found["ID"].as_str().expect("an ID")))
}

/// The content of a task's file, once it exists.
fn file(agent: &Agent, alloc: &Json, path: &str) -> String {
    let url = format!("/v1/client/fs/cat/{}?path=t/{path}", alloc["ID"].as_str().expect("an ID"));
    let mut text = String::new();
    wait_for(path, || {
        let reply = call(agent.port, "GET", &url, "", PATIENCE).map_err(|e| e.to_string())?;
        text = reply.body;
        if reply.status == 200 && !text.contains("no such file") { Ok(()) } else { Err(text.clone()) }
    });
    text
}

#[test]
fn the_key_survives_a_crash() {
    let folder = Folder::new("keyring-crash");
    let config = format!("{SERVER}data_dir = \"{}\"\n", folder.path().join("data").display());
    let mut agent = Agent::start(&folder, &config, &[]);
    let before = (active(&agent), agent.get("/.well-known/jwks.json"));
    assert_eq!(keys(&agent).len(), 1);
    agent.kill();
    let agent = Agent::start(&folder, &config, &[]);
    assert_eq!((active(&agent), agent.get("/.well-known/jwks.json")), before);
    let reply = agent.send("PUT", "/v1/operator/keyring/rotate", &Json::Null);
    assert_eq!((reply.status, reply.json()["Key"]["State"].as_str()), (200, Some("active")));
    assert_ne!(active(&agent), before.0, "what was read after the restart can be written to");
}

#[test]
fn keys_are_rotated_and_removed() {
    let folder = Folder::new("keyring-rotate");
    let agent = Agent::start(&folder, RAW_EXEC, &["-dev"]);
    let first = active(&agent);
    assert_eq!(agent.send("PUT", "/v1/jobs", &job(json!([]))).status, 200);
    let alloc = running(&agent);
    assert_eq!((&alloc["SigningKeyID"], &alloc["SignedIdentities"]), (&json!(first), &Json::Null));

    let rotated = agent.send("PUT", "/v1/operator/keyring/rotate?full", &Json::Null);
    let second = rotated.json()["Key"]["KeyID"].as_str().expect("a key").to_string();
    assert_eq!(active(&agent), second);
    wait_for("the end of rekeying", || {
        let list = keys(&agent);
        if ids(&list, "inactive") == [first.clone()] { Ok(()) } else { Err(format!("{list:?}")) }
    });
    let time = 4_000_000_000_000_000_000_i64;
    let reply = agent.send("PUT", &format!("/v1/operator/keyring/rotate?publish_time={time}"), &Json::Null);
    let third = reply.json()["Key"].clone();
    assert_eq!((&third["State"], &third["PublishTime"]), (&json!("prepublished"), &json!(time)));
    let shown = agent.get("/.well-known/jwks.json")["keys"].as_array().map(Vec::len);
    assert_eq!((active(&agent), shown), (second.clone(), Some(3)));

    let delete = |id: &str, query: &str| {
        let reply = agent.send("DELETE", &format!("/v1/operator/keyring/key/{id}{query}"), &Json::Null);
        (reply.status, reply.body)
    };
    let refused = |text: &str| (500, text.to_string());
    assert_eq!(delete(&second, "?force=true"), refused("active root key cannot be deleted - call rotate first"));
    assert_eq!(delete(&first, ""), refused("root key in use, cannot delete"));
    assert_eq!(delete("x", ""), refused("root key not found"));
    assert_eq!(delete(&first, "?force=true").0, 200);
    assert!(!keys(&agent).iter().any(|k| k["KeyID"] == first.as_str()));

    let args = ["operator", "root", "keyring", "list", "--verbose", "-address", &agent.address()];
    let text = run_in(folder.path(), &args).stdout;
    assert!(text.starts_with("Key ") && text.contains(&second) && !text.contains(&first), "{text}");
}

#[test]
fn tasks_get_tokens_that_can_be_verified() {
    let folder = Folder::new("keyring-tokens");
    let config = format!("{RAW_EXEC}server {{ oidc_issuer = \"https://issuer.example\" }}\n");
    let agent = Agent::start(&folder, &config, &["-dev"]);
    let identities = json!([
        {"Name": "default", "Env": true, "File": true},
        {"Name": "aws", "Audience": ["sts"], "Env": true, "File": true, "Filepath": "own/aws.jwt", "TTL": 3_600_000_000_000_i64},
    ]);
    assert_eq!(agent.send("PUT", "/v1/jobs", &job(identities)).status, 200);
    let alloc = running(&agent);
    let env = file(&agent, &alloc, "local/env");
    let variable = |name: &str| {
        let line = env.lines().find_map(|l| l.strip_prefix(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("no {name} in {env}")).to_string()
    };

    let token = variable("NOMAD_TOKEN");
    assert_eq!(token, file(&agent, &alloc, "local/file"));
    let (claims, key) = verified(&agent, &token);
    assert_eq!(alloc["SigningKeyID"], json!(key));
    for (name, value) in [
        ("iss", json!("https://issuer.example")),
        ("sub", json!("global:default:web:g:t:default")),
        ("aud", json!("nomadproject.io")),
        ("nomad_allocation_id", alloc["ID"].clone()),
        ("nomad_task", json!("t")),
        ("exp", Json::Null),
    ] {
        assert_eq!(claims[name], value, "{name}");
    }
    assert!(variable("NOMAD_UNIX_ADDR").ends_with("/t/secrets/api.sock"));
    let named = variable("NOMAD_TOKEN_aws");
    assert_eq!(named, file(&agent, &alloc, "local/aws"));
    let (claims, _) = verified(&agent, &named);
    assert_eq!((&claims["aud"], &claims["sub"]), (&json!("sts"), &json!("global:default:web:g:t:aws")));
    assert_eq!(claims["exp"].as_i64().map(|e| e - claims["iat"].as_i64().expect("a time")), Some(3600));

    let about = agent.get("/.well-known/openid-configuration");
    assert_eq!(about["jwks_uri"], "https://issuer.example/.well-known/jwks.json");
    let (head, _) = agent.ask("GET", "/.well-known/jwks.json");
    assert!(head.to_lowercase().contains("cache-control: max-age="), "{head}");

    // While ACLs are disabled, a token has no effect.
    let mut stream = agent.connect();
    let request = format!("GET /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Nomad-Token: {token}\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("written");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn tokens_are_renewed() {
    let folder = Folder::new("keyring-renew");
    let agent = Agent::start(&folder, RAW_EXEC, &["-dev"]);
    let ttl = 20_000_000_000_i64;
    let identities = json!([{"Name": "aws", "Audience": ["sts"], "Env": true, "ChangeMode": "restart", "TTL": ttl}]);
    assert_eq!(agent.send("PUT", "/v1/jobs", &job(identities)).status, 200);
    let alloc = running(&agent);
    let first = file(&agent, &alloc, "local/env");
    wait_for("a restart with a new token", || {
        let now = file(&agent, &alloc, "local/env");
        if now == first { Err("nothing changed".into()) } else { Ok(()) }
    });
    let path = format!("/v1/allocation/{}", alloc["ID"].as_str().expect("an ID"));
    let is_renewal =
        |e: &Json| e["Type"] == "Restart Signaled" && e["DisplayMessage"] == "Identity[aws]: new token acquired";
    wait_for("the event of the restart", || {
        let events = agent.get(&path)["TaskStates"]["t"]["Events"].clone();
        let found = events.as_array().is_some_and(|l| l.iter().any(is_renewal));
        if found { Ok(()) } else { Err(events.to_string()) }
    });
}

#[test]
fn nodes_have_identities() {
    let folder = Folder::new("keyring-node");
    let agent = Agent::start(&folder, "", &["-dev"]);
    let claims = |agent: &Agent| {
        let mut claims = Json::Null;
        wait_for("an identity", || {
            let (head, body) = agent.ask("GET", "/v1/client/identity");
            claims = serde_json::from_str::<Json>(&body).unwrap_or_default()["Claims"].clone();
            if head.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(body) }
        });
        claims
    };
    let first = claims(&agent);
    let node = agent.list("/v1/nodes")[0]["ID"].as_str().expect("an ID").to_string();
    assert_eq!(first["sub"], json!(format!("node:global:default:{node}:default")));
    assert_eq!(first["exp"].as_f64().expect("a time") - first["iat"].as_f64().expect("a time"), 86_400.0);
    let key = active(&agent);
    assert_eq!(agent.get(&format!("/v1/node/{node}"))["IdentitySigningKeyID"], json!(key));

    assert_eq!(agent.send("PUT", "/v1/operator/keyring/rotate", &Json::Null).status, 200);
    assert_eq!(agent.send("PUT", "/v1/client/identity/renew", &Json::Null).body, "{}");
    wait_for("a new identity", || {
        let node = agent.get(&format!("/v1/node/{node}"));
        if node["IdentitySigningKeyID"] == json!(active(&agent)) && claims(&agent)["jti"] != first["jti"] {
            Ok(())
        } else {
            Err(node["IdentitySigningKeyID"].to_string())
        }
    });
}
