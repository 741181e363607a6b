//! Sends notifications (`docs/spec/cluster-scaling.md §10`): every backend has a queue and a task of its own, so that
//! none of them delays scaling or another backend.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode, Url, redirect};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use encamp_telemetry::Metrics;

use super::{BackendError, BackendSettings, Delivery, Notification, Notify, shortened};

/// How many notifications wait for one backend. Those that come when so many wait are dropped.
pub const QUEUE: usize = 256;
/// The longest cause of a failure that is logged, characters.
const CAUSE: usize = 200;

/// Limits of time of a delivery.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// Until the backend has answered.
    attempt: Duration,
    /// The pause before each retry.
    pauses: [Duration; 3],
    /// For everything that waits when the sender is dropped.
    grace: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            attempt: Duration::from_secs(10),
            pauses: [1, 2, 4].map(Duration::from_secs),
            grace: Duration::from_secs(60),
        }
    }
}

/// Sends notifications. When it is dropped, what waits is still sent for up to a minute.
#[derive(Debug)]
pub struct Sender {
    queues: Vec<Queue>,
    metrics: Metrics,
    /// Tells the tasks when the sender is dropped.
    _open: watch::Sender<()>,
    tasks: JoinSet<()>,
}

/// The queue of one backend.
#[derive(Debug)]
struct Queue {
    backend: BackendSettings,
    waiting: mpsc::Sender<Delivery>,
}

/// The task of one backend.
struct Worker {
    name: String,
    url: Url,
    client: Client,
    metrics: Metrics,
    timing: Timing,
}

/// Why a backend did not take a notification. Its texts hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Failure {
    /// It did not answer in time.
    #[error("it did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// No connection was made.
    #[error("it could not be reached: {0}")]
    Connect(String),
    /// The connection broke, or the answer is not HTTP.
    #[error("the connection broke, or the answer is not valid HTTP")]
    Interrupted,
    /// It refused.
    #[error("it answered {0}")]
    Refused(StatusCode),
}

impl Failure {
    /// Another attempt may do better. An attempt without an answer may have been taken; services put both into one
    /// alert.
    fn passes(&self) -> bool {
        match self {
            Failure::Timeout(_) | Failure::Connect(_) | Failure::Interrupted => true,
            Failure::Refused(status) => *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error(),
        }
    }
}

impl Sender {
    /// Starts a task for each backend on the current runtime of tokio.
    ///
    /// # Errors
    /// A backend whose address or key is invalid, with its name.
    ///
    /// # Panics
    /// Outside a runtime of tokio.
    pub fn new(backends: Vec<BackendSettings>, metrics: Metrics) -> Result<Sender, (String, BackendError)> {
        Sender::timed(backends, metrics, Timing::default())
    }

    fn timed(
        backends: Vec<BackendSettings>,
        metrics: Metrics,
        timing: Timing,
    ) -> Result<Sender, (String, BackendError)> {
        let (open, closed) = watch::channel(());
        let mut workers = Vec::with_capacity(backends.len());
        for backend in &backends {
            let failed = |e| (backend.name.clone(), e);
            workers.push(Worker {
                name: backend.name.clone(),
                url: backend.backend.target().map_err(failed)?,
                client: client(timing).map_err(failed)?,
                metrics: metrics.clone(),
                timing,
            });
        }
        let mut tasks = JoinSet::new();
        let start = |(backend, worker): (BackendSettings, Worker)| {
            let (waiting, queue) = mpsc::channel(QUEUE);
            tasks.spawn(worker.run(queue, closed.clone()));
            Queue { backend, waiting }
        };
        let queues = backends.into_iter().zip(workers).map(start).collect();
        Ok(Sender { queues, metrics, _open: open, tasks })
    }

    /// Waits until everything that waits is sent, at most `limit`. What is left then is dropped.
    pub async fn close(mut self, limit: Duration) {
        self.queues.clear();
        let mut tasks = std::mem::take(&mut self.tasks);
        // Work that the tasks have not done by then ends with the set.
        let _ = timeout(limit, async { while tasks.join_next().await.is_some() {} }).await;
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Tasks end by themselves: their queues close now, and they know that from `_open`.
        self.tasks.detach_all();
    }
}

impl Notify for Sender {
    fn send(&self, notification: Notification) {
        for queue in &self.queues {
            let Some(delivery) = queue.backend.delivery(&notification) else { continue };
            let why = match queue.waiting.try_send(delivery) {
                Ok(()) => continue,
                Err(TrySendError::Full(_)) => "too many wait",
                Err(TrySendError::Closed(_)) => "the agent ends",
            };
            let name = queue.backend.name.as_str();
            self.metrics.count("nomad.autoscale.notify.dropped", 1, &[("backend", name)]);
            let (reason, resource) = (notification.reason.name(), notification.resource_id.as_str());
            tracing::warn!(target: "autoscale", backend = name, reason, resource, why, "a notification was dropped");
        }
    }
}

/// Redirects are not followed: the key would be sent to another host.
fn client(timing: Timing) -> Result<Client, BackendError> {
    let client = encamp_tls::client_builder().timeout(timing.attempt).redirect(redirect::Policy::none()).referer(false);
    client.user_agent("encamp").build().map_err(|_| BackendError::Client)
}

impl Worker {
    /// Sends what comes through the queue until it is closed and empty, or the time for that is over.
    async fn run(self, queue: mpsc::Receiver<Delivery>, mut closed: watch::Receiver<()>) {
        let over = async {
            while closed.changed().await.is_ok() {}
            sleep(self.timing.grace).await;
        };
        tokio::select! {
            () = self.drain(queue) => {}
            () = over => {
                let name = self.name.as_str();
                tracing::warn!(target: "autoscale", backend = name, "undelivered notifications were dropped");
            }
        }
    }

    async fn drain(&self, mut queue: mpsc::Receiver<Delivery>) {
        let labels = [("backend", self.name.as_str())];
        while let Some(delivery) = queue.recv().await {
            match self.deliver(&delivery).await {
                Ok(()) => self.metrics.count("nomad.autoscale.notify.sent", 1, &labels),
                Err(failure) => {
                    self.metrics.count("nomad.autoscale.notify.failed", 1, &labels);
                    let name = self.name.as_str();
                    tracing::error!(target: "autoscale", backend = name, %failure, "a notification could not be sent");
                }
            }
        }
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<(), Failure> {
        for pause in self.timing.pauses {
            match self.attempt(delivery).await {
                Err(failure) if failure.passes() => {
                    let name = self.name.as_str();
                    tracing::debug!(target: "autoscale", backend = name, %failure, "a notification will be sent again");
                }
                ended => return ended,
            }
            sleep(pause).await;
        }
        self.attempt(delivery).await
    }

    /// One request. Only the status of the answer counts; its body is not read.
    async fn attempt(&self, delivery: &Delivery) -> Result<(), Failure> {
        let mut request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        if let Some(secret) = &delivery.authorization {
            // Keys are checked to be printable ASCII: [`BackendSettings`]'s check.
            let Ok(mut value) = HeaderValue::from_str(secret.expose()) else { return Err(Failure::Interrupted) };
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let answer = match request.body(delivery.body.clone()).send().await {
            Ok(answer) => answer,
            Err(e) if e.is_timeout() => return Err(Failure::Timeout(self.timing.attempt)),
            Err(e) if e.is_connect() => return Err(Failure::Connect(cause(&e))),
            Err(_) => return Err(Failure::Interrupted),
        };
        if answer.status().is_success() { Ok(()) } else { Err(Failure::Refused(answer.status())) }
    }
}

/// The innermost cause of an error. It comes from the resolver, a socket or TLS, which know no more than host and
/// port; errors further out may hold the URL.
fn cause(e: &reqwest::Error) -> String {
    shortened(&encamp_tls::cause(e), CAUSE)
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
