//! `operator metrics`: metrics of the agent (`docs/spec/cli.md §14`).

use serde_json::Value;

use crate::prelude::*;
use encamp_api::Query;

/// Retrieve the metrics of the contacted agent
///
/// Prints the latest metrics of the contacted agent.
#[derive(Debug, clap::Parser)]
pub struct OperatorMetrics {
    /// Format the JSON output with indentation
    #[arg(long)]
    pub pretty: bool,
    /// Output format: prometheus
    #[arg(long = "format", value_name = "format", add = CompleteWith::Words(&["prometheus"]))]
    pub kind: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for OperatorMetrics {
    const META: Meta = Meta::new("operator metrics").flag_error_note(FlagErrorNote::Flags).examples(&[
        ("Print the metrics of the contacted agent as JSON", "encamp operator metrics -pretty"),
        ("Print them in the format of Prometheus", "encamp operator metrics -format prometheus"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.optional_args.is_empty() {
            context.ui.error("This command takes no arguments");
            context.ui.error("For additional help try 'encamp metrics -help'");
            return 1;
        }
        context.connected(&self.general, |c, context| {
            let mut query = Query::default();
            if self.pretty {
                query = query.with("pretty", "true");
            }
            if let Some(format) = self.kind.as_deref().filter(|f| !f.is_empty()) {
                query = query.with("format", format);
            }
            let read = c.wait(c.client.bytes("/v1/metrics", &query));
            let bytes = read.context("Error querying metrics")?;
            if self.format.wanted()? {
                let value: Value = serde_json::from_slice(&bytes).context("Error formatting the data")?;
                return self.format.print(context.ui, &value, "*api.MetricsSummary");
            }
            context.ui.output(String::from_utf8_lossy(&bytes).trim_end_matches('\n'));
            Ok(0)
        })
    }
}
