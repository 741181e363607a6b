//! The environment of a task, and interpolation of its variables (`docs/spec/client.md §21`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::alloc_dir::AllocDir;
use super::drivers::Isolation;
use super::ranges;
use encamp_model::{AllocNetworkStatus, AllocatedPortMapping, AllocatedTaskResources, Allocation, Node, Task, glob};

/// Variables of the agent that tasks don't get unless `env.denylist` says otherwise.
const DENIED: &str = "CONSUL_TOKEN,CONSUL_HTTP_TOKEN,CONSUL_HTTP_TOKEN_FILE,NOMAD_TOKEN,VAULT_TOKEN,*_LICENSE,\
                      *_LICENSE_PATH,AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY,AWS_SESSION_TOKEN,AWS_METADATA_URL,\
                      GOOGLE_APPLICATION_CREDENTIALS,GOOGLE_OAUTH_ACCESS_TOKEN";
/// The agent's own secret: tasks never get it.
const OWN_SECRET: &str = "NOMAD_CLIENT_INTRO_TOKEN";
/// Variables whose names are cleaned in the end.
const CLEANED: [&str; 5] = ["NOMAD_ADDR_", "NOMAD_IP_", "NOMAD_PORT_", "NOMAD_HOST_PORT_", "NOMAD_META_"];

/// The input from which the environment of a task is built.
pub struct Input<'a> {
    /// The addresses of the allocation; empty: it has none of its own.
    pub network: &'a AllocNetworkStatus,
    /// Its allocation, with its job.
    pub alloc: &'a Allocation,
    /// The task.
    pub task: &'a Task,
    /// This node.
    pub node: &'a Node,
    /// Region of the agent.
    pub region: &'a str,
    /// Directories; paths as the host sees them.
    pub dirs: &'a AllocDir,
    /// Which files the task sees.
    pub isolation: Isolation,
    /// The agent's own environment.
    pub host: &'a BTreeMap<String, String>,
    /// `env.denylist` of the options.
    pub denied: Option<&'a str>,
    /// `secret.<name>.<key>` with their values.
    pub secrets: BTreeMap<String, String>,
}

/// The environment of a task. May hold secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TaskEnv {
    /// By name, as job files spell them.
    vars: BTreeMap<String, String>,
    /// `node.…`, `attr.…`, `meta.…` and `secret.…`.
    node: BTreeMap<String, String>,
}

impl TaskEnv {
    /// The environment, without what hooks add later.
    pub fn build(input: &Input) -> TaskEnv {
        let mut env = TaskEnv { vars: built_in(input), node: of_node(input.node, input.region) };
        env.node.extend(input.secrets.clone());
        for (k, v) in meta(input) {
            let v = env.replace(&v);
            env.vars.insert(format!("NOMAD_META_{}", k.to_uppercase()), v.clone());
            env.vars.insert(format!("NOMAD_META_{k}"), v);
        }
        let denied: Vec<&str> = input.denied.unwrap_or(DENIED).split(',').map(str::trim).collect();
        // A task with an image has the environment of that.
        let host = (input.isolation != Isolation::Image).then_some(input.host);
        for (k, v) in host.into_iter().flatten() {
            if k != OWN_SECRET && !env.vars.contains_key(k) && !denied.iter().any(|pattern| glob::matches(pattern, k)) {
                env.vars.insert(k.clone(), v.clone());
            }
        }
        let own: Vec<_> = input.task.env.iter().map(|(k, v)| (env.replace(k), env.replace(v))).collect();
        env.vars.extend(own);
        env
    }

    /// Adds what hooks know; it wins over what is there.
    pub fn extend(&mut self, vars: impl IntoIterator<Item = (String, String)>) {
        self.vars.extend(vars);
    }

    /// The same without the names of the node.
    pub(crate) fn without_node(&self) -> TaskEnv {
        TaskEnv { vars: self.vars.clone(), node: BTreeMap::new() }
    }

    /// The same with the directories of the task as the host sees them.
    pub(crate) fn with_directories(&self, dirs: &AllocDir, task: &str) -> TaskEnv {
        let own = dirs.task(task);
        let mut out = self.clone();
        out.extend(
            [
                ("NOMAD_ALLOC_DIR", dirs.shared()),
                ("NOMAD_TASK_DIR", own.join("local")),
                ("NOMAD_SECRETS_DIR", own.join("secrets")),
            ]
            .map(|(name, path)| (name.to_string(), path.display().to_string())),
        );
        out
    }

    /// Replaces `${name}` by what the name stands for; unknown names stay.
    pub fn replace(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let inner = from.get(2..).unwrap_or_default();
            let length = inner.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')));
            let name = length.filter(|n| *n > 0 && inner.get(*n..).is_some_and(|t| t.starts_with('}')));
            let name = name.and_then(|n| inner.get(..n));
            match name.and_then(|n| Some((n, self.vars.get(n).or_else(|| self.node.get(n))?))) {
                Some((name, value)) => {
                    out.push_str(value);
                    rest = inner.get(name.len() + 1..).unwrap_or_default();
                }
                None => {
                    out.push_str("${");
                    rest = inner;
                }
            }
        }
        out + rest
    }

    /// Replaces the names in all texts of a value, keys included.
    pub(crate) fn replace_value(&self, value: &Value) -> Value {
        match value {
            Value::String(s) => Value::String(self.replace(s)),
            Value::Array(items) => items.iter().map(|v| self.replace_value(v)).collect(),
            Value::Object(map) => map.iter().map(|(k, v)| (self.replace(k), self.replace_value(v))).collect(),
            other => other.clone(),
        }
    }

    /// The variables as the process gets them.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let clean = |k: &String| {
            if !CLEANED.iter().any(|prefix| k.starts_with(prefix)) {
                return k.clone();
            }
            k.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
        };
        self.vars.iter().map(|(k, v)| (clean(k), v.clone())).collect()
    }
}

/// Names of the node.
fn of_node(node: &Node, region: &str) -> BTreeMap<String, String> {
    let own = [
        ("node.unique.id", &node.id),
        ("node.unique.name", &node.name),
        ("node.datacenter", &node.datacenter),
        ("node.class", &node.node_class),
        ("node.pool", &node.node_pool),
    ];
    let mut out: BTreeMap<String, String> = own.into_iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
    out.insert("node.region".into(), region.into());
    out.extend(node.attributes.iter().map(|(k, v)| (format!("attr.{k}"), v.clone())));
    out.extend(node.meta.iter().map(|(k, v)| (format!("meta.{k}"), v.clone())));
    out
}

/// Job < group < task; optional meta of a dispatch that was not given is empty.
fn meta(input: &Input) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let Some(job) = &input.alloc.job else { return out };
    if let Some(p) = &job.parameterized_job {
        out.extend(p.meta_optional.iter().map(|k| (k.clone(), String::new())));
    }
    let group = input.alloc.group().map(|g| &g.meta);
    for map in [Some(&job.meta), group, Some(&input.task.meta)].into_iter().flatten() {
        out.extend(map.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    out
}

fn built_in(input: &Input) -> BTreeMap<String, String> {
    let (alloc, task) = (input.alloc, input.task);
    let path = |p: &Path| p.display().to_string();
    let [shared, local, secrets] = input.dirs.seen_by(&task.name, input.isolation);
    let short: String = alloc.id.chars().take(8).collect();
    let job = alloc.job.as_ref();
    let mut out = BTreeMap::new();
    let mut set = |k: &str, v: String| drop(out.insert(k.to_string(), v));
    set("NOMAD_ALLOC_DIR", path(&shared));
    set("NOMAD_TASK_DIR", path(&local));
    set("NOMAD_SECRETS_DIR", path(&secrets));
    set("NOMAD_ALLOC_ID", alloc.id.to_string());
    set("NOMAD_SHORT_ALLOC_ID", short);
    set("NOMAD_ALLOC_NAME", alloc.name.to_string());
    set("NOMAD_ALLOC_INDEX", alloc.index().to_string());
    set("NOMAD_TASK_NAME", task.name.clone());
    set("NOMAD_GROUP_NAME", alloc.task_group.to_string());
    set("NOMAD_JOB_ID", alloc.job_id.to_string());
    set("NOMAD_JOB_NAME", job.map(|j| j.name.clone()).unwrap_or_default());
    if let Some(parent) = job.map(|j| &j.parent_id).filter(|p| !p.is_empty()) {
        set("NOMAD_JOB_PARENT_ID", parent.clone());
    }
    set("NOMAD_DC", input.node.datacenter.clone());
    set("NOMAD_REGION", input.region.into());
    set("NOMAD_NAMESPACE", alloc.namespace.to_string());
    set("NOMAD_PARENT_CGROUP", "nomad.slice".into());
    let resources = alloc.allocated_resources.as_ref();
    let given = resources.and_then(|r| r.tasks.get(&task.name));
    for (k, v) in [
        ("NOMAD_MEMORY_LIMIT", given.map_or(0, |r| r.memory.memory_mb)),
        ("NOMAD_MEMORY_MAX_LIMIT", given.map_or(0, |r| r.memory.memory_max_mb)),
        ("NOMAD_CPU_LIMIT", given.map_or(0, |r| r.cpu.cpu_shares)),
    ] {
        if v != 0 {
            set(k, v.to_string());
        }
    }
    // A single blank where no cores are reserved, as in Nomad.
    let cores = given.map(|r| ranges::text(&r.cpu.reserved_cores)).filter(|c| !c.is_empty());
    set("NOMAD_CPU_CORES", cores.unwrap_or_else(|| " ".into()));
    for port in resources.iter().flat_map(|r| &r.shared.ports) {
        group_port(&port, input.network, &mut set);
    }
    for (name, r) in resources.iter().flat_map(|r| &r.tasks) {
        task_ports(r, (*name != task.name).then_some(name.as_str()), &mut set);
    }
    out
}

/// A port of the group, on the host and in the allocation's own network.
fn group_port(port: &AllocatedPortMapping, network: &AllocNetworkStatus, set: &mut dyn FnMut(&str, String)) {
    let inside = if port.to > 0 { port.to } else { port.value };
    set(&format!("NOMAD_IP_{}", port.label), port.host_ip.clone());
    set(&format!("NOMAD_HOST_IP_{}", port.label), port.host_ip.clone());
    set(&format!("NOMAD_PORT_{}", port.label), inside.to_string());
    set(&format!("NOMAD_ALLOC_PORT_{}", port.label), inside.to_string());
    set(&format!("NOMAD_HOST_PORT_{}", port.label), port.value.to_string());
    let addr = address(&port.host_ip, port.value);
    set(&format!("NOMAD_ADDR_{}", port.label), addr.clone());
    set(&format!("NOMAD_HOST_ADDR_{}", port.label), addr);
    let own = [&network.address, &network.address_ipv6].into_iter().find(|ip| !ip.is_empty());
    if let Some(own) = own {
        set(&format!("NOMAD_ALLOC_INTERFACE_{}", port.label), network.interface_name.clone());
        set(&format!("NOMAD_ALLOC_IP_{}", port.label), own.clone());
        set(&format!("NOMAD_ALLOC_ADDR_{}", port.label), address(own, inside));
    }
}

/// Ports of a task's own networks, the old style; `of`: the task's name, if it is another one.
fn task_ports(resources: &AllocatedTaskResources, of: Option<&str>, set: &mut dyn FnMut(&str, String)) {
    let tag = of.map(|t| format!("{t}_")).unwrap_or_default();
    for network in &resources.networks {
        for port in network.reserved_ports.iter().chain(&network.dynamic_ports) {
            let label = format!("{tag}{}", port.label);
            let inside = if port.to > 0 { port.to } else { port.value };
            set(&format!("NOMAD_IP_{label}"), network.ip.clone());
            set(&format!("NOMAD_PORT_{label}"), inside.to_string());
            set(&format!("NOMAD_ADDR_{label}"), address(&network.ip, port.value));
            if of.is_none() {
                let family = if network.ip.contains(':') { "IPv6" } else { "IPv4" };
                set(&format!("NOMAD_{family}_{label}"), network.ip.clone());
                set(&format!("NOMAD_HOST_PORT_{label}"), port.value.to_string());
            }
        }
    }
}

/// `ip:port`, IPv6 in brackets.
fn address(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use encamp_model::{AllocatedResources, Job, TaskGroup};

    fn build() -> TaskEnv {
        build_for(Isolation::None)
    }

    fn build_for(isolation: Isolation) -> TaskEnv {
        let task = Task {
            name: "t".into(),
            env: [
                ("A", "${NOMAD_META_foo-bar}-${node.datacenter}"),
                ("B", "${NOMAD_META_foo_bar} ${x"),
                ("HOME", "/h"),
                ("DB", "${secret.db.password}-${secret.db.user}"),
            ]
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .into(),
            meta: [("foo-bar".to_string(), "${attr.kernel.name}".to_string())].into(),
            ..Task::default()
        };
        let group = TaskGroup { name: "g".into(), tasks: vec![task.clone()], ..TaskGroup::default() };
        let mut resources = AllocatedResources::default();
        resources.shared.ports.push(AllocatedPortMapping {
            label: "http".into(),
            value: 20_001,
            to: 80,
            host_ip: "::1".into(),
            ..AllocatedPortMapping::default()
        });
        let alloc = Allocation {
            id: "12345678-9abc".into(),
            name: "j.g[3]".into(),
            job_id: "j".into(),
            task_group: "g".into(),
            job: Some(Arc::new(Job { id: "j".into(), task_groups: vec![group], ..Job::default() })),
            allocated_resources: Some(Arc::new(resources)),
            ..Allocation::default()
        };
        let node = Node {
            datacenter: "dc1".into(),
            attributes: [("kernel.name".to_string(), "linux".to_string())].into(),
            ..Node::default()
        };
        let host =
            [("HOME", "/root"), ("PATH", "/bin"), ("VAULT_TOKEN", "s")].map(|(k, v)| (k.to_string(), v.to_string()));
        let dirs = AllocDir::new(Path::new("/a"), &alloc.id);
        let network = AllocNetworkStatus {
            interface_name: "eth0".into(),
            address_ipv6: "fd00::2".into(),
            ..AllocNetworkStatus::default()
        };
        TaskEnv::build(&Input {
            network: &network,
            alloc: &alloc,
            task: &task,
            node: &node,
            region: "global",
            dirs: &dirs,
            isolation,
            host: &host.into(),
            denied: None,
            secrets: [("secret.db.password".to_string(), "hush ${HOME}".to_string())].into(),
        })
    }

    #[test]
    fn variables() {
        let vars = build().variables();
        for (k, v) in [
            ("NOMAD_ALLOC_INDEX", "3"),
            ("NOMAD_SHORT_ALLOC_ID", "12345678"),
            ("NOMAD_SECRETS_DIR", "/a/12345678-9abc/t/secrets"),
            ("NOMAD_CPU_CORES", " "),
            ("NOMAD_PORT_http", "80"),
            ("NOMAD_HOST_PORT_http", "20001"),
            ("NOMAD_ADDR_http", "[::1]:20001"),
            ("NOMAD_ALLOC_INTERFACE_http", "eth0"),
            ("NOMAD_ALLOC_IP_http", "fd00::2"),
            ("NOMAD_ALLOC_ADDR_http", "[fd00::2]:80"),
            ("NOMAD_META_foo_bar", "linux"),
            ("NOMAD_META_FOO_BAR", "linux"),
            ("HOME", "/h"),
            ("PATH", "/bin"),
            ("A", "linux-dc1"),
            ("B", "${NOMAD_META_foo_bar} ${x"),
            ("DB", "hush ${HOME}-${secret.db.user}"),
        ] {
            assert_eq!(vars.get(k).map(String::as_str), Some(v), "{k}");
        }
        assert!(vars.keys().all(|name| !name.starts_with("secret.")));
        assert!(!vars.contains_key("VAULT_TOKEN") && !vars.contains_key("NOMAD_CPU_LIMIT"));
    }

    #[test]
    fn isolated_tasks_have_paths_of_their_own() {
        for (isolation, home) in [(Isolation::Chroot, Some("/bin")), (Isolation::Image, None)] {
            let vars = build_for(isolation).variables();
            let got = ["NOMAD_ALLOC_DIR", "NOMAD_TASK_DIR", "NOMAD_SECRETS_DIR"].map(|k| vars[k].as_str());
            assert_eq!(got, ["/alloc", "/local", "/secrets"]);
            assert_eq!(vars.get("PATH").map(String::as_str), home, "the environment of the agent");
        }
    }

    #[test]
    fn names_are_replaced_everywhere() {
        let env = build();
        let value: Value =
            serde_json::from_str(r#"{"args":["${NOMAD_PORT_http}",{"k":"${nope} ${} $${A}"}],"n":1}"#).unwrap();
        let want: Value = serde_json::from_str(r#"{"args":["80",{"k":"${nope} ${} $linux-dc1"}],"n":1}"#).unwrap();
        assert_eq!(env.replace_value(&value), want);
    }
}
