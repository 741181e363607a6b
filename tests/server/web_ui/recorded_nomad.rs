//! The pages in front of a running Nomad: a server that answers as Nomad did when it was recorded (`tests/oracle/http`;
//! the CSI plugin of `tests/oracle/archive`).

use std::collections::BTreeMap;

use encamp_test_support::browser::{Browser, axe};
use encamp_test_support::notes;
use encamp_test_support::recorded;
use encamp_test_support::server::{Request, Response, Server};
use serde_json::{Value, json};

use super::pages::open;
use super::tour::faults;
use super::ways::Served;
use crate::program::Folder;

/// A recorded answer, with the parameters of the request.
struct Answer {
    parameters: Vec<(String, String)>,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

/// Lists of which some recordings have only a summary: that they are in order, or how long they are.
const LISTS: [&str; 5] = ["/v1/jobs", "/v1/allocations", "/v1/deployments", "/v1/evaluations", "/v1/nodes"];
/// An evaluation that placed nothing. Its allocations are the recorded ones of an unknown evaluation: none.
const BLOCKED: &str = "9fc8a11b-8424-bf76-9635-8361f5c33b99";
const UNKNOWN: &str = "00000000-0000-0000-0000-000000000000";
/// Headers that pages read.
const HEADERS: [&str; 3] = ["Content-Type", "X-Nomad-Index", "X-Nomad-NextToken"];
/// The families of recordings: of a development agent, and of one with access control.
const FAMILIES: [&str; 2] = ["http/reference-2.0.5", "http/reference-2.0.5-acl"];

/// What Nomad answered to reads that succeeded, by path.
fn answers() -> Option<BTreeMap<String, Vec<Answer>>> {
    let mut all: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for family in FAMILIES {
        for (_, path) in recorded::files(&recorded::folder(family)?, ".json") {
            let exchange = recorded::json_at(&path)?;
            let (request, response) = (&exchange["request"], &exchange["response"]);
            let Some(target) = request["path"].as_str().filter(|_| request["method"] == "GET") else { continue };
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            let (Some(status), false) = (response["status"].as_u64(), response["body"].is_null()) else { continue };
            let whole = |list: &Vec<Value>| list.iter().all(Value::is_object);
            if status != 200 || LISTS.contains(&path) && !response["body"].as_array().is_some_and(whole) {
                continue;
            }
            let path = path.replace(UNKNOWN, BLOCKED);
            let header = |name: &&'static str| Some((*name, response["headers"][*name].as_str()?.to_string()));
            let text = response["body"].as_str().filter(|_| response["body_kind"] == "text");
            let answer = Answer {
                parameters: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
                status: 200,
                headers: HEADERS.iter().filter_map(header).collect(),
                body: text.map_or_else(|| response["body"].to_string(), str::to_string),
            };
            all.entry(path.replace("%2F", "/")).or_default().push(answer);
        }
    }
    let archived = recorded::json("archive/dev-acl.expected.json")?;
    let plugin = archived["CSIPlugins"][0].clone();
    let name = plugin["ID"].as_str()?.to_string();
    for (path, body) in [("/v1/plugins".to_string(), json!([plugin])), (format!("/v1/plugin/csi/{name}"), plugin)] {
        let answer = Answer { parameters: Vec::new(), status: 200, headers: Vec::new(), body: body.to_string() };
        all.insert(path, vec![answer]);
    }
    Some(all)
}

/// The answer that was recorded for the most parameters of a request and for no other ones; the longest of several.
fn answered(all: &BTreeMap<String, Vec<Answer>>, request: &Request) -> Response {
    let missing = || Response::text(404, "not recorded");
    let Some(answers) = all.get(&request.path).filter(|_| request.method == "GET") else { return missing() };
    let fits = answers.iter().filter(|a| a.parameters.iter().all(|p| request.query.contains(p)));
    let Some(found) = fits.max_by_key(|a| (a.parameters.len(), a.body.len())) else { return missing() };
    let headers = found.headers.clone();
    Response { status: found.status, headers, body: found.body.clone().into_bytes() }
}

/// The pages, and what their headings contain. The allocation with a task that runs is one of job `web`.
fn pages() -> Vec<(String, &'static str)> {
    let object = |family: &str, id: &str| format!("/ui/{family}/{id}");
    vec![
        ("/ui/".into(), "Overview"),
        ("/ui/jobs".into(), "Jobs"),
        ("/ui/jobs/web@default".into(), "web"),
        ("/ui/jobs/web@default/versions".into(), "web"),
        ("/ui/jobs/web@default/allocations".into(), "web"),
        ("/ui/jobs/web@default/deployments".into(), "web"),
        ("/ui/jobs/web@default/evaluations".into(), "web"),
        ("/ui/jobs/web@default/definition".into(), "web"),
        ("/ui/allocations".into(), "Allocations"),
        (object("allocations", "3beb069b-9bca-c377-2d92-945f23f7640f"), "web"),
        (object("allocations", "3beb069b-9bca-c377-2d92-945f23f7640f/main"), "main"),
        (object("allocations", "470299df-f5dc-70b3-1c95-ea28cc449b36"), ""),
        ("/ui/deployments".into(), "Deployments"),
        (object("deployments", "742d9cf3-0b4c-9cd4-0ae5-d6595f0cc9c4"), "Deployment 742d9cf3"),
        ("/ui/evaluations".into(), "Evaluations"),
        (format!("/ui/evaluations?currentEval={BLOCKED}"), "Evaluation 9fc8a11b"),
        ("/ui/clients".into(), "Clients"),
        (object("clients", "86825d37-5264-effb-1a7c-30be40b9a44c"), "node-1"),
        ("/ui/servers".into(), "Servers"),
        ("/ui/topology".into(), "Topology"),
        ("/ui/services".into(), "Services"),
        ("/ui/services/web-svc@default".into(), "web-svc"),
        ("/ui/variables".into(), "Variables"),
        ("/ui/variables/var/app/config@default".into(), "app/config"),
        ("/ui/storage".into(), "Host volumes"),
        ("/ui/storage/volumes/host/7fcc4f41-bdf9-6906-840b-af71d4f5d360".into(), ""),
        ("/ui/storage/volumes/csi".into(), "CSI volumes"),
        ("/ui/storage/plugins".into(), "Storage plugins"),
        (PLUGIN.into(), "ebs0"),
        ("/ui/storage/claims".into(), "Claims"),
        ("/ui/namespaces".into(), "Namespaces"),
        ("/ui/namespaces/apps".into(), "apps"),
        ("/ui/pools/gpu".into(), "gpu"),
        ("/ui/access".into(), "Access: policies"),
        ("/ui/access-control/policies/dev".into(), "dev"),
        ("/ui/access-control/tokens".into(), "Tokens"),
        ("/ui/access-control/auth-methods/jwt".into(), "jwt"),
        ("/ui/plan".into(), "Plan a job"),
        ("/ui/settings/tokens".into(), "Sign in"),
    ]
}

/// The page of a storage plugin, which no other test opens: an agent has one only with a plugin at work.
pub const PLUGIN: &str = "/ui/storage/plugins/ebs0";

#[test]
fn pages_in_front_of_a_recorded_nomad_are_right() {
    let folder = Folder::new("web-ui-recorded");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("the web UI in front of Nomad", "chromium is not installed");
    };
    let Some(answers) = answers() else { return };
    let axe = axe("accessibility of the web UI");
    let nomad = Server::start(move |request| match request.path.as_str() {
        // A recorded stream has an end: pages are read again from time to time.
        "/v1/event/stream" => Response::text(403, "Permission denied"),
        _ => answered(&answers, request),
    });
    let served = Served::start(&folder, &["-serve", "-address", &nomad.address]);
    browser.visit(&served.url);
    let mut wrong = Vec::new();
    for (address, heading) in pages() {
        let found = open(&mut browser, &served.base(), &address, heading);
        let found = found.into_iter().chain(faults(&mut browser, axe.as_ref(), None, &["light"]));
        wrong.extend(found.map(|fault| format!("{address}: {fault}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let writes = nomad.take().into_iter().filter(|r| r.method != "GET").map(|r| r.line()).collect::<Vec<_>>();
    assert_eq!(writes, [""; 0], "Nomad stays untouched");
}
