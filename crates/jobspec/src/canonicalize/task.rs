//! Defaults of tasks and their blocks, except services (`docs/spec/jobspec.md §10`).

use encamp_model::SECOND;
use encamp_model::api::*;

use super::policies::{Fill, default_logs};
use super::{default_to, fill_affinity_weights, null_if_empty};

/// Fills a task; `group_restart` is the group's completed restart policy.
pub(super) fn canonicalize(task: &mut Task, group_restart: Option<&RestartPolicy>) {
    fill_resources(task.resources.get_or_insert_default());
    fill_affinity_weights(&mut task.affinities);
    task.kill_timeout.get_or_insert(5 * SECOND);
    task.log_config.get_or_insert_default().fill(&default_logs());
    for artifact in task.artifacts.iter_mut().flatten() {
        fill_artifact(artifact);
    }
    if let Some(vault) = &mut task.vault {
        fill_vault(vault);
    }
    if let Some(consul) = &mut task.consul {
        default_to(&mut consul.cluster, "default");
    }
    for template in task.templates.iter_mut().flatten() {
        fill_template(template);
    }
    for secret in task.secrets.iter_mut().flatten() {
        null_if_empty(&mut secret.config);
        null_if_empty(&mut secret.env);
    }
    for mount in task.volume_mounts.iter_mut().flatten() {
        mount.propagation_mode.get_or_insert_with(|| "private".into());
        mount.read_only.get_or_insert(false);
        mount.selinux_label.get_or_insert_default();
    }
    if let Some(plugin) = &mut task.csi_plugin_config {
        default_to(&mut plugin.mount_dir, "/csi");
        default_to(&mut plugin.stage_publish_base_dir, "/local/csi");
        if plugin.health_timeout == 0 {
            plugin.health_timeout = 30 * SECOND;
        }
    }
    if let Some(restart) = group_restart {
        task.restart_policy.get_or_insert_default().fill(restart);
    }
}

/// 100 MHz unless cores or MHz are asked for, 300 MB.
pub(super) fn fill_resources(resources: &mut Resources) {
    if resources.cores.is_none() {
        resources.cores = Some(0);
        resources.cpu.get_or_insert(100);
    }
    resources.cpu.get_or_insert(0);
    resources.memory_mb.get_or_insert(300);
    for device in resources.devices.iter_mut().flatten() {
        device.count.get_or_insert(1);
        fill_affinity_weights(&mut device.affinities);
    }
    if let Some(numa) = &mut resources.numa {
        default_to(&mut numa.affinity, "none");
        null_if_empty(&mut numa.devices);
    }
}

fn fill_artifact(artifact: &mut TaskArtifact) {
    let mode = artifact.getter_mode.get_or_insert_with(|| "any".into());
    let source = artifact.getter_source.get_or_insert_default();
    artifact.getter_insecure.get_or_insert(false);
    null_if_empty(&mut artifact.getter_options);
    null_if_empty(&mut artifact.getter_headers);
    artifact.relative_dest.get_or_insert_with(|| match mode.as_str() {
        "file" => format!("local/{}", source.trim_end_matches('/').rsplit('/').next().unwrap_or_default()),
        _ => "local/".into(),
    });
}

fn fill_vault(vault: &mut Vault) {
    vault.env.get_or_insert(true);
    vault.disable_file.get_or_insert(false);
    vault.namespace.get_or_insert_default();
    default_to(&mut vault.cluster, "default");
    vault.change_mode.get_or_insert_with(|| "restart".into());
    vault.change_signal.get_or_insert_with(|| "SIGHUP".into());
    vault.allow_token_expiration.get_or_insert(false);
}

fn fill_template(template: &mut Template) {
    for text in [&mut template.source_path, &mut template.dest_path, &mut template.embedded_tmpl] {
        text.get_or_insert_default();
    }
    let mode = template.change_mode.get_or_insert_with(|| "restart".into());
    template.change_signal = Some(match &template.change_signal {
        Some(signal) => signal.to_uppercase(),
        None if mode == "signal" => "SIGHUP".into(),
        None => String::new(),
    });
    if let Some(script) = &mut template.change_script {
        script.command.get_or_insert_default();
        script.args.get_or_insert_default();
        script.timeout.get_or_insert(5 * SECOND);
        script.fail_on_error.get_or_insert(false);
        script.run_on_first_render.get_or_insert(false);
    }
    template.splay.get_or_insert(5 * SECOND);
    template.perms.get_or_insert_with(|| "0644".into());
    template.left_delim.get_or_insert_with(|| "{{".into());
    template.right_delim.get_or_insert_with(|| "}}".into());
    for flag in [&mut template.once, &mut template.envvars, &mut template.err_missing_key] {
        flag.get_or_insert(false);
    }
    template.vault_grace.get_or_insert(0);
}
