//! `agent-info`: runtime statistics of the agent (`docs/spec/cli.md §15.3`).

use serde_json::Value;

use super::data::typed;
use super::prelude::*;
use encamp_api::types::AgentSelf;

/// Display statistics of the contacted agent
///
/// Shows the state and the counters of the components of the contacted agent.
#[derive(Debug, clap::Parser)]
pub struct AgentInfo {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AgentInfo {
    const META: Meta = Meta::new("agent-info").flag_error_note(FlagErrorNote::Flags).examples(&[
        ("Show the statistics of the contacted agent", "encamp agent-info"),
        ("Print them as JSON", "encamp agent-info -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let (info, _) = c.wait(c.client.agent_self()).context("Error querying agent info")?;
            if self.format.wanted()? {
                return self.format.print(context.ui, &info, "*api.AgentSelf");
            }
            context.ui.output(&stats(&typed(&info)?));
            Ok(0)
        })
    }
}

/// Formats the statistics: the name of each group, followed by its values.
fn stats(agent: &AgentSelf) -> String {
    let mut lines = Vec::new();
    for (group, members) in &agent.stats {
        lines.push(group.clone());
        lines.extend(members.iter().map(|(name, value)| match value {
            Value::String(text) => format!("  {name} = {text}"),
            other => format!("  {name} = {other}"),
        }));
    }
    lines.join("\n")
}
