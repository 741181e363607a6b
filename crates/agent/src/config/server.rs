//! The blocks `server`, `acl`, `autopilot`, `tls`, `limits`, `rpc`, `telemetry` (`docs/spec/agent-config.md §5.4-5.9`).

use std::time::Duration;

use super::client::{ServerJoin, ServerJoinFile};
use super::kinds::{
    Accepted, Age, Appended, Count, Flag, Float, Hidden, Int, Limit, List, Open, OpenCount, OpenSwitch, Size, Span,
    Switch, Text, Whole, blocks, minutes,
};
use encamp_model::{HOUR, MINUTE, SchedulerAlgorithm};

const SECOND: Duration = Duration::from_secs(1);

blocks! {
    /// The settings of a server.
    Server from ServerFile {
        enabled "Enabled": Flag = false,
        bootstrap_expect "BootstrapExpect": Int = 0,
        data_dir "DataDir": Text = String::new(),
        raft_protocol "RaftProtocol": Int = 3,
        /// 1 to 10.
        raft_multiplier "RaftMultiplier": Int = 1,
        /// Workers; none for one per processor.
        num_schedulers "NumSchedulers": OpenCount = None,
        /// Job types that workers take; empty for all.
        enabled_schedulers "EnabledSchedulers": Appended = Vec::new(),
        node_gc_threshold "NodeGCThreshold": Age = 24 * HOUR,
        job_gc_interval "JobGCInterval": Age = 5 * MINUTE,
        job_gc_threshold "JobGCThreshold": Age = 4 * HOUR,
        eval_gc_threshold "EvalGCThreshold": Age = HOUR,
        batch_eval_gc_threshold "BatchEvalGCThreshold": Age = 24 * HOUR,
        deployment_gc_threshold "DeploymentGCThreshold": Age = HOUR,
        csi_volume_claim_gc_interval "CSIVolumeClaimGCInterval": Age = 5 * MINUTE,
        csi_volume_claim_gc_threshold "CSIVolumeClaimGCThreshold": Age = 5 * MINUTE,
        csi_plugin_gc_threshold "CSIPluginGCThreshold": Age = HOUR,
        acl_token_gc_threshold "ACLTokenGCThreshold": Age = HOUR,
        root_key_gc_interval "RootKeyGCInterval": Age = 10 * MINUTE,
        root_key_gc_threshold "RootKeyGCThreshold": Age = HOUR,
        root_key_rotation_threshold "RootKeyRotationThreshold": Age = 720 * HOUR,
        heartbeat_grace "HeartbeatGrace": Span = 10 * SECOND,
        min_heartbeat_ttl "MinHeartbeatTTL": Span = 10 * SECOND,
        max_heartbeats_per_second "MaxHeartbeatsPerSecond": Float = 50.0,
        failover_heartbeat_ttl "FailoverHeartbeatTTL": Span = 300 * SECOND,
        rejoin_after_leave "RejoinAfterLeave": Flag = false,
        /// Base64 of the gossip key.
        encrypt "EncryptKey": Hidden = Default::default(),
        server_join "ServerJoin": ServerJoinFile = ServerJoin::default(),
        /// Older form of `server_join.start_join`.
        start_join "StartJoin": Appended = Vec::new(),
        /// Older form of `server_join.retry_join`.
        retry_join "RetryJoin": Appended = Vec::new(),
        /// Older form of `server_join.retry_max`.
        retry_max "RetryMaxAttempts": Int = 0,
        /// Older form of `server_join.retry_interval`.
        retry_interval "RetryInterval": Span = Duration::ZERO,
        /// None for the defaults, in which system jobs preempt.
        default_scheduler_config "DefaultSchedulerConfig": Whole<Open<SchedulerFile>> = None,
        plan_rejection_tracker "PlanRejectionTracker": TrackerFile = Tracker::default(),
        /// Plans applied ahead of the log.
        plan_apply_pipeline "PlanApplyPipeline": Int = 1,
        enable_event_broker "EnableEventBroker": Switch = true,
        event_buffer_size "EventBufferSize": Count = 100,
        search "Search": Whole<SearchFile> = search(),
        deploy_query_rate_limit "DeploymentQueryRateLimit": Float = 100.0,
        raft_boltdb "RaftBoltConfig": Accepted = false,
        raft_logstore "RaftLogStoreConfig": Accepted = false,
        /// Entries.
        raft_snapshot_threshold "RaftSnapshotThreshold": Int = 8192,
        raft_snapshot_interval "RaftSnapshotInterval": Span = 120 * SECOND,
        /// Entries.
        raft_trailing_logs "RaftTrailingLogs": Int = 10_240,
        job_default_priority "JobDefaultPriority": Int = 50,
        job_max_priority "JobMaxPriority": Int = 100,
        /// 0 for no limit.
        job_max_count "JobMaxCount": Count = 50_000,
        /// Bytes; 0 keeps no submissions.
        job_max_source_size "JobMaxSourceSize": Size = 1_000_000,
        job_tracked_versions "JobTrackedVersions": Count = 6,
        oidc_issuer "OIDCIssuer": Text = String::new(),
        start_timeout "StartTimeout": Span = 30 * SECOND,
        client_introduction "ClientIntroduction": IntroductionFile = Introduction::default(),
        authoritative_region "AuthoritativeRegion": Text = String::new(),
        non_voting_server "NonVotingServer": Flag = false,
        redundancy_zone "RedundancyZone": Text = String::new(),
        upgrade_version "UpgradeVersion": Text = String::new(),
        license_path "LicensePath": Text = String::new(),
        non_production "NonProduction": Flag = false,
        /// Refused: see validation.
        protocol_version "ProtocolVersion": Int = 0,
        log_file "LogFile": Text = String::new(),
    }

    /// The scheduler's settings when a cluster is new.
    Scheduler from SchedulerFile {
        /// `binpack` or `spread`.
        scheduler_algorithm "SchedulerAlgorithm": Text = SchedulerAlgorithm::Binpack.to_string(),
        preemption_config "PreemptionConfig": PreemptionFile = Preemption::default(),
        memory_oversubscription_enabled "MemoryOversubscriptionEnabled": Flag = false,
        reject_job_registration "RejectJobRegistration": Flag = false,
        pause_eval_broker "PauseEvalBroker": Flag = false,
        node_limit_for_feasibility_checks "NodeLimitForFeasibilityChecks": Int = 100,
    }

    /// Which types of jobs may preempt.
    Preemption from PreemptionFile {
        system_scheduler_enabled "SystemSchedulerEnabled": Flag = false,
        sysbatch_scheduler_enabled "SysBatchSchedulerEnabled": Flag = false,
        batch_scheduler_enabled "BatchSchedulerEnabled": Flag = false,
        service_scheduler_enabled "ServiceSchedulerEnabled": Flag = false,
    }

    /// When nodes that reject plans become ineligible.
    Tracker from TrackerFile {
        enabled "Enabled": Switch = false,
        node_threshold "NodeThreshold": Int = 100,
        node_window "NodeWindow": Limit = minutes(5),
    }

    /// Limits of searches.
    Search from SearchFile {
        fuzzy_enabled "FuzzyEnabled": Flag = false,
        limit_query "LimitQuery": Int = 0,
        limit_results "LimitResults": Int = 0,
        min_term_length "MinTermLength": Int = 0,
    }

    /// How new nodes introduce themselves.
    Introduction from IntroductionFile {
        /// `none`, `warn` or `strict`.
        enforcement "Enforcement": Text = "warn".into(),
        default_identity_ttl "DefaultIdentityTTL": Span = minutes(5),
        max_identity_ttl "MaxIdentityTTL": Span = minutes(30),
    }

    /// Access control.
    Acl from AclFile {
        enabled "Enabled": Flag = false,
        token_ttl "TokenTTL": Span = 30 * SECOND,
        policy_ttl "PolicyTTL": Span = 30 * SECOND,
        role_ttl "RoleTTL": Span = 30 * SECOND,
        replication_token "ReplicationToken": Hidden = Default::default(),
        token_min_expiration_ttl "TokenMinExpirationTTL": Span = minutes(1),
        token_max_expiration_ttl "TokenMaxExpirationTTL": Span = minutes(24 * 60),
    }

    /// How a new cluster looks after its servers.
    Autopilot from AutopilotFile {
        cleanup_dead_servers "CleanupDeadServers": Switch = true,
        last_contact_threshold "LastContactThreshold": Span = Duration::from_millis(200),
        max_trailing_logs "MaxTrailingLogs": Int = 250,
        server_stabilization_time "ServerStabilizationTime": Span = 10 * SECOND,
        min_quorum "MinQuorum": Int = 0,
        enable_redundancy_zones "EnableRedundancyZones": OpenSwitch = None,
        disable_upgrade_migration "DisableUpgradeMigration": OpenSwitch = None,
        enable_custom_upgrades "EnableCustomUpgrades": OpenSwitch = None,
    }

    /// TLS.
    Tls from TlsFile {
        http "EnableHTTP": Flag = false,
        rpc "EnableRPC": Flag = false,
        ca_file "CAFile": Text = String::new(),
        cert_file "CertFile": Text = String::new(),
        key_file "KeyFile": Text = String::new(),
        verify_server_hostname "VerifyServerHostname": Flag = false,
        verify_https_client "VerifyHTTPSClient": Flag = false,
        rpc_upgrade_mode "RPCUpgradeMode": Flag = false,
        /// `tls10` to `tls13`.
        tls_min_version "TLSMinVersion": Text = String::new(),
        tls_cipher_suites "TLSCipherSuites": Text = String::new(),
        tls_prefer_server_cipher_suites "TLSPreferServerCipherSuites": Flag = false,
    }

    /// Limits of connections.
    Limits from LimitsFile {
        /// 0 for none.
        https_handshake_timeout "HTTPSHandshakeTimeout": Limit = 5 * SECOND,
        /// 0 for no limit.
        http_max_conns_per_client "HTTPMaxConnsPerClient": Count = 100,
        /// 0 for none.
        rpc_handshake_timeout "RPCHandshakeTimeout": Limit = 5 * SECOND,
        /// 0 for no limit.
        rpc_max_conns_per_client "RPCMaxConnsPerClient": Count = 100,
    }

    /// Connections between agents.
    Rpc from RpcFile {
        accept_backlog "AcceptBacklog": Int = 256,
        keep_alive_interval "KeepAliveInterval": Span = 30 * SECOND,
        connection_write_timeout "ConnectionWriteTimeout": Span = 10 * SECOND,
        stream_open_timeout "StreamOpenTimeout": Span = 75 * SECOND,
        stream_close_timeout "StreamCloseTimeout": Span = minutes(5),
        dial_timeout "DialTimeout": Span = 10 * SECOND,
    }

    /// Metrics.
    Telemetry from TelemetryFile {
        in_memory_collection_interval "InMemoryCollectionInterval": Span = 10 * SECOND,
        in_memory_retention_period "InMemoryRetentionPeriod": Span = minutes(1),
        collection_interval "CollectionInterval": Span = SECOND,
        prometheus_metrics "PrometheusMetrics": Flag = false,
        disable_hostname "DisableHostname": Flag = false,
        use_node_name "UseNodeName": Flag = false,
        publish_node_metrics "PublishNodeMetrics": Flag = false,
        publish_allocation_metrics "PublishAllocationMetrics": Flag = false,
        include_alloc_metadata_in_metrics "IncludeAllocMetadataInMetrics": Flag = false,
        allowed_metadata_keys_in_metrics "AllowedMetadataKeysInMetrics": Appended = Vec::new(),
        prefix_filter "PrefixFilter": List = Vec::new(),
        filter_default "FilterDefault": Switch = true,
        disable_dispatched_job_summary_metrics "DisableDispatchedJobSummaryMetrics": Flag = false,
        disable_rpc_rate_metrics_labels "DisableRPCRateMetricsLabels": Flag = false,
        disable_allocation_hook_metrics "DisableAllocationHookMetrics": Switch = false,
        disable_quota_utilization_metrics "DisableQuotaUtilizationMetrics": Flag = false,
        statsd_address "StatsdAddr": Text = String::new(),
        statsite_address "StatsiteAddr": Text = String::new(),
        datadog_address "DataDogAddr": Text = String::new(),
        datadog_tags "DataDogTags": List = Vec::new(),
        circonus_api_token "CirconusAPIToken": Hidden = Default::default(),
        circonus_api_app "CirconusAPIApp": Text = String::new(),
        circonus_api_url "CirconusAPIURL": Text = String::new(),
        circonus_submission_interval "CirconusSubmissionInterval": Text = String::new(),
        circonus_submission_url "CirconusCheckSubmissionURL": Text = String::new(),
        circonus_check_id "CirconusCheckID": Text = String::new(),
        circonus_check_force_metric_activation "CirconusCheckForceMetricActivation": Text = String::new(),
        circonus_check_instance_id "CirconusCheckInstanceID": Text = String::new(),
        circonus_check_search_tag "CirconusCheckSearchTag": Text = String::new(),
        circonus_check_tags "CirconusCheckTags": Text = String::new(),
        circonus_check_display_name "CirconusCheckDisplayName": Text = String::new(),
        circonus_broker_id "CirconusBrokerID": Text = String::new(),
        circonus_broker_select_tag "CirconusBrokerSelectTag": Text = String::new(),
    }
}

/// `Search` where no source has the block.
fn search() -> Search {
    Search { fuzzy_enabled: true, limit_query: 20, limit_results: 100, min_term_length: 2 }
}
