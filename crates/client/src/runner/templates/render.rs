//! The hook `template` of the task runner (`docs/spec/client.md §19.1`): renders the templates of a task before it
//! starts, watches what they depend on, and informs the task of changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::super::alloc::AllocRunner;
use super::super::setup::NotStarted;
use super::super::task::TaskRunner;
use super::reader::{News, Reader};
use super::task_state::{Progress, Running};
use crate::events;
use crate::policy::restart::Ending;
use crate::templates::TemplateError;
use crate::templates::cache::Known;
use crate::templates::place::Place;
use crate::templates::plan::{Planned, plan};
use encamp_model::TaskEventType;
use encamp_template::Dependency;

/// The shortest time between two events about missing dependencies.
pub(super) const MISSING_PAUSE: Duration = Duration::from_secs(3);
/// How many missing dependencies an event names.
const MISSING_NAMED: usize = 3;
/// The most answers in the queue.
const NEWS: usize = 64;

impl TaskRunner {
    /// Renders the templates, and waits until all have been. Those that are watched already are only rendered again if
    /// the restart policy says so. A kill of the task, and the end of the agent, end the wait.
    pub(in crate::runner) async fn render_templates(&self, owner: &Arc<AllocRunner>) -> Result<(), NotStarted> {
        if self.task().templates.is_empty() {
            return Ok(());
        }
        if self.renders_again(owner) {
            self.templates.stop();
        }
        let begin = Instant::now();
        let Some(mut progress) = self.start_templates(owner, false) else { return Err(NotStarted::Killed) };
        let failed = tokio::select! {
            biased;
            () = self.killed() => {
                self.templates.stop();
                return Err(NotStarted::Killed);
            }
            () = self.going() => return Err(NotStarted::Shutdown),
            done = progress.wait_for(|p| *p != Progress::Rendering) => match done.as_deref() {
                Ok(Progress::Failed(error)) => Some(error.clone()),
                Ok(_) => None,
                // The work ends with the agent alone.
                Err(_) => return Err(NotStarted::Shutdown),
            },
        };
        self.shared.hook("task_hook.prestart", "template", &owner.alloc(), begin, failed.is_none());
        let Some(error) = failed else { return Ok(()) };
        self.templates.stop();
        self.fail_by_template(&format!("Template failed: {error}"));
        // Whatever the restart policy says.
        self.inner.lock().tracker.set_killed();
        Err(NotStarted::Failed(Ending::NotStarted { recoverable: false }))
    }

    fn renders_again(&self, owner: &AllocRunner) -> bool {
        let alloc = owner.alloc();
        let policy = alloc.group().and_then(|g| g.restart_policy.as_ref());
        policy.is_some_and(|p| p.render_templates)
    }

    /// Watches the templates of a task that runs already.
    pub(in crate::runner) fn resume_templates(&self) {
        if let Some(owner) = self.owner.upgrade()
            && !self.task().templates.is_empty()
        {
            self.start_templates(&owner, true);
        }
    }

    fn start_templates(&self, owner: &Arc<AllocRunner>, resumed: bool) -> Option<watch::Receiver<Progress>> {
        let runner = owner.task(&self.name)?.clone();
        let mut running = self.templates.running.lock();
        if let Some(running) = running.as_ref() {
            return Some(running.progress.clone());
        }
        let (sender, progress) = watch::channel(Progress::Rendering);
        let mut work = JoinSet::new();
        work.spawn(Work::run(runner, owner.clone(), sender, resumed));
        *running = Some(Running { progress: progress.clone(), _work: work });
        Some(progress)
    }

    /// The task fails because of its templates.
    pub(super) fn fail_by_template(&self, reason: &str) {
        self.begin_kill(events::killing_failed(reason));
    }
}

/// The work on the templates of a task.
pub(super) struct Work {
    pub runner: Arc<TaskRunner>,
    owner: Arc<AllocRunner>,
    place: Place,
    pub plan: Vec<Planned>,
    known: Known,
    readers: JoinSet<()>,
    followed: BTreeMap<Dependency, AbortHandle>,
    sender: mpsc::Sender<News>,
    news: mpsc::Receiver<News>,
    /// The task ran before: it does not fail because nobody answers.
    resumed: bool,
    /// The text and the time of the last event about missing dependencies.
    reported: Option<(String, Instant)>,
}

impl Work {
    /// Renders, and then watches until the agent goes. `resumed`: the task runs already.
    async fn run(runner: Arc<TaskRunner>, owner: Arc<AllocRunner>, progress: watch::Sender<Progress>, resumed: bool) {
        let going = runner.clone();
        tokio::select! {
            () = Work::steps(runner, owner, progress, resumed) => {}
            () = going.going() => {}
        }
    }

    async fn steps(runner: Arc<TaskRunner>, owner: Arc<AllocRunner>, progress: watch::Sender<Progress>, resumed: bool) {
        let done = async {
            let mut work = Work::new(runner.clone(), owner, resumed)?;
            let changed = work.render_all().await?;
            progress.send_replace(Progress::Rendered);
            if resumed {
                work.tell(&changed).await;
            } else {
                work.run_first_scripts().await;
            }
            work.watch().await
        };
        let done: Result<(), TemplateError> = done.await;
        if let Err(error) = done {
            let rendered = *progress.borrow() == Progress::Rendered;
            progress.send_replace(Progress::Failed(error.to_string()));
            // Before the task has started, its launch tells.
            if rendered || resumed {
                runner.fail_by_template(&format!("Template failed: {error}"));
            }
        }
        // What was rendered stays so, for the next start of the task.
        std::future::pending().await
    }

    fn new(runner: Arc<TaskRunner>, owner: Arc<AllocRunner>, resumed: bool) -> Result<Work, TemplateError> {
        let task = runner.task();
        let config = &runner.shared.config.template;
        let place = Place {
            dirs: owner.dirs.clone(),
            task: runner.name.clone(),
            isolated: runner.driver_isolates(),
            free: config.disable_file_sandbox,
        };
        let env = runner.env_without_templates(&owner, &task);
        let mut plan = plan(&task.templates, &place, &env, config)?;
        if resumed {
            plan.iter_mut().for_each(|t| t.recall(&place));
        }
        let known = Known { env: Arc::new(env.variables()), ..Known::default() };
        let (sender, news) = mpsc::channel(NEWS);
        Ok(Work {
            runner,
            owner,
            place,
            plan,
            known,
            readers: JoinSet::new(),
            followed: BTreeMap::new(),
            sender,
            news,
            resumed,
            reported: None,
        })
    }

    /// Renders all templates once; gives those whose file changed.
    async fn render_all(&mut self) -> Result<BTreeSet<usize>, TemplateError> {
        let mut waiting: BTreeSet<usize> = (0..self.plan.len()).collect();
        let mut changed = BTreeSet::new();
        loop {
            for n in 0..self.plan.len() {
                // What has changed since it was rendered is rendered again: the task is not to start with old files.
                let due = self.plan.get_mut(n).is_some_and(|t| std::mem::take(&mut t.due).at().is_some());
                if !due && !waiting.contains(&n) {
                    continue;
                }
                let (done, new) = self.render(n).await?;
                if done {
                    waiting.remove(&n);
                }
                if new {
                    changed.insert(n);
                }
            }
            self.follow();
            if waiting.is_empty() {
                self.forget_once();
                self.publish();
                return Ok(changed);
            }
            let pause = self.report_missing();
            tokio::select! {
                news = self.news.recv() => self.note(news)?,
                () = tokio::time::sleep(pause) => {}
            }
            while let Ok(news) = self.news.try_recv() {
                self.note(Some(news))?;
            }
        }
    }

    /// Renders a template: whether it has all it needs, and whether its file changed.
    async fn render(&mut self, n: usize) -> Result<(bool, bool), TemplateError> {
        let Some(template) = self.plan.get_mut(n) else { return Ok((true, false)) };
        let rendered = template.render(&self.known).await?;
        let done = rendered.text.is_some();
        match template.take(rendered) {
            Some(text) => {
                template.write(&self.place, text)?;
                Ok((true, true))
            }
            None => Ok((done, false)),
        }
    }

    /// Takes over an answer; the templates that depend on it are due after their wait.
    fn note(&mut self, news: Option<News>) -> Result<(), TemplateError> {
        let Some(News { dependency, answer }) = news else { return Ok(()) };
        let answer = answer.map_err(|reason| TemplateError::NoAnswer { dependency: dependency.to_string(), reason })?;
        let now = Instant::now();
        for template in self.plan.iter_mut().filter(|t| t.dependencies.contains(&dependency)) {
            template.due.changed(template.wait, now);
        }
        self.known.answers.insert(dependency, answer);
        Ok(())
    }

    /// Reads what the templates depend on, and no more.
    fn follow(&mut self) {
        let wanted: BTreeSet<&Dependency> = self.plan.iter().flat_map(|t| &t.dependencies).collect();
        let known = &mut self.known.answers;
        self.followed.retain(|dependency, reader| {
            let kept = wanted.contains(dependency);
            if !kept {
                reader.abort();
                known.remove(dependency);
            }
            kept
        });
        for dependency in wanted {
            if !self.followed.contains_key(dependency) {
                let reader = Reader {
                    runner: self.runner.clone(),
                    owner: self.owner.clone(),
                    place: self.place.clone(),
                    dependency: dependency.clone(),
                    news: self.sender.clone(),
                    patient: self.resumed,
                };
                self.followed.insert(dependency.clone(), self.readers.spawn(reader.read_forever()));
            }
        }
        while self.readers.try_join_next().is_some() {}
    }

    /// What only templates depend on that are rendered once is read no more.
    fn forget_once(&mut self) {
        for template in self.plan.iter_mut().filter(|t| t.block.once) {
            template.dependencies.clear();
        }
        self.follow();
    }

    /// Publishes the environment that the templates make.
    fn publish(&self) {
        let all = self.plan.iter().flat_map(Planned::variables).collect();
        *self.runner.templates.env.lock() = all;
    }

    /// Reports what is missing, unless it just did; gives how long to wait until the next time.
    fn report_missing(&mut self) -> Duration {
        let missing: BTreeSet<&Dependency> = self.plan.iter().flat_map(|t| &t.missing).collect();
        // What has not been answered yet need not be missing.
        let answered = missing.iter().all(|d| self.known.answers.contains_key(*d));
        let now = Instant::now();
        let Some((last, at)) = self.reported.as_ref() else {
            if missing.is_empty() || !answered {
                // Servers that do not answer: that is reported, too, after a while.
                self.reported = Some((String::new(), now));
                return MISSING_PAUSE;
            }
            let text = missing_text(&missing);
            self.runner.emit(events::message(TaskEventType::Template, text.as_str()));
            self.reported = Some((text, now));
            return MISSING_PAUSE;
        };
        let early = last.is_empty() && answered;
        let left = MISSING_PAUSE.saturating_sub(now.duration_since(*at));
        if missing.is_empty() || (!left.is_zero() && !early) {
            return if left.is_zero() { MISSING_PAUSE } else { left };
        }
        let text = missing_text(&missing);
        if text != *last {
            self.runner.emit(events::message(TaskEventType::Template, text.as_str()));
        }
        self.reported = Some((text, now));
        MISSING_PAUSE
    }

    /// Renders what is due, and tells the task, until the agent goes.
    async fn watch(&mut self) -> Result<(), TemplateError> {
        loop {
            let due = self.plan.iter().filter_map(|t| t.due.at()).min();
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                news = self.news.recv() => {
                    self.note(news)?;
                    continue;
                }
                () = timer => {}
            }
            let (now, mut changed) = (Instant::now(), BTreeSet::new());
            for n in 0..self.plan.len() {
                let due = self.plan.get_mut(n).is_some_and(|t| t.due.take(now));
                if due && self.render(n).await?.1 {
                    changed.insert(n);
                }
            }
            self.follow();
            if !changed.is_empty() {
                self.publish();
                self.tell(&changed).await;
            }
        }
    }
}

/// `Missing: a, b, c, and 4 more`.
pub(super) fn missing_text(missing: &BTreeSet<&Dependency>) -> String {
    let mut names: Vec<String> = missing.iter().map(ToString::to_string).collect();
    names.sort();
    let more = names.len().saturating_sub(MISSING_NAMED);
    names.truncate(MISSING_NAMED);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("Missing: {}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_dependencies_are_named() {
        let all: Vec<Dependency> = ["d", "b", "a", "c"].map(|n| Dependency::File(n.into())).into();
        assert_eq!(missing_text(&all.iter().take(1).collect()), "Missing: file(d)");
        assert_eq!(missing_text(&all.iter().collect()), "Missing: file(a), file(b), file(c), and 1 more");
    }
}
