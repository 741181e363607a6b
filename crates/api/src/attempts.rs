//! The attempts at one request.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::client::{Call, Client};
use super::error::ApiError;
use super::retry::{self, Retries};
use super::servers::Server;

/// A failed attempt, and when the server wants the next.
pub(crate) struct Failed {
    /// The error.
    pub error: ApiError,
    /// The pause that the server asks for.
    pub retry_after: Option<Duration>,
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Failed {
        Failed { error, retry_after: None }
    }
}

/// Where the next attempt at a request goes, and what became of those before it.
pub(crate) struct Attempts<'a> {
    client: &'a Client,
    retries: Retries,
    /// The number of the address.
    number: usize,
    /// Not counted before something fails: reads may wait for long.
    since: Option<Instant>,
}

impl<'a> Attempts<'a> {
    /// Before the first one.
    pub(crate) fn new<B: ?Sized>(client: &'a Client, call: &Call<'_, B>) -> Attempts<'a> {
        let kind = retry::kind(&call.method, call.path, call.query);
        let (count, number) = (client.servers.count(), client.servers.current());
        Attempts { client, retries: Retries::new(kind, count), number, since: None }
    }

    /// Where it goes.
    pub(crate) fn server(&self) -> &'a Server {
        self.client.servers.get(self.number)
    }

    /// It was answered.
    pub(crate) fn succeeded(&self) {
        self.client.servers.answered(self.number);
        self.client.troubled.store(false, Ordering::Relaxed);
    }

    /// It was not. Waits for the time of the next attempt.
    ///
    /// # Errors
    /// There is none: why the request failed.
    pub(crate) async fn failed(&mut self, failed: Failed) -> Result<(), ApiError> {
        let elapsed = self.since.get_or_insert_with(Instant::now).elapsed();
        let heard = self.client.answered.load(Ordering::Relaxed);
        let Failed { error, retry_after } = failed;
        let Some(again) = self.retries.after(&error, retry_after, heard, elapsed) else {
            // A server that refuses a request is reachable.
            if error.status().is_some() {
                self.succeeded();
            }
            return Err(self.retries.verdict(error));
        };
        if again.shown && !self.client.troubled.swap(true, Ordering::Relaxed) {
            self.client.note.say(&format!("Trying again for up to {}s: {error}", retry::LIMIT.as_secs()));
        }
        tokio::time::sleep(again.pause).await;
        self.number = self.number.wrapping_add(1);
        Ok(())
    }
}
