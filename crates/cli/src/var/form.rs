//! The output formats of a variable (`docs/spec/cli.md §12.2`).

use crate::completion::values::CompleteWith;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::render::table::pairs;
use crate::render::template;
use crate::render::values;
use encamp_api::variables::Variable;
use encamp_model::quoted;

/// A format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text.
    Table,
    /// JSON, indented by two.
    Json,
    /// HCL, with comments.
    Hcl,
    /// Nothing.
    None,
    /// By a template.
    Template(String),
}

/// The flags that select the format.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FormFlags {
    /// Output format: go-template, hcl, json, none or table
    #[arg(long, value_name = "format", add = CompleteWith::Words(&["go-template", "hcl", "json", "none", "table"]))]
    pub out: Option<String>,
    /// Go template, with -out=go-template
    #[arg(long, value_name = "template")]
    pub template: Option<String>,
}

impl FormFlags {
    /// The requested format, or `default` if none is requested.
    pub(crate) fn form(&self, default: Form) -> Result<Form, &'static str> {
        let template = self.template.clone().filter(|t| !t.is_empty());
        let form = match (self.out.as_deref(), template) {
            (Some("go-template"), Some(template)) => return Ok(Form::Template(template)),
            (Some("go-template"), None) => {
                return Err("A template must be supplied using '-template' when using go-template formatting");
            }
            (_, Some(_)) => return Err("The '-template' flag is only valid when using 'go-template' formatting"),
            (None, None) => default,
            (Some("table"), None) => Form::Table,
            (Some("json"), None) => Form::Json,
            (Some("hcl"), None) => Form::Hcl,
            (Some("none"), None) => Form::None,
            _ => return Err("Invalid value for \"-out\"; valid values are [go-template, hcl, json, none, table]"),
        };
        Ok(form)
    }
}

/// A variable in a format, with tags.
pub(super) fn rendered(variable: &Variable, form: &Form, zone: &jiff::tz::TimeZone) -> CommandResult<String> {
    const FAILED: &str = "Error formatting the data";
    match form {
        Form::None => Ok(String::new()),
        Form::Table => Ok(table(variable, zone)),
        Form::Json => serde_json::to_string_pretty(variable).context(FAILED),
        Form::Hcl => Ok(hcl(variable)),
        Form::Template(text) => {
            let value = serde_json::to_value(variable).context(FAILED)?;
            template::render(text, &value, "*api.Variable").map_err(CommandError::new).context(FAILED)
        }
    }
}

fn table(variable: &Variable, zone: &jiff::tz::TimeZone) -> String {
    let mut rows = vec![
        ("Namespace", variable.namespace.clone()),
        ("Path", variable.path.clone()),
        ("Create Time", values::time(variable.create_time, zone)),
    ];
    if variable.create_time != variable.modify_time {
        rows.push(("Modify Time", values::time(variable.modify_time, zone)));
    }
    rows.push(("Check Index", variable.modify_index.to_string()));
    let items: Vec<(&String, &String)> = variable.items.iter().collect();
    format!("{}\n\nItems\n{}", pairs(&rows), pairs(&items))
}

fn hcl(variable: &Variable) -> String {
    let width = variable.items.keys().map(|key| key.chars().count()).max().unwrap_or(0);
    let items: String =
        variable.items.iter().map(|(key, value)| format!("  {key:>width$} = {}\n", quoted(value))).collect();
    format!(
        "\nnamespace    = {}\npath         = {}\ncreate_index = {}  # Set by server\nmodify_index = {}  # Set by server; \
         consulted for check-and-set\ncreate_time  = {}   # Set by server\nmodify_time  = {}   # Set by server\n\nitems = \
         {{\n{items}}}\n",
        quoted(&variable.namespace),
        quoted(&variable.path),
        variable.create_index,
        variable.modify_index,
        variable.create_time,
        variable.modify_time
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names_and_templates_their_flag() {
        let form = |out: Option<&str>, template: Option<&str>| {
            FormFlags { out: out.map(String::from), template: template.map(String::from) }.form(Form::Table)
        };
        assert_eq!(form(None, None), Ok(Form::Table));
        assert_eq!(form(Some("hcl"), None), Ok(Form::Hcl));
        assert_eq!(form(Some("go-template"), Some("x")), Ok(Form::Template("x".into())));
        assert!(form(Some("go-template"), None).unwrap_err().starts_with("A template must"));
        assert!(form(Some("json"), Some("x")).unwrap_err().starts_with("The '-template'"));
        assert!(form(Some("yaml"), None).unwrap_err().ends_with("[go-template, hcl, json, none, table]"));
    }
}
