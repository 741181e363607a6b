//! Plugins that break the protocol, hang or go away. Each call must end with an error in bounded time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::fake::{Answer, Fake, framed, limits, socket};
use crate::error::{CallError, ErrorKind};
use crate::plugin::{Limits, Plugin};
use crate::proto;

fn info() -> proto::GetPluginInfoResponse {
    proto::GetPluginInfoResponse { name: "p".into(), vendor_version: "1".into(), ..Default::default() }
}

async fn fails_with(answer: Answer) -> CallError {
    let fake = Fake::start(move |_, _| answer.clone());
    fake.plugin().plugin_info().await.expect_err("an error")
}

async fn violates(answer: Answer, part: &str) {
    let e = fails_with(answer).await;
    assert!(e.kind == ErrorKind::ProtocolViolation && e.message.contains(part), "{e}, not {part:?}");
}

#[tokio::test]
async fn answers_that_break_the_protocol_are_violations() {
    let good = framed(&info());
    violates(Answer::data(vec![good.clone(), good.clone()]), "goes on after its message").await;
    violates(Answer::data(vec![good[..good.len() - 1].to_vec()]), "ended before its message").await;
    violates(Answer::data(vec![Vec::new()]), "ended before its message").await;
    violates(Answer { trailers: None, ..Answer::data(vec![good.clone()]) }, "without a status").await;
    violates(Answer { status: StatusCode::NOT_FOUND, ..Answer::data(Vec::new()) }, "HTTP status 404").await;
    violates(Answer { headers: HeaderMap::new(), ..Answer::data(vec![good.clone()]) }, "application/grpc").await;
    let mut compressed = good.clone();
    compressed[0] = 1;
    violates(Answer::data(vec![compressed]), "compressed").await;
    // The field 1 should be a text.
    violates(Answer::data(vec![vec![0, 0, 0, 0, 2, 0x08, 0x01]]), "").await;
    violates(Answer::data(vec![vec![0, 0, 0, 0, 3, 0x0a, 0x01, 0xff]]), "").await;
    violates(Answer::message(&proto::GetPluginInfoResponse::default()), "the name is empty").await;
    let long = proto::GetPluginInfoResponse { name: "x".repeat(2000), ..Default::default() };
    violates(Answer::message(&long), "the name has 2000 bytes; at most 1024 are accepted").await;
}

#[tokio::test]
async fn messages_in_parts_are_put_together() {
    let parts = framed(&info()).into_iter().map(|b| vec![b]).collect();
    let fake = Fake::start(move |_, _| Answer::data(Vec::clone(&parts)));
    assert_eq!(fake.plugin().plugin_info().await.unwrap().name, "p");
}

#[tokio::test]
async fn long_messages_are_refused_before_they_are_read() {
    // The message itself never comes.
    let answer = Answer { hangs: true, trailers: None, ..Answer::data(vec![vec![0, 0xff, 0xff, 0xff, 0xff]]) };
    violates(answer, "4294967295 bytes; at most 4194304 are accepted").await;
    // A list that is just too long, all of it sent.
    let entries = vec![proto::list_volumes_response::Entry::default(); 3 << 20];
    let long = Answer::message(&proto::ListVolumesResponse { entries, ..Default::default() });
    let fake = Fake::start(move |_, _| long.clone());
    let e = fake.plugin().list_volumes(Default::default()).await.unwrap_err();
    assert!(e.kind == ErrorKind::ProtocolViolation && e.message.contains("at most 4194304"), "{e}");
}

#[tokio::test]
async fn long_trailers_are_cut() {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("13"));
    for n in 0..30 {
        let name = hyper::header::HeaderName::try_from(format!("x-{n}")).unwrap();
        trailers.insert(name, HeaderValue::from_str(&"y".repeat(1000)).unwrap());
    }
    let e = fails_with(Answer { trailers: Some(trailers), ..Answer::data(Vec::new()) }).await;
    assert_eq!((e.kind, e.message.as_str()), (ErrorKind::Other(13), ""));
    let text = HeaderValue::from_str(&"y".repeat(10_000)).unwrap();
    let trailers = [("grpc-status", HeaderValue::from_static("13")), ("grpc-message", text)];
    let trailers = trailers.into_iter().map(|(n, v)| (hyper::header::HeaderName::from_static(n), v)).collect();
    let e = fails_with(Answer { trailers: Some(trailers), ..Answer::data(Vec::new()) }).await;
    assert!(e.kind == ErrorKind::Other(13) && e.message.len() <= 512 && e.message.ends_with("y…"), "{e}");
}

#[tokio::test]
async fn plugins_that_hang_exceed_the_deadline() {
    let short = Limits { question: Duration::from_millis(200), ..limits() };
    for answer in [Answer::hang(), Answer { hangs: true, trailers: None, ..Answer::data(vec![framed(&info())]) }] {
        let path = socket();
        let _fake = Fake::at(path.clone(), move |_, _| answer.clone());
        let e = Plugin::new(&path, short.clone()).plugin_info().await.unwrap_err();
        assert_eq!((e.kind, e.message.as_str()), (ErrorKind::Timeout, "no answer within 200ms"));
    }
    // A listener that accepts nothing.
    let path = socket();
    let _listener = UnixListener::bind(&path).unwrap();
    let started = Instant::now();
    let e = Plugin::new(&path, short).plugin_info().await.unwrap_err();
    let _ = std::fs::remove_file(&path);
    assert!(e.kind == ErrorKind::Timeout && started.elapsed() < Duration::from_secs(10), "{e}");
}

#[tokio::test]
async fn sockets_without_a_plugin_are_unavailable() {
    let plugin = Plugin::new(socket(), limits());
    assert_eq!(plugin.probe().await.unwrap_err().kind, ErrorKind::Unavailable);
    let long = Plugin::new(format!("/tmp/{}", "x".repeat(200)), limits());
    let e = long.probe().await.unwrap_err();
    assert!(e.kind == ErrorKind::InvalidArgument && e.message.contains("205 bytes; at most 107"), "{e}");
}

#[tokio::test]
async fn calls_connect_again_after_a_restart() {
    let path = socket();
    let plugin = Plugin::new(&path, limits());
    for n in 0..3 {
        let fake = Fake::at(path.clone(), |_, _| Answer::message(&info()));
        for _ in 0..2 {
            assert_eq!(plugin.plugin_info().await.map(|i| i.name), Ok("p".into()), "start {n}");
        }
        assert_eq!(fake.count(), 2);
        fake.stop().await;
    }
    // The client may not have noticed yet that the connection has ended.
    let e = plugin.plugin_info().await.unwrap_err();
    assert!(matches!(e.kind, ErrorKind::Unavailable | ErrorKind::Interrupted), "{e}");
    assert_eq!(plugin.plugin_info().await.unwrap_err().kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn calls_that_may_have_begun_are_not_unavailable() {
    let calls = AtomicUsize::new(0);
    let fake = Fake::start(move |_, _| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::message(&info()),
        _ => Answer::hang(),
    });
    let plugin = Arc::new(fake.plugin());
    plugin.plugin_info().await.unwrap();
    let second = tokio::spawn({
        let plugin = plugin.clone();
        async move { plugin.plugin_info().await }
    });
    let deadline = Instant::now() + Duration::from_secs(10);
    while fake.count() < 2 {
        assert!(Instant::now() < deadline, "the second call did not arrive");
        tokio::task::yield_now().await;
    }
    // The plugin ends during the call, and does not come back.
    fake.stop().await;
    let e = second.await.unwrap().unwrap_err();
    assert!(e.kind == ErrorKind::Interrupted && e.kind.outcome_unknown(), "{e}");
    assert_eq!(plugin.plugin_info().await.unwrap_err().kind, ErrorKind::Unavailable);
}

/// What a plugin does with a connection.
async fn serve(path: &std::path::Path, handle: impl AsyncFn(UnixStream)) {
    let listener = UnixListener::bind(path).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        handle(stream).await;
    }
}

/// The error of a call to a plugin that treats each connection so.
async fn against(handle: impl AsyncFn(UnixStream)) -> CallError {
    let path = socket();
    let plugin = Plugin::new(&path, Limits { question: Duration::from_secs(2), ..limits() });
    let started = Instant::now();
    let result = tokio::select! {
        () = serve(&path, handle) => unreachable!(),
        result = async {
            // The listener is bound before the first wait of `serve`.
            tokio::task::yield_now().await;
            plugin.plugin_info().await
        } => result,
    };
    let _ = std::fs::remove_file(&path);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    result.expect_err("an error")
}

/// Settings without values, and the acknowledgement of those of the client.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];

#[tokio::test]
async fn bytes_that_are_no_http2_are_errors() {
    let broken = |e: &CallError| matches!(e.kind, ErrorKind::ProtocolViolation | ErrorKind::Interrupted);
    for bytes in [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_vec(), vec![0xff; 100_000], vec![0; 9]] {
        let e = against(async |mut stream: UnixStream| {
            let _ = stream.write_all(&bytes).await;
            // Keeps the connection open.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await;
        assert!(broken(&e), "{e}");
    }
}

#[tokio::test]
async fn floods_of_frames_end_at_the_deadline() {
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    // HEADERS of stream 1 without END_HEADERS, then CONTINUATION frames without end.
    let head = [&[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x88][..], &[0, 0, 1, 9, 0, 0, 0, 0, 1, 0x88].repeat(1000)].concat();
    for (first, flood) in [(SETTINGS.to_vec(), ping.repeat(1000)), ([SETTINGS, &head].concat(), head[10..].to_vec())] {
        let e = against(async |mut stream: UnixStream| {
            let (mut reading, mut writing) = stream.split();
            let (mut sink, mut out) = (tokio::io::sink(), first.clone());
            let flooding = async {
                while writing.write_all(&out).await.is_ok() {
                    out = flood.clone();
                }
            };
            tokio::join!(flooding, async {
                let _ = tokio::io::copy(&mut reading, &mut sink).await;
            });
        })
        .await;
        let expected = [ErrorKind::Timeout, ErrorKind::ProtocolViolation, ErrorKind::Interrupted];
        assert!(expected.contains(&e.kind), "{e}");
    }
}

#[tokio::test]
async fn connections_that_end_early_are_interrupted() {
    // After how many bytes of the client the connection ends.
    for length in [0, 1, 24, 40, 100] {
        let e = against(async |mut stream: UnixStream| {
            let _ = stream.read_exact(&mut vec![0; length]).await;
        })
        .await;
        assert!(matches!(e.kind, ErrorKind::Interrupted | ErrorKind::Unavailable), "after {length} bytes: {e}");
    }
    // After how many bytes of its answer the plugin ends.
    let mut answer = SETTINGS.to_vec();
    // HEADERS of stream 1: `:status: 200`, then 10 bytes of data.
    answer.extend([0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88, 0, 0, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 90, 10, 1, b'p', 18, 1]);
    for length in [1, 9, 18, 20, 28, 36, answer.len()] {
        let e = against(async |mut stream: UnixStream| {
            let _ = stream.read_exact(&mut [0; 60]).await;
            let _ = stream.write_all(&answer[..length]).await;
        })
        .await;
        // The answer has no type.
        let complete = length == answer.len() || length >= 28;
        let expected: &[ErrorKind] = match complete {
            true => &[ErrorKind::ProtocolViolation, ErrorKind::Interrupted],
            false => &[ErrorKind::Interrupted, ErrorKind::Unavailable],
        };
        assert!(expected.contains(&e.kind), "after {length} bytes: {e}");
    }
}
