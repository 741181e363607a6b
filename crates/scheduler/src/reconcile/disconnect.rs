//! Allocations whose node disconnected or reconnected, and follow-up evaluations (`docs/spec/reconciliation.md
//! §5.6-5.8,
//! 6.5`).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::group::Group;
use super::set::Set;
use crate::descriptions;
use crate::disconnect::{lost_after, to_unknown, with_status_entry};
use crate::reschedule::{FollowUpKind, follow_ups};
use encamp_model::*;

/// The client gets at least this long to stop an allocation.
const MIN_KILL_WAIT: i64 = 5 * SECOND;

impl Group<'_, '_> {
    /// Decides for each allocation that came back whether it or its replacement goes on (`docs/spec/reconciliation.md
    /// §5.6`).
    pub(super) fn reconnect(&mut self, all: &Set, reconnecting: &Set) {
        if reconnecting.is_empty() {
            return;
        }
        let mut stopped: BTreeSet<usize> = BTreeSet::new();
        for i in reconnecting.iter() {
            let a = &self.allocs[i];
            let verdict = if !a.server_terminal() && a.client_status == ClientStatus::Failed {
                Some((descriptions::RESCHEDULED, ClientStatus::Failed))
            } else if a.desired_status != DesiredStatus::Run || marked(a) || a.older_than(self.job) {
                Some((descriptions::NOT_NEEDED, ClientStatus::Unset))
            } else {
                None
            };
            if let Some((description, client_status)) = verdict {
                if stopped.insert(i) {
                    self.stop(i, description, client_status);
                }
                continue;
            }
            for k in self.replacements(all, i).iter() {
                if self.prefers_original(&self.allocs[i], &self.allocs[k]) {
                    if stopped.insert(k) {
                        self.stop(k, descriptions::RECONNECTED, ClientStatus::Unset);
                    }
                } else if stopped.insert(i) {
                    self.stop(i, descriptions::NOT_NEEDED, ClientStatus::Unset);
                }
            }
        }
        self.d.stop += stopped.len() as u64;
        let stopped: Set = stopped.into_iter().collect();
        for set in [&mut self.untainted, &mut self.migrate, &mut self.lost, &mut self.disconnecting] {
            set.remove_all(&stopped);
        }
        let mut back = reconnecting.clone();
        back.remove_all(&stopped);
        for i in back.iter() {
            let a = &self.allocs[i];
            let runs = a.desired_status == DesiredStatus::Run && a.client_status == ClientStatus::Running;
            if runs && !a.older_than(self.job) && !marked(a) {
                let update = with_status_entry(a, ClientStatus::Running, self.r.input.now);
                self.r.out.reconnect_updates.push(update);
                self.d.reconnect += 1;
            }
        }
        self.untainted.add_all(&back);
    }

    /// The chain of allocations that replaced one and are not being stopped, by ID.
    fn replacements(&self, all: &Set, i: usize) -> Set {
        let mut chain = BTreeSet::new();
        let mut next = &self.allocs[i].next_allocation;
        while !next.is_empty() {
            let Ok(k) = self.allocs.binary_search_by(|a| a.id.cmp(next)) else { break };
            // A broken chain may run in a circle.
            if k == i || !all.contains(k) || !chain.insert(k) {
                break;
            }
            next = &self.allocs[k].next_allocation;
        }
        chain.into_iter().filter(|k| !self.allocs[*k].server_terminal()).collect()
    }

    /// Whether the original goes on rather than its replacement.
    fn prefers_original(&self, original: &Allocation, replacement: &Allocation) -> bool {
        let create_index = |a: &Allocation| a.job.as_ref().map_or(0, |j| j.create_index);
        if replacement.job_version() > original.job_version() || create_index(replacement) > create_index(original) {
            return false;
        }
        match self.tg.disconnect.as_ref().map_or("", |d| d.reconcile.as_str()) {
            "keep_original" => true,
            "keep_replacement" => false,
            "longest_running" => {
                let (a, b) = (self.started(original, original), self.started(original, replacement));
                match (a, b) {
                    (None, None) => best_score_is_original(original, replacement),
                    (None, Some(_)) => false,
                    (Some(_), None) => true,
                    (Some(a), Some(b)) => a < b,
                }
            }
            _ => best_score_is_original(original, replacement),
        }
    }

    /// When an allocation's leader, or else its first task, was last started; tasks are those of `original`'s group.
    fn started(&self, original: &Allocation, a: &Allocation) -> Option<i64> {
        let mut first = None;
        for t in original.group().iter().flat_map(|g| &g.tasks) {
            let start = a.task_states.get(&t.name).as_ref().and_then(last_start);
            if t.leader {
                return start;
            }
            let start = start.filter(|s| *s < self.r.input.now);
            first = match (first, start) {
                (Some(a), Some(b)) => Some(std::cmp::min::<i64>(a, b)),
                (a, b) => a.or(b),
            };
        }
        first
    }

    /// Sets allocations of disconnected nodes to `unknown`; what the policy allows is replaced
    /// (`docs/spec/reconciliation.md §5.7`).
    pub(super) fn disconnect(&mut self) {
        if self.disconnecting.is_empty() {
            return;
        }
        let f = self.r.reschedule_filter(&self.allocs, &self.disconnecting, true);
        self.untainted.add_all(&f.untainted);
        self.now.add_all(&f.now);
        self.later.extend(f.later);
        let now = self.r.input.now;
        let due = |i: usize| (i, now.saturating_add(lost_after(&self.allocs[i]).max(0)));
        let due: Vec<(usize, i64)> = self.disconnecting.iter().map(due).collect();
        let kind = FollowUpKind {
            trigger: EvalTrigger::MaxDisconnectTimeout,
            description: descriptions::DISCONNECT_TIMEOUT,
            uniform: true,
        };
        for (i, eval) in self.follow_up(kind, due) {
            let mut update = to_unknown(&self.allocs[i], now);
            update.followup_eval_id = eval;
            self.disconnected.insert(i, update);
        }
        self.d.disconnect = self.disconnected.len() as u64;
        self.d.reschedule_now = self.now.len() as u64;
        self.d.reschedule_later = self.later.len() as u64;
    }

    /// Finds lost allocations that their client may still be stopping (`docs/spec/reconciliation.md §5.8`).
    pub(super) fn delay_lost(&mut self) {
        let now = self.r.input.now;
        let due = |i: usize| {
            let a = &self.allocs[i];
            let wait = a.stop_on_client_after()?;
            let kill = a.group()?.tasks.iter().map(|t| t.kill_timeout).max().unwrap_or(0).max(MIN_KILL_WAIT);
            let lost = a.alloc_states.iter().find(|s| s.field == 0 && s.value == ClientStatus::Lost);
            let since = lost.and_then(|s| s.time.unix_nanos()).unwrap_or(now);
            let at = since.saturating_add(wait).saturating_add(kill);
            (at > now).then_some((i, at))
        };
        let due: Vec<(usize, i64)> = self.lost.iter().filter_map(due).collect();
        self.lost_later = !due.is_empty();
        let kind = FollowUpKind {
            trigger: EvalTrigger::AllocFailure,
            description: descriptions::DELAYED_RESCHEDULE,
            uniform: false,
        };
        let evals = self.follow_up(kind, due);
        self.follow_up_of.extend(evals);
    }

    /// Creates the evaluations for what is replaced later and notes them on the allocations
    /// (`docs/spec/reconciliation.md §6.5`).
    pub(super) fn delay_reschedules(&mut self) {
        if self.later.is_empty() {
            return;
        }
        self.d.reschedule_later = self.later.len() as u64;
        let kind = FollowUpKind {
            trigger: EvalTrigger::AllocReschedule,
            description: descriptions::DELAYED_RESCHEDULE,
            uniform: false,
        };
        let mut evals = self.follow_up(kind, self.later.clone());
        evals.sort_unstable_by_key(|(i, _)| *i);
        for (i, eval) in evals {
            if let Some(update) = self.disconnected.get_mut(&i) {
                update.followup_eval_id = eval;
            } else if self.migrate.contains(i) {
                self.follow_up_of.insert(i, eval);
            } else {
                let mut update = (*self.allocs[i]).clone();
                update.followup_eval_id = eval;
                self.r.out.attribute_updates.push(update);
            }
        }
    }

    fn follow_up(&mut self, kind: FollowUpKind, due: Vec<(usize, i64)>) -> Vec<(usize, String)> {
        let (evals, by_alloc) = follow_ups(self.job, self.r.input.eval_priority, kind, due, self.r.new_id);
        self.r.out.follow_ups.extend(evals);
        by_alloc
    }
}

/// Someone asked for the allocation to go.
fn marked(a: &Allocation) -> bool {
    let t = &a.desired_transition;
    t.should_migrate() || t.should_reschedule() || t.should_force_reschedule()
}

/// When a task was last started.
fn last_start(t: &TaskState) -> Option<i64> {
    if t.restarts > 0 { t.last_restart.unix_nanos() } else { t.started_at.unix_nanos() }
}

/// The better node wins; a replacement that does not run yet only wins over an original that does not run either.
fn best_score_is_original(original: &Allocation, replacement: &Allocation) -> bool {
    let score =
        |a: &Allocation| a.metrics.as_ref().and_then(|m| m.unpack().score_meta_data.first().map(|s| s.norm_score));
    let better = match (score(original), score(replacement)) {
        (None, Some(_)) => true,
        (Some(a), Some(b)) => b.partial_cmp(&a) == Some(Ordering::Greater),
        _ => false,
    };
    let running = |a: &Allocation| a.client_status == ClientStatus::Running;
    !(better && (running(replacement) || !running(original)))
}
