//! Maps each text of the validators to the attribute it is about and to a hint.

use super::closed_sets::*;
use super::repair::Fix;
use Help::{None, OneOf, Text};

/// A hint.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Help {
    None,
    Text(&'static str),
    /// The allowed values; the nearest one is suggested.
    OneOf(&'static [&'static str]),
}

/// A text, the attributes or blocks it is about (`block.attribute`, alternatives separated by `|`), and the help.
#[derive(Debug)]
pub(crate) struct Rule {
    pub text: &'static str,
    pub at: &'static str,
    pub help: Help,
    /// The change that the help describes.
    pub fix: Fix,
}

impl Rule {
    const fn fix(self, fix: Fix) -> Rule {
        Rule { fix, ..self }
    }
}

const fn rule(text: &'static str, at: &'static str, help: Help) -> Rule {
    Rule { text, at, help, fix: Fix::Default }
}

const CRON: Help = Text(
    "five fields: minute hour day month weekday, as in \"30 3 * * *\" (every day at 3:30); or @hourly, @daily, @weekly, \
     @monthly, @yearly",
);
const FIVE_SECONDS: Help = Text("write a duration with its unit, such as \"30s\"");
const REMOVE_BLOCK: Help = Text("remove this block, or change the type of the job");

/// In order: the first one whose text occurs counts.
pub(crate) static RULES: &[Rule] = &[
    // The job.
    rule("Job ID contains a space", "id", Text("job names must not contain spaces: write web-app, not \"web app\""))
        .fix(Fix::Dashes),
    rule("Invalid job type", "type", OneOf(JOB_TYPES)),
    rule("job type cannot be core", "type", None).fix(Fix::Set("type", "\"service\"")),
    rule("Missing job datacenters", "datacenters", Text("write datacenters = [\"*\"], or leave it out"))
        .fix(Fix::Set("datacenters", "[\"*\"]")),
    rule("Job datacenter must be non-empty", "datacenters", None).fix(Fix::Set("datacenters", "[\"*\"]")),
    rule("Missing job task groups", "", Text("add group \"NAME\" { … } with a task in it"))
        .fix(Fix::Add("group \"main\" {\n  task \"main\" {\n    driver = \"docker\"\n  }\n}")),
    rule("job priority must be between", "priority", None),
    rule("in nonexistent namespace", "namespace", None),
    rule("in nonexistent node pool", "node_pool", None),
    rule("total count was greater", "*.count", None),
    rule("UI description must", "ui.description", None),
    rule("Multiregion jobs", "multiregion", None),
    rule(
        "Count cannot exceed 1 with system scheduler",
        "count",
        Text("system jobs run once per node: leave count out"),
    ),
    rule("missing name", "", Text("give it a name: the label behind group or task")),
    rule(" redefines '", "", Text("names are unique among siblings: rename one of the two")).fix(Fix::UniqueLabel),
    rule("Periodic can only be used", "periodic", Text("add type = \"batch\" to the job"))
        .fix(Fix::OfJob("type", "\"batch\"")),
    rule("Parameterized job can only", "parameterized", Text("add type = \"batch\" to the job"))
        .fix(Fix::OfJob("type", "\"batch\"")),
    rule("Invalid cron spec", "periodic.crons|periodic.cron", CRON).fix(Fix::Cron),
    rule("Must specify a spec", "periodic", Text("add crons = [\"30 3 * * *\"]"))
        .fix(Fix::Placeholder("crons", "[\"@daily\"]")),
    rule("Only cron or crons", "periodic.cron", Text("keep crons, remove cron")).fix(Fix::Remove),
    rule(
        "Invalid time zone",
        "periodic.time_zone",
        Text("names are those of the IANA database, such as \"Europe/Berlin\" or \"UTC\""),
    )
    .fix(Fix::TimeZone),
    rule("cron is deprecated", "periodic.cron", Text("write crons = [ … ]")).fix(Fix::Crons),
    rule("Unknown payload requirement", "parameterized.payload", OneOf(PAYLOADS)),
    rule("Required and optional meta keys", "parameterized.meta_optional", None),
    // Constraints, affinities, spreads.
    rule("Unknown constraint type", "operator", OneOf(OPERATORS)),
    rule("Unknown affinity operator", "operator", OneOf(AFFINITY_OPERATORS)),
    rule(
        "has disallowed Operand at task level",
        "operator|distinct_hosts|distinct_property",
        Text("move it into the group or the job"),
    )
    .fix(Fix::MoveOut),
    rule("does not support an RTarget", "value", Text("remove the value")).fix(Fix::Remove),
    rule("requires an RTarget", "value|operator", Text("add value = \"…\""))
        .fix(Fix::Placeholder("value", "\"1.0.0\"")),
    rule("require an RTarget", "value|operator", Text("add value = \"…\"")).fix(Fix::Placeholder("value", "\"1.0.0\"")),
    rule("Regular expression failed", "value|regexp", None),
    rule("ersion constraint is invalid", "value|version", Text("constraints look like \">= 1.2, < 2.0\""))
        .fix(Fix::Placeholder("value", "\">= 1.0\"")),
    rule("Semver constraint is invalid", "value|semver", Text("constraints look like \">= 1.2.3\""))
        .fix(Fix::Placeholder("value", "\">= 1.0.0\"")),
    rule("ersion affinity is invalid", "value|version", Text("constraints look like \">= 1.2, < 2.0\""))
        .fix(Fix::Placeholder("value", "\">= 1.0\"")),
    rule("Distinct Property must", "value", None),
    rule(
        "Failed to convert RTarget",
        "value",
        Text("the value is the number of allocations allowed per property value"),
    ),
    rule("no attribute provided", "", Text("add attribute = \"${attr.…}\", \"${meta.…}\" or \"${node.…}\""))
        .fix(Fix::Placeholder("attribute", "\"${attr.kernel.name}\"")),
    rule("No LTarget provided", "", Text("add attribute = \"${attr.…}\", \"${meta.…}\" or \"${node.…}\""))
        .fix(Fix::Placeholder("attribute", "\"${attr.kernel.name}\"")),
    rule("is missing an opening brace", "attribute", Text("references look like \"${attr.kernel.name}\""))
        .fix(Fix::Reference),
    rule("is missing a closing brace", "attribute", Text("references look like \"${attr.kernel.name}\""))
        .fix(Fix::Reference),
    rule(
        "unsupported attribute",
        "attribute",
        Text(
            "known: ${attr.…}, ${meta.…}, ${device.…}, ${node.datacenter}, ${node.class}, ${node.pool}, ${node.unique.id}, ${node.unique.name}",
        ),
    ),
    rule("Affinity weight", "weight", Text("weights range from -100 to 100, excluding 0"))
        .fix(Fix::Placeholder("weight", "50")),
    rule("System jobs may not have an affinity", "affinity", REMOVE_BLOCK).fix(Fix::Remove),
    rule("System jobs may not have a spread", "spread", REMOVE_BLOCK).fix(Fix::Remove),
    rule("Missing spread attribute", "attribute", Text("add attribute = \"${node.datacenter}\""))
        .fix(Fix::Set("attribute", "\"${node.datacenter}\"")),
    rule("positive weight from 0 to 100", "weight", None).fix(Fix::Placeholder("weight", "50")),
    rule("Spread target", "target", None),
    rule("Sum of spread target", "target", None),
    // Groups.
    rule("Task group count can't be negative", "count", None),
    rule("Missing tasks for task group", "", Text("add task \"NAME\" { driver = … }"))
        .fix(Fix::Add("task \"main\" {\n  driver = \"docker\"\n}")),
    rule("MaxRunDuration", "max_run_duration", None),
    rule("does not allow max_run_duration", "max_run_duration", None).fix(Fix::Remove),
    rule("does not allow update block", "update", REMOVE_BLOCK).fix(Fix::Remove),
    rule("does not allow migrate block", "migrate", REMOVE_BLOCK).fix(Fix::Remove),
    rule("should not have a reschedule policy", "reschedule", REMOVE_BLOCK).fix(Fix::Remove),
    rule("stop_after can", "disconnect.stop_on_client_after|stop_after_client_disconnect", None),
    rule("lost_after cannot be", "disconnect.lost_after|max_client_disconnect", None),
    rule("Disconnect cannot be configured", "disconnect", None),
    rule("reconcile option is invalid", "disconnect.reconcile", OneOf(RECONCILE)),
    rule("Unsupported restart mode", "restart.mode", OneOf(RESTART_MODES)),
    rule(
        "with 0 attempts is ambiguous",
        "restart.attempts",
        Text("mode = \"fail\" says that a failed task is not restarted"),
    )
    .fix(Fix::Set("mode", "\"fail\"")),
    rule("Interval can not be less than 5s", "restart.interval", FIVE_SECONDS).fix(Fix::Seconds("\"5s\"")),
    rule(
        "Nomad can't restart the TaskGroup",
        "restart.interval|restart.attempts",
        Text("attempts times delay must fit into interval"),
    )
    .fix(Fix::RestartInterval),
    rule("Invalid delay function", "reschedule.delay_function", OneOf(DELAY_FUNCTIONS)),
    rule("Max Delay cannot", "reschedule.max_delay", FIVE_SECONDS).fix(Fix::Seconds("\"1h\"")),
    rule("Delay cannot be less", "reschedule.delay", FIVE_SECONDS).fix(Fix::Seconds("\"30s\"")),
    rule("Interval cannot be less than 15s", "reschedule.interval", FIVE_SECONDS).fix(Fix::Seconds("\"1h\"")),
    rule("Interval must be a non zero", "reschedule.interval|reschedule.attempts", Text("add interval = \"1h\""))
        .fix(Fix::Placeholder("interval", "\"1h\"")),
    rule("Unlimited = true is ambiguous", "reschedule.unlimited", Text("set either attempts or unlimited = true"))
        .fix(Fix::Remove),
    rule("Unlimited cannot also be", "reschedule.unlimited", Text("set either attempts or unlimited = true"))
        .fix(Fix::Remove),
    rule("Nomad can only make", "reschedule.interval|reschedule.attempts", None),
    rule("Set the interval to at least", "reschedule.interval|reschedule.attempts", None),
    rule("minimum DiskMB value", "ephemeral_disk.size", Text("size is a number of MB")).fix(Fix::Least),
    rule("Invalid health check given", "update.health_check", OneOf(UPDATE_HEALTH_CHECKS)),
    rule("Max parallel can not", "update.max_parallel", None),
    rule("Canary count can not", "update.canary", None),
    rule("Auto Promote requires", "update.auto_promote", Text("add canary = 1, or remove auto_promote"))
        .fix(Fix::Placeholder("canary", "1")),
    rule("Minimum healthy time", "update.min_healthy_time", None),
    rule("Healthy deadline", "update.healthy_deadline", None),
    rule("Progress deadline", "update.progress_deadline", None),
    rule("Stagger must", "update.stagger", None),
    rule("MaxParallel must", "migrate.max_parallel", None),
    rule("Invalid HealthCheck", "migrate.health_check", OneOf(MIGRATE_HEALTH_CHECKS)),
    rule("Missing HealthCheck", "migrate.health_check", None),
    rule("MinHealthyTime", "migrate.min_healthy_time", None),
    rule("HealthyDeadline", "migrate.healthy_deadline", None),
    rule("marked as leader", "task", None),
    rule("maximum count", "max", None),
    rule("minimum count", "min", None),
    rule("task group count must not be greater", "count", None),
    rule("task group count must not be less", "count", None),
    // Networks.
    rule("already in use by taskgroup network", "", Text("port labels are unique in a group")),
    rule(
        "Static port",
        "network.port.static",
        Text(
            "a static port can be used once per host network: give another number, or leave static out for a dynamic port",
        ),
    ),
    rule(
        "cannot be greater than 65535",
        "static",
        Text("ports range from 1 to 65535; leave static out for a dynamic port"),
    ),
    rule("cannot be mapped to", "to", Text("ports range from 1 to 65535; -1 means the same port as on the host")),
    rule("collision may not be ignored", "ignore_collision", None),
    rule("CNI arg", "cni.args", None),
    rule("Hostname is not a valid", "hostname", None),
    rule("must have exactly one network", "network", Text("add network { mode = \"bridge\" } to the group"))
        .fix(Fix::Add("network {\n  mode = \"bridge\"\n}")),
    rule("uses network mode", "network.mode", Text("write mode = \"bridge\"")).fix(Fix::Set("mode", "\"bridge\"")),
    // Volumes.
    rule("unrecognized type", "type", OneOf(VOLUME_TYPES)),
    rule("volume has an empty source", "source", Text("add source = \"…\""))
        .fix(Fix::Placeholder("source", "\"NAME\"")),
    rule("per_alloc", "per_alloc", None),
    rule("must be read-only", "read_only|access_mode", Text("add read_only = true")).fix(Fix::Set("read_only", "true")),
    rule("mount options", "mount_options", None),
    rule("access mode", "access_mode", None),
    rule(
        "must have an attachment mode",
        "attachment_mode",
        Text("add attachment_mode = \"file-system\" or \"block-device\""),
    )
    .fix(Fix::Set("attachment_mode", "\"file-system\"")),
    rule("references undefined volume", "volume", Text("declare it in the group: volume \"NAME\" { … }")),
    rule("empty volume", "volume", None),
    rule("propagation mode", "propagation_mode", OneOf(PROPAGATION_MODES)),
    rule("SELinux label", "selinux_label", OneOf(SELINUX_LABELS)),
    // Services and checks.
    rule("Service name must be valid", "name", Text("use letters, digits and dashes only")).fix(Fix::Dashes),
    rule("Service address_mode must", "address_mode", OneOf(ADDRESS_MODES)),
    rule("Service on_update must", "on_update", OneOf(ON_UPDATE)),
    rule("Service provider must", "provider", Text("write provider = \"consul\" or \"nomad\""))
        .fix(Fix::Set("provider", "\"consul\"")),
    rule("Multiple service providers", "service.provider|service", None),
    rule("Services are not unique", "service", None),
    rule("invalid check type", "check.type", OneOf(CHECK_TYPES)),
    rule("http type must have", "check.path", Text("add path = \"/health\""))
        .fix(Fix::Placeholder("path", "\"/health\"")),
    rule("script type must have", "check.command", Text("add command = \"…\""))
        .fix(Fix::Placeholder("command", "\"/bin/true\"")),
    rule("missing required value interval", "check.interval", Text("add interval = \"10s\""))
        .fix(Fix::Placeholder("interval", "\"10s\"")),
    rule("missing required value timeout", "check.timeout", Text("add timeout = \"2s\""))
        .fix(Fix::Placeholder("timeout", "\"2s\"")),
    rule("cannot be lower than 1s", "check.interval", FIVE_SECONDS).fix(Fix::Seconds("\"10s\"")),
    rule("lower than required minimum timeout", "check.timeout", FIVE_SECONDS).fix(Fix::Seconds("\"2s\"")),
    rule("invalid initial check state", "check.initial_status", OneOf(CHECK_STATES)),
    rule(
        "check requires a port",
        "port",
        Text("add port = \"LABEL\" to the service; LABEL is a port of the group's network"),
    ),
    rule("referenced by services", "service.port", Text("declare it: network { port \"LABEL\" {} } in the group")),
    rule("address_mode", "address_mode|service.address_mode", None),
    rule("on_update", "on_update", None),
    rule("must specify task parameter", "service.check.task|service.task", Text("add task = \"NAME\" to the check")),
    // Tasks.
    rule(
        "Missing task driver",
        "",
        Text("add driver = \"docker\", \"exec\", \"raw_exec\" or another driver of the clients"),
    )
    .fix(Fix::Placeholder("driver", "\"docker\"")),
    rule("Task name cannot", "", None),
    rule("KillTimeout must", "kill_timeout", None),
    rule("KillTimout", "kill_timeout", None),
    rule("ShutdownDelay", "shutdown_delay", None),
    rule("'cpu' or 'cores'", "resources.cores", Text("keep cpu (MHz) or cores")).fix(Fix::Remove),
    rule("cores value", "resources.cores", None),
    rule("minimum CPU value", "resources.cpu", Text("cpu is a number of MHz")).fix(Fix::Least),
    rule("minimum MemoryMB value", "resources.memory", Text("memory is a number of MB")).fix(Fix::Least),
    rule("MemoryMaxMB value", "resources.memory_max", Text("memory_max is a number of MB, not less than memory")),
    rule("memory_max value will be ignored", "resources.memory_max", None),
    rule("SecretsMB value", "resources.secrets", None),
    rule("numa", "*.resources.numa", None),
    rule("task schedules", "*.schedule", None),
    rule("device name must", "", None),
    rule(
        "log storage",
        "logs.max_file_size|logs.max_files",
        Text("max_files times max_file_size must be less than the size of the group's ephemeral_disk"),
    ),
    rule("minimum number of files", "logs.max_files", None),
    rule("minimum file size", "logs.max_file_size", None),
    rule("mbits has been deprecated", "*.network.mbits|*.mbits", Text("remove mbits")).fix(Fix::Remove),
    rule("IOPS has been deprecated", "resources.iops", Text("remove iops")).fix(Fix::Remove),
    rule(
        "task network resources have been deprecated",
        "resources.network",
        Text("move the network block into the group"),
    )
    .fix(Fix::MoveOut),
    rule("hook", "hook", OneOf(HOOKS)),
    rule("must specify change script", "change_mode", Text("add change_script { command = \"…\" }"))
        .fix(Fix::Placeholder("change_mode", "\"restart\"")),
    rule("must specify script path", "change_script", Text("add command = \"…\" to the change_script block"))
        .fix(Fix::Placeholder("command", "\"/bin/true\"")),
    rule("Must specify signal value", "change_mode", Text("add change_signal = \"SIGHUP\""))
        .fix(Fix::Placeholder("change_signal", "\"SIGHUP\"")),
    rule("Signal must be specified", "change_mode", Text("add change_signal = \"SIGHUP\""))
        .fix(Fix::Placeholder("change_signal", "\"SIGHUP\"")),
    rule("change_signal must be specified", "change_mode", Text("add change_signal = \"SIGHUP\""))
        .fix(Fix::Placeholder("change_signal", "\"SIGHUP\"")),
    rule("hange mode", "change_mode", OneOf(TEMPLATE_CHANGE_MODES)),
    rule("Must specify a source path", "", Text("add data = … or source = …")).fix(Fix::Placeholder("data", "\"\"")),
    rule("Must specify a destination", "", Text("add destination = \"local/…\""))
        .fix(Fix::Placeholder("destination", "\"local/file\"")),
    rule("escapes", "destination|file", Text("paths must stay inside the allocation directory")),
    rule("Vault \"", "*.vault.cluster|*.vault", None),
    rule("Vault namespaces", "*.vault.namespace|*.vault", None),
    rule("uses Vault cluster", "vault.cluster|vault", None),
    rule("Consul cluster", "*.consul.cluster|*.service.cluster", None),
    rule("must match group.consul.partition", "*.task.consul.partition", None),
    rule(
        "excluded outbound CIDR",
        "*.transparent_proxy.exclude_outbound_cidrs",
        Text("write addresses with their prefix length: \"10.0.0.0/8\""),
    ),
    rule("invalid UID field", "*.transparent_proxy.uid", Text("write the number of the user")),
    rule("invalid ExcludeUIDs", "*.transparent_proxy.exclude_uids", Text("write the numbers of the users")),
    // Parts of tasks and services.
    rule("Must match regex", "name", Text("use letters, digits, dashes and underscores only")),
    rule("secret name must match", "", Text("use letters, digits and underscores only")),
    rule("invalid audience", "aud", None),
    rule("invalid change_mode", "change_mode", OneOf(CHANGE_MODES)),
    rule("limit must be greater", "check_restart.limit", None),
    rule("grace period must", "check_restart.grace", None),
    rule("as octal", "perms", Text("write file permissions such as \"0644\"")).fix(Fix::Set("perms", "\"0644\"")),
    rule("wait min", "wait", None),
    rule("Action ", "action", None),
    rule("invalid name '", "", Text("use letters, digits, dashes and underscores only")),
    rule("Duplicate secret", "secret", None),
    rule("Secret \"", "secret", None),
    rule("check \"", "service.check", None),
    rule("service \"", "service", None),
    rule("Service ", "service", None),
];
