//! The flags `-json` and `-t`, and lists in pages (`docs/spec/cli.md §3.6`, `§4.6`).

use serde::Serialize;

use super::context::Context;
use super::error::{CommandError, CommandResult, ErrorContext};
use super::flags::parse_int;
use super::render::ui::Ui;
use super::render::{json, template};
use encamp_api::{Meta, Query};

/// The flags for the format of a result.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FormatFlags {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Format the result with this Go template
    #[arg(long = "t", value_name = "template")]
    pub template: Option<String>,
}

impl FormatFlags {
    /// Whether one of the formats is requested; an error if both are.
    pub fn wanted(&self) -> CommandResult<bool> {
        match (self.json, self.template.as_deref().is_some_and(|t| !t.is_empty())) {
            (true, true) => Err(CommandError::new("Both json and template formatting are not allowed")),
            (json, template) => Ok(json || template),
        }
    }

    /// Prints a result in the requested format. `type_name` is the name of its type in template errors.
    pub fn print<T>(&self, ui: &mut Ui<'_>, value: &T, type_name: &str) -> CommandResult<u8>
    where
        T: Serialize + ?Sized,
    {
        const FAILED: &str = "Error formatting the data";
        let value = &serde_json::to_value(value).context(FAILED)?;
        let text = match self.template.as_deref().filter(|t| !t.is_empty()) {
            Some(text) => template::render(text, value, type_name).map_err(CommandError::new),
            None => json::indented(value).map_err(CommandError::new),
        };
        ui.output(&text.context(FAILED)?);
        Ok(0)
    }
}

/// The flags of commands that print objects with identifiers.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ListFlags {
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
}

/// The flags of paginated lists.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PageFlags {
    /// Number of results per page. Default: 0, all results
    #[arg(long, value_name = "n", default_value = "0", hide_default_value = true, value_parser = parse_int)]
    pub per_page: i64,
    /// Token of the page to start from, as printed after the previous page
    #[arg(long, value_name = "token")]
    pub page_token: Option<String>,
    /// Filter expression that results must match
    #[arg(long, value_name = "expression")]
    pub filter: Option<String>,
}

impl PageFlags {
    /// Adds the flags to a query.
    pub fn query(&self, mut query: Query) -> Query {
        if self.per_page > 0 {
            query = query.with("per_page", self.per_page.to_string());
        }
        let given = [("next_token", &self.page_token), ("filter", &self.filter)];
        for (name, value) in given {
            if let Some(value) = value.as_deref().filter(|v| !v.is_empty()) {
                query = query.with(name, value);
            }
        }
        query
    }
}

/// Prints how to get the next page, if there is one.
pub fn next_page(context: &mut Context<'_, '_>, meta: &Meta) {
    page_from(context, meta.next_token.as_deref().unwrap_or_default());
}

/// Prints how to get the page that begins at this token, if there is one.
pub fn page_from(context: &mut Context<'_, '_>, token: &str) {
    if !token.is_empty() {
        let command = without_token(context.args);
        context.ui.output(&format!(
            "\nResults have been paginated. To get the next page run:\n\nencamp {command} -page-token {token}"
        ));
    }
}

/// The command line without the page token flag.
pub fn without_token(args: &[String]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.trim_start_matches('-') {
            "page-token" if arg.starts_with('-') => drop(rest.next()),
            flag if arg.starts_with('-') && flag.starts_with("page-token=") => {}
            _ => kept.push(arg),
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_asked_for_without_the_token_of_this_one() {
        let line = |text: &str| without_token(&text.split(' ').map(String::from).collect::<Vec<_>>());
        assert_eq!(line("eval list -per-page 2 -page-token 3.x -verbose"), "eval list -per-page 2 -verbose");
        assert_eq!(line("eval list --page-token=3.x -job page-token"), "eval list -job page-token");
    }

    #[test]
    fn one_form_at_a_time() {
        let flags = |json, template: Option<&str>| FormatFlags { json, template: template.map(str::to_string) };
        assert_eq!(flags(false, None).wanted(), Ok(false));
        assert_eq!(flags(false, Some("")).wanted(), Ok(false));
        assert_eq!(flags(true, None).wanted(), Ok(true));
        assert!(flags(true, Some("x")).wanted().is_err());
    }
}
