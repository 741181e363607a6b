//! Names that would run, break or hide something if a page did not escape them.

use axum::http::StatusCode;

use super::cluster::{Browser, Canned};
use super::sample::{ALLOC, DEPLOYMENT, EVAL, fill, namespace};
use super::sample_cluster::{self, fill_all};
use crate::parts::link::{job_address, task_address};
use crate::visit::with_query;

/// A mark that no page of ours has.
pub(super) const MARK: &str = "hostile7";

/// The names.
pub(super) fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "<script>hostile7()</script>",
        "</script><script>hostile7()</script>",
        "\"><img src=x onerror=hostile7()>",
        "'><svg/onload=hostile7()>",
        "\" onmouseover=\"hostile7()",
        "' onfocus='hostile7()' autofocus='",
        "<style>*{display:none}hostile7</style>",
        "</title><script>hostile7()</script>",
        "</textarea><script>hostile7()</script>",
        "<!-- hostile7",
        "--><script>hostile7()</script>",
        "<![CDATA[hostile7",
        "javascript:hostile7()",
        "data:text/html,<script>hostile7()</script>",
        "&lt;script&gt;hostile7()&lt;/script&gt;",
        "&#60;script&#62;hostile7()",
        "{{hostile7()}}",
        "${hostile7()}",
        "../../hostile7",
        "a/b/../hostile7",
        "%2e%2e%2fhostile7",
        "%00hostile7",
        "hostile7?x=1&y=2#z",
        "hostile7@default",
        "@hostile7@",
        "hostile7\\",
        "hostile7`backtick`\"quote\"",
        "hostile7\r\nSet-Cookie: a=b",
        "hostile7\nline\n\nline",
        "hostile7\ttab",
        "\u{202e}hostile7",
        "\u{2066}hostile7\u{2069}",
        "\u{200b}hostile7",
        "\u{feff}hostile7",
        "hostile7\u{0}",
        "hostile7\u{7}",
        "hostile7\u{1b}[31m",
        "hostile7 \u{1f4a9}",
        "hostile7e\u{301}\u{301}\u{301}",
        "ｈhostile7",
        " hostile7 ",
        "hostile7 with spaces",
        "hostile7+plus",
        "hostile7;semi",
        "hostile7=equals",
        "hostile7'; DROP TABLE jobs; --",
        "hostile7 or true",
        "hostile7) or (ID != \"",
        "-hostile7",
        "--hostile7",
        "hostile7|pipe",
        "$(hostile7)",
        "hostile7<a href=\"//evil.example\">",
        "<base href=\"//evil.example\">hostile7",
        "<meta http-equiv=refresh content=0;url=//evil.example>hostile7",
        "<iframe src=//evil.example>hostile7",
        "<form action=//evil.example>hostile7",
        "<dialog open>hostile7",
        "hostile7<math><mtext></form><form><mglyph><style></math><img src onerror=hostile7()>",
    ]
    .map(str::to_string)
    .to_vec();
    names.push(MARK.repeat(1250));
    names
}

fn addresses(name: &str) -> Vec<String> {
    let job = |tab| job_address(&namespace(name), name, tab);
    let task = |part| task_address(ALLOC, name, part);
    let mut all: Vec<String> =
        ["/ui/", "/ui/jobs", "/ui/allocations", "/ui/evaluations", "/ui/deployments"].map(str::to_string).to_vec();
    all.extend(["", "allocations", "deployments", "evaluations", "versions", "definition"].map(job));
    all.extend(["", "logs", "fs", "exec"].map(task));
    all.push(task_address(ALLOC, "fs", ""));
    all.push(format!("/ui/allocations/{ALLOC}"));
    all.push(format!("/ui/deployments/{DEPLOYMENT}"));
    all.push(format!("/ui/evaluations?currentEval={EVAL}"));
    let lists = ["/ui/search", "/ui/jobs", "/ui/allocations"];
    all.extend(lists.map(|path| with_query(path, &[("q", name), ("filter", name), ("namespace", name)])));
    all
}

/// What stands between `<` and `>` in a page: its tags. Quotes in texts are escaped, so tags end at the first `>`
/// outside quotes.
fn tags(page: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let mut quoted = false;
        let end = after.char_indices().find(|(_, c)| {
            quoted ^= *c == '"';
            *c == '>' && !quoted
        });
        let end = end.map_or(after.len(), |(at, _)| at);
        out.push(&after[..end]);
        rest = &after[end..];
    }
    out
}

/// A tag without the values of its attributes.
fn skeleton(tag: &str) -> String {
    tag.split('"').step_by(2).collect()
}

/// Fails if a name became a part of a tag of the page at an address.
#[track_caller]
pub(super) fn check(name: &str, address: &str, page: &str) {
    let raw = name.contains(['<', '"']) && page.contains(name);
    assert!(!raw, "{name:?} is not escaped at {address}");
    for tag in tags(page) {
        assert!(!skeleton(tag).contains(MARK), "{name:?} at {address}: {tag}");
        for bad in ["href=\"javascript", "href=\"data:", "action=\"//", " style=", "href=\"//"] {
            assert!(!tag.contains(bad), "{name:?} at {address}: {tag}");
        }
    }
}

/// Whether the HTTP API has no path to a job of this name.
fn is_unreachable(name: &str) -> bool {
    name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

#[tokio::test]
async fn no_page_lets_a_name_become_a_tag_an_attribute_or_an_address_of_another_kind() {
    for name in names() {
        let mut browser = Browser::of(fill_all(Canned::live(), &name));
        for address in addresses(&name).into_iter().chain(sample_cluster::addresses(&name)) {
            let page = browser.open(&address).await;
            let status = if is_unreachable(&name) && address.starts_with("/ui/jobs/") {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::OK
            };
            assert_eq!(page.status, status, "{address}: {}", page.body);
            check(&name, &address, &page.body);
            for header in page.headers.values() {
                assert!(!header.as_bytes().contains(&b'\n'), "{name:?} at {address}");
            }
        }
    }
}

#[tokio::test]
async fn links_to_a_job_lead_to_it_whatever_its_name_is() {
    for name in names() {
        let mut browser = Browser::of(fill(Canned::live(), &name));
        let list = browser.open("/ui/jobs").await;
        let address = job_address(&namespace(&name), &name, "");
        list.has(&[&format!("href=\"{address}\"")]);
        browser.sent();
        let page = browser.open(&address).await;
        if is_unreachable(&name) {
            assert!(page.body.contains("The HTTP API cannot reach job"), "{name:?}");
            continue;
        }
        let wanted = crate::visit::path("/v1/job/", &name, "");
        assert!(browser.sent().iter().any(|s| s.uri.split('?').next() == Some(wanted.as_str())), "{name:?}");
    }
}
