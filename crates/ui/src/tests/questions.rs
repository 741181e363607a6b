//! Questions: what is run for an address, and what is shown of an answer.

use axum::http::StatusCode;
use serde_json::json;

use super::cluster::{Browser, Canned};
use super::hostile;
use crate::visit::with_query;

/// Questions: parameters of their addresses, an answer of the command, texts of the page.
const QUESTIONS: [(&str, &str, &[&str]); 8] = [
    (
        "/ui/questions/what-if?down=dc%3Ddc2",
        include_str!("answers/what-if.json"),
        &["3 allocations of 1 job would be unplaced.", "/ui/jobs/report@default", "6 → 0", "node lost"],
    ),
    (
        "/ui/questions/capacity?job=web%40default&survive=dc",
        include_str!("answers/capacity.json"),
        &["There is capacity for", "possible losses decided", "/ui/clients/0000000"],
    ),
    (
        "/ui/questions/rebalance?goal=free-nodes&nodes=dc1-general-01",
        include_str!("answers/rebalance.json"),
        &["2 moves in 1 step reach the goal.", "web.front[2]", "2 are necessary at least"],
    ),
    (
        "/ui/questions/drain-plan?drain=class%3Dgpu",
        include_str!("answers/drain-plan.json"),
        &["3 nodes can be drained in 1 batch.", "dc2-gpu-12"],
    ),
    (
        "/ui/questions/launches?next=13h",
        include_str!("answers/launches.json"),
        &["would not fit.", "/ui/jobs/invoices@default", "cpu exhausted on 3 nodes"],
    ),
    (
        "/ui/questions/job-launches?job=backup",
        include_str!("answers/job-launches.json"),
        &["1 of 3 launches would be skipped.", "2026-10-25T02:30:00+01:00", "Europe/Berlin"],
    ),
    (
        "/ui/questions/garbage-collection?run=periodic&verbose=true",
        include_str!("answers/garbage-collection.json"),
        &["would be deleted, and", "eval_gc_threshold", "The source does not show:"],
    ),
    (
        "/ui/questions/garbage?id=api",
        include_str!("answers/garbage.json"),
        &["It is retained: job not dead.", "service, running, version 0"],
    ),
];

fn cluster() -> Canned {
    Canned::live().get("/v1/job/web", json!({ "ID": "web" }))
}

fn waiting(address: &str) -> String {
    format!("{address}&answer=1")
}

#[tokio::test]
async fn answers_of_all_questions_are_shown_with_the_verdict_and_the_command_line() {
    for (address, answer, texts) in QUESTIONS {
        let page = cluster().prints(1, answer, "").open(&waiting(address)).await;
        assert_eq!(page.status, StatusCode::OK, "{address}");
        page.has(texts);
        page.has(&["class=\"verdict ", "data-copy=\"encamp "]);
        page.has_not(&["-json-output\"", "The command failed"]);
    }
}

#[tokio::test]
async fn a_question_comes_at_once_and_names_the_page_with_the_answer() {
    for (address, ..) in QUESTIONS {
        let mut browser = Browser::of(cluster());
        let page = browser.open(address).await;
        let next = waiting(address).replace('&', "&amp;");
        page.has(&[&format!("data-load=\"{next}\""), &format!("content=\"0; url={next}\"")]);
        assert_eq!(browser.ran(), Vec::<Vec<String>>::new(), "{address}");
    }
}

#[tokio::test]
async fn a_page_without_parameters_asks_nothing() {
    for (address, ..) in QUESTIONS {
        let mut browser = Browser::of(cluster());
        let path = address.split('?').next().expect("a path");
        let page = browser.open(&format!("{path}?answer=1")).await;
        page.has(&["<form class=\"question\"", "<section id=\"answer\" aria-live=\"polite\"></section>"]);
        assert_eq!(browser.ran(), Vec::<Vec<String>>::new(), "{address}");
    }
}

#[tokio::test]
async fn fields_become_values_of_flags_one_per_line() {
    let mut browser = Browser::of(cluster().prints(0, include_str!("answers/what-if.json"), ""));
    let query =
        [("down", "n1\r\n dc=a \r\n\r\n"), ("drain", "n2"), ("drain", "n3"), ("scale", "web/g=3"), ("answer", "1")];
    let page = browser.open(&with_query("/ui/questions/what-if", &query)).await;
    let want = ["what-if", "-down=n1", "-down=dc=a", "-drain=n2", "-drain=n3", "-scale=web/g=3", "-json"];
    assert_eq!(browser.ran(), [want]);
    page.has(&["encamp what-if -down=n1 -down=dc=a -drain=n2 -drain=n3 -scale=web/g=3"]);
}

/// The fields of all questions.
const FIELDS: [(&str, &[&str]); 8] = [
    ("/ui/questions/what-if", &["down", "drain", "add", "scale", "stop", "config"]),
    ("/ui/questions/capacity", &["group", "survive", "down", "config"]),
    ("/ui/questions/rebalance", &["nodes", "max-moves", "priority", "survive", "timeout"]),
    ("/ui/questions/drain-plan", &["drain", "selector", "batch", "deadline", "survive"]),
    ("/ui/questions/launches", &["next", "duration"]),
    ("/ui/questions/job-launches", &["job", "n", "duration", "from"]),
    ("/ui/questions/garbage-collection", &["run", "in"]),
    ("/ui/questions/garbage", &["id", "in", "namespace"]),
];

/// Texts that are flags.
pub(super) const FLAGS: [&str; 6] =
    ["-snapshot=/etc/passwd", "-token", "--", "-json", "-", "a\nb\r\n-address=http://evil"];

/// Flags that the pages give commands themselves.
const OURS: [&str; 2] = ["-json", "-json-output"];

#[tokio::test]
async fn no_text_of_a_field_becomes_a_flag_or_markup() {
    for text in hostile::names().into_iter().chain(FLAGS.map(str::to_string)) {
        for (path, fields) in FIELDS {
            let mut query: Vec<(&str, &str)> = fields.iter().map(|name| (*name, text.as_str())).collect();
            query.extend([("job", if path.ends_with("job-launches") { text.as_str() } else { "web" })]);
            query.extend([("goal", "free-nodes"), ("answer", "1")]);
            let mut browser = Browser::of(cluster().prints(255, "", &text));
            let page = browser.open(&with_query(path, &query)).await;
            assert!(
                page.status.is_success() || page.status == StatusCode::BAD_REQUEST,
                "{path} {text:?}: {}",
                page.status
            );
            hostile::check(&text, path, &page.body);
            for arguments in browser.ran() {
                let flags: Vec<&String> = arguments.iter().take_while(|a| *a != "--").collect();
                for flag in flags.iter().filter(|a| a.starts_with('-')) {
                    let name = flag.split('=').next().expect("a name").trim_start_matches('-');
                    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{path} {text:?}: {flag:?}");
                    assert!(**flag != text || OURS.contains(&flag.as_str()), "{path}: {text:?} became a flag");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_went_wrong_is_shown_plainly() {
    let address = waiting("/ui/questions/what-if?down=x");
    let page = cluster().prints(255, "", "-down \"x\": no node has this ID or name\n").open(&address).await;
    page.has(&["The command failed (exit code 255).", "no node has this ID or name", "encamp what-if -down=x"]);
    let page = cluster().prints(0, "{}", "").open(&address).await;
    page.has(&["The output of the command can't be read: missing field"]);
    let page = cluster().open("/ui/questions/rebalance?goal=free").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    page.has(&["The number of nodes is missing for this goal."]);
    let page = cluster().open("/ui/questions/capacity?job=missing").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    page.has(&["There is no job missing."]);
}

#[tokio::test]
async fn command_lines_of_a_file_name_it() {
    let canned = Canned::file().prints(0, include_str!("answers/garbage.json"), "a note");
    let page = canned.open("/ui/questions/garbage?id=a+b&answer=1").await;
    page.has(&["encamp gc explain -snapshot=backup.snap 'a b'", "a note"]);
}

#[tokio::test]
async fn worker_pools_show_their_state_and_the_next_decision() {
    let status = json!([{ "Pool": "web-workers", "Nodes": 6, "Min": 3, "Max": 20, "Metric": "cpu", "Utilization": 11800,
        "MaxAllowed": 18800, "Direction": "in", "LastDecision": { "Time": "2026-03-02T12:00:00Z", "Action": "denied",
        "Reason": "request 1 of 3" }, "Protected": null, "Problems": null }]);
    let node = json!({ "Events": [{ "Message": "Node registered", "Subsystem": "Cluster", "Timestamp": "2026-03-02T10:00:00Z" }] });
    let canned = || {
        let canned = Canned::live().get("/v1/autoscale/pools", status.clone());
        let canned = canned.get("/v1/node/00000005-0000-4000-8000-000000000005", node.clone());
        canned.prints(0, include_str!("answers/autoscale-plan.json"), "")
    };
    let list = canned().open("/ui/worker-pools?answer=1").await;
    list.has(&["/ui/worker-pools/web-workers", "request 1 of 3", "1 of 3 consecutive requests to shrink"]);
    let mut browser =
        Browser::of(canned().answer("PUT", "/v1/autoscale/pool/web-workers/failsafe", StatusCode::OK, json!({})));
    let pool = "/ui/worker-pools/web-workers";
    let page = browser.open(&format!("{pool}?answer=1")).await;
    page.has(&["6 (3 to 20 allowed)", "simulated removal", "Node registered", "worker-5"]);
    assert_eq!(browser.ran(), [["autoscale", "plan", "-json", "--", "web-workers"]]);
    browser.sent();
    let done = browser.submit(pool, &format!("{pool}/failsafe"), &[("enable", "true")]).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, pool));
    assert!(browser.sent().iter().any(|sent| sent.method == "PUT" && sent.body == r#"{"Enable":true}"#));
}

#[tokio::test]
async fn worker_pools_of_a_file_and_of_servers_that_scale_none_have_a_next_decision() {
    for canned in [Canned::live(), Canned::file()] {
        let page =
            canned.prints(0, include_str!("answers/autoscale-plan.json"), "").open("/ui/worker-pools?answer=1").await;
        page.has(&["1 of 3 consecutive requests to shrink"]);
        page.has_not(&["Last decision", "/failsafe\""]);
    }
}
