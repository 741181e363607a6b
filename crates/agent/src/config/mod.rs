//! The configuration of an agent (`docs/spec/agent-config.md §2-§8`).
//!
//! Sources are merged in their raw form ([`SettingsFile`]) and then resolved to [`Config`], in which every default is
//! filled in. Order, later wins: defaults or those of `-dev`, files in order, flags, environment.
//!
//! - `decode`: tree to settings. `kinds`: kinds of settings and how they merge.
//! - `settings`: all settings. `client`, `server`, `audit`, `autoscaling`: the blocks. `load`: files and folders.
//! - `validate`: what is refused. `error`: why a configuration is refused.
//! - `addresses`: what to bind and advertise. `template`, `interfaces`: addresses by what they are.

pub mod addresses;
pub mod audit;
pub mod autoscaling;
pub mod client;
mod decode;
mod error;
pub mod interfaces;
pub mod kinds;
mod load;
pub mod server;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use error::reason;
pub use error::{
    InvalidAudit, InvalidAutoscaling, InvalidConfig, InvalidGroup, InvalidLogLevel, InvalidNotify, InvalidPorts,
    InvalidProvider, InvalidTelemetry, RefusedClient, RefusedServer, RefusedStart,
};
pub use load::{LoadError, Loaded, Sources, load, load_text};
pub use settings::{
    Addresses, AddressesFile, Advertise, AdvertiseFile, COMPATIBLE_VERSION, Config, Ports, PortsFile, Settings,
    SettingsFile,
};
pub use template::TemplateError;
pub use validate::{Finding, check_start, level, parse_ports, validate};
