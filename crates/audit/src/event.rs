//! A row of the audit log (`docs/spec/agent-config.md §5.13.3`).
//!
//! The names are those of Nomad Enterprise where it has them, so that existing queries find what they look for.

use std::collections::BTreeMap;

use encamp_model::Time;
use serde::Serialize;

/// The longest text of a row, in bytes: paths, names, errors. Callers choose most of them.
pub const LONGEST_TEXT: usize = 1024;
/// The version of the form of rows.
const VERSION: u32 = 1;

/// When in the course of an operation a row is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Stage {
    /// Before anything is carried out.
    OperationReceived,
    /// Before the answer is sent; of streams, before their beginning.
    OperationComplete,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 2] = [Stage::OperationReceived, Stage::OperationComplete];

    /// The name in rows and filters.
    pub fn name(self) -> &'static str {
        match self {
            Stage::OperationReceived => "OperationReceived",
            Stage::OperationComplete => "OperationComplete",
        }
    }
}

/// The kind of operation that a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadKind {
    /// A request of the HTTP API.
    Audit,
    /// What an operator does with the process of the agent: start, reload, stop.
    Agent,
}

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// There is no access control.
    #[default]
    AclDisabled,
    /// A request without a token.
    Anonymous,
    /// The owner of a stored token.
    Token,
    /// A task.
    Workload,
    /// A node.
    Node,
    /// The bearer of an introduction token for nodes.
    Introduction,
    /// The leader, which reads the usage of allocations.
    Leader,
    /// A caller that a server resolved for this agent, which is none.
    Remote,
    /// The token is not valid.
    Invalid,
    /// An operator of the host, by a signal or the command line.
    Host,
}

/// The caller of an operation. Empty texts are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Auth {
    /// What the caller is.
    pub r#type: AuthKind,
    /// The accessor of the token.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub accessor_id: String,
    /// The name of the token; of a remote caller, the name that the server gives it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `client` or `management`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token_type: String,
    /// Whether the token is valid in all regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global: Option<bool>,
    /// When the token was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_time: Option<Time>,
    /// The policies of the token.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// The node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_id: String,
    /// The allocation of the task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub allocation_id: String,
    /// The job of the task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job_id: String,
    /// The task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Why the token is not valid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub refused: String,
    /// The keyed hash of the secret ([`secrets`](crate::secrets)).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token_hmac: String,
}

/// A right that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The right, as the table of routes names it.
    pub right: String,
    /// What it is on; empty for the cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// Whether the caller has it.
    pub allowed: bool,
}

/// A namespace, in an object of its own as Nomad Enterprise has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NamespaceInfo {
    /// Its name.
    pub id: String,
}

/// Where a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequestMeta {
    /// Address and port of the caller. Of a forwarded request: as the agent says that forwarded it.
    pub remote_address: String,
    /// `User-Agent`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
    /// Whether another agent received the request and forwarded it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forwarded: bool,
}

/// The agent that writes the row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeMeta {
    /// The address of its HTTP interface.
    pub ip: String,
    /// Its name.
    pub name: String,
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequestInfo {
    /// The same in all rows about one request, also in those of other agents.
    pub id: String,
    /// The method, or what the operator does.
    pub operation: String,
    /// The path, without the query.
    pub endpoint: String,
    /// The route: the path with names in place of objects. Empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub route: String,
    /// The right that the route requires.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub right: String,
    /// The namespace of the query, `default` if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<NamespaceInfo>,
    /// The region of the query, or the agent's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The objects, by what they are: parameters of the path, some of the query, and what the body names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Where it comes from.
    pub request_meta: RequestMeta,
    /// The agent.
    pub node_meta: NodeMeta,
}

/// How it went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResponseInfo {
    /// The status of the answer.
    pub status_code: u16,
    /// Whether the caller was allowed to do it.
    pub allowed: bool,
    /// The rights that were checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The index of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Whether another agent answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forwarded: bool,
    /// From the arrival of the request, in milliseconds.
    pub duration_ms: u64,
}

/// What a row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payload {
    /// Of this row.
    pub id: String,
    /// When in the course of the operation.
    pub stage: Stage,
    /// The kind of operation.
    pub r#type: PayloadKind,
    /// When it was written.
    pub timestamp: Time,
    /// The version of the form.
    pub version: u32,
    /// Who.
    pub auth: Auth,
    /// What.
    pub request: RequestInfo,
    /// How it went; only of the last stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseInfo>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When it was written.
    pub created_at: Time,
    /// `audit`.
    pub event_type: &'static str,
    /// What it says.
    pub payload: Payload,
}

impl Event {
    /// A row of now. `id` is that of the row, `now` in Unix nanoseconds.
    pub fn new(
        kind: PayloadKind,
        id: String,
        now: i64,
        auth: Auth,
        request: RequestInfo,
        response: Option<ResponseInfo>,
    ) -> Event {
        let now = Time::from_unix_nanos(now);
        let stage = if response.is_some() { Stage::OperationComplete } else { Stage::OperationReceived };
        let payload = Payload { id, stage, r#type: kind, timestamp: now, version: VERSION, auth, request, response };
        Event { created_at: now, event_type: "audit", payload }
    }

    /// The row as a line of JSON with its newline. Texts are cut at [`LONGEST_TEXT`].
    pub fn line(mut self) -> Vec<u8> {
        self.cut();
        // Nothing in a row has no JSON form.
        let mut line = serde_json::to_vec(&self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    fn cut(&mut self) {
        let Payload { auth, request, response, .. } = &mut self.payload;
        let texts = [
            &mut auth.name,
            &mut auth.accessor_id,
            &mut auth.node_id,
            &mut auth.job_id,
            &mut auth.task,
            &mut request.operation,
            &mut request.endpoint,
            &mut request.region,
            &mut request.request_meta.user_agent,
            &mut request.request_meta.remote_address,
        ];
        texts.into_iter().for_each(cut);
        request.namespace.iter_mut().for_each(|n| cut(&mut n.id));
        request.parameters.values_mut().for_each(cut);
        if let Some(response) = response {
            cut(&mut response.error);
            response.decisions.iter_mut().for_each(|d| cut(&mut d.on));
        }
    }
}

/// Cuts a text at [`LONGEST_TEXT`], and says so.
fn cut(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
}
