//! Faults from the file, and what the client makes of them.

use std::time::Duration;

use encamp_csi::{AccessMode, CreateVolume, ErrorKind, Secrets};
use serde_json::{Value, json};

use crate::support::*;

const WRITER: AccessMode = AccessMode::SingleNodeWriter;

fn fault(method: &str, when: &str, what: &str) -> Value {
    json!([{ "method": method, "nth": 1, "when": when, "what": what }])
}

#[tokio::test]
async fn faults_are_errors_of_their_kinds() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&[]).await;
    let plugin = &running.plugin;
    let cases = [
        ("before", "error:ABORTED", ErrorKind::InProgress),
        ("after", "error:RESOURCE_EXHAUSTED", ErrorKind::ResourceExhausted),
        ("before", "error:INTERNAL", ErrorKind::Other(13)),
        ("before", "lie", ErrorKind::ProtocolViolation),
        ("after", "lie", ErrorKind::ProtocolViolation),
        ("after", "twice", ErrorKind::ProtocolViolation),
    ];
    for (n, (when, what, kind)) in cases.into_iter().enumerate() {
        place.faults(&fault("CreateVolume", when, what));
        let name = format!("v{n}");
        let e = plugin.create_volume(create(&name, WRITER)).await.unwrap_err();
        assert_eq!(e.kind, kind, "{what}: {e}");
        let made = plugin.list_all_volumes().await.unwrap().iter().any(|v| v.volume.context["name"] == name);
        assert_eq!(made, when == "after", "{what} {when}");
        // The second call is without the fault, and gives the volume that the first one made.
        plugin.create_volume(create(&name, WRITER)).await.unwrap();
    }
    assert_eq!(plugin.list_all_volumes().await.unwrap().len(), cases.len());
    place.faults(&json!([{ "method": "Probe", "nth": 1, "when": "before", "what": "odd" }]));
    let e = plugin.probe().await.unwrap_err();
    assert!(e.message.contains("no fault: \"odd\""), "{e}");
}

#[tokio::test]
async fn calls_that_hang_or_are_slow_end_at_their_deadline() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&[]).await;
    let plugin = &running.plugin;
    place.faults(&fault("CreateVolume", "after", "hang"));
    let short = running.bounded(Duration::from_millis(500));
    let e = short.create_volume(create("v", WRITER)).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::Timeout, "{e}");
    // The plugin may still hold the volume for the call that was given up.
    let second = async {
        loop {
            match plugin.create_volume(create("v", WRITER)).await {
                Err(e) if e.kind == ErrorKind::InProgress => tokio::time::sleep(Duration::from_millis(5)).await,
                made => return made,
            }
        }
    };
    let volume = tokio::time::timeout(Duration::from_secs(60), second).await.expect("an answer").unwrap();
    assert_eq!(plugin.list_all_volumes().await.unwrap().len(), 1);
    // While one call for a volume is slow, there is no other for it.
    place.faults(&fault("ControllerPublishVolume", "before", "slow:60000"));
    let journal = || place.lines("journal.jsonl");
    let slow = running.bounded(Duration::from_secs(30));
    let request = attach(&volume, &node, WRITER);
    let waiting = tokio::spawn(async move { slow.attach_volume(request).await });
    let begun = |l: &Value| l["method"] == "ControllerPublishVolume" && l["event"] == "begin";
    tokio::time::timeout(Duration::from_secs(60), async {
        while !journal().iter().any(begun) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the slow call begins");
    let second = async {
        loop {
            let e = plugin.detach_volume(&volume.id, &node.external(), Secrets::new()).await;
            // The first call may have written the journal, and not begun yet.
            if let Err(e) = e {
                return e;
            }
        }
    };
    let e = tokio::time::timeout(Duration::from_secs(60), second).await.expect("a refusal");
    assert_eq!(e.kind, ErrorKind::InProgress, "{e}");
    waiting.abort();
}

#[tokio::test]
async fn secrets_are_required_and_do_not_come_back() {
    let Some(place) = Place::new() else { return };
    let node = Node::start(&place, "a").await;
    let running = node.plugin(&["--secret", "password=s3cret"]).await;
    let plugin = &running.plugin;
    let with = |password: &str| CreateVolume {
        secrets: [("password".to_string(), password.into())].into(),
        ..create("v", WRITER)
    };
    let e = plugin.create_volume(with("hunter22")).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::Denied);
    assert_eq!(e.message, "the secret password is wrong in {\"password\": \"<redacted>\"}");
    place.faults(&fault("CreateVolume", "before", "error:UNAVAILABLE"));
    let e = plugin.create_volume(with("s3cret")).await.unwrap_err();
    assert_eq!(e.kind, ErrorKind::Unavailable);
    assert!(e.message.contains("<redacted>") && !format!("{e:?}").contains("s3cret"), "{e}");
    let volume = plugin.create_volume(with("s3cret")).await.unwrap();
    plugin.delete_volume(&volume.id, with("s3cret").secrets).await.unwrap();
}
