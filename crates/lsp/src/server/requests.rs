//! Answers to requests.

use std::collections::HashMap;

use lsp_server::{ErrorCode, Request, Response};
use lsp_types::request::{self, Request as _};
use lsp_types::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::{Server, read};
use crate::cluster::Names;
use crate::document::Document;
use crate::worker::{Task, ask};
use crate::{actions, completion, hints, hover, lens, names, structure, tokens};

/// The answer to a request.
type Answer = Result<Json, (ErrorCode, String)>;

fn value<T: Serialize>(answer: T) -> Answer {
    serde_json::to_value(answer).map_err(|e| (ErrorCode::InternalError, e.to_string()))
}

impl Server {
    pub(super) fn request(&mut self, r: Request) {
        let id = r.id.clone();
        if r.method == request::ExecuteCommand::METHOD {
            return self.execute(r);
        }
        if r.method == request::Shutdown::METHOD {
            while let Some(earlier) = self.waiting.pop_front() {
                self.request(earlier);
            }
            self.shut_down = true;
            return self.send(Response::new_ok(id, Json::Null).into());
        }
        let response = match self.answer(r) {
            Ok(answer) => Response::new_ok(id, answer),
            Err((code, text)) => Response::new_err(id, code as i32, text),
        };
        self.send(response.into());
    }

    fn execute(&mut self, r: Request) {
        let Some(p) = read::<ExecuteCommandParams>(r.params) else {
            return self.send(Response::new_err(r.id, ErrorCode::InvalidParams as i32, "no command".into()).into());
        };
        let path = p.arguments.first().and_then(Json::as_str).and_then(|u| Url::parse(u).ok()?.to_file_path().ok());
        let command: Vec<&'static str> = match (p.command.as_str(), &path) {
            (lens::REFRESH, _) => {
                ask(&self.tasks, Task::Load);
                return self.send(Response::new_ok(r.id, Json::Null).into());
            }
            (lens::PLAN, Some(_)) => vec!["job", "plan"],
            (lens::EXPLAIN, Some(_)) => vec!["job", "plan", "-explain"],
            (lens::SUGGEST, Some(_)) => vec!["job", "plan", "-suggest"],
            _ => {
                let text = format!("the command {:?} needs the address of a job file", p.command);
                return self.send(Response::new_err(r.id, ErrorCode::InvalidParams as i32, text).into());
            }
        };
        ask(&self.tasks, Task::Run { id: r.id, command, path: path.unwrap_or_default() });
    }

    fn answer(&mut self, r: Request) -> Answer {
        let around = self.around.clone();
        let cluster = self.cluster.as_ref();
        let nothing = Names::default();
        match r.method.as_str() {
            request::Completion::METHOD => {
                let p: CompletionParams = params(r)?;
                let (d, at) = self.place(&p.text_document_position)?;
                let names = cluster.map_or(&nothing, |c| &c.summary.names);
                value(completion::complete(d, at, self.client.snippets, names, &*around))
            }
            request::HoverRequest::METHOD => {
                let p: HoverParams = params(r)?;
                let (d, at) = self.place(&p.text_document_position_params)?;
                let found = hover::hover(d, at, &*around, cluster.map(|c| &c.summary.names));
                value(found.map(|(text, (from, to))| Hover {
                    contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text }),
                    range: Some(d.text.range(from, to)),
                }))
            }
            request::CodeActionRequest::METHOD => {
                let p: CodeActionParams = params(r)?;
                let d = self.document(&p.text_document)?;
                value(actions::actions(d, p.range, d.analysis(&*around, cluster)))
            }
            request::InlayHintRequest::METHOD => {
                let p: InlayHintParams = params(r)?;
                value(hints::hints(self.document(&p.text_document)?, p.range, &*around))
            }
            request::CodeLensRequest::METHOD => {
                let p: CodeLensParams = params(r)?;
                let d = self.document(&p.text_document)?;
                value(lens::lenses(d, cluster.is_some()))
            }
            request::GotoDefinition::METHOD
            | request::References::METHOD
            | request::DocumentHighlightRequest::METHOD
            | request::PrepareRenameRequest::METHOD
            | request::Rename::METHOD => self.named(r),
            _ => self.structure(r),
        }
    }

    /// Requests about variables and locals.
    fn named(&self, r: Request) -> Answer {
        let method = r.method.clone();
        let raw = r.params.clone();
        let p: TextDocumentPositionParams = params(r)?;
        let (d, at) = self.place(&p)?;
        let outline = d.outline();
        let Some((name, place)) = names::at(outline, at).filter(|_| d.is_native()) else { return Ok(Json::Null) };
        let range = |(from, to): (usize, usize)| d.text.range(from, to);
        let locations = |declarations: bool| -> Vec<Location> {
            let places = names::places(outline, &name, declarations).into_iter();
            places.map(|place| Location { uri: d.uri.clone(), range: range(place) }).collect()
        };
        match method.as_str() {
            request::GotoDefinition::METHOD => {
                let declared = names::declared(outline, name.root).into_iter().filter(|(n, _)| *n == name.name);
                let found = declared.map(|(_, place)| Location { uri: d.uri.clone(), range: range(place) });
                value(found.collect::<Vec<_>>())
            }
            request::References::METHOD => {
                let context = raw.get("context").and_then(|c| c.get("includeDeclaration")).and_then(Json::as_bool);
                value(locations(context.unwrap_or(true)))
            }
            request::DocumentHighlightRequest::METHOD => {
                let found = names::places(outline, &name, true).into_iter();
                value(found.map(|p| DocumentHighlight { range: range(p), kind: None }).collect::<Vec<_>>())
            }
            request::PrepareRenameRequest::METHOD => {
                value(PrepareRenameResponse::RangeWithPlaceholder { range: range(place), placeholder: name.name })
            }
            _ => {
                let new = raw.get("newName").and_then(Json::as_str).unwrap_or("");
                let invalid = |text: String| (ErrorCode::InvalidParams, text);
                let places = names::renamed(outline, &name, new).map_err(|refused| match refused {
                    names::Refused::NoName => invalid(format!(
                        "{new:?} is no name: a name begins with a letter or an underscore, and has letters, digits, \
                         underscores and dashes"
                    )),
                    names::Refused::Taken => invalid(format!("the file has another {}.{new}", name.root)),
                })?;
                let edits = places.into_iter().map(|p| TextEdit { range: range(p), new_text: new.to_owned() });
                let changes = HashMap::from([(d.uri.clone(), edits.collect())]);
                value(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
            }
        }
    }

    /// Requests about a whole document.
    fn structure(&self, r: Request) -> Answer {
        let lines = |range: Range| range.start.line as usize..=range.end.line as usize;
        match r.method.as_str() {
            request::DocumentSymbolRequest::METHOD => {
                let p: DocumentSymbolParams = params(r)?;
                value(structure::symbols(self.document(&p.text_document)?))
            }
            request::FoldingRangeRequest::METHOD => {
                let p: FoldingRangeParams = params(r)?;
                value(structure::folds(self.document(&p.text_document)?))
            }
            request::DocumentLinkRequest::METHOD => {
                let p: DocumentLinkParams = params(r)?;
                value(structure::links(self.document(&p.text_document)?))
            }
            request::Formatting::METHOD => {
                let p: DocumentFormattingParams = params(r)?;
                value(structure::formatted(self.document(&p.text_document)?, None))
            }
            request::RangeFormatting::METHOD => {
                let p: DocumentRangeFormattingParams = params(r)?;
                value(structure::formatted(self.document(&p.text_document)?, Some(lines(p.range))))
            }
            request::OnTypeFormatting::METHOD => {
                let p: DocumentOnTypeFormattingParams = params(r)?;
                let (d, at) = self.place(&p.text_document_position)?;
                let closed = d.outline().around(at.saturating_sub(1));
                let first = closed.last().map_or(at, |e| e.header.start as usize);
                value(structure::formatted(d, Some(d.text.line_of(first)..=d.text.line_of(at))))
            }
            request::SemanticTokensFullRequest::METHOD => {
                let p: SemanticTokensParams = params(r)?;
                let data = tokens::tokens(self.document(&p.text_document)?);
                value(SemanticTokens { result_id: None, data })
            }
            other => Err((ErrorCode::MethodNotFound, format!("the server does not know {other:?}"))),
        }
    }

    fn document(&self, id: &TextDocumentIdentifier) -> Result<&Document, (ErrorCode, String)> {
        let missing = || (ErrorCode::InvalidParams, format!("{} is not open", id.uri));
        self.documents.get(&id.uri).ok_or_else(missing)
    }

    fn place(&self, p: &TextDocumentPositionParams) -> Result<(&Document, usize), (ErrorCode, String)> {
        let document = self.document(&p.text_document)?;
        Ok((document, document.text.offset(p.position)))
    }
}

fn params<T: DeserializeOwned>(r: Request) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(r.params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}
