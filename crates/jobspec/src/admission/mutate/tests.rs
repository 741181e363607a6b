use serde_json::{Value, json};

use super::*;
use encamp_model::{JobType, TaskGroup, WorkloadIdentity};

fn try_mutate(job: Value, ctx: &ServerContext) -> Result<Job, MutatorError> {
    let mut job: Job = serde_json::from_value(job).unwrap();
    mutate(&mut job, ctx).map(|()| job)
}

/// The first group of a job with one group.
fn group_of(group: Value) -> TaskGroup {
    let job = json!({"ID": "j", "Name": "job", "Type": JobType::Service, "TaskGroups": [group]});
    try_mutate(job, &ServerContext::default()).unwrap().task_groups.remove(0)
}

fn attributes(constraints: &[Constraint]) -> Vec<String> {
    constraints.iter().map(|c| format!("{} {} {}", c.ltarget, c.operand, c.rtarget)).collect()
}

#[test]
fn service_names_refer_to_job_group_and_task() {
    let service = |name: &str| json!({"Name": name, "Provider": "nomad"});
    let group = group_of(json!({"Name": "g", "Services": [service("${BASE}-${node.x}-${")],
        "Tasks": [{"Name": "t", "Services": [service("${JOB}.${TASKGROUP}.${TASK}")]}]}));
    assert_eq!(group.services[0].name, "job-g-group-${node.x}-${");
    assert_eq!(group.tasks[0].services[0].name, "job.g.t");
    assert_eq!(group.tasks[0].services[0].task_name, "t");
    assert_eq!(group.tasks[0].services[0].namespace, "default");
}

#[test]
fn a_listed_default_identity_replaces_the_other_one() {
    let group = group_of(json!({"Name": "g", "Tasks": [{"Identity": {"Env": true},
        "Identities": [{"Name": "x", "ChangeSignal": "sigusr1"}, {"File": true, "Audience": ["ignored"]}]}]}));
    let task = &group.tasks[0];
    let identity = task.identity.as_ref().unwrap();
    assert_eq!((identity.name.as_str(), identity.env, identity.file), ("default", false, true));
    assert_eq!(identity.audience, ["nomadproject.io"]);
    assert_eq!(task.identities.iter().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(task.identities[0].change_signal, "SIGUSR1");
    assert_eq!(attributes(&group.constraints), ["${attr.nomad.version} semver >= 1.7.0-a"]);
}

#[test]
fn partitions_are_constraints_of_their_block() {
    let group = group_of(json!({"Name": "g", "Consul": {"Partition": "p"}, "Tasks": [{"Consul": {"Partition": "q"}}]}));
    assert_eq!(attributes(&group.constraints), ["${attr.consul.partition} = p"]);
    assert_eq!(attributes(&group.tasks[0].constraints), ["${attr.consul.partition} = q"]);
    assert_eq!(group.consul.unwrap().cluster, "default");
}

#[test]
fn native_services_need_a_clear_task() {
    let job = |service: Value, tasks: Value| {
        let group = json!({"Name": "g", "Networks": [{}], "Services": [service], "Tasks": tasks});
        try_mutate(json!({"TaskGroups": [group]}), &ServerContext::default())
    };
    let native = |task: &str| json!({"Name": "nat", "TaskName": task, "Connect": {"Native": true}});
    let two = json!([{"Name": "a"}, {"Name": "b"}]);
    let group = job(native(""), json!([{"Name": "a"}])).unwrap().task_groups.remove(0);
    assert_eq!((group.tasks[0].kind.as_str(), group.services[0].task_name.as_str()), ("connect-native:nat", "a"));
    assert_eq!(job(native("b"), two.clone()).unwrap().task_groups[0].tasks[1].kind, "connect-native:nat");
    for (task, want) in [
        ("", "task for Consul Connect Native service g->nat is ambiguous and must be set"),
        ("c", "task c named by Consul Connect Native service g->nat does not exist"),
    ] {
        let error = job(native(task), two.clone()).unwrap_err();
        assert_eq!(error.to_string(), format!("error in job mutator connect: {want}"));
    }
}

#[test]
fn injected_sidecars_take_free_names_and_merge_what_the_job_says() {
    let sidecar = json!({"Driver": "docker", "User": "u", "Config": {"extra": 1.0}, "Env": {"A": "b"},
        "Resources": {"MemoryMB": 64}, "LogConfig": {"MaxFiles": 5}, "KillTimeout": 0, "ShutdownDelay": 0});
    let service = json!({"Name": "s-${NOMAD_ALLOC_INDEX}-${NOMAD_META_k}-${NOMAD_DC}", "PortLabel": "1",
        "Connect": {"SidecarService": {}, "SidecarTask": sidecar}});
    let taken = "connect-proxy-s-0-v-${NOMAD_DC}";
    let group = group_of(json!({"Name": "g", "Meta": {"k": "v"}, "Networks": [{"Mode": "bridge",
        "ReservedPorts": [{"Label": taken, "Value": 5}]}], "Services": [service],
        "Tasks": [{"Name": taken, "Driver": "podman"}, {"Name": "d", "Driver": "docker"}]}));
    let task = group.tasks.last().unwrap();
    let suffix = task.name.strip_prefix(&format!("{taken}-")).unwrap();
    assert!(suffix.len() == 6 && suffix.bytes().all(|b| b.is_ascii_hexdigit()), "{suffix}");
    assert_eq!(task.kind, "connect-proxy:s-0-v-${NOMAD_DC}");
    assert_eq!((task.driver.as_str(), task.user.as_str(), task.shutdown_delay), ("docker", "u", 0));
    assert_eq!(task.kill_timeout, 5_000_000_000);
    assert_eq!(task.config.keys().collect::<Vec<_>>(), ["args", "extra", "image"]);
    let resources = task.resources.as_ref().unwrap();
    assert_eq!((resources.cpu, resources.memory_mb), (250, 64));
    let logs = task.log_config.as_ref().unwrap();
    assert_eq!((logs.max_files, logs.max_file_size_mb), (5, 2));
    // A static port of the label does not count.
    let port = &group.networks[0].dynamic_ports[0];
    assert_eq!((port.label.as_str(), port.to, port.host_network.as_str()), (taken, -1, "default"));
}

#[test]
fn another_driver_replaces_the_proxy_config_and_podman_is_kept() {
    let service =
        |sidecar: Value| json!({"Name": "s", "Connect": {"SidecarService": {"Port": "p"}, "SidecarTask": sidecar}});
    let group = |sidecar: Value| {
        group_of(json!({"Name": "g", "Networks": [{"Mode": "bridge", "DynamicPorts": [{"Label": "p"}]}],
            "Services": [service(sidecar)], "Tasks": [{"Name": "t", "Driver": "podman"}]}))
    };
    let other = group(json!({"Driver": "exec", "Config": {"command": "envoy"}}));
    assert_eq!(other.tasks[1].config.keys().collect::<Vec<_>>(), ["command"]);
    assert_eq!(other.networks[0].dynamic_ports.len(), 1);
    assert_eq!(group(Value::Null).tasks[1].driver, "podman");
}

#[test]
fn connect_without_network_is_left_to_validation() {
    let group = group_of(json!({"Name": "g", "Services": [{"Name": "s", "Connect": {"SidecarService": {}}}],
        "Tasks": [{"Name": "t"}]}));
    assert_eq!(group.tasks.len(), 1);
}

#[test]
fn mesh_gateways_need_a_port_and_host_gateways_no_bind_addresses() {
    let job = |port: &str, gateway: Value, mode: &str| {
        let service = json!({"Name": "s", "PortLabel": port, "Connect": {"Gateway": gateway}});
        let group = json!({"Name": "g", "Networks": [{"Mode": mode}], "Services": [service]});
        try_mutate(json!({"TaskGroups": [group]}), &ServerContext::default())
    };
    let error = job("", json!({"Mesh": {}}), "bridge").unwrap_err();
    assert_eq!(error.to_string(), "error in job mutator connect: service.port must be set for mesh gateway service");
    let mut group = job("p", json!({"Ingress": {}}), "host").unwrap().task_groups.remove(0);
    let gateway = group.services.remove(0).connect.unwrap().gateway.unwrap();
    let proxy = gateway.proxy.unwrap();
    assert_eq!((proxy.envoy_gateway_bind_addresses, proxy.envoy_gateway_no_default_bind), (None, false));
    assert_eq!(proxy.connect_timeout, Some(5_000_000_000));
    assert_eq!(group.tasks[0].config["network_mode"], json!("host"));
    assert_eq!(group.tasks[0].lifecycle, None);
}

#[test]
fn exposed_checks_need_one_bridge_network_and_a_port() {
    let job = |networks: Value, port: &str| {
        let check = json!({"Name": "c", "Type": "HTTP", "Path": "/h", "Expose": true});
        let service = json!({"Name": "s", "PortLabel": port, "Checks": [check], "Connect": {"SidecarService": {}}});
        let group = json!({"Name": "g", "Networks": networks, "Services": [service]});
        try_mutate(json!({"TaskGroups": [group]}), &ServerContext::default())
    };
    for (networks, port, want) in [
        (
            json!([{"Mode": "bridge"}, {}]),
            "1",
            "connect expose check: must have exactly one network for Consul Connect: \
            group \"g\" has 2 networks",
        ),
        (
            json!([{"Mode": "host"}]),
            "1",
            "connect expose check: invalid network mode for Consul Connect: group \"g\" uses \
            network mode \"host\"; must be \"bridge\" or \"cni/*\"",
        ),
        (json!([{"Mode": "bridge"}]), "web", "unable to determine local service port for service check g->s->c"),
        (
            json!([{"Mode": "bridge", "DynamicPorts": [{"Label": "web"}]}]),
            "web",
            "unable to determine local service port for service check g->s->c",
        ),
    ] {
        let error = job(networks, port).unwrap_err();
        assert_eq!(error.to_string(), format!("error in job mutator expose-check: {want}"));
    }
    let ports = json!([{"Mode": "cni/x", "ReservedPorts": [{"Label": "web", "Value": 8080}]}]);
    let mut group = job(ports, "web").unwrap().task_groups.remove(0);
    let sidecar = group.services.remove(0).connect.unwrap().sidecar_service.unwrap();
    assert_eq!(sidecar.proxy.unwrap().expose.unwrap().paths[0].local_path_port, 8080);
}

#[test]
fn signals_and_services_imply_constraints() {
    let group = group_of(json!({"Name": "g", "Networks": [{"Mode": "bridge"}],
        "Constraints": [{"LTarget": "${attr.plugins.cni.version.bridge}", "RTarget": "x"}],
        "Services": [{"Name": "n", "Provider": "nomad", "Checks": [{"Type": "tcp"}]}],
        "Tasks": [
            {"Name": "b", "KillSignal": "SIGUSR2", "Services": [{"Name": "c"}],
             "Templates": [{"ChangeMode": "signal", "ChangeSignal": "sighup"}, {"ChangeMode": "noop", "ChangeSignal": "SIGINT"}]},
            {"Name": "a", "Vault": {"ChangeMode": "signal", "ChangeSignal": "sighup"}}]}));
    let want = [
        "${attr.plugins.cni.version.bridge}  x",
        "${attr.vault.version} semver >= 0.6.1",
        "${attr.os.signals} set_contains SIGHUP,SIGUSR2",
        "${attr.nomad.service_discovery} = true",
        "${attr.nomad.version} semver >= 1.4.0",
        "${attr.plugins.cni.version.firewall} semver >= 0.4.0",
        "${attr.plugins.cni.version.host-local} semver >= 0.4.0",
        "${attr.plugins.cni.version.loopback} semver >= 0.4.0",
        "${attr.plugins.cni.version.portmap} semver >= 0.4.0",
    ];
    assert_eq!(attributes(&group.constraints), want);
    assert_eq!(attributes(&group.tasks[0].constraints), ["${attr.consul.version} semver >= 1.8.0"]);
}

#[test]
fn secrets_of_one_group_constrain_all_groups() {
    let job = json!({"TaskGroups": [{"Name": "a"}, {"Name": "b", "Tasks": [{"Secrets": [{"Provider": "vault"}]}]}]});
    for group in try_mutate(job, &ServerContext::default()).unwrap().task_groups {
        assert_eq!(attributes(&group.constraints), ["${attr.plugins.secrets.vault.version} is_set "]);
    }
}

#[test]
fn configured_identities_and_their_constraint_are_added_once() {
    let template = Some(WorkloadIdentity { audience: vec!["aud".into()], ttl: 5, ..WorkloadIdentity::default() });
    let ctx = ServerContext {
        vault_default_identity: template.clone(),
        consul_service_identity: template.clone(),
        consul_task_identity: template,
        ..ServerContext::default()
    };
    let group = json!({"Name": "g", "Consul": {}, "Services": [{"Name": "s", "PortLabel": "p"}],
        "Tasks": [{"Name": "t", "Vault": {}, "Services": [{"Name": "n", "Provider": "nomad"}, {"Name": "u", "PortLabel": "q"}]},
            {"Name": "o", "Vault": {"Cluster": "c2"}, "Consul": {"Cluster": "c2"}, "Services": [{"Name": "v", "Cluster": "c2"}]}]});
    let once = try_mutate(json!({"TaskGroups": [group]}), &ctx).unwrap();
    let names = |job: &Job| {
        let group = &job.task_groups[0];
        let services = group.services.iter().chain(&group.tasks[0].services).filter_map(|s| s.identity.as_ref());
        services.chain(&group.tasks[0].identities).map(|i| i.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&once), ["consul-service_s-p", "consul-service_t-u-q", "consul_default", "vault_default"]);
    let other = &once.task_groups[0].tasks[1];
    assert!(other.identities.is_empty() && other.services[0].identity.is_none(), "of clusters without a template");
    assert_eq!(once.task_groups[0].services[0].identity.as_ref().unwrap().service_name, "s");
    let mut twice = once.clone();
    mutate(&mut twice, &ctx).unwrap();
    assert_eq!(names(&twice), names(&once));
    let count = |job: &Job| job.task_groups[0].constraints.iter().filter(|c| c.rtarget == ">= 1.7.0-a").count();
    assert_eq!((count(&once), count(&twice)), (1, 1));
}

#[test]
fn job_defaults_come_from_the_server() {
    let ctx = ServerContext { job_default_priority: 61, ..ServerContext::default() };
    let job = json!({"Type": JobType::Batch, "ParameterizedJob": {}, "TaskGroups": [{"Tasks": [{}]}]});
    let job = try_mutate(job, &ctx).unwrap();
    assert_eq!((job.priority, job.namespace.as_str(), job.node_pool.as_str()), (61, "default", "default"));
    assert_eq!(job.datacenters, ["*"]);
    assert_eq!(job.parameterized_job.unwrap().payload, "optional");
    let group = &job.task_groups[0];
    assert_eq!(group.restart_policy.as_ref().unwrap().attempts, 3);
    assert_eq!(group.reschedule_policy.as_ref().unwrap().attempts, 1);
    assert_eq!(group.tasks[0].restart_policy, group.restart_policy);
}

#[test]
fn sidecar_task_brings_mounts_identities_networks_and_devices() {
    let sidecar = json!({"VolumeMounts": [{"Volume": "v"}], "Identities": [{"Name": "i"}],
        "Resources": {"Networks": [{"Mode": "host"}], "Devices": [{"Name": "gpu"}]}});
    let service = |sidecar: Value| {
        let connect = json!({"SidecarService": {}, "SidecarTask": sidecar});
        group_of(
            json!({"Name": "g", "Networks": [{"Mode": "bridge"}], "Services": [{"Name": "s", "Connect": connect}]}),
        )
    };
    let counts = |group: TaskGroup| {
        let task = &group.tasks[0];
        let resources = task.resources.as_ref().unwrap();
        [task.volume_mounts.len(), task.identities.len(), resources.networks.len(), resources.devices.len()]
    };
    assert_eq!(counts(service(sidecar)), [1, 1, 1, 1]);
    assert_eq!(counts(service(json!({"Resources": {}}))), [0, 0, 0, 0]);
}

#[test]
fn gateway_tasks_and_names_taken_by_them_are_known() {
    let gateway = |name: &str, task: &str| json!({"Name": name, "Connect": {"Gateway": {"Ingress": {}}, "SidecarTask": {"Name": task}}});
    let sidecar = json!({"Name": "s", "Connect": {"SidecarService": {}}});
    let group = group_of(json!({"Name": "g", "Networks": [{"Mode": "bridge"}],
        "Services": [gateway("a", "connect-proxy-s"), gateway("a", "again"), sidecar]}));
    let kinds: Vec<&str> = group.tasks.iter().map(|t| t.kind.as_str()).collect();
    assert_eq!(kinds, ["connect-ingress:a", "connect-proxy:s"]);
    assert!(group.tasks[1].name.starts_with("connect-proxy-s-"), "{}", group.tasks[1].name);
}

#[test]
fn services_are_registered_where_their_provider_keeps_them() {
    let service = |provider: &str| json!({"Name": "s", "Provider": provider});
    let group = json!({"Name": "g", "Services": [service(""), service("nomad")]});
    let job = json!({"ID": "j", "Name": "j", "Type": JobType::Batch, "Namespace": "prod", "TaskGroups": [group]});
    let services = &try_mutate(job, &ServerContext::default()).unwrap().task_groups[0].services;
    let facts = services.iter().map(|s| [s.provider.as_str(), s.namespace.as_str(), s.cluster.as_str()]);
    assert_eq!(facts.collect::<Vec<_>>(), [["consul", "default", "default"], ["nomad", "prod", ""]]);
}

#[test]
fn groups_that_passed_no_client_get_their_defaults() {
    let group = |r#type: JobType| {
        let job = json!({"ID": "j", "Name": "j", "Type": r#type, "TaskGroups": [{"Name": "g"}]});
        try_mutate(job, &ServerContext::default()).unwrap().task_groups.remove(0)
    };
    let service = group(JobType::Service);
    let migrate = service.migrate.unwrap();
    assert_eq!((migrate.max_parallel, migrate.health_check.as_str()), (1, "checks"));
    assert_eq!(service.ephemeral_disk.unwrap().size_mb, 300);
    assert!(group(JobType::Batch).migrate.is_none());
    let attempts = |r#type| group(r#type).restart_policy.map(|p| p.attempts);
    assert_eq!([JobType::System, JobType::Batch, JobType::Sysbatch].map(attempts), [Some(2), Some(3), None]);
}

#[test]
fn constraints_that_the_job_has_are_not_added_again() {
    let signals = "${attr.os.signals} set_contains SIGHUP";
    let own = json!({"LTarget": "${attr.os.signals}", "Operand": "set_contains", "RTarget": "SIGHUP"});
    let task = json!({"Name": "t", "KillSignal": "SIGHUP"});
    let group = group_of(json!({"Name": "g", "Constraints": [own], "Tasks": [task]}));
    assert_eq!(attributes(&group.constraints), [signals]);
}
