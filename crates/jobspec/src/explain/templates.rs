//! Job files that are templates of other tools and have to be rendered first: nomad-pack, levant, Jinja, ERB, envsubst.

use super::outline::Outline;
use super::{Finding, Place, Severity, Stage};
use encamp_hcl::diag::{Diagnostics, Sources, Span};
use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::parser::parse_expression;
use encamp_hcl::token::{Kind, Token};

/// A language of templates, by what its sequences look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    /// `[[ … ]]`
    Brackets,
    /// `{{ … }}`
    Braces,
    /// `{% … %}`
    Statements,
    /// `<% … %>`
    Angles,
    /// `${NAME}` or `$NAME` outside of strings.
    Placeholder,
}

impl Language {
    fn about(self) -> (&'static str, &'static str) {
        match self {
            Language::Brackets => (
                "[[ … ]] is a template of nomad-pack or levant, not HCL: the file has to be rendered first",
                "render it, and give the result: nomad-pack render PACK, or levant render FILE; inside of a job file, \
                 variables are variable \"NAME\" {} and var.NAME",
            ),
            Language::Braces => (
                "{{ … }} outside of a string is a template, not HCL: the file has to be rendered first",
                "render it with the tool it is written for (Jinja, Helm, consul-template), and give the result; what a \
                 task's template block renders when the task starts stands in a string or a heredoc: data = <<EOF … EOF",
            ),
            Language::Statements => (
                "{% … %} is a template of Jinja, not HCL: the file has to be rendered first",
                "render it, and give the result; inside of a job file, dynamic blocks repeat blocks, and conditions are \
                 written condition ? a : b",
            ),
            Language::Angles => (
                "<% … %> is a template (ERB and the like), not HCL: the file has to be rendered first",
                "render it, and give the result; inside of a job file, variables are variable \"NAME\" {} and var.NAME",
            ),
            Language::Placeholder => (
                "$NAME outside of a string is a placeholder of a shell or of envsubst, not HCL",
                "declare variable \"NAME\" {} outside of the job, write var.NAME here, and give the value with -var \
                 NAME=… or in the environment variable NOMAD_VAR_NAME",
            ),
        }
    }

    /// The end of its sequences; none for placeholders.
    fn closing(self) -> &'static str {
        match self {
            Language::Brackets => "]]",
            Language::Braces => "}}",
            Language::Statements => "%}",
            Language::Angles => "%>",
            Language::Placeholder => "",
        }
    }
}

/// The finding about a file with mistakes that is a template; none if it is not one. It stands for all of the
/// diagnostics, which only follow from it.
pub(super) fn unrendered(diagnostics: &Diagnostics) -> Option<Finding> {
    let first = diagnostics.list.first()?;
    let (name, text) = diagnostics.texts.get(first.origin.map_or(0, |origin| origin.text))?;
    let found = sequences(text);
    let (language, span) = found.first()?;
    let outline = Outline::read(name, text, super::Syntax::Hcl);
    let (message, help) = language.about();
    let more = match found.len() {
        1 => String::new(),
        n => format!(" ({n} such sequences in this file)"),
    };
    Some(Finding {
        stage: Stage::Parse,
        severity: Severity::Error,
        summary: first.summary.clone(),
        detail: first.detail.clone(),
        message: format!("{message}{more}"),
        place: Some(Place::of(&outline, *span)),
        block_path: outline.path(span.start as usize),
        suggestion: Some(help.to_owned()),
        related: None,
        repair: None,
    })
}

/// The template sequences outside of strings, heredocs and comments.
fn sequences(text: &str) -> Vec<(Language, Span)> {
    let tokens = lex(text, 0, Start::Normal);
    let mut out: Vec<(Language, Span)> = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        let start = first.span.start as usize;
        if first.span.end != second.span.start || out.last().is_some_and(|(_, span)| start < span.end as usize) {
            continue;
        }
        let language = match (first.kind, second.kind) {
            (Kind::OBrack, Kind::OBrack) => Language::Brackets,
            (Kind::OBrace, Kind::OBrace) => Language::Braces,
            (Kind::OBrace, Kind::Percent) => Language::Statements,
            (Kind::Less, Kind::Percent) => Language::Angles,
            (Kind::Invalid, Kind::OBrace | Kind::Ident) if slice(text, first) == "$" => Language::Placeholder,
            _ => continue,
        };
        let rest = text.get(start..).unwrap_or("");
        let line = rest.find('\n').unwrap_or(rest.len());
        let length = match language {
            Language::Placeholder => rest.get(1..).and_then(|r| r.find(|c: char| !is_placeholder(c))).map(|n| n + 1),
            // Sequences of templates may span lines.
            _ => rest.find(language.closing()).map(|n| n + 2),
        };
        let length = length.unwrap_or(line);
        let sequence = rest.get(..length).unwrap_or("");
        let begins_item = tokens.get(at.wrapping_sub(1)).is_none_or(|t| matches!(t.kind, Kind::Newline | Kind::OBrace));
        if language == Language::Brackets && !begins_item && is_list(sequence) {
            continue;
        }
        let end = first.span.start.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        out.push((language, Span { end, ..first.span }));
    }
    out
}

fn slice<'t>(text: &'t str, token: &Token) -> &'t str {
    text.get(token.span.start as usize..token.span.end as usize).unwrap_or("")
}

fn is_placeholder(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '{' | '}')
}

/// Whether a text in double brackets is HCL: a list of lists. `[[ if .x ]]` would be one, as blanks around dots do not
/// count, and `[[ end ]]`, too.
fn is_list(text: &str) -> bool {
    let content = text.trim_matches(['[', ']', '-']).trim();
    if text.contains(" .") || matches!(content, "end" | "else") {
        return false;
    }
    let sources = Sources::default();
    let source = sources.add("", text);
    parse_expression(&sources, source).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::parse_error;
    use super::*;
    use crate::parse::{ParseOptions, parse};

    fn findings(text: &str) -> Vec<Finding> {
        let options = ParseOptions { path: "f.hcl".into(), ..ParseOptions::default() };
        parse(text.as_bytes(), &options).err().map(|e| parse_error(&e)).unwrap_or_default()
    }

    /// Every language with every kind of content, wherever a value, an item or a label may stand.
    #[test]
    fn templates_are_named_wherever_they_stand() {
        let languages = [
            ("[[", "]]", "nomad-pack or levant"),
            ("[[-", "-]]", "nomad-pack or levant"),
            ("{{", "}}", "{{ … }}"),
            ("{{-", "-}}", "{{ … }}"),
            ("{%", "%}", "Jinja"),
            ("<%", "%>", "ERB"),
            ("<%=", "%>", "ERB"),
        ];
        let contents = [
            ".dcs | toStringList",
            ".x",
            "key \"a/b\"",
            "if .x",
            "range $i, $e := .list",
            "env \"X\" | default \"y\"",
            "template \"t\" .",
            "my.image_tag | quote",
            "end",
        ];
        let places = [
            "job \"j\" {\n  @\n}\n",
            "job \"j\" {\n  datacenters = @\n}\n",
            "job \"j\" {\n  datacenters = [@]\n}\n",
            "job @ {\n}\n",
            "@\njob \"j\" {\n}\n",
            "job \"j\" {\n  group \"g\" {\n    count = @\n    task \"t\" {\n      config { a = f(@) }\n    }\n  }\n}\n",
            "job \"j\" {\n  meta {\n    a = \"x\" @\n  }\n}\n",
        ];
        let mut cases = 0;
        for (open, close, name) in languages {
            for content in contents {
                for place in places {
                    let text = place.replace('@', &format!("{open} {content} {close}"));
                    let found = findings(&text);
                    cases += 1;
                    assert_eq!(found.len(), 1, "{text}{found:#?}");
                    assert!(found[0].message.contains(name), "{text}{found:#?}");
                    assert!(!found[0].suggestion.as_deref().unwrap_or("").contains("boolean"), "{text}");
                    let range = &found[0].place.as_ref().expect("a place").range;
                    let before = text.split(open).next().unwrap_or("").matches('\n').count();
                    assert_eq!(range.start_line, before + 1, "{text}");
                }
            }
        }
        assert_eq!(cases, 441);
    }

    #[test]
    fn placeholders_are_named() {
        for value in ["$COUNT", "${COUNT}", "${ COUNT }", "[$A, $B]"] {
            let found = findings(&format!("job \"j\" {{\n  priority = {value}\n}}\n"));
            assert!(found[0].message.starts_with("$NAME outside"), "{value}: {found:#?}");
        }
    }

    /// Lists of lists, and templates in strings, heredocs and comments, are HCL.
    #[test]
    fn hcl_is_no_template() {
        for value in [
            "[[1, 2], [3]]",
            "[[\"a\"]]",
            "[[upper(\"a\")], [var.x]]",
            "\"[[ .x ]] {{ y }} <% z %>\"",
            "<<E\n[[ .x | y ]]\n{{ key }}\nE",
            "1 # [[ .x ]]",
        ] {
            let text = format!("job \"j\" {{\n  meta {{\n    a = {value}\n    b == 1\n  }}\n}}\n");
            let found = findings(&text);
            assert!(!found.is_empty(), "{text}");
            assert!(found.iter().all(|f| !f.message.contains("rendered first")), "{text}{found:#?}");
        }
    }
}
