//! A person with a real browser, in all three ways. The pictures stay in the directory `web-ui` of the tests' temporary
//! directory.

use std::path::Path;

use encamp_test_support::browser::{Browser, axe};
use encamp_test_support::notes;
use encamp_test_support::server::{Response, Server};
use serde_json::{Value, json};

use super::ways::Ways;
use crate::agent::Agent;
use crate::program::Folder;

/// What is wrong with the open page in these schemes and on a telephone. Its pictures, if they have a name, are kept.
pub fn faults(browser: &mut Browser, axe: Option<&String>, picture: Option<&str>, schemes: &[&str]) -> Vec<String> {
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web-ui");
    std::fs::create_dir_all(&pictures).expect("a directory");
    let mut faults = Vec::new();
    for scheme in schemes {
        browser.emulate(1280, scheme);
        if let Some(name) = picture {
            std::fs::write(pictures.join(format!("{name}-{scheme}.png")), browser.screenshot()).expect("a picture");
        }
        let found = axe.map(|axe| browser.accessibility(axe));
        let found = found.as_ref().and_then(Value::as_array).into_iter().flatten();
        faults.extend(found.map(|fault| format!("accessibility, {scheme}: {fault:#}")));
    }
    browser.emulate(360, "light");
    let width = browser.evaluate("document.documentElement.scrollWidth").as_u64();
    if width.is_none_or(|width| width > 360) {
        faults.push(format!("{width:?} pixels wide on a telephone"));
    }
    browser.emulate(1280, "light");
    faults.extend(browser.problems());
    faults
}

#[test]
fn from_the_overview_to_an_allocation() {
    let folder = Folder::new("web-ui-browser");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("the web UI in a browser", "chromium is not installed");
    };
    let axe = axe("accessibility of the web UI");
    let ways = Ways::start("web-ui-tour");
    let short = ways.allocation.get(..8).expect("an ID");
    for (way, url, _) in ways.all() {
        let seen = |browser: &mut Browser, page: &str| {
            let name = format!("tour-{way}-{page}");
            assert_eq!(faults(browser, axe.as_ref(), Some(&name), &["dark", "light"]), [""; 0], "{name}");
        };
        browser.visit(&url);
        assert_eq!(browser.address(), "/ui/", "{way}");
        seen(&mut browser, "overview");
        browser.click("link", "Jobs");
        browser.wait_until("location.pathname === '/ui/jobs'");
        browser.click("link", "web");
        browser.wait_until("location.pathname === '/ui/jobs/web@default'");
        browser.wait_for_text("front");
        seen(&mut browser, "job");
        browser.click("link", short);
        browser.wait_until(&format!("location.pathname === '/ui/allocations/{}'", ways.allocation));
        browser.wait_for_text("server");
        seen(&mut browser, "allocation");
        browser.evaluate("history.back()");
        browser.wait_until("location.pathname === '/ui/jobs/web@default'");
    }
}

/// Another site, in another place than the pages: browsers tell `localhost` from 127.0.0.1.
fn other_site(page: String) -> (Server, String) {
    let server = Server::start(move |_| Response::text(200, &page).with("Content-Type", "text/html"));
    let address = server.address.replace("127.0.0.1", "localhost");
    (server, address)
}

#[test]
fn another_site_links_to_pages_and_changes_nothing() {
    let folder = Folder::new("web-ui-sites");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("the web UI and another site in a browser", "chromium is not installed");
    };
    let agent = Agent::start(&folder, "", &["-dev"]);
    let own = agent.address();
    let (_server, elsewhere) = other_site(format!(
        "<!DOCTYPE html><title>x</title><a href='{own}/ui/settings/tokens?a=b'>to the page</a>\
         <form method=post action='{own}/ui/sign-out'><button>sign out</button></form>\
         <iframe src='{own}/ui/'></iframe>"
    ));
    browser.visit(&format!("{own}/ui/"));
    let cookies = |browser: &mut Browser| browser.call("Network.getCookies", json!({"urls": [format!("{own}/ui/")]}));
    let before = cookies(&mut browser);
    assert_eq!(before["cookies"][0]["sameSite"], "Strict", "{before}");
    assert_eq!(browser.evaluate("document.cookie"), "", "scripts see no cookie");
    browser.problems();
    browser.visit(&elsewhere);
    let framed = browser.problems();
    assert!(framed.iter().any(|p| p.contains("frame-ancestors")), "nobody may frame a page: {framed:?}");
    browser.click("link", "to the page");
    browser.wait_for_text("Secret ID");
    browser.wait_until("location.search === '?a=b'");
    assert_eq!(cookies(&mut browser)["cookies"][0]["value"], before["cookies"][0]["value"], "the session goes on");
    browser.visit(&elsewhere);
    browser.click("button", "sign out");
    browser.wait_for_text("This form is from another site");
}
