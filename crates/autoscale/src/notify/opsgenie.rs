//! Opsgenie Alerts v2 (`docs/spec/cluster-scaling.md §10`).

use serde::Serialize;

use super::{Notification, Severity, alert_key, shortened};

/// Where alerts are posted.
pub const URL: &str = "https://api.opsgenie.com/v2/alerts";
/// The longest message, characters.
const MESSAGE: usize = 130;
/// The longest alias, bytes.
const ALIAS: usize = 512;
/// The longest description, characters.
const DESCRIPTION: usize = 15_000;

#[derive(Serialize)]
struct Alert<'a> {
    message: String,
    alias: String,
    description: String,
    details: Details<'a>,
    priority: &'static str,
}

#[derive(Serialize)]
struct Details<'a> {
    alert_uid: &'a str,
    cluster_identifier: &'a str,
    reason: &'static str,
    resource_id: &'a str,
    state_path: &'a str,
}

/// The alert that is posted. Alerts with the same reason about the same pool or group are one.
pub fn body(n: &Notification) -> String {
    let alert = Alert {
        message: shortened(&format!("{}: {} {}", n.uid, n.reason.name(), n.resource_id), MESSAGE),
        alias: alert_key(n, ALIAS),
        description: shortened(&n.text, DESCRIPTION),
        details: Details {
            alert_uid: &n.uid,
            cluster_identifier: &n.cluster,
            reason: n.reason.name(),
            resource_id: &n.resource_id,
            state_path: &n.state_path,
        },
        priority: match n.reason.severity() {
            Severity::Critical => "P1",
            Severity::Info => "P5",
        },
    };
    serde_json::to_string(&alert).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Reason;
    use super::super::tests::example;

    #[test]
    fn alerts() {
        let want = concat!(
            r#"{"message":"team-a: job_group_failsafe_mode web","#,
            r#""alias":"encamp global job_group_failsafe_mode encamp/autoscale/state/nodes/web","#,
            r#""description":"3 \"failures\"","#,
            r#""details":{"alert_uid":"team-a","cluster_identifier":"global","reason":"job_group_failsafe_mode","#,
            r#""resource_id":"web","state_path":"encamp/autoscale/state/nodes/web"},"priority":"P1"}"#
        );
        assert_eq!(super::body(&example(Reason::JobGroupFailsafeMode)), want);
        let mut long = example(Reason::ScaleOut);
        long.uid = "ü".repeat(200);
        let body = super::body(&long);
        assert!(body.contains(&format!(r#"{{"message":"{}","#, "ü".repeat(130))), "{body}");
        assert!(body.contains(r#""priority":"P5""#), "{body}");
    }
}
