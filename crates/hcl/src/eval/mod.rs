//! Evaluates expressions.
//!
//! - [`expr`]: operators, constructors, templates
//! - [`lookup`]: attributes, indexes, splats
//! - [`call`]: function calls, and the forms that inspect the expressions of their arguments
//! - [`type_expr`]: type expressions
//!
//! An expression always has a value: where evaluation fails, a diagnostic is recorded and the value is unknown. The
//! work of one parse is bounded, so that a short text cannot keep a caller busy.

mod call;
mod expr;
mod lookup;
pub mod type_expr;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::ast::Expr;
use super::diag::{Diag, Sources, Span, Subject};
use super::functions::FunctionContext;
use super::types::Type;
use super::value::{Entries, Value, ValueTooLarge};

/// Steps one parse may take: expression nodes evaluated, values walked over, [`STEP_BYTES`] of text read or made.
const MAX_STEPS: usize = 1_000_000;
/// Bytes of text that count as one step.
const STEP_BYTES: usize = 64;
/// Bytes of text one parse may produce while evaluating.
const MAX_TEXT: usize = 64 << 20;
/// Blocks one parse may read, those made by `dynamic` blocks included.
pub(crate) const MAX_BLOCKS: usize = 20_000;
/// Diagnostics kept; a loop over a broken expression would give one per round.
pub(crate) const MAX_DIAGS: usize = 1000;

/// The treatment of a name that is not in scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// No names at all: constants only.
    Forbidden,
    /// Only names in scope.
    Scoped,
    /// The text is kept for the client: `attr.kernel.name` becomes `${attr.kernel.name}`.
    Kept,
}

/// Names in scope, innermost first. Roots hold what a name's first lookup finds (`var`, `local`), so that they need not
/// be one value.
#[derive(Debug, Default)]
pub struct Scope {
    /// The scope around this one.
    pub parent: Option<Rc<Scope>>,
    /// Names and their values; a later entry hides an earlier one of the same name.
    pub values: Vec<(String, Value)>,
    /// The content of each root, by the root's name, then by the name that follows the dot.
    pub roots: BTreeMap<String, Entries>,
}

/// Which bound was reached, and where.
#[derive(Debug, Clone, Copy)]
enum Exhausted {
    Work(Span),
    Blocks(Span),
}

/// The context in which expressions are evaluated.
pub struct Evaluator<'a> {
    /// Texts that positions refer to.
    pub sources: &'a Sources,
    /// Functions, where they may be called.
    pub functions: Option<&'a FunctionContext>,
    /// Names outside of the scope.
    pub names: Names,
    /// Bytes of the job file, from which kept references are cut.
    pub file: &'a [u8],
    /// The diagnostics so far.
    pub diags: Vec<Diag>,
    steps: usize,
    text: usize,
    blocks: usize,
    exhausted: Option<Exhausted>,
    /// Variables of `for`, innermost last.
    locals: Vec<(Rc<str>, Value)>,
    /// Elements of splats, innermost last.
    items: Vec<Value>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator for one parse.
    pub fn new(sources: &'a Sources, file: &'a [u8]) -> Evaluator<'a> {
        Evaluator {
            sources,
            functions: None,
            names: Names::Forbidden,
            file,
            diags: Vec::new(),
            steps: 0,
            text: 0,
            blocks: 0,
            exhausted: None,
            locals: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Runs with other rules for names and functions.
    pub fn with<T>(
        &mut self,
        names: Names,
        functions: Option<&'a FunctionContext>,
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = (self.names, self.functions);
        (self.names, self.functions) = (names, functions);
        let result = run(self);
        (self.names, self.functions) = before;
        result
    }

    /// The value of an expression; unknown if that failed.
    pub fn eval(&mut self, expr: &Expr, scope: &Scope) -> Value {
        if !self.charge(1, 0, expr.span) {
            return Value::Unknown;
        }
        self.eval_kind(expr, scope)
    }

    /// Records a diagnostic.
    pub fn report(&mut self, diag: Diag) {
        // Texts repeat names of the file, and an expression may fail in every round of a loop.
        if let Subject::At(span) = diag.subject {
            self.charge(1, diag.detail.len(), span);
        }
        if self.diags.len() < MAX_DIAGS && self.exhausted.is_none() {
            self.diags.push(diag);
        }
    }

    /// Records a diagnostic; the value is unknown.
    fn fail(&mut self, span: Span, summary: &str, detail: impl Into<String>) -> Value {
        self.report(Diag::at(span, summary, detail));
        Value::Unknown
    }

    /// Where the work became too much, if it did. Nothing that was evaluated after that counts.
    pub fn exhausted(&self) -> Option<Diag> {
        self.exhausted.map(|limit| match limit {
            Exhausted::Work(span) => Diag::at(
                span,
                "Evaluation limit exceeded",
                "Evaluating the expressions of this file takes too many steps or produces too much text. Use smaller \
                 collections and texts, and fewer rounds in \"for\" expressions and dynamic blocks.",
            ),
            Exhausted::Blocks(span) => Diag::at(
                span,
                "Too many blocks",
                format!(
                    "A job file may have at most {MAX_BLOCKS} blocks, those made by dynamic blocks included. Split the job \
                     into several."
                ),
            ),
        })
    }

    fn charge(&mut self, steps: usize, text: usize, span: Span) -> bool {
        self.steps = self.steps.saturating_add(steps).saturating_add(text / STEP_BYTES);
        self.text = self.text.saturating_add(text);
        if self.exhausted.is_none() && (self.steps > MAX_STEPS || self.text > MAX_TEXT) {
            self.exhausted = Some(Exhausted::Work(span));
        }
        self.exhausted.is_none()
    }

    /// Counts a walk over a value; false when the work became too much.
    pub fn charge_walk(&mut self, value: &Value, span: Span) -> bool {
        self.charge_read(value.nodes(), value.bytes(), span)
    }

    /// Counts steps and text that is read, not made.
    pub fn charge_read(&mut self, steps: usize, bytes: usize, span: Span) -> bool {
        self.charge(steps.saturating_add(bytes / STEP_BYTES), 0, span)
    }

    /// Counts text that is read once more, as the content of a JSON body is for each block made from it.
    pub(crate) fn charge_text(&mut self, span: Span) -> bool {
        self.charge(1, span.end.saturating_sub(span.start) as usize, span)
    }

    /// Counts blocks; false when there are too many.
    pub(crate) fn count_blocks(&mut self, count: usize, span: Span) -> bool {
        self.blocks = self.blocks.saturating_add(count);
        if self.blocks > MAX_BLOCKS && self.exhausted.is_none() {
            self.exhausted = Some(Exhausted::Blocks(span));
        }
        self.exhausted.is_none()
    }

    /// A value that may be too large.
    fn bounded(&mut self, span: Span, value: Result<Value, ValueTooLarge>) -> Value {
        value.unwrap_or_else(|error| self.fail(span, "Value too large", format!("Error: {error}.")))
    }
}

impl Scope {
    /// A scope inside of another one.
    pub fn child(parent: &Rc<Scope>, values: Vec<(String, Value)>) -> Scope {
        Scope { parent: Some(parent.clone()), values, roots: BTreeMap::new() }
    }

    fn find(&self, name: &str) -> Option<Found<'_>> {
        let mut scope = self;
        loop {
            if let Some((_, value)) = scope.values.iter().rev().find(|(n, _)| n == name) {
                return Some(Found::Value(value));
            }
            if let Some(entries) = scope.roots.get(name) {
                return Some(Found::Root(entries));
            }
            scope = scope.parent.as_ref()?;
        }
    }
}

/// The meaning of a name.
enum Found<'s> {
    Value(&'s Value),
    Root(&'s Entries),
}

/// The type's name as error texts show it.
fn type_name(value: &Value) -> String {
    value.ty().to_string()
}

/// An entry key.
pub fn key(text: &str) -> Arc<str> {
    Arc::from(text)
}

/// The common type of values, `Any` if there is none.
fn common_type(values: &[Value]) -> Option<Type> {
    let types: Vec<Type> = values.iter().map(Value::ty).collect();
    super::types::unify(&types)
}
