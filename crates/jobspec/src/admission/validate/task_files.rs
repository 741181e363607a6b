//! Files in the task directory: artifacts, templates, the dispatch payload (`docs/spec/jobspec.md §14.13`).

use std::collections::BTreeMap;

use thiserror::Error;

use super::constraint::parse_uint;
use super::errors::Errors;
use encamp_model::quoted;
use encamp_model::{DispatchPayloadConfig, Task, TaskArtifact, Template, format_duration};

const ESCAPES: &str = "destination escapes allocation directory";

/// Whether a path joined below `depth` directories leaves the topmost of them.
fn escapes(depth: usize, path: &str) -> bool {
    let mut depth = Some(depth);
    for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
        depth = match (part, depth) {
            (_, None) => return true,
            ("..", Some(d)) => d.checked_sub(1),
            (_, Some(d)) => d.checked_add(1),
        };
    }
    depth.is_none()
}

/// The allocation directory holds the task's directory.
const BELOW_TASK: usize = 1;
/// The allocation directory holds the task's, which holds `local`.
const BELOW_LOCAL: usize = 2;

pub(super) fn dispatch_payload(errors: &mut Errors, payload: &DispatchPayloadConfig) {
    errors.add_if(escapes(BELOW_LOCAL, &payload.file), format_args!("Dispatch Payload validation failed: {ESCAPES}"));
}

pub(super) fn artifact(a: &TaskArtifact) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(a.getter_source.is_empty(), "source must be specified");
    errors.add_if(
        !matches!(a.getter_mode.as_str(), "" | "any" | "file" | "dir"),
        format_args!("invalid artifact mode {}; must be one of: any, file, dir", quoted(&a.getter_mode)),
    );
    errors.add_if(escapes(BELOW_TASK, &a.relative_dest), ESCAPES);
    errors.flatten(a.getter_options.get("checksum").and_then(|c| checksum(c)));
    errors.into_items()
}

/// The `checksum` option: `type:hex`, checked unless it refers to something.
fn checksum(check: &str) -> Option<String> {
    let check = check.trim();
    if check.contains("${") {
        return None;
    }
    if check.is_empty() {
        return Some("checksum value cannot be empty".into());
    }
    let Some((kind, sum)) = check.split_once(':').filter(|(_, sum)| !sum.contains(':')) else {
        return Some(format!("checksum must be given as \"type:value\"; got {}", quoted(check)));
    };
    if let Err(e) = check_hex(sum) {
        return Some(format!("invalid checksum: {e}"));
    }
    let octets = match kind {
        "md5" => 16,
        "sha1" => 20,
        "sha256" => 32,
        "sha512" => 64,
        _ => return Some(format!("unsupported checksum type: {kind}")),
    };
    (sum.len() != 2 * octets).then(|| format!("invalid {kind} checksum: {sum}"))
}

/// Why a text is not made of bytes in hexadecimal.
#[derive(Debug, Error)]
enum HexError {
    #[error("encoding/hex: invalid byte: U+{0:04X}")]
    ControlByte(u8),
    #[error("encoding/hex: invalid byte: U+{0:04X} '{shown}'", shown = char::from(*.0))]
    Byte(u8),
    #[error("encoding/hex: odd length hex string")]
    OddLength,
}

fn check_hex(s: &str) -> Result<(), HexError> {
    match s.bytes().find(|b| !b.is_ascii_hexdigit()) {
        Some(b) if char::from(b).is_control() => Err(HexError::ControlByte(b)),
        Some(b) => Err(HexError::Byte(b)),
        None if s.len() % 2 == 1 => Err(HexError::OddLength),
        None => Ok(()),
    }
}

/// Templates are numbered from 1; no two may have the same destination.
pub(super) fn templates(errors: &mut Errors, task: &Task) {
    let mut destinations = BTreeMap::new();
    for (i, t) in task.templates.iter().enumerate().map(|(i, t)| (i + 1, t)) {
        errors.nest(format_args!("Template {i} validation failed: "), template(t));
        match destinations.get(&t.dest_path) {
            Some(other) => errors.add(format!("Template {i} has same destination as {other}")),
            None => {
                destinations.insert(&t.dest_path, i);
            }
        }
    }
}

fn template(t: &Template) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(
        t.source_path.is_empty() && t.embedded_tmpl.is_empty(),
        "Must specify a source path or have an embedded template",
    );
    errors.add_if(t.dest_path.is_empty(), "Must specify a destination for the template");
    errors.add_if(escapes(BELOW_TASK, &t.dest_path), ESCAPES);
    match t.change_mode.as_str() {
        "noop" | "restart" => {}
        "signal" => {
            errors.add_if(t.change_signal.is_empty(), "Must specify signal value when change mode is signal");
            errors.add_if(t.envvars, "cannot use signals with env var templates");
        }
        "script" => match &t.change_script {
            None => errors.add("must specify change script configuration value when change mode is script"),
            Some(s) => errors.add_if(s.command.is_empty(), "must specify script path value when change mode is script"),
        },
        _ => errors.add("Invalid change mode. Must be one of the following: noop, signal, script, restart"),
    }
    errors.add_if(t.splay < 0, "Must specify positive splay value");
    if !t.perms.is_empty()
        && let Err(e) = parse_uint(&t.perms, 8, 0o7777)
    {
        errors.add(format!("Failed to parse {} as octal: {e}", quoted(&t.perms)));
    }
    if let Some((min, max)) = t.wait.as_ref().and_then(|w| w.min.zip(w.max)) {
        errors.add_if(
            min > max,
            format_args!("wait min {} is greater than max {}", format_duration(min), format_duration(max)),
        );
    }
    errors.into_items()
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{ChangeScript, SECOND, WaitConfig};

    #[test]
    fn paths() {
        for (depth, path, want) in [
            (1, "local/x", false),
            (1, "../alloc/data", false),
            (1, "..", false),
            (1, "../..", true),
            (1, "../../task/x", true),
            (1, "/../../etc", true),
            (1, "a/../../b", false),
            (2, "../../x", false),
            (2, "../../../x", true),
            (1, "", false),
        ] {
            assert_eq!(escapes(depth, path), want, "{path}");
        }
        let mut errors = Errors::default();
        dispatch_payload(&mut errors, &DispatchPayloadConfig { file: "../../../x".into() });
        dispatch_payload(&mut errors, &DispatchPayloadConfig { file: "../../x".into() });
        assert_eq!(
            errors.into_items(),
            ["Dispatch Payload validation failed: destination escapes allocation directory"]
        );
    }

    #[test]
    fn artifact_texts() {
        let bad =
            TaskArtifact { getter_mode: "odd".into(), relative_dest: "../../x".into(), ..TaskArtifact::default() };
        assert_eq!(
            artifact(&bad),
            [
                "source must be specified",
                "invalid artifact mode \"odd\"; must be one of: any, file, dir",
                "destination escapes allocation directory",
            ]
        );
        let short = "ab".repeat(31);
        for (value, want) in [
            ("", "checksum value cannot be empty".to_string()),
            ("  ", "checksum value cannot be empty".into()),
            ("abc", "checksum must be given as \"type:value\"; got \"abc\"".into()),
            ("md5:${meta.sum}", String::new()),
            ("md5:zz", "invalid checksum: encoding/hex: invalid byte: U+007A 'z'".into()),
            ("md5:abc", "invalid checksum: encoding/hex: odd length hex string".into()),
            ("crc:ab", "unsupported checksum type: crc".into()),
            (&format!("sha256:{short}"), format!("invalid sha256 checksum: {short}")),
            (&format!("sha256:{short}ab"), String::new()),
            (&format!("md5:{}", "ab".repeat(16)), String::new()),
            (&format!("sha1:{}", "ab".repeat(20)), String::new()),
            (&format!("sha512:{}", "AB".repeat(64)), String::new()),
        ] {
            let a = TaskArtifact {
                getter_source: "x".into(),
                getter_options: [("checksum".to_string(), value.to_string())].into(),
                ..TaskArtifact::default()
            };
            assert_eq!(artifact(&a).join("|"), want, "{value}");
        }
    }

    #[test]
    fn template_texts() {
        let ok = || Template {
            embedded_tmpl: "x".into(),
            dest_path: "local/a".into(),
            change_mode: "restart".into(),
            perms: "0644".into(),
            ..Template::default()
        };
        let octal =
            |p: &str, why: &str| format!("Failed to parse \"{p}\" as octal: strconv.ParseUint: parsing \"{p}\": {why}");
        let wait = |min, max| Some(WaitConfig { min: Some(min), max });
        for (t, want) in [
            (ok(), vec![]),
            (Template { perms: "".into(), change_mode: "noop".into(), ..ok() }, vec![]),
            (
                Template { source_path: "".into(), embedded_tmpl: "".into(), dest_path: "".into(), ..ok() },
                vec![
                    "Must specify a source path or have an embedded template".to_string(),
                    "Must specify a destination for the template".into(),
                ],
            ),
            (Template { dest_path: "../../x".into(), ..ok() }, vec![ESCAPES.into()]),
            (
                Template { change_mode: "signal".into(), envvars: true, ..ok() },
                vec![
                    "Must specify signal value when change mode is signal".into(),
                    "cannot use signals with env var templates".into(),
                ],
            ),
            (
                Template { change_mode: "script".into(), ..ok() },
                vec!["must specify change script configuration value when change mode is script".into()],
            ),
            (
                Template { change_mode: "script".into(), change_script: Some(ChangeScript::default()), ..ok() },
                vec!["must specify script path value when change mode is script".into()],
            ),
            (
                Template { change_mode: "explode".into(), splay: -1, ..ok() },
                vec![
                    "Invalid change mode. Must be one of the following: noop, signal, script, restart".into(),
                    "Must specify positive splay value".into(),
                ],
            ),
            (Template { perms: "9z".into(), ..ok() }, vec![octal("9z", "invalid syntax")]),
            (Template { perms: "17777".into(), ..ok() }, vec![octal("17777", "value out of range")]),
            (Template { perms: "7777".into(), wait: wait(SECOND, Some(SECOND)), ..ok() }, vec![]),
            (
                Template { wait: wait(10 * SECOND, Some(5 * SECOND)), ..ok() },
                vec!["wait min 10s is greater than max 5s".into()],
            ),
            (Template { wait: wait(10 * SECOND, None), ..ok() }, vec![]),
        ] {
            assert_eq!(template(&t), want, "{t:?}");
        }
        let mut errors = Errors::default();
        templates(
            &mut errors,
            &Task { templates: vec![ok(), Template { dest_path: "b".into(), ..ok() }, ok(), ok()], ..Task::default() },
        );
        assert_eq!(
            errors.into_items(),
            ["Template 3 has same destination as 1", "Template 4 has same destination as 1"]
        );
    }
}
