//! Objects that are chosen from a list, on a terminal: by keys and by typing, in narrow windows, among many; what cancels;
//! and when nothing is offered.

use std::time::{Duration, Instant};

use encamp_model::ClientStatus;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::canned::*;
use crate::program::{Folder, run_with};
use crate::server::{Request, Response, Server};
use crate::terminal::screen::{CTRL_C, CTRL_D, ENTER, Screen, Size};
use crate::terminal::{Given, encamp, encamp_with};

const PLAIN: Size = Size { columns: 80, rows: 24 };
const TALL: Size = Size { columns: 80, rows: 90 };
const NARROW: Size = Size { columns: 40, rows: 12 };
const ESC: &str = "\x1b";
const DOWN: &str = "\x1b[B";
const UP: &str = "\x1b[A";
const ALLOC: &str = "aaaaaaaa-1111-2222-3333-444444444444";
const OTHER_ALLOC: &str = "aaaaaaaa-9999-2222-3333-444444444444";

fn allocation(id: &str, job: &str) -> Value {
    let group = json!({"Name": "g", "Tasks": [{"Name": "server"}, {"Name": "sidecar"}]});
    let states = json!({"server": {"State": "running"}, "sidecar": {"State": "dead"}});
    let more = json!({
        "JobID": job, "Name": format!("{job}.g[0]"), "TaskGroup": "g", "TaskStates": states,
        "Job": {"ID": job, "TaskGroups": [group]},
    });
    alloc(id, ClientStatus::Running, more)
}

fn nodes() -> Value {
    let node = |id: &str, name: &str| json!({"ID": id, "Name": name, "Status": "ready", "SchedulingEligibility": "eligible", "Datacenter": "dc1"});
    json!([node(NODE, "n1"), node("bbbbbbbb-9999-2222-3333-444444444444", "n2")])
}

/// A row of a list of the API, with what any kind of objects needs.
fn row(id: &str, name: &str) -> Value {
    json!({"ID": id, "AccessorID": id, "Name": name, "Path": name, "JobID": name, "Namespace": "default",
           "Status": "running"})
}

/// A server with a few objects of each kind. Servers compare prefixes of the IDs of jobs.
fn cluster() -> Server {
    let jobs = ["api", "shop", "shop-api", "web"];
    Server::start(move |r: &Request| {
        let prefix = r.param("prefix").unwrap_or_default().to_string();
        let job = |id: &str| json!({"ID": id, "Name": id, "Namespace": "default", "Type": "service"});
        let answer = match r.line().as_str() {
            "GET /v1/jobs" => {
                json!(jobs.iter().filter(|id| id.starts_with(&prefix)).map(|id| stub(id)).collect::<Vec<_>>())
            }
            "GET /v1/nodes" => {
                let all = nodes().as_array().unwrap().clone();
                json!(all.into_iter().filter(|n| n["ID"].as_str().unwrap().starts_with(&prefix)).collect::<Vec<_>>())
            }
            "GET /v1/node/pools" => json!([row("default", "default"), row("gpu", "gpu")]),
            "GET /v1/allocations" => {
                let all = [allocation(ALLOC, "web"), allocation(OTHER_ALLOC, "api")];
                json!(all.into_iter().filter(|a| a["ID"].as_str().unwrap().starts_with(&prefix)).collect::<Vec<_>>())
            }
            line if line.starts_with("GET /v1/allocation/") => allocation(line.split('/').next_back().unwrap(), "web"),
            line if line.starts_with("GET /v1/job/") => job(line.split('/').nth(3).unwrap()),
            line if line.starts_with("GET /v1/node/") => nodes()[0].clone(),
            line if line.starts_with("GET /v1/client/fs/logs/") => return Response::text(200, ""),
            "GET /v1/deployments"
            | "GET /v1/evaluations"
            | "GET /v1/volumes"
            | "GET /v1/vars"
            | "GET /v1/namespaces"
            | "GET /v1/acl/policies"
            | "GET /v1/acl/tokens" => {
                json!([row(EVAL, "first"), row(DEPLOYMENT, "second")])
            }
            _ => return Response::text(404, "not found"),
        };
        Response::json(&answer)
    })
}

/// Commands that need an object, and what a list asks for.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["job", "inspect"], "a job"),
    (&["job", "stop"], "a job"),
    (&["job", "history"], "a job"),
    (&["job", "allocs"], "a job"),
    (&["job", "promote"], "a job"),
    (&["job", "restart"], "a job"),
    (&["job", "scale"], "a job"),
    (&["job", "dispatch"], "a job"),
    (&["job", "periodic", "force"], "a job"),
    (&["alloc", "status"], "an allocation"),
    (&["alloc", "logs"], "an allocation"),
    (&["alloc", "logs", "-job"], "a job"),
    (&["alloc", "exec", "-t=false"], "an allocation"),
    (&["alloc", "fs"], "an allocation"),
    (&["alloc", "stop"], "an allocation"),
    (&["alloc", "restart"], "an allocation"),
    (&["alloc", "signal"], "an allocation"),
    (&["alloc", "checks"], "an allocation"),
    (&["node", "drain", "-enable"], "a node"),
    (&["node", "eligibility", "-disable"], "a node"),
    (&["node", "identity", "get"], "a node"),
    (&["deployment", "promote"], "a deployment"),
    (&["deployment", "fail"], "a deployment"),
    (&["deployment", "pause"], "a deployment"),
    (&["deployment", "resume"], "a deployment"),
    (&["deployment", "unblock"], "a deployment"),
    (&["eval", "status"], "an evaluation"),
    (&["eval", "explain"], "an evaluation"),
    (&["volume", "delete"], "a volume"),
    (&["volume", "deregister"], "a volume"),
    (&["volume", "snapshot", "create"], "a volume"),
    (&["namespace", "status"], "a namespace"),
    (&["node", "pool", "info"], "a node pool"),
    (&["var", "get"], "a variable"),
    (&["acl", "policy", "info"], "a policy"),
    (&["acl", "token", "info"], "a token"),
];

#[test]
fn every_command_that_needs_an_object_offers_a_list() {
    let folder = Folder::new("choices-commands");
    let server = cluster();
    for (args, what) in COMMANDS {
        let screen = encamp(PLAIN, &folder, &server.address, args);
        screen.wait_for(&format!("Choose {what}: "));
        screen.press(ESC);
        let ended = screen.ends().with(1);
        let noun = what.split_once(' ').unwrap().1;
        assert_eq!(ended.contents.trim_end(), format!("No {noun} chosen."), "{args:?}");
    }
    let writes = server.take().into_iter().filter(|r| r.method != "GET").count();
    assert_eq!(writes, 0);
}

#[test]
fn three_keys_leave_one_line() {
    let folder = Folder::new("choices-cancelled");
    let server = cluster();
    for size in [PLAIN, NARROW] {
        for before in ["", "we", DOWN, "nothing matches"] {
            for (key, code) in [(ESC, 1), (CTRL_D, 1), (CTRL_C, 130)] {
                let screen = encamp(size, &folder, &server.address, &["job", "stop"]);
                screen.wait_for("Choose a job: ");
                screen.press(before);
                match before {
                    DOWN => screen.wait_for("> shop"),
                    text => screen.wait_for(&format!("Choose a job: {text}")),
                }
                screen.press(key);
                assert_eq!(screen.ends().with(code).contents.trim_end(), "No job chosen.", "{before:?} {key:?}");
            }
        }
    }
}

#[test]
fn signals_erase_the_list() {
    let folder = Folder::new("choices-signals");
    let server = cluster();
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let screen = encamp(PLAIN, &folder, &server.address, &["job", "stop"]);
        screen.wait_for("Choose a job: ");
        screen.press("shop");
        screen.wait_for("Choose a job: shop");
        screen.signal(signal);
        let ended = screen.ends().with(code);
        assert!(["", "No job chosen."].contains(&ended.contents.trim()), "{signal:?}: {}", ended.contents);
    }
}

#[test]
fn a_row_is_chosen_by_keys_and_the_command_runs_with_it() {
    let folder = Folder::new("choices-keys");
    let server = cluster();
    for (keys, id) in [
        (vec![], "api"),
        (vec![DOWN], "shop"),
        (vec![UP], "web"),
        (vec![DOWN, DOWN, UP, "\x1b[F"], "web"),
        (vec!["s", "a"], "shop-api"),
        (vec!["x", "\x7f", "w"], "web"),
    ] {
        let screen = encamp(TALL, &folder, &server.address, &["job", "inspect"]);
        screen.wait_for("Choose a job: ");
        screen.press(&keys.concat());
        screen.wait_until("the mark", |screen, _| screen.contents().contains(&format!("> {id} ")));
        screen.press(ENTER);
        let ended = screen.ends().with(0);
        assert!(ended.contents.starts_with(&format!("Job: {id} (default)\n{{\n")), "{}", ended.contents);
        assert!(ended.contents.contains(&format!("\"ID\": \"{id}\"")), "{}", ended.contents);
        assert!(!ended.contents.contains("Choose"), "{}", ended.contents);
    }
}

#[test]
fn an_ambiguous_prefix_offers_those_that_match() {
    let folder = Folder::new("choices-ambiguous");
    let server = cluster();
    let screen = encamp(TALL, &folder, &server.address, &["job", "inspect", "sh"]);
    screen.wait_for("Choose a job:  (2)");
    assert!(!screen.contents().contains("web"), "{}", screen.contents());
    screen.press(&[DOWN, ENTER].concat());
    screen.ends().with(0).showing("Job: shop-api (default)").showing("\"ID\": \"shop-api\"");
    for args in [&["alloc", "status", "-short", "aaaa"][..], &["alloc", "logs", "aaaa", "server"]] {
        let screen = encamp(PLAIN, &folder, &server.address, args);
        screen.wait_for("Choose an allocation:  (2)");
        screen.press(ENTER);
        let ended = screen.ends().with(0).showing("Allocation: aaaaaaaa (web.g[0])");
        assert!(!ended.contents.contains("matched"), "{}", ended.contents);
    }
    // The whole name of an object is not ambiguous, and several objects are not one.
    encamp(PLAIN, &folder, &server.address, &["job", "inspect", "shop"]).ends().with(0).without("Job:");
    let several = encamp(PLAIN, &folder, &server.address, &["job", "stop", "-yes", "sh", "w"]).ends();
    several.with(1).showing("Prefix \"sh\" matched multiple jobs").without("Choose");
}

#[test]
fn the_task_is_chosen_where_there_are_several() {
    let folder = Folder::new("choices-task");
    let server = cluster();
    let screen = encamp(PLAIN, &folder, &server.address, &["alloc", "logs"]);
    screen.wait_for("Choose an allocation: ");
    screen.press(&["api", ENTER].concat());
    screen.wait_for("Choose a task: ");
    screen.press(&["side", ENTER].concat());
    screen.ends().with(0).showing("Allocation: aaaaaaaa (api.g[0])\nTask: sidecar");
    let logs = server.take().into_iter().find(|r| r.line().starts_with("GET /v1/client/fs/logs/")).expect("a request");
    assert_eq!((logs.param("task"), logs.line().contains(OTHER_ALLOC)), (Some("sidecar"), true));
    for (key, code) in [(ESC, 1), (CTRL_D, 1), (CTRL_C, 130)] {
        let screen = encamp(PLAIN, &folder, &server.address, &["alloc", "logs", ALLOC]);
        screen.wait_for("Choose a task: ");
        screen.press(key);
        assert_eq!(screen.ends().with(code).contents.trim_end(), "No task chosen.");
    }
}

#[test]
fn what_was_chosen_is_confirmed_where_a_prefix_is() {
    let folder = Folder::new("choices-confirmed");
    let server = cluster();
    for (args, question) in [
        (&["job", "stop", "-detach"][..], "Are you sure you want to stop job \"api\"? [y/N]"),
        (&["node", "drain", "-enable", "-detach"], "Are you sure you want to enable drain mode for node "),
    ] {
        let screen = encamp(PLAIN, &folder, &server.address, args);
        screen.wait_for("Choose ");
        screen.press(ENTER);
        screen.wait_for(question);
        screen.press(&["n", ENTER].concat());
        screen.ends().with(0);
    }
    assert!(server.take().iter().all(|r| r.method == "GET"));
}

#[test]
fn further_arguments_are_asked_for() {
    let folder = Folder::new("choices-further");
    let server = cluster();
    let screen = encamp(PLAIN, &folder, &server.address, &["job", "scale", "-detach"]);
    screen.wait_for("Choose a job: ");
    screen.press(&["web", ENTER].concat());
    screen.wait_for("Count [1]: ");
    screen.press(&["many", ENTER].concat());
    screen.wait_for("Enter a whole number from 0 up.");
    screen.press(CTRL_C);
    screen.ends().with(130).showing("No answer.").without("Count").without("whole number");
}

#[test]
fn narrow_windows_break_no_line() {
    let folder = Folder::new("choices-narrow");
    let long = "a-job-with-a-name-that-is-much-longer-than-the-window-is-wide";
    let server = serving(vec![
        ("GET /v1/jobs", Response::json(&json!((0..30).map(|n| stub(&format!("{long}-{n:02}"))).collect::<Vec<_>>()))),
        ("GET /v1/allocations", Response::json(&json!([allocation(ALLOC, long), allocation(OTHER_ALLOC, "b")]))),
    ]);
    for (args, rows, first) in [
        (&["job", "inspect"][..], 9, "> a-job-with-a-name-…  service  running"),
        (&["alloc", "status"], 2, "> aaaaaaaa  a-job-with-a-name…  running"),
    ] {
        let screen = encamp(NARROW, &folder, &server.address, args);
        screen.wait_for("Esc cancel");
        let contents = screen.contents();
        let lines: Vec<&str> = contents.trim_end().lines().collect();
        assert_eq!((lines.len(), lines[2]), (rows + 3, first), "{contents}");
        // A line that the terminal wraps is one line here.
        assert!(lines.iter().all(|line| line.chars().count() < usize::from(NARROW.columns)), "{contents}");
        screen.press(&"a".repeat(60));
        // The list comes in several writes.
        screen.wait_until("that nothing matches, in four lines", |screen, _| {
            let contents = screen.contents();
            contents.contains("Nothing matches.") && contents.trim_end().lines().count() == 4
        });
        screen.press(ESC);
        assert_eq!(screen.ends().with(1).contents.trim_end().lines().count(), 1);
    }
}

/// A UUID with this number at its beginning.
fn uuid(number: usize) -> String {
    format!("{number:08x}-1111-2222-3333-444444444444")
}

#[test]
fn ten_thousand_objects_can_be_searched() {
    let folder = Folder::new("choices-many");
    let all: Vec<Value> = (0..10_000).map(|n| allocation(&uuid(n), &format!("service-{n:05}"))).collect();
    let all = json!(all);
    let server = Server::start(move |r: &Request| match r.line().as_str() {
        "GET /v1/allocations" if r.param("prefix").is_none() => Response::json(&all),
        "GET /v1/allocations" => Response::json(&json!([allocation(&uuid(4711), "service-04711")])),
        _ => Response::json(&allocation(&uuid(4711), "service-04711")),
    });
    let started = Instant::now();
    let screen = encamp(PLAIN, &folder, &server.address, &["alloc", "status", "-short"]);
    screen.wait_for("Choose an allocation:  (10000)");
    let opened = started.elapsed();
    let typed = Instant::now();
    screen.press("srv4711");
    screen.wait_for("srv4711  (1 of 10000)");
    let found = typed.elapsed();
    screen.press(ENTER);
    screen.ends().with(0).showing("Allocation: 00001267 (service-04711.g[0])");
    eprintln!("10,000 allocations: opened in {opened:?}, seven keys in {found:?}");
    // Far more than an unoptimised program needs on a busy machine; a list that is compared again for each row would
    // take longer.
    assert!(found < Duration::from_secs(20), "{found:?}");
}

/// Runs a command through a pipe: what it prints where nobody can choose.
fn piped(folder: &Folder, address: &str, args: &[&str]) -> (String, i32) {
    let ran = run_with(folder.path(), args, &[("NOMAD_ADDR", address)], None);
    (format!("{}{}", ran.stdout, ran.stderr), ran.exit)
}

#[test]
fn nothing_is_offered_to_programs() {
    let folder = Folder::new("choices-excluded");
    let server = cluster();
    let xterm = ("TERM", "xterm-256color");
    let cases: &[Given<'_>] = &[
        (&[("TERM", "dumb")], &["job", "stop"]),
        (&[], &["job", "stop"]),
        (&[xterm, ("CI", "true")], &["job", "stop"]),
        (&[xterm, ("CI", "1")], &["alloc", "logs"]),
        (&[xterm, ("NO_COLOR", "1")], &["job", "stop"]),
        (&[xterm], &["job", "stop", "-yes"]),
        (&[xterm], &["node", "drain", "-enable", "-yes"]),
        (&[xterm], &["eval", "status", "-json"]),
        (&[xterm], &["eval", "status", "-t", "{{.ID}}"]),
        (&[xterm], &["job", "inspect", "-hcl", "-t", "x"]),
        (&[xterm], &["job", "inspect", "-snapshot", "s.json"]),
        (&[xterm], &["job", "inspect", "-json", "sh"]),
        (&[xterm], &["job", "inspect", "a", "b"]),
        (&[xterm], &["node", "drain"]),
        // These list what there is.
        (&[xterm], &["job", "status"]),
        (&[xterm], &["node", "status"]),
    ];
    for (env, args) in cases {
        let ended = encamp_with(PLAIN, &folder, &server.address, env, args).ends();
        let (text, exit) = piped(&folder, &server.address, args);
        assert_eq!((ended.contents.trim_end(), ended.code()), (text.trim_end(), exit), "{env:?} {args:?}");
    }
}

#[test]
fn nothing_is_offered_without_a_terminal() {
    let folder = Folder::new("choices-streams");
    let server = cluster();
    let program = crate::program::path();
    let env = [("NOMAD_ADDR", server.address.as_str()), ("TERM", "xterm-256color"), ("NOMAD_CLI_NO_COLOR", "1")];
    let (text, exit) = piped(&folder, &server.address, &["job", "stop"]);
    for (line, shown) in [
        (format!("{program} job stop < /dev/null"), text.as_str()),
        (format!("{program} job stop 2> errors"), ""),
        (format!("echo api | {program} job stop"), &text),
    ] {
        let screen = Screen::start(PLAIN, folder.path(), &env, "/bin/sh", &["-c", &line]);
        let ended = screen.ends().with(exit);
        assert_eq!(ended.contents.trim_end(), shown.trim_end(), "{line}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("errors")).unwrap(), text);
    // Standard output may be anything: the list is on standard error.
    let line = format!("{program} job inspect > job.json");
    let screen = Screen::start(PLAIN, folder.path(), &env, "/bin/sh", &["-c", &line]);
    screen.wait_for("Choose a job: ");
    screen.press(ENTER);
    screen.ends().with(0).showing("Job: api (default)");
    let written = std::fs::read_to_string(folder.path().join("job.json")).unwrap();
    assert!(written.contains("\"ID\": \"api\"") && !written.contains("Job:"), "{written}");
}

#[test]
fn nothing_is_offered_where_there_is_nothing_to_choose() {
    let folder = Folder::new("choices-none");
    let empty = serving(vec![("GET /v1/jobs", Response::json(&json!([])))]);
    let refusing = serving(vec![("GET /v1/jobs", Response::text(403, "Permission denied"))]);
    for address in [empty.address.as_str(), refusing.address.as_str(), "http://127.0.0.1:1"] {
        let ended = encamp(PLAIN, &folder, address, &["job", "stop"]).ends();
        let (text, exit) = piped(&folder, address, &["job", "stop"]);
        assert_eq!((ended.contents.trim_end(), ended.code()), (text.trim_end(), exit), "{address}");
    }
}

#[test]
fn objects_of_all_namespaces_are_told_apart() {
    let folder = Folder::new("choices-namespaces");
    let job = |namespace: &str| json!({"ID": "api", "Name": "api", "Namespace": namespace, "Type": "service"});
    let server = Server::start(move |r: &Request| match (r.line().as_str(), r.param("namespace")) {
        ("GET /v1/jobs", Some("*")) => Response::json(&json!([job("dev"), job("prod")])),
        ("GET /v1/jobs", Some(namespace)) => Response::json(&json!([job(namespace)])),
        ("GET /v1/job/api", Some(namespace)) => Response::json(&job(namespace)),
        _ => Response::text(404, "not found"),
    });
    let screen = encamp(TALL, &folder, &server.address, &["job", "inspect", "-namespace", "*"]);
    screen.wait_for("> api  dev ");
    screen.press("prod");
    screen.wait_for("> api  prod ");
    screen.press(ENTER);
    screen.ends().with(0).showing("Job: api (prod)").showing("\"Namespace\": \"prod\"");
}
