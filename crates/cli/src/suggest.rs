//! Suggestions for mistyped commands and flags: a line on standard error after the help. Nothing is printed if no name
//! is similar, so that recorded outputs stay the same.

use super::command::{Entry, Registry};
use super::command_meta::Listing;
use super::flags::FlagError;
use encamp_jobspec::explain::nearest;
use encamp_model::quoted;

/// The minimum length of a word: shorter words are similar to too many names.
const SHORTEST: usize = 3;

/// The suggestion for a word that names nothing in `group` (the top level if empty), if it is similar to a name.
pub fn command(registry: &Registry, group: &str, args: &[String]) -> Option<String> {
    let depth = group.split_whitespace().count();
    let words = args.iter().skip_while(|a| a.starts_with('-')).take_while(|a| !a.starts_with('-'));
    let word = words.map(String::as_str).nth(depth).filter(|w| w.chars().count() >= SHORTEST)?;
    let names: Vec<&str> = registry.below(group).into_iter().map(|(name, _)| name).collect();
    // An existing name is not mistyped.
    let near = nearest(word, names.iter().copied()).filter(|near| *near != word)?;
    let full = |name: &str| if group.is_empty() { name.to_string() } else { format!("{group} {name}") };
    Some(format!("There is no command {}; did you mean {}?", quoted(&full(word)), quoted(&full(near))))
}

/// The most names of other groups that are suggested.
const ELSEWHERE: usize = 3;

/// What to say to a person about a word that names nothing in `group` and is similar to nothing: whether another group
/// has such a command, or a command such a flag.
pub fn unknown(registry: &Registry, group: &str, args: &[String]) -> Option<String> {
    let depth = group.split_whitespace().count();
    let words = args.iter().skip_while(|a| a.starts_with('-')).take_while(|a| !a.starts_with('-'));
    let word = words.map(String::as_str).nth(depth)?;
    let full = if group.is_empty() { word.to_string() } else { format!("{group} {word}") };
    if registry.below(group).iter().any(|(name, _)| *name == word) {
        return None;
    }
    let shown = || registry.entries().filter(|e| matches!(e.listing, Listing::Common | Listing::Other));
    let named = shown().filter(|e| e.path.split(' ').next_back() == Some(word)).map(|e| e.path.to_string());
    let flag = |e: &&Entry| e.clap().get_arguments().any(|a| !a.is_hide_set() && a.get_long() == Some(word));
    let flags = shown().filter(flag).map(|e| format!("{} -{word}", e.path));
    let found: Vec<String> = named.chain(flags).take(ELSEWHERE).map(|name| quoted(&name)).collect();
    let rest = match found.as_slice() {
        [] => "The commands are listed above.".to_string(),
        [one] => format!("Did you mean {one}?"),
        [most @ .., last] => format!("Did you mean {} or {last}?", most.join(", ")),
    };
    Some(format!("There is no command {}. {rest}", quoted(&full)))
}

/// The suggestion for an unknown flag, if it is similar to one that the command has.
pub fn flag(entry: &Entry, error: &FlagError) -> Option<String> {
    let FlagError::NotDefined(name) = error else { return None };
    if name.chars().count() < SHORTEST {
        return None;
    }
    let flags = entry.clap().get_arguments().filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long());
    nearest(name, flags).map(|near| format!("Did you mean -{near}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_others_are_not() {
        let registry = Registry::new();
        let args = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let asked = |group: &str, line: &str| command(&registry, group, &args(line));
        let suggestion = |text: &str| Some(text.to_string());
        assert_eq!(asked("", "jbo plan"), suggestion("There is no command \"jbo\"; did you mean \"job\"?"));
        assert_eq!(
            asked("", "-x valdiate"),
            suggestion("There is no command \"valdiate\"; did you mean \"validate\"?")
        );
        assert_eq!(
            asked("job", "job plna x"),
            suggestion("There is no command \"job plna\"; did you mean \"job plan\"?")
        );
        assert_eq!(
            asked("operator raft", "operator raft list-peer"),
            suggestion("There is no command \"operator raft list-peer\"; did you mean \"operator raft list-peers\"?")
        );
        for (group, line) in
            [("", ""), ("", "nosuch"), ("", "x"), ("job", "job"), ("job", "job -plan"), ("job", "job nosuch")]
        {
            assert_eq!(asked(group, line), None, "{line}");
        }
        let unknown = |group: &str, line: &str| super::unknown(&registry, group, &args(line));
        assert_eq!(
            unknown("", "rollout"),
            suggestion("There is no command \"rollout\". Did you mean \"job plan -rollout\"?")
        );
        let nothing = "There is no command \"job nosuch\". The commands are listed above.";
        assert_eq!(unknown("job", "job nosuch"), suggestion(nothing));
        assert_eq!((unknown("job", "job"), unknown("", "-x")), (None, None));
        let plan = registry.get("job plan").unwrap();
        let flag = |name: &str| flag(plan, &FlagError::NotDefined(name.into()));
        assert_eq!(flag("snapshto"), suggestion("Did you mean -snapshot?"));
        assert_eq!(flag("no-colour"), suggestion("Did you mean -no-color?"));
        assert_eq!((flag("nope"), flag("x")), (None, None));
    }
}
