//! Tasks, in the order in which their parts are checked (`docs/spec/jobspec.md §14.13`), and their resources and logs.

use super::constraint::{affinities, affinity, constraint};
use super::errors::Errors;
use super::{service, task_blocks, task_files, volume};
use encamp_model::quoted;
use encamp_model::{JobType, LogConfig, RequestedDevice, Resources, Task, TaskGroup, format_duration};

/// Constraints that only make sense for a whole group or job.
const DISTINCT: [&str; 2] = ["distinct_hosts", "distinct_property"];

/// The errors of one task.
pub(super) fn task(t: &Task, group: &TaskGroup, job_type: &JobType) -> Vec<String> {
    let mut errors = Errors::default();
    name(&mut errors, &t.name);
    errors.add_if(t.driver.is_empty(), "Missing task driver");
    errors.add_if(t.kill_timeout < 0, "KillTimeout must be a positive value");
    let progress = group.update.as_ref().map_or(0, |u| u.progress_deadline);
    errors.add_if(
        *job_type == JobType::Service && t.kill_timeout >= 0 && progress > 0 && t.kill_timeout > progress,
        format_args!(
            "KillTimout ({}) longer than the group's ProgressDeadline ({})",
            format_duration(t.kill_timeout),
            format_duration(progress)
        ),
    );
    errors.add_if(t.shutdown_delay < 0, "ShutdownDelay must be a positive value");
    errors.nest("", t.resources.as_ref().map(resources).unwrap_or_default());
    let disk = group.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb);
    errors.nest("", t.log_config.as_ref().map(|l| logs(l, disk)).unwrap_or_default());
    for (i, c) in t.constraints.iter().enumerate().map(|(i, c)| (i + 1, c)) {
        errors.nest(format_args!("Constraint {i} validation failed: "), constraint(c));
        errors.add_if(
            DISTINCT.contains(&c.operand.as_str()),
            format_args!("Constraint {i} has disallowed Operand at task level: {}", c.operand),
        );
    }
    affinities(&mut errors, &t.affinities, job_type);
    errors.nest("", service::task_services(t, group));
    for (i, a) in t.artifacts.iter().enumerate() {
        errors.nest(format_args!("Artifact {} validation failed: ", i + 1), task_files::artifact(a));
    }
    if let Some(v) = &t.vault {
        errors.nest("Vault validation failed: ", task_blocks::vault(v));
    }
    task_files::templates(&mut errors, t);
    task_blocks::actions(&mut errors, &t.actions);
    if let Some(p) = &t.dispatch_payload {
        task_files::dispatch_payload(&mut errors, p);
    }
    if let Some(l) = &t.lifecycle {
        task_blocks::lifecycle(&mut errors, l);
    }
    task_blocks::connect_proxy(&mut errors, t, group);
    volume::mounts(&mut errors, t, group);
    if let Some(c) = &t.csi_plugin_config {
        task_blocks::csi_plugin(&mut errors, c);
    }
    task_blocks::identities(&mut errors, t);
    task_blocks::secrets(&mut errors, t);
    errors.into_items()
}

fn name(errors: &mut Errors, name: &str) {
    errors.add_if(name.is_empty(), "Missing task name");
    errors.add_if(name == "alloc", "Task cannot be named \"alloc\"");
    if name.contains(['/', '\\']) {
        errors.add("Task name cannot include slashes");
    } else {
        errors.add_if(name.contains('\0'), "Task name cannot include null characters");
    }
}

fn resources(r: &Resources) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(r.cores > 0 && r.cpu > 0, "Task can only ask for 'cpu' or 'cores' resource, not both.");
    errors.add_if(r.cores < 0, format_args!("cores value ({}) cannot be negative", r.cores));
    let mut minimum = Errors::default();
    minimum.add_if(r.cores == 0 && r.cpu < 1, format_args!("minimum CPU value is 1; got {}", r.cpu));
    minimum.add_if(r.memory_mb < 10, format_args!("minimum MemoryMB value is 10; got {}", r.memory_mb));
    errors.nest("", minimum.into_items());
    for (i, d) in r.devices.iter().enumerate() {
        errors.nest(format_args!("device {} failed validation: ", i + 1), device(d));
    }
    if let Some(numa) = &r.numa {
        for d in numa.devices.iter().filter(|d| !r.devices.iter().any(|requested| requested.name == **d)) {
            errors.add(format!("numa device {} not requested as task resource", quoted(d)));
        }
        errors.add_if(
            !matches!(numa.affinity.as_str(), "none" | "prefer" | "require"),
            "numa affinity must be one of none, prefer, or require",
        );
    }
    errors.add_if(
        !matches!(r.memory_max_mb, 0 | -1) && r.memory_max_mb < r.memory_mb,
        format_args!("MemoryMaxMB value ({}) should be larger than MemoryMB value ({})", r.memory_max_mb, r.memory_mb),
    );
    errors.add_if(
        r.secrets_mb > r.memory_mb,
        format_args!("SecretsMB value ({}) cannot be larger than MemoryMB value ({})", r.secrets_mb, r.memory_mb),
    );
    errors.add_if(r.secrets_mb < 0, format_args!("SecretsMB value ({}) cannot be negative", r.secrets_mb));
    errors.into_items()
}

fn device(d: &RequestedDevice) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(
        d.name.is_empty(),
        "device name must be given as one of the following: type, vendor/type, or vendor/type/name",
    );
    for (i, c) in d.constraints.iter().enumerate().map(|(i, c)| (i + 1, c)) {
        if DISTINCT.contains(&c.operand.as_str()) {
            errors.add(format!("Constraint {i} validation failed: using unsupported operand {}", quoted(&c.operand)));
        } else {
            errors.nest(format_args!("Constraint {i} validation failed: "), constraint(c));
        }
    }
    for (i, a) in d.affinities.iter().enumerate() {
        errors.nest(format_args!("Affinity {} validation failed: ", i + 1), affinity(a));
    }
    errors.into_items()
}

/// `disk` is the group's ephemeral disk in MB, which holds the logs.
fn logs(l: &LogConfig, disk: i64) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(l.max_files < 1, format_args!("minimum number of files is 1; got {}", l.max_files));
    errors.add_if(l.max_file_size_mb < 1, format_args!("minimum file size is 1MB; got {}", l.max_file_size_mb));
    let total = i128::from(l.max_files) * i128::from(l.max_file_size_mb);
    errors.add_if(
        total >= i128::from(disk),
        format_args!("log storage ({total} MB) must be less than requested disk capacity ({disk} MB)"),
    );
    errors.into_items()
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{Affinity, Constraint, EphemeralDisk, MINUTE, Numa, SECOND, UpdateStrategy};

    fn good() -> Task {
        Task {
            name: "t".into(),
            driver: "mock".into(),
            kill_timeout: 5 * SECOND,
            resources: Some(Resources { cpu: 100, memory_mb: 300, ..Resources::default() }),
            log_config: Some(LogConfig { max_files: 10, max_file_size_mb: 10, disabled: false }),
            ..Task::default()
        }
    }

    fn group() -> TaskGroup {
        TaskGroup {
            ephemeral_disk: Some(EphemeralDisk { size_mb: 300, ..EphemeralDisk::default() }),
            update: Some(UpdateStrategy { progress_deadline: MINUTE, ..UpdateStrategy::default() }),
            ..TaskGroup::default()
        }
    }

    #[test]
    fn task_texts() {
        let named = |name: &str| Task { name: name.into(), ..good() };
        let constrained = |operand: &str| Task {
            constraints: vec![Constraint { ltarget: "${attr.x}".into(), operand: operand.into(), rtarget: "1".into() }],
            ..good()
        };
        for (t, want) in [
            (good(), vec![]),
            (named(""), vec!["Missing task name"]),
            (named("alloc"), vec!["Task cannot be named \"alloc\""]),
            (named("a/b"), vec!["Task name cannot include slashes"]),
            (named("a\\b"), vec!["Task name cannot include slashes"]),
            (named("a\0"), vec!["Task name cannot include null characters"]),
            (Task { driver: "".into(), ..good() }, vec!["Missing task driver"]),
            (Task { kill_timeout: -1, ..good() }, vec!["KillTimeout must be a positive value"]),
            (
                Task { kill_timeout: 2 * MINUTE, ..good() },
                vec!["KillTimout (2m0s) longer than the group's ProgressDeadline (1m0s)"],
            ),
            (Task { kill_timeout: MINUTE, ..good() }, vec![]),
            (Task { shutdown_delay: -1, ..good() }, vec!["ShutdownDelay must be a positive value"]),
            (constrained("="), vec![]),
            (constrained("distinct_hosts"), vec!["Constraint 1 has disallowed Operand at task level: distinct_hosts"]),
            (
                constrained("distinct_property"),
                vec!["Constraint 1 has disallowed Operand at task level: distinct_property"],
            ),
        ] {
            assert_eq!(task(&t, &group(), &JobType::Service), want, "{t:?}");
        }
        assert!(task(&Task { kill_timeout: 2 * MINUTE, ..good() }, &group(), &JobType::Batch).is_empty());
        let wanting = Task { affinities: vec![Affinity::default()], ..good() };
        assert_eq!(task(&wanting, &group(), &JobType::System), ["System jobs may not have an affinity block"]);
    }

    #[test]
    fn resources_and_logs_are_one_item_each() {
        let t = Task {
            resources: Some(Resources::default()),
            log_config: Some(LogConfig { max_files: 3, max_file_size_mb: 100, disabled: true }),
            ..good()
        };
        assert_eq!(
            task(&t, &group(), &JobType::Service),
            [
                "1 error occurred:\n\t* 2 errors occurred:\n\t* minimum CPU value is 1; got 0\n\t* minimum MemoryMB \
                 value is 10; got 0\n\n\n\n",
                "1 error occurred:\n\t* log storage (300 MB) must be less than requested disk capacity (300 MB)\n\n",
            ]
        );
    }

    #[test]
    fn resource_texts() {
        let r = |cpu, cores, memory_mb| Resources { cpu, cores, memory_mb, ..Resources::default() };
        let none: [&str; 0] = [];
        assert_eq!(resources(&r(0, 2, 10)), none);
        assert_eq!(resources(&r(1, 1, 10)), ["Task can only ask for 'cpu' or 'cores' resource, not both."]);
        assert_eq!(resources(&r(0, -1, 10)), ["cores value (-1) cannot be negative"]);
        assert_eq!(resources(&Resources { memory_max_mb: -1, ..r(1, 0, 10) }), none);
        assert_eq!(
            resources(&Resources { memory_max_mb: 5, secrets_mb: 11, ..r(1, 0, 10) }),
            [
                "MemoryMaxMB value (5) should be larger than MemoryMB value (10)",
                "SecretsMB value (11) cannot be larger than MemoryMB value (10)",
            ]
        );
        assert_eq!(
            resources(&Resources { secrets_mb: -1, ..r(1, 0, 10) }),
            ["SecretsMB value (-1) cannot be negative"]
        );
        let numa = Some(Numa { affinity: "maybe".into(), devices: vec!["gpu".into(), "fpga".into()] });
        let gpu = RequestedDevice { name: "gpu".into(), count: 1, ..RequestedDevice::default() };
        assert_eq!(
            resources(&Resources { numa, devices: vec![gpu, RequestedDevice::default()], ..r(1, 0, 10) }),
            [
                "device 2 failed validation: 1 error occurred:\n\t* device name must be given as one of the following: \
                 type, vendor/type, or vendor/type/name\n\n",
                "numa device \"fpga\" not requested as task resource",
                "numa affinity must be one of none, prefer, or require",
            ]
        );
    }

    #[test]
    fn device_texts() {
        let c = |operand: &str| Constraint {
            ltarget: "${device.attr.x}".into(),
            operand: operand.into(),
            rtarget: "1".into(),
        };
        let d = RequestedDevice {
            name: "gpu".into(),
            count: 1,
            constraints: vec![c("distinct_hosts"), c("distinct_property"), c("bogus"), c("=")],
            affinities: vec![Affinity {
                ltarget: "${device.attr.x}".into(),
                operand: "=".into(),
                rtarget: "1".into(),
                weight: 0,
            }],
        };
        assert_eq!(
            device(&d),
            [
                "Constraint 1 validation failed: using unsupported operand \"distinct_hosts\"",
                "Constraint 2 validation failed: using unsupported operand \"distinct_property\"",
                "Constraint 3 validation failed: 1 error occurred:\n\t* Unknown constraint type \"bogus\"\n\n",
                "Affinity 1 validation failed: 1 error occurred:\n\t* Affinity weight cannot be zero\n\n",
            ]
        );
    }

    #[test]
    fn log_texts() {
        let l = |max_files, max_file_size_mb| LogConfig { max_files, max_file_size_mb, disabled: false };
        assert_eq!(logs(&l(0, 0), 10), ["minimum number of files is 1; got 0", "minimum file size is 1MB; got 0"]);
        assert_eq!(logs(&l(2, 5), 10), ["log storage (10 MB) must be less than requested disk capacity (10 MB)"]);
        assert!(logs(&l(2, 5), 11).is_empty());
    }
}
