//! Manual pages, generated from the definitions of the commands.

use roff::{Inline, Roff, bold, italic, roman};

use super::command::Registry;
use super::command_documentation::{CommandDocumentation, GeneralOptions, OptionText};
use super::command_examples::{self, Example};
use super::command_meta::Listing;
use super::environment_variables;
use super::exit_status::ExitStatus;
use super::options::general_options;

/// How flags are written; said once, in the page of the program.
const FLAG_FORMS: &str = "Flags can be written with one dash or two (-verbose, --verbose), and their values after an \
                          equals sign or as the next argument (-namespace=prod, -namespace prod). Flags precede other \
                          arguments.";

/// The exit statuses of the program itself.
const PROGRAM_STATUS: &[ExitStatus] = &[
    (0, "The command succeeded."),
    (1, "An error occurred. Each command describes its other statuses."),
    (127, "There is no such command."),
    (130, "SIGINT stopped the command."),
    (143, "SIGTERM stopped the command."),
];

/// One page per command and group: file name and roff text.
pub fn pages(registry: &Registry) -> Vec<(String, String)> {
    let program = ("encamp.1".to_string(), program_page(registry));
    let groups = registry.groups().map(|(name, _)| (file_name(name), group_page(registry, name)));
    let shown = registry.entries().filter(|e| e.listing != Listing::Hidden);
    let commands = shown.map(|entry| {
        let text = if entry.path == entry.meta.path {
            command_page(registry, &CommandDocumentation::of(entry))
        } else {
            // The page of an alias is that of the command.
            format!(".so man1/{}\n", file_name(entry.meta.path))
        };
        (file_name(entry.path), text)
    });
    std::iter::once(program).chain(groups).chain(commands).collect()
}

fn page_name(command: &str) -> String {
    format!("encamp-{}", command.replace(' ', "-"))
}

fn file_name(command: &str) -> String {
    format!("{}.1", page_name(command))
}

/// A page with its name and synopsis.
fn page(name: &str, summary: &str, synopsis: Vec<Inline>) -> Roff {
    let mut page = Roff::new();
    // A short name of the manual leaves space for long names of pages.
    page.control("TH", [name, "1", "\"\"", "encamp", "encamp"]);
    section(&mut page, "NAME");
    page.text([roman(format!("{name} - {}", summary.trim_end_matches('.')))]);
    section(&mut page, "SYNOPSIS");
    page.text(synopsis);
    page
}

fn section(page: &mut Roff, title: &str) {
    page.control("SH", [title]);
}

fn paragraphs<'a>(page: &mut Roff, texts: impl IntoIterator<Item = &'a str>) {
    for (n, text) in texts.into_iter().enumerate() {
        if n > 0 {
            page.control("PP", []);
        }
        // Indented lines are a listing, whose lines stay as they are.
        let listing = text.starts_with("  ") || text.contains("\n  ");
        if listing {
            page.control("nf", []);
        }
        page.text([roman(text)]);
        if listing {
            page.control("fi", []);
        }
    }
}

/// Terms, and what they mean below them.
fn definitions<'a>(page: &mut Roff, terms: impl IntoIterator<Item = (Vec<Inline>, &'a str)>) {
    for (term, meaning) in terms {
        page.control("TP", []);
        page.text(term);
        page.text([roman(meaning)]);
    }
}

fn options(page: &mut Roff, options: &[OptionText]) {
    let terms = options.iter().map(|option| {
        let mut term = vec![bold(option.name.as_str())];
        match &option.value {
            None => {}
            Some(value) if value.optional => term.extend([roman("[="), italic(value.name.as_str()), roman("]")]),
            Some(value) => term.extend([roman("="), italic(value.name.as_str())]),
        }
        (term, option.about.as_str())
    });
    definitions(page, terms);
}

/// The variables that a command reads; those of the general options are described in the page of the program.
fn environment(page: &mut Roff, of: &CommandDocumentation) {
    let general = match of.general {
        GeneralOptions::None => None,
        GeneralOptions::Colours => Some("The variables for colours: see "),
        GeneralOptions::All => Some("The variables of the general options: see "),
    };
    if general.is_none() && of.environment.is_empty() {
        return;
    }
    section(page, "ENVIRONMENT");
    definitions(page, of.environment.iter().map(|(name, about)| (vec![bold(*name)], *about)));
    if let Some(general) = general {
        page.control("PP", []);
        page.text([roman(general), bold("encamp"), roman("(1).")]);
    }
}

fn exit_status(page: &mut Roff, statuses: &[ExitStatus]) {
    section(page, "EXIT STATUS");
    definitions(page, statuses.iter().map(|(code, when)| (vec![bold(code.to_string())], *when)));
}

fn examples(page: &mut Roff, examples: &[Example]) {
    if examples.is_empty() {
        return;
    }
    section(page, "EXAMPLES");
    for (about, line) in examples {
        page.control("PP", []);
        page.text([roman(format!("{about}:"))]);
        page.control("PP", []);
        page.control("RS", ["4"]);
        page.control("nf", []);
        page.text([roman(format!("$ {line}"))]);
        page.control("fi", []);
        page.control("RE", []);
    }
}

/// The commands below a group, and what they do.
fn subcommands(page: &mut Roff, registry: &Registry, group: &str) {
    let members = registry.below(group);
    if members.is_empty() {
        return;
    }
    section(page, "COMMANDS");
    let rows: Vec<(String, String)> =
        members.into_iter().map(|(_, path)| (page_name(path), registry.about(path))).collect();
    definitions(page, rows.iter().map(|(name, about)| (vec![bold(name.as_str()), roman("(1)")], about.as_str())));
}

fn see_also(page: &mut Roff, pages: &[String]) {
    section(page, "SEE ALSO");
    let mut line = Vec::new();
    for (n, name) in pages.iter().enumerate() {
        line.extend([roman(if n > 0 { ", " } else { "" }), bold(name.as_str()), roman("(1)")]);
    }
    page.text(line);
}

fn program_page(registry: &Registry) -> String {
    let about = "Plan, explain and run jobs on clusters that schedule as Nomad does";
    let synopsis = vec![bold("encamp"), roman(" [-version] [-help] <"), italic("command"), roman("> [args]")];
    let mut page = page("encamp", about, synopsis);
    section(&mut page, "DESCRIPTION");
    paragraphs(&mut page, [about, FLAG_FORMS]);
    subcommands(&mut page, registry, "");
    section(&mut page, "GENERAL OPTIONS");
    options(&mut page, &general_options());
    section(&mut page, "ENVIRONMENT");
    definitions(&mut page, environment_variables::GENERAL.iter().map(|(name, about)| (vec![bold(*name)], *about)));
    exit_status(&mut page, PROGRAM_STATUS);
    examples(&mut page, command_examples::PROGRAM);
    page.to_roff()
}

fn group_page(registry: &Registry, name: &str) -> String {
    let about = registry.about(name);
    let synopsis = vec![bold(format!("encamp {name}")), roman(" <"), italic("subcommand"), roman("> [options] [args]")];
    let mut page = page(&page_name(name), &about, synopsis);
    section(&mut page, "DESCRIPTION");
    page.text([roman(format!("{about}."))]);
    subcommands(&mut page, registry, name);
    see_also(&mut page, &["encamp".to_string()]);
    page.to_roff()
}

fn command_page(registry: &Registry, of: &CommandDocumentation) -> String {
    let synopsis = |name: &str| {
        let options = if of.has_options() { " [options]" } else { "" };
        let arguments: String = of.arguments.iter().map(|argument| format!(" {argument}")).collect();
        vec![bold(format!("encamp {name}")), roman(format!("{options}{arguments}"))]
    };
    let mut page = page(&page_name(of.name), &of.summary, synopsis(of.name));
    if let Some(alias) = of.alias {
        page.control("br", []);
        page.text(synopsis(alias));
    }
    section(&mut page, "DESCRIPTION");
    paragraphs(&mut page, of.description.iter().map(String::as_str));
    subcommands(&mut page, registry, of.name);
    if !of.options.is_empty() {
        section(&mut page, "OPTIONS");
        options(&mut page, &of.options);
    }
    match of.general {
        GeneralOptions::None => {}
        GeneralOptions::Colours => {
            section(&mut page, "GENERAL OPTIONS");
            let mut accepted = vec![roman("The command accepts ")];
            for name in ["-color", "-force-color", "-no-color", "-no-pager"] {
                accepted.extend([bold(name), roman(", ")]);
            }
            accepted.extend([roman("and "), bold("-wide"), roman(": see "), bold("encamp"), roman("(1).")]);
            page.text(accepted);
        }
        GeneralOptions::All => {
            section(&mut page, "GENERAL OPTIONS");
            page.text([roman("The command accepts all general options: see "), bold("encamp"), roman("(1).")]);
        }
    }
    environment(&mut page, of);
    exit_status(&mut page, of.exit_status);
    examples(&mut page, of.examples);
    let mut pages = vec!["encamp".to_string()];
    if let Some((group, _)) = of.name.rsplit_once(' ') {
        pages.push(page_name(group));
    }
    see_also(&mut page, &pages);
    page.to_roff()
}
