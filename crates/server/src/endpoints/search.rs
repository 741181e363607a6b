//! Search: by the prefix of IDs, or by a part of names (`docs/spec/http-api.md §5.13`).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::settings::SearchSettings;
use encamp_model::*;
use encamp_state::{StateStore, Table};

/// All contexts, in the order in which they are listed.
pub const CONTEXTS: [&str; 12] = [
    "allocs",
    "jobs",
    "nodes",
    "node_pools",
    "evals",
    "deployment",
    "plugins",
    "volumes",
    "scaling_policy",
    "vars",
    "namespaces",
    "host_volumes",
];
/// Contexts that a search in all contexts skips if the prefix is not the beginning of a UUID.
const BY_UUID: [&str; 4] = ["allocs", "nodes", "evals", "deployment"];
/// Contexts that a fuzzy search searches by prefix.
const PREFIX_ONLY: [&str; 5] = ["evals", "deployment", "scaling_policy", "volumes", "host_volumes"];
/// Maximum number of rows of a context that are searched, and that are returned.
const LIMIT: usize = 20;

/// The scope of a search.
pub struct Scope<'a> {
    /// The namespace; `*` means all.
    pub namespace: &'a str,
    /// Whether the caller may search a context.
    pub allowed: &'a dyn Fn(&str) -> bool,
    /// Whether the caller may see a row: context, namespace (empty: it has none), name.
    pub visible: &'a dyn Fn(&str, &str, &str) -> bool,
}

impl Scope<'_> {
    fn holds(&self, context: &str, namespace: &str, name: &str) -> bool {
        (self.namespace == "*" || self.namespace == namespace) && (self.visible)(context, namespace, name)
    }
}

/// The matches by context, whether the list is truncated, and the index of the searched state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found<T> {
    /// By context; `None` where a context has no matches.
    pub matches: BTreeMap<&'static str, Option<Vec<T>>>,
    /// By context.
    pub truncations: BTreeMap<&'static str, bool>,
    /// The highest index of the tables.
    pub index: u64,
}

/// A match of a fuzzy search.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct FuzzyMatch {
    /// The ID or name.
    #[serde(rename = "ID")]
    pub id: String,
    /// The containing objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
}

/// The contexts selected by a word.
///
/// # Errors
/// 500: the word is unknown.
pub(crate) fn contexts(word: &str) -> Result<Vec<&'static str>, Error> {
    if word == "all" {
        return Ok(CONTEXTS.to_vec());
    }
    CONTEXTS.iter().find(|c| **c == word).map(|c| vec![*c]).ok_or_else(|| {
        let all = CONTEXTS.join(" ");
        Error::internal(format!("context must be one of [{all}] or 'all' for all contexts; got {}", quoted(word)))
    })
}

fn table(context: &str) -> Table {
    match context {
        "allocs" => Table::Allocs,
        "jobs" => Table::Jobs,
        "nodes" => Table::Nodes,
        "node_pools" => Table::NodePools,
        "evals" => Table::Evals,
        "deployment" => Table::Deployment,
        "plugins" => Table::CsiPlugins,
        "volumes" => Table::CsiVolumes,
        "scaling_policy" => Table::ScalingPolicy,
        "vars" => Table::Variables,
        "namespaces" => Table::Namespaces,
        _ => Table::HostVolumes,
    }
}

/// The IDs of a context in order. If IDs are UUIDs, only those from the prefix on.
fn ids<'s>(
    store: &'s StateStore,
    context: &'s str,
    prefix: &'s str,
    scope: &'s Scope<'s>,
) -> Box<dyn Iterator<Item = &'s str> + 's> {
    let state = store.state();
    match context {
        "allocs" => {
            let rows = store.allocs_from(prefix).map(|a| &a.alloc).filter(|a| scope.holds(context, &a.namespace, ""));
            Box::new(rows.map(|a| a.id.as_str()))
        }
        "evals" => {
            let rows = store.evals_from(prefix).filter(|e| scope.holds(context, &e.namespace, ""));
            Box::new(rows.map(|e| e.id.as_str()))
        }
        "jobs" => {
            let rows = state.jobs().map(|j| &j.current).filter(|j| scope.holds(context, &j.namespace, ""));
            Box::new(rows.map(|j| j.id.as_str()))
        }
        "nodes" => Box::new(state.nodes().map(|n| n.node.id.as_str())),
        "node_pools" => {
            let rows = state.node_pools().map(|p| p.name.as_str());
            Box::new(rows.filter(move |name| (scope.visible)(context, "", name)))
        }
        "deployment" => {
            let rows = store.deployments_by_create().filter(|d| scope.holds(context, &d.namespace, ""));
            let mut ids: Vec<&str> = rows.map(|d| d.id.as_str()).collect();
            ids.sort_unstable();
            Box::new(ids.into_iter())
        }
        "plugins" => Box::new(store.csi_plugins().map(|p| p.id.as_str())),
        "volumes" => {
            let rows = state.csi_volumes().filter(|v| scope.holds(context, &v.namespace, ""));
            Box::new(rows.map(|v| v.id.as_str()))
        }
        "scaling_policy" => {
            let namespace = |p: &ScalingPolicy| p.target.get("Namespace").cloned().unwrap_or_default();
            let rows = store.scaling_policies().filter(move |p| scope.holds(context, &namespace(p), ""));
            Box::new(rows.map(|p| p.id.as_str()))
        }
        "namespaces" => {
            Box::new(state.namespaces().map(|n| n.name.as_str()).filter(move |n| (scope.visible)(context, n, "")))
        }
        "vars" => {
            let rows = store.variables().filter(|v| scope.holds(context, &v.namespace, &v.path));
            Box::new(rows.map(|v| v.path.as_str()))
        }
        _ => {
            let rows = state.host_volumes().filter(|v| scope.holds(context, &v.namespace, ""));
            Box::new(rows.map(|v| v.id.as_str()))
        }
    }
}

/// Whether a text can be the beginning of a UUID.
fn begins_uuid(prefix: &str) -> bool {
    prefix.len() <= 36 && prefix.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// The first rows of a context whose IDs begin with the prefix, and whether there are more.
fn by_prefix(store: &StateStore, context: &str, prefix: &str, scope: &Scope<'_>) -> (Vec<String>, bool) {
    let uuids = BY_UUID.contains(&context);
    // A prefix that is not the beginning of a UUID is searched among the first rows of all.
    let look = if uuids && !begins_uuid(prefix) { "" } else { prefix };
    let mut rows = ids(store, context, look, scope).filter(|id| id.starts_with(look));
    let shown = rows.by_ref().take(LIMIT).filter(|id| id.starts_with(prefix)).map(String::from).collect();
    (shown, rows.next().is_some())
}

/// Searches IDs by prefix.
///
/// # Errors
/// 500: the context is unknown.
pub fn prefix(store: &StateStore, scope: &Scope<'_>, context: &str, prefix: &str) -> Result<Found<String>, Error> {
    let mut found = Found::default();
    for c in contexts(context)? {
        if context == "all" && (!(scope.allowed)(c) || (BY_UUID.contains(&c) && !begins_uuid(prefix))) {
            continue;
        }
        let (rows, more) = by_prefix(store, c, prefix, scope);
        found.matches.insert(c, Some(rows).filter(|r| !r.is_empty()));
        found.truncations.insert(c, more);
        found.index = found.index.max(store.index_of(table(c)));
    }
    Ok(found)
}

/// Searches names for a substring.
///
/// # Errors
/// 500: the context is unknown, the text is too short, or fuzzy search is disabled.
pub fn fuzzy(
    store: &StateStore,
    scope: &Scope<'_>,
    context: &str,
    text: &str,
    settings: &SearchSettings,
) -> Result<Found<FuzzyMatch>, Error> {
    if !settings.fuzzy_enabled {
        return Err(Error::internal("fuzzy search is not enabled"));
    }
    let length = text.chars().count();
    if length < settings.min_term_length {
        let least = settings.min_term_length;
        return Err(Error::internal(format!("fuzzy search query must be at least {least} characters, got {length}")));
    }
    let lower = text.to_lowercase();
    let mut found: Found<FuzzyMatch> = Found::default();
    let mut hits: BTreeMap<&'static str, Vec<(usize, FuzzyMatch)>> = BTreeMap::new();
    for c in contexts(context)? {
        if context == "all" && !(scope.allowed)(c) {
            // The contexts that are searched for names are listed whatever the caller may see.
            if !PREFIX_ONLY.contains(&c) {
                found.truncations.insert(c, false);
            }
            continue;
        }
        found.index = found.index.max(store.index_of(table(c)));
        if PREFIX_ONLY.contains(&c) {
            let (rows, more) = by_prefix(store, c, text, scope);
            let rows = rows.into_iter().map(|id| FuzzyMatch { id, scope: vec![] }).collect();
            found.matches.insert(c, Some(rows));
            found.truncations.insert(c, more);
            continue;
        }
        let mut looked = 0;
        let mut more = false;
        let mut add = |context: &'static str, name: &str, scope: &[&str]| {
            let at = name.to_lowercase().find(&lower)?;
            let hit = FuzzyMatch { id: name.into(), scope: scope.iter().map(|s| (*s).to_string()).collect() };
            hits.entry(context).or_default().push((at, hit));
            Some(())
        };
        candidates(store, c, scope, &mut |object| {
            let matched = object.matches(&mut add);
            looked += usize::from(matched);
            more = looked > settings.limit_query;
            !more
        });
        found.truncations.insert(c, more);
    }
    for (context, mut list) in hits {
        list.sort_by(|(i, a), (j, b)| (i, a.id.len(), a).cmp(&(j, b.id.len(), b)));
        if list.len() > settings.limit_results {
            list.truncate(settings.limit_results);
            found.truncations.insert(context, true);
        }
        found.matches.insert(context, Some(list.into_iter().map(|(_, hit)| hit).collect()));
    }
    Ok(found)
}

/// An object whose names are searched.
enum Candidate<'s> {
    /// Context, name, scope.
    Named(&'static str, &'s str, Vec<&'s str>),
    Job(&'s Job),
}

type Add<'a> = &'a mut dyn FnMut(&'static str, &str, &[&str]) -> Option<()>;

impl Candidate<'_> {
    /// Adds every match. Returns whether there was one.
    fn matches(&self, add: Add<'_>) -> bool {
        match self {
            Candidate::Named(context, name, scope) => add(context, name, scope).is_some(),
            Candidate::Job(job) => job_matches(job, add),
        }
    }
}

fn job_matches(job: &Job, add: Add<'_>) -> bool {
    let (ns, id) = (job.namespace.as_str(), job.id.as_str());
    let mut any = add("jobs", &job.name, &[ns, id]).is_some();
    for group in &job.task_groups {
        let g = group.name.as_str();
        any |= add("groups", g, &[ns, id]).is_some();
        for s in &group.services {
            any |= add("services", &s.name, &[ns, id, g]).is_some();
        }
        for task in &group.tasks {
            let t = task.name.as_str();
            any |= add("tasks", t, &[ns, id, g]).is_some();
            for s in &task.services {
                any |= add("services", &s.name, &[ns, id, g, t]).is_some();
            }
            let (context, key) = match task.driver.as_str() {
                "docker" => ("images", "image"),
                "exec" | "raw_exec" => ("commands", "command"),
                "java" => ("classes", "class"),
                _ => continue,
            };
            if let Some(Value::String(text)) = task.config.get(key) {
                any |= add(context, text, &[ns, id, g, t]).is_some();
            }
        }
    }
    any
}

/// Visits the objects of a context until the visitor stops.
fn candidates<'s>(
    store: &'s StateStore,
    context: &str,
    scope: &Scope<'_>,
    visit: &mut dyn FnMut(Candidate<'s>) -> bool,
) {
    let state = store.state();
    let rows: Box<dyn Iterator<Item = Candidate<'s>> + '_> = match context {
        "nodes" => Box::new(state.nodes().map(|n| Candidate::Named("nodes", &n.node.name, vec![&n.node.id]))),
        "node_pools" => {
            let rows = state.node_pools().filter(|p| (scope.visible)(context, "", &p.name));
            Box::new(rows.map(|p| Candidate::Named("node_pools", &p.name, vec![&p.name])))
        }
        "namespaces" => {
            let rows = state.namespaces().filter(|n| (scope.visible)(context, &n.name, ""));
            Box::new(rows.map(|n| Candidate::Named("namespaces", &n.name, vec![])))
        }
        "allocs" => {
            let rows = store.allocs_from("").map(|a| &a.alloc).filter(|a| scope.holds(context, &a.namespace, ""));
            Box::new(rows.map(|a| Candidate::Named("allocs", &a.name, vec![&a.namespace, &a.id])))
        }
        "vars" => {
            let rows = store.variables().filter(|v| scope.holds(context, &v.namespace, &v.path));
            Box::new(rows.map(|v| Candidate::Named("vars", &v.path, vec![&v.namespace, &v.path])))
        }
        "plugins" => Box::new(store.csi_plugins().map(|p| Candidate::Named("plugins", &p.id, vec![]))),
        "jobs" => {
            let rows = state.jobs().map(|j| &*j.current).filter(|j| scope.holds(context, &j.namespace, ""));
            Box::new(rows.map(Candidate::Job))
        }
        _ => Box::new(std::iter::empty()),
    };
    for row in rows {
        if !visit(row) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn store() -> StateStore {
        let mut store = StateStore::new();
        for i in 0..25u32 {
            let job: Job = serde_json::from_value(serde_json::json!({
                "ID": format!("web-{i:02}"), "Name": format!("web-{i:02}"), "Namespace": if i == 0 { "apps" } else { "default" },
                "TaskGroups": [{"Name": "cache", "Services": [{"Name": "redis"}], "Tasks": [
                    {"Name": "main", "Driver": "docker", "Config": {"image": "redis:7"}, "Services": [{"Name": "web-svc"}]}]}],
            }))
            .unwrap();
            store.put_job(Arc::new(job));
        }
        store.set_index(Table::Jobs, 9);
        store.put_node(Arc::new(Node { id: "ab12".into(), name: "Node-Web".into(), ..Default::default() }));
        store
    }

    fn scope<'a>(namespace: &'a str) -> Scope<'a> {
        Scope { namespace, allowed: &|_| true, visible: &|_, _, _| true }
    }

    #[test]
    fn by_beginning() {
        let store = store();
        let all = prefix(&store, &scope("default"), "all", "we").unwrap();
        let jobs = all.matches["jobs"].as_ref().unwrap();
        assert_eq!((jobs.len(), jobs[0].as_str(), all.truncations["jobs"], all.index), (20, "web-01", true, 9));
        assert!(!all.matches.contains_key("nodes") && all.matches["namespaces"].is_none());
        let nodes = prefix(&store, &scope("default"), "nodes", "ab1").unwrap();
        assert_eq!(nodes.matches["nodes"], Some(vec!["ab12".to_string()]));
        let apps = prefix(&store, &scope("apps"), "jobs", "").unwrap();
        assert_eq!((apps.matches["jobs"].as_ref().unwrap().len(), apps.truncations["jobs"]), (1, false));
        let error = prefix(&store, &scope("*"), "zzz", "").unwrap_err().message;
        assert!(error.ends_with("or 'all' for all contexts; got \"zzz\""), "{error}");
    }

    #[test]
    fn by_part() {
        let store = store();
        let settings = SearchSettings::default();
        let ask = |ns, context, text| fuzzy(&store, &scope(ns), context, text, &settings);
        let apps = ask("apps", "jobs", "REDIS").unwrap();
        let at = |ids: &[&str]| ids.iter().map(|s| (*s).to_string()).collect::<Vec<_>>();
        assert_eq!(
            apps.matches["services"],
            Some(vec![FuzzyMatch { id: "redis".into(), scope: at(&["apps", "web-00", "cache"]) }])
        );
        let image = FuzzyMatch { id: "redis:7".into(), scope: at(&["apps", "web-00", "cache", "main"]) };
        assert_eq!(apps.matches["images"], Some(vec![image]));
        assert!(!apps.matches.contains_key("jobs"));
        let all = ask("default", "all", "web").unwrap();
        assert_eq!((all.matches["nodes"].as_ref().unwrap().len(), all.truncations["jobs"]), (1, true));
        assert_eq!((&all.matches["evals"], all.matches.contains_key("allocs")), (&Some(vec![]), false));
        let error = ask("default", "all", "w").unwrap_err().message;
        assert_eq!(error, "fuzzy search query must be at least 2 characters, got 1");
    }
}
