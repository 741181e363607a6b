//! Planning a job: what is run, what is shown, and registering what was reviewed.

use axum::http::{StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::cluster::{Browser, Canned};
use super::hostile;
use super::questions::FLAGS;

const UNPLACED: &str = include_str!("answers/plan-unplaced.json");
const PREEMPTS: &str = include_str!("answers/plan-preempts.json");
const DIAGNOSTICS: &str = r#"{"version":1,"valid":false,"diagnostics":[
    {"severity":"error","stage":"parse","summary":"s","detail":"d","message":"unknown attribute <b>","file":"stdin","line":3,
     "column":5,"end_line":3,"end_column":9,"block_path":["job \"x\""],"suggestion":"did you mean \"count\"?",
     "source":"  coun = 3","related":null},
    {"severity":"warning","stage":"read","summary":"s","detail":"","message":"odd","file":"variables.hcl","line":1,"column":null,
     "end_line":null,"end_column":null,"block_path":[],"suggestion":null,"source":null,"related":null}]}"#;

async fn planned(canned: Canned, fields: &[(&str, &str)]) -> (super::cluster::Shown, Vec<Vec<String>>) {
    let mut browser = Browser::of(canned);
    let page = browser.submit("/ui/plan", "/ui/plan", fields).await;
    assert_eq!(page.status, StatusCode::OK);
    (page, browser.ran())
}

#[tokio::test]
async fn a_plan_says_what_cannot_be_placed_and_which_edits_help() {
    let (page, ran) = planned(Canned::live().prints(1, UNPLACED, ""), &[("text", "job \"trainer\" {}\r\n")]).await;
    page.has(&[
        "2 allocations cannot be placed (1 created).",
        "0 of 12 nodes can run one more allocation.",
        "node pool is &quot;default&quot;, not &quot;gpu&quot;",
        "24576 requested, 16320 free",
        "count of group &quot;train&quot;: 3 -&gt; 1",
        "data-line=\"9\"",
        "/ui/clients/0000000a-0000-4000-8000-00000000000a",
        "encamp job plan -explain job.nomad.hcl",
        "job &quot;trainer&quot; {}",
    ]);
    let plan = &ran[0];
    assert_eq!(plan[..2], ["job", "plan"]);
    assert!(plan.ends_with(&["--".to_string(), "-".to_string()]), "{plan:?}");
    for flag in ["-diagnostics=json", "-json-output", "-suggest", "-rollout", "-explain"] {
        assert!(plan.iter().any(|a| a == flag), "{flag} in {plan:?}");
    }
}

#[tokio::test]
async fn a_plan_names_what_it_preempts() {
    let nodes = json!([{ "ID": "11111111-2222-3333-4444-555555555555", "Name": "worker-1", "Status": "ready",
        "SchedulingEligibility": "eligible", "Datacenter": "dc1" }]);
    let canned = Canned::live().get("/v1/nodes", nodes).get("/v1/allocations", json!([])).prints(1, PREEMPTS, "");
    let (page, _) = planned(canned, &[("text", "x")]).await;
    page.has(&[
        "Everything is placed, but 3 allocations of 2 other jobs would be preempted",
        "/ui/jobs/email-marketing@default",
        "Preempted allocations",
        "<figure class=\"topology\"",
        "3 preempted",
    ]);
}

#[tokio::test]
async fn one_node_can_be_explained_in_full() {
    let canned = Canned::live().prints(1, include_str!("answers/plan-node.json"), "");
    let (page, ran) = planned(canned, &[("text", "x"), ("explain", "dc1-gpu-10")]).await;
    page.has(&["Capacity of the node", "stays: its priority 80 is not 10 below 40", "chosen"]);
    assert!(ran[0].iter().any(|a| a == "-explain=dc1-gpu-10"));
}

#[tokio::test]
async fn values_of_variables_are_not_part_of_the_command_line() {
    let fields = [
        ("text", "x"),
        ("variable", "password"),
        ("value", "s3cret one"),
        ("variable", ""),
        ("value", "ignored"),
        ("variable_file", "token = \"s3cret two\""),
        ("namespace", "a b"),
        ("format", "json"),
    ];
    let (page, ran) = planned(Canned::live().prints(1, UNPLACED, ""), &fields).await;
    page.has(&["data-copy=\"encamp job plan -json '-namespace=a b' -explain '-var=password=…' -var-file=variables.hcl job.json\""]);
    assert!(ran[0].iter().any(|a| a == "-var=password=s3cret one"), "{ran:?}");
    let file = ran[0].iter().find_map(|a| a.strip_prefix("-var-file=")).expect("a file");
    assert!(file.ends_with("/variables.hcl") && !std::path::Path::new(file).exists(), "{file}");
    assert!(!ran[0].iter().any(|a| a.contains("ignored")));
}

#[tokio::test]
async fn diagnostics_are_shown_at_their_lines() {
    let canned = || Canned::live().prints(255, DIAGNOSTICS, "");
    let (page, _) = planned(canned(), &[("text", "x")]).await;
    page.has(&[
        "The job file has errors (exit code 255).",
        "data-line=\"3\"",
        "unknown attribute &lt;b&gt;",
        "did you mean",
    ]);
    // A line of another file is no line of the editor.
    page.has(&["variables.hcl line 1"]);
    page.has_not(&["data-line=\"1\""]);
    let mut browser = Browser::of(canned());
    let token = form_token(&browser.open("/ui/plan").await.body);
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("form_token", token.as_str()), ("text", "x")])
        .finish();
    browser
        .post("/ui/plan/check", body)
        .await
        .has(&["<section id=\"check\" aria-live=\"polite\"><ol class=\"diagnostics\">"]);
    assert_eq!(browser.ran(), [["job", "validate", "-diagnostics=json", "--", "-"]]);
}

fn form_token(page: &str) -> String {
    page.split("name=\"form_token\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a token")
        .to_string()
}

async fn post(browser: &mut Browser, to: &str, fields: &[(&str, &str)]) -> super::cluster::Shown {
    let token = form_token(&browser.open("/ui/plan").await.body);
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.append_pair("form_token", &token).extend_pairs(fields);
    browser.post(to, body.finish()).await
}

const REVIEWED: [(&str, &str); 4] =
    [("text", "job \"web\" {}"), ("plan", "cGxhbg=="), ("planned_job", "web"), ("planned_namespace", "prod")];

#[tokio::test]
async fn a_reviewed_plan_is_registered_and_leads_to_the_job() {
    let mut browser = Browser::of(Canned::live());
    let fields = [&REVIEWED[..], &[("allow", "updates"), ("allow", "-verify=x")]].concat();
    let done = post(&mut browser, "/ui/plan/register", &fields).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, "/ui/jobs/web@prod"));
    let ran = browser.ran();
    assert_eq!(ran[0][..5], ["job", "run", "-detach", "-allow=updates", "--"]);
    assert!(ran[0][5].ends_with("/plan.encamp") && ran[0].len() == 6, "{ran:?}");
}

#[tokio::test]
async fn a_plan_whose_outcome_changed_is_refused_and_can_be_planned_again() {
    let mut browser = Browser::of(Canned::live().prints(3, "", "the job has been changed on the servers since"));
    let refused = post(&mut browser, "/ui/plan/register", &REVIEWED).await;
    assert_eq!(refused.status, StatusCode::OK);
    refused.has(&[
        "The job was not registered: the outcome is not the reviewed one any more.",
        "changed on the servers since",
    ]);
    refused.has(&["Plan again", "job &quot;web&quot; {}", "encamp job run -detach plan.encamp"]);
}

#[tokio::test]
async fn a_file_registers_nothing_but_plans() {
    let mut browser = Browser::of(Canned::file().prints(1, UNPLACED, ""));
    let page = post(&mut browser, "/ui/plan", &[("text", "x")]).await;
    page.has(&[
        "2 allocations cannot be placed",
        "Download Markdown",
        "encamp job plan -explain -snapshot=backup.snap job.nomad.hcl",
    ]);
    page.has_not(&["Register as reviewed"]);
    browser.ran();
    let refused = post(&mut browser, "/ui/plan/register", &REVIEWED).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(browser.ran(), Vec::<Vec<String>>::new());
}

#[tokio::test]
async fn a_plan_is_downloaded_as_a_file() {
    let mut browser = Browser::of(Canned::live().prints(1, "### Plan", ""));
    let file =
        post(&mut browser, "/ui/plan/download?as=plan", &[("text", "x"), ("plan", &STANDARD.encode("the plan"))]).await;
    assert_eq!((file.status, file.body.as_str()), (StatusCode::OK, "the plan"));
    assert_eq!(file.headers[header::CONTENT_DISPOSITION], "attachment; filename=\"plan.encamp\"");
    let file = post(&mut browser, "/ui/plan/download?as=markdown", &[("text", "x")]).await;
    assert_eq!(file.headers[header::CONTENT_TYPE], "text/markdown; charset=utf-8");
    assert_eq!(file.body, "### Plan");
    let damaged = post(&mut browser, "/ui/plan/download?as=plan", &[("text", "x"), ("plan", "?")]).await;
    assert_eq!(damaged.status, StatusCode::BAD_REQUEST);
    let unknown = post(&mut browser, "/ui/plan/download?as=exe", &[("text", "x")]).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_form_of_another_site_plans_and_registers_nothing() {
    for to in ["/ui/plan", "/ui/plan/check", "/ui/plan/register", "/ui/plan/download?as=html"] {
        let mut browser = Browser::of(Canned::live());
        browser.open("/ui/plan").await;
        let refused = browser.post(to, "text=x&plan=eA%3D%3D&planned_job=x".into()).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{to}");
        assert_eq!(browser.ran(), Vec::<Vec<String>>::new(), "{to}");
    }
}

#[tokio::test]
async fn a_registered_job_is_the_start_as_it_was_submitted_or_generated() {
    let stored = json!({ "Source": "job \"web\" {\n}", "Format": "hcl2", "VariableFlags": { "region": "eu" }, "Variables": "x = 1" });
    let job = json!({ "ID": "web", "Version": 4 });
    let mut browser = Browser::of(Canned::live().get("/v1/job/web", job.clone()).get("/v1/job/web/submission", stored));
    let page = browser.open("/ui/plan?job=web%40prod").await;
    page.has(&["job &quot;web&quot; {\n}", "value=\"region\"", "value=\"eu\"", "x = 1", "value=\"prod\""]);
    let asked: Vec<String> = browser.sent().into_iter().map(|sent| sent.uri).collect();
    assert!(asked.iter().any(|uri| uri == "/v1/job/web/submission?namespace=prod&version=4"), "{asked:?}");
    let mut browser = Browser::of(Canned::file().get("/v1/job/web", job).prints(0, "job \"generated\" {}", "A note."));
    browser.open("/ui/plan?job=web").await.has(&["job &quot;generated&quot; {}", "A note."]);
    assert_eq!(browser.ran(), [["job", "inspect", "-hcl", "-namespace=default", "--", "web"]]);
    let missing = Canned::live().open("/ui/plan?job=nope").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn no_text_of_the_form_becomes_a_flag_or_markup() {
    for text in hostile::names().into_iter().chain(FLAGS.map(str::to_string)) {
        let mut browser = Browser::of(Canned::live().prints(255, "", &text));
        let fields =
            ["text", "namespace", "explain", "variable", "value", "variable_file", "format", "plan", "planned_job"];
        let fields: Vec<(&str, &str)> = fields.iter().map(|name| (*name, text.as_str())).collect();
        for to in ["/ui/plan", "/ui/plan/check", "/ui/plan/download?as=html"] {
            hostile::check(&text, to, &post(&mut browser, to, &fields).await.body);
        }
        for arguments in browser.ran() {
            let flags = arguments.iter().take_while(|a| *a != "--").filter(|a| a.starts_with('-'));
            for flag in flags {
                let name = flag.split('=').next().expect("a name");
                let known = [
                    "-var",
                    "-var-file",
                    "-namespace",
                    "-explain",
                    "-out",
                    "-html",
                    "-json-output",
                    "-suggest",
                    "-rollout",
                    "-diagnostics",
                ];
                assert!(known.contains(&name), "{text:?} became {flag:?}");
            }
        }
    }
}
