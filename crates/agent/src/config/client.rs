//! The block `client` (`docs/spec/agent-config.md §5.3`). Sizes of resources are MHz and MB; the meaning of each key is
//! in `docs/spec/client.md`.

use std::time::Duration;

use super::kinds::{
    Accepted, Appended, Count, Flag, Float, Int, Labelled, Limit, List, Open, Replaced, Size, Span, Switch, Text,
    Texts, Tree, Whole, blocks, minutes,
};

const SECOND: Duration = Duration::from_secs(1);

blocks! {
    /// The settings of a client node.
    Client from ClientFile {
        enabled "Enabled": Flag = false,
        state_dir "StateDir": Text = String::new(),
        alloc_dir "AllocDir": Text = String::new(),
        alloc_mounts_dir "AllocMountsDir": Text = String::new(),
        host_volumes_dir "HostVolumesDir": Text = String::new(),
        host_volume_plugin_dir "HostVolumePluginDir": Text = String::new(),
        common_plugin_dir "CommonPluginDir": Text = String::new(),
        /// `host[:port]` of servers.
        servers "Servers": Appended = Vec::new(),
        server_join "ServerJoin": ServerJoinFile = ServerJoin::default(),
        node_class "NodeClass": Text = String::new(),
        node_pool "NodePool": Text = "default".into(),
        meta "Meta": Texts = Default::default(),
        options "Options": Texts = Default::default(),
        network_interface "NetworkInterface": Text = String::new(),
        preferred_address_family "PreferredAddressFamily": Text = String::new(),
        /// Mbit/s; 0 for what the interface tells.
        network_speed "NetworkSpeed": Int = 0,
        /// MHz; 0 for what the machine tells.
        cpu_total_compute "CpuCompute": Int = 0,
        cpu_disable_dmidecode "CpuDisableDmidecode": Flag = false,
        /// MB; 0 for what the machine tells.
        memory_total_mb "MemoryMB": Int = 0,
        /// MB; 0 for what the machine tells.
        disk_total_mb "DiskTotalMB": Int = 0,
        /// MB; without effect.
        disk_free_mb "DiskFreeMB": Int = 0,
        reservable_cores "ReservableCores": Text = String::new(),
        max_kill_timeout "MaxKillTimeout": Span = 30 * SECOND,
        min_dynamic_port "MinDynamicPort": Int = 20_000,
        max_dynamic_port "MaxDynamicPort": Int = 32_000,
        client_min_port "ClientMinPort": Int = 14_000,
        client_max_port "ClientMaxPort": Int = 14_512,
        reserved "Reserved": ReservedFile = Reserved::default(),
        gc_interval "GCInterval": Span = minutes(1),
        gc_parallel_destroys "GCParallelDestroys": Int = 2,
        /// Percent.
        gc_disk_usage_threshold "GCDiskUsageThreshold": Float = 80.0,
        /// Percent.
        gc_inode_usage_threshold "GCInodeUsageThreshold": Float = 70.0,
        gc_max_allocs "GCMaxAllocs": Int = 50,
        gc_volumes_on_node_gc "GCVolumesOnNodeGC": Flag = false,
        no_host_uuid "NoHostUUID": Switch = true,
        disable_remote_exec "DisableRemoteExec": Flag = false,
        default_ineligible "DefaultIneligible": Flag = false,
        node_max_allocs "NodeMaxAllocs": Int = 0,
        bind_wildcard_default_host_network "BindWildcardDefaultHostNetwork": Flag = true,
        nomad_service_discovery "NomadServiceDiscovery": Switch = true,
        cni_path "CNIPath": Text = "/opt/cni/bin:/usr/libexec/cni".into(),
        cni_config_dir "CNIConfigDir": Text = "/opt/cni/config".into(),
        bridge_network_name "BridgeNetworkName": Text = "nomad".into(),
        bridge_network_subnet "BridgeNetworkSubnet": Text = "172.26.64.0/20".into(),
        bridge_network_subnet_ipv6 "BridgeNetworkSubnetIPv6": Text = String::new(),
        bridge_network_hairpin_mode "BridgeNetworkHairpinMode": Flag = false,
        cgroup_parent "CgroupParent": Text = String::new(),
        chroot_env "ChrootEnv": Texts = chroot(),
        host_volume "HostVolumes": Replaced<HostVolumeFile> = Default::default(),
        host_network "HostNetworks": Labelled<HostNetworkFile> = Default::default(),
        template "TemplateConfig": TemplateFile = Template::default(),
        artifact "Artifact": ArtifactFile = Artifact::default(),
        drain_on_shutdown "Drain": Open<DrainFile> = None,
        users "Users": UsersFile = Users::default(),
        fingerprint "Fingerprinters": Labelled<FingerprintFile> = Default::default(),
        log_file "LogFile": Text = String::new(),
        /// Without effect.
        stats "Stats": Accepted = false,
    }

    /// How an agent finds servers.
    ServerJoin from ServerJoinFile {
        start_join "StartJoin": List = Vec::new(),
        retry_join "RetryJoin": List = Vec::new(),
        /// Failed tries until the agent gives up; 0 for never.
        retry_max "RetryMaxAttempts": Int = 0,
        retry_interval "RetryInterval": Span = 30 * SECOND,
    }

    /// The resources that a node reserves: jobs cannot use them.
    Reserved from ReservedFile {
        /// MHz.
        cpu "CPU": Int = 0,
        /// MB.
        memory "MemoryMB": Int = 0,
        /// MB.
        disk "DiskMB": Int = 0,
        cores "Cores": Text = String::new(),
        reserved_ports "ReservedPorts": Text = String::new(),
    }

    /// A host volume.
    HostVolume from HostVolumeFile {
        path "Path": Text = String::new(),
        read_only "ReadOnly": Flag = false,
    }

    /// A host network.
    HostNetwork from HostNetworkFile {
        cidr "CIDR": Text = String::new(),
        interface "Interface": Text = String::new(),
        reserved_ports "ReservedPorts": Text = String::new(),
    }

    /// How templates are rendered.
    Template from TemplateFile {
        function_denylist "FunctionDenylist": List = ["executeTemplate", "plugin", "writeToFile"].map(String::from).into(),
        function_blacklist "FunctionBlacklist": List = Vec::new(),
        disable_file_sandbox "DisableSandbox": Flag = false,
        max_stale "MaxStale": Span = minutes(87_600 * 60),
        block_query_wait "BlockQueryWaitTime": Span = minutes(5),
        wait "Wait": WaitFile = Wait::default(),
        wait_bounds "WaitBounds": Open<BoundsFile> = None,
        nomad_retry "NomadRetry": RetryFile = Retry::default(),
        consul_retry "ConsulRetry": RetryFile = Retry::default(),
        vault_retry "VaultRetry": RetryFile = Retry::default(),
        vault_default_lease_duration "VaultDefaultLeaseDuration": Span = minutes(5),
        use_client_consul_token "UseClientConsulToken": Flag = false,
    }

    /// How long changes are collected before a template is rendered.
    Wait from WaitFile {
        min "Min": Span = 5 * SECOND,
        max "Max": Span = minutes(4),
    }

    /// Bounds of what jobs may ask for as [`Wait`].
    Bounds from BoundsFile {
        min "Min": Span = Duration::ZERO,
        max "Max": Span = Duration::ZERO,
    }

    /// How often a template asks again.
    Retry from RetryFile {
        /// 0 for endless.
        attempts "Attempts": Count = 12,
        backoff "Backoff": Span = Duration::from_millis(250),
        max_backoff "MaxBackoff": Limit = minutes(1),
    }

    /// Limits for artifacts.
    Artifact from ArtifactFile {
        http_read_timeout "HTTPReadTimeout": Limit = minutes(30),
        gcs_timeout "GCSTimeout": Limit = minutes(30),
        git_timeout "GitTimeout": Limit = minutes(30),
        hg_timeout "HgTimeout": Limit = minutes(30),
        s3_timeout "S3Timeout": Limit = minutes(30),
        /// Bytes.
        http_max_size "HTTPMaxSize": Size = 100_000_000_000,
        /// Bytes.
        decompression_size_limit "DecompressionSizeLimit": Size = 100_000_000_000,
        decompression_file_count_limit "DecompressionFileCountLimit": Count = 4096,
        disable_artifact_inspection "DisableArtifactInspection": Switch = false,
        disable_filesystem_isolation "DisableFilesystemIsolation": Switch = false,
        filesystem_isolation_extra_paths "FilesystemIsolationExtraPaths": List = Vec::new(),
        /// Names of variables, separated by commas.
        set_environment_variables "SetEnvironmentVariables": Text = String::new(),
    }

    /// The treatment of allocations when the agent stops.
    Drain from DrainFile {
        deadline "Deadline": Span = minutes(60),
        ignore_system_jobs "IgnoreSystemJobs": Flag = false,
        force "Force": Flag = false,
    }

    /// User IDs for tasks.
    Users from UsersFile {
        dynamic_user_min "MinDynamicUser": Int = 80_000,
        dynamic_user_max "MaxDynamicUser": Int = 89_999,
    }

    /// How often a cloud's fingerprinter tries.
    Fingerprint from FingerprintFile {
        retry_interval "RetryInterval": Span = 2 * SECOND,
        /// -1 for endless.
        retry_attempts "RetryAttempts": Int = 0,
        exit_on_failure "ExitOnFailure": Flag = false,
    }

    /// The settings of a plugin.
    Plugin from PluginFile {
        args "Args": List = Vec::new(),
        /// For the plugin to check; null without a block.
        config "Config": Tree = serde_json::Value::Null,
    }

    /// The interface that a browser shows; here only hints in outputs depend on it.
    Ui from UiFile {
        /// Off as soon as a block leaves it out.
        enabled "Enabled": Flag = false,
        show_cli_hints "ShowCLIHints": Switch = true,
        label "Label": LabelFile = Label::default(),
        content_security_policy "ContentSecurityPolicy": PolicyFile = Policy::default(),
        consul "Consul": LinkFile = Link::default(),
        vault "Vault": LinkFile = Link::default(),
    }

    /// A label of the cluster.
    Label from LabelFile {
        text "Text": Text = String::new(),
        background_color "BackgroundColor": Text = String::new(),
        text_color "TextColor": Text = String::new(),
    }

    /// The sources from which a browser may load.
    Policy from PolicyFile {
        connect_src "ConnectSrc": List = vec!["*".into()],
        default_src "DefaultSrc": List = vec!["'none'".into()],
        form_action "FormAction": List = vec!["'none'".into()],
        frame_ancestors "FrameAncestors": List = vec!["'none'".into()],
        img_src "ImgSrc": List = vec!["'self'".into(), "data:".into()],
        script_src "ScriptSrc": List = vec!["'self'".into()],
        style_src "StyleSrc": List = vec!["'self'".into(), "'unsafe-inline'".into()],
    }

    /// Where another interface is.
    Link from LinkFile {
        ui_url "BaseUIURL": Text = String::new(),
    }
}

/// `Ui` where no source has the block.
pub(super) fn ui_default() -> Ui {
    Ui { enabled: true, ..Ui::default() }
}

/// The files of the host that a task of the driver `exec` sees.
fn chroot() -> std::collections::BTreeMap<String, String> {
    let paths =
        ["/bin", "/etc", "/lib", "/lib32", "/lib64", "/run/resolvconf", "/sbin", "/usr", "/run/systemd/resolve"];
    paths.map(|p| (p.into(), p.into())).into()
}

/// The kind that the block `ui` has at the top.
pub(super) type UiKind = Whole<UiFile>;
