//! Outlines of JSON documents: the schema determines which member is a block and which is a label.

use super::outline::{Element, Literal, Setting, Syntax};
use crate::parse::schema::{Block, Inside, JOB, Schema};
use encamp_hcl::diag::Span;
use encamp_hcl::json::{Member, Node, NodeKind};

/// API names of what `constraint` and `affinity` hold.
const SIDES: [(&str, &str); 4] =
    [("LTarget", "attribute"), ("RTarget", "value"), ("Operand", "operator"), ("Weight", "weight")];

/// The outline of a document.
pub(crate) fn root(node: &Node, syntax: Syntax) -> Element {
    match syntax {
        Syntax::Api => {
            let wrapped = members(node).iter().rev().find(|m| m.name.eq_ignore_ascii_case("job"));
            let (body, header) = match wrapped {
                Some(m) => (&m.value, m.name_span),
                None => (node, node.open()),
            };
            let id = members(body).iter().find(|m| m.name.eq_ignore_ascii_case("id"));
            let labels: Vec<String> = id.and_then(|m| text(&m.value)).into_iter().collect();
            let job = block("job", labels, header, body, &Inside::Schema(&JOB), syntax);
            Element { blocks: vec![job], ..Element::default() }
        }
        Syntax::Hcl => {
            let mut out = Element::default();
            for member in objects(node).flat_map(members) {
                match member.name.as_str() {
                    "job" => labelled("job", &member.value, &Inside::Schema(&JOB), &mut out),
                    "variable" => labelled("variable", &member.value, &Inside::Strings, &mut out),
                    other => {
                        let bodies = objects(&member.value);
                        let one = |body| block(other, Vec::new(), member.name_span, body, &Inside::Strings, syntax);
                        out.blocks.extend(bodies.map(one));
                    }
                }
            }
            out
        }
    }
}

fn objects(node: &Node) -> impl Iterator<Item = &Node> {
    let list = match &node.kind {
        NodeKind::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    list.iter()
}

fn members(node: &Node) -> &[Member] {
    match &node.kind {
        NodeKind::Object(members) => members,
        _ => &[],
    }
}

fn text(node: &Node) -> Option<String> {
    match &node.kind {
        NodeKind::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// Blocks whose labels are the names of an object's members.
fn labelled(kind: &str, node: &Node, inside: &Inside, out: &mut Element) {
    for member in objects(node).flat_map(members) {
        for body in objects(&member.value) {
            let label = vec![member.name.clone()];
            out.blocks.push(block(kind, label, member.name_span, body, inside, Syntax::Hcl));
        }
    }
}

fn block(kind: &str, labels: Vec<String>, header: Span, body: &Node, inside: &Inside, syntax: Syntax) -> Element {
    let mut out = Element { kind: kind.to_owned(), labels, header, span: header.to(body.span), ..Element::default() };
    let schema = match inside {
        Inside::Schema(schema) => Some(*schema),
        _ => None,
    };
    for member in objects(body).flat_map(members) {
        let found = schema.and_then(|s| s.blocks.iter().find(|b| is(&member.name, b.name, &b.json(), syntax)));
        match found {
            Some(spec) => nested(spec, member, syntax, &mut out),
            None => out.attributes.push(setting(member, schema, syntax)),
        }
    }
    out
}

fn is(given: &str, hcl: &str, json: &str, syntax: Syntax) -> bool {
    match syntax {
        Syntax::Hcl => given == hcl,
        Syntax::Api => given.eq_ignore_ascii_case(json),
    }
}

fn nested(spec: &Block, member: &Member, syntax: Syntax, out: &mut Element) {
    match (syntax, spec.label) {
        (Syntax::Hcl, Some(_)) => labelled(spec.name, &member.value, &spec.inside, out),
        (_, None) => {
            let one = |body| block(spec.name, Vec::new(), member.name_span, body, &spec.inside, syntax);
            out.blocks.extend(objects(&member.value).map(one));
        }
        (Syntax::Api, Some(label)) => {
            for body in objects(&member.value) {
                let own = members(body).iter().find(|m| m.name.eq_ignore_ascii_case(label));
                let labels = own.and_then(|m| text(&m.value)).into_iter().collect();
                out.blocks.push(block(spec.name, labels, body.open(), body, &spec.inside, syntax));
            }
        }
    }
}

fn setting(member: &Member, schema: Option<&Schema>, syntax: Syntax) -> Setting {
    let known = schema.and_then(|s| s.attributes.iter().find(|a| is(&member.name, a.name, &a.json(), syntax)));
    let side = SIDES.iter().find(|(api, _)| syntax == Syntax::Api && member.name == *api);
    let name = known.map(|a| a.name).or(side.map(|(_, hcl)| *hcl)).unwrap_or(&member.name);
    let literal = match &member.value.kind {
        NodeKind::String(text) if !text.contains("${") && !text.contains("%{") => Literal::Text(text.clone()),
        NodeKind::Number(text) => Literal::Number(text.clone()),
        NodeKind::Bool(_) => Literal::Bool,
        NodeKind::Array(_) => Literal::List,
        NodeKind::Object(_) => Literal::Object,
        NodeKind::Null | NodeKind::String(_) => Literal::Other,
    };
    Setting { name: name.to_owned(), name_span: member.name_span, value: member.value.span, literal }
}
