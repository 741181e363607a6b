//! The launches of all periodic jobs of a cluster in a period. The scheduler places each one on the state as of then, and
//! allocations end when their run time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::child::{child, is_active, is_child};
use super::cluster::{Cluster, Step, Unplaced};
use super::forecast::Overlap;
use super::load::{Demand, Hour, Hours};
use super::run_time::{Basis, RunTime, Runs, began};
use super::schedule::{Repeat, Schedule};
use encamp_model::cron::PeriodicError;
use encamp_model::{Allocation, Job};
use encamp_state::{Id, State};

/// More launches are not simulated.
const MOST_LAUNCHES: usize = 20_000;

/// Namespace and ID of a job.
type JobKey = (String, String);

/// The period of a calendar, and how long runs take. Times are Unix nanoseconds, durations nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Period {
    /// Launches after this time.
    pub from: i64,
    /// Launches until this time.
    pub until: i64,
    /// Run times that are given, by namespace and ID of the job.
    pub given: BTreeMap<(String, String), i64>,
    /// The run time of jobs of which nothing is known.
    pub assumed: i64,
}

/// What becomes of a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// All its allocations are placed at once.
    Fits,
    /// Allocations cannot be placed at first.
    Unplaced {
        /// Which, and why.
        groups: Vec<Unplaced>,
        /// When all of them are placed, Unix nanoseconds; `None`: not within the period.
        placed_at: Option<i64>,
    },
    /// An earlier run goes on, and the job prohibits overlap.
    Skipped(Overlap),
}

/// A launch of a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Launched {
    /// When, Unix nanoseconds.
    pub at: i64,
    /// The periodic job.
    pub job: Arc<Job>,
    /// ID of the job that it registers.
    pub child: String,
    /// Which of two equal local times of the job's zone it has.
    pub repeat: Option<Repeat>,
    /// What it wants.
    pub demand: Demand,
    /// How many allocations of other jobs it preempts.
    pub preempted: usize,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// A periodic job and how long its runs are expected to take.
#[derive(Debug, Clone)]
pub struct PeriodicJob {
    /// The job.
    pub job: Arc<Job>,
    /// The run time of its children.
    pub run_time: RunTime,
}

/// A job whose launches are not known, and why.
#[derive(Debug, Clone)]
pub struct Unknown {
    /// The job.
    pub job: Arc<Job>,
    /// What is invalid.
    pub error: PeriodicError,
}

/// The launches of a period.
#[derive(Debug, Clone, Default)]
pub struct Calendar {
    /// The jobs that are launched periodically.
    pub jobs: Vec<PeriodicJob>,
    /// Those whose schedule is invalid.
    pub unknown: Vec<Unknown>,
    /// The launches in order of time.
    pub launches: Vec<Launched>,
    /// What is launched in each hour.
    pub hours: Vec<Hour>,
    /// The end of what was simulated, Unix nanoseconds: that of the period, or an earlier one if there are too many
    /// launches.
    pub until: i64,
    /// What the simulation could not do.
    pub notes: Vec<String>,
}

impl Calendar {
    /// The launches of which allocations cannot be placed at first.
    pub fn misfits(&self) -> impl Iterator<Item = &Launched> {
        self.launches.iter().filter(|l| matches!(l.outcome, Outcome::Unplaced { .. }))
    }
}

/// A periodic job in a simulation.
struct Tracked {
    job: Arc<Job>,
    schedule: Schedule,
    run_time: RunTime,
    prohibits_overlap: bool,
}

/// A child that is unfinished.
struct Open {
    /// The job that launched or dispatched it.
    parent: JobKey,
    /// Its place among the launches; `None`: it was launched before.
    launch: Option<usize>,
    /// How long its allocations run; `None`: no end is foreseen.
    run_time: Option<RunTime>,
    /// When the last of its allocations ends, Unix nanoseconds.
    until: Option<i64>,
}

/// The launches of a period, on a state.
pub fn calendar(state: &State, period: &Period) -> Calendar {
    let mut run = Simulation::new(state, period);
    run.go(period.until);
    run.finish(period.until)
}

struct Simulation {
    cluster: Cluster,
    tracked: BTreeMap<JobKey, Tracked>,
    /// The next launch of each job.
    due: BTreeSet<(i64, JobKey)>,
    open: BTreeMap<JobKey, Open>,
    /// Unfinished children by parent.
    children: BTreeMap<JobKey, BTreeSet<JobKey>>,
    /// The ends of allocations, and their jobs.
    ends: BTreeMap<(i64, Id), JobKey>,
    hours: Hours,
    out: Calendar,
}

impl Simulation {
    fn new(state: &State, period: &Period) -> Simulation {
        let cluster = Cluster::new(state, period.from);
        let hours = Hours::new(period.from, cluster.room());
        let mut s = Simulation {
            cluster,
            tracked: BTreeMap::new(),
            due: BTreeSet::new(),
            open: BTreeMap::new(),
            children: BTreeMap::new(),
            ends: BTreeMap::new(),
            hours,
            out: Calendar::default(),
        };
        let runs = Runs::by_parent(state);
        for job in state.jobs().map(|e| &e.current).filter(|j| is_active(j)) {
            s.track(job, &runs, period);
        }
        for child in s.cluster.unfinished() {
            s.resume(&child, &runs, period.from);
        }
        s
    }

    /// Follows the schedule of a job from now on.
    fn track(&mut self, job: &Arc<Job>, runs: &BTreeMap<JobKey, Runs>, period: &Period) {
        let key = (job.namespace.clone(), job.id.clone());
        let Some(config) = &job.periodic else { return };
        let schedule = match Schedule::new(config) {
            Ok(schedule) => schedule,
            Err(error) => return self.out.unknown.push(Unknown { job: job.clone(), error }),
        };
        let past = runs.get(&key).and_then(Runs::past);
        let given = period.given.get(&key).copied();
        let assumed = RunTime { nanos: period.assumed, basis: Basis::Assumed };
        let run_time = RunTime::of(job, given, past, None).unwrap_or(assumed);
        self.out.jobs.push(PeriodicJob { job: job.clone(), run_time });
        self.due.extend(schedule.next(period.from).map(|at| (at, key.clone())));
        let prohibits_overlap = config.prohibit_overlap;
        self.tracked.insert(key, Tracked { job: job.clone(), schedule, run_time, prohibits_overlap });
    }

    /// Follows a child that was launched or dispatched before.
    fn resume(&mut self, child: &Job, runs: &BTreeMap<JobKey, Runs>, now: i64) {
        let key = (child.namespace.clone(), child.id.clone());
        let parent = (child.namespace.clone(), child.parent_id.clone());
        let launched = self.tracked.get(&parent).filter(|_| is_child(child, &parent.1)).map(|t| t.run_time);
        let past = || RunTime::of(child, None, runs.get(&parent).and_then(Runs::past), None);
        let run_time = launched.or_else(past);
        self.adopt(&key, Open { parent, launch: None, run_time, until: None });
        let live = self.cluster.live(&key);
        self.foresee(&key, &live, |time, alloc| time.end(began(alloc), now));
    }

    /// Keeps a child in mind until it is finished.
    fn adopt(&mut self, key: &JobKey, child: Open) {
        self.children.entry(child.parent.clone()).or_default().insert(key.clone());
        self.open.insert(key.clone(), child);
    }

    /// Foresees when allocations of a child end.
    fn foresee(&mut self, key: &JobKey, allocs: &[Arc<Allocation>], end: impl Fn(RunTime, &Allocation) -> Option<i64>) {
        let Some(child) = self.open.get_mut(key) else { return };
        for alloc in allocs {
            let Some(at) = child.run_time.and_then(|time| end(time, alloc)) else { continue };
            child.until = child.until.max(Some(at));
            self.ends.insert((at, Id::new(&alloc.id)), key.clone());
        }
    }

    fn go(&mut self, until: i64) {
        self.out.until = until;
        loop {
            let end = self.ends.first_key_value().map(|((at, _), _)| *at).filter(|at| *at <= until);
            let launch = self.due.first().map(|(at, _)| *at).filter(|at| *at <= until);
            match (end, launch) {
                (None, None) => return,
                // What ends makes room for what begins at the same time.
                (Some(end), launch) if launch.is_none_or(|launch| end <= launch) => self.end(end),
                (_, Some(launch)) if self.out.launches.len() >= MOST_LAUNCHES => {
                    self.out.until = launch;
                    self.out.notes.push(format!("The calendar ends after {MOST_LAUNCHES} launches"));
                    return;
                }
                (_, _) => self.launch(),
            }
        }
    }

    /// Ends the allocations whose time is over.
    fn end(&mut self, now: i64) {
        self.hours.advance(now);
        let mut ids = Vec::new();
        let mut keys = BTreeSet::new();
        while let Some(first) = self.ends.first_entry().filter(|e| e.key().0 <= now) {
            let ((_, id), key) = first.remove_entry();
            ids.push(id);
            keys.insert(key);
        }
        let step = self.cluster.end(&ids, now);
        self.placed(&step, now);
        keys.iter().for_each(|key| self.close(key));
        self.hours.see(self.cluster.room());
    }

    /// Forgets a child that is finished.
    fn close(&mut self, key: &JobKey) {
        if self.cluster.is_unfinished(key) {
            return;
        }
        let Some(child) = self.open.remove(key) else { return };
        if let Some(others) = self.children.get_mut(&child.parent) {
            others.remove(key);
        }
        if child.launch.is_some() {
            self.cluster.forget(key);
        }
    }

    /// Notes the ends of new allocations, and the launches that are complete now.
    fn placed(&mut self, step: &Step, now: i64) {
        for (key, allocs) in &step.placed {
            self.foresee(key, allocs, |time, _| Some(now.saturating_add(time.nanos)));
            let complete = self.cluster.unplaced(key).is_empty();
            let launch = self.open.get(key).and_then(|child| child.launch);
            if let Some(Outcome::Unplaced { placed_at, .. }) =
                launch.filter(|_| complete).and_then(|i| self.out.launches.get_mut(i)).map(|l| &mut l.outcome)
            {
                *placed_at = Some(now);
            }
        }
    }

    /// Makes the next launch that is due.
    fn launch(&mut self) {
        let Some((at, key)) = self.due.pop_first() else { return };
        let Some(tracked) = self.tracked.get(&key) else { return };
        self.due.extend(tracked.schedule.next(at).map(|next| (next, key.clone())));
        self.hours.advance(at);
        let (job, run_time, repeat) = (tracked.job.clone(), tracked.run_time, tracked.schedule.repeat(at));
        let in_the_way = tracked.prohibits_overlap.then(|| self.unfinished_child(&key)).flatten();
        let child = child(&job, at, at);
        let mut launched = Launched {
            at,
            job,
            child: child.id.clone(),
            repeat,
            demand: Demand::default(),
            preempted: 0,
            outcome: Outcome::Fits,
        };
        if let Some(overlap) = in_the_way {
            launched.outcome = Outcome::Skipped(overlap);
            self.count(|hour| hour.skipped += 1);
            return self.out.launches.push(launched);
        }
        let child_key = (child.namespace.clone(), child.id.clone());
        self.adopt(
            &child_key,
            Open { parent: key, launch: Some(self.out.launches.len()), run_time: Some(run_time), until: None },
        );
        let step = self.cluster.launch(child, at);
        let groups = self.cluster.unplaced(&child_key);
        launched.demand = self.cluster.demand(&child_key);
        launched.preempted = step.preempted;
        let unplaced: i64 = groups.iter().map(|g| g.count).fold(0, i64::saturating_add);
        self.count(|hour| {
            hour.launches += 1;
            hour.demand.add(launched.demand);
            hour.unplaced = hour.unplaced.saturating_add(unplaced);
        });
        if !groups.is_empty() {
            launched.outcome = Outcome::Unplaced { groups, placed_at: None };
        }
        self.out.launches.push(launched);
        self.placed(&step, at);
        self.hours.see(self.cluster.room());
        self.close(&child_key);
    }

    fn count(&mut self, add: impl FnOnce(&mut Hour)) {
        if let Some(hour) = self.hours.present() {
            add(hour);
        }
    }

    /// The run of a job that is in the way of another one.
    fn unfinished_child(&self, parent: &JobKey) -> Option<Overlap> {
        let mut children = self.children.get(parent)?.iter().filter_map(|key| Some((key, self.open.get(key)?)));
        children.find(|(key, _)| is_launched_by(key, parent)).map(|(key, child)| {
            let waits = !self.cluster.unplaced(key).is_empty();
            Overlap { child: key.1.clone(), until: child.until.filter(|_| !waits) }
        })
    }

    fn finish(self, until: i64) -> Calendar {
        let Simulation { cluster, hours, mut out, .. } = self;
        out.hours = hours.finish(until.min(out.until));
        out.notes.extend(cluster.into_notes());
        out
    }
}

/// Whether a child was launched, and not dispatched, by a job.
fn is_launched_by(child: &JobKey, parent: &JobKey) -> bool {
    super::child::launch_time(&child.1).is_some() && child.0 == parent.0
}
