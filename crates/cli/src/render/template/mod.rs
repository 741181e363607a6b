//! Output by template, for `-t` (`docs/spec/cli.md §3.6`): the text/template language over the JSON form of a result.
//!
//! Fields, variables, pipelines, `if`, `with`, `range`, `break`, `continue`, comments, trim markers and the built-in
//! functions. `parse`: text to nodes; this file: nodes and a value to text; `functions`: what pipelines call;
//! `error`: what can fail.

mod error;
mod functions;
mod parse;

use serde_json::Value;

use super::RenderError;
pub use error::{CallError, EvaluationError, Position, SyntaxError, TemplateError};
use functions::{call, print, truth};
use parse::{Branch, Node, Operand, OperandKind, Pipeline};

/// A value, or nothing where a map has no such key.
pub(super) type Maybe = Option<Value>;

/// The result of a template over a value. `type_name` is what errors call the type of the value.
///
/// # Errors
/// The template cannot be read, or does not fit the value.
pub fn render(template: &str, value: &Value, type_name: &str) -> Result<String, RenderError> {
    let nodes = parse::parse(template)?;
    let mut run = Run { root: value, type_name, vars: Vec::new(), out: String::new() };
    run.nodes(&nodes, Some(value.clone()))?;
    Ok(run.out)
}

/// The continuation after a node: the next one, or the end of the loop around it.
enum Flow {
    Next,
    Break,
    Continue,
}

struct Run<'a> {
    root: &'a Value,
    type_name: &'a str,
    vars: Vec<(String, Maybe)>,
    out: String,
}

impl Run<'_> {
    /// Nesting is bounded by the parser.
    fn nodes(&mut self, nodes: &[Node], dot: Maybe) -> Result<Flow, TemplateError> {
        let scope = self.vars.len();
        for node in nodes {
            let flow = self.node(node, &dot)?;
            if !matches!(flow, Flow::Next) {
                self.vars.truncate(scope);
                return Ok(flow);
            }
        }
        self.vars.truncate(scope);
        Ok(Flow::Next)
    }

    fn node(&mut self, node: &Node, dot: &Maybe) -> Result<Flow, TemplateError> {
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Output(pipeline) => {
                let value = self.pipeline(pipeline, dot)?;
                if pipeline.variables.is_empty() {
                    self.out.push_str(&value.as_ref().map_or("<no value>".into(), print));
                }
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::If(branch) | Node::With(branch) => return self.branch(branch, matches!(node, Node::With(_)), dot),
            Node::Range(branch) => return self.range(branch, dot),
        }
        Ok(Flow::Next)
    }

    fn branch(&mut self, branch: &Branch, with: bool, dot: &Maybe) -> Result<Flow, TemplateError> {
        let scope = self.vars.len();
        let value = self.pipeline(&branch.pipeline, dot)?;
        let flow = if truth(&value) {
            self.nodes(&branch.then, if with { value } else { dot.clone() })
        } else {
            self.nodes(&branch.otherwise, dot.clone())
        };
        self.vars.truncate(scope);
        flow
    }

    fn range(&mut self, branch: &Branch, dot: &Maybe) -> Result<Flow, TemplateError> {
        let scope = self.vars.len();
        let value = self.commands(&branch.pipeline, dot)?;
        let items: Vec<(Value, Value)> = match value.unwrap_or_default() {
            Value::Array(list) => list.into_iter().enumerate().map(|(i, v)| (Value::from(i), v)).collect(),
            Value::Object(map) => map.into_iter().map(|(k, v)| (Value::from(k), v)).collect(),
            Value::Null => Vec::new(),
            Value::Number(n) if n.as_u64().is_some_and(|n| n <= MAX_COUNT) => {
                (0..n.as_u64().unwrap_or(0)).map(|i| (Value::from(i), Value::from(i))).collect()
            }
            other => return Err(branch.pipeline.failure(EvaluationError::Range(print(&other)))),
        };
        if items.is_empty() {
            return self.nodes(&branch.otherwise, dot.clone());
        }
        for (key, item) in items {
            let names = &branch.pipeline.variables;
            match (names.first(), names.get(1)) {
                (Some(first), Some(second)) => {
                    self.bind(first, Some(key), &branch.pipeline)?;
                    self.bind(second, Some(item.clone()), &branch.pipeline)?;
                }
                (Some(only), None) => self.bind(only, Some(item.clone()), &branch.pipeline)?,
                _ => {}
            }
            let flow = self.nodes(&branch.then, Some(item))?;
            self.vars.truncate(scope);
            if matches!(flow, Flow::Break) {
                break;
            }
        }
        Ok(Flow::Next)
    }

    /// Gives a variable of the pipeline its value.
    fn bind(&mut self, name: &str, value: Maybe, pipeline: &Pipeline) -> Result<(), TemplateError> {
        if !pipeline.assigns {
            self.vars.push((name.into(), value));
            return Ok(());
        }
        let slot = self.vars.iter_mut().rfind(|(n, _)| n == name);
        slot.ok_or_else(|| pipeline.failure(EvaluationError::UndefinedVariable(name.into())))?.1 = value;
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Maybe) -> Result<Maybe, TemplateError> {
        let value = self.commands(pipeline, dot)?;
        if let Some(name) = pipeline.variables.first() {
            self.bind(name, value.clone(), pipeline)?;
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Maybe) -> Result<Maybe, TemplateError> {
        let mut value: Option<Maybe> = None;
        for command in &pipeline.commands {
            let Some((head, rest)) = command.split_first() else { continue };
            value = Some(match &head.kind {
                OperandKind::Function(name) => self.function(name, head, rest, value, dot)?,
                _ if rest.is_empty() && value.is_none() => self.operand(head, dot)?,
                _ => return Err(head.failure(EvaluationError::NoFunction)),
            });
        }
        Ok(value.flatten())
    }

    fn function(
        &mut self,
        name: &str,
        head: &Operand,
        rest: &[Operand],
        piped: Option<Maybe>,
        dot: &Maybe,
    ) -> Result<Maybe, TemplateError> {
        // These two stop at the first argument that decides.
        if matches!(name, "and" | "or") {
            let mut last = None;
            for operand in rest {
                last = self.operand(operand, dot)?;
                if truth(&last) == (name == "or") {
                    return Ok(last);
                }
            }
            return match (piped, rest.is_empty()) {
                (Some(piped), _) => Ok(piped),
                (None, false) => Ok(last),
                (None, true) => Err(head.failure(EvaluationError::NoArguments(name.into()))),
            };
        }
        let mut args = Vec::with_capacity(rest.len().saturating_add(1));
        for operand in rest {
            args.push(self.operand(operand, dot)?);
        }
        args.extend(piped);
        call(name, &args).map_err(|e| head.failure(e))
    }

    fn operand(&mut self, operand: &Operand, dot: &Maybe) -> Result<Maybe, TemplateError> {
        match &operand.kind {
            OperandKind::Dot(path) => self.path(dot.clone(), path, operand),
            OperandKind::Literal(value) => Ok(Some(value.clone())),
            OperandKind::Variable(name, path) => {
                let value = if name == "$" {
                    Some(self.root.clone())
                } else {
                    let found = self.vars.iter().rfind(|(n, _)| n == name).map(|(_, v)| v.clone());
                    found.ok_or_else(|| operand.failure(EvaluationError::UndefinedVariable(name.clone())))?
                };
                self.path(value, path, operand)
            }
            OperandKind::Pipeline(pipeline, path) => {
                let value = self.pipeline(pipeline, dot)?;
                self.path(value, path, operand)
            }
            OperandKind::Function(name) => self.function(name, operand, &[], None, dot),
        }
    }

    fn path(&self, value: Maybe, path: &[String], operand: &Operand) -> Result<Maybe, TemplateError> {
        let mut value = value;
        for name in path {
            let missing = |value: &Value| {
                let kind = if value == self.root { self.type_name } else { type_of(value) };
                Err(operand.failure(EvaluationError::Field { field: name.clone(), kind: kind.into() }))
            };
            value = match value {
                None => return Ok(None),
                Some(Value::Null) => return Err(operand.failure(EvaluationError::FieldOfNil(name.clone()))),
                Some(Value::Object(map)) => match map.get(name) {
                    Some(found) => Some(found.clone()),
                    None if is_struct(&map) => return missing(&Value::Object(map)),
                    None => None,
                },
                Some(other) => return missing(&other),
            };
        }
        Ok(value)
    }
}

/// More than this many rounds of `range` over a number are refused.
const MAX_COUNT: u64 = 1_000_000;

/// Whether an object stands for a structure: its keys are all names that begin with a capital. A map of free keys gives
/// nothing for a missing one; a structure has no such field.
fn is_struct(map: &serde_json::Map<String, Value>) -> bool {
    !map.is_empty() && map.keys().all(|k| k.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "interface {}",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(template: &str) -> Result<String, RenderError> {
        let value = json!({
            "ID": "web", "N": 3, "F": 1.5, "On": true, "Nil": null, "Tags": ["a", "b"],
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
