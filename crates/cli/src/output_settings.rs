//! The settings of output that the full command line is searched for before a command runs (`docs/spec/cli.md §2.4`).

use clap::ValueEnum;

use super::context::Environment;
use super::render::page::Pager;
use super::render::ui::ColourInput;

/// When to print with colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColourWhen {
    /// If standard output is a terminal.
    #[default]
    Auto,
    /// Also where output is not a terminal.
    Always,
    /// Not at all.
    Never,
}

/// The settings of output.
pub struct OutputSettings<'a> {
    args: &'a [String],
    env: &'a Environment,
}

impl<'a> OutputSettings<'a> {
    /// The settings of a command line.
    pub fn new(args: &'a [String], env: &'a Environment) -> OutputSettings<'a> {
        OutputSettings { args, env }
    }

    fn has(&self, name: &str) -> bool {
        self.args.iter().any(|arg| flag(arg) == Some(name))
    }

    /// The value of the last `-color`. A value that is none is reported by the command.
    fn colour(&self) -> ColourWhen {
        let mut when = ColourWhen::Auto;
        for (i, arg) in self.args.iter().enumerate() {
            let value = match flag(arg).map(|name| name.split_once('=').unwrap_or((name, ""))) {
                Some(("color", "")) => self.args.get(i + 1).map(String::as_str),
                Some(("color", value)) => Some(value),
                _ => None,
            };
            when = value.and_then(|v| ColourWhen::from_str(v, false).ok()).unwrap_or(when);
        }
        when
    }

    /// The input of the decision about colours. `-color` precedes the environment.
    pub fn colours(&self) -> ColourInput<'a> {
        let when = self.colour();
        let asked = when != ColourWhen::Auto;
        let set = |name: &str| !asked && self.env.var(name).is_some();
        ColourInput {
            terminal: self.env.stdout_is_terminal,
            disabled: when == ColourWhen::Never || self.has("no-color") || set("NOMAD_CLI_NO_COLOR"),
            forced: when == ColourWhen::Always || self.has("force-color") || set("NOMAD_CLI_FORCE_COLOR"),
            no_color: self.env.var("NO_COLOR").is_some(),
            term: self.env.var("TERM"),
        }
    }

    /// Whether tables keep to the width of the terminal.
    pub fn fits_terminal(&self) -> bool {
        self.env.stdout_is_terminal && !self.has("wide")
    }

    /// The program that shows long output; `None` if that is unwanted.
    pub fn pager(&self) -> Option<Pager> {
        let possible = self.env.stdout_is_terminal && self.env.var("TERM").is_some_and(|term| term != "dumb");
        if !possible || self.has("no-pager") {
            return None;
        }
        // An empty variable turns the pager off.
        let set = |name: &str| self.env.vars.get(name).map(String::as_str);
        Pager::chosen(set("ENCAMP_PAGER"), set("PAGER"))
    }
}

/// The name of a flag, with its value behind `=`.
fn flag(arg: &str) -> Option<&str> {
    arg.strip_prefix("--").or(arg.strip_prefix('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(args: &[&str], vars: &[(&str, &str)]) -> (bool, bool) {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let vars = vars.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let env = Environment { vars, stdout_is_terminal: true, ..Environment::default() };
        let input = OutputSettings::new(&args, &env).colours();
        (input.disabled, input.forced)
    }

    #[test]
    fn the_last_colour_flag_counts_and_precedes_the_environment() {
        assert_eq!(colours(&["status"], &[]), (false, false));
        assert_eq!(colours(&["-color=always"], &[("NOMAD_CLI_NO_COLOR", "1")]), (false, true));
        assert_eq!(colours(&["-color=always", "--color", "never"], &[]), (true, false));
        assert_eq!(colours(&["-color=often", "-no-color"], &[]), (true, false));
        assert_eq!(colours(&["-color", "auto"], &[("NOMAD_CLI_FORCE_COLOR", "1")]), (false, true));
    }

    #[test]
    fn a_pager_needs_a_terminal_and_no_objection() {
        let env = |vars: &[(&str, &str)], terminal| Environment {
            vars: vars.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            stdout_is_terminal: terminal,
            ..Environment::default()
        };
        let pager = |env: &Environment, args: &[String]| OutputSettings::new(args, env).pager().is_some();
        let xterm = ("TERM", "xterm");
        assert!(pager(&env(&[xterm], true), &[]));
        assert!(!pager(&env(&[xterm], false), &[]) && !pager(&env(&[xterm], true), &["-no-pager".into()]));
        assert!(!pager(&env(&[("TERM", "dumb")], true), &[]) && !pager(&env(&[xterm, ("PAGER", "")], true), &[]));
        assert!(pager(&env(&[xterm, ("PAGER", "cat"), ("ENCAMP_PAGER", "less")], true), &[]));
    }
}
