//! Registration and heartbeats (`docs/spec/client.md §3.2`, `§3.3`).

use std::sync::Arc;

use super::super::policy::{backoff, identity};
use super::super::servers::ServersError;
use super::{Agent, Beat};
use crate::clock;
use encamp_model::responses::NodeUpdateResponse;
use encamp_model::{NodeStatus, SecretString};

/// The file of the state directory with the token that introduces the node (`docs/spec/agent-config.md §5.3`).
const INTRO_TOKEN_FILE: &str = "intro_token.jwt";
/// The shortest wait before the heartbeat after a refused one, in nanoseconds.
const PAUSE_AFTER_REFUSAL: i64 = 1_000_000_000;

impl Agent {
    /// Registers, then beats until the end.
    pub(super) async fn beat_forever(self: Arc<Self>) {
        let known = self.record.read(|r| r.registered);
        if known {
            // Allocations that ran before the agent stopped need not wait for the servers.
            self.registered.send_replace(true);
        }
        if !self.register().await {
            return;
        }
        let first = |me: &Agent| {
            let wait = me.shared.draw(|r| backoff::first_heartbeat(me.dev(), r));
            // Servers with a short TTL would take the node for dead.
            let ttl = me.beat.lock().last.map_or(0, |(_, ttl)| ttl);
            if ttl > 0 { wait.min(ttl) } else { wait }
        };
        let mut wait = first(&self);
        // Servers place nothing on a node that has registered again until its first heartbeat.
        let mut sooner = known.then(|| self.shared.draw(backoff::heartbeat_after_contact));
        let mut beats = 0_u64;
        loop {
            let renew = tokio::select! {
                alive = self.pause_or_contact(wait, sooner.take()) => if alive { false } else { return },
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
                    let lasts = identity::node_lasts(self.who().identity.expose(), clock::now());
                    lasts.map_or(reply.heartbeat_ttl, |lasts| lasts.min(reply.heartbeat_ttl))
                }
                Err(ServersError::NodeNotFound | ServersError::Revoked) => {
                    if !self.register().await {
                        return;
                    }
                    first(&self)
                }
                Err(ServersError::PermissionDenied) => {
                    tracing::warn!(target: "client", "the servers refuse the identity of this node. Registering again");
                    self.forget_identity(false);
                    if !self.register().await {
                        return;
                    }
                    first(&self).max(PAUSE_AFTER_REFUSAL)
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
            let Err(error) = self.try_to_register().await else { return true };
            // What to do about a revoked identity was logged, once.
            if error != ServersError::Revoked {
                tracing::error!(target: "client", %error, "error registering");
            }
            let none = error == ServersError::NoServers;
            let wait = self.shared.draw(|r| backoff::registration(self.dev(), none, r));
            if !self.pause_or_news(wait).await {
                return false;
            }
        }
    }

    /// Registers the node once. Registrations do not overlap: the secret may change with one.
    async fn try_to_register(&self) -> Result<(), ServersError> {
        let mut refused = self.registering.lock().await;
        let (registered, identity, next) =
            self.record.read(|r| (r.registered, r.identity.clone(), r.next_secret.clone()));
        let revoked = !next.is_empty();
        let mut node = self.shared.node();
        if revoked {
            node.secret_id = next;
        }
        let introduction = self.introduction(revoked);
        let token = if registered && !revoked { &identity } else { &introduction };
        let sent = clock::now();
        match self.servers.register(&node, token.expose()).await {
            Ok(reply) if reply.servers.is_empty() => Err(ServersError::NoServers),
            Ok(reply) => {
                if revoked {
                    self.keep_new_secret(&node.secret_id);
                }
                *refused = None;
                self.answered(&reply, sent);
                self.note_registered();
                tracing::info!(target: "client", "node registration complete");
                Ok(())
            }
            Err(ServersError::Revoked) => {
                // A secret of an earlier attempt may have been revoked itself: every attempt has its own.
                self.make_new_secret();
                let known = refused.replace(introduction.clone());
                if known.as_ref() != Some(&introduction) {
                    self.tell_what_to_do(&node.name, &node.node_pool, !introduction.is_empty());
                }
                Err(ServersError::Revoked)
            }
            Err(error) => {
                if error == ServersError::PermissionDenied && registered {
                    self.forget_identity(true);
                }
                Err(error)
            }
        }
    }

    /// The token that introduces the node. The servers refuse those issued before an identity was revoked: a token in
    /// the state directory is then newer than the one that the agent was started with.
    fn introduction(&self, revoked: bool) -> SecretString {
        let config = &self.shared.config;
        if !revoked && !config.intro_token.is_empty() {
            return config.intro_token.clone();
        }
        let file = config.state_dir.as_ref().and_then(|dir| std::fs::read_to_string(dir.join(INTRO_TOKEN_FILE)).ok());
        let found: SecretString = file.unwrap_or_default().trim().into();
        if found.is_empty() { config.intro_token.clone() } else { found }
    }

    /// Forgets the identity, which the servers refuse. `registration`: the node goes on as one that never registered.
    fn forget_identity(&self, registration: bool) {
        self.record.change(|record| {
            record.identity = SecretString::default();
            record.registered &= !registration;
        });
        self.shared.who.lock().identity = SecretString::default();
    }

    /// Makes the secret with which a node registers whose identity was revoked. It is stored before it is used: the
    /// servers accept it once.
    fn make_new_secret(&self) {
        let made = clock::uuid().and_then(|secret| {
            self.store_record(|record| {
                record.next_secret = secret.into();
                record.identity = SecretString::default();
            })
        });
        if let Err(error) = made {
            tracing::error!(target: "client", %error, "failed to store a new node secret");
        }
        self.shared.who.lock().identity = SecretString::default();
    }

    /// Takes over a secret that the servers accepted.
    fn keep_new_secret(&self, secret: &SecretString) {
        let id = {
            let mut node = self.shared.node.write();
            node.secret_id.clone_from(secret);
            node.id.clone()
        };
        self.shared.who.lock().secret_id.clone_from(secret);
        let kept = self.shared.store.replace_secret(&id, secret);
        // Otherwise the next start registers with it again.
        let kept = kept.and_then(|()| self.store_record(|record| record.next_secret = SecretString::default()));
        match kept {
            Ok(()) => tracing::info!(target: "client", "the node has a new secret"),
            Err(error) => tracing::error!(target: "client", %error, "failed to store the new node secret"),
        }
    }

    fn tell_what_to_do(&self, name: &str, pool: &str, token: bool) {
        let refused = if token { " The introduction token was issued before that, or is not valid." } else { "" };
        let file = self.shared.config.state_dir.as_ref().map(|dir| dir.join(INTRO_TOKEN_FILE));
        let place = file.map_or_else(
            || "start the agent with it in NOMAD_CLIENT_INTRO_TOKEN".to_string(),
            |file| format!("write it to {}", file.display()),
        );
        tracing::error!(
            target: "client",
            "the identity of this node was revoked, and the servers refuse its secret.{refused} To bring the node back, \
             create a token with \"encamp node intro create -node-name {name} -node-pool {pool}\" and {place}"
        );
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
    pub(crate) async fn wait_registered(&self) -> bool {
        let mut registered = self.registered.subscribe();
        tokio::select! {
            ok = registered.wait_for(|r| *r) => ok.is_ok(),
            () = self.stopped() => false,
        }
    }
}
