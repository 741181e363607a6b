//! PagerDuty Events v2 (`docs/spec/cluster-scaling.md §10`).

use serde::Serialize;

use super::{Notification, Severity, alert_key, shortened};

/// Where events are posted.
pub const URL: &str = "https://events.pagerduty.com/v2/enqueue";
/// The longest summary, characters.
const SUMMARY: usize = 1024;
/// The longest key of an alert, bytes.
const DEDUP_KEY: usize = 255;

#[derive(Serialize)]
struct Event<'a> {
    routing_key: &'a str,
    event_action: &'static str,
    dedup_key: String,
    payload: Payload<'a>,
}

#[derive(Serialize)]
struct Payload<'a> {
    summary: String,
    source: &'a str,
    severity: &'static str,
    custom_details: Details<'a>,
}

#[derive(Serialize)]
struct Details<'a> {
    alert_uid: &'a str,
    cluster_identifier: &'a str,
    reason: &'static str,
    resource_id: &'a str,
    state_path: &'a str,
}

/// The event that is posted. Events with the same reason about the same pool or group belong to one alert.
pub fn body(n: &Notification, key: &str) -> String {
    let event = Event {
        routing_key: key,
        event_action: "trigger",
        dedup_key: alert_key(n, DEDUP_KEY),
        payload: Payload {
            summary: shortened(&format!("{}: {}", n.uid, n.text), SUMMARY),
            source: &n.cluster,
            severity: match n.reason.severity() {
                Severity::Critical => "critical",
                Severity::Info => "info",
            },
            custom_details: Details {
                alert_uid: &n.uid,
                cluster_identifier: &n.cluster,
                reason: n.reason.name(),
                resource_id: &n.resource_id,
                state_path: &n.state_path,
            },
        },
    };
    serde_json::to_string(&event).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Reason;
    use super::super::tests::example;

    #[test]
    fn events() {
        let want = concat!(
            r#"{"routing_key":"k","event_action":"trigger","#,
            r#""dedup_key":"encamp global cluster_failsafe_mode encamp/autoscale/state/nodes/web","#,
            r#""payload":{"summary":"team-a: 3 \"failures\"","source":"global","severity":"critical","#,
            r#""custom_details":{"alert_uid":"team-a","cluster_identifier":"global","reason":"cluster_failsafe_mode","#,
            r#""resource_id":"web","state_path":"encamp/autoscale/state/nodes/web"}}}"#
        );
        assert_eq!(super::body(&example(Reason::ClusterFailsafeMode), "k"), want);
        let info = super::body(&example(Reason::ScaleIn), "k");
        assert!(info.contains(r#""severity":"info""#) && info.contains(r#""reason":"scale_in""#), "{info}");
    }
}
