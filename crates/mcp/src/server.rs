//! The protocol: lists the tools and calls them, until the client ends the session.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Described, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, serve_server};
use rmcp::{ErrorData, ServerHandler};

use crate::arguments::{Arguments, schema};
use crate::calls::{Answer, Calls};
use crate::tools::{Offered, TOOLS, Tool, find};
use crate::transport::Lines;

/// The characters of an unknown tool's name that an error shows.
const SHOWN: usize = 64;

/// Why a session ended early.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The client did not begin as the protocol says.
    #[error("the client did not begin a session of the Model Context Protocol: {0}")]
    NotBegun(Box<ServerInitializeError>),
    /// The session failed.
    #[error("the session failed: {0}")]
    Failed(String),
}

/// Serves a client until it closes its stream.
///
/// # Errors
/// [`SessionError`]. A client that closes its stream before it begins is no error.
pub async fn serve(calls: Calls, lines: Lines) -> Result<(), SessionError> {
    let running = match serve_server(Server(Arc::new(calls)), lines).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(e) => return Err(SessionError::NotBegun(Box::new(e))),
    };
    running.waiting().await.map(drop).map_err(|e| SessionError::Failed(e.to_string()))
}

struct Server(Arc<Calls>);

impl Server {
    /// How clients see a tool.
    fn described(tool: &Tool) -> Described {
        let writes = tool.offered == Offered::Writes;
        let hints = ToolAnnotations::new().read_only(!writes).destructive(writes).open_world(false);
        Described::new(tool.name, tool.description, schema(tool.parameters)).with_annotations(hints)
    }

    fn offered(&self) -> impl Iterator<Item = &'static Tool> + '_ {
        TOOLS.iter().filter(|tool| self.0.refusal(tool).is_none())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let writes = if self.0.writes() {
            "run_plan registers the job of a plan that plan_job made: let a person review the plan first."
        } else {
            "Nothing that these tools do changes the cluster."
        };
        let about = self.0.about();
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("encamp", env!("CARGO_PKG_VERSION")))
            .with_instructions(format!(
                "Tools about {about}: read its objects, and validate, plan, explain and simulate jobs with the full \
                 scheduler. {writes} Long answers are cut, and say how to read on."
            ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.offered().map(Server::described).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Described> {
        self.offered().find(|tool| tool.name == name).map(Server::described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = find(&request.name) else {
            let name: String = request.name.escape_debug().take(SHOWN).collect();
            return Err(ErrorData::invalid_params(format!("there is no tool \"{name}\""), None));
        };
        let refused = |text: String| Ok(result(Answer { text, is_error: true }).into());
        if let Some(refusal) = self.0.refusal(tool) {
            return refused(refusal);
        }
        let arguments = match Arguments::of(tool.parameters, &request.arguments.unwrap_or_default()) {
            Ok(arguments) => arguments,
            Err(e) => return refused(e.to_string()),
        };
        // A cancelled request ends its command.
        tokio::select! {
            answer = self.0.call(tool, arguments) => Ok(result(answer).into()),
            () = context.ct.cancelled() => refused("the request was cancelled".into()),
        }
    }
}

fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}
