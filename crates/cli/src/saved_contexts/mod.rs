//! Named clusters in a file of the user (`docs/spec/cli.md §2.6`): a context holds the settings of a connection, so that
//! nobody has to set environment variables to change the cluster.
//!
//! - `file`: the format. `commands`: `context list`, `use`, `show`.
//!
//! A context never mixes with another cluster's settings: it counts only if neither `-address` nor the environment
//! selects a cluster, and one that `-context` selects replaces the variables of the connection.

pub mod commands;
mod file;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::context::Environment;
use super::error::{CommandError, CommandResult};
use encamp_model::{SecretString, quoted};
use file::{ContextFile, SavedContext};

/// The variable that selects a context.
pub const CONTEXT: &str = "ENCAMP_CONTEXT";
/// The name of the file, and of the one that holds the name of the current context, in the configuration directory.
const FILE: &str = "config.toml";
const CURRENT: &str = "current-context";
/// The longest name of a context and the longest token, in bytes.
const LONGEST: usize = 64 << 10;

/// The variables of a connection, without the prefixes `NOMAD_` and `ENCAMP_`.
const CONNECTION: &[&str] = &[
    "ADDR",
    "REGION",
    "NAMESPACE",
    "TOKEN",
    "CACERT",
    "CAPATH",
    "CLIENT_CERT",
    "CLIENT_KEY",
    "TLS_SERVER_NAME",
    "SKIP_VERIFY",
    "HTTP_AUTH",
];

/// Why a context is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// `-context`.
    Flag,
    /// `ENCAMP_CONTEXT`.
    Variable,
    /// `context use`.
    Used,
    /// One of several, of `-contexts`.
    Listed,
}

impl Selected {
    fn text(self) -> &'static str {
        match self {
            Selected::Flag => "-context",
            Selected::Variable => CONTEXT,
            Selected::Used => "context use",
            Selected::Listed => "-contexts",
        }
    }
}

/// The directory of the user's configuration: `ENCAMP_CONFIG_DIR`, or `encamp` in `XDG_CONFIG_HOME` or `~/.config`.
fn directory(env: &Environment) -> Option<PathBuf> {
    if let Some(own) = env.var("ENCAMP_CONFIG_DIR") {
        return Some(env.directory.join(own));
    }
    let base = env.var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let base = base.or_else(|| env.var("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(base.join("encamp"))
}

/// Reads the file; without contexts if there is none.
fn read(env: &Environment) -> CommandResult<ContextFile> {
    let Some(path) = directory(env).map(|d| d.join(FILE)) else { return Ok(ContextFile::default()) };
    match std::fs::read_to_string(&path) {
        Ok(text) => file::parse(&text, &path).map_err(CommandError::new),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(ContextFile::default()),
        Err(e) => Err(CommandError::new(format!("Error reading {}: {e}", path.display()))),
    }
}

/// The name that `context use` stored.
fn used(env: &Environment) -> Option<String> {
    let text = std::fs::read_to_string(directory(env)?.join(CURRENT)).ok()?;
    Some(text.trim().to_string()).filter(|name| !name.is_empty() && name.len() <= LONGEST)
}

/// The context that is selected, by the flag, the environment, or `context use`.
fn selected(flag: Option<&str>, env: &Environment) -> Option<(String, Selected)> {
    let named = |name: &str| Some(name.to_string()).filter(|n| !n.is_empty());
    let flag = flag.and_then(named).map(|n| (n, Selected::Flag));
    let variable = || env.var(CONTEXT).and_then(named).map(|n| (n, Selected::Variable));
    flag.or_else(variable).or_else(|| used(env).map(|n| (n, Selected::Used)))
}

/// Whether the environment selects a cluster.
fn has_address(env: &Environment) -> bool {
    env.var("NOMAD_ADDR").or_else(|| env.var("ENCAMP_ADDR")).is_some()
}

/// The value of a flag on a command line, as far as commands read flags; the last one counts.
fn flag<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let mut found = None;
    let mut words = args.iter().take_while(|a| *a != "--");
    while let Some(word) = words.next() {
        let Some(word) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
        match word.split_once('=') {
            Some((given, value)) if given == name => found = Some(value),
            None if word == name => found = words.next().map(String::as_str),
            Some(_) | None => {}
        }
    }
    found
}

/// Adds the settings of the selected context to the variables of an environment. What is wrong with the context is
/// reported by the first command that needs a connection.
pub fn apply(env: &mut Environment, args: &[String]) {
    env.selects_cluster = has_address(env);
    let Some((name, by)) = selected(flag(args, "context"), env) else { return };
    if by != Selected::Flag && (env.selects_cluster || flag(args, "address").is_some_and(|a| !a.is_empty())) {
        return;
    }
    match read(env).and_then(|file| found(&file, &name, by, env)) {
        Ok(context) => {
            if by == Selected::Flag {
                forget_connection(env);
            }
            take(env, &name, &context);
        }
        Err(error) => env.context_error = Some(error.message().to_string()),
    }
}

/// Removes the variables of the connection.
fn forget_connection(env: &mut Environment) {
    for name in CONNECTION {
        env.vars.remove(&format!("NOMAD_{name}"));
        env.vars.remove(&format!("ENCAMP_{name}"));
    }
}

/// Sets the variables of the connection that are not set.
fn take(env: &mut Environment, name: &str, context: &SavedContext) {
    for (variable, value) in context.variables() {
        let set = ["NOMAD_", "ENCAMP_"].iter().any(|prefix| env.var(&format!("{prefix}{variable}")).is_some());
        if !set {
            env.vars.insert(format!("NOMAD_{variable}"), value);
        }
    }
    // It only runs for a connection that has no token.
    if !context.token_command.is_empty() {
        env.token_command = Some(TokenCommand { context: name.into(), words: context.token_command.clone() });
    }
}

/// The names of all contexts, in order.
///
/// # Errors
/// The file is invalid or cannot be read.
pub fn names(env: &Environment) -> CommandResult<Vec<String>> {
    Ok(read(env)?.contexts.into_keys().collect())
}

/// The environment in which one of several contexts is selected, as `-context` selects it. Its token command has run.
///
/// # Errors
/// There is no such context, or its token command fails.
pub fn environment(name: &str, env: &Environment) -> CommandResult<Environment> {
    let context = read(env).and_then(|file| found(&file, name, Selected::Listed, env))?;
    let mut env = Environment { token_command: None, context_error: None, ..env.clone() };
    forget_connection(&mut env);
    take(&mut env, name, &context);
    if let Some(command) = env.token_command.take() {
        let token = command.run(&env)?;
        env.vars.insert("NOMAD_TOKEN".into(), token.expose().to_string());
    }
    Ok(env)
}

/// The context with this name.
fn found(file: &ContextFile, name: &str, by: Selected, env: &Environment) -> CommandResult<SavedContext> {
    file.contexts.get(name).cloned().ok_or_else(|| {
        let names: Vec<String> = file.contexts.keys().map(|n| quoted(n)).collect();
        let place = directory(env).map(|d| d.join(FILE).display().to_string()).unwrap_or_default();
        let there = if names.is_empty() { "it has none".into() } else { format!("it has {}", names.join(", ")) };
        CommandError::new(format!("No context {} ({}) in {place}: {there}", quoted(name), by.text()))
    })
}

/// A command that prints a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenCommand {
    /// The context that names it.
    context: String,
    /// The program and its arguments.
    words: Vec<String>,
}

impl TokenCommand {
    /// Runs the command; its first line is the token. It may ask on the terminal.
    ///
    /// # Errors
    /// It cannot be started, fails, or prints nothing.
    pub fn run(&self, env: &Environment) -> CommandResult<SecretString> {
        let failed = |why: String| {
            CommandError::new(format!("Error running the token command of context {}: {why}", quoted(&self.context)))
        };
        let (program, arguments) = self.words.split_first().ok_or_else(|| failed("it is empty".into()))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&env.directory).stdin(Stdio::inherit()).stderr(Stdio::inherit());
        let output = command.output().map_err(|e| failed(format!("{program}: {e}")))?;
        if !output.status.success() {
            return Err(failed(format!("{program}: {}", output.status)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let token = text.lines().next().unwrap_or_default().trim();
        if token.is_empty() || token.len() > LONGEST {
            return Err(failed(format!("{program} printed no token")));
        }
        Ok(SecretString::new(token.to_string()))
    }
}

/// The settings of a context that are no secrets, for `context show` and `list`.
fn shown(context: &SavedContext) -> BTreeMap<&'static str, String> {
    context.settings.iter().map(|(setting, value)| (setting.key(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_as_commands_read_them() {
        let line = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(flag(&line("job plan -context prod x.hcl"), "context"), Some("prod"));
        assert_eq!(flag(&line("job plan --context=prod -context dev"), "context"), Some("dev"));
        assert_eq!(flag(&line("job plan x -- -context prod"), "context"), None);
        assert_eq!(flag(&line("job plan -contexts prod"), "context"), None);
    }
}
