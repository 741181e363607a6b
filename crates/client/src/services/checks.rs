//! Definitions and results of checks (`docs/spec/client.md §16.3`).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::{AddressError, Place, address};
use crate::clock;
use crate::hex::hex;
use crate::policy::check_restart::{CheckOutcome, CheckRestartRule};
use encamp_model::json::is_default;
use encamp_model::{Service, ServiceCheck, duration};

/// What the result of a check means for its allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckMode {
    /// A failure makes the allocation unhealthy.
    #[default]
    Healthiness,
    /// A failure is ignored.
    Readiness,
}

/// The `CheckQueryResult` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CheckResult {
    /// A hash of the check and the allocation it belongs to.
    #[serde(rename = "ID")]
    pub id: String,
    /// What a failure means.
    pub mode: CheckMode,
    /// The result of the last run.
    pub status: CheckOutcome,
    /// Of an HTTP answer.
    #[serde(skip_serializing_if = "is_default")]
    pub status_code: i64,
    /// The response of the check, or the reason why it failed.
    pub output: String,
    /// Unix seconds.
    pub timestamp: i64,
    /// Name of the allocation: so Nomad has it.
    pub group: String,
    /// The task of the service; empty for services of the group.
    #[serde(skip_serializing_if = "is_default")]
    pub task: String,
    /// The service's name.
    pub service: String,
    /// The check's name.
    pub check: String,
}

/// A check to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// How its results begin.
    pub first: CheckResult,
    /// The address to check.
    pub host: String,
    /// At which port.
    pub port: i64,
    /// The request; none: the check only tests whether the port accepts connections.
    pub http: Option<Http>,
    /// From the end of one run to the next.
    pub interval: Duration,
    /// How long one run may take.
    pub timeout: Duration,
    /// The rule by which its failures restart tasks.
    pub restart: Option<CheckRestart>,
}

/// The rule by which the failures of a check restart tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRestart {
    /// Name of the check, as events tell it.
    pub check: String,
    /// The task; none: all tasks of the allocation.
    pub task: Option<String>,
    /// After how many failures.
    pub rule: CheckRestartRule,
}

/// A question over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// `http` or `https`.
    pub scheme: String,
    /// The request's method; `GET` if the check has none.
    pub method: String,
    /// Path and query; `/` if the check has none.
    pub path: String,
    /// Request headers; a header may have several values.
    pub headers: BTreeMap<String, Vec<String>>,
    /// The request's body; empty: none.
    pub body: String,
    /// Whether certificates are accepted unverified.
    pub tls_skip_verify: bool,
}

/// The checks of a service; those of other catalogues and of other kinds are left out.
pub(crate) fn of_service(service: &Service, place: &Place) -> Vec<Result<Check, AddressError>> {
    if service.provider != "nomad" {
        return Vec::new();
    }
    let known = service.checks.iter().filter(|c| matches!(c.r#type.as_str(), "http" | "tcp"));
    known.map(|check| of_check(check, service, place)).collect()
}

fn of_check(check: &ServiceCheck, service: &Service, place: &Place) -> Result<Check, AddressError> {
    let env = place.env;
    let label = if check.port_label.is_empty() { &service.port_label } else { &check.port_label };
    let label = env.replace(label);
    let custom = env.replace(&service.address);
    let mode = match (check.address_mode.as_str(), custom.is_empty()) {
        ("", true) => "host",
        ("", false) => "auto",
        (mode, _) => mode,
    };
    let custom = if mode == "auto" { custom } else { String::new() };
    // The network of a driver is not known to checks.
    let (host, port) = address(mode, &custom, &label, &Place { driver: None, ..*place })?;
    let task = place.task.unwrap_or_default();
    let first = CheckResult {
        id: id(check, &label, place),
        mode: if check.on_update == "ignore" { CheckMode::Readiness } else { CheckMode::Healthiness },
        status: CheckOutcome::Pending,
        output: "nomad: waiting to run".into(),
        timestamp: clock::now() / 1_000_000_000,
        group: place.alloc.name.to_string(),
        task: task.into(),
        service: env.replace(&service.name),
        check: env.replace(&check.name),
        ..CheckResult::default()
    };
    let or = |text: &str, default: &str| if text.is_empty() { default.to_string() } else { env.replace(text) };
    let http = (check.r#type == "http").then(|| Http {
        scheme: or(&check.protocol, "http"),
        method: or(&check.method, "GET"),
        path: or(&check.path, "/"),
        headers: check.header.iter().map(|(k, v)| (k.clone(), v.iter().map(|v| env.replace(v)).collect())).collect(),
        body: env.replace(&check.body),
        tls_skip_verify: check.tls_skip_verify,
    });
    Ok(Check {
        first,
        host,
        port,
        http,
        interval: duration::of_nanos(check.interval),
        timeout: duration::of_nanos(check.timeout),
        restart: check.check_restart.as_ref().filter(|r| r.limit > 0).map(|r| CheckRestart {
            check: env.replace(&check.name),
            task: place.task.map(String::from).or_else(|| Some(check.task_name.clone()).filter(|t| !t.is_empty())),
            rule: CheckRestartRule { limit: r.limit, grace: r.grace, interval: check.interval },
        }),
    })
}

/// A name for the check that no other one has.
fn id(check: &ServiceCheck, label: &str, place: &Place) -> String {
    let skip = check.tls_skip_verify.to_string();
    let (interval, timeout) = (check.interval.to_string(), check.timeout.to_string());
    let parts = [
        place.alloc.id.as_str(),
        &place.alloc.task_group,
        place.task.unwrap_or_default(),
        &check.name,
        &check.r#type,
        label,
        &check.on_update,
        &check.address_mode,
        &interval,
        &timeout,
        &check.protocol,
        &check.path,
        &check.method,
        &skip,
    ];
    let mut hash = sha2::Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        // Where one part ends the next may not begin elsewhere.
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// Whether all results speak for the allocation (`docs/spec/client.md §14`); none of no checks.
pub(crate) fn passing(results: &BTreeMap<String, CheckResult>) -> Option<bool> {
    let good = |r: &CheckResult| match r.status {
        CheckOutcome::Success => true,
        CheckOutcome::Failure => r.mode == CheckMode::Readiness,
        CheckOutcome::Pending => false,
    };
    (!results.is_empty()).then(|| results.values().all(good))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::TaskEnv;
    use crate::services::tests::alloc;
    use encamp_model::{AllocNetworkStatus, Node};

    #[test]
    fn checks_of_a_service() {
        let (alloc, node, env) = (alloc(), Node::default(), TaskEnv::default());
        let network = AllocNetworkStatus::default();
        let place = Place { alloc: &alloc, node: &node, env: &env, task: None, driver: None, network: &network };
        let check = |kind: &str, on_update: &str| ServiceCheck {
            name: "up".into(),
            r#type: kind.into(),
            on_update: on_update.into(),
            interval: 1_000_000_000,
            ..ServiceCheck::default()
        };
        let service = Service {
            name: "s".into(),
            provider: "nomad".into(),
            port_label: "http".into(),
            checks: vec![check("tcp", ""), check("http", "ignore"), check("script", "")],
            ..Service::default()
        };
        let all: Vec<Check> = of_service(&service, &place).into_iter().map(Result::unwrap).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].host.as_str(), all[0].port, all[0].first.mode),
            ("127.0.0.1", 22_503, CheckMode::Healthiness)
        );
        assert_eq!((all[1].first.mode, all[1].http.as_ref().unwrap().method.as_str()), (CheckMode::Readiness, "GET"));
        assert_ne!(all[0].first.id, all[1].first.id);
        assert_eq!((all[0].first.group.as_str(), all[0].first.id.len()), ("web.web[0]", 64));
    }

    #[test]
    fn only_success_passes() {
        use CheckMode::{Healthiness, Readiness};
        use CheckOutcome::{Failure, Pending, Success};
        let all = |list: &[(CheckMode, CheckOutcome)]| {
            let result = |&(mode, status)| CheckResult { mode, status, ..CheckResult::default() };
            passing(&list.iter().enumerate().map(|(n, r)| (n.to_string(), result(r))).collect())
        };
        assert_eq!(all(&[]), None);
        assert_eq!(all(&[(Healthiness, Success), (Readiness, Failure)]), Some(true));
        assert_eq!(all(&[(Readiness, Pending)]), Some(false));
        assert_eq!(all(&[(Healthiness, Failure), (Healthiness, Success)]), Some(false));
    }
}
