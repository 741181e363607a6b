//! Tells a task that its templates have changed (`change_mode`).

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;

use super::super::task::TaskRunner;
use super::render::Work;
use crate::drivers::{ExecError, ExecOutput, ExecRequest};
use crate::events;
use crate::policy::backoff::below;
use encamp_model::{ChangeScript, TaskEventType, duration};

/// How long a script may take that does not say it.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a script did not succeed.
#[derive(Debug, thiserror::Error)]
enum ScriptError {
    #[error("the task is not running")]
    NotRunning,
    #[error(transparent)]
    NotStarted(#[from] ExecError),
    #[error("it did not end within its timeout")]
    Timeout,
    #[error("its exit code is not known")]
    Lost,
}

impl Work {
    /// Tells the task about changed templates, by the change modes of these.
    pub(super) async fn tell(&self, changed: &BTreeSet<usize>) {
        let changed: Vec<_> = changed.iter().filter_map(|n| self.plan.get(*n)).collect();
        let Some(most) = changed.iter().map(|t| t.splay()).max() else { return };
        let most = i64::try_from(most.as_nanos()).unwrap_or(i64::MAX);
        tokio::time::sleep(duration::of_nanos(self.runner.shared.draw(|r| below(most, r)))).await;
        let runner = &self.runner;
        if changed.iter().any(|t| t.block.change_mode == "restart") {
            if let Some(handle) = runner.handle() {
                let restarted = runner.restart(&handle, "Template with change_mode restart re-rendered").await;
                if let Err(error) = restarted {
                    tracing::error!(target: "client.alloc_runner.task_runner.template", task = runner.name, %error, "failed to restart a task whose templates changed");
                }
            }
            return;
        }
        let mode = |mode: &'static str| changed.iter().filter(move |t| t.block.change_mode == mode);
        let signals: BTreeSet<&str> = mode("signal").map(|t| t.block.change_signal.as_str()).collect();
        let mut errors = Vec::new();
        for signal in &signals {
            let Some(handle) = runner.handle() else {
                let text = format!("Template skipped signal {signal}: task is not running");
                runner.emit(events::message(TaskEventType::HookMessage, text));
                continue;
            };
            runner.emit(events::signaling_because(signal, "Template re-rendered"));
            errors.extend(handle.signal(signal).await.err().map(|e| format!("{signal}: {e}")));
        }
        if !errors.is_empty() {
            let names: Vec<&str> = signals.into_iter().collect();
            let text = format!("Template failed to send signals [{}]: {}", names.join(" "), errors.join("; "));
            runner.fail_by_template(&text);
            return;
        }
        let scripts: Vec<_> = mode("script").filter_map(|t| t.block.change_script.as_ref()).collect();
        self.run_scripts(&scripts).await;
    }

    /// Runs the scripts that want to know of the first rendering, once the task runs.
    pub(super) async fn run_first_scripts(&self) {
        let scripts: Vec<_> = self
            .plan
            .iter()
            .filter(|t| t.block.change_mode == "script")
            .filter_map(|t| t.block.change_script.as_ref().filter(|s| s.run_on_first_render))
            .collect();
        if scripts.is_empty() {
            return;
        }
        let mut changes = self.runner.changed.subscribe();
        while self.runner.handle().is_none() {
            if changes.changed().await.is_err() {
                return;
            }
        }
        self.run_scripts(&scripts).await;
    }

    /// Runs scripts at the same time.
    async fn run_scripts(&self, scripts: &[&ChangeScript]) {
        let mut runs = Vec::new();
        for script in scripts {
            runs.push(run_script(&self.runner, script));
        }
        let done = join_all(runs).await;
        if scripts.iter().zip(done).any(|(script, succeeded)| script.fail_on_error && !succeeded) {
            self.runner.fail_by_template("Template script failed, task is being killed");
        }
    }
}

/// Runs a script beside the task, and tells how it ended.
async fn run_script(runner: &TaskRunner, script: &ChangeScript) -> bool {
    let shown = script.args.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ");
    let command = &script.command;
    let (kind, text, succeeded) = match exit_code(runner, script).await {
        Ok(0) => {
            let text = format!("Template successfully ran script {command} with arguments: [{shown}]. Exit code: 0");
            (TaskEventType::HookMessage, text, true)
        }
        Ok(code) => {
            let text = format!(
                "Template ran script {command} with arguments [{shown}] on change but it exited with code: {code}"
            );
            (TaskEventType::HookFailed, text, false)
        }
        Err(error) => {
            let text = format!("Template failed to run script {command} with arguments [{shown}] on change: {error}");
            (TaskEventType::HookFailed, text, false)
        }
    };
    runner.emit(events::message(kind, text));
    succeeded
}

async fn exit_code(runner: &TaskRunner, script: &ChangeScript) -> Result<i64, ScriptError> {
    let handle = runner.handle().ok_or(ScriptError::NotRunning)?;
    let words = std::iter::once(&script.command).chain(script.args.iter().flatten());
    let request = ExecRequest { command: runner.filled(words), env: runner.variables(), tty: false };
    let timeout = if script.timeout > 0 { duration::of_nanos(script.timeout) } else { SCRIPT_TIMEOUT };
    let run = async {
        let mut session = handle.exec(request).await?;
        while let Some(output) = session.output.recv().await {
            if let ExecOutput::Exited { code, .. } = output {
                return Ok(code);
            }
        }
        Err(ScriptError::Lost)
    };
    tokio::time::timeout(timeout, run).await.map_err(|_| ScriptError::Timeout)?
}
