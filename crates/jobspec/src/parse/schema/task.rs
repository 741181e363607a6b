//! Tasks.

use super::Kind::{Bool, Duration, OptBool, OptStr, Str, Strings};
use super::job::{NETWORK, RESTART, SCALING};
use super::service::SERVICE;
use super::*;

pub(super) static TASK: Schema = body(
    &[
        attr("driver", Str),
        attr("user", Str),
        attr("kill_signal", Str),
        attr("kind", Str),
        attr("leader", Bool),
        attr("kill_timeout", Duration),
        attr("shutdown_delay", Duration),
    ],
    &[
        free("config"),
        strings_or_map("env"),
        strings_or_map("meta"),
        once("lifecycle", &body(&[attr("hook", Str).required(), attr("sidecar", Bool)], &[])),
        once("resources", &RESOURCES),
        once("restart", &RESTART).to("RestartPolicy"),
        once("logs", &LOGS).to("LogConfig"),
        many("artifact", "Artifacts", &ARTIFACT),
        many("template", "Templates", &TEMPLATE),
        once("vault", &VAULT),
        once("consul", &CONSUL),
        many("secret", "Secrets", &SECRET).labelled("Name"),
        many("identity", "Identities", &IDENTITY),
        once("dispatch_payload", &body(&[attr("file", Str)], &[])),
        many("volume_mount", "VolumeMounts", &VOLUME_MOUNT),
        once("csi_plugin", &CSI_PLUGIN).to("CSIPluginConfig"),
        many("service", "Services", &SERVICE),
        CONSTRAINT,
        AFFINITY,
        many("scaling", "ScalingPolicies", &SCALING).labelled("Label").found_first(),
        many("action", "Actions", &body(&[attr("command", Str).required(), attr("args", Strings)], &[]))
            .labelled("Name"),
        once("schedule", &body(&[], &[once("cron", &SCHEDULE_CRON)])),
    ],
);

static SCHEDULE_CRON: Schema = body(&[attr("start", Str), attr("end", Str), attr("timezone", Str)], &[]);

pub(super) static LOGS: Schema = body(
    &[
        attr("max_files", OPT_INT),
        attr("max_file_size", OPT_INT).to("MaxFileSizeMB"),
        attr("disabled", OptBool),
        attr("enabled", OptBool),
    ],
    &[],
);

static ARTIFACT: Schema = body(
    &[
        attr("source", OptStr).to("GetterSource"),
        attr("mode", OptStr).to("GetterMode"),
        attr("insecure", OptBool).to("GetterInsecure"),
        attr("destination", OptStr).to("RelativeDest"),
        attr("chown", Bool),
    ],
    &[strings("options").to("GetterOptions"), strings("headers").to("GetterHeaders")],
);

static TEMPLATE: Schema = body(
    &[
        attr("source", OptStr).to("SourcePath"),
        attr("destination", OptStr).to("DestPath"),
        attr("data", OptStr).to("EmbeddedTmpl"),
        attr("change_mode", OptStr),
        attr("change_signal", OptStr),
        attr("once", OptBool),
        attr("splay", Duration),
        attr("perms", OptStr),
        attr("uid", OPT_INT),
        attr("gid", OPT_INT),
        attr("left_delimiter", OptStr).to("LeftDelim"),
        attr("right_delimiter", OptStr).to("RightDelim"),
        attr("env", OptBool).to("Envvars"),
        attr("vault_grace", Duration),
        attr("error_on_missing_key", OptBool).to("ErrMissingKey"),
    ],
    &[once("change_script", &CHANGE_SCRIPT), once("wait", &body(&[attr("min", Duration), attr("max", Duration)], &[]))],
);

static CHANGE_SCRIPT: Schema = body(
    &[
        attr("command", OptStr),
        attr("args", Strings),
        attr("timeout", Duration),
        attr("fail_on_error", OptBool),
        attr("run_on_first_render", OptBool),
    ],
    &[],
);

pub(super) static VOLUME_MOUNT: Schema = body(
    &[
        attr("volume", OptStr),
        attr("destination", OptStr),
        attr("read_only", OptBool),
        attr("propagation_mode", OptStr),
        attr("selinux_label", OptStr).to("SELinuxLabel"),
    ],
    &[],
);

static CSI_PLUGIN: Schema = body(
    &[
        attr("id", Str).to("ID"),
        attr("type", Str),
        attr("mount_dir", Str),
        attr("stage_publish_base_dir", Str),
        attr("health_timeout", Duration),
    ],
    &[],
);

pub(super) static RESOURCES: Schema = body(
    &[
        attr("cpu", OPT_INT).to("CPU"),
        attr("cores", OPT_INT),
        attr("memory", OPT_INT).to("MemoryMB"),
        attr("memory_max", OPT_INT).to("MemoryMaxMB"),
        attr("disk", OPT_INT).to("DiskMB"),
        attr("secrets", OPT_INT).to("SecretsMB"),
        attr("iops", OPT_INT).to("IOPS"),
    ],
    &[
        many("network", "Networks", &NETWORK),
        many("device", "Devices", &body(&[attr("count", OPT_UINT64)], &[CONSTRAINT, AFFINITY])).labelled("Name"),
        once("numa", &body(&[attr("affinity", Str), attr("devices", Strings)], &[])).to("NUMA"),
    ],
);

pub(super) static VAULT: Schema = body(
    &[
        attr("policies", Strings),
        attr("role", Str),
        attr("namespace", OptStr),
        attr("cluster", Str),
        attr("env", OptBool),
        attr("disable_file", OptBool),
        attr("change_mode", OptStr),
        attr("change_signal", OptStr),
        attr("allow_token_expiration", OptBool),
    ],
    &[],
);

pub(super) static CONSUL: Schema = body(&[attr("namespace", Str), attr("cluster", Str), attr("partition", Str)], &[]);

pub(super) static SECRET: Schema = body(&[attr("provider", Str), attr("path", Str)], &[free("config"), strings("env")]);

pub(super) static IDENTITY: Schema = body(
    &[
        attr("name", Str),
        attr("aud", Strings).to("Audience"),
        attr("change_mode", Str),
        attr("change_signal", Str),
        attr("env", Bool),
        attr("file", Bool),
        attr("filepath", Str),
        attr("service_name", Str),
        attr("ttl", Duration).to("TTL"),
        attr("extra_claims", Strings),
    ],
    &[],
);
