//! Changes of the node while it runs: drivers, metadata, events (`docs/spec/client.md §3.4`, `§4.5`, `§5`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::super::drivers::{Driver, Fingerprint};
use super::super::policy::backoff;
use super::Agent;
use crate::clock;
use crate::error::ClientError;
use crate::responses::NodeMeta;
use encamp_model::{DriverInfo, Node, NodeEvent, Time};

/// Events that wait to be sent; an older one goes for a newer one.
const MOST_EVENTS: usize = 11;

/// How a driver looks in the node.
pub(crate) fn driver_info(name: &str, found: &Fingerprint, now: i64) -> DriverInfo {
    let mut attributes = BTreeMap::new();
    if found.detected {
        attributes.insert(format!("driver.{name}"), "true".to_string());
        attributes.extend(found.attributes.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    DriverInfo {
        attributes,
        detected: found.detected,
        healthy: found.healthy,
        health_description: found.description.clone(),
        update_time: Time::from_unix_nanos(now),
    }
}

/// Puts a driver into the node, with its attribute.
pub(crate) fn put_driver(node: &mut Node, name: &str, found: &Fingerprint, now: i64) {
    let key = format!("driver.{name}");
    if let Some(before) = node.drivers.get(name) {
        before.attributes.keys().for_each(|key| drop(node.attributes.remove(key)));
    }
    if found.detected && found.healthy {
        node.attributes.extend(found.attributes.clone());
        node.attributes.insert(key, "1".into());
    } else {
        node.attributes.remove(&key);
    }
    node.attributes.retain(|known, _| !known.starts_with(&format!("driver.{name}.")));
    node.attributes.extend(found.attributes.iter().filter(|_| found.detected).map(|(k, v)| (k.clone(), v.clone())));
    node.drivers.insert(name.into(), driver_info(name, found, now));
}

/// Merges meta set at run time into the static one; a removed key is gone.
pub fn merged(
    fixed: &BTreeMap<String, String>,
    dynamic: &BTreeMap<String, Option<String>>,
) -> BTreeMap<String, String> {
    let mut out = fixed.clone();
    for (key, value) in dynamic {
        match value {
            Some(value) => drop(out.insert(key.clone(), value.clone())),
            None => drop(out.remove(key)),
        }
    }
    out
}

/// Applies a request to the meta set at run time (`docs/spec/client.md §5`).
pub fn apply(
    fixed: &BTreeMap<String, String>,
    dynamic: &BTreeMap<String, Option<String>>,
    request: &BTreeMap<String, Option<String>>,
) -> Result<BTreeMap<String, Option<String>>, ClientError> {
    let bad = |text: String| Err(ClientError::BadRequest(text));
    if request.is_empty() {
        return bad("missing required Meta object".into());
    }
    let mut out = dynamic.clone();
    for (key, value) in request {
        if key.is_empty() {
            return bad("metadata keys must not be empty".into());
        }
        if !key.split('.').all(is_identifier) {
            return bad(format!("\"{key}\" is invalid; metadata keys must be valid dotted hcl identifiers"));
        }
        if value.is_some() || fixed.contains_key(key) {
            out.insert(key.clone(), value.clone());
        } else {
            out.remove(key);
        }
    }
    Ok(out)
}

fn is_identifier(part: &str) -> bool {
    let mut chars = part.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

impl Agent {
    /// Looks after one driver, until the end.
    pub(super) async fn watch_driver(self: Arc<Self>, driver: Arc<dyn Driver>) {
        let mut last = driver.fingerprint();
        // It may have changed since the node was made.
        put_driver(&mut self.shared.node.write(), driver.name(), &last, clock::now());
        self.shared.node_changed.notify_one();
        let period = i64::try_from(driver.fingerprint_period().as_nanos()).unwrap_or(i64::MAX);
        loop {
            let goes_on = tokio::select! {
                goes_on = self.pause(period) => goes_on,
                () = driver.changed(&last) => true,
            };
            if !goes_on {
                return;
            }
            let found = driver.fingerprint();
            if found == last {
                continue;
            }
            let name = driver.name();
            put_driver(&mut self.shared.node.write(), name, &found, clock::now());
            if found.healthy != last.healthy {
                let details = [("driver".to_string(), name.to_string())].into();
                self.event(NodeEvent {
                    message: found.description.clone(),
                    subsystem: "Driver".into(),
                    details,
                    timestamp: Time::from_unix_nanos(clock::now()),
                    create_index: 0,
                });
            }
            last = found;
            self.shared.node_changed.notify_one();
        }
    }

    /// Sends the node again after it changed, until the end.
    pub(super) async fn watch_node(self: Arc<Self>) {
        if !self.wait_registered().await {
            return;
        }
        let begun = Instant::now();
        loop {
            tokio::select! {
                () = self.shared.node_changed.notified() => {}
                () = self.stopped() => return,
            }
            let wait = self.shared.draw(backoff::coalesce);
            let sooner = (begun.elapsed() < backoff::START).then(|| self.shared.draw(backoff::coalesce_at_start));
            if !self.pause_or_contact(wait, sooner).await || !self.register().await {
                return;
            }
        }
    }

    /// Changes whether clients have to speak TLS with the HTTP interface of the agent.
    pub(crate) fn set_tls_enabled(&self, enabled: bool) {
        let mut node = self.shared.node.write();
        if node.tls_enabled != enabled {
            node.tls_enabled = enabled;
            self.shared.node_changed.notify_one();
        }
    }

    /// Queues an event of the node.
    pub(super) fn event(&self, event: NodeEvent) {
        let mut events = self.events.lock();
        events.push_back(event);
        while events.len() > MOST_EVENTS {
            events.pop_front();
        }
        drop(events);
        self.events_changed.notify_one();
    }

    /// Sends events some time after the latest one, until the end.
    pub(super) async fn send_events(self: Arc<Self>) {
        if !self.wait_registered().await {
            return;
        }
        loop {
            tokio::select! {
                () = self.events_changed.notified() => {}
                () = self.stopped() => return,
            }
            loop {
                let wait = self.shared.draw(backoff::coalesce);
                tokio::select! {
                    alive = self.pause(wait) => if !alive { return },
                    () = self.events_changed.notified() => continue,
                }
                let events: Vec<NodeEvent> = self.events.lock().iter().cloned().collect();
                match self.servers.emit_events(&self.who(), events.clone()).await {
                    Ok(_) => {
                        // Those that came meanwhile stay.
                        self.events.lock().retain(|e| !events.contains(e));
                        break;
                    }
                    Err(error) => tracing::error!(target: "client", %error, "error sending node events"),
                }
            }
        }
    }

    /// Meta of the node.
    pub(crate) fn meta(&self) -> NodeMeta {
        let dynamic = self.record.read(|r| r.meta.clone());
        NodeMeta { meta: merged(&self.static_meta, &dynamic), dynamic, r#static: self.static_meta.clone() }
    }

    /// Changes meta of the node.
    pub(crate) fn apply_meta(&self, request: &BTreeMap<String, Option<String>>) -> Result<NodeMeta, ClientError> {
        let mut applied = Ok(());
        self.store_record(|record| match apply(&self.static_meta, &record.meta, request) {
            Ok(meta) => record.meta = meta,
            Err(error) => applied = Err(error),
        })
        .map_err(|e| ClientError::Failed(format!("failed to store the node metadata: {e}")))?;
        applied?;
        let now = self.meta();
        self.shared.node.write().meta = now.meta.clone().into();
        self.shared.node_changed.notify_one();
        Ok(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_is_set_removed_and_forgotten() {
        let fixed = BTreeMap::from([("connect.log_level".to_string(), "info".to_string())]);
        let request = |list: &[(&str, Option<&str>)]| {
            list.iter().map(|(k, v)| (k.to_string(), v.map(String::from))).collect::<BTreeMap<_, _>>()
        };
        let one = apply(&fixed, &BTreeMap::new(), &request(&[("a", Some("1")), ("connect.log_level", None)])).unwrap();
        assert_eq!(one, request(&[("a", Some("1")), ("connect.log_level", None)]));
        assert_eq!(merged(&fixed, &one), [("a".to_string(), "1".to_string())].into());
        let two = apply(&fixed, &one, &request(&[("a", None), ("b.c-d", Some("x"))])).unwrap();
        assert_eq!(two, request(&[("b.c-d", Some("x")), ("connect.log_level", None)]));
        let error = |list| apply(&fixed, &one, &request(list)).unwrap_err().to_string();
        assert_eq!(error(&[]), "missing required Meta object");
        assert_eq!(error(&[("", None)]), "metadata keys must not be empty");
        assert_eq!(error(&[("a..b", None)]), "\"a..b\" is invalid; metadata keys must be valid dotted hcl identifiers");
    }

    #[test]
    fn drivers_in_the_node() {
        let mut node = Node::default();
        put_driver(&mut node, "raw_exec", &Fingerprint::healthy(), 1);
        assert_eq!(node.attributes["driver.raw_exec"], "1");
        assert_eq!(node.drivers["raw_exec"].attributes["driver.raw_exec"], "true");
        put_driver(&mut node, "raw_exec", &Fingerprint::undetected("disabled"), 2);
        assert!(node.attributes.is_empty() && node.drivers["raw_exec"].attributes.is_empty());
    }
}
