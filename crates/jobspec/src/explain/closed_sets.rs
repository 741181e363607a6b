//! The attributes that accept one of a few values.

pub(super) const OPERATORS: &[&str] = &[
    "=",
    "!=",
    ">",
    ">=",
    "<",
    "<=",
    "is",
    "not",
    "distinct_hosts",
    "distinct_property",
    "regexp",
    "set_contains",
    "set_contains_all",
    "set_contains_any",
    "version",
    "semver",
    "is_set",
    "is_not_set",
];
pub(super) const AFFINITY_OPERATORS: &[&str] = &[
    "=",
    "!=",
    ">",
    ">=",
    "<",
    "<=",
    "is",
    "not",
    "regexp",
    "set_contains",
    "set_contains_all",
    "set_contains_any",
    "version",
    "semver",
];
pub(super) const JOB_TYPES: &[&str] = &["service", "batch", "system", "sysbatch"];
pub(super) const PAYLOADS: &[&str] = &["optional", "required", "forbidden"];
pub(super) const RECONCILE: &[&str] = &["best_score", "longest_running", "keep_original", "keep_replacement"];
pub(super) const RESTART_MODES: &[&str] = &["delay", "fail"];
pub(super) const DELAY_FUNCTIONS: &[&str] = &["constant", "exponential", "fibonacci"];
pub(super) const UPDATE_HEALTH_CHECKS: &[&str] = &["checks", "task_states", "manual"];
pub(super) const MIGRATE_HEALTH_CHECKS: &[&str] = &["checks", "task_states"];
pub(super) const VOLUME_TYPES: &[&str] = &["host", "csi"];
pub(super) const PROPAGATION_MODES: &[&str] = &["private", "host-to-task", "bidirectional"];
pub(super) const SELINUX_LABELS: &[&str] = &["z", "Z"];
pub(super) const ADDRESS_MODES: &[&str] = &["auto", "host", "driver", "alloc"];
pub(super) const ON_UPDATE: &[&str] = &["require_healthy", "ignore_warnings", "ignore"];
pub(super) const CHECK_TYPES: &[&str] = &["http", "tcp", "grpc", "script"];
pub(super) const CHECK_STATES: &[&str] = &["passing", "warning", "critical"];
pub(super) const HOOKS: &[&str] = &["prestart", "poststart", "poststop"];
pub(super) const TEMPLATE_CHANGE_MODES: &[&str] = &["noop", "signal", "script", "restart"];
pub(super) const CHANGE_MODES: &[&str] = &["noop", "signal", "restart"];
const PROVIDERS: &[&str] = &["consul", "nomad"];
const ATTACHMENT_MODES: &[&str] = &["file-system", "block-device"];
const GROUP_SCALING: &[&str] = &["horizontal"];

/// Block, attribute, values.
static SETS: &[(&str, &str, &[&str])] = &[
    ("affinity", "operator", AFFINITY_OPERATORS),
    ("check", "address_mode", ADDRESS_MODES),
    ("check", "initial_status", CHECK_STATES),
    ("check", "on_update", ON_UPDATE),
    ("check", "type", CHECK_TYPES),
    ("constraint", "operator", OPERATORS),
    ("disconnect", "reconcile", RECONCILE),
    ("identity", "change_mode", CHANGE_MODES),
    ("job", "type", JOB_TYPES),
    ("lifecycle", "hook", HOOKS),
    ("migrate", "health_check", MIGRATE_HEALTH_CHECKS),
    ("parameterized", "payload", PAYLOADS),
    ("reschedule", "delay_function", DELAY_FUNCTIONS),
    ("restart", "mode", RESTART_MODES),
    ("scaling", "type", GROUP_SCALING),
    ("service", "address_mode", ADDRESS_MODES),
    ("service", "on_update", ON_UPDATE),
    ("service", "provider", PROVIDERS),
    ("template", "change_mode", TEMPLATE_CHANGE_MODES),
    ("update", "health_check", UPDATE_HEALTH_CHECKS),
    ("vault", "change_mode", CHANGE_MODES),
    ("volume", "attachment_mode", ATTACHMENT_MODES),
    ("volume", "type", VOLUME_TYPES),
    ("volume_mount", "propagation_mode", PROPAGATION_MODES),
    ("volume_mount", "selinux_label", SELINUX_LABELS),
];

/// The values that an attribute of a block accepts; `None` where the set is open.
pub(crate) fn closed_set(block: &str, attribute: &str) -> Option<&'static [&'static str]> {
    SETS.iter().find(|(b, a, _)| *b == block && *a == attribute).map(|(.., values)| *values)
}
