//! `var list` (`docs/spec/cli.md §12.2`).

use serde_json::json;

use crate::prelude::*;
use crate::render::table::{Columns, Form, columns, table};
use crate::render::values;
use crate::web::hint::UiPage;
use encamp_api::{Query, Received};
use encamp_model::VariableMetadata;

/// A variable without its values.
type Row = Received<VariableMetadata>;

/// List variables
///
/// Lists all variables, or those whose path starts with the argument. Their values are not shown.
#[derive(Debug, clap::Parser)]
pub struct VarList {
    #[command(flatten)]
    pub(crate) page: PageFlags,
    /// Output format: go-template, json, table or terse. Default: table on a terminal, otherwise json
    #[arg(long, value_name = "format", add = CompleteWith::Words(&["go-template", "json", "table", "terse"]))]
    pub out: Option<String>,
    /// Go template, with -out=go-template
    #[arg(long, value_name = "template")]
    pub template: Option<String>,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "prefix", add = CompleteWith::Live(Objects::Variables))]
    pub(crate) optional_args: Vec<String>,
}

impl Run for VarList {
    const META: Meta = Meta::new("var list").paged().examples(&[
        ("List the variables", "encamp var list"),
        ("List the paths of the variables of jobs", "encamp var list -out terse nomad/jobs"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = match self.optional_args.as_slice() {
            [] => "",
            [prefix] => prefix.as_str(),
            _ => return context.usage_error("This command takes flags and either no arguments or one: <prefix>"),
        };
        let out = self.out.as_deref().unwrap_or(if context.env.stdout_is_terminal { "table" } else { "json" });
        let template = self.template.clone().filter(|t| !t.is_empty());
        match (out, &template) {
            ("go-template", None) => {
                return context
                    .usage_error("A template must be supplied using '-template' when using go-template formatting");
            }
            ("go-template", Some(_)) => {}
            (_, Some(_)) => {
                return context.usage_error("The '-template' flag is only valid when using 'go-template' formatting");
            }
            ("json" | "table" | "terse", None) => {}
            _ => {
                return context
                    .usage_error("Invalid value for \"-out\"; valid values are [go-template, json, table, terse]");
            }
        }
        if self.page.filter.as_deref().is_some_and(|f| !f.is_empty()) {
            context.ui.warn("Filter queries require a full scan of the data; use prefix searching where possible");
        }
        context.connected(&self.general, |c, context| self.show(c, context, prefix, out, template))
    }
}

impl VarList {
    fn show(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        prefix: &str,
        out: &str,
        template: Option<String>,
    ) -> CommandResult<u8> {
        let query = if prefix.is_empty() { Query::default() } else { Query::default().with("prefix", prefix) };
        let read = c.wait(c.client.variables(&self.page.query(query)));
        let (mut rows, meta) = read.context("Error retrieving vars")?;
        rows.sort_by(|a, b| (&a.namespace, &a.path).cmp(&(&b.namespace, &b.path)));
        if matches!(out, "json" | "go-template") {
            let format = FormatFlags { json: out == "json", template };
            if self.page.per_page <= 0 {
                return format.print(context.ui, &rows, "[]*api.VariableMetadata");
            }
            let query_meta = json!({
                "KnownLeader": meta.known_leader,
                "LastContact": meta.last_contact,
                "LastIndex": meta.index,
                "NextToken": meta.next_token.unwrap_or_default(),
                "RequestTime": 0,
            });
            return format.print(context.ui, &json!({"Data": rows, "QueryMeta": query_meta}), "struct");
        }
        if rows.is_empty() {
            context.ui.output("No matching variables found");
            return Ok(0);
        }
        let shown = if out == "terse" { terse(&rows, c.everywhere()) } else { listed(&rows, &c.zone) };
        context.ui.output(&shown);
        if let Some(token) = &meta.next_token {
            context.ui.warn(&format!("Next page token: {token}"));
        }
        UiPage::variables(prefix).show(c, self.ui, context);
        Ok(0)
    }
}

fn terse(rows: &[Row], namespaces: bool) -> String {
    let lines: Vec<String> = rows
        .iter()
        .map(|row| match namespaces {
            true => format!("{}|{}", row.namespace, row.path),
            false => row.path.clone(),
        })
        .collect();
    table(&lines, Form::List)
}

fn listed(rows: &[Row], zone: &jiff::tz::TimeZone) -> String {
    let shown: &Columns<'_, Row> = &[
        ("Namespace", &|row| row.namespace.clone()),
        ("Path", &|row| row.path.clone()),
        ("Last Updated", &|row| values::time(row.modify_time, zone)),
    ];
    columns(rows, shown)
}
