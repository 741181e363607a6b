//! The structure of a job, from the top (`docs/spec/jobspec.md §14.5`), and the items that follow it (`§14.3`).

use std::collections::{BTreeMap, BTreeSet};

use super::constraint::{affinities, constraints, spreads};
use super::errors::Errors;
use super::group::{group, is_batch};
use crate::admission::ServerContext;
use encamp_model::cron::{Cron, time_zone};
use encamp_model::quoted;
use encamp_model::{Job, JobType, ParameterizedJobConfig, PeriodicConfig, Service};

/// Longest description in bytes.
const MAX_DESCRIPTION: usize = 1000;

/// The errors of the job's structure.
pub(super) fn structure(job: &Job) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(job.region.is_empty(), "Missing job region");
    match job.id.as_str() {
        "" => errors.add("Missing job ID"),
        id if id.contains(' ') => errors.add("Job ID contains a space"),
        id => errors.add_if(id.contains('\0'), "Job ID contains a null character"),
    }
    errors.add_if(job.name.is_empty(), "Missing job name");
    errors.add_if(job.name.contains('\0'), "Job Name contains a null character");
    errors.add_if(job.namespace.is_empty(), "Job must be in a namespace");
    match &job.r#type {
        JobType::Service | JobType::Batch | JobType::System | JobType::Sysbatch | JobType::Core => {}
        JobType::Unset => errors.add("Missing job type"),
        other @ JobType::Other(_) => errors.add(format!("Invalid job type: {}", quoted(other.as_str()))),
    }
    errors.add_if(job.datacenters.is_empty(), "Missing job datacenters");
    for dc in &job.datacenters {
        errors.add_if(dc.is_empty(), "Job datacenter must be non-empty string");
    }
    errors.add_if(job.task_groups.is_empty(), "Missing job task groups");
    constraints(&mut errors, &job.constraints);
    affinities(&mut errors, &job.affinities, &job.r#type);
    spreads(&mut errors, &job.spreads, &job.r#type);
    let descriptions = [
        ("UI", job.ui.as_ref().map(|u| &u.description)),
        ("Tagged version", job.version_tag.as_ref().map(|t| &t.description)),
    ];
    for (what, length) in descriptions.into_iter().filter_map(|(what, d)| Some((what, d?.len()))) {
        errors.add_if(
            length > MAX_DESCRIPTION,
            format_args!("{what} description must be under {MAX_DESCRIPTION} characters, currently {length}"),
        );
    }
    group_frames(&mut errors, job);
    for g in &job.task_groups {
        errors.nest(format_args!("Task group {} validation failed: ", g.name), group(g, &job.r#type));
    }
    let batch = is_batch(&job.r#type);
    if let Some(p) = job.periodic.as_ref().filter(|p| p.enabled) {
        errors.add_if(!batch, "Periodic can only be used with \"batch\" or \"sysbatch\" scheduler");
        errors.nest("", periodic(p));
    }
    if let Some(p) = &job.parameterized_job {
        errors.add_if(!batch, "Parameterized job can only be used with \"batch\" or \"sysbatch\" scheduler");
        errors.nest("", parameterized(p));
    }
    errors.add_if(job.multiregion.as_ref().is_some_and(|m| !m.regions.is_empty()), "Multiregion jobs are unlicensed.");
    errors.into_items()
}

/// The checks of a job's groups that need no look into a group.
fn group_frames(errors: &mut Errors, job: &Job) {
    let mut seen = BTreeMap::new();
    for (i, g) in job.task_groups.iter().enumerate().map(|(i, g)| (i + 1, g)) {
        if g.name.is_empty() {
            errors.add(format!("Job task group {i} missing name"));
        } else if let Some(other) = seen.get(&g.name) {
            errors.add(format!("Job task group {i} redefines '{}' from group {other}", g.name));
        } else {
            seen.insert(&g.name, i);
        }
        errors.add_if(g.shutdown_delay.is_some_and(|d| d < 0), "ShutdownDelay must be a positive value");
        errors.add_if(
            job.r#type == JobType::System && g.count > 1,
            format_args!(
                "Job task group {} has count {}. Count cannot exceed 1 with system scheduler",
                g.name, g.count
            ),
        );
    }
}

fn periodic(p: &PeriodicConfig) -> Vec<String> {
    let mut errors = Errors::default();
    let several = p.specs.as_ref().is_some_and(|s| !s.is_empty());
    errors.add_if(!p.spec.is_empty() && several, "Only cron or crons may be used");
    errors.add_if(p.spec.is_empty() && !several, "Must specify a spec");
    if let Err(e) = time_zone(&p.time_zone) {
        errors.add(format!("Invalid time zone {}: {e}", quoted(&p.time_zone)));
    }
    for spec in p.cron_specs() {
        if let Err(e) = Cron::parse(spec) {
            errors.add(format!("Invalid cron spec {}: {e}", quoted(spec)));
        }
    }
    errors.into_items()
}

fn parameterized(p: &ParameterizedJobConfig) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(
        !matches!(p.payload.as_str(), "optional" | "required" | "forbidden"),
        format_args!("Unknown payload requirement: {}", quoted(&p.payload)),
    );
    let required: BTreeSet<&String> = p.meta_required.iter().collect();
    let both: BTreeSet<&str> = p.meta_optional.iter().filter(|k| required.contains(k)).map(String::as_str).collect();
    if !both.is_empty() {
        let keys: Vec<&str> = both.into_iter().collect();
        errors.add(format!(
            "Required and optional meta keys should be disjoint. Following keys exist in both: [{}]",
            keys.join(" ")
        ));
    }
    errors.into_items()
}

/// The items of the validator `validate`: the structure, then what the server's settings say.
pub(super) fn validate(job: &Job, ctx: &ServerContext) -> Vec<String> {
    let mut errors = Errors::default();
    errors.flatten(structure(job));
    errors.add_if(job.r#type == JobType::Core, "job type cannot be core");
    errors.add_if(
        job.payload.as_ref().is_some_and(|p| !p.is_empty()),
        "job can't be submitted with a payload, only dispatched",
    );
    errors.add_if(
        !(1..=ctx.job_max_priority).contains(&job.priority),
        format_args!("job priority must be between [1, {}]", ctx.job_max_priority),
    );
    for g in &job.task_groups {
        unnamed_identities(&mut errors, &g.services, "task group", &g.name);
        for t in &g.tasks {
            unnamed_identities(&mut errors, &t.services, "task", &t.name);
            let Some(vault) = t.vault.as_ref().filter(|v| !matches!(v.cluster.as_str(), "" | "default")) else {
                continue;
            };
            let wanted = format!("vault_{}", vault.cluster);
            errors.add_if(
                !t.identities.iter().any(|i| i.name == wanted),
                format_args!(
                    "Task {} uses Vault cluster {} but does not have an identity named {wanted} and no default identity is \
                     provided in agent configuration",
                    t.name, vault.cluster
                ),
            );
        }
    }
    let total: i128 = job.task_groups.iter().map(|g| i128::from(g.count)).sum();
    errors.add_if(
        ctx.job_max_count > 0 && total > i128::from(ctx.job_max_count),
        format_args!("total count was greater than configured job_max_count: {total} > {}", ctx.job_max_count),
    );
    errors.into_items()
}

fn unnamed_identities(errors: &mut Errors, services: &[Service], kind: &str, owner: &str) {
    for s in services.iter().filter(|s| s.identity.as_ref().is_some_and(|i| i.name.is_empty())) {
        errors.add(format!("Service {} in {kind} {owner} has an identity with an empty name", s.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::validate::tests::good_job;
    use encamp_model::{
        Affinity, Bytes, Constraint, JobUiConfig, JobVersionTag, Multiregion, MultiregionRegion, Spread, Task,
        TaskGroup, Vault, WorkloadIdentity,
    };

    #[test]
    fn structure_texts() {
        type Case = (fn(&mut Job), &'static [&'static str]);
        let cases: &[Case] = &[
            (|_| {}, &[]),
            (|j| j.id = "a/b\t*".into(), &[]),
            (|j| j.region = "".into(), &["Missing job region"]),
            (|j| j.id = "".into(), &["Missing job ID"]),
            (|j| j.id = "a b\0".into(), &["Job ID contains a space"]),
            (|j| j.id = "a\0".into(), &["Job ID contains a null character"]),
            (|j| j.name = "".into(), &["Missing job name"]),
            (|j| j.name = "a\0".into(), &["Job Name contains a null character"]),
            (|j| j.namespace = "".into(), &["Job must be in a namespace"]),
            (|j| (j.r#type, j.task_groups) = ("".into(), vec![]), &["Missing job type", "Missing job task groups"]),
            (
                |j| (j.r#type, j.task_groups) = ("odd".into(), vec![]),
                &["Invalid job type: \"odd\"", "Missing job task groups"],
            ),
            (|j| j.datacenters = vec![], &["Missing job datacenters"]),
            (
                |j| j.datacenters = vec!["".into(), "dc1".into(), "".into()],
                &["Job datacenter must be non-empty string", "Job datacenter must be non-empty string"],
            ),
            (|j| j.task_groups = vec![], &["Missing job task groups"]),
            (
                |j| {
                    let ok = Constraint { ltarget: "x".into(), operand: "=".into(), rtarget: "x".into() };
                    j.constraints = vec![ok.clone(), Constraint { operand: "".into(), ..ok }];
                },
                &["Constraint 2 validation failed: 1 error occurred:\n\t* Missing constraint operand\n\n"],
            ),
            (
                |j| {
                    j.affinities =
                        vec![Affinity { ltarget: "x".into(), operand: "?".into(), weight: 1, ..Affinity::default() }];
                    j.spreads = vec![Spread { weight: 1, ..Spread::default() }];
                },
                &[
                    "Affinity 1 validation failed: 1 error occurred:\n\t* Unknown affinity operator \"?\"\n\n",
                    "Spread 1 validation failed: 1 error occurred:\n\t* Missing spread attribute\n\n",
                ],
            ),
            (
                |j| {
                    let description = "x".repeat(1001);
                    j.ui = Some(JobUiConfig { description: description.clone(), links: vec![] });
                    j.version_tag = Some(JobVersionTag { description, ..JobVersionTag::default() });
                },
                &[
                    "UI description must be under 1000 characters, currently 1001",
                    "Tagged version description must be under 1000 characters, currently 1001",
                ],
            ),
            (|j| j.ui = Some(JobUiConfig { description: "x".repeat(1000), links: vec![] }), &[]),
            (
                |j| j.task_groups.push(j.task_groups.first().cloned().unwrap_or_default()),
                &["Job task group 2 redefines 'g' from group 1"],
            ),
            (
                |j| j.task_groups.iter_mut().for_each(|g| g.name.clear()),
                &[
                    "Job task group 1 missing name",
                    "Task group  validation failed: 1 error occurred:\n\t* Missing task group name\n\n",
                ],
            ),
            (
                |j| j.task_groups.iter_mut().for_each(|g| g.shutdown_delay = Some(-1)),
                &["ShutdownDelay must be a positive value"],
            ),
            (
                |j| {
                    j.r#type = JobType::System;
                    for g in &mut j.task_groups {
                        (g.count, g.migrate, g.reschedule_policy) = (2, None, None);
                    }
                },
                &["Job task group g has count 2. Count cannot exceed 1 with system scheduler"],
            ),
            (
                |j| j.multiregion = Some(Multiregion { regions: vec![MultiregionRegion::default()], strategy: None }),
                &["Multiregion jobs are unlicensed."],
            ),
            (|j| j.multiregion = Some(Multiregion::default()), &[]),
            (
                |j| {
                    j.periodic = Some(PeriodicConfig { enabled: true, ..PeriodicConfig::default() });
                    j.parameterized_job = Some(ParameterizedJobConfig::default());
                },
                &[
                    "Periodic can only be used with \"batch\" or \"sysbatch\" scheduler",
                    "1 error occurred:\n\t* Must specify a spec\n\n",
                    "Parameterized job can only be used with \"batch\" or \"sysbatch\" scheduler",
                    "1 error occurred:\n\t* Unknown payload requirement: \"\"\n\n",
                ],
            ),
            (|j| j.periodic = Some(PeriodicConfig { spec: "x".into(), ..PeriodicConfig::default() }), &[]),
        ];
        for (change, want) in cases {
            let mut job = good_job();
            change(&mut job);
            assert_eq!(structure(&job), *want);
        }
    }

    #[test]
    fn periodic_texts() {
        let p = |spec: &str, specs: &[&str], zone: &str| {
            periodic(&PeriodicConfig {
                enabled: true,
                spec: spec.into(),
                specs: Some(specs.iter().map(|s| s.to_string()).collect()),
                time_zone: zone.into(),
                ..PeriodicConfig::default()
            })
        };
        let none: [&str; 0] = [];
        assert_eq!(p("@daily", &[], "UTC"), none);
        assert_eq!(p("", &["* * * * *", "0 0 L * * 2030"], "Europe/Berlin"), none);
        assert_eq!(p("", &[], ""), ["Must specify a spec"]);
        assert_eq!(
            p("every tuesday", &["61 * * * *", "* * * * *"], "Mars/Olympus"),
            [
                "Only cron or crons may be used",
                "Invalid time zone \"Mars/Olympus\": unknown time zone Mars/Olympus",
                "Invalid cron spec \"every tuesday\": missing field(s)",
                "Invalid cron spec \"61 * * * *\": syntax error in minute field: '61'",
            ]
        );
    }

    #[test]
    fn parameterized_texts() {
        let p = |payload: &str, required: &[&str], optional: &[&str]| {
            let list = |l: &[&str]| l.iter().map(|s| s.to_string()).collect();
            parameterized(&ParameterizedJobConfig {
                payload: payload.into(),
                meta_required: list(required),
                meta_optional: list(optional),
            })
        };
        for ok in ["optional", "required", "forbidden"] {
            assert!(p(ok, &["a"], &["b"]).is_empty());
        }
        assert_eq!(
            p("maybe", &["a", "b", "c"], &["c", "b"]),
            [
                "Unknown payload requirement: \"maybe\"",
                "Required and optional meta keys should be disjoint. Following keys exist in both: [b c]",
            ]
        );
    }

    #[test]
    fn texts_of_server_settings() {
        let ctx = ServerContext { job_max_count: 5, ..ServerContext::default() };
        let mut job = good_job();
        assert!(validate(&job, &ctx).is_empty());
        job.payload = Some(Bytes(b"x".to_vec()));
        job.priority = 101;
        let unnamed = Service {
            name: "s".into(),
            provider: "consul".into(),
            identity: Some(WorkloadIdentity { audience: vec!["x".into()], ..WorkloadIdentity::default() }),
            ..Service::default()
        };
        for g in &mut job.task_groups {
            g.services = vec![unnamed.clone()];
            g.count = 6;
            for t in &mut g.tasks {
                t.services = vec![Service { name: "u".into(), ..unnamed.clone() }];
                t.vault = Some(Vault { cluster: "eng".into(), change_mode: "noop".into(), ..Vault::default() });
            }
        }
        let text = "Task t uses Vault cluster eng but does not have an identity named vault_eng and no default identity is \
                    provided in agent configuration";
        assert_eq!(
            validate(&job, &ctx),
            [
                "job can't be submitted with a payload, only dispatched",
                "job priority must be between [1, 100]",
                "Service s in task group g has an identity with an empty name",
                "Service u in task t has an identity with an empty name",
                text,
                "total count was greater than configured job_max_count: 6 > 5",
            ]
        );
        job.priority = 0;
        let unlimited = ServerContext { job_max_priority: 200, job_max_count: 0, ..ctx };
        let items = validate(&job, &unlimited);
        assert!(items.contains(&"job priority must be between [1, 200]".to_string()));
        assert!(!items.iter().any(|i| i.contains("job_max_count")));
        for g in &mut job.task_groups {
            for t in &mut g.tasks {
                t.identities = vec![WorkloadIdentity { name: "vault_eng".into(), ..WorkloadIdentity::default() }];
            }
        }
        assert!(!validate(&job, &unlimited).contains(&text.to_string()));
    }

    #[test]
    fn core_jobs_are_refused() {
        let mut job = good_job();
        job.r#type = JobType::Core;
        job.task_groups = vec![TaskGroup { tasks: vec![Task::default()], ..TaskGroup::default() }];
        assert!(validate(&job, &ServerContext::default()).contains(&"job type cannot be core".to_string()));
    }
}
