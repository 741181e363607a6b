//! Maps the prefixes of nested errors to the blocks they name.

use super::outline::{Element, Literal};

/// How a text names a block.
#[derive(Clone, Copy)]
enum By {
    Label,
    /// The value of its `name`.
    Name,
    /// Counted from 1, from 0.
    First,
    Zeroth,
    /// There is one such block.
    Only,
}

/// `before NAME after`: in a block of the type `within` (any, if empty) that is about the block `kind`.
struct Step(&'static str, &'static str, &'static str, &'static str, By);

const STEPS: [Step; 33] = [
    Step("job", "Task group ", " validation failed: ", "group", By::Label),
    Step("job", "Group ", " has warnings: ", "group", By::Label),
    Step("job", "Job task group ", " ", "group", By::First),
    Step("group", "Task group network validation failed: ", "", "network", By::Only),
    Step("group", "Task group scaling policy validation failed: ", "", "scaling", By::Only),
    Step("group", "Task group service check validation failed: ", "", "", By::Only),
    Step("group", "Task group service validation failed: ", "", "", By::Only),
    Step("group", "Task group volume validation for ", " failed: ", "volume", By::Label),
    Step("group", "Service[", "] ", "service", By::Zeroth),
    Step("group", "Task ", " validation failed: ", "task", By::Label),
    Step("group", "Task ", " has warnings: ", "task", By::Label),
    Step("group", "Task ", " redefines ", "task", By::First),
    Step("group", "Task ", " missing name", "task", By::First),
    Step("task", "service[", "] ", "service", By::Zeroth),
    Step("task", "Artifact ", " validation failed: ", "artifact", By::First),
    Step("task", "Template ", " validation failed: ", "template", By::First),
    Step("task", "Template ", " has same ", "template", By::First),
    Step("task", "Vault validation failed: ", "", "vault", By::Only),
    Step("task", "Dispatch Payload validation failed: ", "", "dispatch_payload", By::Only),
    Step("task", "Lifecycle validation failed: ", "", "lifecycle", By::Only),
    Step("task", "Action ", " validation failed: ", "action", By::Label),
    Step("task", "Identity ", " is invalid: ", "identity", By::Name),
    Step("task", "Secret ", " is invalid: ", "secret", By::Label),
    Step("task", "Volume Mount (", ") ", "volume_mount", By::Zeroth),
    Step("task", "device ", " failed validation: ", "device", By::First),
    Step("service", "Check ", " invalid: ", "check", By::Name),
    Step("", "Constraint ", " validation failed: ", "constraint", By::First),
    Step("", "Constraint ", " has disallowed ", "constraint", By::First),
    Step("", "Affinity ", " validation failed: ", "affinity", By::First),
    Step("", "Spread ", " validation failed: ", "spread", By::First),
    Step("", "Port label ", " already in use", "port", By::Label),
    Step("", "Port ", " (", "port", By::Label),
    Step("", "Port ", " c", "port", By::Label),
];

/// Goes down to the block that a text begins with, and returns the rest of the text. Of blocks with one label the one
/// with the number `choice` is taken.
pub(crate) fn descend<'t>(path: &mut Vec<&Element>, text: &'t str, choice: usize) -> &'t str {
    let mut rest = text;
    loop {
        let Some(here) = path.last().copied() else { return rest };
        let steps = STEPS.iter().filter_map(|step| {
            let Step(within, before, after, ..) = step;
            let inner = rest.strip_prefix(before).filter(|_| within.is_empty() || here.kind == *within)?;
            let (name, tail) = match after.is_empty() {
                true => ("", inner),
                false => inner.split_once(after).filter(|(name, _)| !name.is_empty())?,
            };
            Some((step, step.find(here, name.trim_matches('"'), choice), tail))
        });
        // A text may look like several steps; the block decides.
        let steps: Vec<_> = steps.collect();
        let Some((Step(_, before, after, ..), found, tail)) =
            steps.iter().find(|(_, found, _)| !found.is_empty()).or_else(|| steps.first())
        else {
            return rest;
        };
        path.extend(found);
        // The rest of a sentence is only worth keeping when the name was a prefix of it.
        match before.ends_with(": ") || after.ends_with(": ") || after.ends_with("] ") {
            true => rest = tail,
            false => return rest,
        }
    }
}

impl Step {
    /// The block of this name in `here`, and what is between the two.
    fn find<'o>(&self, here: &'o Element, name: &str, choice: usize) -> Vec<&'o Element> {
        let Step(.., kind, by) = self;
        // Devices are one level further down, ports of resources too.
        let between = match *kind {
            "device" => here.of("resources").next(),
            "port" if here.kind == "group" => here.of("network").next(),
            _ => None,
        };
        let holder = between.unwrap_or(here);
        let number = || name.parse::<usize>().ok();
        let found = match by {
            By::Label => {
                let same = || holder.of(kind).filter(|b| b.labels.first().is_some_and(|l| l == name));
                same().nth(choice).or_else(|| same().next())
            }
            By::Name => {
                holder.of(kind).find(|b| text_of(b, "name").or(b.labels.first().map(String::as_str)) == Some(name))
            }
            By::First => number().and_then(|n| holder.of(kind).nth(n.checked_sub(1)?)),
            By::Zeroth => number().and_then(|n| holder.of(kind).nth(n)),
            By::Only => holder.of(kind).next(),
        };
        // Blocks that a `dynamic` block makes have no labels yet.
        match found.or_else(|| holder.of(kind).find(|b| b.dynamic)) {
            Some(found) => between.into_iter().chain([found]).collect(),
            None => Vec::new(),
        }
    }
}

/// The text that an attribute is set to.
pub(crate) fn text_of<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    match &element.setting(name)?.literal {
        Literal::Text(text) => Some(text),
        _ => None,
    }
}
