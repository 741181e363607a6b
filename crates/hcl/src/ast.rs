//! The syntax tree of bodies and expressions.

use super::diag::Span;

/// A body: the attributes and blocks of a file or block, in source order.
#[derive(Debug, Clone, Default)]
pub struct Body {
    /// In source order; a name occurs once.
    pub attributes: Vec<Attribute>,
    /// In source order.
    pub blocks: Vec<Block>,
    /// From `{` to `}`, or the whole file.
    pub span: Span,
}

/// `name = expr`.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// The name on the left of `=`.
    pub name: String,
    /// Where the name is.
    pub name_span: Span,
    /// The expression on the right of `=`.
    pub expr: Expr,
}

/// `type "label" { body }`.
#[derive(Debug, Clone)]
pub struct Block {
    /// The block's type: `job`, `group`.
    pub kind: String,
    /// Where the type is.
    pub kind_span: Span,
    /// The labels between the type and `{`.
    pub labels: Vec<Label>,
    /// Where `{` is.
    pub open: Span,
    /// The attributes and blocks between the braces.
    pub body: Body,
}

impl Block {
    /// The header without the brace.
    pub fn def_span(&self) -> Span {
        self.labels.last().map_or(self.kind_span, |l| self.kind_span.to(l.span))
    }
}

/// A block label.
#[derive(Debug, Clone)]
pub struct Label {
    /// The label, quotes and escapes removed.
    pub text: String,
    /// Where the label is, with its quotes.
    pub span: Span,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The kind of the expression.
    pub kind: ExprKind,
    /// Where it is in the source.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Decimal text of a number.
    Number(String),
    /// Literal text: a part of a template.
    Text(String),
    /// A string made of parts.
    Template(Vec<Expr>),
    /// A string that is one interpolation only: has the type of the expression.
    Wrap(Box<Expr>),
    /// A `for` directive of a template: the elements are joined.
    Join(Box<Expr>),
    /// A name and what is looked up in it; `root` is known only in scope.
    Reference {
        /// The name.
        root: String,
        /// Where the name is.
        root_span: Span,
        /// The lookups behind the name, from left to right.
        steps: Vec<Step>,
    },
    /// Lookups in the result of an expression.
    Lookup {
        /// The expression that is looked into.
        source: Box<Expr>,
        /// The lookups behind it, from left to right.
        steps: Vec<Step>,
    },
    /// `source[key]` with a key to be evaluated.
    Index {
        /// The expression that is looked into.
        source: Box<Expr>,
        /// The expression between the brackets.
        key: Box<Expr>,
        /// From `[` to `]`.
        brackets: Span,
    },
    /// `source[*]…` or `source.*…`; `each` is evaluated with [`ExprKind::Item`] standing for the element.
    Splat {
        /// The expression whose elements are visited.
        source: Box<Expr>,
        /// The expression that is evaluated for each element.
        each: Box<Expr>,
        /// Where `[*]` or `.*` is.
        marker: Span,
    },
    /// The element inside of a splat.
    Item,
    /// `name(…)`.
    Call(Box<Call>),
    /// `condition ? then : else`, or an `if` directive of a template: the three in this order.
    Conditional(Box<[Expr; 3]>),
    /// Operands and operators of one precedence, evaluated from the left.
    Binary {
        /// The leftmost operand.
        first: Box<Expr>,
        /// Each operator with the operand to the right of it.
        rest: Vec<(BinaryOp, Expr)>,
    },
    /// `!operand` or `-operand`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Where the operator is.
        op_span: Span,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `( … )`.
    Paren(Box<Expr>),
    /// `[a, b]`.
    Tuple {
        /// Where `[` is.
        open: Span,
        /// The elements, in source order.
        items: Vec<Expr>,
    },
    /// `{ a = b }`.
    Object {
        /// Where `{` is.
        open: Span,
        /// Keys and values, in source order; keys may repeat.
        items: Vec<(Expr, Expr)>,
    },
    /// `[for … ]` or `{for … }`.
    For(Box<For>),
}

/// A function call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function's name.
    pub name: String,
    /// Where the name is.
    pub name_span: Span,
    /// Where `(` is.
    pub open: Span,
    /// Where `)` is.
    pub close: Span,
    /// The arguments, in source order.
    pub args: Vec<Expr>,
    /// Whether the last argument is expanded with `...`.
    pub expand: bool,
}

/// A `for` expression.
#[derive(Debug, Clone)]
pub struct For {
    /// Where the opening bracket is, or the directive of a template.
    pub open: Span,
    /// The name for keys or indexes, where there are two names.
    pub key_name: Option<String>,
    /// The name for elements.
    pub value_name: String,
    /// The expression whose elements are visited.
    pub collection: Expr,
    /// Present when an object is built.
    pub key: Option<Expr>,
    /// The value of each element: an element of the tuple, or the value of the key.
    pub value: Expr,
    /// The expression after `if`: elements for which it is false are left out.
    pub condition: Option<Expr>,
    /// Whether `...` follows the value: values of equal keys are collected into one tuple.
    pub group: bool,
}

/// One lookup of a traversal.
#[derive(Debug, Clone)]
pub struct Step {
    /// The kind of the step.
    pub kind: StepKind,
    /// With the dot or the brackets.
    pub span: Span,
}

/// How a [`Step`] looks up.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// `.name`.
    Attribute(String),
    /// `[number]` or `.number`: decimal text.
    Number(String),
    /// `["text"]`.
    Text(String),
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `||`.
    Or,
    /// `&&`.
    And,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `!`.
    Not,
    /// `-`.
    Negate,
}

impl Expr {
    /// An expression node.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        Expr { kind, span }
    }

    /// Calls `visit` for this expression and all inside of it.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.children(&mut |inner| inner.walk(visit));
    }

    /// Calls `visit` for the expressions that this one is made of.
    pub fn children<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Reference { .. }
            | ExprKind::Item => {}
            ExprKind::Template(items) | ExprKind::Tuple { items, .. } => items.iter().for_each(visit),
            ExprKind::Wrap(inner) | ExprKind::Join(inner) | ExprKind::Paren(inner) => visit(inner),
            ExprKind::Lookup { source: inner, .. } | ExprKind::Unary { operand: inner, .. } => visit(inner),
            ExprKind::Index { source, key, .. } => [source, key].into_iter().for_each(|e| visit(e)),
            ExprKind::Splat { source, each, .. } => [source, each].into_iter().for_each(|e| visit(e)),
            ExprKind::Call(call) => call.args.iter().for_each(visit),
            ExprKind::Conditional(parts) => parts.iter().for_each(visit),
            ExprKind::Binary { first, rest } => {
                visit(first);
                rest.iter().for_each(|(_, e)| visit(e));
            }
            ExprKind::Object { items, .. } => {
                for (name, value) in items {
                    visit(name);
                    visit(value);
                }
            }
            ExprKind::For(node) => {
                let rest = [node.key.as_ref(), Some(&node.value), node.condition.as_ref()];
                visit(&node.collection);
                rest.into_iter().flatten().for_each(visit);
            }
        }
    }

    /// The part that diagnostics point at where the whole would be too much.
    pub fn start_span(&self) -> Span {
        let mut expr = self;
        // Walks to the leftmost operand; the depth is bounded by the parser.
        loop {
            expr = match &expr.kind {
                ExprKind::Binary { first, .. } => first,
                ExprKind::Conditional(parts) => &parts[0],
                ExprKind::Join(inner) => inner,
                // A template in a JSON document has a source of its own: such errors point to its string.
                ExprKind::Paren(inner) if inner.span.source == expr.span.source => inner,
                ExprKind::Template(parts) => match parts.first() {
                    Some(first) => first,
                    None => return expr.span,
                },
                ExprKind::Call(call) => return call.name_span.to(call.open),
                ExprKind::Index { brackets, .. } => return Span { end: brackets.start + 1, ..*brackets },
                ExprKind::Splat { marker, .. } => return *marker,
                ExprKind::Unary { op_span, .. } => return *op_span,
                ExprKind::Tuple { open, .. } | ExprKind::Object { open, .. } => return *open,
                ExprKind::For(f) => return f.open,
                _ => return expr.span,
            };
        }
    }
}
