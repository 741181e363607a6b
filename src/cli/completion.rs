//! `completion`: scripts that teach shells this command line.

use clap_complete::Shell;

use super::command::{Registry, Run};
use super::context::Context;

/// The shells that completion scripts exist for, with the usual name of the script.
pub const SHELLS: &[(&str, Shell, &str)] =
    &[("bash", Shell::Bash, "encamp.bash"), ("zsh", Shell::Zsh, "_encamp"), ("fish", Shell::Fish, "encamp.fish")];

/// Print a completion script for a shell
///
/// Writes the script for bash, zsh or fish to standard output. Most shells read it from a file in a folder of theirs, bash
/// for example from ~/.local/share/bash-completion/completions/encamp.
#[derive(Debug, clap::Parser)]
pub struct Completion {
    #[arg(value_name = "shell")]
    args: Vec<String>,
}

/// The completion script of a shell.
pub fn script(registry: &Registry, shell: Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut registry.tree(), "encamp", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

impl Run for Completion {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [name] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <shell>");
        };
        let Some((_, shell, _)) = SHELLS.iter().find(|(n, _, _)| n == name) else {
            return context.usage_error(&format!("Unknown shell {name:?}: it is one of bash, zsh and fish"));
        };
        let text = script(context.registry, *shell);
        context.ui.plain(text.trim_end());
        0
    }
}
