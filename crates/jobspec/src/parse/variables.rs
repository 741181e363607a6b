//! `variable`, `variables` and `locals`: declarations, assignments, checks (`docs/spec/jobspec.md §4`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use super::{Document, ParseOptions};
use encamp_hcl::ast::{Expr, ExprKind, StepKind};
use encamp_hcl::body::{Attr, BlockRef, BodyRef, Content, Expected};
use encamp_hcl::diag::{Diag, Span, Subject};
use encamp_hcl::eval::type_expr::{Exactness, parse_type};
use encamp_hcl::eval::{Evaluator, Names, Scope, key};
use encamp_hcl::functions::FunctionContext;
use encamp_hcl::lexer::is_identifier;
use encamp_hcl::parser::parse_expression;
use encamp_hcl::types::Type;
use encamp_hcl::value::{Entries, Value};
use encamp_model::quoted;

/// Environment variables with this prefix assign variables.
const ENV_PREFIX: &str = "NOMAD_VAR_";

const VARIABLE: Expected = Expected {
    attributes: &[("default", false), ("description", false), ("type", false)],
    blocks: &[("validation", 0)],
    dynamic: false,
    first: &[],
};
const VALIDATION: Expected =
    Expected { attributes: &[("condition", true), ("error_message", true)], blocks: &[], dynamic: false, first: &[] };

/// A declared variable.
struct Variable<'a> {
    name: String,
    /// Declared, or that of the default.
    ty: Option<Type>,
    value: Option<Assigned>,
    validations: Vec<Validation<'a>>,
}

/// A value and where it came from.
struct Assigned {
    value: Value,
    origin: &'static str,
    subject: Subject,
}

struct Validation<'a> {
    def: Span,
    condition: Cow<'a, Expr>,
    message: String,
}

/// A variable file or text, read.
pub(crate) struct VariableFile {
    pub name: String,
    pub document: Document,
}

/// Reads declarations and assignments, checks them, and returns the values by name. What is wrong is reported. `checks`
/// are the functions that validation rules may call.
pub(crate) fn variables<'e>(
    root: &Content,
    files: &[VariableFile],
    opts: &ParseOptions,
    checks: &'e FunctionContext,
    ev: &mut Evaluator<'e>,
) -> Entries {
    let mut declared = Declared { list: Vec::new(), by_name: HashMap::new() };
    for block in &root.blocks {
        match block.kind.as_str() {
            "variable" => declare(&mut declared, block, ev),
            "variables" => declare_short(&mut declared, block, ev),
            _ => {}
        }
    }
    assign_env(&mut declared, opts, ev);
    for file in files {
        assign_file(&mut declared, file, opts.strict, ev);
    }
    assign_args(&mut declared, opts, ev);
    for variable in declared.list.iter().filter(|v| v.value.is_none()) {
        let summary = format!("Unset variable {:?}", variable.name);
        // Two spaces before the last word, as Nomad prints it.
        let detail = "A used variable must be set or have a default value; see \
                      https://developer.hashicorp.com/nomad/docs/reference/hcl2/variables  for details.";
        ev.report(Diag::nowhere(summary, detail));
    }
    for variable in &declared.list {
        check(variable, checks, ev);
    }
    let values = declared.list.into_iter();
    values.map(|v| (key(&v.name), v.value.map_or(Value::Unknown, |a| a.value))).collect()
}

struct Declared<'a> {
    list: Vec<Variable<'a>>,
    by_name: HashMap<String, usize>,
}

impl<'a> Declared<'a> {
    fn get(&mut self, name: &str) -> Option<&mut Variable<'a>> {
        self.by_name.get(name).and_then(|at| self.list.get_mut(*at))
    }

    fn add(&mut self, variable: Variable<'a>, ev: &mut Evaluator) {
        if self.by_name.contains_key(&variable.name) {
            let detail = format!("Duplicate {} variable definition found.", variable.name);
            return ev.report(Diag::nowhere("Duplicate variable", detail));
        }
        self.by_name.insert(variable.name.clone(), self.list.len());
        self.list.push(variable);
    }
}

fn declare<'a>(declared: &mut Declared<'a>, block: &BlockRef<'a>, ev: &mut Evaluator) {
    let Some(label) = block.labels.first() else { return };
    if !is_identifier(&label.text) {
        let detail = "A name must start with a letter or underscore and may contain only letters, digits, underscores, and \
                      dashes.";
        ev.report(Diag::at(label.span, "Invalid variable name", detail));
    }
    let content = block.body.content(VARIABLE, ev, &block.scope);
    let mut variable = Variable { name: label.text.clone(), ty: None, value: None, validations: Vec::new() };
    if let Some(attr) = content.attribute("description") {
        let value = ev.eval(&attr.expr, &block.scope);
        let error = match value.convert(&Type::String) {
            Ok(Value::Null) => Some("null value is not allowed".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(error) = error {
            let detail = format!("Unsuitable value: {error}");
            ev.report(Diag::at(attr.expr.start_span(), "Unsuitable value type", detail));
        }
    }
    if let Some(attr) = content.attribute("type") {
        match parse_type(&attr.expr, Exactness::Exact) {
            Ok(ty) => variable.ty = Some(ty),
            // A variable without a type is not declared.
            Err(diag) => return ev.report(diag),
        }
    }
    if let Some(attr) = content.attribute("default") {
        set_default(&mut variable, attr, &block.scope, ev);
    }
    for validation in &content.blocks {
        let content = validation.body.content(VALIDATION, ev, &block.scope);
        let Some(condition) = content.attribute("condition") else {
            let detail = "validation requires a condition.";
            ev.report(Diag::at(validation.def, "Invalid variable validation specification", detail));
            continue;
        };
        check_references(&variable.name, condition, ev);
        // Values are checked even if there is nothing to say about those that are refused.
        let message = content.attribute("error_message").and_then(|m| error_message(m, &block.scope, ev));
        let message = message.unwrap_or_default();
        variable.validations.push(Validation { def: validation.def, condition: condition.expr.clone(), message });
    }
    declared.add(variable, ev);
}

fn set_default(variable: &mut Variable, attr: &Attr, scope: &Scope, ev: &mut Evaluator) {
    let mut value = ev.eval(&attr.expr, scope);
    match &variable.ty {
        None => variable.ty = Some(value.ty()),
        Some(ty) => match value.convert(ty) {
            Ok(converted) => value = converted,
            Err(error) => {
                let detail =
                    format!("This default value is not compatible with the variable's type constraint: {error}.");
                ev.report(Diag::at(attr.expr.span, "Invalid default value for variable", detail));
                value = Value::Unknown;
            }
        },
    }
    variable.value = Some(Assigned { value, origin: "default", subject: Subject::At(attr.expr.span) });
}

/// `variables { name = default }`
fn declare_short<'a>(declared: &mut Declared<'a>, block: &BlockRef<'a>, ev: &mut Evaluator) {
    for attr in block.body.just_attributes(ev) {
        let mut variable = Variable { name: attr.name.to_owned(), ty: None, value: None, validations: Vec::new() };
        set_default(&mut variable, &attr, &block.scope, ev);
        declared.add(variable, ev);
    }
}

/// A condition must refer to its variable, and to nothing else.
fn check_references(name: &str, condition: &Attr, ev: &mut Evaluator) {
    let mut own = false;
    let mut others = Vec::new();
    condition.expr.walk(&mut |expr| {
        if let ExprKind::Reference { root, steps, .. } = &expr.kind {
            let first = steps.first().map(|s| &s.kind);
            match first {
                Some(StepKind::Attribute(n) | StepKind::Text(n)) if root == "var" && n == name => own = true,
                _ => others.push((expr.span, root.clone())),
            }
        }
    });
    // Variables of `for` expressions are no references.
    let mut bound = BTreeSet::new();
    condition.expr.walk(&mut |expr| {
        if let ExprKind::For(node) = &expr.kind {
            bound.extend(node.key_name.clone());
            bound.insert(node.value_name.clone());
        }
    });
    for (span, _) in others.into_iter().filter(|(_, root)| !bound.contains(root)) {
        let detail =
            format!("The condition for variable {name:?} can only refer to the variable itself, using var.{name}.");
        ev.report(Diag::at(span, "Invalid reference in variable validation", detail));
        own = true;
    }
    if !own {
        let detail =
            format!("The condition for variable {name:?} must refer to var.{name} in order to test incoming values.");
        ev.report(Diag::at(condition.expr.span, "Invalid variable validation condition", detail));
    }
}

fn error_message(attr: &Attr, scope: &Scope, ev: &mut Evaluator) -> Option<String> {
    let value = ev.eval(&attr.expr, scope);
    match value.convert(&Type::String) {
        Ok(Value::String(text)) if !text.trim().is_empty() => Some(text.to_string()),
        Ok(Value::Unknown) => {
            let detail = "Unsuitable value: value must be known";
            ev.report(Diag::at(attr.expr.start_span(), "Unsuitable value type", detail));
            None
        }
        Ok(_) => {
            let detail = "An empty or blank string is not a valid nor useful error message.";
            ev.report(Diag::at(attr.expr.span, "Invalid validation error message", detail));
            None
        }
        Err(error) => {
            let detail = format!("Unsuitable value: {error}");
            ev.report(Diag::at(attr.expr.start_span(), "Unsuitable value type", detail));
            None
        }
    }
}

/// The value of a text from the environment or the command line: the text itself for strings, numbers and variables
/// without type and default, else a constant expression. `None` when the text is no expression.
fn value_of_text(
    name: &str,
    text: &str,
    ty: Option<&Type>,
    from: &str,
    ev: &mut Evaluator,
) -> Option<(Value, Subject)> {
    if matches!(ty, None | Some(Type::String | Type::Number)) {
        return Some((Value::from(text), Subject::Outside));
    }
    let source = ev.sources.add(&format!("<value for var.{name} from {from}>"), text);
    match parse_expression(ev.sources, source) {
        Ok(expr) => Some((ev.eval(&expr, &Scope::default()), Subject::At(expr.span))),
        Err(diags) => {
            diags.into_iter().for_each(|d| ev.report(d));
            None
        }
    }
}

fn assign(variable: &mut Variable, value: Value, subject: Subject, origin: &'static str, ev: &mut Evaluator) {
    let value = match variable.ty.as_ref().map_or(Ok(value.clone()), |ty| value.convert(ty)) {
        Ok(value) => value,
        Err(error) => {
            let (summary, what) = match origin {
                "cmd" => ("Invalid argument value for -var variable", "received arg value"),
                _ => ("Invalid value for variable", "value"),
            };
            let detail = format!(
                "The {what} for {} is not compatible with the variable's type constraint: {error}.",
                variable.name
            );
            ev.report(Diag::about(subject, summary, detail));
            Value::Unknown
        }
    };
    variable.value = Some(Assigned { value, origin, subject });
}

fn assign_env(declared: &mut Declared, opts: &ParseOptions, ev: &mut Evaluator) {
    for (name, text) in &opts.env {
        let Some(variable) = name.strip_prefix(ENV_PREFIX).and_then(|name| declared.get(name)) else { continue };
        if let Some((value, subject)) = value_of_text(&variable.name, text, variable.ty.as_ref(), "env", ev) {
            assign(variable, value, subject, "env", ev);
        }
    }
}

fn assign_file(declared: &mut Declared, file: &VariableFile, strict: bool, ev: &mut Evaluator) {
    let body = file.document.body();
    let attributes = match body {
        BodyRef::Json(_) => body.constants(ev),
        BodyRef::Native(native) => {
            let mut first_other = true;
            for block in &native.blocks {
                if block.kind == "variable"
                    && let Some(label) = block.labels.first()
                {
                    let name = &label.text;
                    let detail = format!(
                        "A .var file is used to assign values to variables that have already been declared in job files, not \
                         to declare new variables. To declare variable {name:?}, place this block in one of your job \
                         files\n\nTo set a value for this variable in {}, use the definition syntax instead:\n    {name} = \
                         <value>",
                        file.name
                    );
                    ev.report(Diag::at(block.kind_span, "Variable declaration in a .var file", detail));
                } else if std::mem::take(&mut first_other) {
                    let summary = format!("Unexpected {:?} block", block.kind);
                    ev.report(Diag::at(block.kind_span, summary, "Blocks are not allowed here."));
                }
            }
            let attributes = native.attributes.iter();
            attributes.map(|a| Attr { name: &a.name, name_span: a.name_span, expr: Cow::Borrowed(&a.expr) }).collect()
        }
    };
    for attr in attributes {
        match declared.get(attr.name) {
            Some(variable) => {
                let value = ev.eval(&attr.expr, &Scope::default());
                assign(variable, value, Subject::At(attr.expr.span), "varfile", ev);
            }
            None => {
                let name = attr.name;
                let detail = format!(
                    "A {name:?} variable was set but was not found in known variables. To declare variable {name:?}, place \
                     this block in your job files"
                );
                let warning = !strict;
                ev.report(Diag { warning, ..Diag::nowhere("Undefined variable", detail) });
            }
        }
    }
}

fn assign_args(declared: &mut Declared, opts: &ParseOptions, ev: &mut Evaluator) {
    for arg in &opts.vars {
        let Some((name, text)) = arg.split_once('=') else { continue };
        match declared.get(name) {
            Some(variable) => {
                if let Some((value, subject)) = value_of_text(name, text, variable.ty.as_ref(), "arguments", ev) {
                    assign(variable, value, subject, "cmd", ev);
                }
            }
            None if opts.strict => {
                let name = quoted(name);
                let detail = format!(
                    "A {name} variable was passed in the command line but was not found in known variables. To declare \
                     variable {name}, place this block in your job file"
                );
                ev.report(Diag::nowhere("Undefined -var variable", detail));
            }
            None => {}
        }
    }
}

/// Runs the validation rules of a variable on its value.
fn check<'e>(variable: &Variable, functions: &'e FunctionContext, ev: &mut Evaluator<'e>) {
    const SUMMARY: &str = "Invalid variable validation result";
    let Some(assigned) = variable.value.as_ref().filter(|a| a.value.is_wholly_known()) else { return };
    let var = Entries::from([(key(&variable.name), assigned.value.clone())]);
    let scope = Scope { roots: BTreeMap::from([("var".to_owned(), var)]), ..Scope::default() };
    for rule in &variable.validations {
        let value = ev.with(Names::Scoped, Some(functions), |ev| ev.eval(&rule.condition, &scope));
        let detail = match value.convert(&Type::Bool) {
            Ok(Value::Bool(true) | Value::Unknown) => continue,
            Ok(Value::Bool(false)) => {
                let detail = format!(
                    "{}\n\nThis was checked by the validation rule at {}.",
                    rule.message,
                    ev.sources.range(rule.def)
                );
                let summary = format!("Invalid value for {} variable", assigned.origin);
                ev.report(Diag::about(assigned.subject, summary, detail));
                continue;
            }
            Ok(_) => "Validation condition expression must return either true or false, not null.".to_owned(),
            Err(error) => format!("Invalid validation condition result value: {error}."),
        };
        ev.report(Diag::at(rule.condition.span, SUMMARY, detail));
    }
}

/// Evaluates `locals` in the order they need each other. Where some cannot be evaluated (a cycle, an unknown name), the
/// first one's error is reported.
pub(crate) fn locals(root: &Content, variables: Entries, ev: &mut Evaluator) -> Rc<Scope> {
    let found = declared_locals(root, ev);
    let roots = BTreeMap::from([("var".to_owned(), variables), ("local".to_owned(), Entries::new())]);
    let mut scope = Scope { roots, ..Scope::default() };
    let mut failures: BTreeMap<usize, Vec<Diag>> = BTreeMap::new();
    for at in evaluation_order(&found) {
        let Some(attr) = found.get(at) else { continue };
        let before = std::mem::take(&mut ev.diags);
        let value = ev.eval(&attr.expr, &scope);
        let diags = std::mem::replace(&mut ev.diags, before);
        if diags.is_empty() {
            scope.roots.entry("local".to_owned()).or_default().insert(key(attr.name), value);
        } else {
            failures.insert(at, diags);
        }
    }
    if let Some((_, diags)) = failures.pop_first() {
        diags.into_iter().for_each(|d| ev.report(d));
    }
    Rc::new(scope)
}

/// The locals of all blocks. Of those with one name, the last one counts, at the place of the first.
fn declared_locals<'a>(root: &Content<'a>, ev: &mut Evaluator) -> Vec<Attr<'a>> {
    let mut found: Vec<Attr> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for block in root.blocks.iter().filter(|b| b.kind == "locals") {
        for attr in block.body.just_attributes(ev) {
            match by_name.get(attr.name).and_then(|at| found.get_mut(*at)) {
                Some(earlier) => *earlier = attr,
                None => {
                    by_name.insert(attr.name, found.len());
                    found.push(attr);
                }
            }
        }
    }
    found
}

/// The locals by their positions, each behind those that it needs. Those in a cycle come last: they are evaluated as
/// things stand, which fails.
fn evaluation_order(found: &[Attr]) -> Vec<usize> {
    let by_name: HashMap<&str, usize> = found.iter().enumerate().map(|(at, attr)| (attr.name, at)).collect();
    let mut waiting: Vec<usize> = vec![0; found.len()];
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); found.len()];
    for (at, attr) in found.iter().enumerate() {
        let needs = needs(&attr.expr, &by_name);
        for need in &needs {
            needed_by.get_mut(*need).into_iter().for_each(|list| list.push(at));
        }
        waiting.get_mut(at).into_iter().for_each(|count| *count = needs.len());
    }
    let mut ready: VecDeque<usize> = waiting.iter().enumerate().filter(|(_, n)| **n == 0).map(|(at, _)| at).collect();
    let mut order = Vec::with_capacity(found.len());
    while let Some(at) = ready.pop_front() {
        order.push(at);
        for next in needed_by.get(at).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*next) {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(*next);
                }
            }
        }
    }
    let done: BTreeSet<usize> = order.iter().copied().collect();
    order.extend((0..found.len()).filter(|at| !done.contains(at)));
    order
}

/// The locals an expression refers to.
fn needs(expr: &Expr, by_name: &HashMap<&str, usize>) -> BTreeSet<usize> {
    let mut needs = BTreeSet::new();
    expr.walk(&mut |e| {
        if let ExprKind::Reference { root, steps, .. } = &e.kind
            && root == "local"
            && let Some(StepKind::Attribute(name) | StepKind::Text(name)) = steps.first().map(|s| &s.kind)
        {
            needs.extend(by_name.get(name.as_str()));
        }
    });
    needs
}
