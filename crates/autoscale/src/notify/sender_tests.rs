use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::super::tests::example;
use super::super::{Backend, Reason};
use super::*;
use encamp_model::SecretString;

/// The reaction of a canned backend to a request.
#[derive(Debug, Clone, Copy)]
enum Reply {
    /// Answers with this status and this header.
    Status(u16, &'static str),
    /// Never answers.
    Hang,
    /// Closes the connection.
    Close,
    /// Answers with this status and a body that never ends.
    EndlessBody(u16),
    /// Never ends the head of its answer.
    EndlessHead,
}

const OK: Reply = Reply::Status(202, "");

/// A backend that answers one request after the other as scripted, the last reply for all that follow.
struct Canned {
    address: String,
    requests: mpsc::UnboundedReceiver<String>,
    /// Connections that were closed by the client while an endless answer was written.
    left: mpsc::UnboundedReceiver<()>,
}

impl Canned {
    async fn start(script: &[Reply]) -> Canned {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (seen, requests) = mpsc::unbounded_channel();
        let (gone, left) = mpsc::unbounded_channel();
        let script = script.to_vec();
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let reply = script[number.min(script.len() - 1)];
                number += 1;
                tokio::spawn(answer(stream, reply, seen.clone(), gone.clone()));
            }
        });
        Canned { address, requests, left }
    }

    async fn request(&mut self) -> String {
        within(self.requests.recv()).await.expect("a request")
    }
}

async fn answer(mut s: TcpStream, reply: Reply, seen: mpsc::UnboundedSender<String>, gone: mpsc::UnboundedSender<()>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = s.read(&mut buffer).await.unwrap_or(0);
        request.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if n == 0 || whole(&text) {
            let _ = seen.send(text);
            break;
        }
    }
    let endless = async |mut s: TcpStream, head: String, chunk: &str| {
        let _ = s.write_all(head.as_bytes()).await;
        while s.write_all(chunk.as_bytes()).await.is_ok() {}
        let _ = gone.send(());
    };
    match reply {
        Reply::Status(code, header) => {
            let head = format!("HTTP/1.1 {code} X\r\n{header}content-length: 0\r\nconnection: close\r\n\r\n");
            let _ = s.write_all(head.as_bytes()).await;
        }
        Reply::Close => drop(s),
        Reply::Hang => std::future::pending().await,
        Reply::EndlessBody(code) => {
            let head = format!("HTTP/1.1 {code} X\r\ntransfer-encoding: chunked\r\n\r\n");
            endless(s, head, &format!("1000\r\n{}\r\n", "x".repeat(0x1000))).await;
        }
        Reply::EndlessHead => endless(s, "HTTP/1.1 200 OK\r\n".into(), &format!("x: {}\r\n", "x".repeat(0x1000))).await,
    }
}

/// Whether a request has arrived to the end of its body.
fn whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// No test waits longer for something than this.
async fn within<F: Future>(f: F) -> F::Output {
    timeout(Duration::from_secs(60), f).await.expect("it happens within a minute")
}

fn quick() -> Timing {
    let ms = Duration::from_millis;
    Timing { attempt: ms(20_000), pauses: [ms(5), ms(5), ms(5)], grace: ms(30_000) }
}

fn hook(name: &str, address: &str) -> BackendSettings {
    let url = SecretString::new(format!("http://{address}/hooks/s3cr3t"));
    BackendSettings { name: name.into(), backend: Backend::Webhook { url }, scale_events: true }
}

fn worker(address: &str, timing: Timing) -> (Worker, BackendSettings) {
    let settings = hook("ops", address);
    let url = settings.backend.target().expect("valid");
    let client = client(timing).expect("a client");
    (Worker { name: "ops".into(), url, client, metrics: Metrics::default(), timing }, settings)
}

fn counted(metrics: &Metrics, what: &str, backend: &str) -> u64 {
    let text = metrics.prometheus().expect("kept");
    let name = format!("nomad_nomad_autoscale_notify_{what}{{backend=\"{backend}\"}} ");
    text.lines().find_map(|l| l.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn every_backend_gets_its_request() {
    let mut to = Canned::start(&[OK]).await;
    let url = || SecretString::new(format!("http://{}/v2", to.address));
    let key = || SecretString::new("k3y");
    let cases = [
        (Backend::Webhook { url: url() }, super::super::webhook::body(&example(Reason::ScaleOut)), None),
        (
            Backend::PagerDuty { key: key(), url: Some(url()) },
            super::super::pagerduty::body(&example(Reason::ScaleOut), "k3y"),
            None,
        ),
        (
            Backend::Opsgenie { key: key(), url: Some(url()) },
            super::super::opsgenie::body(&example(Reason::ScaleOut)),
            Some("authorization: GenieKey k3y\r\n"),
        ),
    ];
    for (backend, body, authorization) in cases {
        let settings = BackendSettings { name: "ops".into(), backend, scale_events: true };
        let metrics = Metrics::default();
        let sender = Sender::timed(vec![settings], metrics.clone(), quick()).expect("valid");
        sender.send(example(Reason::ScaleOut));
        let request = to.request().await;
        assert!(request.starts_with("POST /v2 HTTP/1.1\r\n"), "{request}");
        assert!(request.ends_with(&format!("\r\n\r\n{body}")), "{request}");
        assert!(request.contains("content-type: application/json\r\n"), "{request}");
        assert_eq!(request.contains("authorization"), authorization.is_some(), "{request}");
        assert!(request.contains(authorization.unwrap_or_default()), "{request}");
        within(sender.close(Duration::from_secs(60))).await;
        assert_eq!(counted(&metrics, "sent", "ops"), 1);
    }
}

#[tokio::test]
async fn failures_that_pass_are_retried_three_times() {
    use Reply::{Close, Status};
    let busy = Status(503, "");
    let away = Status(307, "location: /elsewhere\r\n");
    let cases: [(&[Reply], usize, bool); 6] = [
        (&[Status(500, ""), Status(429, ""), Close, OK], 4, true),
        (&[busy, busy, busy, busy, OK], 4, false),
        (&[Status(400, ""), OK], 1, false),
        (&[Status(403, ""), OK], 1, false),
        (&[away, OK], 1, false),
        (&[Reply::EndlessHead, OK], 2, true),
    ];
    for (script, attempts, sent) in cases {
        let mut to = Canned::start(script).await;
        let metrics = Metrics::default();
        let sender = Sender::timed(vec![hook("ops", &to.address)], metrics.clone(), quick()).expect("valid");
        sender.send(example(Reason::ClusterFailsafeMode));
        within(sender.close(Duration::from_secs(60))).await;
        let mut seen = 0;
        while to.requests.try_recv().is_ok() {
            seen += 1;
        }
        let counts = (counted(&metrics, "sent", "ops"), counted(&metrics, "failed", "ops"));
        assert_eq!((seen, counts), (attempts, (u64::from(sent), u64::from(!sent))), "{script:?}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let metrics = Metrics::default();
    let sender = Sender::timed(vec![hook("ops", &address)], metrics.clone(), quick()).expect("valid");
    sender.send(example(Reason::ScaleIn));
    within(sender.close(Duration::from_secs(60))).await;
    assert_eq!(counted(&metrics, "failed", "ops"), 1);
}

#[tokio::test]
async fn a_hanging_backend_holds_up_nobody_and_its_queue_is_bounded() {
    let mut slow = Canned::start(&[Reply::Hang]).await;
    let mut other = Canned::start(&[OK]).await;
    let metrics = Metrics::default();
    let timing = Timing { attempt: Duration::from_secs(3600), ..quick() };
    let backends = vec![hook("slow", &slow.address), hook("other", &other.address)];
    let sender = Sender::timed(backends, metrics.clone(), timing).expect("valid");
    sender.send(example(Reason::ClusterFailsafeMode));
    slow.request().await;
    other.request().await;
    // The first one of `slow` is in its worker's hand: its queue is empty.
    for _ in 0..QUEUE {
        sender.send(example(Reason::ScaleIn));
        other.request().await;
    }
    assert_eq!(counted(&metrics, "dropped", "slow"), 0);
    sender.send(example(Reason::ScaleOut));
    assert!(other.request().await.contains("scale_out"));
    assert_eq!((counted(&metrics, "dropped", "slow"), counted(&metrics, "dropped", "other")), (1, 0));
    within(sender.close(Duration::from_millis(10))).await;
    assert_eq!(counted(&metrics, "sent", "slow"), 0);
}

#[tokio::test]
async fn a_late_answer_is_a_failure_that_passes() {
    let to = Canned::start(&[Reply::Hang]).await;
    let timing = Timing { attempt: Duration::from_millis(50), ..quick() };
    let (worker, settings) = worker(&to.address, timing);
    let delivery = settings.delivery(&example(Reason::ScaleIn)).expect("wanted");
    let failure = within(worker.attempt(&delivery)).await.expect_err("no answer");
    assert_eq!((failure.passes(), failure), (true, Failure::Timeout(timing.attempt)));
    let gave_up = within(worker.deliver(&delivery)).await;
    assert_eq!(gave_up, Err(Failure::Timeout(timing.attempt)), "after all attempts");
}

#[tokio::test]
async fn endless_answers_are_not_read() {
    for (status, attempts, sent) in [(200, 1, 1), (500, 4, 0)] {
        let mut to = Canned::start(&[Reply::EndlessBody(status)]).await;
        let metrics = Metrics::default();
        let sender = Sender::timed(vec![hook("ops", &to.address)], metrics.clone(), quick()).expect("valid");
        sender.send(example(Reason::ScaleIn));
        within(sender.close(Duration::from_secs(60))).await;
        assert_eq!(counted(&metrics, "sent", "ops"), sent);
        for _ in 0..attempts {
            within(to.left.recv()).await.expect("the connection is closed");
        }
    }
}

#[tokio::test]
async fn what_waits_is_sent_after_the_sender_is_gone_but_not_for_ever() {
    let mut to = Canned::start(&[OK]).await;
    let sender = Sender::timed(vec![hook("ops", &to.address)], Metrics::default(), quick()).expect("valid");
    sender.send(example(Reason::ScaleIn));
    drop(sender);
    to.request().await;

    let (open, closed) = watch::channel(());
    let (waiting, queue) = mpsc::channel(1);
    let timing = Timing { grace: Duration::from_millis(1), ..quick() };
    let (worker, _) = worker(&to.address, timing);
    drop(open);
    // The queue stays open, but the grace ends it.
    within(worker.run(queue, closed)).await;
    assert!(waiting.is_closed());
}

/// Keeps everything that is logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!(" {field}={value:?}"));
            }
        }
        let mut text = Text(event.metadata().target().to_string());
        event.record(&mut text);
        self.0.lock().expect("not poisoned").push(text.0);
    }
}

#[tokio::test]
async fn no_secret_is_logged() {
    let lines = Lines::default();
    // While there is one subscriber only, the first thread that comes to a log line decides whether it is logged at
    // all, and those of other tests have none.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines.clone()));
    let scripts: [&[Reply]; 3] = [&[Reply::Close], &[Reply::Status(403, "")], &[Reply::EndlessHead]];
    for script in scripts {
        let to = Canned::start(script).await;
        let url = |host: &str| SecretString::new(format!("http://user:s3cr3t@{host}/s3cr3t?key=s3cr3t"));
        let unknown = Backend::Webhook { url: url("no-such-host.invalid") };
        let opsgenie = Backend::Opsgenie { key: SecretString::new("s3cr3t"), url: Some(url(&to.address)) };
        let backends = [("hook", unknown), ("genie", opsgenie)].map(|(name, backend)| BackendSettings {
            name: name.into(),
            backend,
            scale_events: true,
        });
        let metrics = Metrics::default();
        let sender = Sender::timed(backends.to_vec(), metrics.clone(), quick()).expect("valid");
        sender.send(example(Reason::ScaleIn));
        within(sender.close(Duration::from_secs(60))).await;
        assert_eq!((counted(&metrics, "failed", "hook"), counted(&metrics, "failed", "genie")), (1, 1));
    }
    let logged = lines.0.lock().expect("not poisoned").join("\n");
    assert!(logged.contains("backend=\"hook\"") && logged.contains("backend=\"genie\""), "{logged}");
    assert!(!logged.contains("s3cr3t"), "{logged}");
    let bad = Backend::Webhook { url: SecretString::new("ftp://s3cr3t/") };
    let bad = BackendSettings { name: "ops".into(), backend: bad, scale_events: false };
    let e = Sender::new(vec![bad], Metrics::default()).map(|_| ()).expect_err("invalid");
    assert_eq!(e, ("ops".to_string(), BackendError::NotHttp));
}
