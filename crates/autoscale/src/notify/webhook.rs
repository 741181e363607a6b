//! The generic webhook (`docs/spec/cluster-scaling.md §10`).

use serde::Serialize;

use super::Notification;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Body<'a> {
    #[serde(rename = "AlertUID")]
    alert_uid: &'a str,
    cluster_identifier: &'a str,
    reason: &'a str,
    #[serde(rename = "ResourceID")]
    resource_id: &'a str,
    state_path: &'a str,
    text: &'a str,
}

/// The body that is posted.
pub fn body(n: &Notification) -> String {
    let body = Body {
        alert_uid: &n.uid,
        cluster_identifier: &n.cluster,
        reason: n.reason.name(),
        resource_id: &n.resource_id,
        state_path: &n.state_path,
        text: &n.text,
    };
    serde_json::to_string(&body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Reason;
    use super::super::tests::example;

    #[test]
    fn all_fields_are_there() {
        let want = concat!(
            r#"{"AlertUID":"team-a","ClusterIdentifier":"global","Reason":"cluster_failsafe_mode","ResourceID":"web","#,
            r#""StatePath":"encamp/autoscale/state/nodes/web","Text":"3 \"failures\""}"#
        );
        assert_eq!(super::body(&example(Reason::ClusterFailsafeMode)), want);
    }
}
