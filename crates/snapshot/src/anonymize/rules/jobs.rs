//! Jobs.

use super::super::names::Kind;
use super::{HIDDEN, HIDE, JOB_META, Key, NETWORK, Rule, Table, WORDS};

/// Jobs.
pub(crate) static JOB: Table = Table {
    members: &[
        ("ID", Rule::JobId),
        ("ParentID", Rule::JobId),
        ("Name", Rule::JobId),
        ("Namespace", Rule::Name(Kind::Namespace)),
        ("Region", Rule::Name(Kind::Region)),
        ("Type", Rule::Word),
        ("Datacenters", Rule::Datacenters),
        ("NodePool", Rule::Name(Kind::Pool)),
        ("Constraints", Rule::Conditions),
        ("Affinities", Rule::Conditions),
        ("Spreads", Rule::Spreads),
        ("TaskGroups", Rule::In(&GROUP)),
        ("Update", Rule::In(&WORDS)),
        ("Multiregion", Rule::In(&MULTIREGION)),
        ("Periodic", Rule::In(&PERIODIC)),
        ("ParameterizedJob", Rule::In(&PARAMETERIZED)),
        ("Payload", Rule::Drop),
        ("Meta", JOB_META),
        ("NomadTokenID", Rule::Drop),
        ("DispatchIdempotencyToken", Rule::Drop),
        ("ConsulNamespace", Rule::Value),
        ("VaultNamespace", Rule::Value),
        ("Status", Rule::Word),
        ("StatusDescription", Rule::Drop),
        ("UI", Rule::Drop),
        ("VersionTag", Rule::Drop),
    ],
    other: Rule::Secret,
};

static MULTIREGION: Table =
    Table { members: &[("Strategy", Rule::In(&WORDS)), ("Regions", Rule::In(&REGION))], other: Rule::Drop };

static REGION: Table = Table {
    members: &[
        ("Name", Rule::Name(Kind::Region)),
        ("Datacenters", Rule::Datacenters),
        ("NodePool", Rule::Name(Kind::Pool)),
        ("Meta", JOB_META),
    ],
    other: Rule::Drop,
};

static PERIODIC: Table = Table {
    members: &[("Spec", Rule::Plain), ("Specs", Rule::Plain), ("SpecType", Rule::Word), ("TimeZone", Rule::Drop)],
    other: Rule::Drop,
};

static PARAMETERIZED: Table = Table {
    members: &[
        ("Payload", Rule::Word),
        ("MetaRequired", Rule::Name(Kind::Meta)),
        ("MetaOptional", Rule::Name(Kind::Meta)),
    ],
    other: Rule::Drop,
};

static GROUP: Table = Table {
    members: &[
        ("Name", Rule::Name(Kind::Group)),
        ("Update", Rule::In(&WORDS)),
        ("Migrate", Rule::In(&WORDS)),
        ("Constraints", Rule::Conditions),
        ("Affinities", Rule::Conditions),
        ("Spreads", Rule::Spreads),
        ("Scaling", Rule::In(&SCALING)),
        ("RestartPolicy", Rule::In(&WORDS)),
        ("ReschedulePolicy", Rule::In(&WORDS)),
        ("Disconnect", Rule::In(&WORDS)),
        ("Tasks", Rule::In(&TASK)),
        ("Meta", JOB_META),
        ("Networks", Rule::In(&NETWORK)),
        ("Consul", Rule::In(&CONSUL)),
        ("Services", Rule::In(&SERVICE)),
        ("Volumes", Rule::Map(Key::Name(Kind::Volume), &Rule::In(&VOLUME_REQUEST))),
    ],
    other: Rule::Secret,
};

static SCALING: Table = Table {
    members: &[("ID", Rule::Id), ("Type", Rule::Word), ("Target", Rule::Drop), ("Policy", Rule::Drop)],
    other: Rule::Drop,
};

static CONSUL: Table = Table {
    members: &[("Namespace", Rule::Value), ("Partition", Rule::Value), ("Cluster", Rule::Word)],
    other: Rule::Drop,
};

static VOLUME_REQUEST: Table = Table {
    members: &[
        ("Name", Rule::Name(Kind::Volume)),
        ("Source", Rule::Name(Kind::Volume)),
        ("Type", Rule::Word),
        ("AccessMode", Rule::Word),
        ("AttachmentMode", Rule::Word),
        ("MountOptions", Rule::In(&HIDE)),
    ],
    other: Rule::Drop,
};

static TASK: Table = Table {
    members: &[
        ("Name", Rule::Name(Kind::Task)),
        ("Driver", Rule::Word),
        ("Config", Rule::Free),
        ("Env", HIDDEN),
        ("Services", Rule::In(&SERVICE)),
        ("Vault", Rule::In(&VAULT)),
        ("Secrets", Rule::In(&SECRET)),
        ("Consul", Rule::In(&CONSUL)),
        ("Templates", Rule::In(&TEMPLATE)),
        ("Constraints", Rule::Conditions),
        ("Affinities", Rule::Conditions),
        ("Resources", Rule::In(&RESOURCES)),
        ("RestartPolicy", Rule::In(&WORDS)),
        ("Lifecycle", Rule::In(&WORDS)),
        ("Meta", JOB_META),
        ("Artifacts", Rule::In(&ARTIFACT)),
        ("VolumeMounts", Rule::In(&MOUNT)),
        ("ScalingPolicies", Rule::In(&SCALING)),
        ("KillSignal", Rule::Word),
        ("Kind", Rule::TaskKind),
        ("CSIPluginConfig", Rule::In(&CSI_PLUGIN)),
        ("Identity", Rule::In(&IDENTITY)),
        ("Identities", Rule::In(&IDENTITY)),
        ("Schedule", Rule::Drop),
    ],
    other: Rule::Secret,
};

static VAULT: Table = Table {
    members: &[("Cluster", Rule::Word), ("ChangeMode", Rule::Word), ("ChangeSignal", Rule::Word)],
    other: Rule::Secret,
};

static SECRET: Table =
    Table { members: &[("Provider", Rule::Word), ("Config", Rule::Free), ("Env", HIDDEN)], other: Rule::Secret };

static TEMPLATE: Table = Table {
    members: &[("ChangeMode", Rule::Word), ("ChangeSignal", Rule::Word), ("Perms", Rule::Plain)],
    other: Rule::Secret,
};

static ARTIFACT: Table = Table {
    members: &[("GetterOptions", HIDDEN), ("GetterHeaders", HIDDEN), ("GetterMode", Rule::Word)],
    other: Rule::Secret,
};

static MOUNT: Table =
    Table { members: &[("Volume", Rule::Name(Kind::Volume)), ("PropagationMode", Rule::Word)], other: Rule::Secret };

static CSI_PLUGIN: Table =
    Table { members: &[("ID", Rule::Name(Kind::Plugin)), ("Type", Rule::Word)], other: Rule::Secret };

/// Additions of servers to jobs.
pub(crate) static SERVER_SETTINGS: Table = Table {
    members: &[
        ("VaultDefaultIdentity", Rule::In(&IDENTITY)),
        ("ConsulServiceIdentity", Rule::In(&IDENTITY)),
        ("ConsulTaskIdentity", Rule::In(&IDENTITY)),
    ],
    other: Rule::Drop,
};

static IDENTITY: Table = Table {
    members: &[
        ("Name", Rule::Word),
        ("Audience", Rule::Word),
        ("ServiceName", Rule::Name(Kind::Service)),
        ("ChangeMode", Rule::Word),
        ("ChangeSignal", Rule::Word),
    ],
    other: Rule::Secret,
};

pub(super) static RESOURCES: Table = Table {
    members: &[("Networks", Rule::In(&NETWORK)), ("Devices", Rule::In(&REQUESTED_DEVICE)), ("NUMA", Rule::In(&NUMA))],
    other: Rule::Drop,
};

static REQUESTED_DEVICE: Table = Table {
    members: &[
        ("Name", Rule::Hardware),
        ("Constraints", Rule::DeviceConditions),
        ("Affinities", Rule::DeviceConditions),
    ],
    other: Rule::Drop,
};

static NUMA: Table = Table { members: &[("Affinity", Rule::Word), ("Devices", Rule::Hardware)], other: Rule::Drop };

static SERVICE: Table = Table {
    members: &[
        ("Name", Rule::Name(Kind::Service)),
        ("TaskName", Rule::Name(Kind::Task)),
        ("PortLabel", Rule::Name(Kind::Port)),
        ("AddressMode", Rule::Word),
        ("Provider", Rule::Word),
        ("Cluster", Rule::Word),
        ("Namespace", Rule::Value),
        ("OnUpdate", Rule::Word),
        ("Kind", Rule::Word),
        ("Checks", Rule::In(&CHECK)),
        ("Connect", Rule::In(&CONNECT)),
        ("Identity", Rule::In(&IDENTITY)),
        ("Meta", HIDDEN),
        ("CanaryMeta", HIDDEN),
        ("TaggedAddresses", HIDDEN),
    ],
    other: Rule::Secret,
};

static CHECK: Table = Table {
    members: &[
        ("TaskName", Rule::Name(Kind::Task)),
        ("PortLabel", Rule::Name(Kind::Port)),
        ("Type", Rule::Word),
        ("Protocol", Rule::Word),
        ("Method", Rule::Word),
        ("AddressMode", Rule::Word),
        ("InitialStatus", Rule::Word),
        ("OnUpdate", Rule::Word),
        ("Header", HIDDEN),
    ],
    other: Rule::Secret,
};

/// The service mesh: names of services and ports, everything else hidden.
static CONNECT: Table = Table {
    members: &[
        ("SidecarTask", Rule::In(&TASK)),
        ("Port", Rule::Name(Kind::Port)),
        ("ListenerPort", Rule::Name(Kind::Port)),
        ("SidecarService", Rule::In(&CONNECT)),
        ("Gateway", Rule::In(&CONNECT)),
        ("Proxy", Rule::In(&CONNECT)),
        ("Ingress", Rule::In(&CONNECT)),
        ("Terminating", Rule::In(&CONNECT)),
        ("Mesh", Rule::In(&CONNECT)),
        ("Upstreams", Rule::In(&CONNECT)),
        ("MeshGateway", Rule::In(&WORDS)),
        ("TransparentProxy", Rule::In(&CONNECT)),
        ("Expose", Rule::In(&CONNECT)),
        ("Paths", Rule::In(&CONNECT)),
        ("Listeners", Rule::In(&CONNECT)),
        ("Services", Rule::In(&CONNECT)),
        ("TLS", Rule::In(&CONNECT)),
        ("SDS", Rule::In(&CONNECT)),
        ("RequestHeaders", Rule::In(&CONNECT)),
        ("ResponseHeaders", Rule::In(&CONNECT)),
        ("Protocol", Rule::Word),
        ("Name", Rule::Name(Kind::Service)),
        ("DestinationName", Rule::Name(Kind::Service)),
        ("Config", Rule::Free),
        ("Meta", HIDDEN),
        ("Add", HIDDEN),
        ("Set", HIDDEN),
        ("EnvoyGatewayBindAddresses", Rule::Map(Key::Name(Kind::Key), &Rule::In(&CONNECT))),
        ("EnvoyDNSDiscoveryType", Rule::Word),
    ],
    other: Rule::Secret,
};
