//! The connection over which servers send requests to the node (`docs/spec/client.md §26`).

use std::sync::Arc;

use super::super::policy::backoff;
use super::super::servers::ServersError;
use super::Agent;

impl Agent {
    /// Stays connected to a server until the end.
    pub(super) async fn answer_requests_forever(self: Arc<Self>) {
        if !self.wait_registered().await {
            return;
        }
        let mut failures = 0;
        loop {
            let who = self.who();
            let ended = tokio::select! {
                ended = self.servers.answer_requests(&who) => ended,
                () = self.stopped() => return,
            };
            match ended {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    // Heartbeats and pulls report servers that cannot be reached.
                    if !matches!(error, ServersError::Unreachable { .. } | ServersError::NoServers) {
                        tracing::warn!(target: "client", %error, "servers cannot send requests to this node");
                    }
                }
            }
            let wait = self.shared.draw(|r| backoff::connection(failures, r));
            if !self.pause_or_news(wait).await {
                return;
            }
        }
    }
}
