//! `var put` (`docs/spec/cli.md §12.2`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::conflict;
use super::form::{Form, FormFlags, rendered};
use super::one_namespace;
use crate::flags::parse_int;
use crate::prelude::*;
use crate::spec_file::{self, Spec, SpecError};
use crate::web::hint::UiPage;
use encamp_api::variables::{Variable, VariableError};
use encamp_model::quoted;

/// Create or update a variable
///
/// Creates or updates the variable at a path. Its items are given by key=value arguments, by a specification (@file,
/// or - for standard input), or by both. The value @file stands for the content of that file, - for standard input, and
/// \@ for a literal @. A key with an empty value is omitted.
///
/// An existing variable is only updated with -force, or if its modify index is given, in the specification or with
/// -check-index.
#[derive(Debug, clap::Parser)]
pub struct VarPut {
    /// Write only if the variable's modify index has this value; 0 means that it must not exist
    #[arg(long, value_name = "index", value_parser = parse_int)]
    pub check_index: Option<i64>,
    /// Overwrite the variable regardless of its current value
    #[arg(long)]
    pub force: bool,
    /// Format of a specification without a file extension: hcl or json
    #[arg(long = "in", value_name = "format", default_value = "json", add = CompleteWith::Words(&["hcl", "json"]))]
    pub input: String,
    #[command(flatten)]
    pub(crate) form: FormFlags,
    /// Print progress messages to standard error
    #[arg(long)]
    pub verbose: bool,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<path> [key=value]...", add = CompleteWith::Live(Objects::Variables))]
    pub(crate) args: Vec<String>,
}

/// The parsed arguments.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The variable to write.
    pub variable: Variable,
    /// Progress messages about reading the variable.
    pub notes: Vec<String>,
}

/// Whether an argument is a specification.
fn is_spec(arg: &str) -> bool {
    arg == "-" || arg.starts_with('@')
}

/// Reads path, specification and pairs.
pub(super) fn given(args: &[String], format: &str, env: &Environment) -> CommandResult<Given> {
    let (path, spec, pairs) = match args {
        [first, rest @ ..] if is_spec(first) => (None, Some(first), rest),
        [path, second, rest @ ..] if is_spec(second) => (Some(path), Some(second), rest),
        [path, rest @ ..] if !rest.is_empty() => (Some(path), None, rest),
        _ => return Err(CommandError::new(format!("Not enough arguments (expected >1, got {})", args.len()))),
    };
    let mut out = Given::default();
    if let Some(spec) = spec {
        read_spec(spec, format, env, &mut out)?;
    }
    if let Some(path) = path {
        out.variable.path = path.clone();
    }
    for pair in pairs {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| CommandError::new(format!("Invalid item {}: it must be key=value", quoted(pair))))?;
        out.variable.items.insert(key.into(), item(value, env)?);
    }
    out.variable.items.retain(|_, value| !value.is_empty());
    if out.variable.path.is_empty() {
        return Err(CommandError::new("Missing path in specification"));
    }
    if out.variable.items.is_empty() {
        return Err(CommandError::new("Must supply data"));
    }
    Ok(out)
}

/// Resolves a value.
fn item(value: &str, env: &Environment) -> CommandResult<String> {
    let text = |bytes| String::from_utf8(bytes).map_err(|_| CommandError::new("Values of variables must be UTF-8"));
    match (value, value.strip_prefix('@'), value.strip_prefix("\\@")) {
        ("-", ..) => text(spec_file::read("-", env)?),
        (_, Some(file), _) => text(spec_file::read(file, env)?),
        (.., Some(rest)) => Ok(format!("@{rest}")),
        _ => Ok(value.into()),
    }
}

fn read_spec(arg: &str, format: &str, env: &Environment, out: &mut Given) -> CommandResult<()> {
    let file = arg.strip_prefix('@').unwrap_or(arg);
    let extension = std::path::Path::new(file).extension().and_then(|e| e.to_str());
    let format = extension.filter(|e| matches!(*e, "hcl" | "json")).unwrap_or(format);
    let name = if file == "-" { "stdin" } else { file };
    out.notes.push(format!("Reading whole {} variable specification from {}", format.to_uppercase(), quoted(name)));
    let bytes = spec_file::read(file, env)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(CommandError::new("Must supply data"));
    }
    let parsed = match format {
        "hcl" => hcl(&bytes, name),
        "json" => serde_json::from_slice(&bytes).map_err(SpecError::from),
        _ => return Err(CommandError::new("Invalid value for \"-in\"; valid values are [hcl, json]")),
    };
    out.variable = parsed.context("Failed to parse variable data")?;
    Ok(())
}

fn hcl(bytes: &[u8], name: &str) -> Result<Variable, SpecError> {
    let spec = Spec::hcl(bytes, name)?;
    spec.only(&["namespace", "path", "create_index", "modify_index", "create_time", "modify_time", "items"])?;
    let items = spec.text_map("items")?.unwrap_or_default().into_iter();
    let items: BTreeMap<String, String> = items
        .map(|(key, value)| match value {
            Value::String(text) => (key, text),
            other => (key, other.to_string()),
        })
        .collect();
    Ok(Variable {
        namespace: spec.text("namespace")?.unwrap_or_default(),
        path: spec.text("path")?.unwrap_or_default(),
        modify_index: spec.number("modify_index")?.and_then(|n| u64::try_from(n).ok()).unwrap_or(0),
        items,
        ..Variable::default()
    })
}

impl Run for VarPut {
    const META: Meta = Meta::new("var put").flag_error_note(FlagErrorNote::Help).examples(&[
        ("Create a variable", "encamp var put nomad/jobs/web user=app password=s3cret"),
        ("Overwrite a variable with the values of a specification", "encamp var put -force @web.nv.hcl"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let default = if context.env.stdout_is_terminal { Form::None } else { Form::Json };
        let form = match self.form.form(default) {
            Ok(form) => form,
            Err(line) => return context.usage_error(line),
        };
        if let Err(e) = one_namespace(&self.general, context.env) {
            return context.report(&e);
        }
        let given = match given(&self.args, &self.input, context.env) {
            Ok(given) => given,
            Err(e) => return context.usage_error(e.message()),
        };
        if self.verbose {
            for note in &given.notes {
                context.ui.warn(note);
            }
        }
        if let Some(warnings) = warnings(&given.variable) {
            let text = context.ui.markup(&warnings);
            context.ui.warn(&text);
        }
        context.connected(&self.general, |c, context| self.write(c, context, &given.variable, &form))
    }
}

impl VarPut {
    fn write(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        variable: &Variable,
        form: &Form,
    ) -> CommandResult<u8> {
        let expected = self.check_index.and_then(|i| u64::try_from(i).ok()).unwrap_or(variable.modify_index);
        let cas = (!self.force).then_some(expected);
        let written = match c.wait(c.client.put_variable(variable, cas)) {
            Ok(written) => written,
            Err(VariableError::Conflict(found)) => return Ok(conflict::report(expected, &found, c, context)),
            Err(VariableError::Other(e)) => return Err(CommandError::from(e).within("Error creating variable")),
        };
        let line = format!("Created variable {} with modify index {}", quoted(&written.path), written.modify_index);
        if *form == Form::None {
            context.ui.output(&line);
            UiPage::variable(&written.namespace, &written.path).show(c, self.ui, context);
            return Ok(0);
        }
        if self.verbose {
            context.ui.warn(&line);
        }
        context.ui.output(&rendered(&written, form, &c.zone)?);
        UiPage::variable(&written.namespace, &written.path).show(c, self.ui, context);
        Ok(0)
    }
}

/// The warnings about keys that templates cannot access directly, with tags.
fn warnings(variable: &Variable) -> Option<String> {
    let lines: Vec<String> = variable.items.keys().filter_map(|key| warning(key)).collect();
    let word = if lines.len() == 1 { "warning" } else { "warnings" };
    let list = lines.join("\n");
    (!lines.is_empty()).then(|| format!("[bold][yellow]Variable Warnings:\n{} {word}:\n\n{list}[reset]\n", lines.len()))
}

fn warning(key: &str) -> Option<String> {
    let mut odd: Vec<char> = key.chars().filter(|c| !c.is_ascii_alphanumeric() && *c != '_').collect();
    odd.sort_unstable();
    odd.dedup();
    let odd: Vec<String> = odd.into_iter().map(|c| quoted(&c.to_string())).collect();
    (!odd.is_empty()).then(|| {
        format!(
            "* {} contains characters [{}] that require the 'index' function for direct access in templates",
            quoted(key),
            odd.join(",")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> CommandResult<Variable> {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        given(&args, "json", &Environment::default()).map(|g| g.variable)
    }

    #[test]
    fn arguments_say_path_and_items() {
        let variable = read(&["a/b", "k=v=w", "gone=", "at=\\@x"]).unwrap();
        assert_eq!(variable.path, "a/b");
        let want = [("at", "@x"), ("k", "v=w")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(variable.items, BTreeMap::from(want));
        assert_eq!(read(&["a"]).unwrap_err().message(), "Not enough arguments (expected >1, got 1)");
        assert_eq!(read(&[]).unwrap_err().message(), "Not enough arguments (expected >1, got 0)");
        assert_eq!(read(&["a", "k="]).unwrap_err().message(), "Must supply data");
        assert!(read(&["a", "k"]).unwrap_err().message().contains("key=value"));
    }

    #[test]
    fn hcl_specifications_have_items_and_an_index() {
        let spec =
            hcl(b"path = \"app/db\"\nmodify_index = 7\nitems {\n  user = \"u1\"\n  n = 3\n}\n", "x.hcl").unwrap();
        assert_eq!((spec.path.as_str(), spec.modify_index, spec.items.len()), ("app/db", 7, 2));
        assert!(hcl(b"nope = 1", "x").is_err());
    }

    #[test]
    fn odd_keys_are_warned_of() {
        assert_eq!(
            warning("a.b-c.d").unwrap(),
            "* \"a.b-c.d\" contains characters [\"-\",\".\"] that require the 'index' function for direct access in templates"
        );
        assert_eq!(warning("ok_1"), None);
    }
}
