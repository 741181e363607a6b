//! Commands and actions in tasks over a websocket (`docs/spec/http-api.md §6.4`).

use axum::http::header;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::client::of_alloc;
use crate::access::right::{Capability, Right, Subject};
use crate::agent::local_client::{ActionRequest, ExecInput, ExecOutput, ExecRequest, ExecSession};
use crate::error::Error;
use crate::request::Request;
use crate::request::params::parse_bool;
use crate::request::response::{Outcome, Response};
use crate::serve::duplex::{Connection, Upgrade};
use crate::serve::websocket::{self, accept_key};

/// The right to run commands in tasks that see the file system of the node.
const NODE_EXEC: Right = Right::Namespace(&[Capability::AllocNodeExec]);

type Socket = WebSocketStream<Connection>;

/// The command to run.
enum Wanted {
    /// A command of the caller's.
    Command(ExecRequest),
    /// A command that the job declares.
    Action(ActionRequest),
}

/// Runs a command in a task of an allocation.
pub(crate) async fn exec(request: Request, alloc_id: String) -> Outcome {
    let wanted = command(&request).map(Wanted::Command);
    open(request, alloc_id, wanted).await
}

/// Runs an action of a job in a task of one of its allocations.
pub(crate) async fn action(request: Request, job_id: String) -> Outcome {
    let wanted = declared(&request, job_id).map(Wanted::Action);
    let alloc_id = request.query().get("allocID").to_string();
    open(request, alloc_id, wanted).await
}

/// The answer to a request that asks for a WebSocket: its connection is taken over.
fn switching(accept_key: &str) -> Response {
    Response::empty()
        .status(101)
        .header(header::UPGRADE, "websocket")
        .header(header::CONNECTION, "Upgrade")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept_key)
}

/// Takes over the connection.
async fn open(mut request: Request, alloc_id: String, wanted: Result<Wanted, Error>) -> Outcome {
    let key = accept_key(request.headers());
    let upgrade = Upgrade::take(request.extensions_mut());
    let (Some(key), Some(upgrade)) = (key, upgrade) else {
        wanted?;
        return Err(Error::internal("websocket connection not found in context"));
    };
    let response = switching(&key);
    tokio::spawn(async move {
        match upgrade.connection().await {
            Ok(io) => serve(request, alloc_id, wanted, websocket::open(io).await).await,
            Err(e) => tracing::debug!(target: "http", error = %e, "a websocket did not open"),
        }
    });
    Ok(response)
}

fn command(request: &Request) -> Result<ExecRequest, Error> {
    let query = request.query();
    let command: Vec<String> = serde_json::from_str(query.get("command"))
        .map_err(|e| Error::internal(format!("failed to marshal command into json: {e}")))?;
    Ok(ExecRequest { task: query.get("task").into(), command, tty: tty(request)? })
}

fn declared(request: &Request, job_id: String) -> Result<ActionRequest, Error> {
    let given = |name: &str, what: &str| match request.query().get(name) {
        "" => Err(Error::bad(format!("must provide {what}"))),
        text => Ok(text.to_string()),
    };
    let (action, task) = (given("action", "action name")?, given("task", "task name")?);
    given("allocID", "a valid alloc id")?;
    Ok(ActionRequest { job_id, task, action, tty: tty(request)? })
}

fn tty(request: &Request) -> Result<bool, Error> {
    match request.query().get("tty") {
        "" => Ok(false),
        text => parse_bool(text).map_err(|e| Error::internal(format!("tty value is not a boolean: {e}"))),
    }
}

/// Tells the audit log that the session begins, before anything is carried out.
///
/// # Errors
/// That could not be recorded, and has to be.
async fn record_begin(request: &Request) -> Result<(), Error> {
    let Some(trail) = request.trail() else { return Ok(()) };
    let refused = |e| Error::internal(format!("The command was not run because it could not be recorded: {e}"));
    trail.received().await.map_err(refused)
}

/// Tells the audit log how the session went.
///
/// # Errors
/// That of the session, or the end could not be recorded, and has to be.
async fn record_end(request: &Request, result: Result<(), Error>) -> Result<(), Error> {
    let Some(trail) = request.trail() else { return result };
    let status = match &result {
        Ok(()) => 101,
        Err(e) => {
            trail.failed(&e.message);
            e.status
        }
    };
    match trail.complete(status, None).await {
        Ok(()) => result,
        Err(e) => result.and(Err(Error::internal(format!("The end of the session could not be recorded: {e}")))),
    }
}

async fn serve(mut request: Request, alloc_id: String, wanted: Result<Wanted, Error>, socket: Socket) {
    let (mut writer, mut reader) = socket.split();
    let result = match wanted {
        Ok(wanted) => session(&mut request, &alloc_id, wanted, &mut reader, &mut writer).await,
        Err(e) => Err(e),
    };
    let result = record_end(&request, result).await;
    if let Ok(socket) = reader.reunite(writer) {
        websocket::end(socket, result.err().as_ref()).await;
    }
}

#[derive(Deserialize)]
struct Handshake {
    version: i64,
    #[serde(default)]
    auth_token: String,
}

/// The first message names the token.
async fn handshake(request: &mut Request, reader: &mut SplitStream<Socket>) -> Result<(), Error> {
    let Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) = reader.next().await else {
        return Err(Error::bad("failed to read handshake"));
    };
    let shake: Handshake = serde_json::from_slice(&message.into_data()).map_err(|e| Error::bad(e.to_string()))?;
    if shake.version != 1 {
        return Err(Error::bad(format!("unexpected handshake value: {}", shake.version)));
    }
    if !request.token().is_empty() && request.token() != shake.auth_token {
        return Err(Error::bad("handshake auth token mismatched auth header token"));
    }
    request.set_token(&shake.auth_token).await;
    Ok(())
}

async fn session(
    request: &mut Request,
    alloc_id: &str,
    wanted: Wanted,
    reader: &mut SplitStream<Socket>,
    writer: &mut SplitSink<Socket, Message>,
) -> Result<(), Error> {
    if request.query().get("ws_handshake") == "true" {
        handshake(request, reader).await?;
    }
    record_begin(request).await?;
    let client = of_alloc(request, alloc_id)?;
    let task = match &wanted {
        Wanted::Command(command) => &command.task,
        Wanted::Action(action) => &action.task,
    };
    if !client.isolates(alloc_id, task)
        && let Some(namespace) = client.alloc_namespace(alloc_id)
    {
        // The command would run on the node itself.
        request.authorize_as(NODE_EXEC, Subject::Namespace(&namespace))?;
    }
    let started = match wanted {
        Wanted::Command(command) => client.exec(alloc_id, command).await,
        Wanted::Action(action) => client.run_action(alloc_id, action).await,
    };
    let ExecSession { input, output: mut outputs } = started?;
    let feed = async {
        while let Some(Ok(message)) = reader.next().await {
            match message {
                Message::Text(_) | Message::Binary(_) => {
                    if let Some(i) = parse_input(&message.into_data())
                        && input.send(i).await.is_err()
                    {
                        // The command is over; its remaining output is sent first.
                        std::future::pending::<()>().await;
                    }
                }
                Message::Close(_) => return,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    };
    let drain = async {
        while let Some(output) = outputs.recv().await {
            if writer.send(Message::text(shown(&output).to_string())).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    };
    tokio::select! {
        () = feed => Ok(()),
        result = drain => result,
        () = request.authorization().revoked() => Err(Error::denied()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    stdin: Option<Stdin>,
    tty_size: Option<Size>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stdin {
    data: String,
    close: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Size {
    height: u16,
    width: u16,
}

/// A message of the caller; none for those that only keep the connection alive.
fn parse_input(message: &[u8]) -> Option<ExecInput> {
    let input: Input = serde_json::from_slice(message).ok()?;
    if let Some(s) = input.tty_size {
        return Some(ExecInput::Resize { height: s.height, width: s.width });
    }
    let stdin = input.stdin?;
    if stdin.close {
        return Some(ExecInput::CloseStdin);
    }
    STANDARD.decode(stdin.data).ok().filter(|d| !d.is_empty()).map(ExecInput::Stdin)
}

fn shown(output: &ExecOutput) -> Value {
    match output {
        ExecOutput::Stdout(bytes) => json!({ "stdout": { "data": STANDARD.encode(bytes) } }),
        ExecOutput::Stderr(bytes) => json!({ "stderr": { "data": STANDARD.encode(bytes) } }),
        ExecOutput::StdoutClosed => json!({ "stdout": { "close": true } }),
        ExecOutput::StderrClosed => json!({ "stderr": { "close": true } }),
        ExecOutput::Exited { code, signal } => {
            let mut result = serde_json::Map::new();
            for (key, n) in [("exit_code", *code), ("signal", *signal)] {
                if n != 0 {
                    result.insert(key.into(), n.into());
                }
            }
            json!({ "exited": true, "result": result })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_both_ways() {
        assert_eq!(parse_input(br#"{"stdin":{"data":"aGk="}}"#), Some(ExecInput::Stdin(b"hi".to_vec())));
        assert_eq!(parse_input(br#"{"stdin":{"close":true}}"#), Some(ExecInput::CloseStdin));
        let size = parse_input(br#"{"tty_size":{"height":24,"width":80}}"#);
        assert_eq!(size, Some(ExecInput::Resize { height: 24, width: 80 }));
        assert_eq!((parse_input(b"{}"), parse_input(b"no")), (None, None));
        assert_eq!(
            shown(&ExecOutput::Exited { code: 3, signal: 0 }).to_string(),
            r#"{"exited":true,"result":{"exit_code":3}}"#
        );
        assert_eq!(shown(&ExecOutput::Exited { code: 0, signal: 0 }).to_string(), r#"{"exited":true,"result":{}}"#);
    }
}
