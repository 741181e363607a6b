//! Tasks and their blocks (`docs/spec/jobspec.md §17.6`).

use serde_json::Value;

use super::blocks::{
    Fill, Pair, SetMode, keyed, list, map_object, matched, object, position_pairs, primitive_object, string_set, text,
};
use super::fields::{Pick, Texts, changes, free_form, full, primitive};
use super::network::networks;
use super::service::services;
use super::{affinities, constraints, whole_type};
use encamp_model::{ObjectDiff, TaskDiff};

/// The diff of one task.
pub(super) fn task(name: String, p: Pair<'_>) -> TaskDiff {
    let pick =
        Pick::Named(&["Driver", "Env", "KillSignal", "KillTimeout", "Kind", "Leader", "Meta", "ShutdownDelay", "User"]);
    let mut diff = TaskDiff {
        r#type: whole_type(p),
        name,
        fields: changes(primitive(p.old, pick), primitive(p.new, pick), false),
        ..TaskDiff::default()
    };
    let objects = &mut diff.objects;
    objects.extend(constraints(p));
    objects.extend(affinities(p));
    objects.extend(config(p));
    objects.extend(resources(p));
    objects.extend(log_config(p));
    objects.extend(primitive_object(p.get("DispatchPayload"), "DispatchPayload", Pick::Scalars));
    objects.extend(keyed(p.get("Artifacts"), "RelativeDest", |p| {
        let fields = ["Chown", "GetterHeaders", "GetterInsecure", "GetterMode", "GetterOptions", "GetterSource"];
        let named: Vec<&str> = fields.into_iter().chain(["RelativeDest"]).collect();
        primitive_object(p, "Artifact", Pick::Named(&named))
    }));
    objects.extend(services(p.get("Services")));
    objects.extend(object(p.get("Vault"), "Vault", |p, o| o.scalar_fields(p)));
    objects.extend(keyed(p.get("Secrets"), "Name", |p| object(p, "Secret", |p, o| o.full_fields(p, secret_texts))));
    objects.extend(primitive_object(p.get("Consul"), "Consul", Pick::Scalars));
    objects.extend(templates(p.get("Templates")));
    objects.extend(identity(p.get("Identity")));
    objects.extend(identities(p));
    objects.extend(position_pairs(p.get("Actions")).into_iter().filter_map(|p| {
        object(p, "Action", |p, o| {
            o.named_fields(p, &["Command", "Name"]);
            o.push(string_set(p.get("Args"), "Args", SetMode::Always));
        })
    }));
    objects.extend(volume_mounts(p));
    objects.extend(object(p.get("Schedule"), "Schedule", |p, o| {
        o.push(object(p.get("Cron"), "Cron", |p, o| o.scalar_fields(p)));
    }));
    diff
}

/// The free-form configuration of a task, sidecar or proxy.
pub(super) fn config(p: Pair<'_>) -> Option<ObjectDiff> {
    map_object(p.get("Config"), "Config", free_form)
}

/// The resources of a task or sidecar.
pub(super) fn resources(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p.get("Resources"), "Resources", |p, o| {
        o.scalar_fields(p);
        o.extend(networks(p.get("Networks")));
        o.extend(keyed(p.get("Devices"), "Name", |p| {
            object(p, "Device", |p, o| o.named_fields(p, &["Count", "Name"]))
        }));
        o.push(object(p.get("NUMA"), "NUMA", |p, o| o.named_fields(p, &["Affinity"])));
    })
}

/// The log rotation of a task or sidecar.
pub(super) fn log_config(p: Pair<'_>) -> Option<ObjectDiff> {
    primitive_object(p.get("LogConfig"), "LogConfig", Pick::Scalars)
}

/// The volume mounts of a task or sidecar, by position.
pub(super) fn volume_mounts(p: Pair<'_>) -> Vec<ObjectDiff> {
    let pairs = position_pairs(p.get("VolumeMounts")).into_iter();
    pairs.filter_map(|p| object(p, "VolumeMount", |p, o| o.scalar_fields(p))).collect()
}

/// One workload identity.
pub(super) fn identity(p: Pair<'_>) -> Option<ObjectDiff> {
    object(p, "Identity", |p, o| {
        o.scalar_fields(p);
        o.push(string_set(p.get("Audience"), "Audience", SetMode::Always));
    })
}

/// The identities beside the default one.
pub(super) fn identities(p: Pair<'_>) -> Vec<ObjectDiff> {
    keyed(p.get("Identities"), "Name", identity)
}

/// Full mode, in which the maps of a secret, when absent, have no text.
fn secret_texts(v: &Value) -> Texts {
    let mut out = primitive(v, Pick::Named(&["Name", "Path", "Provider", "Env"]));
    let config = v.get("Config").map(free_form).unwrap_or_default();
    out.extend(config.into_iter().map(|(key, text)| (nested_name("Config", &key), text)));
    out
}

/// The name of a path `key` below `member`: `k[0]` becomes `member[k][0]`.
fn nested_name(member: &str, key: &str) -> String {
    match key.split_once('[') {
        Some((first, rest)) => format!("{member}[{first}][{rest}"),
        None => format!("{member}[{key}]"),
    }
}

fn templates(p: Pair<'_>) -> Vec<ObjectDiff> {
    const FIELDS: &[&str] = &[
        "ChangeMode",
        "ChangeSignal",
        "DestPath",
        "EmbeddedTmpl",
        "Envvars",
        "ErrMissingKey",
        "Gid",
        "LeftDelim",
        "Once",
        "Perms",
        "RightDelim",
        "SourcePath",
        "Splay",
        "Uid",
        "VaultGrace",
    ];
    let dests = |v: &Value| -> Vec<String> { list(v).iter().map(|t| text(t, "DestPath")).collect() };
    let (old_dests, new_dests) = (dests(p.old), dests(p.new));
    matched(
        p,
        |old, free| free.iter().copied().find(|new| new_dests.get(*new) == old_dests.get(old)),
        |p| {
            object(p, "Template", |p, o| {
                o.named_fields(p, FIELDS);
                // Not `Wait`: the field is named after its parent.
                o.push(object(p.get("Wait"), "Template", |p, o| o.full_fields(p, full)));
                o.push(object(p.get("ChangeScript"), "ChangeScript", |p, o| {
                    o.named_fields(p, &["Command", "FailOnError", "RunOnFirstRender", "Timeout"]);
                    o.push(string_set(p.get("Args"), "Args", SetMode::Always));
                }));
            })
        },
    )
}
