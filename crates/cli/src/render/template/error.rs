//! Templates that cannot be read, or do not fit a value.

use std::fmt;

use thiserror::Error;

/// A template that cannot be read, or does not fit the value that it is applied to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// The text is not a template.
    #[error("template: :{line}: {source}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The problem.
        source: SyntaxError,
    },
    /// Blocks inside of each other are too many.
    #[error("template: blocks nest too deep")]
    DeepBlocks,
    /// Parentheses inside of each other are too many.
    #[error("template: pipelines nest too deep")]
    DeepPipelines,
    /// The result of a pipeline cannot be used.
    #[error("template: :{at}: {source}")]
    Pipeline {
        /// The position of the pipeline.
        at: Position,
        /// The problem.
        source: EvaluationError,
    },
    /// An operand cannot be evaluated.
    #[error("template: :{at}: executing \"\" at <{operand}>: {source}")]
    Operand {
        /// The position of the operand.
        at: Position,
        /// The operand; for a function, its whole command.
        operand: String,
        /// The problem.
        source: EvaluationError,
    },
}

/// A position in the text of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 0.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text that is not a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxError {
    /// The end of a block without its beginning.
    #[error("unexpected {{{{end}}}}")]
    UnexpectedEnd,
    /// The alternative of a block without its beginning.
    #[error("unexpected {{{{else}}}}")]
    UnexpectedElse,
    /// A second alternative of a block.
    #[error("expected end; found {{{{else}}}}")]
    SecondElse,
    /// An alternative with something else than the condition of a block of the same kind.
    #[error("unexpected token behind else")]
    ElseToken,
    /// A block without its end.
    #[error("unexpected EOF")]
    UnclosedBlock,
    /// An action without its end.
    #[error("unclosed action")]
    UnclosedAction,
    /// A comment without its end.
    #[error("unclosed comment")]
    UnclosedComment,
    /// An action with a comment and something else.
    #[error("comment ends before closing delimiter")]
    CommentEnd,
    /// A parenthesis without its end.
    #[error("unclosed left paren")]
    UnclosedParenthesis,
    /// `break` or `continue` outside of a loop.
    #[error("{{{{{0}}}}} outside {{{{range}}}}")]
    OutsideRange(String),
    /// An action that this implementation does not have.
    #[error("{{{{{0}}}}} is not supported")]
    Unsupported(String),
    /// A token that cannot be an operand.
    #[error("unexpected token in operand")]
    Operand,
    /// A command without any operand.
    #[error("missing value for command")]
    NoValue,
    /// A variable that is not declared.
    #[error("undefined variable \"{0}\"")]
    UndefinedVariable(String),
    /// A function that does not exist.
    #[error("function \"{0}\" not defined")]
    UndefinedFunction(String),
    /// A literal in backquotes without its end.
    #[error("unterminated raw quoted string")]
    UnclosedRawString,
    /// A literal in quotes without its end.
    #[error("unterminated quoted string")]
    UnclosedString,
    /// A character without its end.
    #[error("unterminated character constant")]
    UnclosedCharacter,
    /// Quotes of a character around another number of characters.
    #[error("malformed character constant")]
    Character,
    /// An escape sequence that does not exist.
    #[error("invalid escape in string")]
    Escape,
    /// A literal that begins as a number and is none.
    #[error("bad number syntax: {0:?}")]
    Number(String),
    /// A character that begins no token.
    #[error("unexpected {0:?} in command")]
    Token(char),
}

/// A pipeline or an operand that cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EvaluationError {
    /// `range` over a value without elements; the text is the value.
    #[error("range can't iterate over {0}")]
    Range(String),
    /// A variable that has no value yet.
    #[error("undefined variable \"{0}\"")]
    UndefinedVariable(String),
    /// Arguments behind an operand that is no function.
    #[error("can't give argument to non-function")]
    NoFunction,
    /// A field that values of a type do not have.
    #[error("can't evaluate field {field} in type {kind}")]
    Field {
        /// The name of the field.
        field: String,
        /// The name of the type.
        kind: String,
    },
    /// A field of `null`.
    #[error("nil pointer evaluating interface {{}}.{0}")]
    FieldOfNil(String),
    /// `and` or `or` without arguments.
    #[error("wrong number of args for {0}: want at least 1 got 0")]
    NoArguments(String),
    /// A function with another number of arguments than it takes.
    #[error("wrong number of args for {function}: want {want} got {got}")]
    ArgumentCount {
        /// The name of the function.
        function: String,
        /// The number that it takes.
        want: usize,
        /// The number of arguments.
        got: usize,
    },
    /// A function that cannot be applied to its arguments.
    #[error("error calling {function}: {source}")]
    Call {
        /// The name of the function.
        function: String,
        /// The problem.
        source: CallError,
    },
}

/// A function that cannot be applied to its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    /// `len` of a value without a length.
    #[error("len of type without a length")]
    NoLength,
    /// `printf` without a format.
    #[error("the format has to be a string")]
    NoFormat,
    /// `eq` or `ne` with fewer than two arguments.
    #[error("missing argument for comparison")]
    NoComparison,
    /// Values whose order is not defined.
    #[error("incompatible types for comparison")]
    Incomparable,
    /// `index` without arguments.
    #[error("missing argument")]
    NoIndexed,
    /// `index` of `null`.
    #[error("index of untyped nil")]
    IndexOfNil,
    /// `index` of a list at this number, which it does not have.
    #[error("index out of range: {0}")]
    OutOfRange(serde_json::Number),
    /// `index` of a value without elements, or by a key of the wrong type; the text is the value.
    #[error("can't index item of {0}")]
    NotIndexable(String),
}
