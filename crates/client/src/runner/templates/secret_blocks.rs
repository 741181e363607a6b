//! The hook `secrets` of the task runner (`docs/spec/client.md §19.4`): reads the `secret` blocks of a task before it
//! starts. Provider `nomad`: the items of a variable, read as templates read them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;

use super::super::alloc::AllocRunner;
use super::super::error::{FailedHook, HookError, SecretError};
use super::super::setup::NotStarted;
use super::super::task::TaskRunner;
use super::reader::{READ_PAUSE, READ_SLACK, TOKEN_WAIT};
use super::render::{MISSING_PAUSE, missing_text};
use crate::env::TaskEnv;
use crate::events;
use crate::policy::restart::Ending;
use crate::templates::reads::{self, Blocking};
use crate::templates::{NoAnswer, values};
use encamp_model::{Secret, Task, TaskEventType};
use encamp_template::Dependency;
use encamp_template::source::VariableName;

/// The built-in provider: variables of the cluster.
const NOMAD: &str = "nomad";
/// The only setting of its `config`.
const NAMESPACE: &str = "namespace";

impl TaskRunner {
    /// Reads the secrets of the task before its first start, and waits until all are there. A kill of the task, and the
    /// end of the agent, end the wait.
    pub(in crate::runner) async fn read_secrets(
        &self,
        owner: &Arc<AllocRunner>,
        task: &Task,
    ) -> Result<(), NotStarted> {
        if task.secrets.is_empty() || self.secrets.are_read() {
            return Ok(());
        }
        let begin = Instant::now();
        let read = tokio::select! {
            biased;
            () = self.killed() => return Err(NotStarted::Killed),
            () = self.going() => return Err(NotStarted::Shutdown),
            read = self.read_all(owner, task, false) => read,
        };
        self.shared.hook("task_hook.prestart", "secrets", &owner.alloc(), begin, read.is_ok());
        read.map_err(|error| {
            let failed = FailedHook { hook: "secrets", error: HookError::Secret(error) };
            self.emit(events::message(TaskEventType::HookFailed, failed.to_string()));
            NotStarted::Failed(Ending::NotStarted { recoverable: false })
        })
    }

    /// Reads the secrets of a task that runs already, in the background: commands beside it, and its next start, need
    /// them.
    pub(in crate::runner) fn resume_secrets(&self) {
        let Some(owner) = self.owner.upgrade() else { return };
        let Some(runner) = owner.task(&self.name).cloned().filter(|r| !r.task().secrets.is_empty()) else { return };
        tokio::spawn(async move {
            let task = runner.task();
            tokio::select! {
                () = runner.killed() => {}
                () = runner.going() => {}
                read = runner.read_all(&owner, &task, true) => {
                    if let Err(error) = read {
                        tracing::warn!(target: "client.alloc_runner.task_runner", task = runner.name, %error, "the secrets of the task were not read");
                    }
                }
            }
        });
    }

    /// Reads all secrets. `patient`: it asks without end.
    async fn read_all(&self, owner: &Arc<AllocRunner>, task: &Task, patient: bool) -> Result<(), SecretError> {
        let env = self.env_without_templates(owner, task);
        let wanted: Vec<(&Secret, VariableName)> = task
            .secrets
            .iter()
            .map(|secret| Ok((secret, variable(secret, &env)?)))
            .collect::<Result<_, SecretError>>()?;
        owner.template_token_ready(TOKEN_WAIT).await;
        let missing = Mutex::default();
        let mut reads: FuturesUnordered<_> =
            wanted.iter().map(|(secret, name)| self.read_secret(owner, secret, name, &missing, patient)).collect();
        let (mut names, mut reported) = (BTreeMap::new(), String::new());
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + READ_PAUSE * 5, MISSING_PAUSE);
        loop {
            tokio::select! {
                read = reads.next() => match read {
                    None => break,
                    Some(read) => names.extend(read?),
                },
                _ = ticks.tick() => {
                    let missing: BTreeSet<Dependency> = missing.lock().clone();
                    let text = missing_text(&missing.iter().collect());
                    if !missing.is_empty() && text != reported {
                        self.emit(events::message(TaskEventType::Template, text.as_str()));
                        reported = text;
                    }
                }
            }
        }
        *self.secrets.0.lock() = Some(names);
        Ok(())
    }

    /// Reads one secret as soon as its variable is there; gives its names and values.
    async fn read_secret(
        &self,
        owner: &AllocRunner,
        secret: &Secret,
        name: &VariableName,
        missing: &Mutex<BTreeSet<Dependency>>,
        patient: bool,
    ) -> Result<Vec<(String, String)>, SecretError> {
        let config = &self.shared.config.template;
        let dependency = Dependency::Variable(name.clone());
        let namespace = owner.alloc().namespace.clone();
        let mut blocking =
            Blocking { index: 0, wait: config.block_query_wait.as_millis(), stale: !config.max_stale.is_zero() };
        let mut failures = 0_u32;
        loop {
            match self.ask_for_variable(owner, &dependency, &namespace, blocking).await {
                Ok((_, Some(items))) => {
                    missing.lock().remove(&dependency);
                    let prefix = format!("secret.{}", secret.name);
                    return Ok(items.into_iter().map(|(key, value)| (format!("{prefix}.{key}"), value)).collect());
                }
                Ok((index, None)) => {
                    failures = 0;
                    missing.lock().insert(dependency.clone());
                    // An index that goes back is that of other servers.
                    let blocks = index > blocking.index;
                    blocking.index = if index < blocking.index { 0 } else { index };
                    tokio::time::sleep(if blocks { READ_PAUSE } else { Duration::from_secs(1) }).await;
                }
                Err(reason) => {
                    failures = failures.saturating_add(1);
                    blocking.index = 0;
                    if !patient && config.retry_attempts > 0 && failures >= config.retry_attempts {
                        return Err(SecretError::NoAnswer { secret: secret.name.clone(), reason });
                    }
                    let factor = 1_u32.checked_shl(failures.saturating_sub(1).min(16)).unwrap_or(u32::MAX);
                    let wait = config.retry_backoff.saturating_mul(factor).min(config.retry_max_backoff);
                    tokio::time::sleep(wait.max(READ_PAUSE)).await;
                }
            }
        }
    }

    /// The items of a variable, if it exists, and the index of the answer.
    async fn ask_for_variable(
        &self,
        owner: &AllocRunner,
        dependency: &Dependency,
        namespace: &str,
        blocking: Blocking,
    ) -> Result<(u64, Option<BTreeMap<String, String>>), NoAnswer> {
        let shared = &self.shared;
        let api = shared.services.api_reads.as_ref().ok_or(NoAnswer::NotServed)?;
        let path = reads::path(dependency, namespace, blocking).ok_or(NoAnswer::Form)?;
        let token = owner.template_token(&self.name);
        let most = shared.config.template.block_query_wait.saturating_add(READ_SLACK);
        let read = tokio::time::timeout(most, api.read(&path, &token)).await;
        let answer = read.map_err(|_| NoAnswer::Unreadable)??;
        Ok((answer.index, values::variable_items(&answer)?))
    }
}

/// The variable that a secret is read from.
fn variable(secret: &Secret, env: &TaskEnv) -> Result<VariableName, SecretError> {
    let name = || secret.name.clone();
    if secret.provider != NOMAD {
        return Err(SecretError::Provider { secret: name(), provider: secret.provider.clone() });
    }
    if let Some(setting) = secret.config.keys().find(|key| key.as_str() != NAMESPACE) {
        return Err(SecretError::Setting { secret: name(), setting: setting.clone() });
    }
    let namespace = match secret.config.get(NAMESPACE) {
        None => None,
        Some(value) => {
            let text = value.as_str().ok_or_else(|| SecretError::Namespace { secret: name() })?;
            Some(env.replace(text)).filter(|text| !text.is_empty())
        }
    };
    Ok(VariableName { path: env.replace(&secret.path), namespace })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(provider: &str, config: serde_json::Value) -> Secret {
        let block = json!({"Name": "db", "Provider": provider, "Path": "nomad/jobs/a", "Config": config});
        serde_json::from_value(block).unwrap()
    }

    #[test]
    fn only_variables_can_be_read() {
        let read = |provider: &str, config| variable(&secret(provider, config), &TaskEnv::default());
        let name = read("nomad", json!(null)).unwrap();
        assert_eq!((name.path.as_str(), name.namespace), ("nomad/jobs/a", None));
        assert_eq!(read("nomad", json!({"namespace": "prod"})).unwrap().namespace, Some("prod".into()));
        assert_eq!(read("nomad", json!({"namespace": ""})).unwrap().namespace, None);
        let wrong = |provider: &str, config| read(provider, config).unwrap_err().to_string();
        for provider in ["vault", "aws", ""] {
            let want = format!("secret \"db\": this agent has no provider {provider:?}; the only one is \"nomad\"");
            assert_eq!(wrong(provider, json!({})), want);
        }
        assert_eq!(wrong("nomad", json!({"namespace": 1})), "secret \"db\": config: namespace is no text");
        assert_eq!(wrong("nomad", json!({"engine": "kv"})), "secret \"db\": config: \"engine\" is not known");
    }
}
