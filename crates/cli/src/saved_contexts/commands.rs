//! `context list`, `context use` and `context show`.

use std::fs;
use std::io::Write;

use serde_json::json;

use super::file::{ContextFile, SavedContext};
use super::{CURRENT, FILE, directory, flag, found, read, selected, shown};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::context::Context;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::render::json as print;
use crate::render::table::{Form, table};
use encamp_model::quoted;
use encamp_snapshot::replace::replace;

/// List the saved contexts
///
/// Lists the named clusters in config.toml of the configuration directory (~/.config/encamp). An asterisk marks the
/// selected one: that of -context, of ENCAMP_CONTEXT, or of "encamp context use".
#[derive(Debug, clap::Parser)]
pub struct ContextList {
    /// Print the contexts as JSON
    #[arg(long)]
    pub json: bool,
    /// Mark this context as the selected one
    #[arg(long, value_name = "name")]
    pub context: Option<String>,
}

impl Run for ContextList {
    const META: Meta = Meta::new("context list").offline_examples(&[
        ("List the saved clusters", "encamp context list"),
        ("Print them as JSON", "encamp context list -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let file = match read(context.env) {
            Ok(file) => file,
            Err(e) => return context.report(&e),
        };
        let chosen = selected(self.context.as_deref(), context.env).map(|(name, _)| name);
        if self.json {
            let object = |(name, saved): (&String, &SavedContext)| {
                json!({
                    "Name": name,
                    "Selected": chosen.as_deref() == Some(name),
                    "Settings": shown(saved),
                    "TokenCommand": saved.token_command,
                })
            };
            let list: Vec<_> = file.contexts.iter().map(object).collect();
            return match print::indented(&list) {
                Ok(text) => {
                    context.ui.output(&text);
                    0
                }
                Err(e) => context.failure(&e.to_string()),
            };
        }
        if file.contexts.is_empty() {
            let place = directory(context.env).map(|d| d.join(FILE).display().to_string()).unwrap_or_default();
            context.ui.output(&format!("No contexts in {place}"));
            return 0;
        }
        let mut lines = vec!["Selected|Name|Address|Region|Namespace".to_string()];
        lines.extend(file.contexts.iter().map(|(name, saved)| {
            let mark = if chosen.as_deref() == Some(name) { "*" } else { " " };
            let settings = shown(saved);
            let of = |key: &str| settings.get(key).cloned().unwrap_or_default();
            format!("{mark}|{name}|{}|{}|{}", of("address"), of("region"), of("namespace"))
        }));
        context.ui.output(&table(&lines, Form::Spaced));
        0
    }
}

/// Select a saved context
///
/// Later commands use this cluster, unless -context, -address, ENCAMP_CONTEXT, NOMAD_ADDR or ENCAMP_ADDR selects
/// another one.
#[derive(Debug, clap::Parser)]
pub struct ContextUse {
    /// Select no context
    #[arg(long)]
    pub none: bool,
    #[arg(value_name = "<name>")]
    pub(crate) args: Vec<String>,
}

impl Run for ContextUse {
    const META: Meta = Meta::new("context use").offline_examples(&[
        ("Use a saved cluster from now on", "encamp context use staging"),
        ("Use none", "encamp context use -none"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = match (self.args.as_slice(), self.none) {
            ([], true) => None,
            ([name], false) => Some(name.as_str()),
            _ => return context.usage_error("This command takes one argument: <name>, or -none"),
        };
        match select(name, context) {
            Ok(()) => 0,
            Err(e) => context.report(&e),
        }
    }
}

fn select(name: Option<&str>, context: &mut Context<'_, '_>) -> CommandResult<()> {
    let env = context.env;
    let file: ContextFile = read(env)?;
    if let Some(name) = name {
        found(&file, name, super::Selected::Used, env)?;
    }
    let folder = directory(env).ok_or_else(|| CommandError::new("Neither ENCAMP_CONFIG_DIR nor HOME is set"))?;
    fs::create_dir_all(&folder).context("Error creating the configuration directory")?;
    let text = format!("{}\n", name.unwrap_or_default());
    replace(&folder.join(CURRENT), |file| file.write_all(text.as_bytes())).context("Error storing the selection")?;
    context.ui.output(&match name {
        Some(name) => format!("Context {} is selected", quoted(name)),
        None => "No context is selected".into(),
    });
    if env.selects_cluster {
        context.ui.warn("NOMAD_ADDR or ENCAMP_ADDR is set: commands use that address as long as it is");
    }
    Ok(())
}

/// Show the selected context
///
/// Shows the name and the settings of the selected context, and what selects it. -short prints the name alone, for
/// prompts of shells: it is fast, contacts nothing, and prints nothing where no context is selected.
#[derive(Debug, clap::Parser)]
pub struct ContextShow {
    /// Print the name alone, and nothing if no context is selected
    #[arg(long)]
    pub short: bool,
    /// Show this context
    #[arg(long, value_name = "name")]
    pub context: Option<String>,
}

impl Run for ContextShow {
    const META: Meta = Meta::new("context show").offline_examples(&[
        ("Show which cluster commands use", "encamp context show"),
        ("Show the name in the prompt of a shell", "PS1='$(encamp context show -short) \\$ '"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let chosen = selected(self.context.as_deref(), context.env);
        // The address of the environment wins, except over the flag.
        let other = flag(context.args, "context").is_none() && context.env.selects_cluster;
        if self.short {
            if let Some((name, _)) = chosen.filter(|_| !other) {
                let safe: String = name.chars().filter(|c| !c.is_control()).collect();
                context.ui.output(&safe);
            }
            return 0;
        }
        let Some((name, by)) = chosen else {
            context.ui.output("No context is selected");
            return 0;
        };
        let saved = match read(context.env).and_then(|file| found(&file, &name, by, context.env)) {
            Ok(saved) => saved,
            Err(e) => return context.report(&e),
        };
        let mut lines = vec![format!("Name|{name}"), format!("Selected By|{}", by.text())];
        lines.extend(shown(&saved).iter().map(|(key, value)| format!("{key}|{value}")));
        if !saved.token_command.is_empty() {
            lines.push(format!("token_command|{}", saved.token_command.join(" ")));
        }
        context.ui.output(&table(&lines, Form::KeyValue));
        if other {
            context.ui.warn("NOMAD_ADDR or ENCAMP_ADDR is set: commands use that address, and not this context");
        }
        0
    }
}
