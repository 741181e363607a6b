//! Metrics of the runners (`docs/spec/agent-config.md §11`).

use std::time::Instant;

use super::Shared;
use super::task::TaskRunner;
use encamp_model::{Allocation, Job};

/// The name of a meta key as a label: everything but letters and digits is a low line.
fn cleaned(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Labels of a job that only some clusters want: its meta, and which launch it is.
fn details(job: &Job) -> Vec<(String, String)> {
    let mut out: Vec<_> = job.meta.iter().map(|(k, v)| (cleaned(k), v.clone())).collect();
    if !job.parent_id.is_empty() {
        out.push(("parent_id".into(), job.parent_id.clone()));
        let launch = |mark: &str| job.id.split_once(mark).map(|(_, id)| id.to_string());
        out.extend(launch("/dispatch-").map(|id| ("dispatch_id".to_string(), id)));
        out.extend(launch("/periodic-").map(|id| ("periodic_id".to_string(), id)));
    }
    out
}

impl TaskRunner {
    /// Calls with the labels of the task.
    pub(crate) fn with_labels(&self, f: impl FnOnce(&[(&str, &str)])) {
        let Some(alloc) = self.owner.upgrade().map(|o| o.alloc()) else { return };
        let job = alloc.job.as_deref();
        let more =
            if self.shared.config.include_alloc_metadata { job.map(details).unwrap_or_default() } else { Vec::new() };
        let mut labels = vec![
            ("job", job.map_or("", |j| j.name.as_str())),
            ("task_group", alloc.task_group.as_str()),
            ("alloc_id", alloc.id.as_str()),
            ("task", self.name.as_str()),
            ("namespace", alloc.namespace.as_str()),
        ];
        labels.extend(more.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        f(&labels);
    }

    /// Counts something that happened to the task.
    pub(super) fn count(&self, name: &str) {
        self.with_labels(|labels| self.shared.services.metrics.count(&format!("client.allocs.{name}"), 1, labels));
    }
}

impl Shared {
    /// Records how long a hook took, and whether it succeeded; `what`: `alloc_hook.prerun` or `task_hook.prestart`.
    pub(super) fn hook(&self, what: &str, name: &str, alloc: &Allocation, begin: Instant, ok: bool) {
        let node = self.node();
        let class = if node.node_class.is_empty() { "none" } else { &node.node_class };
        let labels = [
            ("node_id", node.id.as_str()),
            ("datacenter", &node.datacenter),
            ("node_class", class),
            ("node_pool", &node.node_pool),
            ("namespace", &alloc.namespace),
            ("hook_name", name),
        ];
        let metrics = &self.services.metrics;
        metrics.time(&format!("client.{what}.elapsed"), begin.elapsed(), &labels);
        metrics.count(&format!("client.{what}.{}", if ok { "success" } else { "failed" }), 1, &labels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_launches() {
        let job = Job {
            id: "p/dispatch-1-ab".into(),
            parent_id: "p".into(),
            meta: [("foo-bar".to_string(), "x".to_string())].into(),
            ..Job::default()
        };
        let want = [("foo_bar", "x"), ("parent_id", "p"), ("dispatch_id", "1-ab")];
        assert_eq!(details(&job), want.map(|(k, v)| (k.to_string(), v.to_string())));
    }
}
