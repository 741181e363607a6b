//! The workers of a server: their number, the schedulers they run, and which of them are paused.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::leading::Leading;
use crate::pipeline::worker::Worker;
use crate::settings::Settings;
use encamp_model::JobType;

/// Why the workers were not changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// There would be more workers than processors.
    #[error("number of schedulers should be between 0 and {most}")]
    Count {
        /// The number of processors.
        most: usize,
    },
    /// There is no such scheduler.
    #[error("unknown scheduler {0:?} in enabled schedulers")]
    UnknownScheduler(JobType),
    /// A thread could not be started.
    #[error(transparent)]
    Threads(#[from] io::Error),
}

/// The running workers.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    workers: Mutex<Vec<Arc<Worker>>>,
    /// The worker for core evaluations.
    core_worker: Mutex<Option<Arc<Worker>>>,
}

impl Workers {
    /// The workers, without the one for core evaluations.
    pub(crate) fn list(&self) -> Vec<Arc<Worker>> {
        self.workers.lock().clone()
    }

    /// Replaces all workers according to the settings; the old ones finish their current evaluations.
    pub(crate) fn replace(&self, server: &Leading) -> io::Result<()> {
        let settings = server.settings();
        let count = if settings.enabled_schedulers.is_empty() { 0 } else { settings.num_schedulers };
        if count == 0 {
            tracing::warn!(target: "nomad", "no enabled schedulers");
        }
        let new: io::Result<Vec<_>> =
            (0..count).map(|_| Worker::start(server.clone(), settings.enabled_schedulers.clone())).collect();
        let collects = count > 0 && settings.enabled_schedulers.contains(&JobType::Core);
        let core = collects.then(|| Worker::start_core(server.clone())).transpose();
        let mut workers = self.workers.lock();
        workers.iter().for_each(|w| w.stop());
        *workers = new?;
        drop(workers);
        let mut core_worker = self.core_worker.lock();
        core_worker.iter().for_each(|w| w.stop());
        *core_worker = core?;
        drop(core_worker);
        self.pause(server.is_ready());
        Ok(())
    }

    /// Changes the number of workers or the schedulers they run. Returns whether this was a change.
    ///
    /// # Errors
    /// A number or name is invalid, or threads cannot be started.
    pub(crate) fn change(
        &self,
        server: &Leading,
        count: usize,
        schedulers: Vec<JobType>,
    ) -> Result<bool, WorkersError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if count > cores {
            return Err(WorkersError::Count { most: cores });
        }
        if let Some(unknown) = schedulers.iter().find(|s| !s.is_known()) {
            return Err(WorkersError::UnknownScheduler(unknown.clone()));
        }
        let sorted = |list: &[JobType]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list.dedup();
            list
        };
        let changed = server.change_settings(|settings| {
            let same = settings.num_schedulers == count && sorted(&settings.enabled_schedulers) == sorted(&schedulers);
            let new =
                || Settings { num_schedulers: count, enabled_schedulers: schedulers, ..Settings::clone(settings) };
            (!same).then(new)
        });
        if changed {
            self.replace(server)?;
        }
        Ok(changed)
    }

    /// Pauses some workers to leave capacity for the leader's other duties (`docs/spec/server.md §2.2` step 2).
    pub(crate) fn pause(&self, leading: bool) {
        let workers = self.list();
        let paused = if leading && workers.len() > 1 { 3 * workers.len() / 4 } else { 0 };
        workers.iter().enumerate().for_each(|(i, w)| w.pause(i < paused));
    }

    /// Stops all workers.
    pub(crate) fn stop(&self) {
        self.list().iter().for_each(|w| w.stop());
        self.core_worker.lock().iter().for_each(|w| w.stop());
    }
}
