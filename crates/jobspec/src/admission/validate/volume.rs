//! Volumes of groups and volume mounts of tasks (`docs/spec/jobspec.md §14.11`).

use super::errors::{Errors, error_list};
use encamp_model::quoted;
use encamp_model::{JobType, Task, TaskGroup, VolumeAccessMode, VolumeMount, VolumeRequest};

pub(super) fn volumes(errors: &mut Errors, group: &TaskGroup, job_type: &JobType) {
    let canaries = group.update.as_ref().map_or(0, |u| u.canary);
    for (name, v) in group.volumes.iter().flatten() {
        errors.nest(
            format_args!("Task group volume validation for {name} failed: "),
            volume(v, job_type, group.count, canaries),
        );
    }
}

fn volume(v: &VolumeRequest, job_type: &JobType, count: i64, canaries: i64) -> Vec<String> {
    use VolumeAccessMode::*;
    let mut errors = Errors::default();
    let known = matches!(v.r#type.as_str(), "host" | "csi");
    errors.add_if(!known, format_args!("volume has unrecognized type {}", v.r#type));
    errors.add_if(v.source.is_empty(), "volume has an empty source");
    if v.per_alloc {
        errors.add_if(
            matches!(job_type, JobType::System | JobType::Sysbatch),
            "volume cannot be per_alloc for system or sysbatch jobs",
        );
        errors.add_if(canaries > 0, "volume cannot be per_alloc when canaries are in use");
        errors.add_if(v.sticky, "volume cannot be per_alloc and sticky at the same time");
    }
    let mode = &v.access_mode;
    let must_be_read_only = format!("{mode} volumes must be read-only");
    match v.r#type.as_str() {
        "host" => {
            errors.add_if(v.mount_options.is_some(), "host volumes cannot have mount options");
            match mode {
                Unset | SingleNodeWriter | SingleNodeSingleWriter | SingleNodeMultiWriter => {}
                SingleNodeReaderOnly => errors.add_if(!v.read_only, must_be_read_only),
                MultiNodeReaderOnly | MultiNodeSingleWriter | MultiNodeMultiWriter | Other(_) => {
                    errors.add(format!("host volumes cannot be mounted with {mode} access mode"))
                }
            }
        }
        "csi" => {
            errors.add_if(v.attachment_mode.is_empty(), "CSI volumes must have an attachment mode");
            errors.add_if(
                v.attachment_mode == "block-device" && v.mount_options.is_some(),
                "block devices cannot have mount options",
            );
            let shared = count > 1 && !v.per_alloc;
            let only_one = |who: &str| format!("volume with {mode} access mode allows only one {who}");
            match mode {
                Unset => errors.add("CSI volumes must have an access mode"),
                SingleNodeReaderOnly => {
                    errors.add_if(!v.read_only, must_be_read_only);
                    errors.add_if(shared, only_one("reader"));
                }
                MultiNodeReaderOnly => errors.add_if(!v.read_only, must_be_read_only),
                SingleNodeWriter => errors.add_if(shared, only_one("reader or writer")),
                MultiNodeSingleWriter => errors.add_if(shared && !v.read_only, only_one("writer")),
                SingleNodeSingleWriter | SingleNodeMultiWriter | MultiNodeMultiWriter | Other(_) => {}
            }
        }
        _ => {}
    }
    errors.into_items()
}

/// Mounts of a task; they are numbered from 0.
pub(super) fn mounts(errors: &mut Errors, task: &Task, group: &TaskGroup) {
    for (i, m) in task.volume_mounts.iter().enumerate() {
        errors.add_if(
            !group.volumes.as_ref().is_some_and(|v| v.contains_key(&m.volume)),
            format_args!("Volume Mount ({i}) references undefined volume {}", m.volume),
        );
        let items = mount(m);
        errors.add_if(!items.is_empty(), format_args!("Volume Mount ({i}) is invalid: \"{}\"", error_list(&items)));
    }
}

fn mount(m: &VolumeMount) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(m.volume.is_empty(), "volume mount references an empty volume");
    errors.add_if(
        !matches!(m.propagation_mode.as_str(), "" | "private" | "host-to-task" | "bidirectional"),
        format_args!("volume mount has an invalid propagation mode: {}", quoted(&m.propagation_mode)),
    );
    errors.add_if(
        !matches!(m.selinux_label.as_str(), "" | "z" | "Z"),
        format_args!("volume mount has an invalid SELinux label: {}", quoted(&m.selinux_label)),
    );
    errors.into_items()
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{CsiMountOptions, UpdateStrategy};

    fn request(r#type: &str, access_mode: &str) -> VolumeRequest {
        VolumeRequest {
            r#type: r#type.into(),
            source: "x".into(),
            access_mode: access_mode.into(),
            attachment_mode: "file-system".into(),
            ..VolumeRequest::default()
        }
    }

    #[test]
    fn volume_texts() {
        let options = Some(CsiMountOptions::default());
        let host_mode = "host volumes cannot be mounted with multi-node-multi-writer access mode";
        for (v, job_type, count, canaries, want) in [
            (
                VolumeRequest::default(),
                JobType::Service,
                1,
                0,
                vec!["volume has unrecognized type ", "volume has an empty source"],
            ),
            (request("host", ""), JobType::Service, 5, 0, vec![]),
            (request("host", "multi-node-multi-writer"), JobType::Service, 1, 0, vec![host_mode]),
            (
                request("host", "single-node-reader-only"),
                JobType::Service,
                1,
                0,
                vec!["single-node-reader-only volumes must be read-only"],
            ),
            (
                VolumeRequest { per_alloc: true, sticky: true, mount_options: options.clone(), ..request("host", "") },
                JobType::Sysbatch,
                1,
                1,
                vec![
                    "volume cannot be per_alloc for system or sysbatch jobs",
                    "volume cannot be per_alloc when canaries are in use",
                    "volume cannot be per_alloc and sticky at the same time",
                    "host volumes cannot have mount options",
                ],
            ),
            (
                VolumeRequest { attachment_mode: "".into(), ..request("csi", "") },
                JobType::Service,
                1,
                0,
                vec!["CSI volumes must have an attachment mode", "CSI volumes must have an access mode"],
            ),
            (
                VolumeRequest {
                    attachment_mode: "block-device".into(),
                    mount_options: options,
                    ..request("csi", "single-node-writer")
                },
                JobType::Service,
                2,
                0,
                vec![
                    "block devices cannot have mount options",
                    "volume with single-node-writer access mode allows only one reader or writer",
                ],
            ),
            (
                request("csi", "single-node-reader-only"),
                JobType::Service,
                2,
                0,
                vec![
                    "single-node-reader-only volumes must be read-only",
                    "volume with single-node-reader-only access mode allows only one reader",
                ],
            ),
            (
                request("csi", "multi-node-reader-only"),
                JobType::Service,
                2,
                0,
                vec!["multi-node-reader-only volumes must be read-only"],
            ),
            (
                request("csi", "multi-node-single-writer"),
                JobType::Service,
                2,
                0,
                vec!["volume with multi-node-single-writer access mode allows only one writer"],
            ),
            (
                VolumeRequest { read_only: true, ..request("csi", "multi-node-single-writer") },
                JobType::Service,
                2,
                0,
                vec![],
            ),
            (VolumeRequest { per_alloc: true, ..request("csi", "single-node-writer") }, JobType::Service, 2, 0, vec![]),
            (request("csi", "multi-node-multi-writer"), JobType::Service, 2, 0, vec![]),
        ] {
            assert_eq!(volume(&v, &job_type, count, canaries), want, "{v:?}");
        }
    }

    #[test]
    fn volumes_are_named_and_see_the_canaries() {
        let group = TaskGroup {
            count: 1,
            update: Some(UpdateStrategy { canary: 1, ..UpdateStrategy::default() }),
            volumes: Some([("v".to_string(), VolumeRequest { per_alloc: true, ..request("host", "") })].into()),
            ..TaskGroup::default()
        };
        let mut errors = Errors::default();
        volumes(&mut errors, &group, &JobType::Service);
        assert_eq!(
            errors.into_items(),
            [
                "Task group volume validation for v failed: 1 error occurred:\n\t* volume cannot be per_alloc when canaries \
              are in use\n\n"
            ]
        );
    }

    #[test]
    fn mount_texts() {
        let group =
            TaskGroup { volumes: Some([("v".to_string(), request("host", ""))].into()), ..TaskGroup::default() };
        let mount = |volume: &str, mode: &str, label: &str| VolumeMount {
            volume: volume.into(),
            propagation_mode: mode.into(),
            selinux_label: label.into(),
            ..VolumeMount::default()
        };
        let task = Task {
            volume_mounts: vec![
                mount("v", "bidirectional", "Z"),
                mount("w", "sideways", "q"),
                mount("", "private", ""),
            ],
            ..Task::default()
        };
        let mut errors = Errors::default();
        mounts(&mut errors, &task, &group);
        assert_eq!(
            errors.into_items(),
            [
                "Volume Mount (1) references undefined volume w",
                "Volume Mount (1) is invalid: \"2 errors occurred:\n\t* volume mount has an invalid propagation mode: \
                 \"sideways\"\n\t* volume mount has an invalid SELinux label: \"q\"\n\n\"",
                "Volume Mount (2) references undefined volume ",
                "Volume Mount (2) is invalid: \"1 error occurred:\n\t* volume mount references an empty volume\n\n\"",
            ]
        );
    }
}
