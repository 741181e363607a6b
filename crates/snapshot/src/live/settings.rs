//! The configuration of servers, as reported by `GET /v1/agent/self`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use encamp_model::{ServerSettings, WorkloadIdentity};

/// The settings in the `config` of an agent; `None` if it does not tell them. Servers and clients of a cluster are
/// assumed to be set up alike: the contacted agent is asked, whatever it is.
pub(crate) fn settings_of_agent(agent: &Value) -> Option<ServerSettings> {
    let config = agent.get("config")?;
    // Servers before 1.7 have one Vault cluster, without a name.
    let only = || config.get("Vault").filter(|v| v.get("Enabled").is_some());
    let vault = config.get("Vaults").and_then(default_cluster).or_else(only)?;
    let consul = config.get("Consuls").and_then(default_cluster);
    let identity_of = |cluster: Option<&Value>, name: &str| cluster.and_then(|c| member::<WorkloadIdentity>(c, name));
    Some(ServerSettings {
        vault_enabled: member(vault, "Enabled").unwrap_or_default(),
        vault_default_identity: identity_of(Some(vault), "DefaultIdentity"),
        consul_service_identity: identity_of(consul, "ServiceIdentity"),
        consul_task_identity: identity_of(consul, "TaskIdentity"),
    })
}

/// The cluster named `default`: the only one that jobs may use.
fn default_cluster(clusters: &Value) -> Option<&Value> {
    let name = |c: &Value| c.get("Name").and_then(Value::as_str).unwrap_or_default().to_string();
    clusters.as_array()?.iter().find(|c| matches!(name(c).as_str(), "" | "default"))
}

/// A member that is there and is what it has to be.
fn member<T: DeserializeOwned>(object: &Value, name: &str) -> Option<T> {
    object.get(name).filter(|v| !v.is_null()).and_then(|v| T::deserialize(v).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_those_of_the_default_clusters() {
        let agent = |vaults: Value, consuls: Value| json!({"config": {"Vaults": vaults, "Consuls": consuls}});
        let off = settings_of_agent(&agent(json!([{"Name": "default", "Enabled": null}]), json!([])));
        assert_eq!(off, Some(ServerSettings::default()), "Vault is off unless it is switched on");
        let vaults = json!([
            {"Name": "other", "Enabled": false},
            {"Name": "default", "Enabled": true, "DefaultIdentity": {"Name": "", "Audience": ["vault.io"], "TTL": 3_600_000_000_000_i64}},
        ]);
        let consuls =
            json!([{"Name": "default", "ServiceIdentity": {"Audience": ["consul.io"]}, "TaskIdentity": null}]);
        let on = settings_of_agent(&agent(vaults, consuls)).unwrap();
        assert!(on.vault_enabled && on.consul_task_identity.is_none());
        let vault = on.vault_default_identity.unwrap();
        assert_eq!((vault.audience, vault.ttl), (vec!["vault.io".to_string()], 3_600_000_000_000));
        assert_eq!(on.consul_service_identity.unwrap().audience, ["consul.io"]);
        for without in [json!({}), json!({"config": {}}), agent(json!([]), json!([])), agent(json!("x"), json!(null))] {
            assert_eq!(settings_of_agent(&without), None, "{without}");
        }
    }
}
