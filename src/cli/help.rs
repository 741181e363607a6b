//! Help texts, generated from the definitions of the commands (`docs/spec/cli.md §2.1`).

use clap::{Arg, ArgAction};

use super::command::{Entry, Listing, Registry};
use super::general::GENERAL_OPTIONS;
use super::render::wrap::{self, WIDTH};

/// The heading of a command's own flags.
const OPTIONS: &str = "Options";

/// The commands that the general help lists first, in this order.
const COMMON: &[&str] = &["run", "stop", "status", "alloc", "job", "node", "agent"];

/// The general help.
pub fn general(registry: &Registry) -> String {
    let listed = |path: &str| registry.get(path).is_none_or(|e| e.listing != Listing::Alias);
    let rows: Vec<(&str, String)> = registry
        .below("")
        .into_iter()
        .filter(|(_, path)| listed(path))
        .map(|(name, path)| (name, registry.about(path)))
        .collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, about): &(&str, String)| format!("    {name:width$}      {about}\n");
    let common: String = COMMON.iter().flat_map(|name| rows.iter().filter(move |(n, _)| n == name)).map(line).collect();
    let other: String = rows.iter().filter(|(name, _)| !COMMON.contains(name)).map(line).collect();
    let usage = "Usage: encamp [-version] [-help] <command> [args]";
    format!("{usage}\n\nCommon commands:\n{common}\nOther commands:\n{}", other.trim_end())
}

/// The help of a command or group.
pub fn command(registry: &Registry, path: &str) -> String {
    let text = match registry.get(path) {
        Some(entry) => command_text(registry, entry),
        None => group_text(registry, path),
    };
    let members: Vec<(&str, String)> =
        registry.below(path).into_iter().map(|(name, path)| (name, registry.about(path))).collect();
    if members.is_empty() {
        return text;
    }
    let width = members.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let rows: Vec<String> = members.iter().map(|(name, about)| format!("    {name:width$}    {about}")).collect();
    format!("{text}\n\nSubcommands:\n{}", rows.join("\n"))
}

fn group_text(registry: &Registry, path: &str) -> String {
    let about = registry.about(path);
    format!("Usage: encamp {path} <subcommand> [options] [args]\n\n{}", wrapped(&format!("{about}."), 2))
}

fn command_text(registry: &Registry, entry: &Entry) -> String {
    let arguments: Vec<String> = entry.clap.get_positionals().filter(|a| !a.is_hide_set()).map(positional).collect();
    let mut out = format!("Usage: encamp {} [options] {}", entry.canonical, arguments.join(" "));
    out = out.trim_end().to_string();
    let mut names = registry.entries().filter(|e| e.listing != Listing::Hidden);
    let alias = names.find(|e| e.canonical == entry.canonical && e.path != e.canonical);
    if let Some(alias) = alias {
        out.push_str(&format!("\nAlias: encamp {}", alias.path));
    }
    let about = entry.clap.get_long_about().or(entry.clap.get_about()).map(ToString::to_string).unwrap_or_default();
    for paragraph in about.split("\n\n") {
        out.push_str(&format!("\n\n{}", wrapped(&full_stop(paragraph), 2)));
    }
    for heading in [OPTIONS, GENERAL_OPTIONS] {
        let flags = entry.clap.get_arguments().filter(|a| !a.is_positional() && !a.is_hide_set());
        let mut section: Vec<&Arg> =
            flags.filter(|a| a.get_help_heading().unwrap_or(OPTIONS) == heading && a.get_long().is_some()).collect();
        section.sort_by_key(|a| a.get_long());
        if !section.is_empty() {
            let texts: Vec<String> = section.into_iter().map(flag).collect();
            out.push_str(&format!("\n\n{heading}:\n\n{}", texts.join("\n\n")));
        }
    }
    out
}

/// The name of an argument. Arguments called `args` are required.
fn positional(arg: &Arg) -> String {
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    if arg.get_id() == "args" { format!("<{name}>") } else { format!("[{name}]") }
}

fn flag(arg: &Arg) -> String {
    let name = arg.get_long().unwrap_or_default();
    let takes_value = !matches!(arg.get_action(), ArgAction::SetTrue);
    let value = match arg.get_value_names() {
        Some([value, ..]) if takes_value => format!("=<{value}>"),
        _ => String::new(),
    };
    let mut help = full_stop(&arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default());
    if let ([default], true) = (arg.get_default_values(), takes_value) {
        help.push_str(&format!(" Default: {}.", default.to_string_lossy()));
    }
    format!("  -{name}{value}\n{}", wrapped(&help, 4))
}

fn full_stop(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':', '!', '?']) { text.into() } else { format!("{text}.") }
}

/// Wraps a paragraph to the width of the help and indents it. Lines that are already indented are not changed.
fn wrapped(text: &str, indent: usize) -> String {
    if text.starts_with("  ") || text.contains("\n  ") {
        return text.lines().map(|l| format!("{}{l}", " ".repeat(indent))).collect::<Vec<_>>().join("\n");
    }
    wrap::wrapped(text, WIDTH, indent)
}
