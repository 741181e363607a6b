//! The action of GitHub and the component of GitLab in `packaging/pipelines`: their shell scripts run as these services
//! run them, against an interface of comments that is played, and install a release that is served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use encamp_test_support::notes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::agent::{Agent, wait_for};
use crate::program::{self, Folder, repository, run_in, succeeds};
use crate::server::{Request, Response, Server};

const TOKEN: &str = "token-of-the-pipeline";
/// How many comments of other people there are: more than a page.
const OTHERS: usize = 130;
const VERSION: &str = "9.9.9";

/// The comments of a pull request or merge request.
#[derive(Default)]
struct Comments {
    bodies: BTreeMap<u64, String>,
    /// Answers with this status instead.
    refuse: Option<u16>,
    posted: usize,
    changed: usize,
}

impl Comments {
    fn answer(&mut self, request: &Request) -> Response {
        let bearer = request.header("authorization") == Some(&format!("Bearer {TOKEN}"));
        if !bearer && request.header("private-token") != Some(TOKEN) {
            return Response::text(401, "{\"message\": \"Bad credentials\"}");
        }
        if let Some(status) = self.refuse {
            return Response::text(status, "{\"message\": \"Resource not accessible\"}");
        }
        let body = || {
            let sent: Value = serde_json::from_slice(&request.body).expect("JSON");
            sent["body"].as_str().expect("a body").to_string()
        };
        let collection = ["/api/repos/o/r/issues/7/comments", "/api/v4/projects/11/merge_requests/7/notes"];
        match request.method.as_str() {
            "GET" if collection.contains(&request.path.as_str()) => {
                let number = |name| request.param(name).expect("a parameter").parse::<usize>().expect("a number");
                let (size, page) = (number("per_page"), number("page"));
                let row = |(id, body): (&u64, &String)| json!({"id": id, "body": body});
                Response::json(&self.bodies.iter().skip(size * (page - 1)).take(size).map(row).collect::<Vec<_>>())
            }
            "POST" if collection.contains(&request.path.as_str()) => {
                let id = self.bodies.keys().last().map_or(1, |id| id + 1);
                self.bodies.insert(id, body());
                self.posted += 1;
                Response { status: 201, ..Response::json(&json!({ "id": id })) }
            }
            "PATCH" | "PUT" => {
                let (below, id) = request.path.rsplit_once('/').expect("a path");
                assert!(below == "/api/repos/o/r/issues/comments" || below == collection[1], "{}", request.line());
                let id = id.parse().expect("an ID");
                assert!(self.bodies.insert(id, body()).is_some(), "{}", request.line());
                self.changed += 1;
                Response::json(&json!({ "id": id }))
            }
            _ => panic!("unexpected: {}", request.line()),
        }
    }

    fn of_pipeline(&self) -> Vec<&String> {
        self.bodies.values().filter(|body| body.starts_with("<!-- encamp: plan -->\n")).collect()
    }
}

/// A release, the services, and a repository with jobs.
struct Place {
    folder: Folder,
    server: Server,
    comments: Arc<Mutex<Comments>>,
    sha256: String,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = Folder::new(name);
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let stem = format!("encamp-{VERSION}-linux-{architecture}");
        std::fs::create_dir_all(folder.path().join(&stem)).expect("a directory");
        // The program itself has hundreds of megabytes.
        let file = folder.file(&format!("{stem}/encamp"), format!("#!/bin/sh\nexec {:?} \"$@\"\n", program::path()));
        succeeds(Command::new("chmod").arg("+x").arg(file)).expect("executable");
        let archive = folder.path().join("release.tar.gz");
        let mut tar = Command::new("tar");
        succeeds(tar.current_dir(folder.path()).arg("-czf").arg(&archive).arg(&stem)).expect("an archive");
        let bytes = std::fs::read(&archive).expect("the archive");
        let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut comments = Comments::default();
        (0..OTHERS as u64).for_each(|n| drop(comments.bodies.insert(n, format!("Comment {n}: <!-- encamp: plan -->"))));
        let comments = Arc::new(Mutex::new(comments));
        let shared = comments.clone();
        let served = format!("/release/{stem}.tar.gz");
        let server = Server::start(move |request| match request.path.as_str() {
            path if path == served => Response { status: 200, headers: Vec::new(), body: bytes.clone() },
            path if path.starts_with("/release/") => Response::text(404, ""),
            _ => shared.lock().unwrap().answer(request),
        });
        std::fs::create_dir(folder.path().join("jobs")).expect("a directory");
        Place { folder, server, comments, sha256 }
    }

    /// Makes a fixture the only job of the repository.
    fn job(&self, fixture: &str) {
        let text = std::fs::read_to_string(repository().join("fixtures").join(fixture)).expect("a fixture");
        self.folder.file("jobs/job.nomad.hcl", text);
        let ran = run_in(self.folder.path(), &["fmt", "jobs"]);
        assert_eq!(ran.exit, 0, "{ran:?}");
    }

    fn inputs(&self, more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let url = format!("{}/release/", self.server.address);
        let snapshot = repository().join("fixtures/demo/cluster.json").display().to_string();
        let all = [("version", VERSION), ("sha256", &self.sha256), ("download-url", &url), ("snapshot", &snapshot)];
        all.iter().chain(more).map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    /// Runs a script as the services do; gives the exit code and what it printed.
    fn shell(&self, script: &str, path: &str, variables: &[(String, String)]) -> (i32, String) {
        let mut command = Command::new("sh");
        command.current_dir(self.folder.path()).env_clear().env("PATH", path).args(["-e", "-c", script]);
        command.envs(variables.iter().cloned());
        let ran = command.output().expect("a shell");
        let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        (ran.status.code().unwrap_or(-1), said)
    }

    fn temporary(&self, name: &str) -> PathBuf {
        self.folder.path().join("temp").join(name)
    }
}

/// A YAML text, as the function `yamldecode` of job files reads it.
fn yaml(text: &str) -> Value {
    let folder = Folder::new("pipeline-yaml");
    folder.file("text.yml", text);
    let job = "job \"yaml\" {\n  meta { text = jsonencode(yamldecode(file(\"text.yml\"))) }\n}\n";
    folder.file("yaml.hcl", job);
    let ran = run_in(folder.path(), &["job", "run", "-output", "yaml.hcl"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    serde_json::from_str(printed["Job"]["Meta"]["text"].as_str().expect("a text")).expect("JSON")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(repository().join("packaging/pipelines").join(file)).expect(file)
}

/// Replaces `${{ name }}`, or `$[[ name ]]`; a name without a value fails the test.
fn substituted(text: &str, open: &str, close: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(open) {
        let (name, after) = after.split_once(close).expect("the end of an expression");
        out += before;
        out += &value(name.trim()).unwrap_or_else(|| panic!("{} has no value", name.trim()));
        rest = after;
    }
    out + rest
}

/// The values of all inputs: those given, and the defaults of the others.
fn with_defaults(declared: &Value, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let declared = declared.as_object().expect("inputs");
    assert!(given.keys().all(|name| declared.contains_key(name)), "{given:?}");
    let value = |(name, input): (&String, &Value)| {
        let default = input["default"].as_str().map(String::from);
        let value = given.get(name).cloned().or(default).unwrap_or_else(|| panic!("{name} is required"));
        (name.clone(), value)
    };
    declared.iter().map(value).collect()
}

trait Service {
    /// Runs the pipeline with these inputs and variables; gives the exit code and what was printed.
    fn run(&self, place: &Place, inputs: &[(&str, &str)], variables: &[(&str, &str)]) -> (i32, String);
    /// How many characters a comment may have.
    fn longest_comment(&self) -> usize;
}

struct GitHub(Value);

impl GitHub {
    fn step(
        &self,
        place: &Place,
        step: &Value,
        inputs: &BTreeMap<String, String>,
        variables: &[(&str, &str)],
    ) -> (i32, String) {
        let outputs = std::fs::read_to_string(place.temporary("output")).unwrap_or_default();
        let value = |name: &str| match name.split_once('.') {
            Some(("inputs", input)) => inputs.get(input).cloned(),
            Some(("steps", output)) => {
                let name = output.strip_prefix("plan.outputs.")?;
                outputs.lines().find_map(|line| Some(line.split_once('=').filter(|(n, _)| *n == name)?.1.into()))
            }
            _ => match name {
                "github.token" => Some(TOKEN.into()),
                "github.event.pull_request.number" => Some("7".into()),
                _ => None,
            },
        };
        let mut all: Vec<(String, String)> = [
            ("GITHUB_API_URL", format!("{}/api", place.server.address)),
            ("GITHUB_REPOSITORY", "o/r".into()),
            ("GITHUB_PATH", place.temporary("path").display().to_string()),
            ("GITHUB_OUTPUT", place.temporary("output").display().to_string()),
            ("GITHUB_STEP_SUMMARY", place.temporary("summary").display().to_string()),
            ("RUNNER_TEMP", place.folder.path().join("temp").display().to_string()),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into();
        all.extend(variables.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())));
        for (name, text) in step["env"].as_object().expect("variables") {
            // The default of an input may be an expression itself.
            let text = substituted(text.as_str().expect("a text"), "${{", "}}", &value);
            all.push((name.clone(), substituted(&text, "${{", "}}", &value)));
        }
        let added = std::fs::read_to_string(place.temporary("path")).unwrap_or_default();
        let path: String = added.lines().map(|line| format!("{line}:")).collect();
        let path = path + &std::env::var("PATH").unwrap_or_default();
        let script = step["run"].as_str().expect("a script");
        assert!(!script.contains("${{"), "texts of others must not become a part of a script");
        place.shell(script, &path, &all)
    }
}

impl Service for GitHub {
    fn run(&self, place: &Place, inputs: &[(&str, &str)], variables: &[(&str, &str)]) -> (i32, String) {
        let _ = std::fs::remove_dir_all(place.folder.path().join("temp"));
        std::fs::create_dir(place.folder.path().join("temp")).expect("a directory");
        let inputs = with_defaults(&self.0["inputs"], &place.inputs(inputs));
        let mut said = String::new();
        for step in self.0["runs"]["steps"].as_array().expect("steps") {
            let (code, text) = self.step(place, step, &inputs, variables);
            said += &text;
            if code != 0 {
                return (code, said);
            }
        }
        (0, said)
    }

    fn longest_comment(&self) -> usize {
        65_536
    }
}

struct GitLab(String);

impl Service for GitLab {
    fn run(&self, place: &Place, inputs: &[(&str, &str)], variables: &[(&str, &str)]) -> (i32, String) {
        let (head, body) = self.0.split_once("\n---\n").expect("two documents");
        let inputs = with_defaults(&yaml(head)["spec"]["inputs"], &place.inputs(inputs));
        let value = |name: &str| inputs.get(name.strip_prefix("inputs.")?).cloned();
        let pipeline = yaml(&substituted(body, "$[[", "]]", &value));
        let job = &pipeline[&inputs["name"]];
        let mut all: Vec<(String, String)> = [
            ("CI_API_V4_URL", format!("{}/api/v4", place.server.address)),
            ("CI_PROJECT_ID", "11".into()),
            ("CI_MERGE_REQUEST_IID", "7".into()),
            ("ENCAMP_COMMENT_TOKEN", TOKEN.into()),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into();
        all.extend(variables.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())));
        for (name, text) in job["variables"].as_object().expect("variables") {
            all.push((name.clone(), text.as_str().expect("a text").into()));
        }
        // All lines run in one shell.
        let lines: Vec<&str> = job["script"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
        place.shell(&lines.join("\n"), &std::env::var("PATH").unwrap_or_default(), &all)
    }

    fn longest_comment(&self) -> usize {
        1_000_000
    }
}

fn missing() -> bool {
    ["curl", "jq"].iter().any(|program| notes::lacks("pipeline components", program))
}

fn pipeline_plans_and_comments_once(name: &str, service: &dyn Service) {
    if missing() {
        return;
    }
    let place = Place::new(name);
    let comments = || place.comments.lock().unwrap();
    let counts = || {
        let comments = comments();
        (comments.posted, comments.changed, comments.bodies.len())
    };

    place.job("demo/api-inplace.hcl");
    let (code, said) = service.run(&place, &[], &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(counts(), (1, 0, OTHERS + 1), "{said}");
    let first = comments().of_pipeline()[0].clone();
    assert!(first.contains("### Plan of job `api`"), "{first}");
    assert!(said.contains("### Plan of job `api`"), "{said}");

    // The next push: another plan, the same comment.
    place.job("demo/trainer-fails.hcl");
    let (code, said) = service.run(&place, &[], &[]);
    assert!(code == 2 && said.contains("a condition of fail-on holds"), "{code} {said}");
    assert_eq!(counts(), (1, 1, OTHERS + 1), "{said}");
    assert!(comments().of_pipeline()[0].contains("### Plan of job `trainer`"));
    let (code, said) = service.run(&place, &[("fail-on", "reject"), ("comment", "")], &[]);
    assert_eq!((code, counts()), (0, (1, 1, OTHERS + 1)), "{said}");

    let (code, said) = service.run(&place, &[("options", "-down=no-such-node")], &[]);
    assert!(code != 0 && said.contains("the plan failed"), "{code} {said}");

    // Who may not comment still sees the plan.
    comments().refuse = Some(403);
    place.job("demo/api-inplace.hcl");
    let (code, said) = service.run(&place, &[], &[]);
    assert!(code == 0 && said.contains("the comment was not written: status 403"), "{code} {said}");
    comments().refuse = None;

    let other = "0".repeat(64);
    let (code, said) = service.run(&place, &[("sha256", &other)], &[]);
    assert!(code != 0 && said.contains("is not the expected file") && !said.contains("### Plan"), "{code} {said}");
    let (code, said) = service.run(&place, &[("version", "0.0.0")], &[]);
    assert!(code != 0 && !said.contains("### Plan"), "{code} {said}");

    place.folder.file("jobs/job.nomad.hcl", "job \"web\" {\n      type = \"service\"\n}\n");
    let (code, said) = service.run(&place, &[], &[]);
    assert!(code != 0 && said.contains("job.nomad.hcl") && !said.contains("### Plan"), "{code} {said}");
    place.folder.file("jobs/job.nomad.hcl", "job \"web\" {\n  type = \"service\"\n}\n");
    let (code, said) = service.run(&place, &[], &[]);
    assert!(code != 0 && said.contains("Missing job task groups") && !said.contains("### Plan"), "{code} {said}");
    assert_eq!(counts(), (1, 1, OTHERS + 1));
}

fn long_plans_are_cut(name: &str, service: &dyn Service) {
    if missing() {
        return;
    }
    let place = Place::new(name);
    let group = |n: usize| {
        format!(
            "  group \"g{n}\" {{\n    task \"t\" {{\n      driver = \"raw_exec\"\n      config {{\n        command = \
             \"/bin/{}\"\n      }}\n    }}\n  }}\n",
            "x".repeat(15_000)
        )
    };
    let groups = service.longest_comment() / 10_000 + 1;
    let job = format!("job \"large\" {{\n{}}}\n", (0..groups).map(group).collect::<String>());
    place.folder.file("jobs/job.nomad.hcl", job);
    let (_, said) = service.run(&place, &[("options", "-verbose"), ("fail-on", "reject")], &[]);
    let comments = place.comments.lock().unwrap();
    let found = comments.of_pipeline();
    assert_eq!(found.len(), 1, "{}", &said[..said.len().min(4_000)]);
    assert!(said.len() > service.longest_comment(), "the plan is long: {}", said.len());
    assert!(found[0].len() < service.longest_comment(), "{}", found[0].len());
    let fences = found[0].lines().filter(|line| line.starts_with("```")).count();
    assert!(fences > 0 && fences % 2 == 0, "{fences}");
    assert!(found[0].contains("\nThe rest is in the "), "{said}");
}

fn github() -> GitHub {
    GitHub(yaml(&read("github/action.yml")))
}

fn gitlab() -> GitLab {
    GitLab(read("gitlab/templates/encamp/template.yml"))
}

#[test]
fn the_action_of_github_plans_and_comments_once() {
    pipeline_plans_and_comments_once("pipeline-github", &github());
    long_plans_are_cut("pipeline-github-long", &github());
}

#[test]
fn the_component_of_gitlab_plans_and_comments_once() {
    pipeline_plans_and_comments_once("pipeline-gitlab", &gitlab());
    long_plans_are_cut("pipeline-gitlab-long", &gitlab());
}

#[test]
fn both_plan_on_a_running_cluster() {
    if missing() {
        return;
    }
    let cluster = Folder::new("pipeline-cluster");
    let agent = Agent::start(&cluster, "", &["-dev"]);
    wait_for("a node", || match agent.list("/v1/nodes").iter().any(|n| n["Status"] == "ready") {
        true => Ok(()),
        false => Err("no node is ready".into()),
    });
    let address = agent.address();
    let (github, gitlab) = (github(), gitlab());
    for (name, service) in [("pipeline-live-1", &github as &dyn Service), ("pipeline-live-2", &gitlab)] {
        let place = Place::new(name);
        place.job("laptop/cache.nomad.hcl");
        let (code, said) = service.run(&place, &[("snapshot", "")], &[("ENCAMP_ADDR", &address)]);
        assert_eq!(code, 0, "{said}");
        let comments = place.comments.lock().unwrap();
        assert!(comments.of_pipeline()[0].contains("### Plan of job `cache` (new job)"), "{said}");
    }
}

/// The files that the README shows name the folders, inputs and outputs that there are.
#[test]
fn the_readme_of_pipelines_uses_what_there_is() {
    let text = read("README.md");
    let action = yaml(&read("github/action.yml"));
    let inputs = action["inputs"].as_object().expect("inputs");
    let (head, _) = gitlab().0.split_once("\n---\n").map(|(a, b)| (a.to_string(), b.to_string())).expect("two");
    let component = yaml(&head);
    let own = ["name", "stage", "image"];
    let names = |of: &Value| of.as_object().expect("inputs").keys().cloned().collect::<Vec<_>>();
    let shared: Vec<String> = names(&component["spec"]["inputs"]);
    let shared: Vec<&String> = shared.iter().filter(|name| !own.contains(&name.as_str())).collect();
    assert!(shared.iter().all(|name| inputs.contains_key(*name)), "{shared:?}");
    for name in inputs.keys() {
        assert!(text.contains(&format!("| `{name}` |")), "{name} is missing in the README");
    }
    for (block, list) in
        [("with:", inputs.keys().cloned().collect::<Vec<_>>()), ("inputs:", names(&component["spec"]["inputs"]))]
    {
        let (_, after) = text.split_once(&format!("{block}\n")).expect(block);
        let after = after.split("```").next().expect("a block");
        let used = after.lines().map_while(|line| line.trim().split_once(": ")).map(|(name, _)| name.to_string());
        let used: Vec<String> = used.collect();
        assert!(used.len() >= 4 && used.iter().all(|name| list.contains(name)), "{block} {used:?}");
    }
    assert!(Path::new(&repository().join("packaging/pipelines/gitlab/templates/encamp/template.yml")).is_file());
}
