//! Workload identity tokens of an allocation's tasks: requests, stores and renews them, and passes them to the tasks
//! (`docs/spec/client.md §9.1`, `§19.3`).

use std::sync::Arc;
use std::time::Duration;

use super::alloc::AllocRunner;
use super::error::TokenError;
use super::task::TaskRunner;
use super::tokens::Token;
use crate::directory::PathError;
use crate::policy::identity;
use crate::{clock, events};
use encamp_model::{IdentityRequest, SecretString, SignedIdentity, Task, WorkloadIdentity, duration};

/// How long a task waits for its first tokens.
const FIRST_WAIT: Duration = Duration::from_secs(60);

impl AllocRunner {
    fn wanted(&self) -> Vec<IdentityRequest> {
        let of_task = |t: &Arc<TaskRunner>| {
            let task = t.task();
            let mut all: Vec<_> = identity::wanted(&task).map(|i| self.request(&task, i)).collect();
            let own = self.default_request(&task.name);
            // Templates and secrets are read with the default identity, whether the task sees it or not.
            if (!task.templates.is_empty() || !task.secrets.is_empty()) && !all.contains(&own) {
                all.push(own);
            }
            all
        };
        self.tasks.iter().flat_map(of_task).collect()
    }

    fn request(&self, task: &Task, i: &WorkloadIdentity) -> IdentityRequest {
        IdentityRequest { alloc_id: self.id.clone(), task: task.name.clone(), identity: identity::name(i).into() }
    }

    fn default_request(&self, task: &str) -> IdentityRequest {
        let name = identity::name(&WorkloadIdentity::default()).into();
        IdentityRequest { alloc_id: self.id.clone(), task: task.into(), identity: name }
    }

    /// The token with which templates of a task read; empty if there is none.
    pub(super) fn template_token(&self, task: &str) -> SecretString {
        self.identities.jwt(&self.default_request(task)).unwrap_or_default()
    }

    /// Waits until the tokens are there, for a while.
    pub(super) async fn template_token_ready(&self, most: Duration) {
        let mut complete = self.identities.complete.subscribe();
        let _ = tokio::time::timeout(most, complete.wait_for(|c| *c)).await;
    }

    /// Asks for tokens and renews them, until the allocation is to end or none has to be renewed any more.
    pub(super) async fn keep_identities(self: Arc<Self>) {
        let (mut stopping, mut going) = (self.stopping.subscribe(), self.shutdown_signal());
        let work = async {
            let mut failed = 0;
            while let Some(wait) = self.ask(&mut failed).await {
                tokio::time::sleep(duration::of_nanos(wait)).await;
            }
        };
        tokio::select! {
            () = work => {}
            _ = async { stopping.wait_for(|s| *s).await.is_ok() } => {}
            _ = async { going.wait_for(|s| *s).await.is_ok() } => {}
        }
    }

    /// Asks for what is missing or due; gives how long to wait before the next time, none if there is none.
    async fn ask(self: &Arc<Self>, failed: &mut u32) -> Option<i64> {
        let (wanted, now) = (self.wanted(), clock::now());
        let due = {
            let tokens = self.identities.tokens.lock();
            let due = |r: &&IdentityRequest| tokens.get(*r).is_none_or(|t| t.renew_at.is_some_and(|at| at <= now));
            wanted.iter().filter(due).cloned().collect::<Vec<_>>()
        };
        let mut missing = false;
        if !due.is_empty() {
            let count = due.len();
            match self.shared.services.servers.sign_identities(&self.shared.who(), due).await {
                Ok(signed) => {
                    missing = signed.len() < count;
                    for s in signed {
                        self.take(s).await;
                    }
                    self.persist().await;
                }
                Err(error) => {
                    missing = true;
                    tracing::warn!(target: "client.alloc_runner", alloc_id = self.id, %error, "no identities yet");
                }
            }
        }
        let tokens = self.identities.tokens.lock();
        if wanted.iter().all(|r| tokens.contains_key(r)) {
            self.identities.complete.send_replace(true);
        }
        if missing {
            *failed = failed.saturating_add(1);
            return Some(self.shared.draw(|r| identity::retry(*failed - 1, r)));
        }
        *failed = 0;
        let next = tokens.values().filter_map(|t| t.renew_at).min()?;
        Some(next.saturating_sub(clock::now()).max(0))
    }

    /// Keeps a token and gives it to its task.
    async fn take(&self, signed: SignedIdentity) {
        let request = signed.request.clone();
        let renew_at = self.shared.draw(|r| identity::renew_at(clock::now(), signed.expires, r));
        let old = self.identities.tokens.lock().insert(request.clone(), Token { signed, renew_at });
        let Some(runner) = self.task(&request.task) else { return };
        let task = runner.task();
        let Some(i) = identity::wanted(&task).find(|i| identity::name(i) == request.identity) else { return };
        // A task that was not prepared yet finds it when it is.
        if runner.inner.lock().record.built
            && let Err(error) = runner.write_token(self, &task, i)
        {
            tracing::error!(target: "client.alloc_runner", alloc_id = self.id, task = task.name, %error, "failed to write a token");
        }
        if old.is_some() {
            runner.token_renewed(i).await;
        }
    }
}

impl TaskRunner {
    /// Waits for the first tokens, for a while.
    pub(super) async fn first_tokens(&self, owner: &AllocRunner) {
        if identity::wanted(&self.task()).next().is_none() {
            return;
        }
        let mut complete = owner.identities.complete.subscribe();
        tokio::select! {
            _ = tokio::time::timeout(FIRST_WAIT, complete.wait_for(|c| *c)) => {}
            () = self.killed() => {}
            () = self.going() => {}
        }
    }

    /// Writes the tokens that the task reads from files.
    pub(super) fn write_tokens(&self, owner: &AllocRunner, task: &Task) -> Result<(), TokenError> {
        identity::wanted(task).try_for_each(|i| self.write_token(owner, task, i))
    }

    fn write_token(&self, owner: &AllocRunner, task: &Task, i: &WorkloadIdentity) -> Result<(), TokenError> {
        let Some(jwt) = owner.identities.jwt(&owner.request(task, i)).filter(|_| i.file) else { return Ok(()) };
        let env = self.env(owner, task);
        let (path, user) = (env.replace(&identity::file(i)), self.owner_of_files(&env, task)?);
        let dir = owner.dirs.open_task(&task.name).map_err(PathError::from);
        let written = dir.and_then(|dir| dir.replace(&path, jwt.expose().as_bytes(), 0o600, user));
        written.map_err(|source| TokenError::Write { path, source })
    }

    /// The variables that hold tokens, and the address of the interface they are for.
    pub(super) fn token_variables(&self, owner: &AllocRunner, task: &Task) -> Vec<(String, String)> {
        let of = |i: &WorkloadIdentity| {
            let jwt = owner.identities.jwt(&owner.request(task, i))?;
            Some((identity::variable(i), jwt.expose().to_string()))
        };
        let mut out: Vec<_> = identity::wanted(task).filter(|i| i.env).filter_map(of).collect();
        if !out.is_empty() {
            let [_, _, secrets] = owner.dirs.seen_by(&task.name, self.isolation());
            let socket = secrets.join("api.sock");
            out.push(("NOMAD_UNIX_ADDR".into(), format!("unix://{}", socket.display())));
        }
        out
    }

    /// Tells the task about a new token in the way it wants (`change_mode`).
    async fn token_renewed(&self, i: &WorkloadIdentity) {
        let Some(handle) = self.handle() else { return };
        let done = match i.change_mode.as_str() {
            "restart" => {
                let reason = format!("Identity[{}]: new token acquired", identity::name(i));
                self.restart(&handle, &reason).await
            }
            "signal" => {
                let reason = format!("Identity[{}]: new Identity token acquired", identity::name(i));
                self.emit(events::signaling_because(&i.change_signal, &reason));
                handle.signal(&i.change_signal).await
            }
            _ => Ok(()),
        };
        if let Err(error) = done {
            tracing::error!(target: "client.alloc_runner.task_runner", task = self.name, %error, "failed to tell the task of a new token");
        }
    }
}
