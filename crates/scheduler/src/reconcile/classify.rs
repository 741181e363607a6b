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
            matches!(a.client_status, ClientStatus::Unknown | ClientStatus::Running | ClientStatus::Failed);
        let back = can_reconnect && disconnect::needs_reconnect(a);
        let failed = a.client_status == ClientStatus::Failed;
        if back && failed && a.desired_status == DesiredStatus::Run {
            return Class::Reconnecting;
        }
        if !back && a.server_terminal() {
            // A drained batch allocation keeps its slot.
            return if a.desired_transition.migrate_disable_placement() { Class::Untainted } else { Class::Ignore };
        }
        if !back && a.terminal() {
            return if a.is_canary() && a.desired_transition.should_migrate() {
                Class::Migrate
            } else {
                Class::Untainted
            };
        }
        if disconnect::expired(a, self.input.now) {
            return Class::Expiring;
        }
        if back && failed && a.desired_status == DesiredStatus::Stop {
            return Class::Ignore;
        }
        self.class_by_node(a, back)
    }

    /// The class by the state of its node; `back`: the allocation may reconnect.
    #[inline]
    fn class_by_node(&self, a: &Allocation, back: bool) -> Class {
        let node = self.input.tainted.get(&*a.node_id);
        let status = node.and_then(|n| n.as_ref()).map(|n| &n.node.status);
        if status == Some(&NodeStatus::Disconnected) {
            return match a.client_status {
                ClientStatus::Unknown => Class::Untainted,
                ClientStatus::Pending => Class::Lost,
                _ if disconnect::lost_after(a) == 0 => Class::Lost,
                _ => Class::Disconnecting,
            };
        }
        if a.desired_transition.should_migrate() {
            return Class::Migrate;
        }
        match (node, status) {
            (None, _) | (_, Some(NodeStatus::Ready)) => {
                if back {
                    Class::Reconnecting
                } else {
                    Class::Untainted
                }
            }
            (Some(None), _) => Class::Lost,
            (_, Some(NodeStatus::Down)) => {
                let replace = disconnect::replace(a);
                if !replace && a.client_status == ClientStatus::Unknown {
                    Class::Untainted
                } else if !replace && a.client_status == ClientStatus::Running {
                    Class::Disconnecting
                } else {
                    Class::Lost
                }
            }
            (
                _,
                Some(NodeStatus::Initializing | NodeStatus::Disconnected | NodeStatus::Unset | NodeStatus::Other(_)),
            )
            | (Some(Some(_)), None) => Class::Untainted,
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
            let unknown = a.client_status == ClientStatus::Unknown;
            let (description, client_status) = match self.class(a) {
                Class::Lost => (descriptions::LOST, ClientStatus::Lost),
                Class::Ignore | Class::Expiring if !unknown => continue,
                _ => (descriptions::NOT_NEEDED, ClientStatus::Unset),
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
            if disconnecting && a.client_status == ClientStatus::Unknown {
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
            return match a.client_status {
                _ if a.server_terminal() && a.last_reschedule_failed() => Slot::Candidate,
                _ if a.server_terminal() => Slot::Drop,
                ClientStatus::Complete | ClientStatus::Lost => Slot::Drop,
                _ => Slot::Candidate,
            };
        }
        match a.desired_status {
            _ if t.migrate_disable_placement() => Slot::Keep,
            _ if t.should_reschedule() => Slot::Candidate,
            DesiredStatus::Stop if a.ran_successfully() => Slot::Keep,
            DesiredStatus::Stop if a.last_reschedule_failed() => Slot::Candidate,
            DesiredStatus::Stop | DesiredStatus::Evict => Slot::Drop,
            _ if a.client_status == ClientStatus::Failed => Slot::Candidate,
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

    /// The node of an allocation.
    #[derive(Debug)]
    enum On {
        NotTainted,
        Tainted(NodeStatus),
        Gone,
    }

    fn class(a: &Allocation, on: &On) -> Class {
        let mut tainted = TaintedNodes::default();
        let entry = |status| NodeEntry::new(Arc::new(Node { status, ..Node::default() }), 0);
        match on {
            On::NotTainted => None,
            On::Tainted(status) => tainted.insert(a.node_id.to_string(), Some(Arc::new(entry(status.clone())))),
            On::Gone => tainted.insert(a.node_id.to_string(), None),
        };
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

    /// An allocation of these statuses; `back`: it was unknown last, for 10 s; flags: `lost_after` of a
    /// minute, no replacement, to be migrated, without placement, a canary.
    fn alloc(desired: &DesiredStatus, client: &ClientStatus, flags: &str) -> Allocation {
        let has = |f: &str| flags.split_whitespace().any(|w| w == f);
        let lost_after = if has("lost_after") { MINUTE } else { 0 };
        let disconnect = DisconnectStrategy { lost_after, replace: Some(!has("no-replace")), ..Default::default() };
        let group = TaskGroup { name: "g".into(), disconnect: Some(disconnect), ..Default::default() };
        let time = Time::from_unix_nanos(NOW - 10 * SECOND);
        let unknown = AllocState { field: 0, value: ClientStatus::Unknown, time };
        Allocation {
            task_group: "g".into(),
            node_id: "n".into(),
            desired_status: desired.clone(),
            client_status: client.clone(),
            job: Some(Arc::new(Job { task_groups: vec![group], ..Default::default() })),
            alloc_states: if has("back") { [unknown].into() } else { ThinVec::new() },
            desired_transition: DesiredTransition {
                migrate: Some(has("migrate")),
                migrate_disable_placement: Some(has("no-placement")),
                ..Default::default()
            },
            deployment_status: Some(Box::new(AllocDeploymentStatus { canary: has("canary"), ..Default::default() })),
            ..Default::default()
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        use Class::*;
        use ClientStatus::{Complete, Failed, Pending, Running, Unknown};
        use DesiredStatus::{Evict, Run, Stop};
        use NodeStatus::{Disconnected, Down, Initializing, Ready};
        use On::{Gone, NotTainted, Tainted};
        for (rule, desired, client, node, flags, want) in [
            (1, Run, Failed, Tainted(Down), "back migrate", Reconnecting),
            (2, Stop, Complete, NotTainted, "no-placement", Untainted),
            (3, Stop, Running, Tainted(Down), "migrate", Ignore),
            (3, Evict, Running, NotTainted, "", Ignore),
            (4, Run, Failed, NotTainted, "canary migrate", Migrate),
            (5, Run, Failed, Tainted(Down), "migrate", Untainted),
            (5, Run, Complete, NotTainted, "back", Untainted),
            (6, Run, Unknown, Tainted(Down), "back no-replace", Expiring),
            (7, Stop, Failed, NotTainted, "back", Ignore),
            (8, Run, Unknown, Tainted(Disconnected), "back lost_after migrate", Untainted),
            (9, Run, Pending, Tainted(Disconnected), "lost_after", Lost),
            (10, Run, Running, Tainted(Disconnected), "migrate", Lost),
            (11, Run, Running, Tainted(Disconnected), "lost_after migrate", Disconnecting),
            (12, Run, Running, Tainted(Down), "migrate", Migrate),
            (12, Run, Running, NotTainted, "back migrate", Migrate),
            (13, Run, Running, NotTainted, "back", Reconnecting),
            (13, Stop, Running, Tainted(Ready), "back", Reconnecting),
            (14, Run, Running, Tainted(Ready), "", Untainted),
            (15, Run, Running, Gone, "no-replace lost_after", Lost),
            (16, Run, Unknown, Tainted(Down), "back no-replace lost_after", Untainted),
            (17, Run, Running, Tainted(Down), "no-replace", Disconnecting),
            (18, Run, Running, Tainted(Down), "lost_after", Lost),
            (18, Run, Pending, Tainted(Down), "no-replace", Lost),
            (18, Run, Unknown, Tainted(Down), "back lost_after", Lost),
            (19, Run, Running, Tainted(Initializing), "back", Untainted),
        ] {
            let class = class(&alloc(&desired, &client, flags), &node);
            assert_eq!(class, want, "rule {rule}: {desired}/{client} {node:?} {flags}");
        }
    }
}
