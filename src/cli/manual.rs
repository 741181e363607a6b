//! Manual pages, generated from the definitions of the commands.

use clap::Command;

use super::command::Registry;

/// One page per command and group: file name and roff text.
pub fn pages(registry: &Registry) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let root = registry.tree().after_help("Flags can be written with one dash or two: -verbose, --verbose.");
    collect(&root, "", &mut out);
    out
}

/// The page of a command and those of its sub-commands. The depth is that of the command tree.
fn collect(command: &Command, prefix: &str, out: &mut Vec<(String, String)>) {
    let name =
        if prefix.is_empty() { command.get_name().to_string() } else { format!("{prefix}-{}", command.get_name()) };
    let page = command.clone().name(name.clone()).bin_name(name.replace('-', " ")).disable_help_flag(true);
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    if clap_mangen::Man::new(page).date("").render(&mut text).is_ok() {
        out.push((format!("{name}.1"), String::from_utf8_lossy(&text).into_owned()));
    }
    for sub in command.get_subcommands() {
        collect(sub, &name, out);
    }
}
