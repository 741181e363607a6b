//! `secret` blocks of tasks (`docs/spec/client.md §19.4`).

use super::*;
use crate::agent::bootstrap;

fn secret(name: &str, provider: &str, path: &str, config: Json) -> Json {
    json!({"Name": name, "Provider": provider, "Path": path, "Config": config})
}

fn put(agent: &Agent, namespace: &str, path: &str, items: Json) {
    let place = format!("/v1/var/{path}?namespace={namespace}");
    let reply = agent.send("PUT", &place, &json!({"Path": path, "Namespace": namespace, "Items": items}));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

fn events(agent: &Agent, job: &str) -> Vec<String> {
    let allocs = agent.list(&format!("/v1/job/{job}/allocations?task_states=true"));
    let of_task = allocs.first().and_then(|a| a["TaskStates"]["main"]["Events"].as_array().cloned());
    of_task.unwrap_or_default().iter().map(|e| e["DisplayMessage"].as_str().unwrap_or_default().to_string()).collect()
}

fn has_event(agent: &Agent, job: &str, text: &str) {
    wait_for(text, || {
        let found = events(agent, job);
        if found.iter().any(|t| t == text) { Ok(()) } else { Err(format!("{found:?}")) }
    });
}

/// Waits until the output of a job's task is this.
fn prints(folder: &Folder, agent: &Agent, job: &str, wanted: &str) {
    wait_for(wanted, || {
        let allocs = agent.list(&format!("/v1/job/{job}/allocations"));
        let alloc = allocs.first().ok_or("no allocation")?;
        let text = std::fs::read_to_string(dir(folder, alloc).join("alloc/logs/main.stdout.0")).unwrap_or_default();
        if text == wanted { Ok(()) } else { Err(format!("{text:?} {:?}", events(agent, job))) }
    });
}

#[test]
fn a_task_gets_its_secrets_when_they_are_there() {
    let folder = Folder::new("secret-blocks");
    // With access control: the task reads with its own identity.
    let text = format!("{}acl {{\n enabled = true\n}}\n", config(&folder, ""));
    let agent = Agent::start(&folder, &text, &[]);
    let operator = bootstrap(agent.port);
    let agent = agent.with_token(&operator);
    ready(&agent);
    put(&agent, "default", "nomad/jobs/reads", json!({"user": "ada"}));
    // Restarts once: the secrets are those of its first start.
    let script = "echo $USER_AND_PASSWORD \"$0\" $UNKNOWN; [ -e again ] && exec sleep 1000; touch again; exit 1";
    let mut main = task("main", script);
    main["Config"]["args"] = json!(["-c", script, "${secret.db.password}"]);
    main["Env"] = json!({
        "USER_AND_PASSWORD": "${secret.own.user}:${secret.db.password}", "UNKNOWN": "${secret.db.nothing}",
    });
    main["RestartPolicy"] =
        json!({"Attempts": 1, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 100_000_000});
    main["Secrets"] = json!([
        secret("own", "nomad", "nomad/jobs/${NOMAD_JOB_ID}", json!(null)),
        secret("db", "nomad", "nomad/jobs/reads/g/main", json!({"namespace": "default"})),
    ]);
    let made = agent.send("PUT", "/v1/jobs", &json!({"Job": job("reads", JobType::Service, &[main])}));
    assert_eq!(made.status, 200, "{}", made.body);
    has_event(&agent, "reads", "Missing: nomad.var.block(nomad/jobs/reads/g/main@default)");
    put(&agent, "default", "nomad/jobs/reads/g/main", json!({"password": "hush-hush ${HOME}"}));
    let line = "ada:hush-hush ${HOME} hush-hush ${HOME} ${secret.db.nothing}\n";
    prints(&folder, &agent, "reads", &line.repeat(2));
    assert!(!events(&agent, "reads").iter().any(|e| e.contains("hush")), "no event has the secret");

    // A setting that the provider does not have.
    let mut main = task("main", "exit 0");
    main["Secrets"] = json!([secret("db", "nomad", "x", json!({"engine": "kv"}))]);
    let made = agent.send("PUT", "/v1/jobs", &json!({"Job": job("setting", JobType::Batch, &[main])}));
    assert_eq!(made.status, 200, "{}", made.body);
    has_event(&agent, "setting", "secrets: secret \"db\": config: \"engine\" is not known");
    assert_eq!(agent.send("DELETE", "/v1/job/reads?purge=true", &Json::Null).status, 200);
    stop(agent);
}
