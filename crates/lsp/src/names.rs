//! Variables and locals: where they are defined and used, and new names for them.

use encamp_hcl::lexer::is_identifier;
use encamp_hcl::parser::closed_strings;
use encamp_hcl::token::Kind;
use encamp_jobspec::explain::outline::Outline;

/// A place in a file.
pub(crate) type Bytes = (usize, usize);

/// A variable or a local.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    /// `var` or `local`.
    pub root: &'static str,
    /// Its name.
    pub name: String,
}

/// The variables or locals that a file declares, with the places of their names.
pub(crate) fn declared(outline: &Outline, root: &str) -> Vec<(String, Bytes)> {
    let blocks = || outline.root.blocks.iter();
    let attributes = |kind: &'static str| {
        let settings = blocks().filter(move |b| b.kind == kind).flat_map(|b| &b.attributes);
        settings.map(|s| (s.name.clone(), (s.name_span.start as usize, s.name_span.end as usize)))
    };
    if root == "local" {
        return attributes("locals").collect();
    }
    let long = blocks().filter(|b| b.kind == "variable").filter_map(|b| {
        let label = b.labels.first()?;
        let header = outline.slice(b.header);
        let at = b.header.start as usize + header.rfind(label.as_str())?;
        Some((label.clone(), (at, at + label.len())))
    });
    long.chain(attributes("variables")).collect()
}

/// All uses of variables and locals in a file, with the places of their names.
pub(crate) fn uses(text: &str) -> Vec<(Name, Bytes)> {
    let (text, tokens) = closed_strings(text);
    let slice =
        |at: usize| tokens.get(at).and_then(|t| text.get(t.span.start as usize..t.span.end as usize)).unwrap_or("");
    let kind = |at: usize| tokens.get(at).map(|t| t.kind);
    let mut out = Vec::new();
    for at in 0..tokens.len() {
        let root = match slice(at) {
            "var" => "var",
            "local" => "local",
            _ => continue,
        };
        let after_dot = at.checked_sub(1).and_then(kind) == Some(Kind::Dot);
        if kind(at) != Some(Kind::Ident) || after_dot {
            continue;
        }
        // `var.name` or `var["name"]`
        let name = match (kind(at + 1), kind(at + 2)) {
            (Some(Kind::Dot), Some(Kind::Ident)) => at + 2,
            (Some(Kind::OBrack), Some(Kind::OQuote)) if kind(at + 3) == Some(Kind::QuotedLit) => at + 3,
            _ => continue,
        };
        if let Some(token) = tokens.get(name) {
            let place = (token.span.start as usize, token.span.end as usize);
            out.push((Name { root, name: slice(name).to_owned() }, place));
        }
    }
    out
}

/// The variable or local whose name, or the root before it, is at a byte; and the place of the name.
pub(crate) fn at(outline: &Outline, offset: usize) -> Option<(Name, Bytes)> {
    let inside = |(from, to): &Bytes| (*from..=*to).contains(&offset);
    for root in ["var", "local"] {
        if let Some((name, place)) = declared(outline, root).into_iter().find(|(_, place)| inside(place)) {
            return Some((Name { root, name }, place));
        }
    }
    uses(&outline.text).into_iter().find(|(name, (from, to))| {
        let start = from.saturating_sub(name.root.len() + 1);
        (start..=*to).contains(&offset)
    })
}

/// All places of a name: its declarations, if wanted, and its uses.
pub(crate) fn places(outline: &Outline, name: &Name, declarations: bool) -> Vec<Bytes> {
    let of_declarations = declared(outline, name.root).into_iter().filter(|(n, _)| declarations && *n == name.name);
    let of_uses = uses(&outline.text).into_iter().filter(|(n, _)| n == name);
    let mut out: Vec<Bytes> = of_declarations.map(|(_, place)| place).chain(of_uses.map(|(_, place)| place)).collect();
    out.sort_unstable();
    out
}

/// Why a variable or local cannot have a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is no name of the language.
    NoName,
    /// Another one has it.
    Taken,
}

/// The places that get a new name.
///
/// # Errors
/// The name is wrong or taken.
pub(crate) fn renamed(outline: &Outline, name: &Name, new: &str) -> Result<Vec<Bytes>, Refused> {
    if !is_identifier(new) {
        return Err(Refused::NoName);
    }
    if new != name.name && declared(outline, name.root).iter().any(|(n, _)| n == new) {
        return Err(Refused::Taken);
    }
    Ok(places(outline, name, true))
}
