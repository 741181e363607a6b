//! References that stay in the job as text (`docs/spec/jobspec.md §3.2`): spaces in them are part of the job, not of its layout.

use super::pieces::{Form, Piece};
use encamp_hcl::ast::{Block, Body, Expr, ExprKind};
use encamp_hcl::diag::Span;
use encamp_hcl::token::Kind;

/// The references of a file that are kept, in the order of their places.
pub fn references(body: &Body) -> Vec<Span> {
    let mut finder = Finder { names: vec!["var", "local"], kept: Vec::new() };
    finder.body(body);
    finder.kept.sort_by_key(|span| span.start);
    finder.kept
}

struct Finder<'a> {
    /// Names that have a value here.
    names: Vec<&'a str>,
    kept: Vec<Span>,
}

impl<'a> Finder<'a> {
    fn body(&mut self, body: &'a Body) {
        body.attributes.iter().for_each(|a| self.expr(&a.expr));
        for block in &body.blocks {
            match iterator(block) {
                None => self.body(&block.body),
                Some(name) => {
                    block.body.attributes.iter().for_each(|a| self.expr(&a.expr));
                    self.within([name], |finder| block.body.blocks.iter().for_each(|b| finder.body(&b.body)));
                }
            }
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Reference { root, .. } if !self.names.contains(&root.as_str()) => self.kept.push(expr.span),
            ExprKind::For(node) => {
                self.expr(&node.collection);
                let names = node.key_name.iter().chain([&node.value_name]).map(String::as_str);
                self.within(names, |finder| {
                    let parts = [node.key.as_ref(), Some(&node.value), node.condition.as_ref()];
                    parts.into_iter().flatten().for_each(|e| finder.expr(e));
                });
            }
            _ => expr.children(&mut |inner| self.expr(inner)),
        }
    }

    fn within(&mut self, names: impl IntoIterator<Item = &'a str>, visit: impl FnOnce(&mut Self)) {
        let outside = self.names.len();
        self.names.extend(names);
        visit(self);
        self.names.truncate(outside);
    }
}

/// The name that the content of a `dynamic` block has for the element.
fn iterator(block: &Block) -> Option<&str> {
    let label = block.labels.first().filter(|_| block.kind == "dynamic")?;
    let given = block.body.attributes.iter().find(|a| a.name == "iterator").map(|a| &a.expr.kind);
    Some(match given {
        Some(ExprKind::Reference { root, .. }) => root,
        _ => &label.text,
    })
}

/// Marks the pieces whose spaces are part of a kept reference: inside of it, and, where it stands alone in `${…}`, up to both
/// ends of the sequence, because the text that is kept goes from one to the other.
pub fn freeze(pieces: &mut [Piece<'_>], kept: &[Span]) {
    for span in kept {
        let first = pieces.partition_point(|p| p.start < span.start as usize);
        let behind = pieces.partition_point(|p| p.start < span.end as usize);
        let mut frozen = first + 1..behind;
        if first.checked_sub(1).and_then(|i| pieces.get(i)).is_some_and(|p| p.text == "${") {
            frozen.start = first;
            let rest = pieces.get(behind..).unwrap_or_default();
            let blank = rest.iter().take_while(|p| !matches!(p.form, Form::Token(_))).count();
            if rest.get(blank).and_then(Piece::kind) == Some(Kind::SeqEnd) {
                frozen.end = behind + blank + 1;
            }
        }
        pieces.get_mut(frozen).unwrap_or_default().iter_mut().for_each(|p| p.frozen = true);
    }
}

#[cfg(test)]
mod tests {
    use crate::fmt::tests::formatted;

    #[test]
    fn references_of_the_client_are_left_as_they_are() {
        for text in [
            "a = \"${ attr.x }\"\n",
            "a = \"b ${\tnode.y\t} c\"\n",
            "a = \"${attr.x ~}\"\n",
            "a = \"${attr.x\n   }\"\n",
            "a = attr . x [ 0 ]\n",
            "a = (attr\n       .x)\n",
            "a = [for x in y : \"${ x1 } ${x}\"]\n",
            "a = <<EOT\n${ attr.x } ${var.y}\nEOT\n",
        ] {
            assert_eq!(formatted(text), text, "{text}");
        }
    }

    #[test]
    fn names_with_a_value_are_no_text() {
        for (text, want) in [
            ("a = \"${ var.x } ${ local . y }\"\n", "a = \"${var.x} ${local.y}\"\n"),
            ("a = [for k, v in \"${ k }\" : \"${ k }${ v }\"]\n", "a = [for k, v in \"${ k }\" : \"${k}${v}\"]\n"),
            ("a = \"%{ for x in y }${ x }%{ endfor }${ x }\"\n", "a = \"%{for x in y}${x}%{endfor}${ x }\"\n"),
            ("a = \"${ attr.x == 1 }\"\n", "a = \"${ attr.x == 1}\"\n"),
            ("a = \"${ f( attr.x ) }\"\n", "a = \"${f(attr.x)}\"\n"),
            (
                "dynamic \"b\" {\n  content {\n    c = \"${ b.value } ${ d.value }\"\n  }\n}\n",
                "dynamic \"b\" {\n  content {\n    c = \"${b.value} ${ d.value }\"\n  }\n}\n",
            ),
            (
                "dynamic \"b\" {\n  iterator = d\n  content {\n    c = \"${ b.value } ${ d.value }\"\n  }\n}\n",
                "dynamic \"b\" {\n  iterator = d\n  content {\n    c = \"${ b.value } ${d.value}\"\n  }\n}\n",
            ),
        ] {
            assert_eq!(formatted(text), want, "{text}");
        }
    }
}
