//! Reading and printing the logs of agents (`docs/spec/cli.md §15.3`).

use super::completion::values::{CompleteWith, Objects};
use super::connection::Connection;
use super::context::Context;
use super::error::{CommandResult, ErrorContext};
use super::objects;
use super::render::styled::Styled;
use encamp_api::Query;
use encamp_api::stream::Event;

/// The agent whose log is read: the contacted agent, unless one of these flags is given.
#[derive(Debug, clap::Args)]
pub struct AgentFlags {
    /// Read the log of this node
    #[arg(long, value_name = "id", add = CompleteWith::Live(Objects::Nodes))]
    pub node_id: Option<String>,
    /// Read the log of this server, given by name or ID, or leader for the current leader
    #[arg(long, value_name = "id", add = CompleteWith::Words(&["leader"]))]
    pub server_id: Option<String>,
}

/// The value of a flag; an empty value counts as not given.
pub(super) fn given(flag: &Option<String>) -> Option<String> {
    flag.clone().filter(|value| !value.is_empty())
}

impl AgentFlags {
    /// Adds the agent whose log is read to a query.
    pub(super) fn add_to(&self, mut query: Query, c: &Connection) -> CommandResult<Query> {
        if let Some(prefix) = given(&self.node_id) {
            objects::long_enough(&prefix, "Node ID")?;
            query = query.with("node_id", objects::node(c, &prefix, true, true)?);
        }
        if let Some(server) = given(&self.server_id) {
            query = query.with("server_id", server);
        }
        Ok(query)
    }
}

/// Prints the lines of a log until it ends.
pub(super) fn print(path: &str, query: &Query, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
    const FAILED: &str = "Error starting monitor";
    c.wait(async {
        let mut frames = c.client.frames(path, query).await.context(FAILED)?;
        let mut lines = LogLines::default();
        while let Some(event) = frames.next().await.context(FAILED)? {
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

/// Assembles the chunks of a log to lines: a chunk may end inside of a character.
#[derive(Default)]
struct LogLines {
    partial: Vec<u8>,
}

impl LogLines {
    /// Returns the lines that this chunk completes.
    fn take(&mut self, piece: &[u8]) -> Styled {
        self.partial.extend_from_slice(piece);
        let end = self.partial.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let rest = self.partial.split_off(end);
        let complete = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&complete).into_owned().into()
    }

    /// The text after the last line end.
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
