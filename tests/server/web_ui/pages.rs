//! Every page in a real browser, at an agent, of a snapshot file and of a server backup: no error, no report of the
//! content security policy, no problem of accessibility, not wider than a telephone. The pictures of the pages with a
//! name stay in the directory `web-ui` of the tests' temporary directory.

use encamp_test_support::browser::{Browser, axe};
use encamp_test_support::{notes, tier};

use super::filled::Filled;
use super::recorded_nomad;
use super::tour::faults;
use super::ways::Served;
use crate::program::Folder;

/// A page of the table.
struct Row {
    address: String,
    /// What its heading contains.
    heading: String,
    /// The name of its pictures: every change is tested with these.
    picture: Option<&'static str>,
    /// Whether a snapshot file has the page.
    of_a_file: bool,
}

/// Every page, with the objects of a cluster.
fn table(c: &Filled) -> Vec<Row> {
    let allocation = |part: &str| format!("/ui/allocations/{}{part}", c.web);
    let named = [
        ("overview", "/ui/".to_string(), "Overview"),
        ("jobs", "/ui/jobs".into(), "Jobs"),
        ("job", "/ui/jobs/web@default".into(), "web"),
        ("unplaced-job", "/ui/jobs/huge@default".into(), "huge"),
        ("versions", "/ui/jobs/web@default/versions".into(), "web"),
        ("allocation", allocation(""), "web.front"),
        ("preempted", format!("/ui/allocations/{}", c.preempted), "trainer.front"),
        ("logs", allocation("/server/logs"), "server"),
        ("deployment", format!("/ui/deployments/{}", c.canary), "Deployment"),
        ("evaluation", format!("/ui/evaluations?currentEval={}", c.blocked), "Evaluation"),
        ("clients", "/ui/clients".into(), "Clients"),
        ("client", format!("/ui/clients/{}", c.node), ""),
        ("servers", "/ui/servers".into(), "Servers"),
        ("topology", "/ui/topology".into(), "Topology"),
        ("plan", "/ui/plan?job=web@default".into(), "Plan a job"),
        ("variable", "/ui/variables/var/nomad/jobs/web@default".into(), "nomad/jobs/web"),
    ];
    let others = [
        ("/ui/jobs?children=true&status=running&type=service".to_string(), "Jobs"),
        ("/ui/jobs/report@default".into(), "report"),
        ("/ui/jobs/convert@default".into(), "convert"),
        (format!("/ui/jobs/{}@default", c.dispatched.replace('/', "%2F")), "convert/dispatch"),
        ("/ui/jobs/payments@apps".into(), "payments"),
        ("/ui/jobs/web@default/allocations".into(), "web"),
        ("/ui/jobs/web@default/deployments".into(), "web"),
        ("/ui/jobs/web@default/evaluations".into(), "web"),
        ("/ui/jobs/web@default/definition".into(), "web"),
        ("/ui/jobs/web@default/action?action=hello&group=front&task=server".into(), "web"),
        ("/ui/allocations".into(), "Allocations"),
        ("/ui/allocations?preempted=true".into(), "Allocations"),
        (format!("/ui/allocations/{}", c.preempting), "payments.front"),
        (format!("/ui/allocations/{}", c.failed), "broken.front"),
        (allocation("/fs"), "Files"),
        (allocation("/server"), "server"),
        (allocation("/server/fs"), "server"),
        (allocation("/server/exec?command=/bin/cat"), "server"),
        ("/ui/evaluations".into(), "Evaluations"),
        ("/ui/deployments".into(), "Deployments"),
        (format!("/ui/servers/{}", server_name(c)), ""),
        ("/ui/topology?colour=job&group=pool".into(), "Topology"),
        ("/ui/plan".into(), "Plan a job"),
        ("/ui/search".into(), "Search"),
        ("/ui/search?q=web".into(), "Search"),
        ("/ui/services".into(), "Services"),
        ("/ui/services/shop@default".into(), "shop"),
        ("/ui/variables".into(), "Variables"),
        ("/ui/variables/path/nomad".into(), "Variables"),
        ("/ui/variables/new".into(), "New variable"),
        ("/ui/variables/var/nomad/jobs/web@default/edit".into(), "Edit nomad/jobs/web"),
        ("/ui/variables/var/nomad/jobs/web@default?values=shown".into(), "nomad/jobs/web"),
        ("/ui/storage".into(), "Host volumes"),
        ("/ui/storage/volumes".into(), "Host volumes"),
        ("/ui/storage/volumes/dynamic".into(), "Host volumes"),
        ("/ui/storage/volumes/csi".into(), "CSI volumes"),
        (format!("/ui/storage/volumes/{}", c.volume), "scratch"),
        (format!("/ui/storage/volumes/host/{}", c.volume), "scratch"),
        (format!("/ui/storage/volumes/dynamic/{}@default", c.volume), "scratch"),
        ("/ui/storage/claims".into(), "Claims"),
        ("/ui/storage/plugins".into(), "Storage plugins"),
        ("/ui/namespaces".into(), "Namespaces"),
        ("/ui/namespaces/apps".into(), "apps"),
        ("/ui/pools/spare".into(), "spare"),
        ("/ui/access".into(), "Access"),
        ("/ui/access-control".into(), "Access"),
        ("/ui/access-control/policies".into(), "Access: policies"),
        ("/ui/access-control/policies/readers".into(), "readers"),
        ("/ui/access-control/roles".into(), "Roles"),
        (format!("/ui/access-control/roles/{}", c.role), "watchers"),
        ("/ui/access-control/tokens".into(), "Tokens"),
        (format!("/ui/access-control/tokens/{}", c.reader.0), "watcher"),
        ("/ui/access-control/auth-methods".into(), "Auth methods"),
        ("/ui/access-control/auth-methods/pipeline".into(), "pipeline"),
        ("/ui/access-control/binding-rules".into(), "Binding rules"),
        (format!("/ui/access-control/binding-rules/{}", c.rule), ""),
        ("/ui/questions".into(), "Questions"),
        (format!("/ui/questions/what-if?lose=node&node={}", c.node), ""),
        ("/ui/questions/capacity".into(), ""),
        ("/ui/questions/rebalance".into(), ""),
        ("/ui/questions/drain-plan".into(), ""),
        ("/ui/questions/launches".into(), ""),
        ("/ui/questions/job-launches?job=report".into(), ""),
        ("/ui/questions/garbage-collection".into(), ""),
        ("/ui/questions/garbage".into(), ""),
        ("/ui/worker-pools".into(), "Worker pools"),
        ("/ui/worker-pools/web".into(), "Worker pool web"),
        ("/ui/settings/tokens".into(), ""),
    ];
    let named = named.map(|(name, address, heading)| (Some(name), address, heading));
    let others = others.map(|(address, heading)| (None, address, heading));
    let row = |(picture, address, heading): (Option<&'static str>, String, &str)| Row {
        of_a_file: in_a_file(&address),
        address,
        heading: heading.into(),
        picture,
    };
    named.into_iter().chain(others).map(row).collect()
}

/// Whether a snapshot file has the page: it has no logs, files and terminals, no variables, services and access, no forms
/// of new objects.
fn in_a_file(address: &str) -> bool {
    let absent = [
        "/logs",
        "/fs",
        "/exec",
        "/action?",
        "/ui/variables/var/",
        "/ui/variables/new",
        "/ui/services/",
        "/ui/access-control/policies/",
        "/ui/access-control/roles/",
        "/ui/access-control/tokens/",
        "/ui/access-control/auth-methods/",
        "/ui/access-control/binding-rules/",
        "currentEval",
        "/ui/settings",
        "/ui/worker-pools",
        "/ui/servers/",
        "garbage",
        "/ui/storage/volumes/host/",
        "/ui/storage/volumes/dynamic/",
    ];
    let volume = address.strip_prefix("/ui/storage/volumes/").is_some_and(|id| id.len() == 36);
    !volume && !absent.iter().any(|part| address.contains(part))
}

/// The name of the one server.
fn server_name(c: &Filled) -> String {
    let members = c.agent.get("/v1/agent/members");
    super::filled::text(&members["Members"][0], "Name")
}

/// The pages of a backup with CSI volumes: an agent has them only with a plugin at work.
const OF_A_BACKUP: [(&str, &str); 3] = [
    ("/ui/storage/volumes/csi", "CSI volumes"),
    ("/ui/storage/volumes/csi/vol-a@default", "vol-a"),
    ("/ui/storage/claims", "Claims"),
];

/// The path of the routes that serves an address: the one with the most parts that are no names.
fn route<'a>(address: &str, routes: &[&'a str]) -> Option<&'a str> {
    let path: Vec<&str> = address.split('?').next().unwrap_or_default().split('/').collect();
    let literal = |part: &&str| !part.starts_with('{');
    let fits = |route: &&&str| {
        let parts: Vec<&str> = route.split('/').collect();
        let open = parts.last().is_some_and(|p| p.starts_with("{*"));
        let long = if open { path.len() >= parts.len() } else { path.len() == parts.len() };
        long && parts.iter().zip(&path).all(|(part, given)| !literal(part) || part == given)
    };
    let score = |route: &&&str| (route.split('/').filter(|p| literal(p)).count(), !route.contains("{*"));
    routes.iter().filter(fits).max_by_key(score).copied()
}

/// Opens a page; the fault is a status of an error, or another heading.
pub fn open(browser: &mut Browser, base: &str, address: &str, heading: &str) -> Option<String> {
    browser.visit(&format!("{base}{address}"));
    let status = browser.evaluate("performance.getEntriesByType('navigation')[0].responseStatus");
    let title = browser.evaluate("document.querySelector('h1')?.innerText");
    let title = title.as_str().unwrap_or_default();
    let right = status == 200 && title.contains(heading);
    (!right).then(|| {
        let said = browser.evaluate("document.querySelector('main')?.innerText.slice(0, 500)");
        format!("{status}, {title:?} in place of {heading:?}: {said}")
    })
}

/// Signs in by the form, as a person does.
pub fn sign_in(browser: &mut Browser, base: &str, secret: &str) {
    browser.visit(&format!("{base}/ui/settings/tokens"));
    browser.fill("textbox", "Secret ID of the token", secret);
    browser.click("button", "Sign in");
    browser.wait_until("location.pathname === '/ui/'");
    browser.wait_for_text("Signed in");
}

/// What is wrong with a page. The first tier has both schemes, and accessibility of files, only on pages with pictures.
fn faults_of(browser: &mut Browser, axe: Option<&String>, base: &str, row: &Row, way: &str) -> Vec<String> {
    let thorough = row.picture.is_some() || tier::is_full();
    let of_agent = way == "agent";
    let schemes: &[&str] = if thorough && (of_agent || tier::is_full()) { &["dark", "light"] } else { &["light"] };
    let axe = axe.filter(|_| thorough || of_agent);
    let picture = row.picture.filter(|_| of_agent).map(|name| format!("page-{name}"));
    let wrong = open(browser, base, &row.address, &row.heading);
    let wrong: Vec<String> = wrong.into_iter().chain(faults(browser, axe, picture.as_deref(), schemes)).collect();
    wrong.into_iter().map(|fault| format!("{way} {}: {fault}", row.address)).collect()
}

#[test]
fn every_page_of_an_agent_is_right() {
    let folder = Folder::new("web-ui-pages-browser");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("every page of the web UI", "chromium is not installed");
    };
    let axe = axe("accessibility of the web UI");
    let c = Filled::start("web-ui-pages");
    let rows = table(&c);
    every_route_is_in(&rows);
    sign_in(&mut browser, &c.agent.address(), &c.agent.token);
    let mut faults = Vec::new();
    for row in &rows {
        faults.extend(faults_of(&mut browser, axe.as_ref(), &c.agent.address(), row, "agent"));
    }
    let served = Served::start(c.folder(), &["-snapshot", &c.snapshot()]);
    browser.visit(&served.url);
    for row in rows.iter().filter(|row| row.of_a_file) {
        faults.extend(faults_of(&mut browser, axe.as_ref(), &served.base(), row, "file"));
        let changes = browser.evaluate(
            "[...document.forms].filter(f => f.method === 'post' && !f.action.includes('/ui/plan')).map(f => f.action)
             .concat([...document.links].map(a => a.pathname).filter(p => /\\/(logs|exec|fs)$|\\/new$|\\/edit$/.test(p)))",
        );
        if changes != serde_json::json!([]) {
            faults.push(format!("file {}: offers what a file does not have: {changes}", row.address));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The table has every page, so that a new one is tested too.
fn every_route_is_in(rows: &[Row]) {
    let routes: Vec<&str> = encamp_ui::paths_of_pages().collect();
    let addresses = rows.iter().map(|row| row.address.as_str()).chain(OF_A_BACKUP.iter().map(|(address, _)| *address));
    let addresses = addresses.chain([recorded_nomad::PLUGIN]);
    let opened: Vec<&str> =
        addresses.map(|a| route(a, &routes).unwrap_or_else(|| panic!("no page is at {a}"))).collect();
    let missing: Vec<&&str> = routes.iter().filter(|route| !opened.contains(route)).collect();
    assert!(missing.is_empty(), "no address of the table leads to {missing:?}");
    let pictures = rows.iter().filter(|row| row.picture.is_some()).count();
    assert_eq!(pictures, 16);
}

#[test]
fn pages_of_a_backup_show_its_volumes_and_plugins() {
    let folder = Folder::new("web-ui-backup");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("the web UI of a backup", "chromium is not installed");
    };
    let axe = axe("accessibility of the web UI");
    let backup = encamp_test_support::recorded::file("archive/dev-acl.snap").expect("the backup");
    let served = Served::start(&folder, &["-snapshot", &backup.display().to_string()]);
    browser.visit(&served.url);
    for (address, heading) in OF_A_BACKUP {
        let wrong = open(&mut browser, &served.base(), address, heading);
        let faults: Vec<String> =
            wrong.into_iter().chain(faults(&mut browser, axe.as_ref(), None, &["dark", "light"])).collect();
        assert_eq!(faults, [""; 0], "{address}");
    }
}
