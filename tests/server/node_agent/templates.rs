//! Templates of tasks: rendering, change modes, missing variables, paths, restarts of the agent.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::agent::bootstrap;
use crate::member::{Member, Role};
use encamp_model::{ClientStatus, JobType};

/// Settings under which changes take effect at once.
const FAST: &str = " template {\n  wait {\n   min = \"0s\"\n   max = \"0s\"\n  }\n }\n";

/// A template block with these settings.
fn template(destination: &str, data: &str, change: Json) -> Json {
    let mut block = json!({"DestPath": destination, "EmbeddedTmpl": data, "Splay": 0, "ChangeMode": "noop"});
    if let (Some(block), Json::Object(change)) = (block.as_object_mut(), change) {
        block.extend(change);
    }
    block
}

fn with(mut task: Json, templates: &[Json]) -> Json {
    task["Templates"] = json!(templates);
    task
}

fn put(agent: &Agent, path: &str, items: Json) {
    let reply = agent.send("PUT", &format!("/v1/var/{path}"), &json!({"Path": path, "Items": items}));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

fn shown(agent: &Agent, alloc: &Json, kind: &str) -> Vec<String> {
    let alloc = agent.get(&format!("/v1/allocation/{}", id(alloc)));
    let events = alloc["TaskStates"]["main"]["Events"].as_array().cloned().unwrap_or_default();
    let of_kind = events.iter().filter(|e| e["Type"] == kind);
    of_kind.map(|e| e["DisplayMessage"].as_str().unwrap_or_default().to_string()).collect()
}

/// Waits until a task has an event with this text.
fn has_event(agent: &Agent, alloc: &Json, kind: &str, text: &str) {
    wait_for(text, || {
        let found = shown(agent, alloc, kind);
        if found.iter().any(|t| t.starts_with(text)) { Ok(()) } else { Err(format!("{found:?}")) }
    });
}

/// Waits until a file has this text.
fn reads(path: &Path, wanted: &str) {
    wait_for(wanted, || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text == wanted { Ok(()) } else { Err(text) }
    });
}

fn local(folder: &Folder, alloc: &Json, name: &str) -> PathBuf {
    dir(folder, alloc).join("main/local").join(name)
}

/// The output of a task.
fn output(folder: &Folder, alloc: &Json) -> PathBuf {
    dir(folder, alloc).join("alloc/logs/main.stdout.0")
}

#[test]
fn files_and_environments_are_rendered_before_the_task_starts() {
    let folder = Folder::new("template-files");
    let agent = start(&folder, FAST);
    let script =
        "cat local/a $NOMAD_ALLOC_DIR/data/b local/c; echo $COLOR; stat -c %a local/a; stat -c '%a %u' local/owned";
    let mut before =
        task("before", "printf 'from a file: {{ env \"NOMAD_TASK_NAME\" }}\\n' > $NOMAD_ALLOC_DIR/data/c.tpl");
    before["Lifecycle"] = json!({"Hook": "prestart"});
    let own = std::fs::metadata(folder.path()).expect("the folder");
    let (user, group) = (own.uid(), own.gid());
    let main = with(
        task("main", script),
        &[
            template("local/a", "{{ range $i := loop 1 3 }}{{ $i }}{{ end }}\n", json!({"Perms": "0600"})),
            template(
                "${NOMAD_ALLOC_DIR}/data/b",
                "<< env \"NOMAD_META_x\" >>\n",
                json!({"LeftDelim": "<<", "RightDelim": ">>"}),
            ),
            template("local/c", "", json!({"SourcePath": "../alloc/data/c.tpl"})),
            // The file does not get the set-user-ID bit.
            template("local/owned", "x", json!({"Perms": "4750", "Uid": user, "Gid": group})),
            template(
                "secrets/env",
                "# the color\nCOLOR=\"light {{ \"green\" | toUpper }}\"\n",
                json!({"Envvars": true}),
            ),
        ],
    );
    let mut job = job("files", JobType::Batch, &[before, main]);
    job["Meta"] = json!({"x": "meta"});
    let alloc = run(&agent, &job, ClientStatus::Complete);
    reads(&output(&folder, &alloc), &format!("12\nmeta\nfrom a file: main\nlight GREEN\n600\n750 {user}\n"));
}

#[test]
fn a_missing_variable_is_waited_for_and_its_changes_reach_the_task() {
    let folder = Folder::new("template-missing");
    // With access control: the task reads with its own identity.
    let text = format!("{}acl {{\n enabled = true\n}}\n", config(&folder, FAST));
    let agent = Agent::start(&folder, &text, &[]);
    let operator = bootstrap(agent.port);
    let agent = agent.with_token(&operator);
    ready(&agent);
    let script = "echo started $COLOR; trap 'echo hup; cat local/signal' HUP; while :; do sleep 0.1; done";
    let read = "{{ with nomadVar \"nomad/jobs/wait\" }}{{ .color }}{{ end }}";
    let fallback = "{{ if nomadVarExists \"nomad/jobs/wait/g\" }}yes{{ else }}no{{ end }}";
    let early = "{{ if nomadVarExists \"nomad/jobs/wait/g/main\" }}yes{{ else }}no{{ end }}";
    let main = with(
        task("main", script),
        &[
            template("local/noop", read, json!({})),
            template("local/once", read, json!({"Once": true, "ChangeMode": "restart"})),
            template("local/exists", fallback, json!({})),
            template("local/early", early, json!({})),
            template("secrets/env", &format!("COLOR={read}"), json!({"Envvars": true, "ChangeMode": "restart"})),
        ],
    );
    let reply = agent.send("PUT", "/v1/jobs", &json!({"Job": job("wait", JobType::Service, &[main])}));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let alloc = super::alloc(&agent, "wait", ClientStatus::Pending);
    has_event(&agent, &alloc, "Template", "Missing: nomad.var.block(nomad/jobs/wait)");
    assert_eq!(shown(&agent, &alloc, "Started"), [""; 0]);
    // What changes before the task starts is rendered again at once.
    reads(&local(&folder, &alloc, "early"), "no");
    put(&agent, "nomad/jobs/wait/g/main", json!({"x": "1"}));
    reads(&local(&folder, &alloc, "early"), "yes");
    put(&agent, "nomad/jobs/wait", json!({"color": "green"}));
    let alloc = super::alloc(&agent, "wait", ClientStatus::Running);
    reads(&output(&folder, &alloc), "started green\n");
    reads(&local(&folder, &alloc, "exists"), "no");

    put(&agent, "nomad/jobs/wait", json!({"color": "blue"}));
    has_event(&agent, &alloc, "Restart Signaled", "Template with change_mode restart re-rendered");
    reads(&output(&folder, &alloc), "started green\nstarted blue\n");
    reads(&local(&folder, &alloc, "noop"), "blue");
    reads(&local(&folder, &alloc, "once"), "green");
    put(&agent, "nomad/jobs/wait/g", json!({"x": "1"}));
    reads(&local(&folder, &alloc, "exists"), "yes");
    assert_eq!(shown(&agent, &alloc, "Restart Signaled").len(), 1, "noop changes nothing");
    let events = agent.get(&format!("/v1/allocation/{}", id(&alloc)))["TaskStates"].to_string();
    assert!(!events.contains("blue") && !events.contains("green"), "{events}");
}

#[test]
fn changes_signal_the_task_and_run_scripts() {
    let folder = Folder::new("template-change");
    let agent = start(&folder, FAST);
    put(&agent, "nomad/jobs/change", json!({"a": "1", "b": "1", "c": "1"}));
    let script = "trap 'cat local/a; echo' HUP; echo ready; while :; do sleep 0.1; done";
    let item = |name: &str| format!("{{{{ with nomadVar \"nomad/jobs/change\" }}}}{{{{ .{name} }}}}{{{{ end }}}}");
    let script_of = |script: &str, fail: bool| {
        json!({"ChangeMode": "script", "ChangeScript": {
            "Command": "/bin/sh", "Args": ["-c", script], "Timeout": 20_000_000_000_i64, "FailOnError": fail,
        }})
    };
    let main = with(
        task("main", script),
        &[
            template("local/a", &item("a"), json!({"ChangeMode": "signal", "ChangeSignal": "SIGHUP"})),
            template(
                "local/b",
                &item("b"),
                script_of("cat local/b > local/ran.new; mv local/ran.new local/ran", false),
            ),
            template("local/c", &item("c"), script_of("exit 3", true)),
        ],
    );
    let alloc = run(&agent, &job("change", JobType::Service, &[main]), ClientStatus::Running);
    reads(&output(&folder, &alloc), "ready\n");
    put(&agent, "nomad/jobs/change", json!({"a": "2", "b": "1", "c": "1"}));
    has_event(&agent, &alloc, "Signaling", "Template re-rendered");
    reads(&output(&folder, &alloc), "ready\n2\n");
    put(&agent, "nomad/jobs/change", json!({"a": "2", "b": "2", "c": "1"}));
    has_event(&agent, &alloc, "Task hook message", "Template successfully ran script /bin/sh with arguments: [-c ");
    reads(&local(&folder, &alloc, "ran"), "2");
    put(&agent, "nomad/jobs/change", json!({"a": "2", "b": "2", "c": "2"}));
    let failed = super::alloc(&agent, "change", ClientStatus::Failed);
    let text = "Template ran script /bin/sh with arguments [-c exit 3] on change but it exited with code: 3";
    has_event(&agent, &failed, "Task hook failed", text);
    has_event(&agent, &failed, "Killing", "Template script failed, task is being killed");
}

#[test]
fn services_appear_in_templates() {
    let folder = Folder::new("template-services");
    let agent = start(&folder, FAST);
    let list = "{{ range nomadService \"web\" }}{{ .Name }} {{ .Port }} {{ .Tags | join \",\" }}\n{{ end }}";
    let main = with(task("main", "exec sleep 600"), &[template("local/web", list, json!({}))]);
    let alloc = run(&agent, &job("reader", JobType::Service, &[main]), ClientStatus::Running);
    reads(&local(&folder, &alloc, "web"), "");
    let mut web = job("web", JobType::Service, &[task("main", "exec sleep 600")]);
    web["TaskGroups"][0]["Networks"] = json!([{"Mode": "host", "ReservedPorts": [{"Label": "http", "Value": 23_456}]}]);
    web["TaskGroups"][0]["Services"] =
        json!([{"Name": "web", "Provider": "nomad", "PortLabel": "http", "Tags": ["a", "b"]}]);
    run(&agent, &web, ClientStatus::Running);
    reads(&local(&folder, &alloc, "web"), "web 23456 a,b\n");
    assert_eq!(agent.send("DELETE", "/v1/job/web", &Json::Null).status, 200);
    reads(&local(&folder, &alloc, "web"), "");
}

#[test]
fn wrong_templates_fail_their_task() {
    let folder = Folder::new("template-wrong");
    let agent = start(&folder, &FAST.replace("template {", "template {\n  function_denylist = [\"md5sum\"]\n"));
    std::fs::create_dir_all(folder.path().join("outside")).expect("a directory");
    let outside = folder.path().join("outside").display().to_string();
    let link = format!("ln -s {outside} $NOMAD_ALLOC_DIR/data/out");
    for (name, block, text) in [
        ("syntax", template("local/x", "{{ if }}", json!({})), "Template failed: local/x:1:7: missing value for if"),
        (
            "denied",
            template("local/x", "{{ md5sum \"a\" }}", json!({})),
            "Template failed: local/x:1:4: function \"md5sum\" is disabled",
        ),
        (
            "consul",
            template("local/x", "{{ key \"a\" }}", json!({})),
            "Template failed: local/x:1:4: function \"key\" needs Consul",
        ),
        ("fails", template("local/x", "{{ index nil 1 }}", json!({})), "Template failed: local/x:1:"),
        ("endless", template("local/x", "{{ range 99999999999 }}{{ end }}", json!({})), "Template failed: local/x:"),
        (
            "recursion",
            template("local/x", "{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}", json!({})),
            "Template failed: local/x:1:20: values or calls of the template are nested too deep",
        ),
        (
            "output",
            template("local/x", "{{ range loop 100000 }}{{ printf \"%1000d\" 1 }}{{ end }}", json!({})),
            "Template failed: local/x:1:27: the output is too large",
        ),
        (
            "reads",
            template("local/x", "{{ range loop 5000 }}{{ nomadVar (printf \"a/%d\" .) }}{{ end }}", json!({})),
            "Template failed: local/x:1:25: the template reads too many variables",
        ),
        (
            "key",
            template("local/x", "{{ (parseJSON `{\"a\":1}`).b }}", json!({"ErrMissingKey": true})),
            "Template failed: local/x:1:4: map has no entry for key \"b\"",
        ),
        (
            "environment",
            template("local/x", "no sign", json!({"Envvars": true})),
            "Template failed: the rendered file local/x is no environment: line 1",
        ),
        (
            "source",
            template("local/x", "", json!({"SourcePath": "../../../x"})),
            "Template failed: template source path escapes alloc directory",
        ),
        (
            "source-link",
            template("local/x", "", json!({"SourcePath": "../alloc/data/out/x"})),
            "Template failed: template source path escapes",
        ),
        (
            "destination",
            template("${NOMAD_META_up}/x", "x", json!({})),
            "Template failed: template destination path escapes alloc directory",
        ),
        (
            "through-link",
            template("../alloc/data/out/x", "x", json!({})),
            "Template failed: failed to write ../alloc/data/out/x: Not a directory",
        ),
        (
            "file",
            template("local/x", "{{ file \"../../../x\" }}", json!({})),
            "Template failed: local/x:1:4: error calling file: the path of the file escapes",
        ),
    ] {
        let mut before = task("before", &link);
        before["Lifecycle"] = json!({"Hook": "prestart"});
        let mut job = job(name, JobType::Batch, &[before, with(task("main", "true"), &[block])]);
        job["Meta"] = json!({"up": "../../../.."});
        job["TaskGroups"][0]["Tasks"][1]["RestartPolicy"]["Attempts"] = json!(3);
        let alloc = run(&agent, &job, ClientStatus::Failed);
        has_event(&agent, &alloc, "Killing", text);
        assert_eq!(shown(&agent, &alloc, "Started"), [""; 0], "{name}");
    }
    assert_eq!(std::fs::read_dir(outside).expect("a directory").count(), 0);
}

#[test]
fn templates_are_watched_again_after_a_restart_of_the_agent() {
    let folder = Folder::new("template-restart");
    let agent = start(&folder, FAST);
    put(&agent, "nomad/jobs/again", json!({"a": "1", "b": "1"}));
    let item = |name: &str| format!("{{{{ with nomadVar \"nomad/jobs/again\" }}}}{{{{ .{name} }}}}{{{{ end }}}}");
    let script = "echo started $B; trap 'cat local/a; echo' HUP; while :; do sleep 0.1; done";
    let main = with(
        task("main", script),
        &[
            template("local/a", &item("a"), json!({"ChangeMode": "signal", "ChangeSignal": "SIGHUP"})),
            template("secrets/env", &format!("B={}", item("b")), json!({"Envvars": true, "ChangeMode": "restart"})),
        ],
    );
    let alloc = run(&agent, &job("again", JobType::Service, &[main]), ClientStatus::Running);
    reads(&output(&folder, &alloc), "started 1\n");
    // What changes while the agent is away is noticed when it is back.
    stop(agent);
    let file = local(&folder, &alloc, "a");
    std::fs::write(&file, "old").expect("written");
    let agent = start_again(&folder);
    reads(&file, "1");
    reads(&output(&folder, &alloc), "started 1\n1\n");
    put(&agent, "nomad/jobs/again", json!({"a": "2", "b": "1"}));
    reads(&output(&folder, &alloc), "started 1\n1\n2\n");
    put(&agent, "nomad/jobs/again", json!({"a": "2", "b": "2"}));
    reads(&output(&folder, &alloc), "started 1\n1\n2\nstarted 2\n");
}

#[test]
fn a_node_reads_from_servers_that_are_away_for_a_while() {
    let mut server = Member::new("template-server", Role::Server { expect: 1, join: Vec::new() });
    server.start();
    let rpc = server.rpc();
    let role = format!(
        "client {{\n enabled = true\n servers = [{rpc:?}]\n gc_disk_usage_threshold = 100\n{FAST}}}\n\
         plugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n"
    );
    let mut node = Member::new("template-node", Role::Other(role));
    node.start();
    ready(server.agent());
    put(server.agent(), "nomad/jobs/away", json!({"a": "1"}));
    let read = "{{ with nomadVar \"nomad/jobs/away\" }}{{ .a }}{{ end }}";
    let main = with(task("main", "exec sleep 600"), &[template("local/a", read, json!({}))]);
    let alloc = run(server.agent(), &job("away", JobType::Service, &[main]), ClientStatus::Running);
    let file = node.data().join("alloc").join(id(&alloc)).join("main/local/a");
    reads(&file, "1");
    server.kill();
    server.start();
    wait_for("a write", || {
        let variable = json!({"Path": "nomad/jobs/away", "Items": {"a": "2"}});
        let reply = server.agent().send("PUT", "/v1/var/nomad/jobs/away", &variable);
        if reply.status == 200 { Ok(()) } else { Err(reply.body) }
    });
    reads(&file, "2");
    let alloc = super::alloc(server.agent(), "away", ClientStatus::Running);
    for kind in ["Killing", "Restart Signaled", "Template"] {
        assert_eq!(shown(server.agent(), &alloc, kind), [""; 0], "{kind}");
    }
}
