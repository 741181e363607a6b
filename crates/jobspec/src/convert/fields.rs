//! The stored form of every object, field by field: null becomes the zero value, lists lose the difference between null
//! and empty, free-form numbers become floats (they are converted to JSON before they reach the state,
//! `docs/spec/jobspec.md §16.1`).

use std::collections::BTreeMap;

use serde_json::Value;

use encamp_model::{JobType, LifecycleHook, RestartMode, VolumeAccessMode, api};

/// The stored form `M` of a client value.
pub(crate) trait Stored<M> {
    /// Converts; never fails, whatever cannot be kept is dropped.
    fn stored(&self) -> M;
}

macro_rules! same {
    ($($t:ty),*) => {
        $(impl Stored<$t> for $t {
            fn stored(&self) -> $t {
                self.clone()
            }
        }
        impl Stored<$t> for Option<$t> {
            fn stored(&self) -> $t {
                self.clone().unwrap_or_default()
            }
        })*
    };
}

same!(String, i64, u64, bool);

macro_rules! texts {
    ($($t:ty),*) => {
        $(impl Stored<$t> for String {
            fn stored(&self) -> $t {
                self.into()
            }
        }
        impl Stored<$t> for Option<String> {
            fn stored(&self) -> $t {
                self.as_deref().unwrap_or_default().into()
            }
        })*
    };
}

texts!(JobType, LifecycleHook, RestartMode, VolumeAccessMode);

impl<A: Stored<M>, M> Stored<Option<M>> for Option<A> {
    fn stored(&self) -> Option<M> {
        self.as_ref().map(Stored::stored)
    }
}

impl<A: Stored<M>, M> Stored<Vec<M>> for Vec<A> {
    fn stored(&self) -> Vec<M> {
        self.iter().map(Stored::stored).collect()
    }
}

impl<A: Stored<M>, M> Stored<Vec<M>> for Option<Vec<A>> {
    fn stored(&self) -> Vec<M> {
        self.iter().flatten().map(Stored::stored).collect()
    }
}

impl<A: Stored<M>, M> Stored<BTreeMap<String, M>> for BTreeMap<String, A> {
    fn stored(&self) -> BTreeMap<String, M> {
        self.iter().map(|(k, v)| (k.clone(), v.stored())).collect()
    }
}

impl<A: Stored<M>, M> Stored<BTreeMap<String, M>> for Option<BTreeMap<String, A>> {
    fn stored(&self) -> BTreeMap<String, M> {
        self.iter().flatten().map(|(k, v)| (k.clone(), v.stored())).collect()
    }
}

impl Stored<encamp_model::Bytes> for String {
    fn stored(&self) -> encamp_model::Bytes {
        encamp_model::Bytes::from_base64(self).unwrap_or_default()
    }
}

impl Stored<Value> for Value {
    fn stored(&self) -> Value {
        match self {
            Value::Number(n) => n.as_f64().map_or(Value::Null, Value::from),
            Value::Array(items) => Value::Array(items.iter().map(Stored::stored).collect()),
            Value::Object(members) => Value::Object(members.iter().map(|(k, v)| (k.clone(), v.stored())).collect()),
            other => other.clone(),
        }
    }
}

/// `Type { fields }` converts all fields; with `; ..` at the end the rest keeps its zero value.
macro_rules! stored {
    ($($api:ident $(=> $model:ident)? { $($fields:tt)* })*) => {
        $(stored_one! { $api $(=> $model)? { $($fields)* } })*
    };
}

macro_rules! stored_one {
    ($name:ident $fields:tt) => {
        stored_one! { $name => $name $fields }
    };
    ($api:ident => $model:ident { $($field:ident),* $(,)? }) => {
        impl Stored<encamp_model::$model> for api::$api {
            fn stored(&self) -> encamp_model::$model {
                encamp_model::$model { $($field: self.$field.stored()),* }
            }
        }
    };
    ($api:ident => $model:ident { $($field:ident),*; .. }) => {
        impl Stored<encamp_model::$model> for api::$api {
            fn stored(&self) -> encamp_model::$model {
                encamp_model::$model { $($field: self.$field.stored(),)* ..encamp_model::$model::default() }
            }
        }
    };
}

stored! {
    Job {
        stop, region, namespace, id, name, r#type, priority, all_at_once, datacenters, node_pool, constraints, affinities,
        spreads, multiregion, periodic, parameterized_job, dispatch_idempotency_token, payload, meta, vault_namespace,
        nomad_token_id, ui, version_tag; ..
    }
    Constraint { ltarget, rtarget, operand }
    Affinity { ltarget, rtarget, operand, weight }
    Spread { attribute, weight, spread_target }
    SpreadTarget { value, percent }
    UpdateStrategy {
        stagger, max_parallel, health_check, min_healthy_time, healthy_deadline, progress_deadline, canary, auto_revert,
        auto_promote
    }
    Multiregion { strategy, regions }
    MultiregionStrategy { max_parallel, on_failure }
    MultiregionRegion { name, count, datacenters, node_pool, meta }
    PeriodicConfig { enabled, spec, specs, spec_type, prohibit_overlap, time_zone }
    ParameterizedJobConfig { payload, meta_required, meta_optional }
    JobUiConfig { description, links }
    JobUiLink { label, url }
    JobVersionTag { name, description, tagged_time }

    TaskGroup {
        name, count, update, migrate, constraints, restart_policy, disconnect, ephemeral_disk, meta, reschedule_policy,
        affinities, spreads, networks, consul, services, volumes, shutdown_delay, max_run_duration; ..
    }
    MigrateStrategy { max_parallel, health_check, min_healthy_time, healthy_deadline }
    RestartPolicy { attempts, interval, delay, mode, render_templates }
    ReschedulePolicy { attempts, interval, delay, delay_function, max_delay, unlimited }
    DisconnectStrategy { lost_after, stop_on_client_after, replace, reconcile }
    EphemeralDisk { sticky, size_mb, migrate }
    Consul { namespace, cluster, partition }
    NetworkResource { mode, cidr, ip, hostname, mbits, dns, reserved_ports, dynamic_ports, cni; .. }
    Port { label, value, to, host_network, ignore_collision }
    DnsConfig { servers, searches, options }
    CniConfig { args }
    VolumeRequest {
        name, r#type, source, read_only, sticky, access_mode, attachment_mode, mount_options, per_alloc
    }
    CsiMountOptions { fs_type, mount_flags }

    Task {
        name, driver, user, config, env, services, vault, secrets, consul, templates, constraints, affinities, resources,
        restart_policy, dispatch_payload, lifecycle, meta, kill_timeout, log_config, artifacts, leader, shutdown_delay,
        kill_signal, kind, csi_plugin_config, identity, identities, actions, schedule; ..
    }
    TaskLifecycle => TaskLifecycleConfig { hook, sidecar }
    Resources { cpu, cores, memory_mb, memory_max_mb, iops, networks, devices, numa, secrets_mb; .. }
    RequestedDevice { name, count, constraints, affinities }
    NumaResource => Numa { affinity, devices }
    LogConfig { max_files, max_file_size_mb, disabled }
    TaskArtifact {
        getter_source, getter_options, getter_headers, getter_mode, getter_insecure, relative_dest, chown
    }
    Vault { role, namespace, cluster, env, disable_file, change_mode, change_signal, allow_token_expiration }
    Template {
        source_path, dest_path, embedded_tmpl, change_mode, change_signal, change_script, once, splay, perms, uid, gid,
        left_delim, right_delim, envvars, vault_grace, wait, err_missing_key
    }
    ChangeScript { command, args, timeout, fail_on_error, run_on_first_render }
    WaitConfig { min, max }
    DispatchPayloadConfig { file }
    VolumeMount { volume, destination, read_only, propagation_mode, selinux_label }
    TaskCsiPluginConfig { id, r#type, mount_dir, stage_publish_base_dir, health_timeout }
    Secret { name, provider, path, config, env }
    WorkloadIdentity {
        name, audience, change_mode, change_signal, env, file, filepath, service_name, ttl, extra_claims
    }
    Action { name, command, args }
    TaskSchedule { cron }
    TaskScheduleCron { start, end, timezone }

    Service {
        name, task_name, port_label, address_mode, address, enable_tag_override, tags, canary_tags, checks, connect, meta,
        canary_meta, weights, tagged_addresses, on_update, provider, cluster, identity, kind; ..
    }
    ServiceCheck {
        name, r#type, command, args, path, protocol, port_label, expose, address_mode, interval, timeout, initial_status,
        notes, tls_server_name, tls_skip_verify, method, header, check_restart, grpc_service, grpc_use_tls, task_name,
        success_before_passing, failures_before_critical, failures_before_warning, body, on_update
    }
    CheckRestart { limit, grace, ignore_warnings }
    ServiceWeights { passing, warning }
    ConsulConnect { native, sidecar_service, sidecar_task, gateway }
    ConsulSidecarService { tags, port, proxy, disable_default_tcp_check, meta }
    SidecarTask {
        name, driver, user, config, env, resources, meta, kill_timeout, log_config, shutdown_delay, kill_signal,
        volume_mounts, identities
    }
    ConsulExposePath { path, protocol, local_path_port, listener_port }
    ConsulUpstream {
        destination_name, destination_namespace, destination_partition, destination_peer, destination_type,
        local_bind_port, datacenter, local_bind_address, local_bind_socket_path, local_bind_socket_mode, mesh_gateway,
        config
    }
    ConsulMeshGateway { mode }
    ConsulTransparentProxy {
        uid, outbound_port, exclude_inbound_ports, exclude_outbound_ports, exclude_outbound_cidrs, exclude_u_ids, no_dns
    }
    ConsulGateway { proxy, ingress, terminating, mesh }
    ConsulGatewayBindAddress { address, port }
    ConsulIngressConfigEntry { tls, listeners }
    ConsulGatewayTlsConfig { enabled, tls_min_version, tls_max_version, cipher_suites, sds }
    ConsulGatewayTlsSdsConfig { cluster_name, cert_resource }
    ConsulIngressListener { port, protocol, services }
    ConsulIngressService {
        name, hosts, tls, request_headers, response_headers, max_connections, max_pending_requests,
        max_concurrent_requests
    }
    ConsulHTTPHeaderModifiers { add, set, remove }
    ConsulTerminatingConfigEntry { services }
    ConsulLinkedService { name, ca_file, cert_file, key_file, sni }
    ConsulMeshConfigEntry {}
}

impl Stored<encamp_model::ConsulMeshGateway> for Option<api::ConsulMeshGateway> {
    fn stored(&self) -> encamp_model::ConsulMeshGateway {
        self.as_ref().map(Stored::stored).unwrap_or_default()
    }
}

impl Stored<encamp_model::ConsulProxy> for api::ConsulProxy {
    fn stored(&self) -> encamp_model::ConsulProxy {
        encamp_model::ConsulProxy {
            local_service_address: self.local_service_address.stored(),
            local_service_port: self.local_service_port,
            upstreams: self.upstreams.stored(),
            expose: self.expose_config.as_ref().or(self.expose.as_ref()).map(Stored::stored),
            transparent_proxy: self.transparent_proxy.stored(),
            config: self.config.stored(),
        }
    }
}

impl Stored<encamp_model::ConsulExposeConfig> for api::ConsulExposeConfig {
    fn stored(&self) -> encamp_model::ConsulExposeConfig {
        encamp_model::ConsulExposeConfig {
            paths: self.path.as_ref().or(self.paths.as_ref()).map(Stored::stored).unwrap_or_default(),
        }
    }
}

impl Stored<encamp_model::ConsulGatewayProxy> for api::ConsulGatewayProxy {
    fn stored(&self) -> encamp_model::ConsulGatewayProxy {
        encamp_model::ConsulGatewayProxy {
            connect_timeout: self.connect_timeout,
            envoy_gateway_bind_tagged_addresses: self.envoy_gateway_bind_tagged_addresses,
            // Never null here: clients that give none get an empty map.
            envoy_gateway_bind_addresses: Some(self.envoy_gateway_bind_addresses.stored()),
            envoy_gateway_no_default_bind: self.envoy_gateway_no_default_bind,
            envoy_dns_discovery_type: self.envoy_dns_discovery_type.stored(),
            config: self.config.stored(),
        }
    }
}
