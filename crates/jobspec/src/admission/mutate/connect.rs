//! Tasks and ports of Consul Connect services (`docs/spec/jobspec.md §13.3`).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};
use thiserror::Error;

use encamp_model::*;

use super::canonicalize::{canonicalize_network, canonicalize_task};
use super::{constraint, gateway, interpolate};
use encamp_model::random::Random;

/// Why a service of the mesh can't be completed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// A native service names no task, and its group does not have exactly one.
    #[error("task for Consul Connect Native service {group}->{service} is ambiguous and must be set")]
    AmbiguousTask {
        /// The name of the group.
        group: String,
        /// The name of the service.
        service: String,
    },
    /// A native service names a task that its group does not have.
    #[error("task {task} named by Consul Connect Native service {group}->{service} does not exist")]
    NoTask {
        /// The name of the task.
        task: String,
        /// The name of the group.
        group: String,
        /// The name of the service.
        service: String,
    },
    /// A mesh gateway has no port.
    #[error("service.port must be set for mesh gateway service")]
    NoGatewayPort,
}

/// The names that service names may refer to.
pub(super) struct JobNames {
    id: String,
    name: String,
    region: String,
    meta: BTreeMap<String, String>,
}

/// Adds what the mesh services of each group with a network need.
pub(super) fn mutate(job: &mut Job, seed: u64) -> Result<(), ConnectError> {
    let names =
        JobNames { id: job.id.clone(), name: job.name.clone(), region: job.region.clone(), meta: job.meta.clone() };
    let mut random = Random::new(seed, "connect");
    for group in job.task_groups.iter_mut().filter(|g| !g.networks.is_empty()) {
        let mut services = std::mem::take(&mut group.services);
        let mut known = Known::default();
        let done = services.iter_mut().try_for_each(|s| mutate_service(s, group, &mut known, &names, &mut random));
        group.services = services;
        done?;
        group.networks.first_mut().into_iter().for_each(canonicalize_network);
    }
    Ok(())
}

/// The kinds and names of a group's tasks, kept beside the tasks so that many services do not each look at all of them.
#[derive(Default)]
pub(super) struct Known {
    /// How many tasks have the kind.
    kinds: HashMap<String, usize>,
    names: HashSet<String>,
    /// Tasks that are in here; tasks are only ever added at the end.
    tasks: usize,
}

impl Known {
    fn update(&mut self, group: &TaskGroup) {
        for task in group.tasks.iter().skip(self.tasks) {
            *self.kinds.entry(task.kind.clone()).or_default() += 1;
            self.names.insert(task.name.clone());
        }
        self.tasks = group.tasks.len();
    }

    /// Whether a task of the group is of this kind.
    pub(super) fn has_kind(&mut self, group: &TaskGroup, kind: &str) -> bool {
        self.update(group);
        self.kinds.get(kind).is_some_and(|tasks| *tasks > 0)
    }

    fn has_name(&mut self, group: &TaskGroup, name: &str) -> bool {
        self.update(group);
        self.names.contains(name)
    }

    /// Gives a task of the group another kind.
    fn set_kind(&mut self, group: &mut TaskGroup, task: usize, kind: String) {
        self.update(group);
        let Some(task) = group.tasks.get_mut(task) else { return };
        if let Some(tasks) = self.kinds.get_mut(&task.kind) {
            *tasks = tasks.saturating_sub(1);
        }
        *self.kinds.entry(kind.clone()).or_default() += 1;
        task.kind = kind;
    }
}

/// `group` comes without its services.
fn mutate_service(
    service: &mut Service,
    group: &mut TaskGroup,
    known: &mut Known,
    names: &JobNames,
    random: &mut Random,
) -> Result<(), ConnectError> {
    let Some(mut connect) = service.connect.take() else { return Ok(()) };
    let done = if let Some(sidecar) = &connect.sidecar_service {
        interpolate_name(&mut service.name, group, names);
        inject_sidecar((&service.name, sidecar), connect.sidecar_task.as_ref(), group, known, random);
        Ok(())
    } else if connect.native {
        mark_native(service, group, known)
    } else if let Some(gateway) = &mut connect.gateway {
        interpolate_name(&mut service.name, group, names);
        gateway::mutate(service, gateway, connect.sidecar_task.as_ref(), group, known)
    } else {
        Ok(())
    };
    service.connect = Some(connect);
    done
}

fn interpolate_name(name: &mut String, group: &TaskGroup, job: &JobNames) {
    interpolate(name, |variable| match variable {
        "NOMAD_JOB_NAME" => Some(Cow::Borrowed(job.name.as_str())),
        "NOMAD_JOB_ID" => Some(Cow::Borrowed(job.id.as_str())),
        "NOMAD_GROUP_NAME" => Some(Cow::Borrowed(group.name.as_str())),
        "NOMAD_REGION" => Some(Cow::Borrowed(job.region.as_str())),
        // Services are registered once per allocation, but their sidecar is named here: before there is an index.
        "NOMAD_ALLOC_INDEX" => Some(Cow::Borrowed("0")),
        _ => {
            let key = variable.strip_prefix("NOMAD_META_")?;
            group.meta.get(key).or_else(|| job.meta.get(key)).map(|v| Cow::Borrowed(v.as_str()))
        }
    });
}

fn inject_sidecar(
    (service, sidecar): (&str, &ConsulSidecarService),
    overrides: Option<&SidecarTask>,
    group: &mut TaskGroup,
    known: &mut Known,
    random: &mut Random,
) {
    let name = format!("connect-proxy-{service}");
    let kind = format!("connect-proxy:{service}");
    if !known.has_kind(group, &kind) {
        let taken = known.has_name(group, &name);
        let task_name = if taken { format!("{name}-{}", random.hex6()) } else { name.clone() };
        let mut task = proxy_task(task_name, kind, "${meta.connect.sidecar_image}", group);
        task.lifecycle = Some(TaskLifecycleConfig { hook: LifecycleHook::Prestart, sidecar: true });
        add_task(task, overrides, group);
    }
    add_dynamic_port(group, if sidecar.port.is_empty() { &name } else { &sidecar.port });
}

/// Gives the task behind a native service its kind.
fn mark_native(service: &mut Service, group: &mut TaskGroup, known: &mut Known) -> Result<(), ConnectError> {
    if service.task_name.is_empty() {
        let [only] = group.tasks.as_slice() else {
            return Err(ConnectError::AmbiguousTask { group: group.name.clone(), service: service.name.clone() });
        };
        service.task_name.clone_from(&only.name);
    }
    let Some(task) = group.tasks.iter().position(|t| t.name == service.task_name) else {
        return Err(ConnectError::NoTask {
            task: service.task_name.clone(),
            group: group.name.clone(),
            service: service.name.clone(),
        });
    };
    known.set_kind(group, task, format!("connect-native:{}", service.name));
    Ok(())
}

/// An Envoy task, before `sidecar_task` has its say.
pub(super) fn proxy_task(name: String, kind: String, image: &str, group: &TaskGroup) -> Task {
    // Injected tasks come last and use what the others use, so this seldom looks far.
    let mut drivers = group.tasks.iter().map(|t| t.driver.as_str());
    let first = drivers.find(|d| matches!(*d, "podman" | "docker"));
    let driver = if first == Some("podman") && drivers.all(|d| d != "docker") { "podman" } else { "docker" };
    let args = json!([
        "-c",
        "${NOMAD_SECRETS_DIR}/envoy_bootstrap.json",
        "-l",
        "${meta.connect.log_level}",
        "--concurrency",
        "${meta.connect.proxy_concurrency}",
        "--disable-hot-restart"
    ]);
    Task {
        name,
        kind,
        driver: driver.into(),
        config: BTreeMap::from([("image".to_string(), Value::from(image)), ("args".to_string(), args)]),
        shutdown_delay: 5 * SECOND,
        log_config: Some(LogConfig { max_files: 2, max_file_size_mb: 2, disabled: false }),
        resources: Some(Resources { cpu: 250, memory_mb: 128, ..Resources::default() }),
        constraints: vec![
            constraint("${attr.consul.version}", "semver", ">= 1.8.0"),
            constraint("${attr.consul.grpc}", ">", "0"),
        ],
        ..Task::default()
    }
}

/// Appends an injected task with the job's wishes merged in.
pub(super) fn add_task(mut task: Task, overrides: Option<&SidecarTask>, group: &mut TaskGroup) {
    if let Some(overrides) = overrides {
        merge(&mut task, overrides);
    }
    canonicalize_task(&mut task, group.restart_policy.as_ref());
    group.tasks.push(task);
}

/// Adds a port that maps to itself, unless the first network has a dynamic port of that label.
pub(super) fn add_dynamic_port(group: &mut TaskGroup, label: &str) {
    let Some(network) = group.networks.first_mut() else { return };
    if network.dynamic_ports.iter().all(|p| p.label != label) {
        network.dynamic_ports.push(Port { label: label.into(), to: -1, ..Port::default() });
    }
}

fn merge(task: &mut Task, over: &SidecarTask) {
    for (field, value) in
        [(&mut task.name, &over.name), (&mut task.user, &over.user), (&mut task.kill_signal, &over.kill_signal)]
    {
        if !value.is_empty() {
            field.clone_from(value);
        }
    }
    if !over.driver.is_empty() && over.driver != task.driver {
        task.driver.clone_from(&over.driver);
        task.config.clone_from(&over.config);
    } else {
        task.config.extend(over.config.clone());
    }
    task.env.extend(over.env.clone());
    task.meta.extend(over.meta.clone());
    if let Some(wanted) = &over.resources {
        merge_resources(task.resources.get_or_insert_default(), wanted);
    }
    task.kill_timeout = over.kill_timeout.unwrap_or(task.kill_timeout);
    task.shutdown_delay = over.shutdown_delay.unwrap_or(task.shutdown_delay);
    if let Some(wanted) = &over.log_config {
        let logs = task.log_config.get_or_insert_default();
        take_if(&mut logs.max_files, wanted.max_files, wanted.max_files > 0);
        take_if(&mut logs.max_file_size_mb, wanted.max_file_size_mb, wanted.max_file_size_mb > 0);
    }
    if !over.volume_mounts.is_empty() {
        task.volume_mounts.clone_from(&over.volume_mounts);
    }
    if !over.identities.is_empty() {
        task.identities.clone_from(&over.identities);
    }
}

fn merge_resources(resources: &mut Resources, wanted: &Resources) {
    for (field, value) in [
        (&mut resources.cpu, wanted.cpu),
        (&mut resources.cores, wanted.cores),
        (&mut resources.memory_mb, wanted.memory_mb),
        (&mut resources.memory_max_mb, wanted.memory_max_mb),
        (&mut resources.disk_mb, wanted.disk_mb),
        (&mut resources.secrets_mb, wanted.secrets_mb),
    ] {
        take_if(field, value, value != 0);
    }
    if !wanted.networks.is_empty() {
        resources.networks.clone_from(&wanted.networks);
    }
    if !wanted.devices.is_empty() {
        resources.devices.clone_from(&wanted.devices);
    }
}

fn take_if(field: &mut i64, value: i64, condition: bool) {
    if condition {
        *field = value;
    }
}
