//! Reconciles one task group (`docs/spec/reconciliation.md §5.3`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::set::Set;
use super::{NameIndex, Placement, Reconciler, Stop, UpdateCheck};
use crate::descriptions;
use encamp_model::*;

/// The work on one group. Sets hold positions in `allocs`.
pub(super) struct Group<'r, 'a> {
    pub r: &'r mut Reconciler<'a>,
    pub job: &'a Job,
    pub tg: &'a TaskGroup,
    pub name: Arc<str>,
    /// The group's count.
    pub count: usize,
    /// By ID.
    pub allocs: Vec<Arc<Allocation>>,
    pub d: DesiredUpdates,
    /// The group's part of the current deployment, or a fresh one.
    pub state: DeploymentState,
    /// `state` is part of the current deployment.
    pub existing: bool,

    pub canaries: Set,
    pub untainted: Set,
    pub migrate: Set,
    pub lost: Set,
    pub disconnecting: Set,
    /// To be replaced in this plan.
    pub now: Set,
    /// To be replaced at a later time.
    pub later: Vec<(usize, i64)>,
    /// Allocations that become `unknown` in this plan.
    pub disconnected: BTreeMap<usize, Allocation>,
    /// Follow-up evaluations of lost and migrating allocations.
    pub follow_up_of: HashMap<usize, String>,
    /// A lost allocation waits for `stop_on_client_after`.
    pub lost_later: bool,
    pub names: NameIndex,
    /// New allocations of the group.
    pub place: Vec<Placement>,
}

impl<'a> Reconciler<'a> {
    /// Works on one group; true if its rollout is complete.
    pub(super) fn group(&mut self, job: &'a Job, name: &str, allocs: Vec<Arc<Allocation>>) -> bool {
        // Server-terminal allocations of batch jobs still tell what was done.
        let counts =
            |a: &Allocation| !a.server_terminal() || (a.of_batch_job() && !a.desired_transition.should_reschedule());
        let tg = job.lookup_group(name).map(|tg| (tg, usize::try_from(tg.count).unwrap_or(0)));
        let Some((tg, count)) = tg.filter(|(_, count)| *count > 0) else {
            let stop = self.stop_all(allocs.into_iter().filter(|a| counts(a)).collect());
            self.out.desired.insert(name.into(), DesiredUpdates { stop, ..Default::default() });
            return true;
        };
        let all: Set = (0..allocs.len()).filter(|i| counts(&allocs[*i])).collect();
        let state = self.current.as_ref().and_then(|d| d.task_groups.get(name)?.clone());
        let existing = state.is_some();
        let fresh = || {
            let u = tg.update.as_ref().filter(|u| !u.is_empty());
            u.map_or(DeploymentState::default(), |u| DeploymentState {
                auto_revert: u.auto_revert,
                auto_promote: u.auto_promote,
                progress_deadline: u.progress_deadline,
                ..Default::default()
            })
        };
        let group = Group {
            job,
            tg,
            name: name.into(),
            count,
            allocs,
            d: DesiredUpdates::default(),
            state: state.unwrap_or_else(fresh),
            existing,
            canaries: Set::default(),
            untainted: Set::default(),
            migrate: Set::default(),
            lost: Set::default(),
            disconnecting: Set::default(),
            now: Set::default(),
            later: Vec::new(),
            disconnected: BTreeMap::new(),
            follow_up_of: HashMap::new(),
            lost_later: false,
            names: NameIndex::new(&job.id, name, count, []),
            place: Vec::new(),
            r: self,
        };
        group.run(all)
    }
}

impl Group<'_, '_> {
    /// Sorts the allocations by what is to become of them.
    fn sort_into_classes(&mut self, all: &Set) {
        let classes = self.r.classify(&self.allocs, all);
        self.d.ignore += classes.ignore.len() as u64;
        let f = self.r.reschedule_filter(&self.allocs, &classes.untainted, false);
        (self.untainted, self.now, self.later) = (f.untainted, f.now, f.later);
        let f = self.r.reschedule_filter(&self.allocs, &classes.migrate, false);
        self.now.add_all(&f.now);
        self.later.extend(f.later);
        self.migrate = classes.migrate;
        self.lost = classes.lost;
        self.disconnecting = classes.disconnecting;
        self.reconnect(all, &classes.reconnecting);
        self.lost.add_all(&classes.expiring);
        self.disconnect();
        self.delay_lost();
        self.delay_reschedules();
    }

    /// Notes the names of allocations that count, so that new ones get others.
    fn take_names(&mut self) {
        let mut named = self.untainted.clone();
        named.add_all(&self.migrate);
        named.add_all(&self.now);
        named.add_all(&self.lost);
        let taken = named.iter().map(|i| self.allocs[i].index());
        self.names = NameIndex::new(&self.job.id, &self.name, self.count, taken);
    }

    fn run(mut self, mut all: Set) -> bool {
        if self.r.input.batch {
            let before = all.len();
            all.retain(|i| !(self.allocs[i].terminal() && self.allocs[i].older_than(self.job)));
            self.d.ignore += (before - all.len()) as u64;
        }
        self.settle_canaries(&mut all);
        // Whether the deployment of this version already placed something (`docs/spec/reconciliation.md §5.15`).
        let had = all.iter().any(|i| {
            let a = &self.allocs[i];
            a.job_version() == Some(self.job.version)
                && a.job.as_ref().is_none_or(|j| j.create_index == self.job.create_index)
        });

        self.sort_into_classes(&all);
        self.take_names();
        self.scale_down();
        let (in_place, destructive) = self.check_updates();
        if !self.existing {
            self.state.desired_total += (destructive.len() + in_place) as i64;
        }
        if self.canarying() {
            let canaries = std::mem::take(&mut self.canaries);
            self.untainted.remove_all(&canaries);
            self.canaries = canaries;
        }
        let need_canaries = self.add_canaries(&destructive);
        let canarying = self.canarying();
        let limit = self.limit(&destructive, canarying);
        let candidates = if self.lost_later { Vec::new() } else { self.candidates(canarying) };
        if !self.existing {
            self.state.desired_total += candidates.len() as i64;
        }
        let ready = !self.r.paused && !self.r.failed && !canarying;
        let limit = self.apply_candidates(candidates, ready, limit);
        self.destroy(&destructive, if ready { limit } else { 0 });
        self.migrate_all(canarying);
        self.create_deployment(had, !destructive.is_empty());
        if self.place.len() > self.count {
            self.place.truncate(self.count);
            self.d.place = self.count as u64;
        }
        let idle = destructive.is_empty()
            && in_place == 0
            && self.place.is_empty()
            && self.migrate.is_empty()
            && self.now.is_empty()
            && self.later.is_empty()
            && !need_canaries;
        let complete = idle && self.deployment_complete();
        self.deliver();
        complete
    }

    /// Whether canaries of the group wait for their promotion.
    fn canarying(&self) -> bool {
        self.state.desired_canaries != 0 && !self.state.promoted
    }

    /// Plans a stop. A migrating or lost allocation takes its follow-up evaluation along.
    pub(super) fn stop(&mut self, i: usize, description: &'static str, client_status: ClientStatus) {
        let followup_eval = self.follow_up_of.get(&i).cloned().unwrap_or_default();
        let alloc = self.allocs[i].clone();
        self.r.out.stop.push(Stop { alloc, description, client_status, followup_eval });
    }

    /// Stops canaries that are no longer needed, takes stopped ones out of `all` and finds the current ones.
    fn settle_canaries(&mut self, all: &mut Set) {
        let placed = |d: Option<&Deployment>, promoted_too: bool| -> HashSet<String> {
            let states = d.iter().flat_map(|d| d.task_groups.values().flatten());
            let wanted = states.filter(|s| promoted_too || !s.promoted);
            wanted.flat_map(|s| s.placed_canaries.iter().cloned()).collect()
        };
        let mut unneeded = placed(self.r.old.as_ref(), false);
        if self.r.failed {
            unneeded.extend(placed(self.r.current.as_ref(), false));
        }
        let ids = |group: &Self, all: &Set, ids: &HashSet<String>| -> Set {
            if ids.is_empty() {
                return Set::default();
            }
            all.iter().filter(|i| ids.contains(&*group.allocs[*i].id)).collect()
        };
        let unneeded = ids(self, all, &unneeded);
        for i in unneeded.iter() {
            self.stop(i, descriptions::NOT_NEEDED, ClientStatus::Unset);
        }
        self.d.stop += unneeded.len() as u64;
        all.remove_all(&unneeded);

        let current = placed(self.r.current.as_ref(), true);
        let canaries = ids(self, all, &current);
        let classes = self.r.classify(&self.allocs, &canaries);
        for i in classes.migrate.iter() {
            self.stop(i, descriptions::MIGRATING, ClientStatus::Unset);
        }
        for i in classes.lost.iter() {
            self.stop(i, descriptions::LOST, ClientStatus::Lost);
        }
        all.remove_all(&classes.migrate);
        all.remove_all(&classes.lost);
        self.canaries = classes.untainted;
    }

    /// Asks for each remaining allocation what the job's changes mean for it: how many are updated in place, and
    /// which have to be replaced.
    fn check_updates(&mut self) -> (usize, Set) {
        let mut in_place = 0;
        let mut destructive = Vec::new();
        for i in self.untainted.iter() {
            match (self.r.check)(&self.allocs[i], self.tg) {
                UpdateCheck::Ignore => self.d.ignore += 1,
                UpdateCheck::Destructive => destructive.push(i),
                UpdateCheck::InPlace(a) => {
                    in_place += 1;
                    self.r.out.in_place.push(*a);
                }
            }
        }
        self.d.in_place_update += in_place as u64;
        (in_place, destructive.into_iter().collect())
    }

    /// Adds missing canaries (step 18); true if some are missing.
    fn add_canaries(&mut self, destructive: &Set) -> bool {
        let wanted = self.tg.update.as_ref().map_or(0, |u| usize::try_from(u.canary).unwrap_or(0));
        let missing = wanted.saturating_sub(self.canaries.len());
        if missing == 0 || destructive.is_empty() || self.state.promoted {
            return false;
        }
        self.state.desired_canaries = wanted as i64;
        if self.r.paused || self.r.failed {
            return true;
        }
        self.d.canary += missing as u64;
        let existing: HashSet<&str> = self.canaries.iter().map(|i| self.allocs[i].name.as_str()).collect();
        let replaced: BTreeSet<usize> = destructive.iter().map(|i| self.allocs[i].index()).collect();
        // Placements past the count are cut off in the end: no more names than it takes to see that.
        let named = missing.min(self.count.saturating_add(1));
        for name in self.names.next_canaries(named, &existing, &replaced) {
            let group = self.name.clone();
            self.place.push(Placement {
                name,
                group,
                previous: None,
                reschedule: false,
                canary: true,
                downgrade: false,
                min_version: 0,
            });
        }
        true
    }

    /// Hands the group's results over.
    fn deliver(self) {
        let name = self.name.to_string();
        if self.existing
            && let Some(d) = &mut self.r.current
        {
            d.task_groups.insert(name.clone(), Some(self.state));
        }
        self.r.out.disconnect_updates.extend(self.disconnected.into_values().map(Arc::new));
        self.r.out.place.extend(self.place);
        self.r.out.desired.insert(name.clone(), self.d);
        self.r.out.names.insert(name, self.names);
    }
}
