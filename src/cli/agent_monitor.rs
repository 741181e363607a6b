//! `monitor`: the log of an agent, live (`docs/spec/cli.md §15.3`).

use super::command::Run;
use super::connection::Connection;
use super::context::Context;
use super::data::text;
use super::general::GeneralFlags;
use super::objects;
use super::render::styled::Styled;
use encamp_api::Query;
use encamp_api::stream::Event;

/// Follow the log of an agent
///
/// Prints what the agent asked logs, or that of a node or server, until it is interrupted.
#[derive(Debug, clap::Parser)]
pub struct Monitor {
    /// Least level of what is printed. Default: info
    #[arg(long, value_name = "level")]
    pub log_level: Option<String>,
    /// Tell where in the program each line was written
    #[arg(long)]
    pub log_include_location: bool,
    /// The log of this node
    #[arg(long, value_name = "id")]
    pub node_id: Option<String>,
    /// The log of this server, by name or ID; leader for the one that leads
    #[arg(long, value_name = "id")]
    pub server_id: Option<String>,
    /// Each line as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub general: GeneralFlags,
    #[arg(hide = true)]
    pub optional_args: Vec<String>,
}

impl Run for Monitor {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.optional_args.is_empty() {
            return context.usage_error("This command takes no arguments");
        }
        context.connected(&self.general, |c, context| self.follow(c, context))
    }
}

impl Monitor {
    fn query(&self, c: &Connection) -> Result<Query, String> {
        let mut query = Query::default();
        let given = |value: &Option<String>| value.clone().filter(|v| !v.is_empty());
        if let Some(level) = given(&self.log_level) {
            query = query.with("log_level", level);
        }
        query = query.with("log_json", self.json.to_string());
        query = query.with("log_include_location", self.log_include_location.to_string());
        if let Some(prefix) = given(&self.node_id) {
            if let Some(text) = objects::too_short(&prefix, "Node ID") {
                return Err(text);
            }
            query = query.with("node_id", text(&objects::node(c, &prefix, true, true)?, "ID"));
        }
        if let Some(server) = given(&self.server_id) {
            query = query.with("server_id", server);
        }
        Ok(query)
    }

    fn follow(&self, c: &Connection, context: &mut Context<'_, '_>) -> Result<u8, String> {
        let query = self.query(c)?;
        let failed = |e| format!("Error starting monitor: {e}");
        c.wait(async {
            let mut frames = c.client.frames("/v1/agent/monitor", &query).await.map_err(failed)?;
            let mut lines = LogLines::default();
            while let Some(event) = frames.next().await.map_err(failed)? {
                if let Event::Data(data) = event
                    && !context.ui.text(&lines.take(&data))
                {
                    return Ok(0);
                }
            }
            context.ui.text(&lines.rest());
            Ok(0)
        })
    }
}

/// Puts the pieces of a log together to lines: a piece may end inside of a character.
#[derive(Default)]
struct LogLines {
    partial: Vec<u8>,
}

impl LogLines {
    /// The lines that are complete with this piece.
    fn take(&mut self, piece: &[u8]) -> Styled {
        self.partial.extend_from_slice(piece);
        let end = self.partial.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let rest = self.partial.split_off(end);
        let complete = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&complete).into_owned().into()
    }

    /// What stands behind the last line end.
    fn rest(self) -> Styled {
        String::from_utf8_lossy(&self.partial).into_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_lines_without_control_characters() {
        let mut lines = LogLines::default();
        let got: Vec<String> = [&b"a\xc3"[..], b"\xbc\nb\x1b[2J\nc", b"d"]
            .iter()
            .map(|piece| lines.take(piece).as_str().to_string())
            .collect();
        assert_eq!(got, ["", "aü\nb\\x1b[2J\n", ""]);
        assert_eq!(lines.rest().as_str(), "cd");
    }
}
