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

/// A page as it has to be, in both schemes and on a telephone.
fn looks(browser: &mut Browser, axe: Option<&String>, name: &str) {
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web-ui");
    std::fs::create_dir_all(&pictures).expect("a directory");
    for scheme in ["dark", "light"] {
        browser.emulate(1280, scheme);
        std::fs::write(pictures.join(format!("{name}-{scheme}.png")), browser.screenshot()).expect("a picture");
        if let Some(axe) = axe {
            let found = browser.accessibility(axe);
            assert_eq!(found, Value::Array(Vec::new()), "{name} {scheme}: {found:#}");
        }
    }
    browser.emulate(360, "light");
    let width = browser.evaluate("document.documentElement.scrollWidth");
    assert!(width.as_u64().is_some_and(|width| width <= 360), "{name}: {width} pixels wide on a telephone");
    browser.emulate(1280, "light");
    assert_eq!(browser.problems(), [""; 0], "{name}");
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
        browser.visit(&url);
        assert_eq!(browser.address(), "/ui/", "{way}");
        looks(&mut browser, axe.as_ref(), &format!("{way}-overview"));
        browser.click("link", "Jobs");
        browser.wait_until("location.pathname === '/ui/jobs'");
        browser.click("link", "web");
        browser.wait_until("location.pathname === '/ui/jobs/web@default'");
        browser.wait_for_text("front");
        looks(&mut browser, axe.as_ref(), &format!("{way}-job"));
        browser.click("link", short);
        browser.wait_until(&format!("location.pathname === '/ui/allocations/{}'", ways.allocation));
        browser.wait_for_text("server");
        looks(&mut browser, axe.as_ref(), &format!("{way}-allocation"));
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
