//! The content of a body by the expected names: attributes, and blocks with their labels, `dynamic` blocks expanded
//! (`docs/spec/jobspec.md §6, 7`). The same for both syntaxes.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

use super::ast::{Block, Body, Expr, Label};
use super::diag::{Diag, Sources, Span, suggestion};
use super::dynamic::expand;
use super::eval::{Evaluator, MAX_DIAGS, Scope};
use super::json::{Node, NodeKind};
use encamp_model::quoted;

/// A body in either syntax.
#[derive(Debug, Clone, Copy)]
pub enum BodyRef<'a> {
    /// The body of a native syntax file or block.
    Native(&'a Body),
    /// An object, or an array of objects.
    Json(&'a Node),
}

/// An attribute.
#[derive(Debug, Clone)]
pub struct Attr<'a> {
    /// The attribute's name.
    pub name: &'a str,
    /// Where the name is.
    pub name_span: Span,
    /// The value, not evaluated.
    pub expr: Cow<'a, Expr>,
}

impl Attr<'_> {
    /// Name and expression.
    pub fn span(&self) -> Span {
        self.name_span.to(self.expr.span)
    }
}

/// A block, and the names in scope inside of it.
#[derive(Debug, Clone)]
pub struct BlockRef<'a> {
    /// The block's type; of blocks made by `dynamic` the type of the made ones.
    pub kind: String,
    /// Where the type is.
    pub kind_span: Span,
    /// The labels, as many as the schema asks for.
    pub labels: Vec<Label>,
    /// The header.
    pub def: Span,
    /// The body of the block.
    pub body: BodyRef<'a>,
    /// The names that expressions of the block may use.
    pub scope: Rc<Scope>,
}

/// The names expected in a body.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'s> {
    /// Attribute names and whether they are required, sorted by name.
    pub attributes: &'s [(&'s str, bool)],
    /// Block types and how many labels they have, sorted by name.
    pub blocks: &'s [(&'s str, usize)],
    /// Whether `dynamic` blocks are expanded.
    pub dynamic: bool,
    /// Block types that are looked for by themselves before all the rest, so that what is wrong with their labels is
    /// reported twice.
    pub first: &'s [&'s str],
}

/// The content of a body, in source order.
#[derive(Debug, Default)]
pub struct Content<'a> {
    /// The expected attributes that were found.
    pub attributes: Vec<Attr<'a>>,
    /// The expected blocks that were found, those made by `dynamic` blocks among them.
    pub blocks: Vec<BlockRef<'a>>,
    /// Attributes that are there but cannot be read.
    failed: Vec<&'a str>,
}

impl<'a> Content<'a> {
    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attr<'a>> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// Whether the attribute stands there, readable or not.
    pub fn mentions(&self, name: &str) -> bool {
        self.attribute(name).is_some() || self.failed.contains(&name)
    }
}

/// The name of a block's label in error texts.
fn label_name(kind: &str) -> &'static str {
    match kind {
        "dynamic" => "type",
        "port" | "target" => "",
        _ => "name",
    }
}

impl<'s> Expected<'s> {
    fn labels_of(&self, kind: &str) -> Option<usize> {
        if kind == "dynamic" && self.dynamic {
            return Some(1);
        }
        self.blocks.iter().find(|(name, _)| *name == kind).map(|(_, labels)| *labels)
    }

    fn has_attribute(&self, name: &str) -> bool {
        self.attributes.iter().any(|(n, _)| *n == name)
    }
}

impl<'a> BodyRef<'a> {
    /// Where diagnostics about missing items point.
    pub(crate) fn missing_item(&self) -> Span {
        match self {
            BodyRef::Native(body) => body.span.at_start(),
            BodyRef::Json(node) => node.missing_item(),
        }
    }

    /// The diagnostic about a required attribute that is not there.
    pub fn missing_argument(&self, name: &str) -> Diag {
        let detail = format!("The argument {name:?} is required, but no definition was found.");
        Diag::at(self.missing_item(), "Missing required argument", detail)
    }

    /// The content of the body. Everything unexpected, missing or malformed is reported and left out.
    pub fn content(&self, expected: Expected, ev: &mut Evaluator, scope: &Rc<Scope>) -> Content<'a> {
        let raw = match self {
            // The body of a dynamic block is read once more for each block made from it.
            BodyRef::Native(body)
                if !ev.charge_read(body.attributes.len().saturating_add(body.blocks.len()), 0, body.span) =>
            {
                return Content::default();
            }
            BodyRef::Native(body) => native_content(body, expected, scope),
            BodyRef::Json(node) => json_content(node, expected, ev, scope),
        };
        let mut missing = Vec::new();
        for (name, _) in expected.attributes.iter().filter(|(_, required)| *required) {
            if raw.attribute(name).is_none() && !raw.failed.contains(name) {
                missing.push(self.missing_argument(name));
            }
        }
        // Native bodies look for attributes before blocks; JSON bodies go through what there is first.
        let (first, second) = match self {
            BodyRef::Native(_) => (missing, raw.early),
            BodyRef::Json(_) => (raw.early, missing),
        };
        raw.first.into_iter().chain(first).chain(second).chain(raw.late).for_each(|d| ev.report(d));
        let mut content = Content { attributes: raw.attributes, blocks: Vec::new(), failed: raw.failed };
        if let Some(last) = raw.blocks.last()
            && !ev.count_blocks(raw.blocks.len(), last.def)
        {
            return content;
        }
        for block in raw.blocks {
            if block.kind == "dynamic" && expected.dynamic {
                expand(block, expected, ev, &mut content.blocks);
            } else {
                content.blocks.push(block);
            }
        }
        content
    }

    /// All attributes of a body that may have any names but no blocks.
    pub fn just_attributes(&self, ev: &mut Evaluator) -> Vec<Attr<'a>> {
        match self {
            BodyRef::Native(body) => {
                if !ev.charge_read(body.attributes.len(), 0, body.span) {
                    return Vec::new();
                }
                if let Some(block) = body.blocks.first() {
                    let summary = format!("Unexpected {:?} block", block.kind);
                    ev.report(Diag::at(block.kind_span, summary, "Blocks are not allowed here."));
                }
                body.attributes
                    .iter()
                    .map(|a| Attr { name: &a.name, name_span: a.name_span, expr: Cow::Borrowed(&a.expr) })
                    .collect()
            }
            BodyRef::Json(node) => members_as_attributes(node, ev, Node::to_expr),
        }
    }

    /// The attributes of a body that holds constants only: strings of JSON documents are no templates there.
    pub fn constants(&self, ev: &mut Evaluator) -> Vec<Attr<'a>> {
        match self {
            BodyRef::Native(_) => self.just_attributes(ev),
            BodyRef::Json(node) => members_as_attributes(node, ev, |node, _| Ok(node.to_constant())),
        }
    }
}

/// The members of a JSON object, or of a list of objects, each read as an expression.
fn members_as_attributes<'a>(
    node: &'a Node,
    ev: &mut Evaluator,
    read: fn(&Node, &Sources) -> Result<Expr, Vec<Diag>>,
) -> Vec<Attr<'a>> {
    let mut attributes: Vec<Attr> = Vec::new();
    if !ev.charge_text(node.span) {
        return attributes;
    }
    for member in objects(node).flat_map(members) {
        match read(&member.value, ev.sources) {
            _ if member.name == "//" => {}
            Ok(expr) => {
                attributes.push(Attr { name: &member.name, name_span: member.name_span, expr: Cow::Owned(expr) });
            }
            Err(diags) => diags.into_iter().for_each(|d| ev.report(d)),
        }
    }
    attributes
}

/// Content before `dynamic` blocks are expanded.
#[derive(Default)]
struct Raw<'a> {
    attributes: Vec<Attr<'a>>,
    blocks: Vec<BlockRef<'a>>,
    /// Attributes that are there but cannot be read.
    failed: Vec<&'a str>,
    /// Diagnostics about blocks that are looked for first, about expected items, and about unexpected ones.
    first: Vec<Diag>,
    early: Vec<Diag>,
    late: Vec<Diag>,
}

impl Raw<'_> {
    fn attribute(&self, name: &str) -> Option<&Attr<'_>> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

fn native_content<'a>(body: &'a Body, expected: Expected, scope: &Rc<Scope>) -> Raw<'a> {
    let mut raw = Raw::default();
    let unset = |name: &str| body.attributes.iter().all(|a| a.name != name);
    let free: OnceCell<Vec<&str>> = OnceCell::new();
    for a in &body.attributes {
        if expected.has_attribute(&a.name) {
            raw.attributes.push(Attr { name: &a.name, name_span: a.name_span, expr: Cow::Borrowed(&a.expr) });
            continue;
        }
        if raw.late.len() >= MAX_DIAGS {
            continue;
        }
        let free = free.get_or_init(|| expected.attributes.iter().map(|(n, _)| *n).filter(|n| unset(n)).collect());
        let hint = match suggestion(&a.name, free.iter().copied()) {
            Some(other) => format!(" Did you mean {other:?}?"),
            None if expected.blocks.iter().any(|(kind, _)| *kind == a.name) => {
                format!(" Did you mean to define a block of type {:?}?", a.name)
            }
            None => String::new(),
        };
        let detail = format!("An argument named {:?} is not expected here.{hint}", a.name);
        raw.late.push(Diag::at(a.name_span, "Unsupported argument", detail));
    }
    for block in &body.blocks {
        let Some(labels) = expected.labels_of(&block.kind) else {
            if raw.late.len() >= MAX_DIAGS {
                continue;
            }
            let hint = match suggestion(&block.kind, expected.blocks.iter().map(|(kind, _)| *kind)) {
                Some(other) => format!(" Did you mean {other:?}?"),
                None if expected.has_attribute(&block.kind) => format!(
                    " Did you mean to define argument {:?}? If so, use the equals sign to assign it a value.",
                    block.kind
                ),
                None => String::new(),
            };
            let detail = format!("Blocks of type {:?} are not expected here.{hint}", block.kind);
            raw.late.push(Diag::at(block.kind_span, "Unsupported block type", detail));
            continue;
        };
        match label_error(block, labels) {
            Some(diag) => {
                if expected.first.contains(&block.kind.as_str()) {
                    raw.first.push(diag.clone());
                }
                raw.early.push(diag);
            }
            None => raw.blocks.push(BlockRef {
                kind: block.kind.clone(),
                kind_span: block.kind_span,
                labels: block.labels.clone(),
                def: block.def_span(),
                body: BodyRef::Native(&block.body),
                scope: scope.clone(),
            }),
        }
    }
    raw
}

fn label_error(block: &Block, wanted: usize) -> Option<Diag> {
    let kind = &block.kind;
    let label = label_name(kind);
    if let Some(extra) = block.labels.get(wanted) {
        let detail = match wanted {
            0 => format!("No labels are expected for {kind} blocks."),
            n => format!("Only {n} labels ({label}) are expected for {kind} blocks."),
        };
        return Some(Diag::at(extra.span, format!("Extraneous label for {kind}"), detail));
    }
    if block.labels.len() < wanted {
        let detail = format!("All {kind} blocks must have {wanted} labels ({label}).");
        return Some(Diag::at(block.open, format!("Missing {label} for {kind}"), detail));
    }
    None
}

fn objects(node: &Node) -> impl Iterator<Item = &Node> {
    let list = match &node.kind {
        NodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    list.iter()
}

fn members(node: &Node) -> &[super::json::Member] {
    match &node.kind {
        NodeKind::Object(members) => members,
        _ => &[],
    }
}

fn json_content<'a>(node: &'a Node, expected: Expected, ev: &mut Evaluator, scope: &Rc<Scope>) -> Raw<'a> {
    let mut raw = Raw::default();
    if !ev.charge_text(node.span) {
        return raw;
    }
    for object in objects(node) {
        if !matches!(object.kind, NodeKind::Object(_)) {
            let detail = "A JSON object is required here, to represent the arguments and blocks of this body.";
            raw.late.push(Diag::at(object.open(), "Incorrect JSON value type", detail));
        }
    }
    for member in objects(node).flat_map(members) {
        let name = member.name.as_str();
        if expected.has_attribute(name) {
            if let Some(first) = raw.attribute(name) {
                if raw.early.len() >= MAX_DIAGS {
                    continue;
                }
                let detail = format!("The argument {name:?} was already set at {}.", ev.sources.range(first.span()));
                raw.early.push(Diag::at(member.name_span, "Duplicate argument", detail));
                continue;
            }
            // Types and iterator names are not templates but the text itself.
            let is_static = match name {
                "type" => expected.has_attribute("default"),
                "iterator" => expected.has_attribute("for_each"),
                _ => false,
            };
            let expr =
                if is_static { member.value.to_static_expr(ev.sources) } else { member.value.to_expr(ev.sources) };
            match expr {
                Ok(expr) => raw.attributes.push(Attr { name, name_span: member.name_span, expr: Cow::Owned(expr) }),
                Err(diags) => {
                    raw.failed.push(name);
                    raw.early.extend(diags);
                }
            }
        } else if let Some(labels) = expected.labels_of(name) {
            let found = JsonBlock { kind: name, kind_span: member.name_span, scope };
            let known = raw.early.len();
            found.collect(&member.value, labels, &mut Vec::new(), &mut raw);
            if expected.first.contains(&name) {
                raw.first.extend(raw.early.get(known..).unwrap_or_default().iter().cloned());
            }
        } else if name != "//" && raw.late.len() < MAX_DIAGS {
            let names = expected.attributes.iter().map(|(n, _)| *n).chain(expected.blocks.iter().map(|(n, _)| *n));
            let hint = suggestion(name, names).map_or(String::new(), |other| format!(" Did you mean {other:?}?"));
            let detail = format!("No argument or block type is named {}.{hint}", quoted(name));
            raw.late.push(Diag::at(member.name_span, "Extraneous JSON object property", detail));
        }
    }
    raw
}

struct JsonBlock<'a, 's> {
    kind: &'a str,
    kind_span: Span,
    scope: &'s Rc<Scope>,
}

impl<'a> JsonBlock<'a, '_> {
    fn missing_label(&self, node: &Node) -> Diag {
        let detail = format!(
            "At least one object property is required, whose name represents the {} block's {}.",
            self.kind,
            label_name(self.kind)
        );
        Diag::at(node.open(), "Missing block label", detail)
    }

    /// Reads blocks below `wanted` levels of labels.
    fn collect(&self, node: &'a Node, wanted: usize, labels: &mut Vec<Label>, raw: &mut Raw<'a>) {
        const SUMMARY: &str = "Incorrect JSON value type";
        if wanted > 0 {
            if matches!(&node.kind, NodeKind::Array(items) if items.is_empty()) {
                raw.early.push(self.missing_label(node));
            }
            for object in objects(node) {
                let NodeKind::Object(members) = &object.kind else {
                    let detail = format!(
                        "A JSON object is required, whose keys represent the {} block's {}.",
                        self.kind,
                        label_name(self.kind)
                    );
                    raw.early.push(Diag::at(object.open(), SUMMARY, detail));
                    return;
                };
                if members.is_empty() {
                    raw.early.push(self.missing_label(object));
                }
                for member in members.iter().filter(|m| m.name != "//") {
                    labels.push(Label { text: member.name.clone(), span: member.name_span });
                    self.collect(&member.value, wanted - 1, labels, raw);
                    labels.pop();
                }
            }
            return;
        }
        let bodies: Vec<&Node> = match &node.kind {
            NodeKind::Null => Vec::new(),
            NodeKind::Array(items) => items.iter().filter(|i| !matches!(i.kind, NodeKind::Null)).collect(),
            _ => vec![node],
        };
        for body in bodies {
            if !matches!(body.kind, NodeKind::Object(_) | NodeKind::Array(_)) {
                let detail = format!(
                    "Either a JSON object or a JSON array is required, representing the contents of one or more {:?} blocks.",
                    self.kind
                );
                raw.early.push(Diag::at(body.open(), SUMMARY, detail));
                continue;
            }
            raw.blocks.push(BlockRef {
                kind: self.kind.to_owned(),
                kind_span: self.kind_span,
                labels: labels.clone(),
                // Blocks of one list are defined where the list begins.
                def: node.open(),
                body: BodyRef::Json(body),
                scope: self.scope.clone(),
            });
        }
    }
}
