//! The loop over the messages of a client. [`requests`]: the answers to its requests.

mod requests;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{self, Request as _};
use lsp_types::*;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::cluster::Cluster;
use crate::document::Document;
use crate::lens::{self, Planned};
use crate::surroundings::Surroundings;
use crate::text::{Encoding, Text};
use crate::worker::{News, Task, ask, work};
use crate::{diagnostics, tokens};

/// Why the server ended before the client asked it to.
#[derive(Debug)]
pub enum ServeError {
    /// The client broke the protocol, or went away.
    Protocol(String),
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ServeError::Protocol(why) = self;
        write!(f, "the client does not speak the language server protocol: {why}")
    }
}

impl std::error::Error for ServeError {}

/// What the loop waits for.
enum Event {
    Message(Box<Message>),
    News(News),
    Closed,
}

/// Serves a client until it says goodbye.
///
/// # Errors
/// The client broke the protocol.
pub fn serve(connection: Connection, around: Arc<dyn Surroundings>) -> Result<(), ServeError> {
    let protocol = |e: lsp_server::ProtocolError| ServeError::Protocol(e.to_string());
    let (id, params) = match connection.initialize_start() {
        Ok(started) => started,
        // Nobody wants anything.
        Err(e) if e.channel_is_disconnected() => return Ok(()),
        Err(e) => return Err(protocol(e)),
    };
    let params: InitializeParams = serde_json::from_value(params).map_err(|e| ServeError::Protocol(e.to_string()))?;
    let client = Client::of(&params);
    let answer = json!({
        "capabilities": capabilities(client.encoding),
        "serverInfo": {"name": "encamp", "version": env!("CARGO_PKG_VERSION")},
    });
    connection.initialize_finish(id, answer).map_err(protocol)?;
    let (events, inbox) = channel();
    let (tasks, requests) = channel();
    {
        let (events, around) = (events.clone(), around.clone());
        std::thread::spawn(move || work(&around, &requests, &|news| events.send(Event::News(news)).is_ok()));
    }
    let receiver = connection.receiver.clone();
    std::thread::spawn(move || {
        for message in receiver {
            if events.send(Event::Message(Box::new(message))).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Closed);
    });
    ask(&tasks, Task::Load);
    let mut server = Server {
        connection,
        client,
        around,
        tasks,
        documents: HashMap::new(),
        dirty: Vec::new(),
        waiting: VecDeque::new(),
        cluster: None,
        shut_down: false,
        sent: 0,
    };
    server.run(&inbox)
}

/// What the client can do.
struct Client {
    encoding: Encoding,
    snippets: bool,
    refreshes_lenses: bool,
    shows_documents: bool,
    folders: Vec<PathBuf>,
}

impl Client {
    fn of(params: &InitializeParams) -> Client {
        let c = &params.capabilities;
        let encodings = c.general.as_ref().and_then(|g| g.position_encodings.clone()).unwrap_or_default();
        let utf8 = encodings.contains(&PositionEncodingKind::UTF8);
        let completion = c.text_document.as_ref().and_then(|t| t.completion.as_ref()?.completion_item.as_ref());
        let lenses = c.workspace.as_ref().and_then(|w| w.code_lens.as_ref()?.refresh_support);
        let shows = c.window.as_ref().and_then(|w| w.show_document.as_ref()).is_some_and(|s| s.support);
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in params.workspace_folders.iter().flatten() {
            folders.extend(folder.uri.to_file_path());
        }
        #[allow(deprecated)]
        if folders.is_empty() {
            folders.extend(params.root_uri.as_ref().and_then(|uri| uri.to_file_path().ok()));
        }
        Client {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            snippets: completion.and_then(|c| c.snippet_support).unwrap_or(false),
            refreshes_lenses: lenses.unwrap_or(false),
            shows_documents: shows,
            folders,
        }
    }
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let encoding = match encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
    };
    let commands = [lens::PLAN, lens::EXPLAIN, lens::SUGGEST, lens::REFRESH];
    ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", "\"", "{"].map(String::from).to_vec()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        document_on_type_formatting_provider: Some(DocumentOnTypeFormattingOptions {
            first_trigger_character: "}".into(),
            more_trigger_character: None,
        }),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: None,
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend: SemanticTokensLegend { token_types: tokens::TYPES.to_vec(), token_modifiers: Vec::new() },
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            },
        )),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: None }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands.map(String::from).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

struct Server {
    connection: Connection,
    client: Client,
    around: Arc<dyn Surroundings>,
    tasks: Sender<Task>,
    documents: HashMap<Url, Document>,
    /// Documents whose diagnostics are to be sent.
    dirty: Vec<Url>,
    /// Requests that are answered after the diagnostics.
    waiting: VecDeque<Request>,
    cluster: Option<Cluster>,
    shut_down: bool,
    /// Requests that were sent to the client.
    sent: i32,
}

/// The requests about whole documents, which editors repeat after each key.
const WHOLE: [&str; 6] = [
    request::SemanticTokensFullRequest::METHOD,
    request::DocumentSymbolRequest::METHOD,
    request::FoldingRangeRequest::METHOD,
    request::DocumentLinkRequest::METHOD,
    request::InlayHintRequest::METHOD,
    request::CodeLensRequest::METHOD,
];

impl Server {
    fn run(&mut self, inbox: &Receiver<Event>) -> Result<(), ServeError> {
        loop {
            // Diagnostics wait until no further key is in the queue, and requests about whole documents until the
            // diagnostics are sent.
            let event = match inbox.try_recv() {
                Ok(event) => event,
                Err(_) => {
                    self.publish();
                    if let Some(request) = self.waiting.pop_front() {
                        self.request(request);
                        continue;
                    }
                    self.documents.values_mut().for_each(Document::tidy);
                    match inbox.recv() {
                        Ok(event) => event,
                        Err(_) => return Ok(()),
                    }
                }
            };
            match event {
                Event::Closed if self.shut_down => return Ok(()),
                Event::Closed => return Err(ServeError::Protocol("it closed the connection without exit".into())),
                Event::News(news) => self.news(news),
                Event::Message(message) => match *message {
                    Message::Notification(n) if n.method == notification::Exit::METHOD => {
                        let early = || ServeError::Protocol("exit without shutdown".into());
                        return if self.shut_down { Ok(()) } else { Err(early()) };
                    }
                    Message::Notification(n) => self.notification(n),
                    Message::Request(r) if self.can_wait(&r) => self.waiting.push_back(r),
                    Message::Request(r) => self.request(r),
                    Message::Response(_) => {}
                },
            }
        }
    }

    /// Whether a request is answered after the diagnostics: nobody looks at its answer before the next character.
    fn can_wait(&self, r: &Request) -> bool {
        let is_busy = !self.dirty.is_empty() || !self.waiting.is_empty();
        is_busy && WHOLE.contains(&r.method.as_str())
    }

    /// Ends a request that waits and that the client needs no longer.
    fn cancel(&mut self, id: &NumberOrString) {
        let id = match id {
            NumberOrString::Number(n) => RequestId::from(*n),
            NumberOrString::String(text) => RequestId::from(text.clone()),
        };
        if let Some(at) = self.waiting.iter().position(|r| r.id == id) {
            self.waiting.remove(at);
            let text = "the client cancelled the request".to_owned();
            self.send(Response::new_err(id, ErrorCode::RequestCanceled as i32, text).into());
        }
    }

    fn send(&self, message: Message) {
        // The loop ends by itself when the client has gone.
        let _ = self.connection.sender.send(message);
    }

    fn notify<N: notification::Notification>(&self, params: N::Params) {
        self.send(Notification::new(N::METHOD.into(), params).into());
    }

    fn ask_client<R: request::Request>(&mut self, params: R::Params) {
        self.sent = self.sent.wrapping_add(1);
        self.send(Request::new(RequestId::from(self.sent), R::METHOD.into(), params).into());
    }

    fn publish(&mut self) {
        for uri in std::mem::take(&mut self.dirty) {
            self.publish_one(&uri, true);
        }
    }

    /// Sends the diagnostics of a document; `plans`: its job is planned then.
    fn publish_one(&self, uri: &Url, plans: bool) {
        let Some(document) = self.documents.get(uri) else { return };
        let analysis = document.analysis(&*self.around, self.cluster.as_ref());
        self.notify::<notification::PublishDiagnostics>(PublishDiagnosticsParams {
            uri: uri.clone(),
            diagnostics: diagnostics::published(document, analysis),
            version: Some(document.version),
        });
        if let (true, Some(job), true) = (plans, &analysis.job, self.cluster.is_some()) {
            let job = Box::new(job.clone());
            ask(&self.tasks, Task::Plan { uri: uri.clone(), version: document.version, job });
        }
    }

    fn soil(&mut self, uri: &Url) {
        if !self.dirty.contains(uri) {
            self.dirty.push(uri.clone());
        }
    }

    fn news(&mut self, news: News) {
        match news {
            News::Loaded(loaded) => {
                self.cluster = loaded.map(|summary| Cluster::from(*summary));
                let uris: Vec<Url> = self.documents.keys().cloned().collect();
                for uri in &uris {
                    self.documents.get_mut(uri).into_iter().for_each(Document::cluster_changed);
                    self.soil(uri);
                }
            }
            News::Failed(why) => self.notify::<notification::ShowMessage>(ShowMessageParams {
                typ: MessageType::WARNING,
                message: format!("The cluster cannot be read: {why}"),
            }),
            News::Planned(uri, version, planned) => self.planned(&uri, version, planned),
            News::Ran(id, text) => self.ran(id, text),
        }
    }

    /// Notes a plan, and tells the client where it changes what the editor shows.
    fn planned(&mut self, uri: &Url, version: i32, planned: Planned) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        let former = document.planned().cloned();
        document.set_planned(version, planned.clone());
        if former.as_ref().is_none_or(|(_, former)| former.remarks != planned.remarks) {
            self.publish_one(uri, false);
        }
        if former != Some((version, planned)) && self.client.refreshes_lenses {
            self.ask_client::<request::CodeLensRefresh>(());
        }
    }

    /// Answers with what a command printed, and shows it where the client can.
    fn ran(&mut self, id: RequestId, text: String) {
        if self.client.shows_documents {
            let path = std::env::temp_dir().join(format!("encamp-plan-{}.txt", std::process::id()));
            if std::fs::write(&path, &text).is_ok()
                && let Ok(uri) = Url::from_file_path(&path)
            {
                self.ask_client::<request::ShowDocument>(ShowDocumentParams {
                    uri,
                    external: None,
                    take_focus: Some(true),
                    selection: None,
                });
            }
        }
        self.send(Response::new_ok(id, json!({"text": text})).into());
    }

    fn notification(&mut self, n: Notification) {
        match n.method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                if let Some(p) = read::<DidOpenTextDocumentParams>(n.params) {
                    let item = p.text_document;
                    let text = Text::new(item.text, self.client.encoding);
                    let directory = self.directory_of(&item.uri);
                    let document = Document::new(item.uri.clone(), directory, item.version, text);
                    self.documents.insert(item.uri.clone(), document);
                    self.soil(&item.uri);
                }
            }
            notification::DidChangeTextDocument::METHOD => {
                if let Some(p) = read::<DidChangeTextDocumentParams>(n.params)
                    && let Some(document) = self.documents.get_mut(&p.text_document.uri)
                {
                    for change in p.content_changes {
                        match change.range {
                            Some(range) => document.text.replace(range, &change.text),
                            None => document.text = Text::new(change.text, self.client.encoding),
                        }
                    }
                    document.changed(p.text_document.version);
                    self.soil(&p.text_document.uri);
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                if let Some(p) = read::<DidCloseTextDocumentParams>(n.params) {
                    let uri = p.text_document.uri;
                    self.documents.remove(&uri);
                    let (diagnostics, version) = (Vec::new(), None);
                    self.notify::<notification::PublishDiagnostics>(PublishDiagnosticsParams {
                        uri,
                        diagnostics,
                        version,
                    });
                }
            }
            notification::Cancel::METHOD => {
                if let Some(p) = read::<CancelParams>(n.params) {
                    self.cancel(&p.id);
                }
            }
            notification::DidSaveTextDocument::METHOD => {
                // Files that functions read may have changed.
                let uris: Vec<Url> = self.documents.keys().cloned().collect();
                for uri in &uris {
                    let version = self.documents.get(uri).map_or(0, |d| d.version);
                    self.documents.get_mut(uri).into_iter().for_each(|d| d.changed(version));
                    self.soil(uri);
                }
            }
            notification::DidChangeWorkspaceFolders::METHOD => {
                if let Some(p) = read::<DidChangeWorkspaceFoldersParams>(n.params) {
                    let removed: Vec<PathBuf> =
                        p.event.removed.iter().filter_map(|f| f.uri.to_file_path().ok()).collect();
                    self.client.folders.retain(|f| !removed.contains(f));
                    self.client.folders.extend(p.event.added.iter().filter_map(|f| f.uri.to_file_path().ok()));
                }
            }
            _ => {}
        }
    }

    /// The folder that a document belongs to: where its paths begin.
    fn directory_of(&self, uri: &Url) -> PathBuf {
        let path = uri.to_file_path().unwrap_or_default();
        let folders = self.client.folders.iter().filter(|f| path.starts_with(f));
        let longest = folders.max_by_key(|f| f.components().count()).cloned();
        longest.or_else(|| path.parent().map(Path::to_path_buf)).unwrap_or_default()
    }
}

fn read<T: DeserializeOwned>(params: serde_json::Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
