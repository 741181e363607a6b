//! The part of `alloc status` about each task (`docs/spec/cli.md §9.1`).

use std::borrow::Cow;

use jiff::tz::TimeZone;

use super::status::endpoint;
use crate::connection::Connection;
use crate::render::stats::{cpu_table, device_blocks, device_summaries, memory_table, whole};
use crate::render::table::{Form, headed, pairs, table};
use crate::render::task_events::describe;
use crate::render::values::{self, written_time};
use encamp_model::stats::ResourceUsage;
use encamp_model::{
    Allocation, JobType, NetworkResource, Resources, Task, TaskEvent, TaskState, Time, VolumeRequest, quoted,
};

/// A task of an allocation.
pub(super) struct TaskView<'a> {
    /// Its name.
    pub name: String,
    state: TaskState,
    /// The task as defined by the job.
    of_job: Option<&'a Task>,
}

/// The tasks that have a state: tasks with a lifecycle first, ephemeral ones before sidecars.
pub(super) fn ordered(alloc: &Allocation) -> Vec<TaskView<'_>> {
    let group = alloc.job.as_ref().and_then(|job| job.lookup_group(&alloc.task_group));
    let of_job = |name: &str| group.and_then(|g| g.tasks.iter().find(|t| t.name == name));
    let states = alloc.task_states.iter();
    let mut tasks: Vec<_> = states.map(|(name, state)| TaskView { of_job: of_job(&name), name, state }).collect();
    // They are in the order of their names.
    tasks.sort_by_key(|task| match task.of_job.and_then(|t| t.lifecycle.as_ref()) {
        Some(lifecycle) => u8::from(lifecycle.sidecar),
        None => 2,
    });
    tasks
}

/// The max run deadline of the allocation, Unix nanoseconds, if a batch job sets a maximum duration.
pub(super) fn deadline(alloc: &Allocation) -> Option<i64> {
    Some(alloc.create_time.saturating_add(max_run(alloc)?))
}

/// The maximum run duration of the allocation in nanoseconds, if a batch job sets one.
pub(crate) fn max_run(alloc: &Allocation) -> Option<i64> {
    let job = alloc.job.as_ref().filter(|job| matches!(job.r#type, JobType::Batch | JobType::Sysbatch))?;
    job.lookup_group(&alloc.task_group)?.max_run_duration.filter(|d| *d > 0)
}

/// The tasks, one line each.
pub(super) fn short_table(alloc: &Allocation, zone: &TimeZone) -> String {
    let rows = ordered(alloc).into_iter().map(|task| {
        let (kind, time) = match task.state.events.last() {
            Some(event) => (event.r#type.to_string(), values::time(event.time, zone)),
            None => (String::new(), String::new()),
        };
        format!("{}|{}|{kind}|{time}|{}", task.name, task.state.state, task.lifecycle().unwrap_or("main".into()))
    });
    table(&headed("Name|State|Last Event|Time|Lifecycle", rows), Form::List)
}

impl TaskView<'_> {
    /// The lifecycle hook of the task; `None` for main tasks.
    fn lifecycle(&self) -> Option<String> {
        let lifecycle = self.of_job?.lifecycle.as_ref()?;
        Some(format!("{}{}", lifecycle.hook, if lifecycle.sidecar { " sidecar" } else { "" }))
    }

    /// The first line, with tags.
    pub(super) fn heading(&self) -> String {
        let lifecycle = self.lifecycle().map(|l| format!(" ({l})")).unwrap_or_default();
        format!("\n[bold]Task {}{lifecycle} is {}[reset]", quoted(&self.name), quoted(self.state.state.as_str()))
    }

    /// The resources and their usage; with `all`, every measured value. Ends with an empty line.
    pub(super) fn parts(&self, alloc: &Allocation, usage: Option<&ResourceUsage>, all: bool) -> Vec<String> {
        let mut parts = Vec::new();
        if let Some(resources) = resources(alloc, &self.name) {
            parts.push("Task Resources:".into());
            parts.push(resource_table(alloc, &resources, usage));
        }
        if let Some(usage) = usage {
            let devices = device_summaries(usage.device_stats.as_deref().unwrap_or_default());
            if !devices.is_empty() {
                parts.push("\nDevice Stats".into());
                let lines: Vec<String> = devices.iter().map(|(name, value)| format!("{name}|{value}")).collect();
                parts.push(table(&lines, Form::List));
            }
            if all {
                parts.extend(["\nMemory Stats".to_string(), memory_table(&usage.memory_stats)]);
                parts.extend(["\nCPU Stats".to_string(), cpu_table(&usage.cpu_stats)]);
                let blocks = device_blocks(usage.device_stats.as_deref().unwrap_or_default());
                if !blocks.is_empty() {
                    parts.extend(["\nDevice Stats".to_string(), blocks.join("\n\n")]);
                }
            }
        }
        parts.push(String::new());
        parts
    }

    /// When the task ran, and its events.
    pub(super) fn history(&self, zone: &TimeZone) -> String {
        let time = |time: Time| match written_time(time) {
            text if text.is_empty() => "N/A".to_string(),
            text => text,
        };
        let summary = pairs(&[
            ("Started At", time(self.state.started_at)),
            ("Finished At", time(self.state.finished_at)),
            ("Total Restarts", self.state.restarts.to_string()),
            ("Last Restart", time(self.state.last_restart)),
        ]);
        let mut lines = vec!["Time|Type|Description".to_string()];
        let events: Vec<_> = self.state.events.iter().collect();
        let row = |e: &TaskEvent| format!("{}|{}|{}", values::time(e.time, zone), e.r#type, describe(e));
        lines.extend(events.iter().rev().map(row));
        format!("Task Events:\n{summary}\n\nRecent Events:\n{}", table(&lines, Form::List))
    }
}

/// The resources allocated to a task. Servers write them in two forms; the older form takes precedence.
fn resources<'a>(alloc: &'a Allocation, task: &str) -> Option<Cow<'a, Resources>> {
    if let Some(resources) = alloc.task_resources.get(task) {
        return Some(Cow::Borrowed(resources));
    }
    let given = alloc.allocated_resources.as_ref()?.tasks.get(task)?;
    Some(Cow::Owned(Resources {
        cpu: given.cpu.cpu_shares,
        cores: i64::try_from(given.cpu.reserved_cores.len()).unwrap_or(i64::MAX),
        memory_mb: given.memory.memory_mb,
        memory_max_mb: given.memory.memory_max_mb,
        networks: given.networks.clone(),
        ..Resources::default()
    }))
}

fn resource_table(alloc: &Allocation, resources: &Resources, usage: Option<&ResourceUsage>) -> String {
    let disk = match &alloc.resources {
        Some(resources) => resources.disk_mb,
        None => alloc.allocated_resources.as_ref().map_or(0, |r| r.shared.disk_mb),
    };
    let (mut cpu, mut memory) = (format!("{} MHz", resources.cpu), values::megabytes(resources.memory_mb));
    if let Some(usage) = usage {
        let stats = &usage.memory_stats;
        let measured = stats.measured.iter().any(|name| name == "RSS");
        let used = if stats.rss == 0 && !measured { stats.usage } else { stats.rss };
        cpu = format!("{}/{cpu}", whole(usage.cpu_stats.total_ticks));
        memory = format!("{}/{memory}", values::bytes(used));
    }
    let cores = if resources.cores > 0 { format!(" ({} cores)", resources.cores) } else { String::new() };
    let max = resources.memory_max_mb;
    let max =
        if max > 0 && max != resources.memory_mb { format!("Max: {}", values::megabytes(max)) } else { String::new() };
    let mut addresses = addresses(&resources.networks).into_iter();
    let first = addresses.next().unwrap_or_default();
    let mut lines = vec![
        format!("CPU{cores}|Memory|Disk|Addresses"),
        format!("{cpu}|{memory}|{}|{first}", values::megabytes(disk)),
    ];
    let second = addresses.next();
    if !max.is_empty() || second.is_some() {
        lines.push(format!("|{max}||{}", second.unwrap_or_default()));
    }
    lines.extend(addresses.map(|address| format!("|||{address}")));
    table(&lines, Form::Spaced)
}

fn addresses(networks: &[NetworkResource]) -> Vec<String> {
    let ports = networks.iter().flat_map(|n| n.dynamic_ports.iter().chain(&n.reserved_ports).map(move |p| (n, p)));
    ports.map(|(network, port)| format!("{}: {}", port.label, endpoint(network, port.value))).collect()
}

/// The volumes that a task mounts: tables, each followed by an empty line.
pub(super) fn volumes(c: &Connection, alloc: &Allocation, task: &TaskView<'_>, verbose: bool) -> Vec<String> {
    let group = alloc.job.as_ref().and_then(|job| job.lookup_group(&alloc.task_group));
    let Some(requested) = group.and_then(|g| g.volumes.as_ref()) else { return Vec::new() };
    let mounts = task.of_job.map(|t| t.volume_mounts.as_slice()).unwrap_or_default();
    let of_type = |kind: &str| {
        let mut found: Vec<(&VolumeRequest, bool)> = mounts
            .iter()
            .filter_map(|m| requested.get(&m.volume).map(|v| (v, v.read_only || m.read_only)))
            .filter(|(volume, _)| volume.r#type == kind)
            .collect();
        found.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        found
    };
    let mut parts = Vec::new();
    for (kind, heading) in [("host", "Host Volumes:"), ("csi", "CSI Volumes:")] {
        let found = of_type(kind);
        if found.is_empty() {
            continue;
        }
        let text = if kind == "csi" && verbose { csi_table(c, alloc, &found) } else { volume_table(alloc, &found) };
        parts.push(format!("{heading}\n{text}\n"));
    }
    parts
}

/// The ID of a volume, which may be specific to the allocation.
fn source(alloc: &Allocation, volume: &VolumeRequest) -> String {
    if volume.per_alloc { format!("{}[{}]", volume.source, alloc.index()) } else { volume.source.clone() }
}

fn volume_table(alloc: &Allocation, volumes: &[(&VolumeRequest, bool)]) -> String {
    let rows = volumes.iter().map(|(volume, read_only)| format!("{}|{read_only}", source(alloc, volume)));
    table(&headed("ID|Read Only", rows), Form::List)
}

fn csi_table(c: &Connection, alloc: &Allocation, volumes: &[(&VolumeRequest, bool)]) -> String {
    let mut lines = vec!["Name|ID|Plugin|Provider|Schedulable|Read Only|Mount Options".to_string()];
    for (volume, read_only) in volumes {
        let id = source(alloc, volume);
        let stored = c.wait(c.client.csi_volume(&alloc.namespace, &id)).map(|(v, _)| v).unwrap_or_default();
        let options = volume.mount_options.as_ref().or(stored.mount_options.as_ref());
        let options = options.map(mount_options).unwrap_or_default();
        lines.push(format!(
            "{}|{id}|{}|{}|{}|{read_only}|{options}",
            volume.name, stored.plugin_id, stored.provider, stored.schedulable
        ));
    }
    table(&lines, Form::List)
}

/// The options of a mount. The flags may contain secrets, so only that there are some is shown.
pub(crate) fn mount_options(options: &encamp_model::CsiMountOptions) -> String {
    let kind = Some(&options.fs_type).filter(|t| !t.is_empty()).map(|t| format!("fs_type: {t}"));
    let flags = (!options.mount_flags.is_empty()).then(|| "flags: [REDACTED]".to_string());
    kind.into_iter().chain(flags).collect::<Vec<_>>().join(" ")
}
