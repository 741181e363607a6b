//! The order in which the server works: diagnostics before what editors ask about whole documents after each key.

use super::client::{Client, list};
use crate::program::Folder;
use serde_json::{Value, json};

/// A job of many tasks.
fn job(tasks: usize) -> String {
    let task = |n: usize| {
        format!(
            "    task \"t{n}\" {{\n      driver = \"docker\"\n      config {{\n        image = \"a\"\n      }}\n    }}\n"
        )
    };
    let tasks: String = (0..tasks).map(task).collect();
    format!("job \"web\" {{\n  group \"api\" {{\n{tasks}  }}\n}}\n")
}

/// Types a letter into the name of the job, without waiting.
fn typed(client: &mut Client, uri: &str, version: i64) {
    let at = json!({"line": 0, "character": 5});
    let change = json!({"range": {"start": at, "end": at}, "text": "x"});
    let document = json!({"uri": uri, "version": version});
    client.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
}

fn is_answer(message: &Value, id: i64) -> bool {
    message["id"] == id && message.get("method").is_none()
}

#[test]
fn diagnostics_come_before_answers_about_the_whole_document() {
    let folder = Folder::new("lsp-order");
    let mut client = Client::start(folder.path(), &[], false);
    let uri = format!("file://{}/web.nomad.hcl", folder.path().display());
    client.open(&uri, 1, &job(300));
    for version in 2..12 {
        typed(&mut client, &uri, version);
        let whole = json!({"textDocument": {"uri": uri}});
        let methods = ["semanticTokens/full", "documentSymbol", "foldingRange", "codeLens", "documentLink"];
        let asked = methods.map(|method| client.request(&format!("textDocument/{method}"), whole.clone()));
        let first = client.receive();
        assert_eq!(first["method"], "textDocument/publishDiagnostics", "{first}");
        assert_eq!(first["params"]["version"], version);
        // In the order of the requests.
        for id in asked {
            let answer = client.receive();
            assert!(is_answer(&answer, id) && answer.get("error").is_none(), "{id}: {answer}");
        }
    }
    client.end();
}

/// A request that is cancelled has one answer, and the server goes on.
#[test]
fn cancelled_requests_have_one_answer() {
    let folder = Folder::new("lsp-cancel");
    let mut client = Client::start(folder.path(), &[], false);
    let uri = format!("file://{}/web.nomad.hcl", folder.path().display());
    client.open(&uri, 1, &job(300));
    let mut cancelled = 0;
    for version in (2..42).step_by(2) {
        // The server looks for the problems of the first change while the other messages come.
        typed(&mut client, &uri, version);
        typed(&mut client, &uri, version + 1);
        let whole = json!({"textDocument": {"uri": uri}});
        let id = client.request("textDocument/semanticTokens/full", whole.clone());
        client.tell("$/cancelRequest", json!({"id": id}));
        let last = client.request(
            "textDocument/hover",
            json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}),
        );
        let mut answers = 0;
        let (mut has_last, mut has_diagnostics) = (false, false);
        while !(has_last && has_diagnostics && answers > 0) {
            let message = client.receive();
            if is_answer(&message, id) {
                answers += 1;
                cancelled += usize::from(message["error"]["code"] == -32800);
                assert!(message.get("error").is_some() || !list(&message["result"]["data"]).is_empty(), "{message}");
            }
            has_last |= is_answer(&message, last);
            has_diagnostics |= message["params"]["version"] == version + 1;
        }
        assert_eq!(answers, 1);
    }
    assert!(cancelled > 0, "no request was still waiting when it was cancelled");
    client.end();
}
