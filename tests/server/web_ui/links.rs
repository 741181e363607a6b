//! The addresses that commands print lead to the page of the object.

use super::client::Client;
use super::filled::{Filled, job, plain};
use crate::program::Ran;

/// What precedes an address in the output.
const MARKS: [&str; 2] = ["in the Web UI: ", "URL for web UI: "];

/// The addresses that a command printed, without duplicates.
fn addresses(ran: &Ran) -> Vec<String> {
    let said = format!("{}\n{}", ran.stdout, ran.stderr);
    let marked =
        |line: &str| MARKS.iter().find_map(|mark| line.split_once(mark).map(|(_, url)| url.trim().to_string()));
    let mut found: Vec<String> = said.lines().filter_map(marked).collect();
    found.dedup();
    found
}

/// The short form of an ID.
fn short(id: &str) -> &str {
    id.get(..8).expect("an ID")
}

/// Commands with hints, and what the heading of their page contains.
fn commands(c: &Filled) -> Vec<(Vec<&str>, &str)> {
    // A prefix of an ID is enough for a command; its link names the whole ID.
    let of = short;
    let name = c.node_name.as_str();
    vec![
        (vec!["node", "status"], "Clients"),
        (vec!["node", "status", "-verbose"], "Clients"),
        (vec!["node", "status", &c.node], name),
        (vec!["node", "status", of(&c.node)], name),
        (vec!["eval", "list"], "Evaluations"),
        (vec!["eval", "list", "-status", "blocked"], "Evaluations"),
        (vec!["eval", "status", &c.blocked], "Evaluation"),
        (vec!["eval", "status", of(&c.blocked)], "Evaluation"),
        (vec!["server", "members"], "Servers"),
        (vec!["server", "members", "-verbose"], "Servers"),
        (vec!["alloc", "status", &c.web], "web.front[0]"),
        (vec!["alloc", "status", of(&c.web)], "web.front[0]"),
        (vec!["alloc", "status", "-namespace", "apps", &c.preempting], "payments.front[0]"),
        (vec!["alloc", "status", &c.preempted], "trainer.front[0]"),
        (vec!["alloc", "status", &c.failed], "broken.front[0]"),
        (vec!["deployment", "status", &c.canary], "Job web"),
        (vec!["deployment", "status", of(&c.canary)], "Job web"),
        (vec!["job", "status"], "Jobs"),
        (vec!["job", "status", "web"], "Job web"),
        (vec!["job", "status", "huge"], "Job huge"),
        (vec!["job", "status", "-namespace", "apps", "payments"], "Job payments"),
        (vec!["job", "status", &c.dispatched], "Job convert/dispatch-"),
        (vec!["job", "run", "-detach", "-json", "one.json"], "Job one"),
        (vec!["job", "run", "-json", "two.json"], "Job two"),
        (vec!["job", "dispatch", "-detach", "convert"], "Job convert/dispatch-"),
        (vec!["var", "list", "-out", "table"], "Variables"),
        (vec!["var", "list", "-out", "table", "nomad/jobs"], "Variables"),
        (vec!["var", "get", "-out", "table", "nomad/jobs/web"], "nomad/jobs/web"),
        (vec!["var", "put", "-out", "table", "nomad/jobs/new", "a=b"], "nomad/jobs/new"),
        (vec!["ui", "-show-url"], "Overview"),
        (vec!["ui", "-show-url", "huge"], "Job huge"),
        (vec!["ui", "-show-url", &c.web], "web.front[0]"),
        (vec!["ui", "-show-url", &c.blocked], "Evaluation"),
        (vec!["ui", "-show-url", &c.node], name),
        (vec!["ui", "-show-url", &c.volume], "scratch"),
    ]
}

#[test]
fn links_of_thirty_commands_open_the_page_of_their_object() {
    let c = Filled::start("web-ui-links");
    for name in ["one", "two"] {
        let file = job(name, "batch", "echo done", plain());
        c.folder().file(&format!("{name}.json"), file.to_string());
    }
    let mut client = Client::new(c.agent.port);
    let form_token = client.get("/ui/settings/tokens").form_token().to_string();
    let signed = client.post("/ui/sign-in", &[("form_token", &form_token), ("token", &c.agent.token)]);
    assert_eq!(signed.status, 303);
    let commands = commands(&c);
    assert!(commands.len() >= 30);
    for (command, heading) in commands {
        let ran = c.run(&command, &[("NOMAD_CLI_SHOW_HINTS", "true")]);
        let found = addresses(&ran);
        assert!(ran.exit == 0 && found.len() == 1, "{command:?}: {found:?}\n{ran:?}");
        let path = found.iter().find_map(|url| url.strip_prefix(&c.agent.address())).expect("an address of the agent");
        let mut page = client.get(path);
        // The root of the pages is another address.
        if page.status == 307 {
            page = client.get(page.header("location"));
        }
        let title = page.body.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).unwrap_or_default();
        assert!(page.status == 200 && title.contains(heading), "{command:?}: {path}: {} {title:?}", page.status);
    }
}
