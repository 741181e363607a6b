//! Small writes beside a scenario: how long the longest of them took. They show whether other work of the servers holds
//! what every write needs.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use encamp_api::Client;

/// How often a write is made; the next one waits until the one before it is answered.
const EVERY: Duration = Duration::from_millis(25);
/// The namespace that is written.
const NAMESPACE: &str = "sim-small-writes";

#[derive(Debug, Default)]
struct Seen {
    count: u64,
    longest: Duration,
    /// When the write that is under way began.
    begun: Option<Instant>,
}

/// Small writes that go on until this is dropped.
#[derive(Debug)]
pub(crate) struct Writes {
    seen: Arc<Mutex<Seen>>,
    writing: JoinHandle<()>,
}

impl Writes {
    /// Starts to write through the HTTP API of a server.
    pub(crate) fn start(client: Client) -> Writes {
        let seen = Arc::new(Mutex::new(Seen::default()));
        Writes { seen: seen.clone(), writing: tokio::spawn(write(client, seen)) }
    }

    /// How many writes were answered since the last call, and how long the longest one took; one that is not answered yet
    /// counts as long as it has taken so far.
    pub(crate) fn take(&self) -> (u64, Duration) {
        let mut seen = self.seen.lock();
        let begun = seen.begun;
        let Seen { count, longest, .. } = std::mem::replace(&mut *seen, Seen { begun, ..Seen::default() });
        (count, longest.max(begun.map_or(Duration::ZERO, |b| b.elapsed())))
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

async fn write(client: Client, seen: Arc<Mutex<Seen>>) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for number in 0_u64.. {
        every.tick().await;
        let begun = Instant::now();
        seen.lock().begun = Some(begun);
        let namespace = json!({"Name": NAMESPACE, "Description": number.to_string()});
        // A write that fails took as long as one that does not; the scenario notices servers that are gone.
        let _: Result<(Value, _), _> = client.put("/v1/namespace", &Default::default(), &namespace).await;
        let mut seen = seen.lock();
        seen.begun = None;
        seen.count += 1;
        seen.longest = seen.longest.max(begun.elapsed());
    }
}
