//! Allocations and deployments.

use super::super::names::Kind;
use super::jobs::RESOURCES;
use super::{KEEP, Key, NETWORK, NOTHING, PORT, Rule, Table, WORDS};

/// Allocations.
pub(crate) static ALLOCATION: Table = Table {
    members: &[
        ("ID", Rule::Id),
        ("Namespace", Rule::Name(Kind::Namespace)),
        ("EvalID", Rule::Id),
        ("Name", Rule::Keep), // replaced with the job's and the group's
        ("NodeID", Rule::Id),
        ("NodeName", Rule::Name(Kind::Node)),
        ("JobID", Rule::JobId),
        ("Job", Rule::Job),
        ("TaskGroup", Rule::Name(Kind::Group)),
        ("Resources", Rule::In(&RESOURCES)),
        ("SharedResources", Rule::In(&RESOURCES)),
        ("TaskResources", Rule::Map(Key::Name(Kind::Task), &Rule::In(&RESOURCES))),
        ("AllocatedResources", Rule::In(&ALLOCATED)),
        ("DesiredStatus", Rule::Word),
        ("DesiredTransition", Rule::In(&NOTHING)),
        ("ClientStatus", Rule::Word),
        ("TaskStates", Rule::Map(Key::Name(Kind::Task), &Rule::In(&TASK_STATE))),
        ("AllocStates", Rule::In(&ALLOC_STATE)),
        ("PreviousAllocation", Rule::Id),
        ("NextAllocation", Rule::Id),
        ("DeploymentID", Rule::Id),
        ("DeploymentStatus", Rule::In(&STAMPED)),
        ("RescheduleTracker", Rule::In(&TRACKER)),
        ("FollowupEvalID", Rule::Id),
        ("PreemptedAllocations", Rule::Id),
        ("PreemptedByAllocation", Rule::Id),
        ("Metrics", Rule::Drop),
        ("NetworkStatus", Rule::Drop),
        ("SigningKeyID", Rule::Drop),
    ],
    other: Rule::Drop,
};

static ALLOCATED: Table = Table {
    members: &[
        ("Tasks", Rule::Map(Key::Name(Kind::Task), &Rule::In(&ALLOCATED_TASK))),
        ("TaskLifecycles", Rule::Map(Key::Name(Kind::Task), &Rule::In(&WORDS))),
        ("Shared", Rule::In(&ALLOCATED_SHARED)),
    ],
    other: Rule::Drop,
};

static ALLOCATED_TASK: Table = Table {
    members: &[("Cpu", Rule::In(&KEEP)), ("Networks", Rule::In(&NETWORK)), ("Devices", Rule::In(&ALLOCATED_DEVICE))],
    other: Rule::Drop,
};

static ALLOCATED_DEVICE: Table = Table {
    members: &[("Vendor", Rule::Hardware), ("Type", Rule::Hardware), ("Name", Rule::Hardware), ("DeviceIDs", Rule::Id)],
    other: Rule::Drop,
};

static ALLOCATED_SHARED: Table =
    Table { members: &[("Networks", Rule::In(&NETWORK)), ("Ports", Rule::In(&PORT))], other: Rule::Drop };

static TASK_STATE: Table = Table {
    members: &[
        ("State", Rule::Word),
        ("LastRestart", Rule::Keep),
        ("StartedAt", Rule::Keep),
        ("FinishedAt", Rule::Keep),
        ("Paused", Rule::Word),
        ("Events", Rule::Drop),
    ],
    other: Rule::Drop,
};

static ALLOC_STATE: Table = Table { members: &[("Value", Rule::Word), ("Time", Rule::Keep)], other: Rule::Drop };

static STAMPED: Table = Table { members: &[("Timestamp", Rule::Keep)], other: Rule::Drop };

static TRACKER: Table =
    Table { members: &[("Events", Rule::In(&RESCHEDULED)), ("LastReschedule", Rule::Word)], other: Rule::Drop };

static RESCHEDULED: Table =
    Table { members: &[("PrevAllocID", Rule::Id), ("PrevNodeID", Rule::Id)], other: Rule::Drop };

/// Deployments.
pub(crate) static DEPLOYMENT: Table = Table {
    members: &[
        ("ID", Rule::Id),
        ("Namespace", Rule::Name(Kind::Namespace)),
        ("JobID", Rule::JobId),
        ("TaskGroups", Rule::Map(Key::Name(Kind::Group), &Rule::In(&DEPLOYMENT_GROUP))),
        ("Status", Rule::Word),
    ],
    other: Rule::Drop,
};

static DEPLOYMENT_GROUP: Table =
    Table { members: &[("RequireProgressBy", Rule::Keep), ("PlacedCanaries", Rule::Id)], other: Rule::Drop };
