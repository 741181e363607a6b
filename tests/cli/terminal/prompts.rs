//! Questions: y, n, Ctrl-C and Ctrl-D as answers.

use encamp_model::JobType;
use serde_json::json;

use crate::canned::*;
use crate::program::Folder;
use crate::terminal::encamp;
use crate::terminal::screen::{CTRL_C, CTRL_D, ENTER, SIZES};

/// A command that asks.
struct Asking {
    args: &'static [&'static str],
    question: &'static str,
    /// What `y` sends.
    request: &'static str,
    /// What `n` prints.
    cancelled: &'static str,
}

const COMMANDS: &[Asking] = &[
    Asking {
        args: &["job", "stop", "-detach", "we"],
        question: "Are you sure you want to stop job \"web\"? [y/N]",
        request: "DELETE /v1/job/web",
        cancelled: "Cancelling job stop",
    },
    Asking {
        args: &["node", "drain", "-enable", "-detach", "bbbbbbbb"],
        question: "drain mode for node \"bbbbbbbb-1111-2222-3333-444444444444\"? [y/N]",
        request: "PUT /v1/node/bbbbbbbb-1111-2222-3333-444444444444/drain",
        cancelled: "Canceling drain toggle",
    },
    Asking {
        args: &["eval", "delete", "-filter", "Status == \"complete\""],
        question: "Are you sure you want to delete 1 evals? [y/N]",
        request: "DELETE /v1/evaluations",
        cancelled: "Cancelling eval deletion",
    },
    Asking {
        args: &["autoscale", "failsafe", "-enable", "web"],
        question: "Are you sure you want to enable failsafe mode of worker pool \"web\"? [y/N]",
        request: "PUT /v1/autoscale/pool/web/failsafe",
        cancelled: "Cancelling: failsafe mode is unchanged",
    },
];

fn served() -> Canned {
    let node = json!({"ID": NODE, "Name": "n1", "Status": "ready", "SchedulingEligibility": "eligible"});
    Canned::new(&[
        ("GET /v1/jobs", json!([stub("web")])),
        ("GET /v1/job/web", job(JobType::Service)),
        ("DELETE /v1/job/web", json!({"EvalID": EVAL, "JobModifyIndex": 9})),
        ("GET /v1/nodes", json!([node])),
        ("GET /v1/node/bbbbbbbb-1111-2222-3333-444444444444", node),
        ("PUT /v1/node/bbbbbbbb-1111-2222-3333-444444444444/drain", json!({"NodeModifyIndex": 9})),
        ("GET /v1/operator/scheduler/configuration", json!({"SchedulerConfig": {"PauseEvalBroker": true}})),
        ("GET /v1/evaluations/count", json!({"Count": 1})),
        ("GET /v1/evaluations", json!([eval(json!({}))])),
        ("DELETE /v1/evaluations", json!({"Count": 1})),
        ("GET /v1/autoscale/pools", json!([{"Pool": "web"}])),
        ("PUT /v1/autoscale/pool/web/failsafe", json!({"Pool": "web", "Failsafe": true})),
    ])
}

#[test]
fn every_answer_to_a_question_ends_it() {
    let folder = Folder::new("terminal-prompts");
    for size in SIZES {
        for asking in COMMANDS {
            for (keys, code, printed) in [
                (["y", ENTER].concat(), 0, ""),
                (["n", ENTER].concat(), 0, asking.cancelled),
                (ENTER.into(), 0, asking.cancelled),
                (["x", ENTER].concat(), 1, "an exact 'y' is required."),
                (CTRL_C.into(), 130, ""),
                (["y", CTRL_C].concat(), 130, ""),
                (CTRL_D.into(), 1, "Failed to parse answer: EOF"),
            ] {
                let server = served();
                let screen = encamp(size, &folder, &server.server.address, asking.args);
                screen.wait_until("the question", |screen, _| one_line(&screen.contents()).contains(asking.question));
                screen.press(&keys);
                screen.ends().with(code).showing(printed);
                let sent = server.server.take().iter().any(|r| r.line() == asking.request);
                assert_eq!(sent, keys == "y\r", "{:?} {keys:?}", asking.args);
            }
        }
    }
}

/// A question may be longer than the terminal is wide.
fn one_line(contents: &str) -> String {
    contents.replace('\n', "")
}
