//! Code actions: the changes after which problems are gone.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionKind, TextEdit, WorkspaceEdit};

use crate::diagnostics::{Analysis, all_findings, diagnostic};
use crate::document::Document;
use encamp_jobspec::explain::Repair;

/// The actions for the lines of a range.
pub(crate) fn actions(document: &Document, range: lsp_types::Range, analysis: &Analysis) -> Vec<CodeAction> {
    let touches =
        |d: &lsp_types::Diagnostic| d.range.start.line <= range.end.line && d.range.end.line >= range.start.line;
    let mut out: Vec<CodeAction> = Vec::new();
    for finding in all_findings(document, analysis) {
        let diagnostic = diagnostic(document, &finding);
        let is_here = finding.place.as_ref().is_some_and(|p| p.range.file == document.name());
        let Some(repair) = finding.repair.as_ref().filter(|_| is_here && touches(&diagnostic)) else { continue };
        let edit = edit(document, repair);
        // One change may be the answer to several problems.
        let same = |other: &&mut CodeAction| other.title == repair.title && other.edit.as_ref() == Some(&edit);
        if let Some(other) = out.iter_mut().find(same) {
            other.diagnostics.get_or_insert_default().push(diagnostic);
            continue;
        }
        out.push(CodeAction {
            title: repair.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![diagnostic]),
            edit: Some(edit),
            is_preferred: Some(repair.is_certain),
            ..CodeAction::default()
        });
    }
    out
}

fn edit(document: &Document, repair: &Repair) -> WorkspaceEdit {
    let edits =
        repair.edits.iter().map(|e| TextEdit { range: document.text.range(e.start, e.end), new_text: e.new.clone() });
    let changes = HashMap::from([(document.uri.clone(), edits.collect())]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}
