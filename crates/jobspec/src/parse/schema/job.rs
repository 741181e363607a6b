//! Jobs and groups.

use super::Kind::{Bool, Duration, OptBool, OptStr, Str, StringMap, Strings};
use super::service::SERVICE;
use super::task::{CONSUL, SECRET, TASK, VAULT};
use super::*;

/// `job`
pub(crate) static JOB: Schema = body(
    &[
        attr("id", OptStr).to("ID"),
        attr("name", OptStr),
        attr("region", OptStr),
        attr("namespace", OptStr),
        attr("type", OptStr),
        attr("priority", OPT_INT),
        attr("all_at_once", OptBool),
        attr("datacenters", Strings),
        attr("node_pool", OptStr),
    ],
    &[
        strings_or_map("meta"),
        CONSTRAINT,
        AFFINITY,
        many("spread", "Spreads", &SPREAD),
        many("group", "TaskGroups", &GROUP).labelled("Name"),
        many("task", "Tasks", &TASK).labelled("Name"),
        once("update", &UPDATE),
        once("migrate", &MIGRATE),
        once("reschedule", &RESCHEDULE),
        once("periodic", &PERIODIC),
        once("parameterized", &PARAMETERIZED).to("ParameterizedJob"),
        once("vault", &VAULT).occurs(Occurs::OnceOfType),
        many("secret", "Secrets", &SECRET).labelled("Name"),
        once("multiregion", &MULTIREGION),
        once("ui", &UI).to("UI"),
    ],
);

static MULTIREGION: Schema = body(
    &[],
    &[
        once("strategy", &body(&[attr("max_parallel", OPT_INT), attr("on_failure", OptStr)], &[])),
        many(
            "region",
            "Regions",
            &body(&[attr("count", OPT_INT), attr("datacenters", Strings), attr("node_pool", Str)], &[strings("meta")]),
        )
        .labelled("Name"),
    ],
);

static UI: Schema = body(
    &[attr("description", Str)],
    &[many("link", "Links", &body(&[attr("label", Str), attr("url", Str).to("URL")], &[]))],
);

static GROUP: Schema = body(
    &[
        attr("count", OPT_INT),
        attr("shutdown_delay", Duration),
        attr("max_run_duration", Duration),
        attr("stop_after_client_disconnect", Duration),
        attr("max_client_disconnect", Duration),
        attr("prevent_reschedule_on_lost", OptBool),
    ],
    &[
        strings_or_map("meta"),
        CONSTRAINT,
        AFFINITY,
        many("spread", "Spreads", &SPREAD),
        many("task", "Tasks", &TASK).labelled("Name"),
        once("restart", &RESTART).to("RestartPolicy"),
        once("reschedule", &RESCHEDULE).to("ReschedulePolicy"),
        once("update", &UPDATE),
        once("migrate", &MIGRATE),
        once("disconnect", &DISCONNECT),
        once("ephemeral_disk", &EPHEMERAL_DISK),
        many("network", "Networks", &NETWORK),
        many("service", "Services", &SERVICE),
        many("volume", "Volumes", &VOLUME).labelled("Name").occurs(Occurs::ByLabel),
        once("scaling", &SCALING),
        once("consul", &CONSUL),
        once("vault", &VAULT).occurs(Occurs::Last),
        many("secret", "Secrets", &SECRET).labelled("Name"),
    ],
);

static SPREAD: Schema = body(
    &[attr("attribute", Str), attr("weight", OPT_INT8)],
    &[many("target", "SpreadTarget", &body(&[attr("percent", UINT8)], &[])).labelled("Value")],
);

static UPDATE: Schema = body(
    &[
        attr("stagger", Duration),
        attr("max_parallel", OPT_INT),
        attr("health_check", OptStr),
        attr("min_healthy_time", Duration),
        attr("healthy_deadline", Duration),
        attr("progress_deadline", Duration),
        attr("canary", OPT_INT),
        attr("auto_revert", OptBool),
        attr("auto_promote", OptBool),
    ],
    &[],
);

static MIGRATE: Schema = body(
    &[
        attr("max_parallel", OPT_INT),
        attr("health_check", OptStr),
        attr("min_healthy_time", Duration),
        attr("healthy_deadline", Duration),
    ],
    &[],
);

static RESCHEDULE: Schema = body(
    &[
        attr("attempts", OPT_INT),
        attr("interval", Duration),
        attr("delay", Duration),
        attr("delay_function", OptStr),
        attr("max_delay", Duration),
        attr("unlimited", OptBool),
    ],
    &[],
);

pub(super) static RESTART: Schema = body(
    &[
        attr("interval", Duration),
        attr("attempts", OPT_INT),
        attr("delay", Duration),
        attr("mode", OptStr),
        attr("render_templates", OptBool),
    ],
    &[],
);

static DISCONNECT: Schema = body(
    &[
        attr("lost_after", Duration),
        attr("stop_on_client_after", Duration),
        attr("replace", OptBool),
        attr("reconcile", OptStr),
    ],
    &[],
);

static EPHEMERAL_DISK: Schema =
    body(&[attr("size", OPT_INT).to("SizeMB"), attr("sticky", OptBool), attr("migrate", OptBool)], &[]);

pub(super) static SCALING: Schema = body(
    &[attr("min", OPT_INT), attr("max", OPT_INT).required_last(), attr("enabled", OptBool), attr("type", Str)],
    &[free("policy")],
);

static PERIODIC: Schema = body(
    &[
        attr("cron", OptStr).to("Spec"),
        attr("crons", Strings).to("Specs"),
        attr("enabled", OptBool),
        attr("prohibit_overlap", OptBool),
        attr("time_zone", OptStr),
    ],
    &[],
);

static PARAMETERIZED: Schema =
    body(&[attr("payload", Str), attr("meta_required", Strings), attr("meta_optional", Strings)], &[]);

pub(super) static NETWORK: Schema = body(
    &[
        attr("mode", Str),
        attr("device", Str),
        attr("cidr", Str).to("CIDR"),
        attr("ip", Str).to("IP"),
        attr("hostname", Str),
        attr("mbits", OPT_INT).to("MBits"),
    ],
    &[
        once("dns", &body(&[attr("servers", Strings), attr("searches", Strings), attr("options", Strings)], &[]))
            .to("DNS"),
        once("cni", &body(&[attr("args", StringMap)], &[])).to("CNI"),
        many("port", "DynamicPorts", &PORT).labelled("Label"),
        many("reserved_ports", "ReservedPorts", &PORT).labelled("Label"),
    ],
);

static PORT: Schema = body(
    &[attr("static", INT).to("Value"), attr("to", INT), attr("host_network", Str), attr("ignore_collision", Bool)],
    &[],
);

static VOLUME: Schema = body(
    &[
        attr("type", Str),
        attr("source", Str),
        attr("read_only", Bool),
        attr("sticky", Bool),
        attr("access_mode", Str),
        attr("attachment_mode", Str),
        attr("per_alloc", Bool),
    ],
    &[once("mount_options", &body(&[attr("fs_type", Str).to("FSType"), attr("mount_flags", Strings)], &[]))],
);
