//! The event stream (`docs/spec/http-api.md §6.6`, `docs/spec/server.md §21`).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use futures_util::stream;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use crate::access::authorization::Access;
use crate::access::right::{Capability, Level, Need, Right, Subject, VariableCapability};
use crate::error::Error;
use crate::request::Request;
use crate::request::json::to_bytes;
use crate::request::params::Query;
use crate::request::response::{Outcome, Response};
use encamp_model::{Allocation, quoted};
use encamp_server::endpoints::acl::auth_methods;
use encamp_server::endpoints::alloc::shown;
use encamp_server::storage::events::{Batch, Event, Payload, Subscription};

/// The longest time without data on the stream.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Keys by topic; `*` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Topics(BTreeMap<String, Vec<String>>);

impl Topics {
    fn parse(query: &Query) -> Result<Topics, Error> {
        let mut topics: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for text in query.all("topic") {
            let (topic, key) = match text.split_once(':') {
                None => (text, "*"),
                Some((_, key)) if key.contains(':') => {
                    let text = format!("Invalid key value pair for topic, topic: {text}");
                    return Err(Error::bad(format!("Invalid topic query: error parsing topics: {text}")));
                }
                Some(parts) => parts,
            };
            topics.entry(topic.into()).or_default().push(key.into());
        }
        if topics.is_empty() {
            topics.insert("*".into(), vec!["*".into()]);
        }
        Ok(Topics(topics))
    }

    fn hold(&self, event: &Event) -> bool {
        let keys = ["*", event.topic()].into_iter().filter_map(|t| self.0.get(t)).flatten();
        keys.into_iter().any(|k| k == "*" || *k == event.key() || event.filter_keys().contains(&k.as_str()))
    }

    /// Checks the rights that are required to see them; returns what else the caller may do.
    fn check(&self, request: &Request, namespace: &str) -> Result<Access, Error> {
        for topic in self.0.keys() {
            let right = match topic.as_str() {
                "Job" | "Evaluation" | "Allocation" | "Deployment" | "Service" | "CSIPlugin" => {
                    Right::Namespace(&[Capability::ReadJob])
                }
                "HostVolume" => Right::Namespace(&[Capability::HostVolumeRead]),
                "CSIVolume" => Right::Namespace(&[Capability::CsiReadVolume]),
                "Variable" => Right::AnyVariable,
                "Node" => Right::Node(Level::Read),
                "Operator" => Right::Operator(Level::Read),
                _ => Right::Management,
            };
            request.authorize_as(right, Subject::Namespace(namespace))?;
        }
        request.access()
    }
}

/// Whether the caller may see an event of the topics it asked for: a right on a topic in all namespaces is one in each
/// namespace, and variables are allowed path by path.
fn may_see(access: &Access, event: &Event) -> bool {
    let of_namespace = |capability| access.allows(&Need::Namespace(event.namespace(), &[capability]));
    match event.topic() {
        "Job" | "Evaluation" | "Allocation" | "Deployment" | "Service" => of_namespace(Capability::ReadJob),
        "HostVolume" => of_namespace(Capability::HostVolumeRead),
        "CSIVolume" => of_namespace(Capability::CsiReadVolume),
        // Plugins have no namespace: the right was checked with the topic.
        "CSIPlugin" => true,
        "Variable" => access.allows(&Need::Variable(event.namespace(), event.key(), VariableCapability::List)),
        "Node" => access.allows(&Need::Node(Level::Read)),
        _ => access.is_management(),
    }
}

struct Follower {
    subscription: Subscription,
    topics: Topics,
    access: Access,
    /// The namespaces that are followed.
    namespaces: Vec<String>,
    beat: Interval,
    greeted: bool,
}

impl Follower {
    /// The next line; `None` when the reader was too slow, or the store was restored.
    async fn line(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            return Some(Bytes::from_static(b"{}\n"));
        }
        loop {
            tokio::select! {
                next = self.subscription.next() => {
                    if let Some(line) = self.shown(&next.ok()?) {
                        self.beat.reset();
                        return Some(line);
                    }
                }
                _ = self.beat.tick() => return Some(Bytes::from_static(b"{}\n")),
            }
        }
    }

    fn shown(&self, batch: &Batch) -> Option<Bytes> {
        let of_namespace = |e: &Event| e.namespace().is_empty() || self.namespaces.iter().any(|n| n == e.namespace());
        let events: Vec<Shown<'_>> = batch
            .events
            .iter()
            .filter(|e| of_namespace(e) && self.topics.hold(e) && may_see(&self.access, e))
            .map(|e| Shown::of(e, batch.index))
            .collect();
        if events.is_empty() {
            return None;
        }
        let mut line = to_bytes(&Line { index: batch.index, events }).ok()?;
        line.push(b'\n');
        Some(line.into())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Line<'a> {
    index: u64,
    events: Vec<Shown<'a>>,
}

/// An event as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shown<'a> {
    topic: &'a str,
    r#type: &'a str,
    key: &'a str,
    namespace: &'a str,
    filter_keys: Option<Vec<&'a str>>,
    index: u64,
    payload: ShownPayload<'a>,
}

impl<'a> Shown<'a> {
    fn of(e: &'a Event, index: u64) -> Shown<'a> {
        Shown {
            topic: e.topic(),
            r#type: e.r#type,
            key: e.key(),
            namespace: e.namespace(),
            filter_keys: Some(e.filter_keys()).filter(|k| !k.is_empty()),
            index,
            payload: ShownPayload(&e.payload),
        }
    }
}

struct ShownPayload<'a>(&'a Payload);

impl Serialize for ShownPayload<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(None)?;
        match self.0 {
            Payload::Job(job, deleted) => {
                if *deleted {
                    map.serialize_entry("Deleted", &true)?;
                }
                map.serialize_entry("Job", &**job)?;
            }
            Payload::Evaluation(e) => map.serialize_entry("Evaluation", &**e)?,
            Payload::Allocation(a) => {
                map.serialize_entry("Allocation", &Allocation { job: None, ..shown(a) })?;
            }
            Payload::Deployment(d) => map.serialize_entry("Deployment", &**d)?,
            Payload::Node(n) => map.serialize_entry("Node", &**n)?,
            Payload::NodePool(p) => map.serialize_entry("NodePool", &**p)?,
            Payload::Service(service) => map.serialize_entry("Service", &**service)?,
            Payload::Variable(variable, deleted) => {
                if *deleted {
                    map.serialize_entry("Deleted", &true)?;
                }
                map.serialize_entry("Variable", &**variable)?;
            }
            Payload::HostVolume(v) => map.serialize_entry("Volume", &**v)?,
            Payload::CsiVolume(v) => map.serialize_entry("Volume", &crate::api::volumes::shown(v))?,
            Payload::CsiPlugin(p) => map.serialize_entry("Plugin", &**p)?,
            Payload::AclPolicy(p) => map.serialize_entry("ACLPolicy", &**p)?,
            // Secrets are left empty: they are not serialised here.
            Payload::AclToken(t) => map.serialize_entry("ACLToken", &**t)?,
            Payload::AclRole(r) => map.serialize_entry("ACLRole", &**r)?,
            Payload::AclAuthMethod(m) => map.serialize_entry("AuthMethod", &*auth_methods::shown(m))?,
            Payload::AclBindingRule(r) => map.serialize_entry("ACLBindingRule", &**r)?,
        }
        map.end()
    }
}

pub(crate) async fn follow(request: Request) -> Outcome {
    request.check_region()?;
    let text = request.query().get("index");
    let index = match text {
        "" => 0,
        text => text.parse::<i64>().map_err(|_| {
            Error::bad(format!("Unable to parse index: strconv.Atoi: parsing {}: invalid syntax", quoted(text)))
        })?,
    };
    let topics = Topics::parse(request.query())?;
    let namespace = request.namespace();
    let access = topics.check(&request, &namespace)?;
    let server = request.server()?;
    if !server.settings().event_broker {
        return Err(Error::internal("EventBroker not configured"));
    }
    let namespaces = match namespace.as_str() {
        "*" => server.snapshot().state().namespaces().map(|n| n.name.clone()).collect(),
        _ => vec![namespace],
    };
    let mut beat = interval_at(tokio::time::Instant::now() + HEARTBEAT, HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let subscription = server.store().events().subscribe(u64::try_from(index).unwrap_or(0));
    let follower = Follower { subscription, topics, access, namespaces, beat, greeted: false };
    let lines = stream::unfold(follower, |mut f| async move {
        let line = f.line().await?;
        Some((Ok::<_, Infallible>(line), f))
    });
    Ok(Response::raw("application/json", Body::from_stream(lines)).header(header::CACHE_CONTROL, "no-cache"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use encamp_model::Deployment;

    #[test]
    fn topics_and_keys() {
        let topics = |q: &str| Topics::parse(&Query::parse(q));
        let event = |key: &str, filter: &str| {
            let deployment = Deployment { id: key.into(), job_id: filter.into(), ..Default::default() };
            Event { r#type: "PlanResult", payload: Payload::Deployment(Arc::new(deployment)) }
        };
        for (query, key, filter, want) in [
            ("", "d", "j", true),
            ("topic=Job", "d", "j", false),
            ("topic=Deployment", "d", "j", true),
            ("topic=Deployment:j", "d", "j", true),
            ("topic=Deployment:d", "d", "j", true),
            ("topic=Deployment:x&topic=*:d", "d", "j", true),
            ("topic=Deployment:x", "d", "j", false),
            ("topic=Deployment:x&topic=Deployment:*", "d", "j", true),
        ] {
            assert_eq!(topics(query).expect("topics").hold(&event(key, filter)), want, "{query}");
        }
        let error = topics("topic=a:b:c").unwrap_err().message;
        assert_eq!(error, "Invalid topic query: error parsing topics: Invalid key value pair for topic, topic: a:b:c");
    }
}
