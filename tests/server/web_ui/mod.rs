//! The web UI of the real program (`docs/guide/web-ui.md`): its three ways, and who may do what with it.

mod actions;
mod client;
mod filled;
mod keyboard;
mod links;
mod operators_questions;
mod pages;
mod recorded_nomad;
mod tour;
mod ways;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use self::client::{Answer, Client};
use self::ways::{Served, Ways};
use crate::agent::{Agent, bootstrap, wait_for};
use crate::program::{self, Folder, run_in, run_with};

/// A page without a style sheet of another host, without inline scripts, and that nobody may frame.
fn is_protected(answer: &Answer) {
    let policy = answer.header("content-security-policy");
    for directive in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(directive), "{answer:?}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), value, "{answer:?}");
    }
}

#[test]
fn the_pages_answer_in_three_ways() {
    let ways = Ways::start("web-ui-ways");
    for (way, mut client) in ways.clients() {
        let page = client.get("/ui/");
        assert_eq!(page.status, 200, "{way}: {}", page.body);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("cache-control"), "no-store");
        is_protected(&page);
        assert!(page.body.contains("<h1>Overview</h1>"), "{way}: {}", page.body);
        assert!(!page.body.contains("style=\"") && !page.body.contains("<script>"), "{way}: {}", page.body);
        let script = page.body.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a script");
        let script = client.get(script);
        assert_eq!((script.status, script.header("content-type")), (200, "text/javascript; charset=utf-8"));
        assert!(script.header("cache-control").contains("immutable"), "{script:?}");
        let missing = client.get("/ui/no/such/page");
        assert_eq!(missing.status, 404, "{way}");
        is_protected(&missing);
        for above in ["/", "/ui"] {
            let answer = client.get(above);
            assert_eq!((answer.status, answer.header("location")), (307, "/ui/"), "{way} {above}");
        }
    }
}

#[test]
fn an_agent_compresses_pages_and_adds_no_headers_of_the_api() {
    let folder = Folder::new("web-ui-headers");
    let agent = Agent::start(&folder, "http_api_response_headers {\n  X-Extra = \"1\"\n}\n", &["-dev"]);
    let mut client = Client::new(agent.port);
    let page = client.send("GET", "/ui/", &[("Accept-Encoding", "gzip, deflate, br")], "");
    assert_eq!((page.status, page.header("content-encoding")), (200, "gzip"), "{page:?}");
    assert_eq!(page.header("x-extra"), "");
    let (head, _) = agent.ask("GET", "/ui");
    assert!(head.starts_with("HTTP/1.1 307") && head.to_lowercase().contains("location: /ui/"), "{head}");
}

#[test]
fn an_operator_chooses_label_and_policy_or_no_pages_at_all() {
    let folder = Folder::new("web-ui-settings");
    let ui = "ui {\n  enabled = true\n  label {\n    text = \"<Staging>\"\n    background_color = \"#b22222\"\n  }\n  \
              content_security_policy {\n    img_src = [\"'self'\", \"https://pictures.example\"]\n  }\n}\n";
    let agent = Agent::start(&folder, ui, &["-dev"]);
    let mut client = Client::new(agent.port);
    let page = client.get("/ui/");
    assert!(page.body.contains("&lt;Staging&gt;"), "{}", page.body);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("img-src 'self' https://pictures.example;") && policy.contains("script-src 'self';"));
    assert_eq!(client.get("/ui/label.css").body, ".label{background-color:#b22222;}\n");
    drop(agent);
    let folder = Folder::new("web-ui-disabled");
    let agent = Agent::start(&folder, "ui {\n  enabled = false\n}\n", &["-dev"]);
    let page = Client::new(agent.port).get("/ui/jobs/web@default");
    assert!(page.status == 200 && page.body.contains("is disabled"), "{page:?}");
    drop(agent);
    let folder = Folder::new("web-ui-refused");
    let bad = "ui {\n  enabled = true\n  content_security_policy {\n    img_src = [\"x; script-src *\"]\n  }\n}\n";
    folder.file("agent.hcl", bad);
    let ran = run_in(folder.path(), &["agent", "-dev", "-config", "agent.hcl"]);
    assert_eq!(ran.exit, 1);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("ui block invalid: content_security_policy: \"x; script-src *\" is no source"), "{said}");
}

#[test]
fn forms_of_other_sites_are_refused() {
    let folder = Folder::new("web-ui-forms");
    let agent = Agent::start(&folder, "", &["-dev"]);
    let mut client = Client::new(agent.port);
    let token = client.get("/ui/settings/tokens").form_token().to_string();
    let own = format!("http://127.0.0.1:{}", agent.port);
    let fields = [("form_token", token.as_str())];
    for (fields, headers) in [
        (&[][..], &[("Origin", own.as_str())][..]),
        (&[("form_token", "x")], &[("Origin", own.as_str())]),
        (&fields, &[("Origin", "http://evil.example")]),
        (&fields, &[("Origin", "null")]),
        (&fields, &[("Sec-Fetch-Site", "cross-site")]),
        (&fields, &[("Sec-Fetch-Site", "same-site"), ("Origin", own.as_str())]),
    ] {
        let refused = client.post_from("/ui/sign-out", fields, headers);
        assert_eq!(refused.status, 403, "{fields:?} {headers:?}: {}", refused.body);
        is_protected(&refused);
    }
    // Another browser has another session, for which the token is none.
    let mut other = Client::new(agent.port);
    other.get("/ui/settings/tokens");
    assert_eq!(other.post("/ui/sign-out", &fields).status, 403);
    assert_eq!(client.post("/ui/sign-out", &fields).status, 303);
}

#[test]
fn a_person_signs_in_with_a_token_and_sees_what_it_allows() {
    let folder = Folder::new("web-ui-acl");
    let agent = Agent::start(&folder, "acl {\n  enabled = true\n}\n", &["-dev"]);
    let secret = bootstrap(agent.port);
    let mut client = Client::new(agent.port);
    // Who may not read jobs does not learn which there are.
    let job = "/ui/jobs/none@default";
    let denied = client.get(job);
    assert!(denied.status == 403 && denied.body.contains("Permission denied"), "{}", denied.body);
    let token = client.get("/ui/settings/tokens").form_token().to_string();
    let wrong = client.post("/ui/sign-in", &[("form_token", &token), ("token", "0000")]);
    assert_eq!(wrong.status, 403, "{}", wrong.body);
    assert_eq!(wrong.header("set-cookie"), "");
    let signed = client.post("/ui/sign-in", &[("form_token", &token), ("token", &secret)]);
    assert_eq!((signed.status, signed.header("location")), (303, "/ui/"), "{}", signed.body);
    let cookies: Vec<&String> = signed.headers.iter().filter(|(n, _)| n == "set-cookie").map(|(_, v)| v).collect();
    let kept = cookies.iter().find(|c| c.contains(&secret)).expect("the token");
    assert!(kept.contains("HttpOnly") && kept.contains("SameSite=Strict") && kept.contains("Path=/ui/"), "{kept}");
    let page = client.get("/ui/");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(!page.body.contains(&secret));
    assert_eq!(client.get(job).status, 404);
    assert_eq!(client.post("/ui/sign-out", &[("form_token", &token)]).status, 303);
    assert_eq!(client.get(job).status, 403);
    // Guesses count as those of the browser's address.
    let guess = |n: usize| client.post("/ui/sign-in", &[("form_token", &token), ("token", &format!("{n:036}"))]).status;
    let guessed: Vec<u16> = (0..80).map(guess).collect();
    assert!(guessed.contains(&429) && guessed.iter().all(|s| matches!(s, 403 | 429)), "{guessed:?}");
}

#[test]
fn pages_of_this_computer_admit_one_browser_by_its_own_name() {
    let folder = Folder::new("web-ui-entrance");
    folder.file("cluster.json", std::fs::read(fixture("demo/cluster.json")).expect("the cluster"));
    let served = Served::start(&folder, &["-snapshot", "cluster.json"]);
    let mut stranger = Client::new(served.port);
    assert_eq!(stranger.get("/ui/").status, 403);
    assert_eq!(stranger.get("/ui/?entrance=guessed").status, 403);
    let rebound = [("Host", "evil.example")];
    assert_eq!(stranger.send("GET", served.path(), &rebound, "").status, 403);
    let mut client = served.client();
    assert_eq!(client.get("/ui/").status, 200);
    // The port is part of the name.
    for host in ["evil.example", &format!("evil.example:{}", served.port), "127.0.0.1"] {
        assert_eq!(client.send("GET", "/ui/", &[("Host", host)], "").status, 403, "{host}");
    }
    let late = stranger.get(served.path());
    assert!(late.status == 403 && late.body.contains("admitted a browser already"), "{late:?}");
    assert_eq!(client.get("/ui/").status, 200, "the first browser stays");
}

/// Some programs that open addresses go on until the browser is closed.
#[test]
fn pages_are_served_while_the_browser_is_open() {
    let folder = Folder::new("web-ui-opener");
    folder.file("cluster.json", std::fs::read(fixture("demo/cluster.json")).expect("the cluster"));
    std::fs::create_dir(folder.path().join("bin")).expect("a directory");
    let opener = folder.file("bin/xdg-open", "#!/bin/sh\necho \"$1\" > opening && mv opening opened\nexec sleep 600\n");
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = std::env::var("PATH").expect("a path");
    let mut command = Command::new("/usr/bin/env");
    command.arg(format!("PATH={}:{path}", folder.path().join("bin").display())).arg(program::path());
    let mut process = Agent::launch(&folder, command.args(["ui", "-snapshot", "cluster.json"]));
    let url = process.until("URL for web UI: ").trim_start_matches("URL for web UI: ").to_string();
    wait_for("the browser", || match std::fs::read_to_string(folder.path().join("opened")) {
        Ok(opened) if opened.trim_end() == url => Ok(()),
        other => Err(format!("{other:?}")),
    });
    let (port, entrance) = url.trim_start_matches("http://127.0.0.1:").split_once('/').expect("a path");
    let entered = Client::new(port.parse().expect("a port")).get(&format!("/{entrance}"));
    assert_eq!(entered.status, 303, "{entered:?}");
    process.signal(rustix::process::Signal::INT);
    assert_eq!(process.exit(), 0);
}

#[test]
fn nothing_of_a_file_can_be_changed() {
    let folder = Folder::new("web-ui-file");
    folder.file("cluster.json", std::fs::read(fixture("demo/cluster.json")).expect("the cluster"));
    let served = Served::start(&folder, &["-snapshot", "cluster.json", "web"]);
    assert!(served.path().starts_with("/ui/search?q=web&entrance="), "{}", served.url);
    let mut client = served.client();
    let page = client.get("/ui/");
    assert!(page.body.contains("file cluster.json") && !page.body.contains("method=\"post\""), "{}", page.body);
    let tokens = client.get("/ui/settings/tokens");
    assert!(tokens.status == 200 && !tokens.body.contains("method=\"post\""), "{}", tokens.body);
    assert_eq!(client.post("/ui/sign-in", &[("token", "x")]).status, 403);
    assert_eq!(client.get("/ui/live?topic=Job:*").status, 403, "there are no events");
}

/// The addresses that commands print, and those that Nomad's commands print (`docs/spec/cli.md §4.7`).
#[test]
fn links_lead_to_pages() {
    let ways = Ways::start("web-ui-links");
    let (address, folder) = (ways.agent.address(), Folder::new("web-ui-commands"));
    let first = |path: &str| ways.agent.list(path)[0]["ID"].as_str().expect("an ID").to_string();
    let (node, eval) = (first("/v1/nodes"), first("/v1/evaluations"));
    let mut paths = Vec::new();
    for id in ["web", &ways.allocation, &node, &eval] {
        let ran = run_in(folder.path(), &["ui", "-show-url", "-address", &address, id]);
        let url = ran.stdout.trim_end().strip_prefix("URL for web UI: ").expect("a link");
        paths.push(url.strip_prefix(&address).expect("of the agent").to_string());
    }
    let start = run_in(folder.path(), &["ui", "-show-url", "-address", &address]);
    assert_eq!(start.stdout, format!("URL for web UI: {address}/ui\n"));
    paths.push(format!("/ui/evaluations?currentEval={eval}"));
    paths.push(format!("/ui/clients/{node}"));
    for path in [
        "jobs",
        "jobs/web@default",
        "jobs/web@default/allocations",
        "jobs/web@default/deployments",
        "jobs/web@default/evaluations",
        "jobs/web@default/versions",
        "jobs/web@default/definition",
        "allocations",
        "clients",
        "servers",
        "evaluations",
        "topology",
        "variables",
        "storage",
        "settings/tokens",
    ] {
        paths.push(format!("/ui/{path}"));
    }
    for (way, mut client) in ways.clients() {
        for path in &paths {
            let page = client.get(path);
            // Snapshot files hold no evaluations.
            let known = way != "file" || !path.contains("currentEval=");
            assert_eq!(page.status, if known { 200 } else { 404 }, "{way} {path}: {}", page.body);
            assert!(page.body.contains("<h1"), "{way} {path}: {}", page.body);
        }
    }
}

/// Commands of pages get job files of browsers.
#[test]
fn job_files_of_pages_read_no_other_files() {
    let folder = Folder::new("web-ui-functions");
    folder.file("secret.txt", "hush");
    let job = "job \"a\" {\n  meta {\n    read = file(\"secret.txt\")\n  }\n  group \"g\" {\n    task \"t\" {\n      \
               driver = \"exec\"\n      config {\n        command = \"/bin/true\"\n      }\n    }\n  }\n}\n";
    let (cluster, job) = (fixture("demo/cluster.json"), folder.file("job.hcl", job));
    let plan =
        |env: &[(&str, &str)]| run_with(folder.path(), &["job", "plan", "-snapshot", &cluster, "-"], env, Some(&job));
    let allowed = plan(&[]);
    assert!(allowed.exit == 1 && allowed.stdout.starts_with("+ Job: \"a\"\n"), "{allowed:?}");
    let refused = plan(&[("ENCAMP_FILE_FUNCTIONS", "false")]);
    assert!(refused.exit == 255 && refused.stderr.contains("filesystem function disabled"), "{refused:?}");
}

#[test]
fn what_cannot_be_served_is_an_error() {
    let folder = Folder::new("web-ui-errors");
    let missing = run_in(folder.path(), &["ui", "-show-url", "-snapshot", "none.json"]);
    assert!(missing.exit == 1 && missing.stderr.starts_with("Error reading snapshot: "), "{missing:?}");
    folder.file("bad.json", json!({"Version": 2, "Jobs": 1}).to_string());
    let bad = run_in(folder.path(), &["ui", "-show-url", "-snapshot", "bad.json"]);
    assert!(bad.exit == 1 && bad.stderr.contains("bad.json"), "{bad:?}");
}

fn fixture(name: &str) -> String {
    format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}
