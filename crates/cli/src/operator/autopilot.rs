//! `operator autopilot`: configuration and health of the servers (`docs/spec/cli.md §14`).

use serde_json::{Value, json};

use super::compact;
use crate::command::Run;
use crate::command_meta::{FlagErrorNote, Meta, Surplus};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::{self, list, text};
use crate::error::{CommandResult, ErrorContext};
use crate::flags::{InvalidFlag, parse_int};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::{Form, table};
use crate::tristate::Tristate;
use encamp_api::stream::RawRequest;
use encamp_api::{ApiError, Query};
use encamp_model::duration::parse_duration;
use encamp_model::format_duration;

/// The settings, in order of display.
const SETTINGS: [&str; 8] = [
    "CleanupDeadServers",
    "LastContactThreshold",
    "MaxTrailingLogs",
    "MinQuorum",
    "ServerStabilizationTime",
    "EnableRedundancyZones",
    "DisableUpgradeMigration",
    "EnableCustomUpgrades",
];
/// The members of the configuration as JSON on one line.
const COMPACT: [&str; 10] = [
    "LastContactThreshold",
    "ServerStabilizationTime",
    "CleanupDeadServers",
    "MaxTrailingLogs",
    "MinQuorum",
    "EnableRedundancyZones",
    "DisableUpgradeMigration",
    "EnableCustomUpgrades",
    "CreateIndex",
    "ModifyIndex",
];
/// The health of a server as JSON on one line.
const HEALTH: [&str; 12] = [
    "LastContact",
    "ID",
    "Name",
    "Address",
    "SerfStatus",
    "Version",
    "Leader",
    "LastTerm",
    "LastIndex",
    "Healthy",
    "Voter",
    "StableSince",
];

fn read(c: &Connection) -> CommandResult<Value> {
    let read = c.wait(c.client.autopilot_configuration());
    Ok(read.context("Error querying Autopilot configuration")?.0)
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
                context.ui.output(&compact(&config, &COMPACT));
                return Ok(0);
            }
            let lines = SETTINGS.map(|name| match config.get(name) {
                Some(Value::String(text)) => format!("{name} = {text}"),
                Some(value) => format!("{name} = {value}"),
                None => format!("{name} = "),
            });
            context.ui.output(&lines.join("\n"));
            Ok(0)
        })
    }
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
    /// Accepted for compatibility: the servers of a community cluster ignore it
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
        let changes = match self.changes() {
            Ok(changes) => changes,
            Err(e) => return context.flag_error(&e.to_string()),
        };
        context.connected(&self.general, |c, context| {
            let mut config = read(c)?;
            let index = config.get("ModifyIndex").and_then(Value::as_u64).unwrap_or(0);
            for (name, value) in changes {
                config[name] = value;
            }
            let done = c.wait(c.client.set_autopilot_configuration(&config, index));
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
    /// The settings that the flags change.
    fn changes(&self) -> Result<Vec<(&'static str, Value)>, InvalidFlag> {
        let mut changes = Vec::new();
        for (name, flag, value) in [
            ("CleanupDeadServers", "cleanup-dead-servers", &self.cleanup_dead_servers),
            ("EnableRedundancyZones", "enable-redundancy-zones", &self.enable_redundancy_zones),
            ("DisableUpgradeMigration", "disable-upgrade-migration", &self.disable_upgrade_migration),
            ("EnableCustomUpgrades", "enable-custom-upgrades", &self.enable_custom_upgrades),
        ] {
            changes.extend(Tristate::read(flag, value)?.given().map(|value| (name, json!(value))));
        }
        for (name, value) in [("MaxTrailingLogs", self.max_trailing_logs), ("MinQuorum", self.min_quorum)] {
            changes.extend(value.map(|value| (name, json!(value))));
        }
        for (name, value) in [
            ("LastContactThreshold", self.last_contact_threshold),
            ("ServerStabilizationTime", self.server_stabilization_time),
        ] {
            changes.extend(value.map(|value| (name, json!(format_duration(value)))));
        }
        Ok(changes)
    }
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
fn health(c: &Connection) -> Result<Value, ApiError> {
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
            (200 | 429, Ok(value)) => Ok(value),
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
            let text = if self.json { json_line(&health) } else { block(&health) };
            context.ui.output(&text);
            Ok(0)
        })
    }
}

fn json_line(health: &Value) -> String {
    let servers: Vec<String> = list(health, "Servers").iter().map(|server| compact(server, &HEALTH)).collect();
    let member = |name: &str| health.get(name).cloned().unwrap_or_default();
    format!(
        "{{\"Healthy\":{},\"FailureTolerance\":{},\"Servers\":[{}],\"Leader\":{},\"Voters\":{}}}",
        member("Healthy"),
        member("FailureTolerance"),
        servers.join(","),
        member("Leader"),
        member("Voters")
    )
}

fn block(health: &Value) -> String {
    let voters: String =
        list(health, "Voters").iter().filter_map(Value::as_str).map(|id| format!("\t{id}\n")).collect();
    let mut lines = vec![
        "ID|Name|Address|SerfStatus|Version|Leader|Voter|Healthy|LastContact|LastTerm|LastIndex|StableSince"
            .to_string(),
    ];
    lines.extend(list(health, "Servers").iter().map(|s| {
        let texts = ["ID", "Name", "Address", "SerfStatus", "Version"].map(|name| text(s, name).to_string());
        let truths = ["Leader", "Voter", "Healthy"].map(|name| data::flag(s, name).to_string());
        let numbers = ["LastTerm", "LastIndex"].map(|name| data::number(s, name).to_string());
        let since = text(s, "StableSince").replace('T', " ").replace('Z', " +0000 UTC");
        [texts.join("|"), truths.join("|"), text(s, "LastContact").into(), numbers.join("|"), since].join("|")
    }));
    format!(
        "Healthy: {}\nFailureTolerance: {}\nLeader: {}\nVoters:  \n{voters}Servers: \n{}\n",
        data::flag(health, "Healthy"),
        data::number(health, "FailureTolerance"),
        text(health, "Leader"),
        table(&lines, Form::List)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_shown_as_text_and_on_one_line() {
        let health = json!({
            "Healthy": true, "FailureTolerance": 0, "Leader": "a", "Voters": ["a"],
            "Servers": [{"ID": "a", "Name": "n", "Address": "x:1", "SerfStatus": "alive", "Version": "2", "Leader": true,
                "Voter": true, "Healthy": true, "LastContact": "0s", "LastTerm": 2, "LastIndex": 5,
                "StableSince": "2026-11-21T05:33:33Z"}],
        });
        let text = block(&health);
        assert!(
            text.starts_with("Healthy: true\nFailureTolerance: 0\nLeader: a\nVoters:  \n\ta\nServers: \nID  Name"),
            "{text}"
        );
        assert!(text.ends_with("2026-11-21 05:33:33 +0000 UTC\n"), "{text}");
        assert!(
            json_line(&health).starts_with(
                "{\"Healthy\":true,\"FailureTolerance\":0,\"Servers\":[{\"LastContact\":\"0s\",\"ID\":\"a\""
            )
        );
    }
}
