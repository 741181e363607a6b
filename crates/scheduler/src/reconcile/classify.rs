//! Classifies allocations by the state of their nodes, and finds those that may be rescheduled
//! (`docs/spec/reconciliation.md §5.2, 5.4, 5.5`).

use std::sync::Arc;

use super::set::Set;
use super::{Reconciler, Stop};
use crate::reschedule::{self, Verdict};
use crate::{descriptions, disconnect};
use encamp_model::*;

/// The classes of `docs/spec/reconciliation.md §5.4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Untainted,
    Migrate,
    Lost,
    Disconnecting,
    Reconnecting,
    Ignore,
    Expiring,
}

/// A group's allocations by class.
#[derive(Debug, Default)]
pub(super) struct Classes {
    pub untainted: Set,
    pub migrate: Set,
    pub lost: Set,
    pub disconnecting: Set,
    pub reconnecting: Set,
    pub ignore: Set,
    pub expiring: Set,
}

/// The outcome of the reschedule filter.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    /// Counts toward the group's count.
    pub untainted: Set,
    /// To be replaced in this plan.
    pub now: Set,
    /// To be replaced at a later time.
    pub later: Vec<(usize, i64)>,
}

impl Reconciler<'_> {
    pub(super) fn class(&self, a: &Allocation) -> Class {
        let can_reconnect =
            matches!(a.client_status.as_str(), client_status::UNKNOWN | client_status::RUNNING | client_status::FAILED);
        let back = can_reconnect && disconnect::needs_reconnect(a);
        let failed = a.client_status == client_status::FAILED;
        let unknown = a.client_status == client_status::UNKNOWN;
        let migrate = a.desired_transition.should_migrate();
        if back && failed && a.desired_status == desired_status::RUN {
            return Class::Reconnecting;
        }
        if !back && a.server_terminal() {
            // A drained batch allocation keeps its slot.
            return if a.desired_transition.migrate_disable_placement() { Class::Untainted } else { Class::Ignore };
        }
        if !back && a.terminal() {
            return if a.is_canary() && migrate { Class::Migrate } else { Class::Untainted };
        }
        if disconnect::expired(a, self.input.now) {
            return Class::Expiring;
        }
        if back && failed && a.desired_status == desired_status::STOP {
            return Class::Ignore;
        }
        let node = self.input.tainted.get(&a.node_id);
        let status = node.and_then(|n| n.as_ref()).map(|n| n.node.status.as_str());
        if status == Some("disconnected") {
            return match a.client_status.as_str() {
                client_status::UNKNOWN => Class::Untainted,
                client_status::PENDING => Class::Lost,
                _ if disconnect::lost_after(a) == 0 => Class::Lost,
                _ => Class::Disconnecting,
            };
        }
        if migrate {
            return Class::Migrate;
        }
        match (node, status) {
            (None, _) | (_, Some("ready")) => {
                if back {
                    Class::Reconnecting
                } else {
                    Class::Untainted
                }
            }
            (Some(None), _) => Class::Lost,
            (_, Some("down")) => {
                let replace = disconnect::replace(a);
                if !replace && unknown {
                    Class::Untainted
                } else if !replace && a.client_status == client_status::RUNNING {
                    Class::Disconnecting
                } else {
                    Class::Lost
                }
            }
            _ => Class::Untainted,
        }
    }

    pub(super) fn classify(&self, allocs: &[Arc<Allocation>], set: &Set) -> Classes {
        let classes: Vec<(usize, Class)> = set.iter().map(|i| (i, self.class(&allocs[i]))).collect();
        let of = |class| classes.iter().filter(|(_, c)| *c == class).map(|(i, _)| *i).collect();
        Classes {
            untainted: of(Class::Untainted),
            migrate: of(Class::Migrate),
            lost: of(Class::Lost),
            disconnecting: of(Class::Disconnecting),
            reconnecting: of(Class::Reconnecting),
            ignore: of(Class::Ignore),
            expiring: of(Class::Expiring),
        }
    }

    /// Stops everything that still runs or may come back; tells how many allocations were given, not how many stop.
    pub(super) fn stop_all(&mut self, allocs: Vec<Arc<Allocation>>) -> u64 {
        for a in &allocs {
            let unknown = a.client_status == client_status::UNKNOWN;
            let (description, client_status) = match self.class(a) {
                Class::Lost => (descriptions::LOST, client_status::LOST),
                Class::Ignore | Class::Expiring if !unknown => continue,
                _ => (descriptions::NOT_NEEDED, ""),
            };
            let followup_eval = String::new();
            self.out.stop.push(Stop { alloc: a.clone(), description, client_status, followup_eval });
        }
        allocs.len() as u64
    }

    /// Which allocations are replaced now, later or not (`docs/spec/reconciliation.md §5.5`). Those that are neither
    /// here nor there are dropped: they no longer count toward the group's count.
    pub(super) fn reschedule_filter(&self, allocs: &[Arc<Allocation>], set: &Set, disconnecting: bool) -> Filtered {
        let mut untainted = Vec::new();
        let mut now = Vec::new();
        let mut later = Vec::new();
        for i in set.iter() {
            let a = &allocs[i];
            if disconnecting && a.client_status == client_status::UNKNOWN {
                continue;
            }
            if !a.next_allocation.is_empty() && a.terminal() {
                continue;
            }
            match self.keeps_slot(a) {
                Slot::Drop => continue,
                Slot::Keep if !disconnecting => {
                    untainted.push(i);
                    continue;
                }
                Slot::Keep | Slot::Candidate => {}
            }
            let current = self.current.as_ref();
            match reschedule::verdict(a, self.input.now, self.input.eval_id, current, disconnecting) {
                Verdict::Now => now.push(i),
                Verdict::Later(at) => {
                    untainted.push(i);
                    later.push((i, at));
                }
                Verdict::Neither => untainted.push(i),
            }
        }
        Filtered { untainted: untainted.into_iter().collect(), now: now.into_iter().collect(), later }
    }

    fn keeps_slot(&self, a: &Allocation) -> Slot {
        let t = &a.desired_transition;
        if !self.input.batch {
            return match a.client_status.as_str() {
                _ if a.server_terminal() && a.last_reschedule_failed() => Slot::Candidate,
                _ if a.server_terminal() => Slot::Drop,
                client_status::COMPLETE | client_status::LOST => Slot::Drop,
                _ => Slot::Candidate,
            };
        }
        match a.desired_status.as_str() {
            _ if t.migrate_disable_placement() => Slot::Keep,
            _ if t.should_reschedule() => Slot::Candidate,
            desired_status::STOP if a.ran_successfully() => Slot::Keep,
            desired_status::STOP if a.last_reschedule_failed() => Slot::Candidate,
            desired_status::STOP | desired_status::EVICT => Slot::Drop,
            _ if a.client_status == client_status::FAILED => Slot::Candidate,
            _ => Slot::Keep,
        }
    }
}

/// Whether an allocation holds its place in the group.
enum Slot {
    Keep,
    Candidate,
    Drop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::{CheckUpdate, Input, UpdateCheck};
    use crate::tainted::TaintedNodes;
    use encamp_state::NodeEntry;

    const NOW: i64 = 1_000 * SECOND;

    /// Nodes are named by their status; `gone` is one that does not exist, `ok` one that is not tainted.
    fn class(a: &Allocation) -> Class {
        let mut tainted: TaintedNodes = ["down", "disconnected", "ready", "initializing"]
            .map(|s| {
                (
                    s.to_string(),
                    Some(Arc::new(NodeEntry::new(Arc::new(Node { status: s.into(), ..Node::default() }), 0))),
                )
            })
            .into();
        tainted.insert("gone".into(), None);
        let check: &mut CheckUpdate = &mut |_, _| UpdateCheck::Ignore;
        let input = Input {
            job: None,
            job_id: "j",
            batch: false,
            deployment: None,
            allocs: Vec::new(),
            eval_id: "e",
            eval_priority: 50,
            tainted: &tainted,
            now: NOW,
        };
        let mut new_id = String::new;
        let r = Reconciler::new(input, check, &mut new_id);
        r.class(a)
    }

    /// An allocation `desired/client` on the node; `back`: it was unknown last, for 10 s; flags: `lost_after` of a
    /// minute, no replacement, to be migrated, without placement, a canary.
    fn alloc(desired: &str, client: &str, node: &str, flags: &str) -> Allocation {
        let has = |f: &str| flags.split_whitespace().any(|w| w == f);
        let lost_after = if has("lost_after") { MINUTE } else { 0 };
        let disconnect = DisconnectStrategy { lost_after, replace: Some(!has("no-replace")), ..Default::default() };
        let group = TaskGroup { name: "g".into(), disconnect: Some(disconnect), ..Default::default() };
        let unknown = AllocState { field: 0, value: "unknown".into(), time: Time::from_unix_nanos(NOW - 10 * SECOND) };
        Allocation {
            task_group: "g".into(),
            node_id: node.into(),
            desired_status: desired.into(),
            client_status: client.into(),
            job: Some(Arc::new(Job { task_groups: vec![group], ..Default::default() })),
            alloc_states: if has("back") { vec![unknown] } else { Vec::new() },
            desired_transition: DesiredTransition {
                migrate: Some(has("migrate")),
                migrate_disable_placement: Some(has("no-placement")),
                ..Default::default()
            },
            deployment_status: Some(AllocDeploymentStatus { canary: has("canary"), ..Default::default() }),
            ..Default::default()
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        use Class::*;
        for (rule, desired, client, node, flags, want) in [
            (1, "run", "failed", "down", "back migrate", Reconnecting),
            (2, "stop", "complete", "ok", "no-placement", Untainted),
            (3, "stop", "running", "down", "migrate", Ignore),
            (3, "evict", "running", "ok", "", Ignore),
            (4, "run", "failed", "ok", "canary migrate", Migrate),
            (5, "run", "failed", "down", "migrate", Untainted),
            (5, "run", "complete", "ok", "back", Untainted),
            (6, "run", "unknown", "down", "back no-replace", Expiring),
            (7, "stop", "failed", "ok", "back", Ignore),
            (8, "run", "unknown", "disconnected", "back lost_after migrate", Untainted),
            (9, "run", "pending", "disconnected", "lost_after", Lost),
            (10, "run", "running", "disconnected", "migrate", Lost),
            (11, "run", "running", "disconnected", "lost_after migrate", Disconnecting),
            (12, "run", "running", "down", "migrate", Migrate),
            (12, "run", "running", "ok", "back migrate", Migrate),
            (13, "run", "running", "ok", "back", Reconnecting),
            (13, "stop", "running", "ready", "back", Reconnecting),
            (14, "run", "running", "ready", "", Untainted),
            (15, "run", "running", "gone", "no-replace lost_after", Lost),
            (16, "run", "unknown", "down", "back no-replace lost_after", Untainted),
            (17, "run", "running", "down", "no-replace", Disconnecting),
            (18, "run", "running", "down", "lost_after", Lost),
            (18, "run", "pending", "down", "no-replace", Lost),
            (18, "run", "unknown", "down", "back lost_after", Lost),
            (19, "run", "running", "initializing", "back", Untainted),
        ] {
            assert_eq!(
                class(&alloc(desired, client, node, flags)),
                want,
                "rule {rule}: {desired}/{client} {node} {flags}"
            );
        }
    }
}
