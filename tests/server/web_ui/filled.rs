//! A dev agent with access control and at least one object of each kind that pages show.

use serde_json::{Value, json};

use crate::agent::{Agent, bootstrap, wait_for};
use crate::program::{Folder, Ran, run_in, run_with};

/// The memory of the node, MiB: a job of more never fits, and `payments` fits only in place of `trainer`.
const MEMORY: u32 = 2000;

/// A running cluster of one agent.
pub struct Filled {
    pub agent: Agent,
    pub node: String,
    pub node_name: String,
    /// The running allocation of job `web`; its task `server` prints what is written to its standard input.
    pub web: String,
    /// The deployment of job `web` that waits for its promotion.
    pub canary: String,
    /// The blocked evaluation of job `huge`.
    pub blocked: String,
    /// The allocation of job `trainer` that `payments` preempted.
    pub preempted: String,
    /// The allocation of job `payments`.
    pub preempting: String,
    /// The failed allocation of job `broken`.
    pub failed: String,
    /// A job that was dispatched from `convert`.
    pub dispatched: String,
    pub role: String,
    /// The accessor and the secret of a token that may only read.
    pub reader: (String, String),
    pub rule: String,
    /// A dynamic host volume.
    pub volume: String,
    folder: Folder,
}

/// A job with one group `front` of one task `server`, which runs a script of the shell. `more`: further fields of job,
/// group and task.
pub fn job(id: &str, kind: &str, script: &str, [of_job, of_group, of_task]: [Value; 3]) -> Value {
    let mut task = json!({
        "Name": "server", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
        "Resources": {"CPU": 20, "MemoryMB": 20}, "KillTimeout": 0, "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
    });
    add(&mut task, of_task);
    let mut group = json!({"Name": "front", "Count": 1, "EphemeralDisk": {"SizeMB": 10}});
    add(&mut group, of_group);
    group["Tasks"] = json!([task]);
    let mut job = json!({"ID": id, "Name": id, "Type": kind, "Datacenters": ["dc1"]});
    add(&mut job, of_job);
    job["TaskGroups"] = json!([group]);
    json!({ "Job": job })
}

fn add(to: &mut Value, more: Value) {
    let Value::Object(more) = more else { return };
    to.as_object_mut().expect("an object").extend(more);
}

/// Nothing more than [`job`] has.
pub fn plain() -> [Value; 3] {
    [Value::Null, Value::Null, Value::Null]
}

/// Job `web`: a version with a canary that an operator has to promote, and an action.
pub fn web(script: &str) -> Value {
    let update = json!({
        "MaxParallel": 1, "Canary": 1, "MinHealthyTime": 0, "HealthyDeadline": 30_000_000_000_u64,
        "ProgressDeadline": 60_000_000_000_u64, "HealthCheck": "task_states",
    });
    let group = json!({
        "Update": update, "Scaling": {"Min": 1, "Max": 4, "Enabled": true},
        "Networks": [{"DynamicPorts": [{"Label": "http"}]}],
        "Services": [{"Name": "shop", "Provider": "nomad", "PortLabel": "http", "Tags": ["front"]}],
        "Volumes": {"files": {"Name": "files", "Type": "host", "Source": "files"}},
    });
    let task = json!({"Actions": [{"Name": "hello", "Command": "/bin/echo", "Args": ["hello from the action"]}]});
    job("web", "service", script, [json!({"Meta": {"description": "The shop front"}}), group, task])
}

/// What the task of job `web` runs: it prints a line for each file of its directory `local/say`.
pub const SAYS: &str = "echo started; mkdir -p local/say; while true; do for f in local/say/*; do [ -s $f ] && cat $f && rm $f; \
                        done; sleep 0.1; done";

/// A service that waits.
const SLEEPS: &str = "exec sleep 3600";

impl Filled {
    /// Starts and fills it.
    pub fn start(name: &str) -> Filled {
        let folder = Folder::new(name);
        let files = folder.path().join("files");
        std::fs::create_dir(&files).expect("a directory");
        let config = format!(
            "acl {{\n  enabled = true\n}}\nplugin \"raw_exec\" {{\n  config {{\n    enabled = true\n  }}\n}}\n\
             server {{\n  default_scheduler_config {{\n    preemption_config {{\n      service_scheduler_enabled = true\n    \
             }}\n  }}\n}}\nclient {{\n  memory_total_mb = {MEMORY}\n  cpu_total_compute = 4000\n  host_volume \"files\" {{\n    \
             path = {files:?}\n  }}\n  host_volumes_dir = {:?}\n  meta {{\n    replicator_enabled = \"true\"\n    \
             replicator_worker_pool = \"web\"\n    replicator_min = \"1\"\n    replicator_max = \"3\"\n  }}\n}}\n",
            folder.path().join("volumes")
        );
        let agent = Agent::start(&folder, &config, &["-dev"]);
        let agent = { bootstrapped(agent) };
        let mut filled = Filled {
            agent,
            node: String::new(),
            node_name: String::new(),
            web: String::new(),
            canary: String::new(),
            blocked: String::new(),
            preempted: String::new(),
            preempting: String::new(),
            failed: String::new(),
            dispatched: String::new(),
            role: String::new(),
            reader: (String::new(), String::new()),
            rule: String::new(),
            volume: String::new(),
            folder,
        };
        filled.write_settings();
        filled.write_access();
        filled.write_jobs();
        filled
    }

    /// Writes to the API; the answer must be one of success.
    pub fn put(&self, path: &str, body: &Value) -> Value {
        let reply = self.agent.send("PUT", path, body);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.json()
    }

    /// Runs a command about it with its management token.
    pub fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let address = self.agent.address();
        let own = [("NOMAD_ADDR", address.as_str()), ("NOMAD_TOKEN", &self.agent.token)];
        run_with(self.folder.path(), args, &[&own, env].concat(), None)
    }

    /// The path of a snapshot file of its present state.
    pub fn snapshot(&self) -> String {
        let (address, token) = (self.agent.address(), &self.agent.token);
        let args = ["snapshot", "fetch", "-address", &address, "-token", token, "-out", "cluster.json.zst"];
        let ran = run_in(self.folder.path(), &args);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        self.folder.path().join("cluster.json.zst").display().to_string()
    }

    /// The directory of its files.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The first allocation of a job that fits.
    pub fn allocation(&self, job: &str, namespace: &str, fits: impl Fn(&Value) -> bool) -> String {
        let mut id = String::new();
        wait_for(&format!("an allocation of {job}"), || {
            let all = self.agent.list(&format!("/v1/job/{job}/allocations?namespace={namespace}"));
            let found = all.iter().find(|a| fits(a)).ok_or_else(|| format!("{all:?}"))?;
            id = text(found, "ID");
            Ok(())
        });
        id
    }

    fn write_settings(&mut self) {
        wait_for("a ready node", || match self.agent.list("/v1/nodes").first() {
            Some(node) if node["Status"] == "ready" => {
                (self.node, self.node_name) = (text(node, "ID"), text(node, "Name"));
                Ok(())
            }
            other => Err(format!("{other:?}")),
        });
        self.put("/v1/namespace/apps", &json!({"Name": "apps", "Description": "Applications"}));
        self.put("/v1/node/pool/spare", &json!({"Name": "spare", "Description": "Spare nodes"}));
        let variable = json!({"Namespace": "default", "Path": "nomad/jobs/web", "Items": {"password": "hush"}});
        self.put("/v1/var/nomad/jobs/web", &variable);
        let volume = json!({"Volume": {
            "Name": "scratch", "Namespace": "default", "NodeID": self.node, "PluginID": "mkdir",
            "RequestedCapacityMinBytes": 0, "RequestedCapabilities": [
                {"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}],
        }});
        let made = self.put("/v1/volume/host/create", &volume);
        self.volume = text(&made["Volume"], "ID");
    }

    fn write_access(&mut self) {
        let rules = "namespace \"*\" {\n  policy = \"read\"\n}\nnode {\n  policy = \"read\"\n}\n";
        self.put("/v1/acl/policy/readers", &json!({"Name": "readers", "Description": "Who looks", "Rules": rules}));
        let role = self.put("/v1/acl/role", &json!({"Name": "watchers", "Policies": [{"Name": "readers"}]}));
        self.role = text(&role, "ID");
        let token = self.put("/v1/acl/token", &json!({"Name": "watcher", "Type": "client", "Policies": ["readers"]}));
        self.reader = (text(&token, "AccessorID"), text(&token, "SecretID"));
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key").public_key_pem();
        let method = json!({
            "Name": "pipeline", "Type": "JWT", "TokenLocality": "local", "MaxTokenTTL": "1h",
            "Config": {"JWTValidationPubKeys": [key], "SigningAlgs": ["ES256"]},
        });
        self.put("/v1/acl/auth-method", &method);
        let rule = json!({"AuthMethod": "pipeline", "BindType": "policy", "BindName": "readers", "Selector": ""});
        self.rule = text(&self.put("/v1/acl/binding-rule", &rule), "ID");
    }

    fn write_jobs(&mut self) {
        let memory = |megabytes: i64| json!({"Resources": {"CPU": 20, "MemoryMB": megabytes}});
        let running = |a: &Value| a["ClientStatus"] == "running";
        let register = |job: Value| self.put("/v1/jobs", &job);
        register(job("trainer", "batch", SLEEPS, [json!({"Priority": 20}), Value::Null, memory(1200)]));
        register(web(SAYS));
        register(job("exporter", "system", SLEEPS, plain()));
        register(job("huge", "service", SLEEPS, [Value::Null, Value::Null, memory(90_000)]));
        let no_retry = json!({
            "RestartPolicy": {"Attempts": 0, "Mode": "fail"},
            "ReschedulePolicy": {"Attempts": 0, "Unlimited": false},
        });
        register(job("broken", "service", "echo cannot start >&2; exit 1", [Value::Null, no_retry, Value::Null]));
        let periodic = json!({"Periodic": {"Enabled": true, "Spec": "0 3 1 1 *", "SpecType": "cron"}});
        register(job("report", "batch", "echo report", [periodic, Value::Null, Value::Null]));
        let parameters = json!({"ParameterizedJob": {"Payload": "optional", "MetaOptional": ["source"]}});
        register(job("convert", "batch", "echo convert", [parameters, Value::Null, Value::Null]));
        let trainer = self.allocation("trainer", "default", running);
        let most = json!({"Priority": 80, "Namespace": "apps"});
        register(job("payments", "service", SLEEPS, [most, Value::Null, memory(1200)]));
        self.dispatched =
            text(&self.put("/v1/job/convert/dispatch", &json!({"Meta": {"source": "a"}})), "DispatchedJobID");
        wait_for("the first deployment", || match self.agent.get("/v1/job/web/deployment") {
            d if d["Status"] == "successful" => Ok(()),
            d => Err(d.to_string()),
        });
        self.put("/v1/jobs", &web(&format!("{SAYS} # of the second version")));
        self.preempting = self.allocation("payments", "apps", running);
        self.preempted =
            self.allocation("trainer", "default", |a| a["PreemptedByAllocation"] == self.preempting.as_str());
        assert_eq!(self.preempted, trainer);
        self.web = self.allocation("web", "default", |a| running(a) && a["JobVersion"] == 0);
        self.failed = self.allocation("broken", "default", |a| a["ClientStatus"] == "failed");
        wait_for("a canary", || {
            let d = self.agent.get("/v1/job/web/deployment");
            self.canary = text(&d, "ID");
            let healthy = d["TaskGroups"]["front"]["HealthyAllocs"] == 1 && d["JobVersion"] == 1;
            if healthy { Ok(()) } else { Err(d.to_string()) }
        });
        wait_for("a blocked evaluation", || {
            let all = self.agent.list("/v1/job/huge/evaluations");
            let found = all.iter().find(|e| e["Status"] == "blocked").ok_or_else(|| format!("{all:?}"))?;
            self.blocked = text(found, "ID");
            Ok(())
        });
    }
}

fn bootstrapped(agent: Agent) -> Agent {
    let secret = bootstrap(agent.port);
    agent.with_token(&secret)
}

/// The text of a member of an object.
pub fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_else(|| panic!("no {name}: {object}")).to_string()
}
