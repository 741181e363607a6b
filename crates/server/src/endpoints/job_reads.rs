//! Read calls for jobs (`docs/spec/http-api.md §5.2`), computed from the store only.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use encamp_jobspec::diff::{DiffError, diff_jobs};
use encamp_model::responses::*;
use encamp_model::*;
use encamp_state::{AllocEntry, StateStore, Table};

/// The job in API format: with its payload decompressed.
pub fn shown(job: &Arc<Job>) -> Arc<Job> {
    match &job.payload {
        Some(_) => Arc::new(Job { payload: job.uncompressed_payload(), ..Job::clone(job) }),
        None => job.clone(),
    }
}

/// The allocations of a job, ordered by ID: of all jobs registered under that name, or only of the current
/// registration.
pub fn allocations(store: &StateStore, namespace: &str, id: &str, all: bool) -> Vec<Arc<AllocEntry>> {
    let incarnation = store.state().job(namespace, id).map(|j| j.create_index);
    let mut found = store.state().allocs_of_job(namespace, id);
    if let Some(created) = incarnation.filter(|_| !all) {
        found.retain(|a| a.alloc.job.as_ref().is_none_or(|j| j.create_index == created));
    }
    found
}

/// The deployments of a job, ordered by ID: of all jobs registered under that name, or only of the current
/// registration.
pub fn deployments(store: &StateStore, namespace: &str, id: &str, all: bool) -> Vec<Arc<Deployment>> {
    let incarnation = store.state().job(namespace, id).map(|j| j.create_index);
    let mut found = store.state().deployments_of_job(namespace, id);
    if let Some(created) = incarnation.filter(|_| !all) {
        found.retain(|d| d.job_create_index == created);
    }
    found
}

/// The newest deployment of the current registration of a job.
pub fn latest_deployment(store: &StateStore, namespace: &str, id: &str) -> Option<Arc<Deployment>> {
    deployments(store, namespace, id, false).into_iter().max_by_key(|d| d.create_index)
}

/// The version that other versions are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The previous version of each.
    Previous,
    /// The version with a tag.
    Tag(String),
    /// The version with a number.
    Version(u64),
}

/// The versions of a job, newest first, and their diffs.
pub type Versions = (Vec<Arc<Job>>, Option<Vec<JobDiff>>);

/// Why the versions of a job cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum VersionsError {
    /// There is no version with the number.
    #[error("version {0} not found")]
    VersionNotFound(u64),
    /// There is no version with the tag.
    #[error("tag {} not found", quoted(.0))]
    TagNotFound(String),
    /// Two versions cannot be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
}

/// The versions of a job, newest first, and their diffs if requested.
///
/// # Errors
/// See [`VersionsError`].
pub fn versions(
    store: &StateStore,
    namespace: &str,
    id: &str,
    diffs: Option<&Base>,
) -> Result<Option<Versions>, VersionsError> {
    let Some(entry) = store.state().job_entry(namespace, id) else { return Ok(None) };
    let versions: Vec<Arc<Job>> = entry.versions.values().rev().map(shown).collect();
    let diff = |old: &Job, new: &Job| diff_jobs(Some(old), Some(new), true).map_err(VersionsError::from);
    let against =
        |base: &Job| -> Result<Vec<JobDiff>, VersionsError> { versions.iter().map(|v| diff(base, v)).collect() };
    let diffs = match diffs {
        None => None,
        Some(Base::Previous) => {
            let pairs = versions.iter().zip(versions.iter().skip(1));
            let diffs: Result<Vec<_>, _> = pairs.map(|(new, old)| diff(old, new)).collect();
            Some(diffs?)
        }
        Some(Base::Version(n)) => {
            let base = versions.iter().find(|v| v.version == *n);
            Some(against(base.ok_or(VersionsError::VersionNotFound(*n))?)?)
        }
        Some(Base::Tag(name)) => {
            let base = versions.iter().find(|v| v.version_tag.as_ref().is_some_and(|t| t.name == *name));
            Some(against(base.ok_or_else(|| VersionsError::TagNotFound(name.clone()))?)?)
        }
    };
    Ok(Some((versions, diffs)))
}

/// The source of a version in API format: with URL-decoded variable values.
pub fn submission(store: &StateStore, namespace: &str, id: &str, version: u64) -> Option<JobSubmission> {
    let stored = store.submission(namespace, id, version)?;
    let mut out = JobSubmission::clone(stored);
    for value in out.variable_flags.values_mut() {
        if let Some(plain) = unescaped(value) {
            *value = plain.into_owned();
        }
    }
    Some(out)
}

/// URL-decodes a query value; `None` if it is not properly encoded.
fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let is_escape =
        |rest: &str| rest.as_bytes().first_chunk::<2>().is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8().ok().map(|plain| Cow::Owned(plain.into_owned()))
}

/// Counts and scaling events, and the index of the answer.
pub fn scale_status(store: &StateStore, namespace: &str, id: &str) -> (u64, Option<JobScaleStatus>) {
    let events = store.scaling_events(namespace, id);
    let Some(job) = store.state().job(namespace, id) else {
        let tables = [Table::Jobs, Table::Allocs, Table::ScalingEvent];
        return (tables.into_iter().map(|t| store.index_of(t)).max().unwrap_or_default(), None);
    };
    let mut index = job.modify_index.max(events.map_or(0, |e| e.modify_index));
    let group = |g: &TaskGroup| TaskGroupScaleStatus {
        desired: g.count,
        events: events.and_then(|e| e.scaling_events.get(&g.name)).cloned().unwrap_or_default(),
        ..Default::default()
    };
    let mut groups: BTreeMap<String, _> = job.task_groups.iter().map(|g| (g.name.clone(), group(g))).collect();
    for entry in store.state().allocs_of_job(namespace, id) {
        let a = &entry.alloc;
        index = index.max(a.modify_index);
        let Some(g) = groups.get_mut(&a.task_group).filter(|_| !a.terminal()) else { continue };
        g.placed += 1;
        g.running += i64::from(a.client_status == ClientStatus::Running);
        g.healthy += i64::from(a.health() == Some(true));
        g.unhealthy += i64::from(a.health() == Some(false));
    }
    let status = JobScaleStatus {
        job_id: job.id.clone(),
        namespace: job.namespace.clone(),
        job_create_index: job.create_index,
        job_modify_index: job.modify_index,
        job_stopped: job.stop,
        task_groups: groups,
    };
    (index, Some(status))
}

/// The actions of a job's tasks.
pub fn actions(job: &Job) -> Vec<JobAction> {
    let mut out = Vec::new();
    for g in &job.task_groups {
        for t in &g.tasks {
            out.extend(t.actions.iter().map(|a| JobAction {
                name: a.name.clone(),
                command: a.command.clone(),
                args: a.args.clone(),
                task_name: t.name.clone(),
                task_group_name: g.name.clone(),
            }));
        }
    }
    out
}

/// The status summary of a job, and the highest ModifyIndex of the objects in it.
pub fn status(store: &StateStore, job: &Job) -> (u64, JobStatusesJob) {
    let mut index = job.modify_index;
    let mut out = JobStatusesJob {
        id: job.id.clone(),
        namespace: job.namespace.clone(),
        name: job.name.clone(),
        r#type: job.r#type.clone(),
        node_pool: job.node_pool.clone(),
        datacenters: job.datacenters.clone(),
        priority: job.priority,
        version: job.version,
        submit_time: job.submit_time,
        modify_index: job.modify_index,
        group_count_sum: job.task_groups.iter().fold(0, |n, g| n.saturating_add(g.count)),
        parent_id: job.parent_id.clone(),
        stop: job.stop,
        is_pack: job.meta.contains_key("pack.name"),
        status: job.status.clone(),
        ..Default::default()
    };
    if job.launches_others() {
        let children = store.children(&job.namespace, &job.id);
        let statuses = children.map(|c| {
            index = index.max(c.modify_index);
            c.status.clone()
        });
        out.child_statuses = Some(statuses.collect());
        return (index, out);
    }
    for entry in store.state().allocs_of_job(&job.namespace, &job.id) {
        let a = &entry.alloc;
        index = index.max(a.modify_index);
        out.allocs.push(JobStatusesAlloc {
            id: a.id.clone(),
            group: a.task_group.clone(),
            client_status: a.client_status.clone(),
            node_id: a.node_id.clone(),
            deployment_status: JobStatusesDeployment { canary: a.is_canary(), healthy: a.health() },
            job_version: a.job_version().unwrap_or_default(),
            followup_eval_id: a.followup_eval_id.clone(),
            has_paused_task: a
                .task_states
                .without_events()
                .any(|t| matches!(t.paused.as_str(), "pause" | "scheduled_pause")),
        });
    }
    out.latest_deployment = store.state().latest_deployment(&job.namespace, &job.id).map(|d| {
        index = index.max(d.modify_index);
        JobStatusesLatestDeployment {
            id: d.id.clone(),
            is_active: d.active(),
            job_version: d.job_version,
            status: d.status.clone(),
            status_description: d.status_description.clone(),
            all_auto_promote: d.has_auto_promote(),
            requires_promotion: d.requires_promotion(),
        }
    });
    (index, out)
}

/// The service registrations of a job.
pub fn services(store: &StateStore, namespace: &str, id: &str) -> Vec<Arc<ServiceRegistration>> {
    store.services().filter(|s| s.namespace == namespace && s.job_id == id).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(version: u64, priority: i64) -> Job {
        Job {
            namespace: "n".into(),
            id: "j".into(),
            name: "j".into(),
            version,
            priority,
            create_index: 5,
            modify_index: 10 + version,
            ..Default::default()
        }
    }

    #[test]
    fn versions_and_their_diffs() {
        let mut store = StateStore::new();
        let tag = JobVersionTag { name: "first".into(), ..Default::default() };
        store.put_job(Arc::new(Job { version_tag: Some(tag), ..job(0, 10) }));
        store.put_job(Arc::new(job(1, 20)));
        store.put_job(Arc::new(job(2, 20)));
        let types = |base: Option<Base>| {
            let (v, d) = versions(&store, "n", "j", base.as_ref()).unwrap().unwrap();
            assert_eq!(v.iter().map(|j| j.version).collect::<Vec<_>>(), [2, 1, 0]);
            d.map(|d| d.into_iter().map(|d| d.r#type).collect::<Vec<_>>())
        };
        use encamp_model::DiffType::{Edited, None as Same};
        let list = |l: &[DiffType]| Some(l.to_vec());
        assert_eq!(types(None), None);
        assert_eq!(types(Some(Base::Previous)), list(&[Same, Edited]));
        assert_eq!(types(Some(Base::Version(0))), list(&[Edited, Edited, Same]));
        assert_eq!(types(Some(Base::Tag("first".into()))), list(&[Edited, Edited, Same]));
        let text = |base: Base| versions(&store, "n", "j", Some(&base)).unwrap_err().to_string();
        assert_eq!(text(Base::Version(9)), "version 9 not found");
        assert_eq!(text(Base::Tag("x".into())), "tag \"x\" not found");
        assert!(versions(&store, "n", "gone", None).unwrap().is_none());
    }

    #[test]
    fn scale_status_counts_what_lives() {
        let mut store = StateStore::new();
        let group = TaskGroup { name: "g".into(), count: 3, ..Default::default() };
        store.put_job(Arc::new(Job { task_groups: vec![group], ..job(0, 10) }));
        let alloc = |id: &str, desired_status, healthy, modify_index| {
            Arc::new(Allocation {
                id: id.into(),
                namespace: "n".into(),
                job_id: "j".into(),
                task_group: "g".into(),
                desired_status,
                client_status: ClientStatus::Running,
                deployment_status: Some(AllocDeploymentStatus { healthy, ..Default::default() }),
                modify_index,
                ..Default::default()
            })
        };
        store.put_allocs(vec![
            alloc("a", DesiredStatus::Run, Some(true), 40),
            alloc("b", DesiredStatus::Run, Some(false), 30),
            alloc("c", DesiredStatus::Run, None, 20),
            alloc("d", DesiredStatus::Stop, Some(true), 50),
        ]);
        let (index, status) = scale_status(&store, "n", "j");
        let g = &status.unwrap().task_groups["g"];
        assert_eq!((index, g.desired, g.placed, g.running, g.healthy, g.unhealthy), (50, 3, 3, 3, 1, 1));
        assert!(scale_status(&store, "n", "x").1.is_none());
    }

    #[test]
    fn only_the_current_registration_is_shown() {
        let mut store = StateStore::new();
        store.put_job(Arc::new(job(0, 10)));
        let alloc = |id: &str, created| {
            let placed = Job { create_index: created, ..job(0, 10) };
            let (id, namespace, job_id) = (id.into(), "n".into(), "j".into());
            Arc::new(Allocation { id, namespace, job_id, job: Some(Arc::new(placed)), ..Default::default() })
        };
        store.put_allocs(vec![alloc("old", 1), alloc("new", 5)]);
        let ids = |all| allocations(&store, "n", "j", all).iter().map(|a| a.alloc.id.clone()).collect::<Vec<_>>();
        assert_eq!((ids(false), ids(true)), (vec!["new".to_string()], vec!["new".to_string(), "old".to_string()]));
    }

    #[test]
    fn variables_are_url_decoded() {
        assert_eq!(unescaped("a%20b+c%2F").as_deref(), Some("a b c/"));
        assert_eq!(unescaped("plain").as_deref(), Some("plain"));
        assert_eq!((unescaped("%zz"), unescaped("%4")), (None, None));
    }
}
