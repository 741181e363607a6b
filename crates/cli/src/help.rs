//! Help texts, generated from the definitions of the commands (`docs/spec/cli.md §2.1`).

use super::command::{Entry, Registry};
use super::command_documentation::{CommandDocumentation, GeneralOptions, OptionText};
use super::command_meta::Listing;
use super::render::wrap::{self, WIDTH};

/// What the help of a command says of the general options, if it only accepts those for the output.
const COLOURS: &str =
    "-color, -force-color, -no-color, -no-pager and -wide: run \"encamp options\" for their description.";

/// What the help of a command says of the general options.
const GENERAL: &str = "-address, -namespace, -region, -token, and options for TLS, colours and the pager: run \
                       \"encamp options\" for their description and their environment variables.";

/// What the general help says below the commands.
const MORE: &str = "Run \"encamp <command> -help\" for the options, exit statuses and examples of a\n\
                    command, and \"encamp options\" for the options that most commands accept.";

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
    format!("{usage}\n\nCommon commands:\n{common}\nOther commands:\n{other}\n{MORE}")
}

/// The help of a command or group.
pub fn command(registry: &Registry, path: &str) -> String {
    let text = match registry.get(path) {
        Some(entry) => command_text(entry),
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

fn command_text(entry: &Entry) -> String {
    let of = CommandDocumentation::of(entry);
    let options_shown = if of.has_options() { " [options]" } else { "" };
    let mut usage =
        format!("Usage: encamp {}{options_shown} {}", of.name, of.arguments.join(" ")).trim_end().to_string();
    if let Some(alias) = of.alias {
        usage.push_str(&format!("\nAlias: encamp {alias}"));
    }
    let mut sections = vec![usage];
    sections.extend(of.description.iter().map(|paragraph| wrapped(paragraph, 2)));
    if !of.options.is_empty() {
        sections.push(options("Options", &of.options));
    }
    match of.general {
        GeneralOptions::None => {}
        GeneralOptions::Colours => sections.push(format!("General options:\n\n{}", wrapped(COLOURS, 2))),
        GeneralOptions::All => sections.push(format!("General options:\n\n{}", wrapped(GENERAL, 2))),
    }
    if !of.environment.is_empty() {
        sections.push(definitions("Environment", &of.environment));
    }
    let statuses: Vec<String> = of.exit_status.iter().map(|(code, when)| hanging(&code.to_string(), when, 3)).collect();
    sections.push(format!("Exit status:\n\n{}", statuses.join("\n")));
    if !of.examples.is_empty() {
        let examples = of.examples.iter().map(|(about, line)| {
            let line = line.replace('\n', "\n      ");
            format!("{}\n\n      $ {line}", wrapped(&format!("{}:", about), 2))
        });
        sections.push(format!("Examples:\n\n{}", examples.collect::<Vec<_>>().join("\n\n")));
    }
    sections.join("\n\n")
}

/// A section of options and what they do.
pub fn options(heading: &str, options: &[OptionText]) -> String {
    let texts = options.iter().map(|option| {
        let value = match &option.value {
            None => String::new(),
            Some(value) if value.optional => format!("[=<{}>]", value.name),
            Some(value) => format!("=<{}>", value.name),
        };
        format!("  {}{value}\n{}", option.name, wrapped(&option.about, 4))
    });
    format!("{heading}:\n\n{}", texts.collect::<Vec<_>>().join("\n\n"))
}

/// A section of terms and what they mean.
pub fn definitions(heading: &str, terms: &[(&str, &str)]) -> String {
    let texts = terms.iter().map(|(term, meaning)| format!("  {term}\n{}", wrapped(meaning, 4)));
    format!("{heading}:\n\n{}", texts.collect::<Vec<_>>().join("\n\n"))
}

/// A short term and what it means, beside it.
fn hanging(term: &str, meaning: &str, width: usize) -> String {
    let text = wrapped(meaning, width.saturating_add(4));
    format!("  {term:width$}  {}", text.trim_start())
}

/// Wraps a paragraph to the width of the help and indents it. Lines that are already indented are not changed.
fn wrapped(text: &str, indent: usize) -> String {
    if text.starts_with("  ") || text.contains("\n  ") {
        return text.lines().map(|l| format!("{}{l}", " ".repeat(indent))).collect::<Vec<_>>().join("\n");
    }
    wrap::wrapped(text, WIDTH, indent)
}
