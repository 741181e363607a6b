//! Semantic tokens: names of blocks, attributes, variables, functions and references.

use lsp_types::{SemanticToken, SemanticTokenType};

use crate::document::Document;
use encamp_hcl::functions;
use encamp_hcl::parser::closed_strings;
use encamp_hcl::token::{Kind, Token};
use encamp_jobspec::explain::outline::Element;

/// The types of tokens, in the order of their numbers.
pub(crate) const TYPES: [SemanticTokenType; 8] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::STRING,
    SemanticTokenType::NUMBER,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::NAMESPACE,
    SemanticTokenType::COMMENT,
];

const KEYWORD: u32 = 0;
const PROPERTY: u32 = 1;
const STRING: u32 = 2;
const NUMBER: u32 = 3;
const FUNCTION: u32 = 4;
const VARIABLE: u32 = 5;
const NAMESPACE: u32 = 6;
const COMMENT: u32 = 7;

/// The tokens of a document, each relative to the one before it.
pub(crate) fn tokens(document: &Document) -> Vec<SemanticToken> {
    if !document.is_native() {
        return Vec::new();
    }
    let (text, all) = closed_strings(document.text.as_str());
    let (mut blocks, mut attributes) = (Vec::new(), Vec::new());
    let mut open: Vec<&Element> = vec![&document.outline().root];
    while let Some(element) = open.pop() {
        attributes.extend(element.attributes.iter().map(|s| s.name_span.start));
        blocks.extend(element.blocks.iter().map(|b| b.header.start));
        open.extend(&element.blocks);
    }
    blocks.sort_unstable();
    attributes.sort_unstable();
    let mut out = Encoded { document, tokens: Vec::new(), line: 0, column: 0 };
    for (at, token) in all.iter().enumerate() {
        let kind = match token.kind {
            Kind::Ident if blocks.binary_search(&token.span.start).is_ok() => KEYWORD,
            Kind::Ident if attributes.binary_search(&token.span.start).is_ok() => PROPERTY,
            Kind::Ident => match name(&all, at, &text) {
                Some(kind) => kind,
                None => continue,
            },
            Kind::Number => NUMBER,
            Kind::QuotedLit | Kind::StringLit => STRING,
            Kind::Newline if token.span.end > token.span.start + 2 => COMMENT,
            _ => continue,
        };
        out.push(token.span.start as usize, token.span.end as usize, kind);
    }
    out.tokens
}

fn name(all: &[Token], at: usize, text: &str) -> Option<u32> {
    let slice = |t: &Token| text.get(t.span.start as usize..t.span.end as usize).unwrap_or("");
    let token = all.get(at)?;
    let word = slice(token);
    let after_dot = at.checked_sub(1).and_then(|b| all.get(b)).is_some_and(|t| t.kind == Kind::Dot);
    match all.get(at + 1).map(|t| t.kind) {
        _ if after_dot => Some(VARIABLE),
        Some(Kind::OParen) if functions::names().contains(&word) => Some(FUNCTION),
        Some(Kind::Dot) if ["var", "local", "attr", "meta", "node", "env"].contains(&word) => Some(NAMESPACE),
        _ if ["for", "in", "if", "true", "false", "null"].contains(&word) => Some(KEYWORD),
        _ => None,
    }
}

struct Encoded<'d> {
    document: &'d Document,
    tokens: Vec<SemanticToken>,
    line: u32,
    column: u32,
}

impl Encoded<'_> {
    /// Adds a token, one for each line that it covers.
    fn push(&mut self, from: usize, to: usize, kind: u32) {
        let text = &self.document.text;
        for line in text.line_of(from)..=text.line_of(to.saturating_sub(1).max(from)) {
            let start = text.line_start(line);
            let (from, to) = (from.max(start), to.min(start + text.line(line).len()));
            if to <= from {
                continue;
            }
            let (at, end) = (text.position(from), text.position(to));
            let delta_line = at.line - self.line;
            let delta_start = if delta_line == 0 { at.character - self.column } else { at.character };
            (self.line, self.column) = (at.line, at.character);
            let length = end.character - at.character;
            self.tokens.push(SemanticToken {
                delta_line,
                delta_start,
                length,
                token_type: kind,
                token_modifiers_bitset: 0,
            });
        }
    }
}
