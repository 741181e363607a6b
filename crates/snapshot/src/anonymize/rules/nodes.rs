//! Nodes, node pools, namespaces, volumes.

use super::super::names::Kind;
use super::{KEEP, Key, META, NETWORK, NOTHING, Rule, Table, WORDS};

/// Nodes.
pub(crate) static NODE: Table = Table {
    members: &[
        ("ID", Rule::Id),
        ("Datacenter", Rule::Name(Kind::Datacenter)),
        ("Name", Rule::Name(Kind::Node)),
        ("Attributes", Rule::Attributes),
        ("NodeResources", Rule::In(&NODE_RESOURCES)),
        ("ReservedResources", Rule::In(&RESERVED)),
        ("Meta", META),
        ("NodeClass", Rule::Name(Kind::Class)),
        ("NodePool", Rule::Name(Kind::Pool)),
        ("ComputedClass", Rule::Keep), // recomputed
        ("DrainStrategy", Rule::In(&TIMES)),
        ("SchedulingEligibility", Rule::Word),
        ("Status", Rule::Word),
        ("Drivers", Rule::Map(Key::Word, &Rule::In(&NOTHING))),
        ("CSIControllerPlugins", Rule::Map(Key::Name(Kind::Plugin), &Rule::In(&PLUGIN))),
        ("CSINodePlugins", Rule::Map(Key::Name(Kind::Plugin), &Rule::In(&PLUGIN))),
        ("HostVolumes", Rule::Map(Key::Name(Kind::Volume), &Rule::In(&HOST_VOLUME_CONFIG))),
        ("LastDrain", Rule::Drop),
        ("Links", Rule::Drop),
        ("HostNetworks", Rule::Drop),
        ("Events", Rule::Drop),
    ],
    other: Rule::Drop,
};

static TIMES: Table = Table { members: &[("ForceDeadline", Rule::Keep), ("StartedAt", Rule::Keep)], other: Rule::Drop };

static NODE_RESOURCES: Table = Table {
    members: &[
        ("Processors", Rule::In(&KEEP)),
        ("Cpu", Rule::In(&KEEP)),
        ("Devices", Rule::In(&DEVICE)),
        ("NodeNetworks", Rule::In(&NODE_NETWORK)),
        ("Networks", Rule::In(&NETWORK)),
    ],
    other: Rule::Drop,
};

static RESERVED: Table =
    Table { members: &[("Networks", Rule::In(&RESERVED_PORTS)), ("Cpu", Rule::In(&KEEP))], other: Rule::Drop };

static RESERVED_PORTS: Table = Table { members: &[("ReservedHostPorts", Rule::Plain)], other: Rule::Drop };

// The name of hardware is no secret of its owner; the identity of the device is.
static DEVICE: Table = Table {
    members: &[
        ("Vendor", Rule::Keep),
        ("Type", Rule::Keep),
        ("Name", Rule::Keep),
        ("Attributes", Rule::Keep),
        ("Instances", Rule::In(&INSTANCE)),
    ],
    other: Rule::Drop,
};

static INSTANCE: Table = Table { members: &[("ID", Rule::Id)], other: Rule::Drop };

static NODE_NETWORK: Table = Table {
    members: &[("Mode", Rule::NetworkMode), ("Device", Rule::Value), ("Addresses", Rule::In(&NODE_ADDRESS))],
    other: Rule::Drop,
};

static NODE_ADDRESS: Table = Table {
    members: &[
        ("Family", Rule::Word),
        ("Alias", Rule::Value),
        ("Address", Rule::Address),
        ("ReservedPorts", Rule::Plain),
    ],
    other: Rule::Drop,
};

static PLUGIN: Table = Table {
    members: &[
        ("PluginID", Rule::Name(Kind::Plugin)),
        ("AllocID", Rule::Id),
        ("Provider", Rule::Name(Kind::Plugin)),
        ("ControllerInfo", Rule::In(&NOTHING)),
        ("NodeInfo", Rule::In(&PLUGIN_NODE)),
    ],
    other: Rule::Drop,
};

static PLUGIN_NODE: Table =
    Table { members: &[("ID", Rule::Value), ("AccessibleTopology", Rule::In(&TOPOLOGY))], other: Rule::Drop };

static TOPOLOGY: Table =
    Table { members: &[("Segments", Rule::Map(Key::Name(Kind::Key), &Rule::Value))], other: Rule::Drop };

static HOST_VOLUME_CONFIG: Table =
    Table { members: &[("Name", Rule::Name(Kind::Volume)), ("ID", Rule::Id)], other: Rule::Drop };

/// Node pools.
pub(crate) static POOL: Table = Table {
    members: &[("Name", Rule::Name(Kind::Pool)), ("Meta", META), ("SchedulerConfiguration", Rule::In(&CONFIGURATION))],
    other: Rule::Drop,
};

/// Scheduler configurations.
pub(crate) static CONFIGURATION: Table = Table {
    members: &[("SchedulerAlgorithm", Rule::Word), ("PreemptionConfig", Rule::In(&NOTHING))],
    other: Rule::Drop,
};

/// Namespaces.
pub(crate) static NAMESPACE: Table = Table {
    members: &[
        ("Name", Rule::Name(Kind::Namespace)),
        ("RequiredExtraClaims", Rule::Drop),
        ("OptionalExtraClaims", Rule::Drop),
        ("Capabilities", Rule::In(&WORDS)),
        ("NodePoolConfiguration", Rule::In(&POOLS)),
        ("VaultConfiguration", Rule::In(&WORDS)),
        ("ConsulConfiguration", Rule::In(&WORDS)),
        ("Meta", META),
    ],
    other: Rule::Drop,
};

static POOLS: Table = Table { members: &[], other: Rule::Name(Kind::Pool) };

/// Volumes of both kinds; what a CSI volume calls `ID` is a name, and what a host volume calls so is none.
pub(crate) static CSI_VOLUME: Table = Table {
    members: &[
        ("Type", Rule::Word),
        ("ID", Rule::Name(Kind::Volume)),
        ("Name", Rule::Name(Kind::Volume)),
        ("Namespace", Rule::Name(Kind::Namespace)),
        ("RequestedTopologies", Rule::In(&TOPOLOGIES)),
        ("Topologies", Rule::In(&TOPOLOGY)),
        ("AccessMode", Rule::Word),
        ("AttachmentMode", Rule::Word),
        ("RequestedCapabilities", Rule::In(&WORDS)),
        ("ReadAllocs", Rule::Map(Key::Id, &Rule::Drop)),
        ("WriteAllocs", Rule::Map(Key::Id, &Rule::Drop)),
        ("ReadClaims", Rule::Drop),
        ("WriteClaims", Rule::Drop),
        ("PastClaims", Rule::Drop),
        ("PluginID", Rule::Name(Kind::Plugin)),
        ("Provider", Rule::Name(Kind::Plugin)),
        ("Allocations", Rule::Drop),
        ("Secrets", Rule::Drop),
        ("Parameters", Rule::Drop),
        ("Context", Rule::Drop),
    ],
    other: Rule::Drop,
};

static TOPOLOGIES: Table =
    Table { members: &[("Required", Rule::In(&TOPOLOGY)), ("Preferred", Rule::In(&TOPOLOGY))], other: Rule::Drop };

/// Dynamic host volumes.
pub(crate) static HOST_VOLUME: Table = Table {
    members: &[
        ("Type", Rule::Word),
        ("ID", Rule::Id),
        ("Name", Rule::Name(Kind::Volume)),
        ("Namespace", Rule::Name(Kind::Namespace)),
        ("PluginID", Rule::Name(Kind::Plugin)),
        ("NodePool", Rule::Name(Kind::Pool)),
        ("NodeID", Rule::Id),
        ("Constraints", Rule::Conditions),
        ("RequestedCapabilities", Rule::In(&WORDS)),
        ("State", Rule::Word),
        ("Parameters", Rule::Drop),
        ("Allocations", Rule::Drop),
    ],
    other: Rule::Drop,
};

/// Claims on sticky volumes.
pub(crate) static CLAIM: Table = Table {
    members: &[
        ("ID", Rule::Id),
        ("Namespace", Rule::Name(Kind::Namespace)),
        ("JobID", Rule::JobId),
        ("TaskGroupName", Rule::Name(Kind::Group)),
        ("AllocID", Rule::Id),
        ("VolumeID", Rule::Id),
        ("VolumeName", Rule::Name(Kind::Volume)),
    ],
    other: Rule::Drop,
};
