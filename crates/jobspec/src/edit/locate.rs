//! Blocks of a job file by their path, and values that are written literally.

use encamp_hcl::ast::{Body, Expr, ExprKind, StepKind};
use encamp_hcl::diag::{Sources, Span};
use encamp_hcl::parser;

use super::{EditError, Splice, Step, quoted_text};
use crate::explain::outline::{Element, Literal, Outline, Setting, Syntax};

/// The innermost block of a path that the file has.
pub(super) struct Found<'o> {
    pub block: &'o Element,
    /// The steps behind it, which the file does not have.
    pub missing: &'o [Step],
}

/// A literal value.
pub(super) struct Site {
    pub span: Span,
    pub literal: Literal,
}

/// Whether a file is a JSON document, of either form.
pub(super) fn is_json(outline: &Outline, syntax: Syntax) -> bool {
    syntax == Syntax::Api || outline.text.trim_start_matches(' ').starts_with('{')
}

/// Follows a path as far as the file has its blocks.
pub(super) fn path<'o>(outline: &'o Outline, at: &'o [Step]) -> Result<Found<'o>, EditError> {
    let mut block = outline.job().ok_or_else(|| EditError::NoBlock("job".into()))?;
    for (done, step) in at.iter().enumerate() {
        match step_into(block, step)? {
            Some(inner) => block = inner,
            None => return Ok(Found { block, missing: at.get(done..).unwrap_or_default() }),
        }
    }
    Ok(Found { block, missing: &[] })
}

fn step_into<'o>(block: &'o Element, step: &Step) -> Result<Option<&'o Element>, EditError> {
    let (Step::Nth(kind, _) | Step::Labelled(kind, _)) = step;
    let all = || block.blocks.iter().filter(|b| b.kind == *kind);
    let labelled = |label: &str| all().find(|b| !b.dynamic && b.labels.first().is_some_and(|l| l == label));
    let found = match step {
        // Numbers behind a dynamic block are not known.
        Step::Nth(_, n) => all().take_while(|b| !b.dynamic).nth(*n),
        Step::Labelled(_, label) => labelled(label),
    };
    // A task outside of any group is a group of its own.
    let lone = |label: &String| block.blocks.iter().find(|b| b.kind == "task" && b.labels.first() == Some(label));
    match (found, step) {
        (Some(found), _) => Ok(Some(found)),
        (None, _) if all().any(|b| b.dynamic) => Err(EditError::Dynamic((*kind).to_string())),
        (None, Step::Labelled("group", label)) if block.kind == "job" => match lone(label) {
            Some(_) => Ok(Some(block)),
            None => Err(EditError::NoBlock(format!("group {label:?}"))),
        },
        (None, Step::Labelled(kind, label)) => Err(EditError::NoBlock(format!("{kind} {label:?}"))),
        (None, Step::Nth(..)) => Ok(None),
    }
}

/// The literal that a setting has: its own, or that of the default of the variable that it takes.
pub(super) fn literal(outline: &Outline, setting: &Setting, json: bool) -> Result<Site, EditError> {
    if let Some(site) = own_literal(setting) {
        return Ok(site);
    }
    let default = default_of(outline, setting, json)?;
    own_literal(default).ok_or_else(|| no_default(outline, setting))
}

fn own_literal(setting: &Setting) -> Option<Site> {
    let simple = matches!(setting.literal, Literal::Text(_) | Literal::Number(_) | Literal::Bool);
    simple.then(|| Site { span: setting.value, literal: setting.literal.clone() })
}

/// The default of the variable that a setting takes.
fn default_of<'o>(outline: &'o Outline, setting: &Setting, json: bool) -> Result<&'o Setting, EditError> {
    let attribute = setting.name.clone();
    let computed = |attribute| EditError::Expression { attribute, text: outline.slice(setting.value).to_string() };
    if json {
        return Err(computed(attribute));
    }
    let Some(expr) = expression_at(outline, setting.value) else { return Err(computed(attribute)) };
    let Some(variable) = variable(&expr) else { return Err(origin(&expr, attribute, outline)) };
    let declared = outline.root.blocks.iter().find_map(|b| match b.kind.as_str() {
        "variable" if b.labels.first() == Some(&variable) => b.setting("default"),
        "variables" => b.setting(&variable),
        _ => None,
    });
    declared.ok_or(EditError::Variable { attribute, variable })
}

fn no_default(outline: &Outline, setting: &Setting) -> EditError {
    let attribute = setting.name.clone();
    match expression_at(outline, setting.value).and_then(|e| variable(&e)) {
        Some(variable) => EditError::Variable { attribute, variable },
        None => EditError::Expression { attribute, text: outline.slice(setting.value).to_string() },
    }
}

/// The name of the variable that an expression is, and nothing else.
fn variable(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Wrap(inner) | ExprKind::Paren(inner) => variable(inner),
        ExprKind::Reference { root, steps, .. } if root == "var" => match steps.as_slice() {
            [step] => match &step.kind {
                StepKind::Attribute(name) | StepKind::Text(name) => Some(name.clone()),
                StepKind::Number(_) => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// What a computed value comes from.
fn origin(expr: &Expr, attribute: String, outline: &Outline) -> EditError {
    let (mut function, mut local) = (None, None);
    expr.walk(&mut |inner| match &inner.kind {
        ExprKind::Call(call) => drop(function.get_or_insert_with(|| call.name.clone())),
        ExprKind::Reference { root, steps, .. } if root == "local" => {
            if let Some(StepKind::Attribute(name)) = steps.first().map(|s| &s.kind) {
                local.get_or_insert_with(|| name.clone());
            }
        }
        _ => {}
    });
    match (function, local) {
        (Some(function), _) => EditError::Function { attribute, function },
        (None, Some(local)) => EditError::Local { attribute, local },
        (None, None) => EditError::Expression { attribute, text: outline.slice(expr.span).to_string() },
    }
}

/// The expression of the attribute whose value is there.
fn expression_at(outline: &Outline, span: Span) -> Option<Expr> {
    let sources = Sources::default();
    let source = sources.add(&outline.name, &outline.text);
    let body = parser::parse_body(&sources, source).ok()?;
    find(&body, span).cloned()
}

fn find(body: &Body, span: Span) -> Option<&Expr> {
    let own = body.attributes.iter().map(|a| &a.expr).find(|e| (e.span.start, e.span.end) == (span.start, span.end));
    own.or_else(|| body.blocks.iter().find_map(|b| find(&b.body, span)))
}

/// One more item in a list that is written literally, or is the default of a variable.
pub(super) fn appended(outline: &Outline, setting: &Setting, item: &str, json: bool) -> Result<Splice, EditError> {
    let list = match setting.literal {
        Literal::List => setting,
        _ => default_of(outline, setting, json)?,
    };
    if list.literal != Literal::List {
        return Err(no_default(outline, setting));
    }
    let value = list.value;
    let last = if json { None } else { expression_at(outline, value).and_then(|e| last_items(&e)) };
    let text = quoted_text(item);
    match last {
        // Each item has a line of its own.
        Some((before, last)) if newline_between(outline, before, last.start) => {
            let line = outline.text.get(..last.start as usize).and_then(|t| t.rsplit('\n').next()).unwrap_or_default();
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            Ok(insert(last.end as usize, format!(",\n{indent}{text}")))
        }
        Some((_, last)) => Ok(insert(last.end as usize, format!(", {text}"))),
        None => {
            let inside = outline.slice(value).strip_suffix(']').unwrap_or_default();
            let kept = inside.trim_end().len();
            let first = inside.trim_end().ends_with('[');
            let at = (value.start as usize).saturating_add(kept);
            Ok(insert(at, if first { text } else { format!(", {text}") }))
        }
    }
}

fn insert(at: usize, text: String) -> Splice {
    Splice { range: at..at, text }
}

/// Where what is before the last item ends, and the last item.
fn last_items(expr: &Expr) -> Option<(u32, Span)> {
    let ExprKind::Tuple { open, items } = &expr.kind else { return None };
    match items.as_slice() {
        [] => None,
        [only] => Some((open.end, only.span)),
        [.., before, last] => Some((before.span.end, last.span)),
    }
}

fn newline_between(outline: &Outline, from: u32, to: u32) -> bool {
    outline.text.get(from as usize..to as usize).is_some_and(|between| between.contains('\n'))
}
