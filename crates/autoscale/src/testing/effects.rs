//! Side effects on the world, and the invariants that the autoscaler must never violate.

use encamp_model::{Allocation, ClientStatus, DesiredStatus, DrainStrategy, NodeEligibility, NodeStatus, SECOND, Time};

use super::faults::UNHEARD_OF;
use super::machine::{Later, Machine, node_of};
use crate::provider::InstanceState;
use crate::record::{Direction, ITEM, Operation, Record, Step};

/// A side effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    SetDesired(i64),
    Terminate(String, bool),
    Detach(String),
    Drain(String),
    CancelDrain(String),
    Purge(String),
}

/// The provider refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("above the maximum")]
    AboveMaximum,
    #[error("below the minimum")]
    BelowMinimum,
    #[error("no such instance")]
    NoSuchInstance,
}

impl Machine {
    /// Looks for what must not be written.
    pub(super) fn check_write(&mut self, old: &Record, new: &Record) {
        let mut wrong = Vec::new();
        match (&old.operation, &new.operation) {
            (None, Some(operation)) => {
                self.begun += 1;
                self.desired_before = self.group.desired;
                let nodes = i64::try_from(self.state.nodes().filter(|e| e.node.ready()).count()).unwrap();
                let (min, max) = (self.parameters.min, self.parameters.max);
                wrong.extend(self.begins_too_early(operation));
                if operation.target > max.max(nodes) || operation.target < min.min(nodes - 1) {
                    wrong.push(format!("the pool leaves its bounds: {} of {min} to {max}", operation.target));
                }
            }
            (Some(before), Some(after)) if before.started != after.started => {
                wrong.push("a second operation began".to_string());
            }
            (Some(before), None) => {
                self.ended += 1;
                wrong.extend(self.end(before, old, new));
            }
            (Some(before), Some(after))
                if matches!(before.step, Step::Drain | Step::AwaitDrained) && after.step == Step::Terminate =>
            {
                wrong.extend(self.gives_up_what_is_needed(&before.node_id));
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        let (ins, outs, threshold) = (new.scalein_requests, new.scaleout_requests, self.parameters.scaling_threshold);
        let steps = ins > old.scalein_requests + 1 || outs > old.scaleout_requests + 1;
        if ins.max(outs) >= threshold || ins.min(outs) != 0 || steps {
            wrong.push(format!("{ins} and {outs} requests"));
        }
        if new.operation.is_none() && new.failure_count >= self.parameters.retry_threshold && !new.failsafe_mode {
            wrong.push("failsafe mode was not entered".to_string());
        }
        self.violations.extend(wrong);
    }

    /// Notes how an operation ended.
    fn end(&mut self, operation: &Operation, old: &Record, new: &Record) -> Option<String> {
        let ended = new.last_scaling_event.filter(|_| new.last_scaling_event != old.last_scaling_event);
        let ended = ended.and_then(Time::unix_nanos)?;
        match operation.direction {
            Direction::In => self.last_in = Some(ended),
            Direction::Out => self.last_out = Some(ended),
        }
        if operation.step != Step::TakeBack {
            return None;
        }
        self.taken_back += 1;
        let node = &self.state.node(&operation.node_id)?.node;
        let open = node.drain_strategy.is_none() && node.scheduling_eligibility == NodeEligibility::Eligible;
        let kept = self.group.desired == self.desired_before;
        (!(open && kept)).then(|| format!("{} was not taken back", operation.node_id))
    }

    /// An operation within the cooldown of its direction. Clocks that jump say nothing about it.
    fn begins_too_early(&self, operation: &Operation) -> Option<String> {
        let cooldown = &self.parameters.cooldown;
        let (own, of_direction) = match operation.direction {
            Direction::Out => (cooldown.scale_out, self.last_out),
            Direction::In => (cooldown.scale_in, self.last_in),
        };
        let (least, last) = match own {
            Some(own) => (own, of_direction),
            None => (cooldown.both, self.last_in.max(self.last_out)),
        };
        let passed = operation.started.unix_nanos()? - last?;
        let early = !self.faults.skewed && passed < i64::try_from(least.as_nanos()).unwrap();
        early.then(|| format!("{:?} begins {passed} ns after the last operation", operation.direction))
    }

    /// A node is to be terminated that its pool needs: all nodes have 10,000 MHz, one is held back, allocations take
    /// 1,000 MHz each. A provider that lies may hide it.
    fn gives_up_what_is_needed(&self, id: &str) -> Option<String> {
        let node = &self.state.node(id)?.node;
        let instance = id.replace("n-", "i-");
        let usable = node.status == NodeStatus::Ready && self.group.active().any(|i| i.id == instance);
        if !usable || self.faults.lies > 0 {
            return None;
        }
        let others: Vec<_> = self.state.nodes().filter(|e| e.node.ready() && e.node.id != id).collect();
        let left = i64::try_from(others.len()).unwrap();
        let runs = |a: &Allocation| a.client_status == ClientStatus::Running && a.desired_status == DesiredStatus::Run;
        let on = others.iter().map(|e| e.node.id.as_str()).chain([id]);
        let running = on.flat_map(|n| self.state.allocs_of_node(n)).filter(|a| runs(&a.alloc)).count();
        let used = i64::try_from(running).unwrap() * 1000;
        let short = left < self.parameters.min || used > 0 && used >= (left - 1) * 10_000;
        short.then(|| format!("{id} is removed while {used} MHz are used on {left} other nodes"))
    }

    /// A node of the group that is closed could be taken back instead of buying another one.
    fn closed(&self) -> Option<String> {
        let of_group = |id: &str| self.group.active().any(|i| node_of(&i.id) == id);
        let closed = self.state.nodes().map(|e| &e.node).find(|n| {
            n.status == NodeStatus::Ready && n.scheduling_eligibility == NodeEligibility::Ineligible && of_group(&n.id)
        });
        closed.map(|n| n.id.clone())
    }

    /// Whether the stored record is in failsafe mode.
    fn is_failsafe(&self) -> bool {
        let stored = self.variable(&crate::paths::pool_state("web"));
        let item = stored.and_then(|s| s.items.get(ITEM));
        item.is_some_and(|text| Record::read("", Some(text)).unwrap().failsafe_mode)
    }

    /// Brings an effect about.
    pub(crate) fn act(&mut self, effect: Effect, now: i64) -> Result<(), Refusal> {
        if self.is_failsafe() {
            self.violations.push(format!("{effect:?} in failsafe mode"));
        }
        let before = (self.group.clone(), self.state.index);
        self.bring_about(&effect, now)?;
        if before != (self.group.clone(), self.state.index) {
            self.held.push(effect);
        }
        Ok(())
    }

    fn bring_about(&mut self, effect: &Effect, now: i64) -> Result<(), Refusal> {
        let half = self.faults.happens(self.faults.halves);
        match effect {
            Effect::SetDesired(n) => {
                if *n > self.group.max {
                    return Err(Refusal::AboveMaximum);
                }
                if let Some(closed) = self.closed() {
                    self.violations.push(format!("{n} instances are asked for while {closed} is closed"));
                }
                if *n < self.group.desired || *n > self.parameters.max {
                    self.violations.push(format!("the desired size goes from {} to {n}", self.group.desired));
                }
                self.group.desired = if half { self.group.desired } else { *n };
            }
            Effect::Terminate(id, decrement) => {
                if !self.group.has(id) {
                    // One that never existed cannot be terminated, and does no harm.
                    if id != UNHEARD_OF {
                        self.violations.push(format!("{id} is terminated again"));
                    }
                    return Err(Refusal::NoSuchInstance);
                }
                if *decrement && self.group.desired <= self.group.min {
                    return Err(Refusal::BelowMinimum);
                }
                let node = self.state.node(&node_of(id)).filter(|e| e.node.status == NodeStatus::Ready);
                if node.is_some_and(|e| e.live_allocs().next().is_some() || e.node.ready()) {
                    self.violations.push(format!("{id} is terminated with allocations on it"));
                }
                if *decrement {
                    self.group.desired -= 1;
                }
                if !half {
                    self.group
                        .instances
                        .iter_mut()
                        .filter(|i| i.id == *id)
                        .for_each(|i| i.state = InstanceState::Leaving);
                    self.later.push((now + 15 * SECOND, Later::Gone(id.clone())));
                }
            }
            Effect::Detach(id) => {
                if !self.group.has(id)
                    || self.state.node(&node_of(id)).is_some_and(|e| e.node.status == NodeStatus::Ready)
                {
                    // Like the termination of one that never existed.
                    if id != UNHEARD_OF {
                        self.violations.push(format!("{id} is detached"));
                    }
                    return Err(Refusal::NoSuchInstance);
                }
                if self.group.desired <= self.group.min {
                    return Err(Refusal::BelowMinimum);
                }
                self.group.desired -= 1;
                if !half {
                    self.group.instances.retain(|i| i.id != *id);
                }
            }
            Effect::Drain(id) => {
                let draining = self.state.nodes().any(|e| e.node.drain_strategy.is_some() && e.node.id != *id);
                if draining {
                    self.violations.push(format!("{id} is drained beside another node"));
                }
                if half {
                    return Ok(());
                }
                self.change_node(id, |n| {
                    n.drain_strategy = Some(DrainStrategy::default());
                    n.scheduling_eligibility = NodeEligibility::Ineligible;
                });
                if let Some(count) = self.surge.take() {
                    self.later.push((now + SECOND, Later::Work(count)));
                }
                self.later.push((now + SECOND, Later::Drained(id.clone())));
            }
            Effect::CancelDrain(id) => self.change_node(id, |n| {
                n.drain_strategy = None;
                n.scheduling_eligibility = NodeEligibility::Eligible;
            }),
            Effect::Purge(id) => {
                if self.state.remove_node(id).is_some() {
                    self.index();
                }
            }
        }
        Ok(())
    }
}
