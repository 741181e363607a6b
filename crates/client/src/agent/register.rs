//! Registration and heartbeats (`docs/spec/client.md §3.2`, `§3.3`).

use std::sync::Arc;

use super::super::policy::backoff;
use super::super::servers::ServersError;
use super::{Agent, Beat};
use crate::clock;
use encamp_model::responses::NodeUpdateResponse;
use encamp_model::{NodeStatus, SecretString};

impl Agent {
    /// Registers, then beats until the end.
    pub(super) async fn beat_forever(self: Arc<Self>) {
        if self.record.read(|r| r.registered) {
            // Allocations that ran before the agent stopped need not wait for the servers.
            self.registered.send_replace(true);
        }
        if !self.register().await {
            return;
        }
        let first = |me: &Agent| me.shared.draw(|r| backoff::first_heartbeat(me.dev(), r));
        let mut wait = first(&self);
        let mut beats = 0_u64;
        loop {
            let renew = tokio::select! {
                alive = self.pause(wait) => if alive { false } else { return },
                () = self.renew_identity.notified() => true,
            };
            let sent = clock::now();
            wait = match self.servers.update_status(&self.who(), NodeStatus::Ready, renew).await {
                Ok(reply) => {
                    if reply.index != 0 && reply.signed_identity.is_empty() && beats > 0 {
                        tracing::warn!(target: "client", "missed heartbeat");
                    }
                    beats += 1;
                    self.answered(&reply, sent);
                    reply.heartbeat_ttl
                }
                Err(ServersError::NodeNotFound) => {
                    if !self.register().await {
                        return;
                    }
                    first(&self)
                }
                Err(error) => {
                    let last = self.beat.lock().last;
                    let wait = self.shared.draw(|r| backoff::heartbeat(self.dev(), last, clock::now(), r));
                    tracing::error!(target: "client", %error, "error heartbeating. retrying");
                    wait
                }
            };
        }
    }

    /// Registers the node as it is now; tries until it succeeds. False if the agent stops.
    pub(super) async fn register(&self) -> bool {
        loop {
            let node = self.shared.node();
            let (registered, identity) = self.record.read(|r| (r.registered, r.identity.clone()));
            let intro = &self.shared.config.intro_token;
            let token = if registered { identity } else { intro.clone() };
            let sent = clock::now();
            let error = match self.servers.register(&node, token.expose()).await {
                Ok(reply) if reply.servers.is_empty() => ServersError::NoServers,
                Ok(reply) => {
                    self.answered(&reply, sent);
                    self.note_registered();
                    tracing::info!(target: "client", "node registration complete");
                    return true;
                }
                Err(error) => error,
            };
            if error == ServersError::PermissionDenied && intro.is_empty() && registered {
                self.record.change(|record| {
                    record.identity = SecretString::default();
                    record.registered = false;
                });
                self.shared.who.lock().identity = SecretString::default();
            }
            tracing::error!(target: "client", %error, "error registering");
            let none = error == ServersError::NoServers;
            let wait = self.shared.draw(|r| backoff::registration(self.dev(), none, r));
            if !self.pause_or_news(wait).await {
                return false;
            }
        }
    }

    fn note_registered(&self) {
        if let Err(error) = self.store_record(|record| record.registered = true) {
            // The next change stores it.
            self.record.change(|record| record.registered = true);
            tracing::error!(target: "client", %error, "failed to store the registration");
        }
        let mut node = self.shared.node.write();
        node.status = NodeStatus::Ready;
        drop(node);
        self.registered.send_replace(true);
    }

    /// Takes over what a reply says.
    fn answered(&self, reply: &NodeUpdateResponse, sent: i64) {
        *self.beat.lock() = Beat { ok: clock::now(), last: Some((sent, reply.heartbeat_ttl)) };
        self.servers.learn(&reply.servers);
        if !reply.scheduling_eligibility.is_unset() {
            let mut node = self.shared.node.write();
            node.scheduling_eligibility.clone_from(&reply.scheduling_eligibility);
        }
        if !reply.signed_identity.is_empty() {
            // One that can't be kept is not used: after a restart nobody would know it.
            match self.store_record(|record| record.identity.clone_from(&reply.signed_identity)) {
                Ok(()) => {
                    self.shared.who.lock().identity.clone_from(&reply.signed_identity);
                }
                Err(error) => tracing::error!(target: "client", %error, "failed to store the node identity"),
            }
        }
    }

    /// Ends when the node has registered; false if the agent stops.
    pub(super) async fn wait_registered(&self) -> bool {
        let mut registered = self.registered.subscribe();
        tokio::select! {
            ok = registered.wait_for(|r| *r) => ok.is_ok(),
            () = self.stopped() => false,
        }
    }
}
