//! From the overview to a registered job by keys alone.

use encamp_test_support::browser::Browser;
use encamp_test_support::notes;

use super::ways::Ways;
use crate::program::Folder;

/// Key codes of Windows, which browsers tell to pages.
const TAB: u32 = 9;
const ESCAPE: u32 = 27;
/// More elements than the page has.
const MOST: usize = 80;

const JOB: &str = "job \"typed\" {\ngroup \"g\" {\ntask \"t\" {\ndriver = \"raw_exec\"\nconfig {\ncommand = \"/bin/sleep\"\n\
                   args = [\"600\"]\n}\nresources {\ncpu = 20\nmemory = 20\n}\n}\n}\n}";

/// Goes on with the key Tab to the element with this text.
fn tab_to(browser: &mut Browser, text: &str) {
    let mut passed = Vec::new();
    for _ in 0..MOST {
        browser.press("Tab", TAB);
        let focused =
            browser.evaluate("document.activeElement.labels?.[0]?.innerText || document.activeElement.innerText");
        if focused == text {
            let outline = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle");
            assert_ne!(outline, "none", "the focus is visible at {text}");
            return;
        }
        passed.push(focused);
    }
    panic!("the key Tab does not lead to {text}: {passed:?}");
}

#[test]
fn a_job_is_registered_by_keys_alone() {
    let folder = Folder::new("web-ui-keys-browser");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("the web UI by keys", "chromium is not installed");
    };
    let ways = Ways::start("web-ui-keys");
    browser.visit(&format!("{}/ui/", ways.agent.address()));
    browser.press_letters("gp");
    browser.wait_until("location.pathname === '/ui/plan' && document.readyState === 'complete'");
    // The script has added the numbers of lines: keys mean what they mean in the editor.
    browser.wait_until("!!document.querySelector('.lines')");
    tab_to(&mut browser, "Job file");
    for line in JOB.lines() {
        browser.insert(line);
        browser.press_enter();
    }
    assert_eq!(browser.evaluate("document.activeElement.value.trim()"), JOB);
    // The key Tab indents, unless Escape precedes it.
    browser.press("Escape", ESCAPE);
    tab_to(&mut browser, "Plan");
    browser.press_enter();
    browser.wait_for_text("Register as reviewed");
    tab_to(&mut browser, "Register as reviewed");
    browser.press_enter();
    browser.wait_until("location.pathname === '/ui/jobs/typed@default'");
    browser.wait_for_text("Job typed is registered as reviewed.");
    assert_eq!(ways.agent.get("/v1/job/typed")["ID"], "typed");
    assert_eq!(browser.problems(), [""; 0]);
}
