//! Normalises the job at the end of a parse (`docs/spec/jobspec.md §9`).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use encamp_model::ScalingPolicyType;
use encamp_model::api::job::{Job, NetworkResource, Secret, Task, TaskGroup, Template, Vault};
use encamp_model::time::SECOND;

/// Turns the members of a decoded `job` block into a job.
pub(crate) fn job(mut members: Map<String, Json>, label: &str) -> Result<Job, serde_json::Error> {
    let vault = take(&mut members, "Vault")?.map(with_vault_defaults);
    let secrets: Vec<Secret> = take(&mut members, "Secrets")?.unwrap_or_default();
    let tasks: Vec<Task> = take(&mut members, "Tasks")?.unwrap_or_default();
    let mut groups: Vec<Group> = tasks.into_iter().map(Group::of_task).collect();
    if let Some(Json::Array(list)) = members.remove("TaskGroups") {
        for group in list {
            groups.push(Group::read(group)?);
        }
    }
    let mut job: Job = serde_json::from_value(Json::Object(members))?;
    job.name.get_or_insert_with(|| label.to_owned());
    job.id.get_or_insert_with(|| label.to_owned());
    if let Some(periodic) = &mut job.periodic
        && (periodic.spec.is_some() || periodic.specs.is_some())
    {
        periodic.spec_type = Some("cron".to_owned());
    }
    let finished: Vec<TaskGroup> = groups.into_iter().map(|g| g.finish(vault.as_ref(), &secrets)).collect();
    job.task_groups = (!finished.is_empty()).then_some(finished);
    Ok(job)
}

fn take<T: DeserializeOwned>(members: &mut Map<String, Json>, name: &str) -> Result<Option<T>, serde_json::Error> {
    members.remove(name).map(serde_json::from_value).transpose()
}

/// A group, and what its tasks get from it.
struct Group {
    group: TaskGroup,
    vault: Option<Vault>,
    secrets: Vec<Secret>,
}

impl Group {
    /// A task outside of any group is a group of its own.
    fn of_task(task: Task) -> Group {
        let group = TaskGroup { name: Some(task.name.clone()), tasks: Some(vec![task]), ..TaskGroup::default() };
        Group { group, vault: None, secrets: Vec::new() }
    }

    fn read(group: Json) -> Result<Group, serde_json::Error> {
        let mut members = match group {
            Json::Object(members) => members,
            _ => Map::new(),
        };
        let vault = take(&mut members, "Vault")?;
        let secrets = take(&mut members, "Secrets")?.unwrap_or_default();
        Ok(Group { group: serde_json::from_value(Json::Object(members))?, vault, secrets })
    }

    fn finish(mut self, job_vault: Option<&Vault>, job_secrets: &[Secret]) -> TaskGroup {
        self.group.networks.iter_mut().flatten().for_each(sort_ports);
        if let Some(scaling) = &mut self.group.scaling
            && scaling.r#type.is_empty()
        {
            scaling.r#type = ScalingPolicyType::Horizontal.to_string();
        }
        let vault = self.vault.as_ref().or(job_vault);
        for task in self.group.tasks.iter_mut().flatten() {
            finish_task(task, vault, &self.secrets, job_secrets);
        }
        self.group
    }
}

fn finish_task(task: &mut Task, vault: Option<&Vault>, group_secrets: &[Secret], job_secrets: &[Secret]) {
    let networks = task.resources.iter_mut().flat_map(|r| r.networks.iter_mut().flatten());
    networks.for_each(sort_ports);
    task.templates.iter_mut().flatten().for_each(template_defaults);
    task.vault = task.vault.take().or_else(|| vault.cloned()).map(with_vault_defaults);
    let mut secrets = task.secrets.take().unwrap_or_default();
    if !group_secrets.is_empty() {
        // A task with secrets of its own gets those once more, not the group's: as Nomad does.
        let more = if secrets.is_empty() { group_secrets.to_vec() } else { secrets.clone() };
        secrets.extend(more);
    }
    secrets.extend_from_slice(job_secrets);
    task.secrets = (!secrets.is_empty()).then_some(secrets);
    if let Some(identities) = &mut task.identities
        && let Some(at) = identities.iter().position(|i| matches!(i.name.as_str(), "" | "default"))
    {
        task.identity = Some(identities.remove(at));
    }
}

fn with_vault_defaults(mut vault: Vault) -> Vault {
    vault.env.get_or_insert(true);
    vault.disable_file.get_or_insert(false);
    vault.change_mode.get_or_insert_with(|| "restart".to_owned());
    vault
}

/// With `port` blocks, those with a fixed number are the reserved ports, whatever `reserved_ports` blocks said.
fn sort_ports(network: &mut NetworkResource) {
    let Some(ports) = network.dynamic_ports.take().filter(|ports| !ports.is_empty()) else { return };
    let (fixed, dynamic): (Vec<_>, Vec<_>) = ports.into_iter().partition(|port| port.value > 0);
    network.reserved_ports = (!fixed.is_empty()).then_some(fixed);
    network.dynamic_ports = (!dynamic.is_empty()).then_some(dynamic);
}

fn template_defaults(template: &mut Template) {
    template.change_mode.get_or_insert_with(|| "restart".to_owned());
    template.perms.get_or_insert_with(|| "0644".to_owned());
    template.splay.get_or_insert(5 * SECOND);
    template.err_missing_key.get_or_insert(false);
    if let Some(script) = &mut template.change_script {
        script.args.get_or_insert_with(Vec::new);
        script.timeout.get_or_insert(5 * SECOND);
        script.fail_on_error.get_or_insert(false);
        script.run_on_first_render.get_or_insert(false);
    }
}
