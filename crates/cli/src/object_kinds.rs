//! The kinds of objects of a cluster that a word of a command line names: how they are listed, and what tells those of
//! a kind apart. Completion and the choice from a list read the same lists.

use serde_json::Value;

use super::data::{self, text};
use super::render::values;
use encamp_api::{ApiError, ApiObject, Client, Query};
use encamp_model::{AclAuthMethod, AclBindingRule, AclPolicy, AclRole, AclToken};

/// Objects of the cluster that a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    /// ACL policies, by name.
    AclPolicies,
    /// ACL roles, by ID.
    AclRoles,
    /// ACL roles, by name.
    AclRoleNames,
    /// ACL auth methods, by name.
    AclAuthMethods,
    /// ACL tokens, by accessor.
    AclTokens,
    /// ACL binding rules, by ID.
    AclBindingRules,
    /// Allocations, by ID.
    Allocations,
    /// CSI volumes, by ID.
    CsiVolumes,
    /// Deployments, by ID.
    Deployments,
    /// Evaluations, by ID.
    Evaluations,
    /// Jobs, by ID.
    Jobs,
    /// Namespaces, by name.
    Namespaces,
    /// Node pools, by name.
    NodePools,
    /// Nodes, by ID.
    Nodes,
    /// Parameterized jobs, by ID.
    ParameterizedJobs,
    /// Periodic jobs, by ID.
    PeriodicJobs,
    /// CSI plugins, by ID.
    Plugins,
    /// Variables, by path.
    Variables,
    /// Volumes, by ID.
    Volumes,
}

/// How objects are listed: where they come from, and the member that is the word.
pub(crate) struct Source {
    list: List,
    /// The member that is the word.
    pub(crate) word: &'static str,
    /// The members that describe an object.
    pub(crate) descriptions: &'static [&'static str],
}

/// A list of the API.
#[derive(Clone, Copy)]
enum List {
    /// Lists of this path, without parameters.
    All(&'static str),
    /// Lists of this path, with this prefix of the words.
    Rows(&'static str, Prefix),
    /// The jobs for which this filter holds.
    Jobs(&'static str),
    /// Lists of this path, one for each type.
    Typed(&'static str, &'static [&'static str]),
}

/// Which prefix a list takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// Any text.
    Text,
    /// The beginning of a UUID: an even number of digits.
    Uuid,
}

impl Prefix {
    /// The prefix for what is typed.
    fn of(self, typed: &str) -> &str {
        let even = |text: &str| text.chars().filter(char::is_ascii_hexdigit).count() % 2 == 0;
        match self {
            Prefix::Text => typed,
            Prefix::Uuid if even(typed) => typed,
            // The last digit is compared here.
            Prefix::Uuid => typed.get(..typed.len().saturating_sub(1)).unwrap_or_default(),
        }
    }
}

/// Which objects of a list are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Selection<'a> {
    /// The beginning of their words. Servers may return others too.
    pub(crate) prefix: &'a str,
    /// The largest number of objects of a response; `None` for all.
    pub(crate) most: Option<u32>,
    /// Their type, in lists of several types; `None` for all.
    pub(crate) of_type: Option<&'a str>,
}

/// The filter that selects parameterized jobs.
pub(crate) const PARAMETERIZED: &str = "ParentID == \"\" and ParameterizedJob is not nil";
/// The filter that selects periodic jobs.
pub(crate) const PERIODIC: &str = "Periodic is not nil";

const JOBS: &str = "/v1/jobs";
const VOLUMES: &str = "/v1/volumes";

impl Objects {
    /// Where the objects come from.
    pub(crate) fn source(self) -> Source {
        let rows = |list, word, descriptions| Source { list, word, descriptions };
        let source = |path, word, descriptions| rows(List::All(path), word, descriptions);
        let uuid = |path, descriptions| rows(List::Rows(path, Prefix::Uuid), "ID", descriptions);
        let jobs = |list| rows(list, "ID", &["Type", "Status"]);
        match self {
            Objects::Allocations => uuid("/v1/allocations", &["Name", "ClientStatus"]),
            Objects::Deployments => uuid("/v1/deployments", &["JobID", "Status"]),
            Objects::Evaluations => uuid("/v1/evaluations", &["JobID", "Status"]),
            Objects::Nodes => uuid("/v1/nodes", &["Name", "Status"]),
            Objects::Jobs => jobs(List::Rows(JOBS, Prefix::Text)),
            Objects::ParameterizedJobs => jobs(List::Jobs(PARAMETERIZED)),
            Objects::PeriodicJobs => jobs(List::Jobs(PERIODIC)),
            Objects::Namespaces => rows(List::Rows("/v1/namespaces", Prefix::Text), "Name", &["Description"]),
            Objects::NodePools => rows(List::Rows("/v1/node/pools", Prefix::Text), "Name", &["Description"]),
            Objects::Variables => rows(List::Rows("/v1/vars", Prefix::Text), "Path", &[]),
            Objects::Plugins => rows(List::Typed("/v1/plugins", &["csi"]), "ID", &["Provider"]),
            Objects::Volumes => rows(List::Typed(VOLUMES, &["host", "csi"]), "ID", &["Name"]),
            Objects::CsiVolumes => rows(List::Typed(VOLUMES, &["csi"]), "ID", &["Name"]),
            Objects::AclPolicies => source(AclPolicy::ALL, "Name", &["Description"]),
            Objects::AclRoles => source(AclRole::ALL, "ID", &["Name", "Description"]),
            Objects::AclRoleNames => source(AclRole::ALL, "Name", &["Description"]),
            Objects::AclAuthMethods => source(AclAuthMethod::ALL, "Name", &["Type"]),
            Objects::AclTokens => source(AclToken::ALL, "AccessorID", &["Name", "Type"]),
            Objects::AclBindingRules => source(AclBindingRule::ALL, "ID", &["AuthMethod", "Description"]),
        }
    }

    /// One of the objects, in messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Objects::AclPolicies => "policy",
            Objects::AclRoles | Objects::AclRoleNames => "role",
            Objects::AclAuthMethods => "auth method",
            Objects::AclTokens => "token",
            Objects::AclBindingRules => "binding rule",
            Objects::Allocations => "allocation",
            Objects::Deployments => "deployment",
            Objects::Evaluations => "evaluation",
            Objects::Jobs | Objects::ParameterizedJobs | Objects::PeriodicJobs => "job",
            Objects::Namespaces => "namespace",
            Objects::NodePools => "node pool",
            Objects::Nodes => "node",
            Objects::Plugins => "plugin",
            Objects::Variables => "variable",
            Objects::Volumes | Objects::CsiVolumes => "volume",
        }
    }

    /// The member that says more about an object than its word.
    pub(crate) fn detail(self) -> Option<&'static str> {
        match self {
            Objects::Jobs | Objects::ParameterizedJobs | Objects::PeriodicJobs | Objects::Variables => {
                Some("Namespace")
            }
            Objects::Deployments | Objects::Evaluations => Some("JobID"),
            Objects::Allocations | Objects::Nodes | Objects::Volumes | Objects::CsiVolumes => Some("Name"),
            Objects::AclRoles | Objects::AclTokens => Some("Name"),
            Objects::AclBindingRules => Some("AuthMethod"),
            Objects::AclPolicies
            | Objects::AclRoleNames
            | Objects::AclAuthMethods
            | Objects::Namespaces
            | Objects::NodePools
            | Objects::Plugins => None,
        }
    }

    /// The columns of a list to choose from. The first ones tell the objects apart best.
    pub(crate) fn columns(self) -> &'static [Column] {
        use Cell::{Age, Id, Text};
        const NAME: Column = Column("Name", Text("Name"));
        const DESCRIPTION: Column = Column("Description", Text("Description"));
        const STATUS: Column = Column("Status", Text("Status"));
        const JOB: Column = Column("Job", Text("JobID"));
        const ID: Column = Column("ID", Id("ID"));
        match self {
            Objects::Allocations => &[
                ID,
                NAME,
                Column("Status", Text("ClientStatus")),
                Column("Node", Text("NodeName")),
                Column("Created", Age("CreateTime")),
            ],
            Objects::Deployments => &[ID, JOB, STATUS, DESCRIPTION_OF_STATUS],
            Objects::Evaluations => {
                &[ID, JOB, STATUS, Column("Triggered By", Text("TriggeredBy")), Column("Created", Age("CreateTime"))]
            }
            Objects::Jobs | Objects::ParameterizedJobs | Objects::PeriodicJobs => &[
                Column("ID", Text("ID")),
                Column("Type", Text("Type")),
                STATUS,
                Column("Submitted", Age("SubmitTime")),
            ],
            Objects::Nodes => &[
                ID,
                NAME,
                STATUS,
                Column("Eligibility", Text("SchedulingEligibility")),
                Column("Datacenter", Text("Datacenter")),
                Column("Pool", Text("NodePool")),
            ],
            Objects::Variables => &[Column("Path", Text("Path")), Column("Modified", Age("ModifyTime"))],
            Objects::Plugins => &[ID, Column("Provider", Text("Provider"))],
            Objects::Volumes | Objects::CsiVolumes => &[ID, NAME, Column("Plugin", Text("PluginID"))],
            Objects::Namespaces | Objects::NodePools | Objects::AclPolicies | Objects::AclRoleNames => {
                &[NAME, DESCRIPTION]
            }
            Objects::AclRoles => &[ID, NAME, DESCRIPTION],
            Objects::AclAuthMethods => &[NAME, Column("Type", Text("Type"))],
            Objects::AclTokens => &[Column("Accessor ID", Id("AccessorID")), NAME, Column("Type", Text("Type"))],
            Objects::AclBindingRules => &[ID, Column("Auth Method", Text("AuthMethod")), DESCRIPTION],
        }
    }
}

const DESCRIPTION_OF_STATUS: Column = Column("Description", Cell::Text("StatusDescription"));

/// A column of a list to choose from: its heading, and what its cells show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column(pub(crate) &'static str, Cell);

/// What a cell shows of an object.
#[derive(Debug, Clone, Copy)]
enum Cell {
    /// The text of a member.
    Text(&'static str),
    /// The text of a member, the first eight digits of a UUID.
    Id(&'static str),
    /// The time since that of a member, Unix nanoseconds.
    Age(&'static str),
}

/// The length of a UUID.
const UUID: usize = 36;

impl Column {
    /// Whether it holds IDs, of which every digit matters.
    pub(crate) fn holds_ids(self) -> bool {
        matches!(self.1, Cell::Id(_))
    }

    /// The cell of an object; `now` in Unix nanoseconds.
    pub(crate) fn cell(self, row: &Value, now: i64) -> String {
        match self.1 {
            Cell::Text(member) => text(row, member).to_string(),
            Cell::Id(member) => {
                let full = text(row, member);
                values::id(full, full.len() != UUID).to_string()
            }
            Cell::Age(member) => values::age(data::number(row, member), now),
        }
    }
}

impl Source {
    /// The rows of the list.
    pub(crate) async fn read(&self, client: &Client, wanted: &Selection<'_>) -> Result<Vec<Value>, ApiError> {
        let rows = async |path, parameters: &[(&'static str, &str)]| {
            let mut query = Query::default();
            if let Some(most) = wanted.most {
                query = query.with("per_page", most.to_string());
            }
            for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
                query = query.with(name, *value);
            }
            client.rows::<Value>(path, &query).await.map(|(rows, _)| rows)
        };
        match self.list {
            List::All(path) => client.rows(path, &Query::default()).await.map(|(rows, _)| rows),
            List::Rows(path, prefix) => rows(path, &[("prefix", prefix.of(wanted.prefix))]).await,
            List::Jobs(filter) => rows(JOBS, &[("prefix", wanted.prefix), ("filter", filter)]).await,
            List::Typed(path, kinds) => {
                let mut all = Vec::new();
                for kind in kinds.iter().filter(|kind| wanted.of_type.is_none_or(|only| only == **kind)) {
                    all.extend(rows(path, &[("type", kind)]).await?);
                }
                Ok(all)
            }
        }
    }

    /// Sorts rows: those with UUIDs by create index, newest first; others by their word.
    pub(crate) fn sort(&self, rows: &mut [Value]) {
        match self.list {
            List::Rows(_, Prefix::Uuid) => data::newest_first(rows),
            _ => rows.sort_by(|a, b| text(a, self.word).cmp(text(b, self.word))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prefixes_of_uuids_are_even() {
        assert_eq!(Prefix::Uuid.of("abc"), "ab");
        assert_eq!(Prefix::Uuid.of("abcd"), "abcd");
        assert_eq!(Prefix::Uuid.of("0a1b2c3d-4"), "0a1b2c3d-");
        assert_eq!((Prefix::Uuid.of(""), Prefix::Text.of("abc")), ("", "abc"));
    }

    #[test]
    fn cells_show_short_ids_and_ages() {
        let alloc = json!({
            "ID": "aaaaaaaa-1111-2222-3333-444444444444", "Name": "web.g[0]", "ClientStatus": "running",
            "NodeName": "n1", "CreateTime": 1_000_000_000_i64,
        });
        let cells = |objects: Objects, row: &Value| {
            objects.columns().iter().map(|column| column.cell(row, 61_000_000_000)).collect::<Vec<_>>().join("|")
        };
        assert_eq!(cells(Objects::Allocations, &alloc), "aaaaaaaa|web.g[0]|running|n1|1m ago");
        assert_eq!(cells(Objects::Volumes, &json!({"ID": "database", "PluginID": "p"})), "database||p");
    }
}
