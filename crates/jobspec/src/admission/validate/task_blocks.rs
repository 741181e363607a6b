//! Small blocks of tasks: vault, actions, lifecycle, kind, CSI plugin, identities, secrets (`docs/spec/jobspec.md
//! §14.13`).

use std::collections::BTreeSet;

use super::connect::has_sidecar;
use super::errors::Errors;
use encamp_model::quoted;
use encamp_model::{
    Action, LifecycleHook, Secret, Task, TaskCsiPluginConfig, TaskGroup, TaskLifecycleConfig, Vault, WorkloadIdentity,
};

/// 1 to 128 of the allowed characters.
fn is_name(name: &str, allowed: fn(char) -> bool) -> bool {
    (1..=128).contains(&name.chars().count()) && name.chars().all(allowed)
}

pub(super) fn vault(v: &Vault) -> Vec<String> {
    let mut errors = Errors::default();
    match v.change_mode.as_str() {
        "noop" | "restart" => {}
        "signal" => {
            errors.add_if(v.change_signal.is_empty(), "Signal must be specified when using change mode \"signal\"")
        }
        other => errors.add(format!("Unknown change mode {}", quoted(other))),
    }
    errors.into_items()
}

/// Every second occurrence of a name is reported.
pub(super) fn actions(errors: &mut Errors, list: &[Action]) {
    let mut seen = BTreeSet::new();
    for a in list {
        let mut items = Errors::default();
        items.add_if(a.command.is_empty(), "command cannot be empty");
        items.add_if(!is_name(&a.name, |c| !c.is_whitespace() && c != '\0'), format_args!("invalid name '{}'", a.name));
        errors.nest(format_args!("Action {} validation failed: ", a.name), items.into_items());
        if !seen.insert(&a.name) {
            seen.remove(&a.name);
            errors.add(format!("Action {} defined multiple times", a.name));
        }
    }
}

pub(super) fn lifecycle(errors: &mut Errors, l: &TaskLifecycleConfig) {
    match &l.hook {
        LifecycleHook::Prestart | LifecycleHook::Poststart | LifecycleHook::Poststop => {}
        LifecycleHook::Unset => errors.add("Lifecycle validation failed: no lifecycle hook provided"),
        other @ LifecycleHook::Other(_) => errors.add(format!("Lifecycle validation failed: invalid hook: {other}")),
    }
}

/// Tasks that are the sidecar of a group service.
pub(super) fn connect_proxy(errors: &mut Errors, task: &Task, group: &TaskGroup) {
    let Some(service) = task.kind.strip_prefix("connect-proxy:") else { return };
    errors.add_if(!task.services.is_empty(), "Connect proxy task must not have a service block");
    errors.add_if(task.leader, "Connect proxy task must not have leader set");
    let names: Vec<&str> = group.services.iter().filter(|s| has_sidecar(s)).map(|s| s.name.as_str()).collect();
    let service = quoted(service);
    if names.is_empty() {
        errors.add(format!("No Connect services in task group with Connect proxy ({service})"));
    } else if !names.iter().any(|n| quoted(n) == service) {
        errors.add(format!(
            "Connect proxy service name ({service}) not found in Connect services from task group: [{}]",
            names.join(" ")
        ));
    }
}

pub(super) fn csi_plugin(errors: &mut Errors, c: &TaskCsiPluginConfig) {
    errors.add_if(c.id.is_empty(), "CSIPluginConfig must have a non-empty PluginID");
    errors.add_if(
        !matches!(c.r#type.as_str(), "node" | "controller" | "monolith"),
        format_args!(
            "CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith', got: {}",
            quoted(&c.r#type)
        ),
    );
    errors.add_if(
        !c.stage_publish_base_dir.is_empty() && is_below(&c.stage_publish_base_dir, &c.mount_dir),
        format_args!(
            "CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir, got: StagePublishBaseDir={} \
             MountDir={}",
            quoted(&c.stage_publish_base_dir),
            quoted(&c.mount_dir)
        ),
    );
}

/// Whether a path is the directory or below it, after `.` and `..` are resolved.
fn is_below(path: &str, directory: &str) -> bool {
    fn parts(path: &str) -> Vec<&str> {
        let mut parts = Vec::new();
        for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        parts
    }
    !directory.is_empty() && parts(path).starts_with(&parts(directory))
}

pub(super) fn identities(errors: &mut Errors, task: &Task) {
    for i in task.identity.iter().chain(&task.identities) {
        errors.nest(format_args!("Identity {} is invalid: ", quoted(&i.name)), identity(i));
    }
    let defaults =
        task.identities.iter().filter(|i| i.name == "default").count() + usize::from(task.identity.is_some());
    errors.add_if(defaults > 1, "Duplicate default identities found");
}

fn identity(i: &WorkloadIdentity) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(
        !is_name(&i.name, |c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
        format_args!("invalid name {}. Must match regex ^[a-zA-Z0-9-_]{{1,128}}$", quoted(&i.name)),
    );
    for (n, audience) in i.audience.iter().enumerate() {
        errors.add_if(audience.is_empty(), format_args!("an empty string is an invalid audience ({})", n + 1));
    }
    match i.change_mode.as_str() {
        "" | "noop" | "restart" => errors.add_if(
            !i.change_signal.is_empty(),
            format_args!("can only use change_signal={} with change_mode=\"signal\"", quoted(&i.change_signal)),
        ),
        "signal" => errors
            .add_if(i.change_signal.is_empty(), "change_signal must be specified when using change_mode=\"signal\""),
        other => errors.add(format!("invalid change_mode: {other}")),
    }
    errors.add_if(i.name == "default" && i.ttl > 0, "ttl for default identity not yet supported");
    errors.add_if(i.ttl < 0, "ttl must be >= 0");
    errors.add_if(!i.filepath.is_empty() && !i.file, "file parameter must be true in order to specify filepath");
    errors.into_items()
}

pub(super) fn secrets(errors: &mut Errors, task: &Task) {
    let mut seen = BTreeSet::new();
    for s in &task.secrets {
        let name = quoted(&s.name);
        errors.add_if(!seen.insert(&s.name), format_args!("Duplicate secret {name} found"));
        errors.add_if(
            s.provider == "vault" && task.vault.is_none(),
            format_args!("Secret {name} has provider \"vault\" but no vault block"),
        );
        errors.nest(format_args!("Secret {name} is invalid: "), secret(s));
    }
}

fn secret(s: &Secret) -> Vec<String> {
    let mut errors = Errors::default();
    if s.name.is_empty() {
        errors.add("secret name cannot be empty");
    } else {
        errors.add_if(
            !is_name(&s.name, |c| c.is_ascii_alphanumeric() || c == '_'),
            "secret name must match regex ^[a-zA-Z0-9_]{1,128}$",
        );
    }
    errors.add_if(s.provider.is_empty(), "secret provider cannot be empty");
    errors.add_if(s.path.is_empty(), "secret path cannot be empty");
    match s.provider.as_str() {
        "" => {}
        "nomad" | "vault" => {
            errors.add_if(!s.env.is_empty(), format_args!("{} provider cannot use the env block", s.provider));
        }
        plugin => errors
            .add_if(!s.config.is_empty(), format_args!("custom plugin provider {plugin} cannot use the config block")),
    }
    errors.into_items()
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{ConsulConnect, ConsulSidecarService, SECOND, Service};

    fn collect(f: impl FnOnce(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::default();
        f(&mut errors);
        errors.into_items()
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn vault_texts() {
        let v = |mode: &str, signal: &str| {
            vault(&Vault { change_mode: mode.into(), change_signal: signal.into(), ..Vault::default() })
        };
        assert_eq!(v("noop", ""), NONE);
        assert_eq!(v("restart", ""), NONE);
        assert_eq!(v("signal", "SIGHUP"), NONE);
        assert_eq!(v("signal", ""), ["Signal must be specified when using change mode \"signal\""]);
        assert_eq!(v("panic", ""), ["Unknown change mode \"panic\""]);
    }

    #[test]
    fn action_texts() {
        let a = |name: &str, command: &str| Action { name: name.into(), command: command.into(), args: vec![] };
        let long = "x".repeat(129);
        assert_eq!(
            collect(|e| actions(e, &[
                a("a b", ""),
                a("dup", "x"),
                a("dup", "x"),
                a("dup", "x"),
                a("dup", "x"),
                a(&long, "x"),
            ])),
            [
                "Action a b validation failed: 2 errors occurred:\n\t* command cannot be empty\n\t* invalid name 'a b'\n\n"
                    .to_string(),
                "Action dup defined multiple times".into(),
                "Action dup defined multiple times".into(),
                format!("Action {long} validation failed: 1 error occurred:\n\t* invalid name '{long}'\n\n"),
            ]
        );
    }

    #[test]
    fn lifecycle_texts() {
        let l = |hook| collect(|e| lifecycle(e, &TaskLifecycleConfig { hook, sidecar: true }));
        assert_eq!(l(LifecycleHook::Prestart), NONE);
        assert_eq!(l(LifecycleHook::Unset), ["Lifecycle validation failed: no lifecycle hook provided"]);
        assert_eq!(l("midstart".into()), ["Lifecycle validation failed: invalid hook: midstart"]);
    }

    #[test]
    fn connect_proxy_texts() {
        let connect = |name: &str| Service {
            name: name.into(),
            connect: Some(ConsulConnect {
                sidecar_service: Some(ConsulSidecarService::default()),
                ..ConsulConnect::default()
            }),
            ..Service::default()
        };
        let proxy = Task { kind: "connect-proxy:s".into(), ..Task::default() };
        let group = |services| TaskGroup { services, ..TaskGroup::default() };
        assert_eq!(collect(|e| connect_proxy(e, &Task::default(), &group(vec![]))), NONE);
        assert_eq!(collect(|e| connect_proxy(e, &proxy, &group(vec![connect("s")]))), NONE);
        assert_eq!(
            collect(|e| connect_proxy(e, &proxy, &group(vec![connect("a"), Service::default(), connect("b")]))),
            ["Connect proxy service name (\"s\") not found in Connect services from task group: [a b]"]
        );
        let wrong = Task { services: vec![Service::default()], leader: true, ..proxy };
        assert_eq!(
            collect(|e| connect_proxy(e, &wrong, &group(vec![]))),
            [
                "Connect proxy task must not have a service block",
                "Connect proxy task must not have leader set",
                "No Connect services in task group with Connect proxy (\"s\")",
            ]
        );
    }

    #[test]
    fn csi_plugin_texts() {
        let c = |id: &str, kind: &str, stage: &str, mount: &str| {
            collect(|e| {
                csi_plugin(
                    e,
                    &TaskCsiPluginConfig {
                        id: id.into(),
                        r#type: kind.into(),
                        stage_publish_base_dir: stage.into(),
                        mount_dir: mount.into(),
                        health_timeout: 0,
                    },
                )
            })
        };
        assert_eq!(c("p", "monolith", "/local/csi", "/csi"), NONE);
        assert_eq!(c("p", "node", "/csix", "/csi"), NONE);
        assert_eq!(
            c("", "odd", "/x/../csi/y", "/csi"),
            [
                "CSIPluginConfig must have a non-empty PluginID",
                "CSIPluginConfig PluginType must be one of 'node', 'controller', or 'monolith', got: \"odd\"",
                "CSIPluginConfig StagePublishBaseDir must not be a subdirectory of MountDir, got: \
                 StagePublishBaseDir=\"/x/../csi/y\" MountDir=\"/csi\"",
            ]
        );
    }

    #[test]
    fn identity_texts() {
        let ok = |name: &str| WorkloadIdentity { name: name.into(), ..WorkloadIdentity::default() };
        for (i, want) in [
            (ok("a-B_1"), vec![]),
            (ok("a b"), vec!["invalid name \"a b\". Must match regex ^[a-zA-Z0-9-_]{1,128}$"]),
            (
                WorkloadIdentity { audience: vec!["x".into(), "".into()], ..ok("a") },
                vec!["an empty string is an invalid audience (2)"],
            ),
            (
                WorkloadIdentity { change_signal: "SIGHUP".into(), ..ok("a") },
                vec!["can only use change_signal=\"SIGHUP\" with change_mode=\"signal\""],
            ),
            (
                WorkloadIdentity { change_mode: "signal".into(), ..ok("a") },
                vec!["change_signal must be specified when using change_mode=\"signal\""],
            ),
            (WorkloadIdentity { change_mode: "dance".into(), ..ok("a") }, vec!["invalid change_mode: dance"]),
            (WorkloadIdentity { ttl: SECOND, ..ok("default") }, vec!["ttl for default identity not yet supported"]),
            (WorkloadIdentity { ttl: SECOND, ..ok("a") }, vec![]),
            (WorkloadIdentity { ttl: -1, ..ok("a") }, vec!["ttl must be >= 0"]),
            (
                WorkloadIdentity { filepath: "x".into(), ..ok("a") },
                vec!["file parameter must be true in order to specify filepath"],
            ),
            (WorkloadIdentity { filepath: "x".into(), file: true, ..ok("a") }, vec![]),
        ] {
            assert_eq!(identity(&i), want, "{i:?}");
        }
        let task = Task { identity: Some(ok("default")), identities: vec![ok(""), ok("default")], ..Task::default() };
        assert_eq!(
            collect(|e| identities(e, &task)),
            [
                "Identity \"\" is invalid: 1 error occurred:\n\t* invalid name \"\". Must match regex \
                 ^[a-zA-Z0-9-_]{1,128}$\n\n",
                "Duplicate default identities found",
            ]
        );
    }

    #[test]
    fn secret_texts() {
        let ok = |provider: &str| Secret {
            name: "s".into(),
            provider: provider.into(),
            path: "p".into(),
            ..Secret::default()
        };
        let env = || [("A".to_string(), "b".to_string())].into();
        for (s, want) in [
            (ok("nomad"), vec![]),
            (
                Secret::default(),
                vec!["secret name cannot be empty", "secret provider cannot be empty", "secret path cannot be empty"],
            ),
            (Secret { name: "a-b".into(), ..ok("nomad") }, vec!["secret name must match regex ^[a-zA-Z0-9_]{1,128}$"]),
            (Secret { env: env(), ..ok("nomad") }, vec!["nomad provider cannot use the env block"]),
            (Secret { env: env(), ..ok("vault") }, vec!["vault provider cannot use the env block"]),
            (Secret { env: env(), ..ok("acme") }, vec![]),
            (
                Secret { config: [("x".to_string(), 1.into())].into(), ..ok("acme") },
                vec!["custom plugin provider acme cannot use the config block"],
            ),
            (Secret { config: [("x".to_string(), 1.into())].into(), ..ok("vault") }, vec![]),
        ] {
            assert_eq!(secret(&s), want, "{s:?}");
        }
        let task = Task { secrets: vec![ok("nomad"), ok("vault")], ..Task::default() };
        assert_eq!(
            collect(|e| secrets(e, &task)),
            ["Duplicate secret \"s\" found", "Secret \"s\" has provider \"vault\" but no vault block"]
        );
    }
}
