//! Trees of templates: what `parse` makes and `eval` executes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Place;
use crate::value::Value;

/// The main template and those it defines.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Set {
    pub main: Vec<Node>,
    pub named: BTreeMap<String, Vec<Node>>,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template { span: Span, name: String, pipe: Option<Pipe> },
    Break(Place),
    Continue(Place),
}

/// A condition or a loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Branch {
    /// From the keyword to the end of the pipeline.
    pub span: Span,
    pub pipe: Pipe,
    pub body: Vec<Node>,
    pub otherwise: Vec<Node>,
}

/// Commands, each of which gets what the one before gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pipe {
    pub span: Span,
    /// The variables are set, not declared.
    pub assigns: bool,
    pub variables: Vec<String>,
    pub commands: Vec<Vec<Term>>,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub span: Span,
    pub kind: TermKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TermKind {
    Dot,
    Nil,
    Literal(Value),
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Function(String),
    Pipe(Box<Pipe>),
    Chain(Box<Term>, Vec<String>),
}

/// A range of the text of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    /// The place where it starts.
    pub at: Place,
    /// Bytes of the text before it.
    pub start: usize,
    /// Bytes of the text up to its end.
    pub end: usize,
}

impl Span {
    /// The range from the start of this one to the end of another one.
    pub(crate) fn to(self, end: Span) -> Span {
        Span { end: end.end, ..self }
    }

    /// Its bytes.
    pub(crate) fn bytes(self) -> Range<usize> {
        self.start..self.end
    }
}
