//! Findings from the validators' errors: their nested lists are split, and each text is matched to the block it is
//! about.

use std::rc::Rc;

use super::advice::{nanoseconds, whole};
use super::outline::{Element, Literal, Outline, Setting};
use super::repair::{Fix, Repair, Subject, fixed};
use super::rules::{Help, RULES, Rule};
use super::scope::nearest;
use super::steps::{descend, text_of};
use super::{Finding, MAX_FINDINGS, Place, Severity, Stage, in_order, titles};
use encamp_hcl::diag::Span;

/// Characters kept of what a text is nested in.
const MAX_DETAIL: usize = 10_000;
/// Blocks of one label that are looked into.
const MAX_NAMESAKES: usize = 4;

/// The findings of errors or warnings about the job of a file.
pub fn validation(outline: &Outline, items: &[String], severity: Severity) -> Vec<Finding> {
    let leaves = items.iter().flat_map(|item| leaves(item, MAX_FINDINGS));
    in_order(leaves.take(MAX_FINDINGS).map(|(around, text)| finding(outline, &around, &text, severity)).collect())
}

/// The first innermost texts of a nested error list, each with the texts it is nested in: those may be long, and are
/// shared.
fn leaves(item: &str, limit: usize) -> Vec<(Vec<Rc<str>>, String)> {
    let mut out: Vec<(Vec<Rc<str>>, String)> = Vec::new();
    let mut open: Vec<(Rc<str>, usize)> = Vec::new();
    for part in item.split("\n\t* ") {
        if out.len() >= limit {
            break;
        }
        if let Some((prefix, count)) = list_head(part.trim_end_matches('\n')) {
            open.push((prefix.into(), count));
            continue;
        }
        let around = open.iter().map(|(prefix, _)| prefix.clone()).filter(|p| !p.is_empty()).collect();
        out.push((around, part.trim_end_matches(['\n', '"']).to_owned()));
        if part.trim_end().ends_with('"')
            && !part.ends_with("\n\"")
            && let Some((_, text)) = out.last_mut()
        {
            *text = part.trim_end().to_owned();
        }
        while let Some((_, left)) = open.last_mut() {
            *left = left.saturating_sub(1);
            if *left > 0 {
                break;
            }
            open.pop();
        }
    }
    out
}

/// `prefix: 2 errors occurred:` as prefix and number.
fn list_head(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_suffix(" errors occurred:").or_else(|| text.strip_suffix(" error occurred:"))?;
    let digits = rest.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = rest.split_at_checked(rest.len() - digits)?;
    Some((prefix, number.parse().ok()?))
}

fn finding(outline: &Outline, around: &[Rc<str>], text: &str, severity: Severity) -> Finding {
    // Of several blocks with the same label the one that leads furthest is meant.
    let ways = (0..MAX_NAMESAKES).map(|choice| {
        let mut path: Vec<&Element> = outline.job().into_iter().collect();
        for prefix in around {
            descend(&mut path, prefix, choice);
        }
        let rest = descend(&mut path, text, choice);
        (path, rest)
    });
    let (mut path, rest) = ways.rev().max_by_key(|(path, _)| path.len()).unwrap_or((Vec::new(), text));
    mentioned(&mut path, text);
    // The rest is the end of the text.
    let rule = RULES.iter().find(|r| text.contains(r.text));
    let clash = port_clash(outline, &path, text);
    let related = redefined(outline, &path, text).or_else(|| clash.as_ref().and_then(|(_, other)| other.clone()));
    let target = clash.map(|(target, _)| target).unwrap_or_else(|| locate(outline, &path, rule, text));
    let repair = repair(outline, rule, &target, text);
    let suggestion = target.help.or_else(|| rule.and_then(|r| help(r, target.value)));
    Finding {
        stage: Stage::Validate,
        severity,
        summary: text.to_owned(),
        detail: detail(around),
        message: rest.to_owned(),
        place: target.span.map(|span| Place::of(outline, span)),
        block_path: titles(&target.path),
        suggestion,
        related,
        repair,
    }
}

/// The change for a problem of a rule.
fn repair(outline: &Outline, rule: Option<&Rule>, target: &Target, text: &str) -> Option<Repair> {
    let fix = match rule.map(|r| (r.help, r.fix)) {
        Some((Help::OneOf(names), Fix::Default)) => Fix::OneOf(names),
        Some((_, fix)) => fix,
        None => Fix::Default,
    };
    fixed(fix, &Subject { outline, path: &target.path, span: target.span, text })
}

/// The surroundings of a text; only their beginning where names make them long.
fn detail(around: &[Rc<str>]) -> String {
    let whole: String = around.iter().flat_map(|text| text.chars()).take(MAX_DETAIL).collect();
    whole.trim_end().to_owned()
}

/// The port that takes a static port which another one has, and that other one.
fn port_clash<'o>(
    outline: &'o Outline,
    path: &[&'o Element],
    text: &str,
) -> Option<(Target<'o>, Option<(Place, String)>)> {
    let (number, owner) = text.strip_prefix("Static port ")?.split_once(" already reserved by ")?;
    let owner = owner.rsplit(':').next()?;
    let network = path.last().filter(|e| e.kind == "network")?;
    let is_taken = |p: &&Element| p.setting("static").is_some_and(|s| outline.slice(s.value) == number);
    let label = |p: &Element| p.labels.first().cloned().unwrap_or_default();
    let port = network.of("port").filter(is_taken).filter(|p| label(p) != owner).last()?;
    let first = network.of("port").filter(is_taken).find(|p| label(p) == owner).and_then(|p| p.setting("static"));
    let path = path.iter().copied().chain([port]).collect();
    let span = port.setting("static").map(whole);
    Some((
        Target { span, path, value: None, help: None },
        first.map(|s| (Place::of(outline, whole(s)), "first used here".to_owned())),
    ))
}

/// Follows `group "g"`, `task "t"` and `Task t` in the middle of a text that is about the whole job.
fn mentioned(path: &mut Vec<&Element>, text: &str) {
    let &[job] = path.as_slice() else { return };
    let named = |before: &str| {
        let (_, rest) = text.split_once(before)?;
        match rest.strip_prefix('"') {
            Some(rest) => rest.split('"').next(),
            None => rest.split([' ', ',', ':', '[']).next(),
        }
    };
    let is = |b: &&Element, name: &str| b.labels.first().is_some_and(|l| l == name);
    let group = ["group \"", "task group ", "Task group ", "exposed service check "].into_iter().find_map(|before| {
        let name = named(before.trim_end_matches('"'))?;
        let name = name.split("->").next()?;
        job.of("group").find(|b| is(b, name))
    });
    let task = named("Task ")
        .or_else(|| named("task "))
        .and_then(|name| job.of("group").find_map(|g| Some((g, g.of("task").find(|t| is(t, name))?))));
    match (group, task) {
        (_, Some((group, task))) => path.extend([group, task]),
        (Some(group), None) => path.push(group),
        (None, None) => {}
    }
}

/// Where a rule points.
struct Target<'o> {
    span: Option<Span>,
    path: Vec<&'o Element>,
    /// The text that the attribute is set to.
    value: Option<&'o str>,
    help: Option<String>,
}

/// The attribute or block that a rule is about, looked for in the innermost block and then around it; the innermost
/// block itself where there is none.
fn locate<'o>(outline: &'o Outline, path: &[&'o Element], rule: Option<&Rule>, text: &str) -> Target<'o> {
    let targets = rule.map_or("", |r| r.at).split('|').filter(|t| !t.is_empty());
    let lacking = match rule.map(|r| r.fix) {
        Some(Fix::Placeholder(name, _)) => Some(name),
        _ => None,
    };
    let mut fallback: Option<Vec<&Element>> = None;
    for target in targets {
        let (target, anywhere) = target.strip_prefix("*.").map_or((target, false), |t| (t, true));
        let mut names: Vec<&str> = target.split('.').collect();
        let attribute = names.pop().unwrap_or("");
        let around = (1..=path.len()).rev().filter_map(|depth| Some(path.get(..depth)?.to_vec()));
        let below = if anywhere { below(path) } else { Vec::new() };
        for mut inner in around.chain(below) {
            // A block that the text led to is not looked for again.
            let names = match (names.as_slice(), inner.last()) {
                ([first, rest @ ..], Some(here)) if here.kind == *first => rest,
                (names, _) => names,
            };
            let reached = names.iter().all(|kind| {
                let next = inner.last().and_then(|e| pick(e, kind, text, lacking));
                inner.extend(next);
                next.is_some()
            });
            let Some(element) = inner.last().filter(|_| reached) else { continue };
            if let Some(setting) = element.setting(attribute) {
                return at_setting(outline, inner, setting, text);
            }
            if let Some(block) = pick(element, attribute, text, None) {
                inner.push(block);
                return Target { span: Some(block.header), path: inner, value: None, help: None };
            }
            if !names.is_empty() {
                fallback.get_or_insert(inner);
            }
        }
    }
    let path = fallback.unwrap_or_else(|| path.to_vec());
    // Without a rule: an attribute whose name the text has, if that can't be another word.
    let named =
        |s: &&Setting| s.name.len() > 2 && !matches!(s.name.as_str(), "name" | "type") && has_word(text, &s.name);
    match path.last().filter(|e| e.kind != "job").and_then(|e| e.attributes.iter().find(named)) {
        Some(setting) => at_setting(outline, path, setting, text),
        None => Target { span: path.last().map(|e| e.header), path, value: None, help: None },
    }
}

fn at_setting<'o>(outline: &'o Outline, path: Vec<&'o Element>, setting: &'o Setting, text: &str) -> Target<'o> {
    let value = match &setting.literal {
        Literal::Text(text) => Some(text.as_str()),
        _ => None,
    };
    Target { span: Some(narrow(outline, setting, text)), help: nanoseconds(&path, setting), path, value }
}

/// The ways to the blocks inside of the innermost one, three levels deep: a group, a task, a block of a task.
fn below<'o>(path: &[&'o Element]) -> Vec<Vec<&'o Element>> {
    let mut ways = vec![path.to_vec()];
    let mut from = 0;
    for _ in 0..3 {
        let to = ways.len().min(MAX_FINDINGS);
        for at in from..to {
            let way = ways.get(at).cloned().unwrap_or_default();
            let blocks = way.last().map(|e| e.blocks.as_slice()).unwrap_or_default();
            ways.extend(blocks.iter().map(|b| way.iter().copied().chain([b]).collect()));
        }
        from = to;
    }
    ways
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).any(|w| w == word)
}

/// The value that a text quotes, else the whole attribute.
fn narrow(outline: &Outline, setting: &Setting, text: &str) -> Span {
    let value = outline.slice(setting.value);
    let quoted = text.split('"').nth(1).filter(|q| !q.is_empty()).map(|q| format!("{q:?}"));
    let found = quoted.and_then(|q| Some((value.find(&q)?, q.len())));
    match found.and_then(|(at, len)| Some((u32::try_from(at).ok()?, u32::try_from(len).ok()?))) {
        Some((at, len)) => {
            let start = setting.value.start + at;
            Span { start, end: start + len, ..setting.value }
        }
        None => whole(setting),
    }
}

/// The block of a type that the text speaks of: the one whose name it has, or a value that it quotes, or that does not
/// have an attribute; else the first.
fn pick<'o>(element: &'o Element, kind: &str, text: &str, lacking: Option<&str>) -> Option<&'o Element> {
    let named = |b: &&Element| {
        let name = text_of(b, "name").or(b.labels.first().map(String::as_str));
        name.is_some_and(|name| has_word(text, name))
    };
    let quoted = text.split('"').nth(1).filter(|q| !q.is_empty());
    let sets = |b: &&Element| {
        let is_quoted = |s: &Setting| matches!(&s.literal, Literal::Text(text) if Some(text.as_str()) == quoted);
        b.attributes.iter().any(is_quoted)
    };
    let of = || element.blocks.iter().filter(|b| b.kind == kind);
    let lacks = |b: &&Element| lacking.is_some_and(|name| b.setting(name).is_none());
    of().find(named).or_else(|| of().find(sets)).or_else(|| of().find(lacks)).or_else(|| of().next())
}

/// The earlier of two things of one name.
fn redefined(outline: &Outline, path: &[&Element], text: &str) -> Option<(Place, String)> {
    let (_, rest) = text.split_once(" redefines '")?;
    let (kind, from) = match rest.rsplit_once("' from group ") {
        Some((_, number)) => ("group", number),
        None => ("task", rest.rsplit_once("' from task ")?.1),
    };
    let index: usize = from.trim().parse().ok()?;
    let holder = path.iter().rev().find(|e| e.of(kind).next().is_some())?;
    let first = holder.of(kind).nth(index.checked_sub(1)?)?;
    Some((Place::of(outline, first.header), "first defined here".to_owned()))
}

/// The help of a rule about an attribute with this value.
fn help(rule: &Rule, value: Option<&str>) -> Option<String> {
    match rule.help {
        Help::None => None,
        Help::Text(text) => Some(text.to_owned()),
        Help::OneOf(names) => match value.map(|v| (v, nearest(v, names.iter().copied()))) {
            // The value is allowed as such.
            Some((value, _)) if names.contains(&value) => None,
            Some((_, Some(other))) => Some(format!("did you mean {other:?}?")),
            _ => Some(format!("one of: {}", names.join(", "))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_lists_are_taken_apart() {
        let text = "Task group g validation failed: 2 errors occurred:\n\t* Task t validation failed: 1 error \
                    occurred:\n\t* 2 errors occurred:\n\t* a\n\t* b\n\n\n\n\n\t* c\n\n";
        let got = leaves(text, 10);
        let around: [Rc<str>; 2] = ["Task group g validation failed: ".into(), "Task t validation failed: ".into()];
        assert_eq!(
            got,
            [
                (around.to_vec(), "a".to_owned()),
                (around.to_vec(), "b".to_owned()),
                (around[..1].to_vec(), "c".to_owned()),
            ]
        );
        assert_eq!(leaves(text, 1).len(), 1);
        assert_eq!(leaves("x \"y\"", 10), [(vec![], "x \"y\"".to_owned())]);
    }
}
