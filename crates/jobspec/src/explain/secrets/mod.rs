//! Secrets that stand in a job file in plain text, where everybody sees them who may read the job. No text about one
//! repeats it: lines are shown with stars in its place.

use std::ops::Range;

use super::outline::{Element, Literal, Outline, Setting};
use super::repair::{Edits, Repair};
use super::{Finding, MAX_FINDINGS, Place, Stage};

mod patterns;

use patterns::{Kind, hits, is_secret_name, may_be_secret};

/// Warnings about the secrets of a job file.
pub fn plain_secrets(outline: &Outline) -> Vec<Finding> {
    let mut found: Vec<Secret> = hits(&outline.text).filter_map(|(kind, bytes)| of_hit(outline, kind, bytes)).collect();
    for job in outline.root.of("job") {
        named(&[job], &mut found);
    }
    found.sort_by_key(|secret| (secret.bytes.start, secret.bytes.end));
    // Each value is reported once, whatever shows that it is a secret.
    found.dedup_by(|later, earlier| later.setting.name_span == earlier.setting.name_span);
    found.iter().take(MAX_FINDINGS).map(|secret| finding(outline, secret, &found)).collect()
}

/// A secret.
struct Secret<'o> {
    kind: Kind,
    /// The blocks around it.
    path: Vec<&'o Element>,
    setting: &'o Setting,
    /// Where it is in the file.
    bytes: Range<usize>,
}

/// The secret that a text looks like, if a value has it, and not a comment.
fn of_hit(outline: &Outline, kind: Kind, bytes: Range<usize>) -> Option<Secret<'_>> {
    let path = outline.around(bytes.start);
    let is_in = |s: &&Setting| (s.value.start as usize..s.value.end as usize).contains(&bytes.start);
    let setting = path.last()?.attributes.iter().find(is_in)?;
    Some(Secret { kind, path, setting, bytes })
}

/// The secrets below a block that have their names from it.
fn named<'o>(path: &[&'o Element], out: &mut Vec<Secret<'o>>) {
    let Some(block) = path.last() else { return };
    let parent = path.len().checked_sub(2).and_then(|at| path.get(at)).map(|e| e.kind.as_str());
    let holds_secrets = matches!((block.kind.as_str(), parent), ("env", Some("task")) | ("auth", Some("config")));
    for setting in block.attributes.iter().filter(|s| holds_secrets && is_secret_name(&s.name)) {
        if let Literal::Text(text) = &setting.literal
            && may_be_secret(text)
        {
            // Without the quotes.
            let bytes = setting.value.start as usize + 1..(setting.value.end as usize).saturating_sub(1);
            out.push(Secret { kind: Kind::Named, path: path.to_vec(), setting, bytes });
        }
    }
    for inner in &block.blocks {
        let path: Vec<&Element> = path.iter().copied().chain([inner]).collect();
        named(&path, out);
    }
}

/// `all`: the secrets of the file.
fn finding(outline: &Outline, secret: &Secret, all: &[Secret]) -> Finding {
    let name = &secret.setting.name;
    let message = match secret.kind {
        Kind::Named => format!("{name} is a secret in plain text, which everyone who can read the job can see"),
        kind => format!("{name} has {} in plain text, which everyone who can read the job can see", kind.words()),
    };
    let variable = variable(&secret.path);
    let known = variable.as_deref().unwrap_or("nomad/jobs/JOB");
    let item = item(secret);
    Finding {
        suggestion: Some(format!(
            "store it with var put {known} {item}=…, and read it in a template block: {{{{ with nomadVar {known:?} \
             }}}}{{{{ .{item} }}}}{{{{ end }}}}"
        )),
        repair: variable.and_then(|variable| repair(outline, secret, &variable)),
        ..Finding::warning(Stage::Validate, message, Some(masked(outline, secret, all)), &secret.path)
    }
}

/// The place of a name, with stars in its line where values are secret.
fn masked(outline: &Outline, secret: &Secret, all: &[Secret]) -> Place {
    let mut place = Place::of(outline, secret.setting.name_span);
    let at = secret.setting.name_span.start as usize;
    let start = outline.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
    place.line = place.line.map(|line| {
        let end = start + line.len();
        let in_line = |value: &Range<usize>| value.start < end && value.end > start;
        let values = all.iter().map(|other| (other.setting.value.start as usize)..(other.setting.value.end as usize));
        // The lines of a heredoc stand below.
        let is_secret =
            |value: &Range<usize>| in_line(value) && outline.text.get(value.start..value.start + 2) != Some("<<");
        let values: Vec<Range<usize>> = values.filter(is_secret).collect();
        let is_hidden = |at: usize| values.iter().any(|value| value.contains(&at));
        line.char_indices().map(|(n, c)| if is_hidden(start + n) && c != '"' { '*' } else { c }).collect()
    });
    place
}

/// The name of the item of the variable.
fn item(secret: &Secret) -> String {
    match secret.kind {
        Kind::Named => secret.setting.name.clone(),
        kind if secret.setting.name == "data" => kind.item().to_owned(),
        _ => secret.setting.name.clone(),
    }
}

/// The path of the variable that the task around a secret can read without a policy.
fn variable(path: &[&Element]) -> Option<String> {
    let label = |kind: &str| path.iter().find(|e| e.kind == kind && !e.dynamic).and_then(|e| e.labels.first());
    let job = path.iter().find(|e| e.kind == "job")?;
    let id = match job.setting("id") {
        None => job.labels.first()?,
        Some(Setting { literal: Literal::Text(id), .. }) => id,
        Some(_) => return None,
    };
    let task = label("task")?;
    // A task outside of any group is a group of its own.
    let group = label("group").or_else(|| path.iter().all(|e| e.kind != "group").then_some(task))?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~');
    let parts = [id, group, task];
    let is_path = parts.iter().all(|part| !part.is_empty() && part.chars().all(allowed));
    let path = format!("nomad/jobs/{id}/{group}/{task}");
    (is_path && path.len() <= 128).then_some(path)
}

/// The change after which a template reads the secret from a variable. The variable has to be stored first, so that it
/// is no change to make without a look at it.
fn repair(outline: &Outline, secret: &Secret, variable: &str) -> Option<Repair> {
    let edits = Edits::of(outline)?;
    let block = *secret.path.last()?;
    let item = item(secret);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !is_name(&item) || secret.path.iter().any(|e| e.dynamic) {
        return None;
    }
    let title = format!("Read {item} from the variable {variable}");
    if block.kind == "template" && secret.setting.name == "data" {
        let read = format!("{{{{ with nomadVar {variable:?} }}}}{{{{ .{item} }}}}{{{{ end }}}}");
        let is_heredoc = outline.slice(secret.setting.value).starts_with("<<");
        let read = if is_heredoc { read } else { read.replace('"', "\\\"") };
        let edit = super::repair::Edit::new(secret.bytes.start, secret.bytes.end, read);
        return Some(Repair::fallback(title, [edit]));
    }
    let task = secret.path.iter().rev().find(|e| e.kind == "task").filter(|_| block.kind == "env")?;
    let lines = format!(
        "template {{\n  destination = \"${{NOMAD_SECRETS_DIR}}/{}.env\"\n  env         = true\n  data        = <<-EOT\n    {{{{ \
         with nomadVar {variable:?} }}}}{item}={{{{ .{item} | toJSON }}}}{{{{ end }}}}\n  EOT\n}}",
        item.to_lowercase()
    );
    let from = secret.setting.name_span.start as usize;
    let removal = edits.remove(from, secret.setting.value.end as usize);
    Some(Repair::fallback(title, [removal, edits.lines_in(task, &lines)?]))
}

#[cfg(test)]
mod tests;
