//! The changes of problems that the validators find.

use super::super::outline::{Element, Outline, Setting};
use super::super::scope::nearest;
use super::{Edit, Edits, Repair};
use encamp_hcl::diag::Span;
use encamp_model::cron::{Cron, time_zone_of_place};
use encamp_model::duration::parse_duration;
use encamp_model::format_duration;

/// The change that a rule of the validators asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fix {
    /// The attribute goes, so that its default applies.
    Default,
    /// The attribute or block has no effect or is refused: it goes.
    Remove,
    /// The attribute gets this value; it is added if the block does not have it.
    Set(&'static str, &'static str),
    /// The same with a value that stands for one that only the author knows.
    Placeholder(&'static str, &'static str),
    /// Lines in the block.
    Add(&'static str),
    /// An attribute of the job.
    OfJob(&'static str, &'static str),
    /// The nearest allowed value.
    OneOf(&'static [&'static str]),
    /// The least value, which the text names.
    Least,
    /// A bare number gets its unit, another duration this value.
    Seconds(&'static str),
    /// The interval in which the attempts fit.
    RestartInterval,
    /// A reference in its full form: `${attr.kernel.name}`.
    Reference,
    /// Another name than that of the sibling.
    UniqueLabel,
    /// The block moves out of the block that it is in.
    MoveOut,
    /// Words joined by dashes.
    Dashes,
    /// Five fields.
    Cron,
    /// `crons` in place of `cron`.
    Crons,
    /// A name of the time zone database.
    TimeZone,
}

/// What a problem is about.
pub(crate) struct Subject<'a> {
    pub outline: &'a Outline,
    /// The blocks down to the location.
    pub path: &'a [&'a Element],
    /// The location.
    pub span: Option<Span>,
    /// The text of the problem.
    pub text: &'a str,
}

impl<'a> Subject<'a> {
    /// The attribute at the location.
    fn setting(&self) -> Option<&'a Setting> {
        let start = self.span?.start;
        let block = self.path.last()?;
        block.attributes.iter().find(|s| (s.name_span.start..s.value.end).contains(&start))
    }

    fn block(&self) -> Option<&'a Element> {
        self.path.last().copied()
    }

    /// The quoted text at the location, without its quotes.
    fn quoted(&self) -> Option<(usize, usize, &'a str)> {
        let span = self.span?;
        let text = self.outline.slice(span);
        let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        if let Some(inner) = inner.filter(|t| !t.contains(['"', '\n'])) {
            return Some((span.start as usize + 1, span.end as usize - 1, inner));
        }
        let value = self.setting()?.value;
        let inner = self.outline.slice(value).strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains(['"', '\n'])).then_some((value.start as usize + 1, value.end as usize - 1, inner))
    }
}

/// The change for a problem.
pub(crate) fn fixed(fix: Fix, subject: &Subject) -> Option<Repair> {
    let near = |names: &[&'static str]| {
        let (start, end, value) = subject.quoted()?;
        let other = nearest(value, names.iter().copied()).filter(|other| *other != value)?;
        Some(Repair::rename(start, end, other))
    };
    if let Fix::OneOf(names) = fix
        && let Some(repair) = near(names)
    {
        return Some(repair);
    }
    let edits = Edits::of(subject.outline)?;
    let block = subject.block();
    match fix {
        Fix::Default | Fix::OneOf(_) => {
            subject.setting().map(|s| Repair { is_certain: false, ..edits.remove_setting(s) })
        }
        Fix::Remove => match subject.setting() {
            Some(setting) => Some(edits.remove_setting(setting)),
            None => block.filter(|b| b.kind != "job").map(|b| edits.remove_block(b)),
        },
        Fix::Set(name, value) => edits.set(block?, name, value),
        Fix::Placeholder(name, value) => edits.set(block?, name, value).map(|r| Repair { is_certain: false, ..r }),
        Fix::Add(lines) => edits.add(block?, lines),
        Fix::OfJob(name, value) => edits.set(subject.path.first()?, name, value),
        Fix::Least => {
            let (_, rest) = subject.text.split_once(" is ")?;
            let least: i64 = rest.split([';', ' ']).next()?.parse().ok()?;
            Some(edits.value(subject.setting()?, &least.to_string()))
        }
        Fix::Seconds(value) => {
            let setting = subject.setting()?;
            let number: Option<u32> = subject.outline.slice(setting.value).parse().ok();
            Some(match number {
                Some(seconds) => edits.value(setting, &format!("\"{seconds}s\"")),
                None => Repair { is_certain: false, ..edits.value(setting, value) },
            })
        }
        Fix::RestartInterval => edits.set(block?, "interval", &format!("{:?}", restart_interval(subject.text)?)),
        Fix::Reference => reference(edits, subject.setting()?, subject.outline),
        Fix::UniqueLabel => {
            let (block, outer) = subject.path.split_last()?;
            edits.unique_label(outer.last()?, block)
        }
        Fix::MoveOut => {
            let (block, outer) = subject.path.split_last()?;
            let (inside, outer) = outer.split_last()?;
            // Resources are a part of a task.
            let outer = if inside.kind == "resources" { outer.split_last()?.1.last()? } else { outer.last()? };
            edits.move_out(outer, block)
        }
        Fix::Dashes => dashes(edits, subject),
        Fix::Cron => cron(subject),
        Fix::Crons => {
            let setting = subject.setting()?;
            let (start, end) = (setting.name_span.start as usize, setting.value.end as usize);
            let new = format!("crons = [{}]", subject.outline.slice(setting.value));
            Some(Repair::certain(format!("Write {new}"), [Edit::new(start, end, new.clone())]))
        }
        Fix::TimeZone => {
            let (start, end, name) = subject.quoted()?;
            match time_zone_of_place(name) {
                Some(zone) => Some(Repair::rename(start, end, &zone)),
                None => Some(Repair { is_certain: false, ..Repair::rename(start, end, "UTC") }),
            }
        }
    }
}

/// The shortest interval that `… 3 times in an interval of 30ns with a delay of 15s` allows.
fn restart_interval(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(" times in an interval of ")?;
    let attempts: i64 = before.rsplit(' ').next()?.parse().ok()?;
    let (_, delay) = rest.split_once(" with a delay of ")?;
    let delay = parse_duration(delay.trim()).ok()?;
    let least = attempts.checked_mul(delay)?.max(5_000_000_000);
    Some(format_duration(least))
}

fn reference(edits: Edits<'_>, setting: &Setting, outline: &Outline) -> Option<Repair> {
    let value = outline.slice(setting.value);
    let inner = value.trim_matches('"').trim_start_matches('$').trim_matches(['{', '}']);
    let is_name = !inner.is_empty() && inner.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    is_name.then(|| edits.value(setting, &format!("\"${{{inner}}}\"")))
}

fn dashes(edits: Edits<'_>, subject: &Subject) -> Option<Repair> {
    let joined = |name: &str| {
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
        words.collect::<Vec<_>>().join("-")
    };
    if subject.setting().is_some() {
        let (start, end, name) = subject.quoted()?;
        return Some(Repair::rename(start, end, &joined(name)));
    }
    let block = subject.block()?;
    edits.label(block, &joined(block.labels.first()?))
}

/// The specification with `*` for the fields that are missing; another one where that is none.
fn cron(subject: &Subject) -> Option<Repair> {
    let (start, end, spec) = subject.quoted()?;
    let missing = 5_usize.saturating_sub(spec.split_whitespace().count());
    let longer = format!("{spec}{}", " *".repeat(missing));
    if missing > 0 && Cron::parse(&longer).is_ok() {
        return Some(Repair::rename(start, end, &longer));
    }
    Some(Repair { is_certain: false, ..Repair::rename(start, end, "@daily") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::outline::Syntax;

    #[test]
    fn intervals_hold_all_attempts() {
        let text = |n: i64, delay: &str| {
            format!("Nomad can't restart the TaskGroup {n} times in an interval of 30ns with a delay of {delay}")
        };
        assert_eq!(restart_interval(&text(3, "15s")).as_deref(), Some("45s"));
        assert_eq!(restart_interval(&text(1, "1s")).as_deref(), Some("5s"), "no interval is shorter");
        assert_eq!(restart_interval("another text"), None);
    }

    #[test]
    fn zones_and_specifications_are_completed() {
        let fixed = |fix, value: &str| {
            let text = format!("job \"j\" {{\n  periodic {{\n    time_zone = \"{value}\"\n  }}\n}}\n");
            let outline = Outline::read("f.hcl", &text, Syntax::Hcl);
            let path = outline.around(text.find("time_zone").expect("a place"));
            let span = path.last().and_then(|b| b.setting("time_zone")).map(|s| s.value);
            let repair = super::fixed(fix, &Subject { outline: &outline, path: &path, span, text: "" });
            let new = repair.and_then(|r| r.apply(&text)).expect("a change");
            new.split('"').nth(3).unwrap_or("").to_owned()
        };
        assert_eq!(fixed(Fix::TimeZone, "Berlin"), "Europe/Berlin");
        assert_eq!(fixed(Fix::TimeZone, "new york"), "America/New_York");
        assert_eq!(fixed(Fix::TimeZone, "Atlantis"), "UTC");
        assert_eq!(fixed(Fix::Cron, "0 3 * *"), "0 3 * * *");
        assert_eq!(fixed(Fix::Cron, "61 * * * *"), "@daily");
    }
}
