//! Inlay hints: defaults that matter, and numbers with their units.

use std::sync::LazyLock;

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, Range};
use serde_json::Value as Json;

use crate::document::{Document, Kind};
use crate::hover::{duration, object_of};
use crate::surroundings::Surroundings;
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::explain::outline::{Element, Literal};
use encamp_jobspec::parse::{ParseOptions, parse};

/// A job in which every block with defaults stands without a setting.
const BARE: &str = "job \"j\" {
  update {}
  group \"g\" {
    restart {}
    reschedule {}
    migrate {}
    ephemeral_disk {}
    disconnect {}
    network {}
    scaling {
      max = 1
    }
    service {
      check {}
    }
    spread {}
    affinity {}
    volume \"v\" {}
    task \"t\" {
      driver = \"d\"
      resources {}
      logs {}
      template {}
      artifact {}
      vault {}
      identity {}
      volume_mount {
        volume = \"v\"
      }
    }
  }
}
";

static DEFAULTS: LazyLock<Json> = LazyLock::new(|| {
    let Ok(mut job) = parse(BARE.as_bytes(), &ParseOptions::default()) else { return Json::Null };
    canonicalize(&mut job);
    serde_json::to_value(job).unwrap_or_default()
});

/// The default of a member of nested blocks; `None`: it has none.
pub(crate) fn default_of(kinds: &[&str], json: &str) -> Option<Json> {
    let mut at = &*DEFAULTS;
    let mut walked: Vec<&str> = Vec::new();
    for kind in kinds {
        if !walked.is_empty() {
            let here = encamp_jobspec::reference::place(walked.iter().copied())?;
            let block = here.blocks().into_iter().find(|b| b.name == *kind)?;
            let inner = at.get(&block.json)?;
            at = match inner {
                Json::Array(items) => items.first()?,
                Json::Object(members) if block.label && !members.contains_key(json) => members.values().next()?,
                other => other,
            };
        }
        walked.push(kind);
    }
    at.get(json).filter(|v| !v.is_null()).cloned()
}

/// The blocks and attributes whose defaults are shown where they are not set.
const SHOWN: [(&str, &str, &str); 4] = [
    ("group", "count", "Count"),
    ("restart", "mode", "Mode"),
    ("update", "max_parallel", "MaxParallel"),
    ("job", "type", "Type"),
];

/// The hints of a part of a document.
pub(crate) fn hints(document: &Document, range: Range, around: &dyn Surroundings) -> Vec<InlayHint> {
    if document.kind != Kind::Job || !document.is_native() {
        return Vec::new();
    }
    let lines = range.start.line as usize..=range.end.line as usize;
    let mut out = Vec::new();
    let outline = document.outline();
    let mut open: Vec<Vec<&Element>> = outline.job().map(|job| vec![job]).into_iter().collect();
    while let Some(path) = open.pop() {
        let Some(element) = path.last().copied() else { continue };
        // What lies outside of the range is not considered: the range is a screen, and the file may be long.
        let (from, to) =
            (document.text.line_of(element.header.start as usize), document.text.line_of(element.span.end as usize));
        if to < *lines.start() || from > *lines.end() {
            continue;
        }
        units(document, element, &mut out);
        defaults(document, &path, around, &mut out);
        open.extend(element.blocks.iter().map(|b| path.iter().copied().chain([b]).collect()));
    }
    out.retain(|hint| lines.contains(&(hint.position.line as usize)));
    out.sort_by_key(|hint| (hint.position.line, hint.position.character));
    out
}

fn hint(document: &Document, at: usize, text: String) -> InlayHint {
    InlayHint {
        position: document.text.position(at),
        label: InlayHintLabel::String(text),
        kind: Some(InlayHintKind::PARAMETER),
        text_edits: None,
        tooltip: None,
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

/// Units behind numbers.
fn units(document: &Document, element: &Element, out: &mut Vec<InlayHint>) {
    for setting in &element.attributes {
        let Literal::Number(number) = &setting.literal else { continue };
        let text = match (element.kind.as_str(), setting.name.as_str()) {
            ("resources", "cpu") => "MHz".to_owned(),
            ("resources", "memory" | "memory_max" | "secrets" | "disk") | ("ephemeral_disk", "size") => {
                megabytes(number)
            }
            ("logs", "max_file_size") => "MB".to_owned(),
            ("network", "mbits") => "Mbit/s".to_owned(),
            (_, "kill_timeout" | "interval" | "delay" | "timeout" | "max_delay" | "shutdown_delay") => {
                number.parse().map(|nanos| format!("= {}", duration(nanos))).unwrap_or_default()
            }
            _ => continue,
        };
        out.push(hint(document, setting.value.end as usize, text));
    }
}

fn megabytes(number: &str) -> String {
    match number.parse::<u64>() {
        Ok(mb) if mb >= 1024 && mb % 1024 == 0 => format!("MB = {} GiB", mb / 1024),
        Ok(mb) if mb >= 1024 => format!("MB = {:.1} GiB", mb as f64 / 1024.0),
        _ => "MB".to_owned(),
    }
}

/// What applies where nothing is set, behind the header of the block.
fn defaults(document: &Document, path: &[&Element], around: &dyn Surroundings, out: &mut Vec<InlayHint>) {
    let Some(element) = path.last().copied() else { return };
    let wanted = SHOWN.iter().filter(|(kind, name, _)| *kind == element.kind && element.setting(name).is_none());
    let mut texts = Vec::new();
    for (_, name, json) in wanted {
        let value = document.job_json(around).and_then(|job| object_of(job, path)?.get(json)).filter(|v| !v.is_null());
        texts.extend(value.map(|value| format!("{name} = {value}")));
    }
    if !texts.is_empty() {
        out.push(hint(document, element.header.end as usize, texts.join(", ")));
    }
}
