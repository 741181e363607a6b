//! The block `autoscaling` (`docs/spec/cluster-scaling.md §1.1`): scaling of worker pools and job groups. Nomad does
//! not have this block.

use std::path::Path;
use std::time::Duration;

use encamp_autoscale::notify::{Backend, BackendSettings};
use encamp_autoscale::params::ProviderKind;

use super::error::{InvalidAutoscaling, InvalidGroup, InvalidNotify, InvalidProvider};
use super::kinds::{Count, Flag, Hidden, Labelled, Limit, List, OpenCount, Text, blocks, minutes};

const INTERVAL: Duration = Duration::from_secs(10);

blocks! {
    /// Worker pools and job groups that size themselves.
    Autoscaling from AutoscalingFile {
        /// Whether the leader runs the loops.
        enabled "Enabled": Flag = false,
        /// From the start of one cycle over the worker pools to the start of the next.
        cluster_interval "ClusterInterval": Limit = INTERVAL,
        /// The same for the cycles over job groups.
        job_interval "JobInterval": Limit = INTERVAL,
        /// The number of pools that are evaluated concurrently.
        concurrency "Concurrency": Count = 10,
        /// The drain deadline of nodes that are removed.
        drain_deadline "DrainDeadline": Limit = minutes(15),
        /// Whether job groups are scaled as well.
        job_scaling "JobScaling": Flag = false,
        notify "Notify": Labelled<NotifyFile> = Default::default(),
        provider "Provider": Labelled<ProviderFile> = Default::default(),
    }

    /// A receiver of notifications.
    Notify from NotifyFile {
        /// `webhook`, `pagerduty` or `opsgenie`.
        r#type "Type": Text = String::new(),
        /// The URL may contain credentials.
        url "URL": Hidden = Default::default(),
        key "Key": Hidden = Default::default(),
        /// Whether successful operations are notified as well.
        scale_events "ScaleEvents": Flag = false,
    }

    /// The settings of a provider of instances.
    Provider from ProviderFile {
        /// `command`: the program and its arguments.
        command "Command": List = Vec::new(),
        /// `local`: the directory of its groups and their instances.
        directory "Directory": Text = String::new(),
        /// `local`: its groups by the name of their pool.
        group "Groups": Labelled<LocalGroupFile> = Default::default(),
    }

    /// A scaling group of the provider `local`.
    LocalGroup from LocalGroupFile {
        min "Min": Count = 0,
        /// Required.
        max "Max": OpenCount = None,
        /// The initial size. Default: `min`.
        desired "Desired": OpenCount = None,
        /// An agent configuration file for its instances.
        config "Config": Text = String::new(),
    }
}

/// Validates the block. `has_data_dir`: whether there is a data directory for providers without a directory.
///
/// # Errors
/// The first problem, with its key.
pub fn check(a: &Autoscaling, has_data_dir: bool) -> Result<(), InvalidAutoscaling> {
    for (key, value) in [
        ("cluster_interval", a.cluster_interval),
        ("job_interval", a.job_interval),
        ("drain_deadline", a.drain_deadline),
    ] {
        if value.is_zero() {
            return Err(InvalidAutoscaling::Zero(key));
        }
    }
    if a.concurrency < 1 {
        return Err(InvalidAutoscaling::Concurrency(a.concurrency));
    }
    for (name, target) in &a.notify {
        backend(name, target).map_err(|source| InvalidAutoscaling::Notify { name: name.clone(), source })?;
    }
    for (name, provider) in &a.provider {
        check_provider(name, provider, has_data_dir)
            .map_err(|source| InvalidAutoscaling::Provider { name: name.clone(), source })?;
    }
    Ok(())
}

/// The backend that a block `notify` describes.
///
/// # Errors
/// The problem, without secrets.
pub fn backend(name: &str, n: &Notify) -> Result<BackendSettings, InvalidNotify> {
    let url = (!n.url.is_empty()).then(|| n.url.clone());
    let key = || match n.key.is_empty() {
        true => Err(InvalidNotify::NoKey),
        false => Ok(n.key.clone()),
    };
    let backend = match n.r#type.as_str() {
        "" => return Err(InvalidNotify::NoType),
        "webhook" if !n.key.is_empty() => return Err(InvalidNotify::WebhookKey),
        "webhook" => Backend::Webhook { url: url.ok_or(InvalidNotify::NoUrl)? },
        "pagerduty" => Backend::PagerDuty { key: key()?, url },
        "opsgenie" => Backend::Opsgenie { key: key()?, url },
        other => return Err(InvalidNotify::Type(other.into())),
    };
    backend.check()?;
    Ok(BackendSettings { name: name.into(), backend, scale_events: n.scale_events })
}

fn check_provider(name: &str, p: &Provider, has_data_dir: bool) -> Result<(), InvalidProvider> {
    let (command, local) = (!p.command.is_empty(), !p.directory.is_empty() || !p.group.is_empty());
    match ProviderKind::parse(name) {
        None => Err(InvalidProvider::Unknown),
        Some(ProviderKind::Aws) => Err(InvalidProvider::NoSettings),
        Some(ProviderKind::Command) if local => Err(InvalidProvider::LocalSettings),
        Some(ProviderKind::Command) if p.command.first().is_none_or(String::is_empty) => {
            Err(InvalidProvider::NoCommand)
        }
        Some(ProviderKind::Command) => Ok(()),
        Some(ProviderKind::Local) if command => Err(InvalidProvider::CommandSettings),
        Some(ProviderKind::Local) => check_local(p, has_data_dir),
    }
}

fn check_local(p: &Provider, has_data_dir: bool) -> Result<(), InvalidProvider> {
    if p.directory.is_empty() && !has_data_dir {
        return Err(InvalidProvider::NoDirectory);
    }
    if !p.directory.is_empty() && !Path::new(&p.directory).is_absolute() {
        return Err(InvalidProvider::RelativeDirectory(p.directory.clone()));
    }
    for (pool, group) in &p.group {
        check_group(pool, group).map_err(|source| InvalidProvider::Group { pool: pool.clone(), source })?;
    }
    Ok(())
}

fn check_group(pool: &str, group: &LocalGroup) -> Result<(), InvalidGroup> {
    if pool.is_empty() {
        return Err(InvalidGroup::NoPool);
    }
    let max = group.max.ok_or(InvalidGroup::NoMax)?;
    let (min, desired) = (group.min, group.desired.unwrap_or(group.min));
    if min < 0 {
        return Err(InvalidGroup::Min(min));
    }
    if max < min {
        return Err(InvalidGroup::Max { min, max });
    }
    if !(min..=max).contains(&desired) {
        return Err(InvalidGroup::Desired { min, max, desired });
    }
    if group.config.is_empty() {
        return Err(InvalidGroup::NoConfig);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{first_error, merged, refused};
    use super::super::{Finding, validate};
    use super::*;

    const SERVER: &str = "data_dir = \"/d\"\nserver {\n enabled = true\n bootstrap_expect = 3\n}\n";

    #[test]
    fn the_block_has_its_defaults_and_all_keys() {
        let a = merged(&[SERVER, "autoscaling {}"]).settings.autoscaling.expect("the block");
        assert_eq!(a, Autoscaling::default());
        assert_eq!((a.enabled, a.cluster_interval, a.job_interval), (false, INTERVAL, INTERVAL));
        assert_eq!((a.concurrency, a.drain_deadline, a.job_scaling), (10, minutes(15), false));
        let c = merged(&[
            SERVER,
            r#"autoscaling {
                 enabled = true
                 cluster_interval = "5s"
                 job_interval = "1m"
                 concurrency = 3
                 drain_deadline = "1h"
                 job_scaling = true
                 notify "ops" { type = "webhook", url = "https://h/x", scale_events = true }
                 provider "command" { command = ["/bin/groups", "-v"] }
                 provider "local" {
                   directory = "/d/pools"
                   group "web" { min = 1, max = 5, desired = 2, config = "/etc/web.hcl" }
                   group "db" { max = 1, config = "/etc/db.hcl" }
                 }
               }"#,
        ]);
        assert_eq!(first_error(&c), None);
        assert_eq!(c.autoscale_dir(), Path::new("/d/pools"));
        let a = c.settings.autoscaling.expect("the block");
        assert!(a.enabled && a.job_scaling && a.notify["ops"].scale_events);
        assert_eq!((a.cluster_interval, a.job_interval), (Duration::from_secs(5), minutes(1)));
        assert_eq!((a.concurrency, a.drain_deadline), (3, minutes(60)));
        assert_eq!(a.provider["command"].command, ["/bin/groups", "-v"]);
        let local = &a.provider["local"].group;
        assert_eq!((local["web"].min, local["web"].max, local["web"].desired), (1, Some(5), Some(2)));
        assert_eq!((local["db"].min, local["db"].max, local["db"].desired), (0, Some(1), None));
        assert_eq!(merged(&[SERVER]).autoscale_dir(), Path::new("/d/autoscale"));
    }

    #[test]
    fn files_are_merged_key_by_key_and_block_by_block() {
        let c = merged(&[
            SERVER,
            r#"autoscaling { enabled = true, concurrency = 3, drain_deadline = "1m"
                 notify "a" { type = "pagerduty", key = "one" }
                 provider "command" { command = ["/old", "x"] } }"#,
            r#"autoscaling { enabled = false, drain_deadline = "2m"
                 notify "a" { scale_events = true }
                 notify "b" { type = "opsgenie", key = "two" }
                 provider "command" { command = ["/new"] } }"#,
        ]);
        let a = c.settings.autoscaling.expect("the block");
        assert_eq!((a.enabled, a.concurrency, a.drain_deadline), (true, 3, minutes(2)));
        assert_eq!(a.notify.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert!(a.notify["a"].scale_events && a.notify["a"].key.expose() == "one");
        assert_eq!(a.provider["command"].command, ["/new"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_key() {
        let local = |group: &str| format!("provider \"local\" {{ group \"web\" {{ {group} }} }}");
        for (block, want) in [
            ("cluster_interval = \"0s\"".to_string(), "cluster_interval must be greater than zero"),
            ("job_interval = \"0s\"".into(), "job_interval must be greater than zero"),
            ("drain_deadline = \"0s\"".into(), "drain_deadline must be greater than zero"),
            ("concurrency = 0".into(), "concurrency must be at least 1 but found 0"),
            ("concurrency = -2".into(), "concurrency must be at least 1 but found -2"),
            ("notify \"n\" {}".into(), "notify \"n\": type is missing: webhook, pagerduty or opsgenie"),
            (
                "notify \"n\" { type = \"mail\" }".into(),
                "notify \"n\": type must be webhook, pagerduty or opsgenie but found \"mail\"",
            ),
            ("notify \"n\" { type = \"webhook\" }".into(), "notify \"n\": url is missing"),
            (
                "notify \"n\" { type = \"webhook\", url = \"ftp://s3cret\" }".into(),
                "notify \"n\": the url must begin with http:// or https:// and name a host",
            ),
            (
                "notify \"n\" { type = \"webhook\", url = \"http://h\", key = \"k\" }".into(),
                "notify \"n\": key has no meaning for a webhook; put it into the url",
            ),
            ("notify \"n\" { type = \"pagerduty\" }".into(), "notify \"n\": key is missing"),
            ("notify \"n\" { type = \"opsgenie\", url = \"http://h\" }".into(), "notify \"n\": key is missing"),
            (
                "provider \"gcp\" {}".into(),
                "provider \"gcp\": it is not known: command and local have settings, aws needs none",
            ),
            ("provider \"aws\" {}".into(), "provider \"aws\": it has no settings; remove the block"),
            (
                "provider \"command\" {}".into(),
                "provider \"command\": command is missing: the program and its arguments as a list",
            ),
            (
                "provider \"command\" { command = [\"\"] }".into(),
                "provider \"command\": command is missing: the program and its arguments as a list",
            ),
            (
                "provider \"command\" { command = [\"/x\"], directory = \"/d\" }".into(),
                "provider \"command\": directory and group are for the provider \"local\"",
            ),
            (
                "provider \"local\" { command = [\"/x\"] }".into(),
                "provider \"local\": command is for the provider \"command\"",
            ),
            (
                "provider \"local\" { directory = \"pools\" }".into(),
                "provider \"local\": directory must be given as an absolute path: got pools",
            ),
            (local("config = \"/c\""), "provider \"local\": group \"web\": max is missing"),
            (
                local("max = 1"),
                "provider \"local\": group \"web\": config is missing: an agent configuration file \
              for its instances",
            ),
            (local("min = -1, max = 1"), "provider \"local\": group \"web\": min must be >= 0 but found -1"),
            (local("min = 2, max = 1"), "provider \"local\": group \"web\": max is 1, which is less than min, 2"),
            (
                local("min = 1, max = 3, desired = 4"),
                "provider \"local\": group \"web\": desired must be between 1 and 3 but found 4",
            ),
        ] {
            let c = merged(&[SERVER, &format!("autoscaling {{ {block} }}")]);
            assert_eq!(first_error(&c), Some(format!("autoscaling block invalid: {want}")), "{block}");
        }
        let dev = "server { enabled = true }\nautoscaling { provider \"local\" {} }";
        let mut c = merged(&[dev]);
        c.dev = true;
        let want = "autoscaling block invalid: provider \"local\": directory is missing: without data_dir there is no \
                    other place";
        assert_eq!(first_error(&c).as_deref(), Some(want));
    }

    #[test]
    fn files_that_do_not_parse_are_refused_as_others() {
        for (block, want) in [
            ("interval = \"1s\"", "autoscaling unexpected keys interval"),
            ("cluster_interval = 10", "autoscaling.cluster_interval can't parse time duration 10"),
            ("cluster_interval = \"-1s\"", "autoscaling.cluster_interval must not be negative, got -1s"),
            ("concurrency = \"x\"", "autoscaling.concurrency: expected an integer, found \"x\""),
            ("notify \"a\" { token = \"x\" }", "autoscaling.notify.a unexpected keys token"),
        ] {
            let text = refused(&format!("autoscaling {{\n {block}\n}}"));
            assert!(text.contains(want), "{block}: {text}");
        }
    }

    #[test]
    fn secrets_are_not_shown_and_roles_are_checked() {
        let block = r#"autoscaling { enabled = true
            notify "a" { type = "pagerduty", key = "plainsecret" }
            notify "b" { type = "webhook", url = "https://user:plainsecret@h/plainsecret" } }"#;
        let c = merged(&[SERVER, block]);
        let shown = format!("{} {c:?}", c.json());
        assert!(shown.contains("<redacted>") && !shown.contains("plainsecret"), "{shown}");
        let warning =
            Finding::Warning("WARNING: autoscaling.enabled has no effect on an agent that is no server".into());
        assert!(!validate(&c).contains(&warning));
        assert!(validate(&merged(&["data_dir = \"/d\"\nclient { enabled = true }", block])).contains(&warning));
    }
}
