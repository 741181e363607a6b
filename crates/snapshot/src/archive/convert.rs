//! Converts an archive into a snapshot file with everything that a plan needs (`docs/reference/snapshot-format.md`).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Archive;
use super::restore::restore;
use crate::file::{FORMAT_VERSION, SnapshotFile, Volume};
use encamp_model::*;

/// A claim that is being released.
const UNPUBLISHING: i64 = 4;

/// The records of an archive that a snapshot file does not hold, for readers of the whole state.
#[derive(Debug, Default)]
pub struct Rest {
    /// Evaluations, by ID.
    pub evaluations: Vec<Evaluation>,
    /// ACL tokens, by accessor.
    pub acl_tokens: Vec<AclToken>,
    /// Keys of the keyring without the keys themselves, by ID.
    pub root_keys: Vec<RootKey>,
    /// Variables, by namespace and path.
    pub variables: Vec<VariableEncrypted>,
}

impl Archive {
    /// Takes the records that a snapshot file does not hold.
    pub fn take_rest(&mut self) -> Rest {
        Rest {
            evaluations: std::mem::take(&mut self.tables.evaluations),
            acl_tokens: std::mem::take(&mut self.tables.acl_tokens),
            root_keys: std::mem::take(&mut self.tables.root_keys),
            variables: std::mem::take(&mut self.tables.variables),
        }
    }

    /// Changes the records as a server does that loads them (`docs/spec/snapshot-archive.md §11`).
    pub fn restore(&mut self) {
        restore(&mut self.tables);
    }

    /// The facts about an archive that a reader should know before relying on it.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let ignored: Vec<String> = self.ignored().map(|(kind, n)| format!("{n} of type {kind}")).collect();
        if !ignored.is_empty() {
            notes.push(format!(
                "Records of tables that this version does not know were ignored: {}. They are of a newer server or \
                 another edition.",
                ignored.join(", ")
            ));
        }
        let outdated = self.tables.jobs.iter().filter(|job| job.task_groups.iter().any(outdated)).count();
        if outdated > 0 {
            notes.push(format!(
                "{outdated} jobs say only in the way of servers before 1.8 what happens when clients disconnect \
                 (max_client_disconnect, stop_after_client_disconnect, prevent_reschedule_on_lost), which schedulers have \
                 ignored since 1.10."
            ));
        }
        notes
    }

    /// The data that a plan needs, restored, without the secrets of nodes and volumes. `source` is where the archive
    /// was read.
    pub fn into_snapshot_file(mut self, source: String) -> SnapshotFile {
        self.restore();
        let taken_at = self.meta.taken_at();
        let index = self.tables.indexes.iter().map(|row| row.value).max().unwrap_or_default();
        let t = self.tables;
        let releasing = releasing(&t.allocations);
        let plugins: HashMap<&str, &CsiPlugin> = t.csi_plugins.iter().map(|p| (p.id.as_str(), p)).collect();
        let csi = t.csi_volumes.into_iter().map(|mut v| {
            let plugin = plugins.get(v.plugin_id.as_str()).copied();
            refresh(&mut v, plugin, &releasing);
            Volume::Csi(Box::new(v))
        });
        let host = t.host_volumes.into_iter().map(|v| Volume::Host(Box::new(v)));
        let volumes = csi.chain(host).collect();
        SnapshotFile {
            version: Some(FORMAT_VERSION),
            taken_at,
            source,
            index,
            scheduler_configuration: t.scheduler_configuration,
            // They are in the servers' configuration files alone.
            server_settings: None,
            nodes: t.nodes.into_iter().map(shown_node).collect(),
            node_pools: t.node_pools,
            namespaces: t.namespaces,
            jobs: versions(t.jobs, t.job_versions),
            allocations: t.allocations.into_iter().map(Into::into).collect(),
            allocation_jobs: t.allocation_jobs,
            deployments: t.deployments,
            volumes,
            host_volume_claims: Vec::new(),
        }
    }
}

/// Says only in the old way what happens when clients disconnect (`docs/spec/snapshot-archive.md §12`).
fn outdated(group: &TaskGroup) -> bool {
    group.disconnect.is_none()
        && (group.max_client_disconnect.is_some()
            || group.stop_after_client_disconnect.is_some()
            || group.prevent_reschedule_on_lost)
}

/// A node as the API shows it.
fn shown_node(mut node: Node) -> Node {
    node.secret_id = SecretString::default();
    node.drain = node.drain_strategy.is_some();
    node
}

/// The current version of every job with its older ones. A stored version that is also the current one gives way to it,
/// and versions of jobs that are gone count for nothing.
fn versions(jobs: Vec<Job>, versions: Vec<Job>) -> Vec<Job> {
    let current: BTreeMap<(&str, &str), u64> =
        jobs.iter().map(|j| ((j.namespace.as_str(), j.id.as_str()), j.version)).collect();
    let older = |v: &Job| current.get(&(v.namespace.as_str(), v.id.as_str())).is_some_and(|now| v.version < *now);
    let mut all: Vec<Job> = versions.into_iter().filter(older).collect();
    all.extend(jobs);
    all.sort_by(|a, b| (&a.namespace, &a.id, a.version).cmp(&(&b.namespace, &b.id, b.version)));
    all
}

/// Whether allocations of these IDs release what they claimed: those that ended on their node.
fn releasing(allocations: &[Allocation]) -> impl Fn(&str) -> bool + use<> {
    let held: HashSet<String> = allocations.iter().filter(|a| !a.client_terminal()).map(|a| a.id.to_string()).collect();
    move |id| !held.contains(id)
}

/// Refreshes a volume from its plugin, because the stored copy of the plugin's health is stale; claims of terminal
/// allocations are being released (`docs/spec/snapshot-archive.md §11.4`).
fn refresh(v: &mut CsiVolume, plugin: Option<&CsiPlugin>, releasing: impl Fn(&str) -> bool) {
    v.follow_plugin(plugin);
    for claim in v.read_claims.values_mut().chain(v.write_claims.values_mut()).chain(v.past_claims.values_mut()) {
        if claim.access_mode.is_unset() {
            claim.access_mode.clone_from(&v.access_mode);
        }
        if claim.attachment_mode.is_empty() {
            claim.attachment_mode.clone_from(&v.attachment_mode);
        }
    }
    for (ids, claims, mode) in [(&v.read_allocs, &v.read_claims, 0), (&v.write_allocs, &v.write_claims, 1)] {
        for id in ids.keys().filter(|id| releasing(id)) {
            v.past_claims.entry(id.clone()).or_insert_with(|| {
                let claim = claims.get(id).cloned().unwrap_or_else(|| CsiVolumeClaim {
                    allocation_id: id.clone(),
                    mode,
                    access_mode: v.access_mode.clone(),
                    attachment_mode: v.attachment_mode.clone(),
                    ..CsiVolumeClaim::default()
                });
                CsiVolumeClaim { state: UNPUBLISHING, ..claim }
            });
        }
    }
    v.redact();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume() -> CsiVolume {
        let claim = CsiVolumeClaim { allocation_id: "gone".into(), node_id: "n".into(), ..Default::default() };
        CsiVolume {
            id: "v".into(),
            access_mode: VolumeAccessMode::SingleNodeWriter,
            schedulable: true,
            nodes_healthy: 9,
            secrets: BTreeMap::from([("k".to_string(), "s".into())]),
            write_allocs: BTreeMap::from([("gone".to_string(), None), ("there".to_string(), None)]),
            write_claims: BTreeMap::from([("gone".to_string(), claim)]),
            ..Default::default()
        }
    }

    #[test]
    fn volumes_follow_their_plugin() {
        let mut v = volume();
        refresh(&mut v, None, |_| false);
        assert_eq!((v.nodes_healthy, v.schedulable, v.secrets.len(), v.past_claims.len()), (0, false, 0, 0));
        let plugin =
            CsiPlugin { provider: "p".into(), nodes_healthy: 2, controller_required: true, ..Default::default() };
        refresh(&mut v, Some(&plugin), |_| false);
        assert_eq!((v.provider.as_str(), v.nodes_healthy, v.schedulable), ("p", 2, false), "no controller is healthy");
        refresh(&mut v, Some(&CsiPlugin { controllers_healthy: 1, ..plugin }), |_| false);
        assert!(v.schedulable);
    }

    #[test]
    fn claims_of_allocations_that_ended_are_past() {
        let mut v = volume();
        refresh(&mut v, None, |id| id == "gone");
        let past = &v.past_claims["gone"];
        assert_eq!((past.node_id.as_str(), past.access_mode.as_str(), past.state), ("n", "single-node-writer", 4));
        assert!(!v.past_claims.contains_key("there"));
    }

    #[test]
    fn the_current_version_replaces_the_stored_one() {
        let job =
            |id: &str, version, name: &str| Job { id: id.into(), version, name: name.into(), ..Default::default() };
        let stored = vec![job("a", 0, "old"), job("a", 1, "stale"), job("purged", 0, "")];
        let all = versions(vec![job("a", 1, "current"), job("b", 0, "")], stored);
        let seen: Vec<_> = all.iter().map(|j| (j.id.as_str(), j.version, j.name.as_str())).collect();
        assert_eq!(seen, [("a", 0, "old"), ("a", 1, "current"), ("b", 0, "")]);
    }
}
