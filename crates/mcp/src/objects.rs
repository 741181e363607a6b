//! What is told about objects of the API: the members that are listed here, and no others, so that definitions of tasks
//! with their environment, templates and arguments stay where they are.

use serde_json::{Map, Value};

use crate::conceal::Conceal;

/// A kind of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Jobs.
    Job,
    /// Allocations.
    Allocation,
    /// Nodes.
    Node,
    /// Evaluations.
    Evaluation,
    /// Deployments.
    Deployment,
}

/// A member of an object, and what is told of it.
#[derive(Debug, Clone, Copy)]
pub struct Member(&'static str, Told);

/// What is told of a value.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// All of it. It holds nothing that a person wrote who runs a task.
    All,
    /// Names with values that may be secret.
    Values,
    /// The members of an object, or of each object of a list.
    Members(&'static [Member]),
    /// The members of each value of an object.
    Each(&'static [Member]),
    /// The members of the last five objects of a list.
    Last(&'static [Member]),
}

use Told::{All, Each, Last, Members, Values};

const METRICS: &[Member] = &[
    Member("NodesEvaluated", All),
    Member("NodesFiltered", All),
    Member("NodesInPool", All),
    Member("NodesAvailable", All),
    Member("ClassFiltered", All),
    Member("ConstraintFiltered", All),
    Member("NodesExhausted", All),
    Member("ClassExhausted", All),
    Member("DimensionExhausted", All),
    Member("QuotaExhausted", All),
    Member("CoalescedFailures", All),
];
const CONSTRAINTS: &[Member] = &[Member("LTarget", All), Member("Operand", All), Member("RTarget", All)];
const RESOURCES: &[Member] = &[
    Member("CPU", All),
    Member("Cores", All),
    Member("MemoryMB", All),
    Member("MemoryMaxMB", All),
    Member("Devices", Members(&[Member("Name", All), Member("Count", All)])),
];
const TASK: &[Member] = &[
    Member("Name", All),
    Member("Driver", All),
    Member("Config", Members(&[Member("image", All), Member("command", All)])),
    Member("Constraints", Members(CONSTRAINTS)),
    Member("Resources", Members(RESOURCES)),
    Member("Lifecycle", All),
];
const GROUP: &[Member] = &[
    Member("Name", All),
    Member("Count", All),
    Member("Constraints", Members(CONSTRAINTS)),
    Member("Affinities", Members(CONSTRAINTS)),
    Member("Spreads", Members(&[Member("Attribute", All), Member("Weight", All), Member("SpreadTarget", All)])),
    Member("Networks", Members(&[Member("Mode", All), Member("ReservedPorts", All), Member("DynamicPorts", All)])),
    Member("Volumes", Each(&[Member("Type", All), Member("Source", All), Member("ReadOnly", All)])),
    Member("Update", All),
    Member("Scaling", Members(&[Member("Min", All), Member("Max", All), Member("Enabled", All)])),
    Member("Tasks", Members(TASK)),
];
const JOB: &[Member] = &[
    Member("ID", All),
    Member("Namespace", All),
    Member("Type", All),
    Member("Status", All),
    Member("StatusDescription", All),
    Member("Stop", All),
    Member("Priority", All),
    Member("Datacenters", All),
    Member("NodePool", All),
    Member("Version", All),
    Member("Stable", All),
    Member("SubmitTime", All),
    Member("Periodic", Members(&[Member("Enabled", All), Member("Spec", All), Member("ProhibitOverlap", All)])),
    Member("ParameterizedJob", Members(&[Member("MetaRequired", All), Member("MetaOptional", All)])),
    Member("Constraints", Members(CONSTRAINTS)),
    Member("Affinities", Members(CONSTRAINTS)),
    Member("TaskGroups", Members(GROUP)),
];
const JOB_ROW: &[Member] = &[
    Member("ID", All),
    Member("Namespace", All),
    Member("Type", All),
    Member("Status", All),
    Member("Stop", All),
    Member("Priority", All),
    Member("SubmitTime", All),
    Member("JobSummary", Members(SUMMARY)),
];
/// The members of the summary of a job.
pub const SUMMARY: &[Member] = &[Member(
    "Summary",
    Each(&[
        Member("Queued", All),
        Member("Starting", All),
        Member("Running", All),
        Member("Complete", All),
        Member("Failed", All),
        Member("Lost", All),
        Member("Unknown", All),
    ]),
)];
const ALLOCATION: &[Member] = &[
    Member("ID", All),
    Member("Name", All),
    Member("Namespace", All),
    Member("JobID", All),
    Member("JobVersion", All),
    Member("TaskGroup", All),
    Member("NodeID", All),
    Member("NodeName", All),
    Member("DesiredStatus", All),
    Member("DesiredDescription", All),
    Member("ClientStatus", All),
    Member("ClientDescription", All),
    Member("DeploymentID", All),
    Member("DeploymentStatus", All),
    Member("EvalID", All),
    Member("FollowupEvalID", All),
    Member("PreviousAllocation", All),
    Member("NextAllocation", All),
    Member("PreemptedByAllocation", All),
    Member("CreateTime", All),
    Member("ModifyTime", All),
    Member("Metrics", Members(METRICS)),
    Member("TaskStates", Each(TASK_STATE)),
];
const TASK_STATE: &[Member] = &[
    Member("State", All),
    Member("Failed", All),
    Member("Restarts", All),
    Member("StartedAt", All),
    Member("FinishedAt", All),
    Member("Events", Last(&[Member("Type", All), Member("Time", All), Member("DisplayMessage", All)])),
];
const ALLOCATION_ROW: &[Member] = &[
    Member("ID", All),
    Member("Name", All),
    Member("Namespace", All),
    Member("JobID", All),
    Member("JobVersion", All),
    Member("TaskGroup", All),
    Member("NodeName", All),
    Member("DesiredStatus", All),
    Member("ClientStatus", All),
    Member("ModifyTime", All),
];
const NODE: &[Member] = &[
    Member("ID", All),
    Member("Name", All),
    Member("Datacenter", All),
    Member("NodePool", All),
    Member("NodeClass", All),
    Member("Status", All),
    Member("StatusDescription", All),
    Member("SchedulingEligibility", All),
    Member("Drain", All),
    Member("DrainStrategy", All),
    Member("Meta", Values),
    Member("Drivers", Each(&[Member("Detected", All), Member("Healthy", All), Member("HealthDescription", All)])),
    Member("HostVolumes", Each(&[Member("ReadOnly", All)])),
    Member("NodeResources", Members(NODE_RESOURCES)),
    Member("Events", Last(&[Member("Message", All), Member("Subsystem", All), Member("Timestamp", All)])),
];
const NODE_RESOURCES: &[Member] = &[
    Member("Cpu", Members(&[Member("CpuShares", All), Member("TotalCpuCores", All)])),
    Member("Memory", All),
    Member("Disk", All),
    Member("Devices", Members(&[Member("Vendor", All), Member("Type", All), Member("Name", All)])),
];
const NODE_ROW: &[Member] = &[
    Member("ID", All),
    Member("Name", All),
    Member("Datacenter", All),
    Member("NodePool", All),
    Member("NodeClass", All),
    Member("Status", All),
    Member("SchedulingEligibility", All),
    Member("Drain", All),
    Member("Version", All),
];
const EVALUATION: &[Member] = &[
    Member("ID", All),
    Member("Namespace", All),
    Member("Type", All),
    Member("Priority", All),
    Member("TriggeredBy", All),
    Member("JobID", All),
    Member("NodeID", All),
    Member("DeploymentID", All),
    Member("Status", All),
    Member("StatusDescription", All),
    Member("BlockedEval", All),
    Member("PreviousEval", All),
    Member("NextEval", All),
    Member("QueuedAllocations", All),
    Member("FailedTGAllocs", Each(METRICS)),
    Member("CreateTime", All),
    Member("ModifyTime", All),
];
const EVALUATION_ROW: &[Member] = &[
    Member("ID", All),
    Member("Namespace", All),
    Member("JobID", All),
    Member("Type", All),
    Member("TriggeredBy", All),
    Member("Status", All),
    Member("QueuedAllocations", All),
    Member("CreateTime", All),
];
const DEPLOYMENT: &[Member] = &[
    Member("ID", All),
    Member("Namespace", All),
    Member("JobID", All),
    Member("JobVersion", All),
    Member("Status", All),
    Member("StatusDescription", All),
    Member("TaskGroups", All),
    Member("CreateTime", All),
    Member("ModifyTime", All),
];

impl Kind {
    /// The word for one object.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Job => "job",
            Kind::Allocation => "allocation",
            Kind::Node => "node",
            Kind::Evaluation => "evaluation",
            Kind::Deployment => "deployment",
        }
    }

    /// The path of the API that lists them.
    pub fn list(self) -> &'static str {
        match self {
            Kind::Job => "/v1/jobs",
            Kind::Allocation => "/v1/allocations",
            Kind::Node => "/v1/nodes",
            Kind::Evaluation => "/v1/evaluations",
            Kind::Deployment => "/v1/deployments",
        }
    }

    /// The member of its rows with the state.
    pub fn status(self) -> &'static str {
        if self == Kind::Allocation { "ClientStatus" } else { "Status" }
    }

    fn members(self) -> &'static [Member] {
        match self {
            Kind::Job => JOB,
            Kind::Allocation => ALLOCATION,
            Kind::Node => NODE,
            Kind::Evaluation => EVALUATION,
            Kind::Deployment => DEPLOYMENT,
        }
    }

    fn row(self) -> &'static [Member] {
        match self {
            Kind::Job => JOB_ROW,
            Kind::Allocation => ALLOCATION_ROW,
            Kind::Node => NODE_ROW,
            Kind::Evaluation => EVALUATION_ROW,
            Kind::Deployment => DEPLOYMENT,
        }
    }

    /// What is told of an object.
    pub fn told(self, object: &Value, conceal: &Conceal) -> Value {
        told(object, self.members(), conceal)
    }

    /// What is told of an object in a list.
    pub fn told_in_list(self, object: &Value, conceal: &Conceal) -> Value {
        told(object, self.row(), conceal)
    }
}

/// The members of an object, without those that are empty.
pub fn told(object: &Value, members: &[Member], conceal: &Conceal) -> Value {
    let mut out = Map::new();
    for Member(name, what) in members {
        let Some(value) = object.get(name) else { continue };
        let value = part(value, *what, conceal);
        if !is_empty(&value) {
            out.insert((*name).into(), value);
        }
    }
    Value::Object(out)
}

fn part(value: &Value, what: Told, conceal: &Conceal) -> Value {
    match (what, value) {
        (All, Value::String(text)) => conceal.value("", text).into(),
        (All, _) => value.clone(),
        (Values, Value::Object(values)) => {
            let shown = values.iter().map(|(name, value)| {
                let text = value.as_str().unwrap_or_default();
                (name.clone(), Value::from(conceal.value(name, text)))
            });
            Value::Object(shown.collect())
        }
        (Members(members), Value::Array(list)) => list.iter().map(|v| told(v, members, conceal)).collect(),
        (Members(members), Value::Object(_)) => told(value, members, conceal),
        (Each(members), Value::Object(values)) => {
            Value::Object(values.iter().map(|(name, v)| (name.clone(), told(v, members, conceal))).collect())
        }
        (Last(members), Value::Array(list)) => {
            let first = list.len().saturating_sub(5);
            list.iter().skip(first).map(|v| told(v, members, conceal)).collect()
        }
        _ => Value::Null,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_of_tasks_are_not_told() {
        let conceal = Conceal::new(Vec::new()).expect("expressions");
        let job = json!({"ID": "web", "Meta": {"a": "hunter1"}, "TaskGroups": [{"Name": "g", "Count": 2, "Tasks": [{
            "Name": "t", "Driver": "docker", "Env": {"A": "hunter2"}, "Templates": [{"EmbeddedTmpl": "hunter3"}],
            "Config": {"image": "web:1", "args": ["hunter4"], "auth": {"password": "hunter5"}}}]}]});
        let told = Kind::Job.told(&job, &conceal);
        assert!(!told.to_string().contains("hunter"), "{told}");
        assert_eq!(told["TaskGroups"][0]["Tasks"][0]["Config"], json!({"image": "web:1"}));
        let node = json!({"ID": "n", "SecretID": "hunter6", "Meta": {"rack": "r1", "api_token": "hunter7"},
            "Events": [{"Message": "a"}, {"Message": "b"}, {"Message": "c"}, {"Message": "d"}, {"Message": "e"},
                {"Message": "f"}]});
        let told = Kind::Node.told(&node, &conceal);
        assert!(!told.to_string().contains("hunter"), "{told}");
        assert_eq!((&told["Meta"]["rack"], &told["Events"][0]["Message"]), (&json!("r1"), &json!("b")));
    }
}
