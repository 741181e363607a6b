//! Execution of templates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::{Bound, Error, Failure, Leave};
use crate::functions::{self, Function, Short};
use crate::print::{self, Text};
use crate::source::{Answer, Dependency, Source};
use crate::tree::{Branch, Node, Pipe, Set, Span, Term, TermKind};
use crate::value::Value;
use crate::{Limits, Rendered, Template};

/// Executes a template.
pub(crate) fn run(template: &Template, source: &dyn Source, dot: Value, limits: &Limits) -> Result<Rendered, Error> {
    let mut run = Run {
        set: &template.set,
        source,
        limits,
        strict: template.error_on_missing_key,
        values_in_errors: template.values_in_errors,
        out: Text::new(limits.output),
        span: Span::default(),
        steps: 0,
        memory: 0,
        work: 0,
        depth: 0,
        nesting: 0,
        variables: vec![("$".into(), dot.clone())],
        dependencies: BTreeSet::new(),
        missing: BTreeSet::new(),
        scratch: BTreeMap::new(),
    };
    let done = run.nodes(&dot, &template.set.main);
    let text = match done {
        Ok(()) if run.missing.is_empty() => Some(run.out.finish()),
        Ok(()) => None,
        // What is missing may be the reason; bounds hold whatever comes.
        Err(failure) if run.missing.is_empty() || matches!(failure, Failure::Bound(_)) => {
            let (name, executed) = (template.name.clone(), Some(run.span.bytes()));
            return Err(Error { name, place: run.span.at, executed, failure });
        }
        Err(_) => None,
    };
    Ok(Rendered { text, dependencies: run.dependencies, missing: run.missing })
}

/// How deep blocks, calls of templates and parentheses may be inside each other, together.
const MAX_NESTING: usize = 256;

/// The state of an execution.
pub(crate) struct Run<'a> {
    set: &'a Set,
    pub(crate) source: &'a dyn Source,
    pub(crate) limits: &'a Limits,
    strict: bool,
    /// Errors may contain values.
    pub(crate) values_in_errors: bool,
    out: Text,
    /// What is executed.
    span: Span,
    steps: usize,
    memory: usize,
    work: usize,
    depth: usize,
    nesting: usize,
    variables: Vec<(String, Value)>,
    dependencies: BTreeSet<Dependency>,
    missing: BTreeSet<Dependency>,
    /// The values of `scratch`.
    pub(crate) scratch: BTreeMap<Arc<str>, Value>,
}

type Done<T> = Result<T, Failure>;

impl Run<'_> {
    /// Reads a dependency; nothing while it is missing.
    pub(crate) fn read(&mut self, dependency: Dependency) -> Done<Value> {
        let answer = self.source.read(&dependency);
        self.dependencies.insert(dependency.clone());
        if self.dependencies.len() > self.limits.dependencies {
            return Err(Failure::Bound(Bound::Dependencies));
        }
        match answer {
            Answer::Ready(value) => Ok(value),
            Answer::Missing => {
                self.missing.insert(dependency);
                Ok(Value::Missing)
            }
            Answer::Failed(reason) => Err(Failure::Source(reason)),
        }
    }

    fn step(&mut self) -> Done<()> {
        self.steps += 1;
        if self.steps > self.limits.steps { Err(Failure::Bound(Bound::Steps)) } else { Ok(()) }
    }

    /// Counts bytes that values take.
    pub(crate) fn spend(&mut self, bytes: usize) -> Done<()> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory { Err(Failure::Bound(Bound::Memory)) } else { Ok(()) }
    }

    /// Counts bytes that a function looks at.
    pub(crate) fn work(&mut self, bytes: usize) -> Done<()> {
        self.work = self.work.saturating_add(bytes);
        if self.work > self.limits.work { Err(Failure::Bound(Bound::Steps)) } else { Ok(()) }
    }

    fn nodes(&mut self, dot: &Value, nodes: &[Node]) -> Done<()> {
        self.enter()?;
        for node in nodes {
            self.node(dot, node)?;
        }
        self.nesting -= 1;
        Ok(())
    }

    /// Goes one level deeper. Only errors leave a level without counting it: a loop that is left restores the count.
    fn enter(&mut self) -> Done<()> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING { Err(Failure::Bound(Bound::Depth)) } else { Ok(()) }
    }

    fn node(&mut self, dot: &Value, node: &Node) -> Done<()> {
        self.step()?;
        match node {
            Node::Text(text) => self.out.push(text),
            Node::Action(pipe) => {
                let value = self.pipe(dot, pipe)?;
                if !pipe.variables.is_empty() {
                    return Ok(());
                }
                self.span = pipe.span;
                print::output(&value, &mut self.out)
            }
            Node::If(branch) => self.branch(dot, branch, false),
            Node::With(branch) => self.branch(dot, branch, true),
            Node::Range(branch) => {
                let mark = self.variables.len();
                let done = self.range(dot, branch);
                self.variables.truncate(mark);
                done
            }
            Node::Template { span, name, pipe } => self.template(dot, *span, name, pipe.as_ref()),
            Node::Break(_) => Err(Failure::Loop(Leave::Break)),
            Node::Continue(_) => Err(Failure::Loop(Leave::Continue)),
        }
    }

    fn branch(&mut self, dot: &Value, branch: &Branch, with: bool) -> Done<()> {
        let mark = self.variables.len();
        let value = self.pipe(dot, &branch.pipe)?;
        let done = if value.is_true() {
            self.nodes(if with { &value } else { dot }, &branch.body)
        } else {
            self.nodes(dot, &branch.otherwise)
        };
        self.variables.truncate(mark);
        done
    }

    /// One round of a loop; whether there may be another one.
    fn round(&mut self, branch: &Branch, index: Value, item: &Value) -> Done<bool> {
        self.step()?;
        let mark = self.variables.len();
        let pipe = &branch.pipe;
        match (pipe.variables.as_slice(), pipe.assigns) {
            ([one], true) => self.assign(one, item.clone())?,
            ([first, second], true) => {
                self.assign(first, index)?;
                self.assign(second, item.clone())?;
            }
            ([_], false) => self.replace_top(1, item.clone()),
            ([_, _], false) => {
                self.replace_top(1, item.clone());
                self.replace_top(2, index);
            }
            _ => {}
        }
        let nesting = self.nesting;
        let done = self.nodes(item, &branch.body);
        self.nesting = nesting;
        self.variables.truncate(mark);
        match done {
            Ok(()) | Err(Failure::Loop(Leave::Continue)) => Ok(true),
            Err(Failure::Loop(Leave::Break)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    fn range(&mut self, dot: &Value, branch: &Branch) -> Done<()> {
        let value = self.pipe(dot, &branch.pipe)?;
        self.span = branch.span;
        match &value {
            Value::Int(most) => {
                if branch.pipe.variables.len() > 1 {
                    return Err(Failure::new("an integer can't be ranged over with more than one variable"));
                }
                for n in 0..*most {
                    if !self.round(branch, Value::Missing, &Value::Int(n))? {
                        break;
                    }
                }
                if *most > 0 {
                    return Ok(());
                }
            }
            Value::List(list) if !list.items().is_empty() => {
                for (n, item) in list.items().iter().enumerate() {
                    if !self.round(branch, Value::Int(i64::try_from(n).unwrap_or(i64::MAX)), item)? {
                        break;
                    }
                }
                return Ok(());
            }
            Value::Missing | Value::Nil | Value::TypedNil | Value::List(_) => {}
            other => match other.as_map() {
                Some(map) if !map.entries().is_empty() => {
                    for (key, item) in map.entries() {
                        if !self.round(branch, Value::String(key.clone()), item)? {
                            break;
                        }
                    }
                    return Ok(());
                }
                Some(_) => {}
                None => {
                    let what = match self.values_in_errors {
                        true => print::shown(other, self.limits.output)?,
                        false => format!("a value of type {}", other.type_name()),
                    };
                    return Err(Failure::new(format!("range can't iterate over {what}")));
                }
            },
        }
        self.nodes(dot, &branch.otherwise)
    }

    fn template(&mut self, dot: &Value, span: Span, name: &str, pipe: Option<&Pipe>) -> Done<()> {
        self.span = span;
        let set = self.set;
        let Some(nodes) = set.named.get(name) else {
            return Err(Failure::new(format!("template {name:?} not defined")));
        };
        if self.depth >= self.limits.depth {
            return Err(Failure::Bound(Bound::Depth));
        }
        let dot = match pipe {
            Some(pipe) => self.pipe(dot, pipe)?,
            None => Value::Missing,
        };
        self.depth += 1;
        let outer = std::mem::replace(&mut self.variables, vec![("$".into(), dot.clone())]);
        let done = self.nodes(&dot, nodes);
        self.variables = outer;
        self.depth -= 1;
        done
    }

    /// Executes a named template, and gives its text.
    pub(crate) fn execute(&mut self, name: &str, dot: &Value) -> Done<String> {
        let outer = std::mem::replace(&mut self.out, Text::new(self.limits.output));
        let pipe = Pipe {
            span: self.span,
            assigns: false,
            variables: Vec::new(),
            commands: vec![vec![Term { span: self.span, kind: TermKind::Dot }]],
        };
        let done = self.template(dot, self.span, name, Some(&pipe));
        let text = std::mem::replace(&mut self.out, outer).finish();
        done.map(|()| text)
    }

    fn replace_top(&mut self, from_end: usize, value: Value) {
        let at = self.variables.len().checked_sub(from_end);
        if let Some((_, old)) = at.and_then(|at| self.variables.get_mut(at)) {
            *old = value;
        }
    }

    fn assign(&mut self, name: &str, value: Value) -> Done<()> {
        let found = self.variables.iter_mut().rev().find(|(n, _)| n == name);
        let (_, old) = found.ok_or_else(|| Failure::new(format!("undefined variable: {name}")))?;
        *old = value;
        Ok(())
    }

    fn variable(&self, name: &str) -> Done<Value> {
        let found = self.variables.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, v)| v.clone()).ok_or_else(|| Failure::new(format!("undefined variable: {name}")))
    }

    fn pipe(&mut self, dot: &Value, pipe: &Pipe) -> Done<Value> {
        self.span = pipe.span;
        self.enter()?;
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value)?.piped());
        }
        self.nesting -= 1;
        let value = value.unwrap_or(Value::Missing);
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(value)
    }

    fn command(&mut self, dot: &Value, terms: &[Term], last: Option<Value>) -> Done<Value> {
        self.step()?;
        let Some((first, args)) = terms.split_first() else { return Ok(Value::Missing) };
        let has_args = !args.is_empty() || last.is_some();
        match &first.kind {
            TermKind::Field(names) => self.fields(dot, dot.clone(), first.span, names, args, last),
            TermKind::Chain(inner, names) => {
                let base = self.chain_base(dot, inner)?;
                self.fields(dot, base, first.span, names, args, last)
            }
            TermKind::Variable(name, names) => {
                self.span = first.span;
                let base = self.variable(name)?;
                if names.is_empty() {
                    return if has_args { Err(no_function(name)) } else { Ok(base) };
                }
                self.fields(dot, base, first.span, names, args, last)
            }
            TermKind::Function(name) => {
                let span = first.span.to(args.last().unwrap_or(first).span);
                self.call(dot, span, name, args, last)
            }
            _ if has_args => Err(no_function("a value")),
            TermKind::Pipe(pipe) => self.pipe(dot, pipe),
            TermKind::Dot => Ok(dot.clone()),
            TermKind::Literal(value) => Ok(value.clone()),
            TermKind::Nil => {
                self.span = first.span;
                Err(Failure::new("nil is not a command"))
            }
        }
    }

    fn chain_base(&mut self, dot: &Value, inner: &Term) -> Done<Value> {
        if inner.kind == TermKind::Nil {
            return Err(Failure::new("indirection through explicit nil"));
        }
        self.argument(dot, inner)
    }

    fn fields(
        &mut self,
        dot: &Value,
        base: Value,
        span: Span,
        names: &[String],
        args: &[Term],
        last: Option<Value>,
    ) -> Done<Value> {
        self.span = span;
        let Some((own, path)) = names.split_last() else { return Ok(base) };
        let mut value = base;
        for name in path {
            value = self.field(value, name)?;
        }
        if value == Value::Scratch {
            let mut values = self.arguments(dot, args)?;
            values.extend(last);
            self.span = span;
            return functions::scratch_method(self, own, &values);
        }
        if !args.is_empty() || last.is_some() {
            return Err(Failure::new(format!("{own} is not a method but has arguments")));
        }
        self.field(value, own)
    }

    fn field(&self, value: Value, name: &str) -> Done<Value> {
        let of_map = |map: &crate::value::Map| match map.entries().get(name) {
            Some(entry) => Ok(entry.clone()),
            None if map.structure().is_some() => Err(no_field(name, value.own_type_name())),
            None if self.strict => Err(Failure::new(format!("map has no entry for key {name:?}"))),
            None => Ok(Value::Missing),
        };
        match &value {
            Value::Missing if self.strict => Err(Failure::new(format!("nil data; no entry for key {name:?}"))),
            Value::Missing => Ok(Value::Missing),
            Value::Nil | Value::TypedNil => Err(Failure::new(format!("nil pointer evaluating interface {{}}.{name}"))),
            Value::Map(map) => of_map(map),
            Value::Object(object) => match (object.fields.get(name), &object.entries) {
                (Some(value), _) => Ok(value.clone()),
                (None, Some(map)) => of_map(map),
                (None, None) => Err(no_field(name, object.type_name)),
            },
            other => Err(no_field(name, other.own_type_name())),
        }
    }

    fn argument(&mut self, dot: &Value, term: &Term) -> Done<Value> {
        self.span = term.span;
        Ok(match &term.kind {
            TermKind::Nil => Value::Missing,
            // A null entry is no value as an argument.
            _ => self.command(dot, std::slice::from_ref(term), None)?.piped(),
        })
    }

    fn arguments(&mut self, dot: &Value, args: &[Term]) -> Done<Vec<Value>> {
        args.iter().map(|term| self.argument(dot, term)).collect()
    }

    fn call(&mut self, dot: &Value, span: Span, name: &str, args: &[Term], last: Option<Value>) -> Done<Value> {
        self.span = span;
        let function = functions::find(name).ok_or_else(|| Failure::UnknownFunction(name.into()))?;
        let count = args.len() + usize::from(last.is_some());
        if count < function.least || function.most.is_some_and(|most| count > most) {
            let want = if function.most == Some(function.least) { "" } else { "at least " };
            return Err(Failure::new(format!(
                "wrong number of args for {name}: want {want}{} got {count}",
                function.least
            )));
        }
        if let Some(short) = function.short {
            let mut value = Value::Missing;
            for term in args {
                value = self.argument(dot, term)?;
                if value.is_true() == (short == Short::Or) {
                    return Ok(value);
                }
            }
            return Ok(last.unwrap_or(value));
        }
        let mut values = self.arguments(dot, args)?;
        values.extend(last);
        self.span = span;
        self.apply(function, &values)
    }

    /// Calls a function, and counts what it makes.
    pub(crate) fn apply(&mut self, function: &Function, values: &[Value]) -> Done<Value> {
        self.work(values.iter().map(Value::size).fold(0, usize::saturating_add))?;
        let called = (function.call)(self, values);
        let value = called.map_err(|failure| match failure {
            Failure::Bound(_) | Failure::Call { .. } | Failure::Loop(_) => failure,
            other => Failure::Call { function: function.name.into(), failure: Box::new(other) },
        })?;
        self.spend(value.size())?;
        Ok(value)
    }
}

fn no_field(name: &str, type_name: &str) -> Failure {
    Failure::new(format!("can't evaluate field {name} in type {type_name}"))
}

fn no_function(what: &str) -> Failure {
    Failure::new(format!("can't give argument to non-function {what}"))
}
