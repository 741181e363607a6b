//! Output by template, for `-t` (`docs/spec/cli.md §3.6`): `encamp_template` with Go's own functions, over the JSON form of
//! a result.
//!
//! JSON does not tell what Go's structures are. An object whose keys all begin with a capital stands for one, so that a
//! field which it does not have is an error; other objects are maps, which give nothing for a missing key. `null` stands
//! for a pointer, list or map that is nil.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_template::{Failure, Functions, Limits, NoSource, Options, Template, Value};
use serde_json::Value as Json;
use thiserror::Error;

use super::RenderError;

/// The template is the user's own, and the result as large as the cluster: bounds only end loops without end.
const LIMITS: Limits =
    Limits { output: 4 << 30, steps: 1_000_000_000, memory: usize::MAX, work: usize::MAX, depth: 64, dependencies: 0 };

/// The result of a template over a value. `type_name` is what errors call the type of the value.
///
/// # Errors
/// The template cannot be read, or does not fit the value.
pub fn render(template: &str, value: &Json, type_name: &str) -> Result<String, RenderError> {
    let failed = |error| TemplateError::new(template, error);
    let options = Options { functions: Functions::OfGo, values_in_errors: true, ..Options::default() };
    let parsed = Template::parse("", template, &options).map_err(failed)?;
    let dot = converted(value, Some(type_name)).map_err(TemplateError::Value)?;
    let rendered = parsed.render_with(&NoSource, dot, &LIMITS).map_err(failed)?;
    // The template reads nothing besides the value, so that nothing can be missing.
    Ok(rendered.text.unwrap_or_default())
}

/// A value of JSON; `type_name` is that of the result as a whole.
fn converted(json: &Json, type_name: Option<&str>) -> Result<Value, Failure> {
    Ok(match json {
        Json::Null => Value::TypedNil,
        // Templates have no integers of this size; a float would not show all digits.
        Json::Number(n) if n.as_u64().is_some_and(|n| i64::try_from(n).is_err()) => Value::text(n.to_string()),
        Json::Array(items) => {
            let list = Value::list(items.iter().map(|item| converted(item, None)).collect::<Result<_, _>>()?)?;
            match type_name {
                Some(name) => list.with_type_name(name),
                None => list,
            }
        }
        Json::Object(members) => {
            let entry = |(key, value): (&String, &Json)| Ok((Arc::from(key.as_str()), converted(value, None)?));
            let map = Value::map(members.iter().map(entry).collect::<Result<BTreeMap<_, _>, Failure>>()?)?;
            if is_structure(members) { map.with_type_name(type_name.unwrap_or(ANONYMOUS)) } else { map }
        }
        other => Value::from_json(other)?,
    })
}

/// What errors call the type of a structure inside of a result.
const ANONYMOUS: &str = "map[string]interface {}";

/// Whether an object stands for a structure: its keys are all names that begin with a capital.
fn is_structure(members: &serde_json::Map<String, Json>) -> bool {
    !members.is_empty() && members.keys().all(|key| key.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// A template that cannot be read, or does not fit the value that it is applied to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The text is not a template.
    #[error("template: :{line}: {failure}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The problem.
        failure: Failure,
    },
    /// An action cannot be executed.
    #[error("template: :{line}:{column}: executing \"\" at <{action}>: {failure}")]
    Execution {
        /// The line, from 1.
        line: usize,
        /// The column in bytes, from 0.
        column: usize,
        /// The text of the part of the action.
        action: String,
        /// The problem.
        failure: Failure,
    },
    /// The value cannot be given to a template.
    #[error("template: {0}")]
    Value(Failure),
}

impl TemplateError {
    fn new(template: &str, error: encamp_template::Error) -> TemplateError {
        let (line, failure) = (error.place.line, error.failure);
        let Some(executed) = error.executed else { return TemplateError::Syntax { line, failure } };
        let before = template.get(..executed.start).unwrap_or_default();
        let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1);
        let action = template.get(executed).unwrap_or_default().into();
        TemplateError::Execution { line, column, action, failure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(template: &str) -> Result<String, RenderError> {
        let value = json!({
            "ID": "web", "N": 3, "F": 1.5, "Big": u64::MAX, "On": true, "Nil": null, "Tags": ["a", "b"],
            "Meta": {"k": "v", "j": "w"}, "List": [{"ID": "x", "N": 1}, {"ID": "y", "N": 2}],
        });
        render(template, &value, "api.Job")
    }

    #[test]
    fn templates_render() {
        for (template, want) in [
            ("{{.ID}} {{.N}}{{/* note */}}!", "web 3!"),
            ("{{range $i, $e := .List}}{{$i}}={{$e.ID}};{{else}}none{{end}}", "0=x;1=y;"),
            ("{{range $k, $v := .Meta}}{{$k}}={{$v}} {{end}}", "j=w k=v "),
            ("{{range .Tags}}{{.}}{{$.ID}} {{end}}", "aweb bweb "),
            ("{{range .Nil}}x{{else}}none{{end}}", "none"),
            ("{{if and .On (gt .N 2)}}yes{{else if .Nil}}no{{else}}never{{end}}", "yes"),
            ("{{if not .On}}a{{else if eq .ID \"api\" \"web\"}}b{{else}}c{{end}}", "b"),
            ("a {{- .N -}} \n b", "a3b"),
            ("{{with .Meta}}{{.k}}{{.none}}{{end}}", "v<no value>"),
            ("{{$x := .N}}{{$x}}{{$x = 4}}{{$x}}", "34"),
            ("{{.ID | printf \"%-5s|%q|\" \"é\"}}", "é    |\"web\"|"),
            ("{{printf \"%03d %5.1f %v %t %x\" .N .F .Tags .On 255}}", "003   1.5 [a b] true ff"),
            ("{{index .Tags 1}} {{index .Meta \"k\"}} {{len .Tags}} {{len \"abc\"}}", "b v 2 3"),
            ("{{println .ID .N}}{{print .N .F .ID}}", "web 3\n3 1.5web"),
            ("{{range .List}}{{if eq .N 2}}{{break}}{{end}}{{.ID}}{{end}}", "x"),
            ("{{range .List}}{{if eq .N 1}}{{continue}}{{end}}{{.ID}}{{end}}", "y"),
            ("{{.Meta}} {{(index .List 0).ID}} {{`raw\\n`}} {{'a'}} {{-1.5}}", "map[j:w k:v] x raw\\n 97 -1.5"),
            ("{{or .Nil \"other\"}} {{and 1 0}}", "other 0"),
            ("{{range $i := 3}}{{$i}}{{end}}", "012"),
            ("{{.Nil}} {{len .Nil}} {{.Big}}", "<nil> 0 18446744073709551615"),
            ("{{define \"t\"}}{{.ID}};{{end}}{{range .List}}{{template \"t\" .}}{{end}}", "x;y;"),
        ] {
            assert_eq!(run(template).unwrap_or_else(|e| e.to_string()), want, "{template}");
        }
    }

    #[test]
    fn failures_say_where() {
        for (template, want) in [
            ("{{.Nope}}", "template: :1:2: executing \"\" at <.Nope>: can't evaluate field Nope in type api.Job"),
            ("a\n{{ .ID.X }}", "template: :2:3: executing \"\" at <.ID.X>: can't evaluate field X in type string"),
            ("{{nope 1}}", "template: :1: function \"nope\" not defined"),
            ("{{env \"HOME\"}}", "template: :1: function \"env\" not defined"),
            (
                "{{(index .List 0).Nope}}",
                "template: :1:2: executing \"\" at <(index .List 0).Nope>: can't evaluate field Nope in type map[string]interface {}",
            ),
            ("é\né{{  .Nil.X}}", "template: :2:6: executing \"\" at <.Nil.X>: nil pointer evaluating interface {}.X"),
            ("{{$y}}", "template: :1: undefined variable \"$y\""),
            ("{{if .On}}", "template: :1: unexpected EOF"),
            ("{{.ID", "template: :1: unclosed action"),
            ("{{end}}", "template: :1: unexpected {{end}}"),
            (
                "{{index .Tags 9}}",
                "template: :1:2: executing \"\" at <index .Tags 9>: error calling index: index out of range: 9",
            ),
        ] {
            assert_eq!(run(template).unwrap_err().to_string(), want, "{template}");
        }
        assert!(run(&"{{if .On}}".repeat(5000)).unwrap_err().to_string().contains("too deep"));
        assert!(run(&format!("{{{{{}}}}}", "(".repeat(5000))).unwrap_err().to_string().contains("too deep"));
    }
}
