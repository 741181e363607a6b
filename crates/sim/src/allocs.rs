//! Allocations of a synthetic cluster, generated one by one from their compact description.

use super::ground::{Share, template};
use encamp_model::random::Random;
use encamp_model::*;
use encamp_scheduler::descriptions;

/// The state of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Running,
    /// It was just placed.
    Pending,
    /// It runs and is marked to migrate from its draining node.
    Leaving,
    /// Its node is disconnected.
    Unknown,
    /// A batch task that finished.
    Complete,
    /// It failed and was replaced.
    Failed,
    /// Its node went down.
    Lost,
    /// It left a draining node.
    Migrated,
    /// A newer version replaced it.
    Updated,
    /// Its job was stopped.
    Stopped,
}

impl Fate {
    /// Whether it holds resources.
    pub fn live(self) -> bool {
        matches!(self, Fate::Running | Fate::Pending | Fate::Leaving | Fate::Unknown)
    }

    /// The client status of the allocation.
    pub fn client_status(self) -> ClientStatus {
        match self {
            Fate::Running | Fate::Leaving => ClientStatus::Running,
            Fate::Pending => ClientStatus::Pending,
            Fate::Unknown => ClientStatus::Unknown,
            Fate::Failed => ClientStatus::Failed,
            Fate::Lost => ClientStatus::Lost,
            Fate::Complete | Fate::Migrated | Fate::Updated | Fate::Stopped => ClientStatus::Complete,
        }
    }

    /// Why servers stopped the allocation; `None` if they did not.
    fn why_stopped(self) -> Option<&'static str> {
        match self {
            Fate::Failed => Some(descriptions::RESCHEDULED),
            Fate::Lost => Some(descriptions::LOST),
            Fate::Migrated => Some(descriptions::MIGRATING),
            Fate::Updated => Some(descriptions::UPDATING),
            Fate::Stopped => Some(descriptions::NOT_NEEDED),
            Fate::Running | Fate::Pending | Fate::Leaving | Fate::Unknown | Fate::Complete => None,
        }
    }
}

/// One allocation, as decided.
#[derive(Debug, Clone, Copy)]
pub struct Placement {
    /// Position of the job version in the file.
    pub job: u32,
    /// Position of the group.
    pub group: u16,
    /// Number in the name.
    pub index: u32,
    /// Position of the node.
    pub node: u32,
    /// The outcome.
    pub fate: Fate,
    /// The share of the node.
    pub share: Share,
    /// The allocation this one replaced or was replaced by.
    pub other: Option<u32>,
}

/// The facts about a job version that allocations need besides the job.
#[derive(Debug, Clone, Default)]
pub struct JobFacts {
    /// The evaluation that placed the allocations.
    pub eval_id: Text,
    /// The deployment, if there is one.
    pub deployment_id: Text,
}

/// The facts about a node that allocations need besides the node.
#[derive(Debug, Clone, Default)]
pub struct NodeFacts {
    /// Its ID. Its allocations share the text: there are too many nodes for it to be found among recent ones.
    pub id: Text,
    /// Its name.
    pub name: Text,
    /// Host address.
    pub ip: String,
    /// Usable cores.
    pub cores: Vec<u16>,
    /// MHz of a core.
    pub core_speed: i64,
}

/// The ID of the allocation at a position.
pub fn id(seed: u64, position: u32) -> String {
    let base = Random::new(seed, "allocations").number();
    Random::new(base.wrapping_add(u64::from(position)), "allocation").uuid()
}

/// Makes the allocation at `position`. `failed` is the node of the failed allocation it replaced, if that is why it is.
pub fn allocation(
    (seed, now): (u64, i64),
    position: u32,
    placed: &Placement,
    (job, facts): (&Job, &JobFacts),
    (node, ground): (&Node, &NodeFacts),
    failed: Option<&Node>,
) -> Option<Allocation> {
    let group = job.task_groups.get(usize::from(placed.group))?;
    let mut random = Random::new(u64::from(position), "allocation times");
    let other = placed.other.map(|o| id(seed, o)).unwrap_or_default();
    let replaced = matches!(placed.fate, Fate::Failed | Fate::Lost | Fate::Migrated | Fate::Updated);
    // Those that replace another came after it.
    let delay = if placed.other.is_some() && !replaced { 1800 } else { 1 } + random.below(600) as i64;
    let ready = matches!(placed.fate, Fate::Pending);
    let created = if ready { now - 5 * SECOND } else { (job.submit_time + delay * SECOND).min(now - 60 * SECOND) };
    let ended = created.saturating_add((60 + random.below(1200) as i64) * SECOND).min(now - SECOND);
    let mut a = Allocation {
        id: id(seed, position).into(),
        namespace: Text::from(&job.namespace),
        eval_id: facts.eval_id.clone(),
        name: format!("{}.{}[{}]", job.id, group.name, placed.index).into(),
        node_id: ground.id.clone(),
        node_name: ground.name.clone(),
        job_id: Text::from(&job.id),
        stored_job_version: Some(job.version),
        task_group: Text::from(&group.name),
        allocated_resources: Some(resources(group, placed.share, node, ground).shared_with_recent()),
        desired_status: DesiredStatus::Run,
        client_status: placed.fate.client_status(),
        deployment_id: facts.deployment_id.clone(),
        create_index: job.job_modify_index + 1,
        alloc_modify_index: job.job_modify_index + 1,
        modify_index: job.job_modify_index + 2,
        create_time: created,
        modify_time: if placed.fate.live() { created + 10 * SECOND } else { ended + SECOND }.min(now),
        ..Default::default()
    };
    if replaced {
        a.next_allocation = other.into();
    } else {
        a.reschedule_tracker = failed.map(|node| Box::new(rescheduled(group, &other, node, created)));
        a.previous_allocation = other.into();
    }
    bring_to(placed.fate, &mut a, (group, node), (created, ended));
    Some(a)
}

/// Writes what became of an allocation that was created and ended at these times.
fn bring_to(fate: Fate, a: &mut Allocation, (group, node): (&TaskGroup, &Node), (created, ended): (i64, i64)) {
    if let Some(why) = fate.why_stopped() {
        (a.desired_status, a.desired_description) = (DesiredStatus::Stop, why.into());
    }
    if fate == Fate::Leaving {
        a.desired_transition.migrate = Some(true);
    }
    if fate == Fate::Unknown {
        a.client_description = descriptions::UNKNOWN.into();
        let time = node.status_updated_at.saturating_mul(SECOND);
        let state =
            AllocState { value: ClientStatus::Unknown, time: Time::from_unix_nanos(time), ..Default::default() };
        a.alloc_states.push(state);
    }
    if fate != Fate::Pending {
        a.task_states = task_states(group, fate, created + 5 * SECOND, ended);
        let healthy = fate != Fate::Failed;
        let status = || AllocDeploymentStatus {
            healthy: Some(healthy),
            timestamp: Time::from_unix_nanos(created + 15 * SECOND),
            modify_index: a.modify_index,
            ..Default::default()
        };
        a.deployment_status = (!a.deployment_id.is_empty()).then(|| Box::new(status()));
    }
}

/// The record of one replacement: of the allocation `previous` on a node, at a time.
fn rescheduled(group: &TaskGroup, previous: &str, node: &Node, at: i64) -> RescheduleTracker {
    RescheduleTracker {
        events: Some(vec![RescheduleEvent {
            reschedule_time: at,
            prev_alloc_id: previous.into(),
            prev_node_id: Text::from(&node.id),
            delay: group.reschedule_policy.as_ref().map_or(0, |p| p.delay),
        }]),
        last_reschedule: "ok".into(),
    }
}

/// The states of the tasks, without events.
fn task_states(group: &TaskGroup, fate: Fate, started: i64, ended: i64) -> TaskStates {
    let state = |task: &Task| {
        let once = task.lifecycle.as_ref().is_some_and(|l| l.hook == LifecycleHook::Prestart && !l.sidecar);
        let over = !fate.live() && fate != Fate::Lost;
        let started_at = Time::from_unix_nanos(started);
        let finished = if once { started + SECOND } else { ended };
        TaskState {
            state: if once || over { TaskStatus::Dead } else { TaskStatus::Running },
            failed: fate == Fate::Failed && !once,
            started_at,
            finished_at: if once || over { Time::from_unix_nanos(finished) } else { Time::ZERO },
            ..Default::default()
        }
    };
    group.tasks.iter().map(|t| (t.name.clone(), state(t))).collect()
}

/// The resources of the allocation.
fn resources(group: &TaskGroup, share: Share, node: &Node, ground: &NodeFacts) -> AllocatedResources {
    let mut out = template(group);
    let mut first_core = usize::from(share.cores.0);
    for task in &group.tasks {
        let Some(given) = out.tasks.get_mut(&task.name) else { continue };
        let Some(asked) = &task.resources else { continue };
        if let Some(cores) = usize::try_from(asked.cores).ok().filter(|n| *n > 0) {
            let ids = ground.cores.iter().skip(first_core).take(cores).map(|c| u64::from(*c));
            given.cpu.reserved_cores = ids.collect();
            given.cpu.cpu_shares = asked.cores.saturating_mul(ground.core_speed);
            first_core = first_core.saturating_add(cores);
        }
        let device = node.node_resources.as_ref().and_then(|r| r.devices.first());
        if let (Some(group), false) = (device, asked.devices.is_empty()) {
            let instances = group.instances.iter().skip(usize::from(share.devices.0));
            given.devices.push(AllocatedDeviceResource {
                vendor: group.vendor.clone(),
                r#type: group.r#type.clone(),
                name: group.name.clone(),
                device_ids: instances.take(usize::from(share.devices.1)).map(|i| i.id.clone()).collect(),
            });
        }
    }
    if let Some(asked) = group.networks.first() {
        let mut network = asked.clone();
        network.ip.clone_from(&ground.ip);
        for (port, value) in network.dynamic_ports.iter_mut().zip(share.ports) {
            port.value = i64::from(value);
            if port.to == -1 {
                port.to = port.value;
            }
        }
        let ports = network.reserved_ports.iter().chain(&network.dynamic_ports);
        out.shared.ports = ports
            .map(|p| AllocatedPortMapping {
                label: p.label.clone(),
                value: p.value,
                to: p.to,
                host_ip: ground.ip.clone(),
                ignore_collision: p.ignore_collision,
            })
            .collect();
        out.shared.networks.push(network);
    }
    out
}
