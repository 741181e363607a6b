//! `operator autopilot`: configuration and health of the servers (`docs/spec/cli.md §14`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::typed;
use crate::flags::{InvalidFlag, parse_int};
use crate::prelude::*;
use crate::render::table::{self, Column};
use crate::tristate::Tristate;
use encamp_api::stream::RawRequest;
use encamp_api::{ApiError, Query};
use encamp_model::duration::parse_duration;
use encamp_model::format_duration;
use encamp_model::json::null_is_default;

/// The configuration. As JSON on one line, its members have this order.
#[null_is_default]
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Configuration {
    last_contact_threshold: String,
    server_stabilization_time: String,
    cleanup_dead_servers: bool,
    max_trailing_logs: i64,
    min_quorum: i64,
    enable_redundancy_zones: bool,
    disable_upgrade_migration: bool,
    enable_custom_upgrades: bool,
    create_index: u64,
    modify_index: u64,
    /// Members that only other servers know: a change leaves them as they are.
    #[serde(flatten)]
    other: Map<String, Value>,
}

fn read(c: &Connection) -> CommandResult<Configuration> {
    let read = c.wait(c.client.autopilot_configuration());
    typed(&read.context("Error querying Autopilot configuration")?.0)
}

/// Display the current Autopilot configuration
///
/// Shows the settings by which the leader monitors servers and removes failed ones.
#[derive(Debug, clap::Parser)]
pub struct AutopilotGetConfig {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AutopilotGetConfig {
    const META: Meta = Meta::new("operator autopilot get-config")
        .surplus(Surplus::Ignored)
        .flag_error_note(FlagErrorNote::Args)
        .examples(&[
            ("Show the Autopilot configuration", "encamp operator autopilot get-config"),
            ("Print it as JSON", "encamp operator autopilot get-config -json"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let config = read(c)?;
            if self.format.wanted()? {
                if !self.format.json {
                    return self.format.print(context.ui, &config, "*api.AutopilotConfiguration");
                }
                let known = Configuration { other: Map::new(), ..config };
                context.ui.output(&serde_json::to_string(&known).context("Error formatting the data")?);
                return Ok(0);
            }
            context.ui.output(&settings(&config));
            Ok(0)
        })
    }
}

/// The settings, one per line.
fn settings(config: &Configuration) -> String {
    let lines = [
        format!("CleanupDeadServers = {}", config.cleanup_dead_servers),
        format!("LastContactThreshold = {}", config.last_contact_threshold),
        format!("MaxTrailingLogs = {}", config.max_trailing_logs),
        format!("MinQuorum = {}", config.min_quorum),
        format!("ServerStabilizationTime = {}", config.server_stabilization_time),
        format!("EnableRedundancyZones = {}", config.enable_redundancy_zones),
        format!("DisableUpgradeMigration = {}", config.disable_upgrade_migration),
        format!("EnableCustomUpgrades = {}", config.enable_custom_upgrades),
    ];
    lines.join("\n")
}

/// Modify the current Autopilot configuration
///
/// Settings without a flag are not changed.
#[derive(Debug, clap::Parser)]
pub struct AutopilotSetConfig {
    /// Whether failed servers are removed when new servers join
    #[arg(long, value_name = "true|false")]
    pub cleanup_dead_servers: Option<String>,
    /// Maximum time since the last contact with the leader before a server is unhealthy
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub last_contact_threshold: Option<i64>,
    /// Maximum number of log entries that a healthy server may trail behind the leader
    #[arg(long, value_name = "n", value_parser = parse_int)]
    pub max_trailing_logs: Option<i64>,
    /// Minimum number of servers that must remain when failed servers are removed
    #[arg(long, value_name = "n", value_parser = parse_int)]
    pub min_quorum: Option<i64>,
    /// Time for which a new server must be healthy before it becomes a voter
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub server_stabilization_time: Option<i64>,
    /// Accepted for compatibility: the servers of a community cluster ignore it
    #[arg(long, value_name = "true|false")]
    pub enable_redundancy_zones: Option<String>,
    /// Keep the capability level of the cluster, so that servers can go back to an older build; Nomad ignores it
    #[arg(long, value_name = "true|false")]
    pub disable_upgrade_migration: Option<String>,
    /// Accepted for compatibility: the servers of a community cluster ignore it
    #[arg(long, value_name = "true|false")]
    pub enable_custom_upgrades: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AutopilotSetConfig {
    const META: Meta = Meta::new("operator autopilot set-config")
        .surplus(Surplus::Ignored)
        .flag_error_note(FlagErrorNote::Args)
        .examples(&[
            (
                "Do not remove failed servers automatically",
                "encamp operator autopilot set-config -cleanup-dead-servers=false",
            ),
            (
                "Tolerate servers that are slower to respond",
                "encamp operator autopilot set-config -last-contact-threshold=1s",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let switches = match self.switches() {
            Ok(switches) => switches,
            Err(e) => return context.flag_error(&e.to_string()),
        };
        context.connected(&self.general, |c, context| {
            let mut config = read(c)?;
            self.merge(switches, &mut config);
            let done = c.wait(c.client.set_autopilot_configuration(&config, config.modify_index));
            let (written, _) = done.context("Error setting Autopilot configuration")?;
            if !written {
                context.ui.output("Configuration could not be atomically updated, please try again");
                return Ok(1);
            }
            context.ui.output("Configuration updated!");
            Ok(0)
        })
    }
}

impl AutopilotSetConfig {
    /// The flags for settings that are true or false, in the order of the struct.
    fn switches(&self) -> Result<[Tristate; 4], InvalidFlag> {
        Ok([
            Tristate::read("cleanup-dead-servers", &self.cleanup_dead_servers)?,
            Tristate::read("enable-redundancy-zones", &self.enable_redundancy_zones)?,
            Tristate::read("disable-upgrade-migration", &self.disable_upgrade_migration)?,
            Tristate::read("enable-custom-upgrades", &self.enable_custom_upgrades)?,
        ])
    }

    /// Changes the settings that have a flag.
    fn merge(&self, [cleanup, zones, migration, upgrades]: [Tristate; 4], config: &mut Configuration) {
        cleanup.merge(&mut config.cleanup_dead_servers);
        zones.merge(&mut config.enable_redundancy_zones);
        migration.merge(&mut config.disable_upgrade_migration);
        upgrades.merge(&mut config.enable_custom_upgrades);
        config.max_trailing_logs = self.max_trailing_logs.unwrap_or(config.max_trailing_logs);
        config.min_quorum = self.min_quorum.unwrap_or(config.min_quorum);
        if let Some(threshold) = self.last_contact_threshold {
            config.last_contact_threshold = format_duration(threshold);
        }
        if let Some(time) = self.server_stabilization_time {
            config.server_stabilization_time = format_duration(time);
        }
    }
}

/// The health of the cluster. As JSON on one line, its members have this order.
#[null_is_default]
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Health {
    healthy: bool,
    failure_tolerance: i64,
    servers: Vec<ServerHealth>,
    leader: String,
    voters: Option<Vec<String>>,
    /// The capability level of the cluster; other servers tell none.
    #[serde(skip_serializing_if = "Option::is_none")]
    capability_level: Option<u32>,
}

/// The health of a server. As JSON on one line, its members have this order.
#[null_is_default]
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ServerHealth {
    last_contact: String,
    #[serde(rename = "ID")]
    id: String,
    name: String,
    address: String,
    serf_status: String,
    version: String,
    leader: bool,
    last_term: u64,
    last_index: u64,
    healthy: bool,
    voter: bool,
    stable_since: String,
    /// What the server supports, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    capability_level: Option<u32>,
}

/// Display the current Autopilot health
///
/// Shows whether the servers are healthy, and how many server failures the cluster tolerates.
#[derive(Debug, clap::Parser)]
pub struct AutopilotHealth {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// The health of the servers. An unhealthy cluster responds with status 429.
fn health(c: &Connection) -> Result<Health, ApiError> {
    c.wait(async {
        let request = RawRequest {
            path: "/v1/operator/autopilot/health".into(),
            query: Query::default(),
            ..RawRequest::default()
        };
        let mut stream = c.client.send(&request, false).await?;
        let mut bytes = Vec::new();
        while let Some(more) = stream.next().await? {
            bytes.extend_from_slice(&more);
        }
        match (stream.status(), serde_json::from_slice(&bytes)) {
            (200 | 429, Ok(health)) => Ok(health),
            (status, _) => Err(ApiError::Status { status, body: String::from_utf8_lossy(&bytes).into_owned() }),
        }
    })
}

impl Run for AutopilotHealth {
    const META: Meta = Meta::new("operator autopilot health")
        .surplus(Surplus::Ignored)
        .flag_error_note(FlagErrorNote::Args)
        .examples(&[
            ("Show the health of the servers", "encamp operator autopilot health"),
            ("Print it as JSON", "encamp operator autopilot health -json"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let health = health(c).context("Error querying Autopilot health")?;
            let text = match self.json {
                true => serde_json::to_string(&health).context("Error formatting the data")?,
                false => block(&health),
            };
            context.ui.output(&text);
            Ok(0)
        })
    }
}

fn block(health: &Health) -> String {
    let voters: String = health.voters.iter().flatten().map(|id| format!("\t{id}\n")).collect();
    let mut columns: Vec<Column<'_, ServerHealth>> = vec![
        ("ID", &|s| s.id.clone()),
        ("Name", &|s| s.name.clone()),
        ("Address", &|s| s.address.clone()),
        ("SerfStatus", &|s| s.serf_status.clone()),
        ("Version", &|s| s.version.clone()),
        ("Leader", &|s| s.leader.to_string()),
        ("Voter", &|s| s.voter.to_string()),
        ("Healthy", &|s| s.healthy.to_string()),
        ("LastContact", &|s| s.last_contact.clone()),
        ("LastTerm", &|s| s.last_term.to_string()),
        ("LastIndex", &|s| s.last_index.to_string()),
        ("StableSince", &|s| s.stable_since.replace('T', " ").replace('Z', " +0000 UTC")),
    ];
    let Health { healthy, failure_tolerance, leader, .. } = health;
    let level = health.capability_level.map(|level| format!("CapabilityLevel: {level}\n")).unwrap_or_default();
    if health.capability_level.is_some() {
        columns.push(("CapabilityLevel", &|s| s.capability_level.map_or("-".into(), |level| level.to_string())));
    }
    let servers = table::columns(&health.servers, &columns);
    format!(
        "Healthy: {healthy}\nFailureTolerance: {failure_tolerance}\n{level}Leader: {leader}\nVoters:  \n{voters}\
         Servers: \n{servers}\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn health_is_shown_as_text_and_on_one_line() {
        let health = json!({
            "Healthy": true, "FailureTolerance": 0, "Leader": "a", "Voters": ["a"],
            "Servers": [{"ID": "a", "Name": "n", "Address": "x:1", "SerfStatus": "alive", "Version": "2", "Leader": true,
                "Voter": true, "Healthy": true, "LastContact": "0s", "LastTerm": 2, "LastIndex": 5,
                "StableSince": "2026-11-21T05:33:33Z"}],
        });
        let health: Health = serde_json::from_value(health).expect("the health");
        let text = block(&health);
        assert!(
            text.starts_with("Healthy: true\nFailureTolerance: 0\nLeader: a\nVoters:  \n\ta\nServers: \nID  Name"),
            "{text}"
        );
        assert!(text.ends_with("2026-11-21 05:33:33 +0000 UTC\n"), "{text}");
        let line = serde_json::to_string(&health).expect("JSON");
        let start = r#"{"Healthy":true,"FailureTolerance":0,"Servers":[{"LastContact":"0s","ID":"a""#;
        assert!(line.starts_with(start), "{line}");
    }
}
