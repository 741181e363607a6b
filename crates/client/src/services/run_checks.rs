//! Runs checks.

use std::collections::BTreeMap;
use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::checks::{Check, CheckRestart, CheckResult, Http, passing};
use crate::clock;
use crate::policy::check_restart::CheckOutcome;

/// Most of an answer's body that is kept.
const MOST_BODY: usize = 3072;

/// The checks of an allocation, running, and their results.
#[derive(Default)]
pub struct Checks {
    results: Arc<Mutex<BTreeMap<String, CheckResult>>>,
    /// By ID of the check.
    restarts: Mutex<BTreeMap<String, CheckRestart>>,
    loops: Mutex<Vec<AbortHandle>>,
}

impl Checks {
    /// Runs these checks instead of those before; results of checks that stay are kept.
    pub fn replace(&self, checks: Vec<Check>) {
        self.stop();
        let mut results = self.results.lock();
        results.retain(|id, _| checks.iter().any(|c| c.first.id == *id));
        let restarts = checks.iter().filter_map(|c| Some((c.first.id.clone(), c.restart.clone()?)));
        *self.restarts.lock() = restarts.collect();
        let mut loops = self.loops.lock();
        for check in checks {
            results.entry(check.first.id.clone()).or_insert_with(|| check.first.clone());
            loops.push(tokio::spawn(repeat(check, self.results.clone())).abort_handle());
        }
    }

    /// The checks whose failures restart something, by ID, with what they said last.
    pub fn restarts(&self) -> Vec<(String, CheckRestart, CheckOutcome)> {
        let results = self.results.lock();
        let outcome = |id: &str| results.get(id).map(|r| r.status).unwrap_or_default();
        self.restarts.lock().iter().map(|(id, r)| (id.clone(), r.clone(), outcome(id))).collect()
    }

    /// Ends the checks; the results stay.
    pub fn stop(&self) {
        self.loops.lock().drain(..).for_each(|l| l.abort());
    }

    /// The results, by ID of the check.
    pub fn results(&self) -> BTreeMap<String, CheckResult> {
        self.results.lock().clone()
    }

    /// Whether all pass; none if there are none.
    pub(crate) fn passing(&self) -> Option<bool> {
        passing(&self.results.lock())
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn repeat(check: Check, results: Arc<Mutex<BTreeMap<String, CheckResult>>>) {
    tokio::time::sleep(check.interval / 2).await;
    loop {
        let (status, status_code, output) = run(&check).await;
        let result =
            CheckResult { status, status_code, output, timestamp: clock::now() / 1_000_000_000, ..check.first.clone() };
        results.lock().insert(check.first.id.clone(), result);
        // An interval of nothing would never let go.
        tokio::time::sleep(check.interval.max(std::time::Duration::from_millis(10))).await;
    }
}

/// Runs a check once: status, status code, output.
pub async fn run(check: &Check) -> (CheckOutcome, i64, String) {
    let host = if check.host.is_empty() { "127.0.0.1" } else { &check.host };
    let at = if host.contains(':') { format!("[{host}]:{}", check.port) } else { format!("{host}:{}", check.port) };
    match &check.http {
        None => tcp(check, &at).await,
        Some(http) => ask(check, http, &at).await.unwrap_or_else(|e| (CheckOutcome::Failure, 0, format!("nomad: {e}"))),
    }
}

async fn tcp(check: &Check, at: &str) -> (CheckOutcome, i64, String) {
    let failed = |why: &str| (CheckOutcome::Failure, 0, format!("dial tcp {at}: {why}"));
    match tokio::time::timeout(check.timeout, tokio::net::TcpStream::connect(at)).await {
        Ok(Ok(_)) => (CheckOutcome::Success, 0, "nomad: tcp ok".into()),
        Ok(Err(e)) if e.kind() == std::io::ErrorKind::ConnectionRefused => failed("connect: connection refused"),
        Ok(Err(e)) => failed(&e.to_string()),
        Err(_) => failed("i/o timeout"),
    }
}

/// Why a question over HTTP has no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    /// The exchange failed.
    #[error("{} \"{url}\": {}", capital(method), cause(source))]
    Exchange {
        /// The request's method.
        method: String,
        /// Where it goes.
        url: String,
        /// The reason.
        source: reqwest::Error,
    },
    /// The check's method is no token of HTTP.
    #[error(transparent)]
    Method(<reqwest::Method as FromStr>::Err),
}

/// The error below that of the HTTP client, which repeats the URL.
fn cause(e: &reqwest::Error) -> String {
    let explained = encamp_tls::missing_authorities(e).map(ToString::to_string);
    explained.or_else(|| e.source().map(ToString::to_string)).unwrap_or_else(|| e.to_string())
}

async fn ask(check: &Check, http: &Http, at: &str) -> Result<(CheckOutcome, i64, String), AskError> {
    let url = format!("{}://{at}{}", http.scheme, http.path);
    let wrong = |source| AskError::Exchange { method: http.method.clone(), url: url.clone(), source };
    let client = encamp_tls::client_builder()
        .timeout(check.timeout)
        .tls_danger_accept_invalid_certs(http.tls_skip_verify)
        .build()
        .map_err(wrong)?;
    let method = reqwest::Method::from_bytes(http.method.as_bytes()).map_err(AskError::Method)?;
    let mut request = client.request(method, &url).body(http.body.clone());
    for (name, values) in &http.headers {
        for value in values {
            request = request.header(name, value);
        }
    }
    let mut response = request.send().await.map_err(wrong)?;
    let code = response.status().as_u16();
    let mut body = Vec::new();
    while let (true, Some(chunk)) = (body.len() < MOST_BODY, response.chunk().await.map_err(wrong)?) {
        body.extend_from_slice(&chunk);
    }
    body.truncate(MOST_BODY);
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(match code {
        200 => (CheckOutcome::Success, 200, "nomad: http ok".into()),
        c if c < 400 => (CheckOutcome::Success, c.into(), body),
        c => (CheckOutcome::Failure, c.into(), body),
    })
}

/// A method as errors of Nomad begin: `Get`.
fn capital(method: &str) -> String {
    let mut chars = method.chars();
    let first: String = chars.next().map(|c| c.to_ascii_uppercase()).into_iter().collect();
    first + &chars.as_str().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn server(answer: &'static str) -> i64 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 1024]).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        port.into()
    }

    fn check(port: i64, http: bool) -> Check {
        let http = http.then(|| Http {
            scheme: "http".into(),
            method: "GET".into(),
            path: "/health".into(),
            headers: [("X-A".to_string(), vec!["1".to_string()])].into(),
            body: String::new(),
            tls_skip_verify: false,
        });
        let first = CheckResult { id: "c".into(), ..CheckResult::default() };
        Check {
            first,
            host: String::new(),
            port,
            http,
            interval: Duration::from_millis(20),
            timeout: Duration::from_secs(5),
            restart: None,
        }
    }

    #[tokio::test]
    async fn answers_become_results() {
        let ok = server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").await;
        let bad = server("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy").await;
        assert_eq!(run(&check(ok, false)).await, (CheckOutcome::Success, 0, "nomad: tcp ok".into()));
        assert_eq!(run(&check(ok, true)).await, (CheckOutcome::Success, 200, "nomad: http ok".into()));
        assert_eq!(run(&check(bad, true)).await, (CheckOutcome::Failure, 503, "busy".into()));
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = i64::from(free.local_addr().unwrap().port());
        drop(free);
        let want = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
        assert_eq!(run(&check(port, false)).await, (CheckOutcome::Failure, 0, want));
        let (result, _, output) = run(&check(port, true)).await;
        assert!(result == CheckOutcome::Failure && output.starts_with("nomad: Get \"http://127.0.0.1:"), "{output}");
    }

    #[tokio::test]
    async fn results_follow_the_runs() {
        let checks = Checks::default();
        assert_eq!(checks.passing(), None);
        checks.replace(vec![check(server("").await, false)]);
        assert_eq!(checks.passing(), Some(false), "not run yet");
        let end = tokio::time::Instant::now() + Duration::from_secs(20);
        while checks.passing() != Some(true) && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(checks.results()["c"].output, "nomad: tcp ok");
        checks.replace(Vec::new());
        assert_eq!(checks.passing(), None);
    }
}
