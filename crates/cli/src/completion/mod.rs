//! `completion`: shell completion scripts, and the completions that they request (`docs/spec/cli.md §2.5`).
//!
//! A shell runs the program with the line in `COMP_LINE` and the offset of the cursor in `COMP_POINT`, and the program
//! prints the completions. bash does so by itself after `complete -C encamp encamp`. The scripts do so as well, and set
//! `ENCAMP_COMPLETE` to the name of the shell: the output then starts with a line that names the kind of the
//! completions.
//!
//! - [`mod@line`]: the words of the line. [`candidates`]: what can stand at the cursor. [`values`]: values of flags and
//!   arguments. [`files`]: paths. [`live`]: names of objects of the cluster.
//!   [`cache`]: those that were received a moment ago.

pub mod cache;
pub mod candidates;
pub mod files;
pub mod line;
pub mod live;
pub mod values;

use std::path::Path;

use super::command::Registry;
use super::prelude::*;
use candidates::{Candidate, Ending, Offer};
use line::{Line, Quote, Syntax, Word};
use values::Files;

/// The environment variable that holds the command line to complete.
pub const LINE: &str = "COMP_LINE";

/// A shell that a completion script exists for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// GNU bash, from version 4.
    Bash,
    /// The Z shell.
    Zsh,
    /// fish.
    Fish,
}

/// The shells that completion scripts exist for, with the usual name of the script.
pub const SHELLS: &[(&str, Shell, &str)] =
    &[("bash", Shell::Bash, "encamp.bash"), ("zsh", Shell::Zsh, "_encamp"), ("fish", Shell::Fish, "encamp.fish")];

impl Shell {
    /// The shell of that name.
    pub fn parse(name: &str) -> Option<Shell> {
        SHELLS.iter().find(|(n, _, _)| *n == name).map(|(_, shell, _)| *shell)
    }

    /// Its completion script.
    pub fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("../../../../completions/encamp.bash"),
            Shell::Zsh => include_str!("../../../../completions/_encamp"),
            Shell::Fish => include_str!("../../../../completions/encamp.fish"),
        }
    }
}

/// Print a completion script for a shell
///
/// Writes the script for bash, zsh or fish to standard output. The script gets its completions from the program, so it
/// does not need to be updated with the program. Names of objects come from the cluster of -address and -token, or of
/// the environment, if it answers at once; they are used again for 5 seconds.
///
/// bash: write it to ~/.local/share/bash-completion/completions/encamp, or, without the bash-completion package, put
/// source
/// <(encamp completion bash) into ~/.bashrc.
///
/// zsh: write it to a file named _encamp in a directory of $fpath, or put source <(encamp completion zsh) into
/// ~/.zshrc, after compinit.
///
/// fish: write it to ~/.config/fish/completions/encamp.fish.
#[derive(Debug, clap::Parser)]
pub struct Completion {
    #[arg(value_name = "shell", add = CompleteWith::Words(&["bash", "fish", "zsh"]))]
    name: String,
}

impl Run for Completion {
    const META: Meta = Meta::new("completion")
        .environment(&[
            ("ENCAMP_CACHE_DIR", "Directory of the names that completion received. By default, as for snapshots."),
            (
                "ENCAMP_COMPLETION_TIMEOUT",
                "How long completion waits for the names of objects of the cluster; 0 to not ask it. Default: 300ms.",
            ),
        ])
        .offline_examples(&[
            ("Enable completion in the current bash", "source <(encamp completion bash)"),
            ("Write the completion script of fish to a file", "encamp completion fish > encamp.fish"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = &self.name;
        let Some(shell) = Shell::parse(name) else {
            return context.usage_error(&format!("Unknown shell {name:?}: it is one of bash, zsh and fish"));
        };
        context.ui.plain(shell.script().trim_end());
        0
    }
}

/// The text to print for the command line `line`, of which `args` are the arguments that bash gives: the command's
/// name, the word at the cursor and the word before it.
pub fn answer(line: &str, args: &[String], env: &Environment) -> String {
    let shell = env.var("ENCAMP_COMPLETE").and_then(Shell::parse);
    let current = args.get(1).map(String::as_str);
    let point = env.var("COMP_POINT").and_then(|p| p.parse().ok());
    let syntax = if shell == Some(Shell::Fish) { Syntax::Fish } else { Syntax::Posix };
    let Some(line) = Line::read(line::before_cursor(line, point, current), syntax) else { return String::new() };
    let offer = candidates::candidates(&Registry::new(), &line.before, &line.current.text);
    let shown = resolved(offer, env);
    match shell {
        None => for_bash_itself(shown, &line.current, current, env),
        Some(Shell::Bash) => for_bash(shown, &line.current, current, env),
        Some(Shell::Zsh) => for_zsh(shown),
        Some(Shell::Fish) => for_fish(shown, env),
    }
}

/// The completions that a shell gets.
enum Shown {
    /// One of these words.
    Words(Vec<Candidate>),
    /// A path.
    Path { flag: String, typed: String, files: Files },
}

/// Asks the cluster for names, where an offer needs them.
fn resolved(offer: Offer, env: &Environment) -> Shown {
    match offer {
        Offer::Words(found) => Shown::Words(found),
        Offer::Path { flag, typed, files } => Shown::Path { flag, typed, files },
        Offer::Live { flag, typed, objects, given } => {
            let mut found = live::candidates(objects, &typed, &given, env);
            found.retain(|c| c.text.starts_with(typed.as_str()));
            found.iter_mut().for_each(|c| c.text.insert_str(0, &flag));
            Shown::Words(found)
        }
    }
}

/// The paths of an offer, with what stands before them in the word.
fn paths(flag: &str, typed: &str, files: Files, env: &Environment) -> Vec<Candidate> {
    let mut found = files::paths(typed, files, &env.directory, env.var("HOME").map(Path::new));
    found.iter_mut().for_each(|c| c.text.insert_str(0, flag));
    found
}

fn lines(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().map(|text| text + "\n").collect()
}

/// One word a line, for `complete -C`. bash puts a blank behind every word that is not ambiguous, so flags are offered
/// without `=`, and a directory together with its content. It inserts words as they are, so paths are quoted.
fn for_bash_itself(shown: Shown, word: &Word, current: Option<&str>, env: &Environment) -> String {
    let texts: Vec<String> = match shown {
        Shown::Words(found) => found.into_iter().map(without_equals_sign).collect(),
        Shown::Path { flag, typed, files } => {
            let mut found = paths(&flag, &typed, files, env);
            if let [Candidate { text, ending: Ending::Continues, .. }] = found.as_slice() {
                let inside = text.strip_prefix(flag.as_str()).unwrap_or(text).to_string();
                found.extend(paths(&flag, &inside, files, env));
            }
            found.into_iter().map(|c| c.text).collect()
        }
    };
    lines(texts.iter().filter_map(|text| from_word_break(text, word, current)).map(|text| quoted(text, word.open)))
}

fn without_equals_sign(candidate: Candidate) -> String {
    match candidate.ending {
        Ending::Complete => candidate.text,
        Ending::Continues => candidate.text.trim_end_matches('=').to_string(),
    }
}

/// `words` or `paths`, then one word a line, for the script.
fn for_bash(shown: Shown, word: &Word, current: Option<&str>, env: &Environment) -> String {
    let (kind, found) = match shown {
        Shown::Words(found) => ("words", found),
        Shown::Path { flag, typed, files } => ("paths", paths(&flag, &typed, files, env)),
    };
    let texts = found.iter().filter_map(|c| from_word_break(&c.text, word, current)).map(String::from);
    lines([kind.to_string()].into_iter().chain(texts))
}

/// `words`, then one word and its description a line; or `paths` and a pattern of names, because zsh completes paths
/// better than a program can do it.
fn for_zsh(shown: Shown) -> String {
    match shown {
        Shown::Words(found) => lines(["words".to_string()].into_iter().chain(found.into_iter().map(described))),
        Shown::Path { files, .. } => match files {
            Files::Any => "paths *\n".into(),
            Files::Named(endings) => format!("paths *.({})\n", endings.join("|")),
            Files::Directories => "directories\n".into(),
        },
    }
}

/// One word and its description a line.
fn for_fish(shown: Shown, env: &Environment) -> String {
    lines(match shown {
        Shown::Words(found) => found.into_iter().map(described).collect::<Vec<_>>(),
        Shown::Path { flag, typed, files } => {
            paths(&flag, &typed, files, env).into_iter().map(|c| c.text).collect::<Vec<_>>()
        }
    })
}

fn described(candidate: Candidate) -> String {
    format!("{}\t{}", candidate.text, candidate.description)
}

/// The part of a word that bash replaces. bash breaks words at the characters of `COMP_WORDBREAKS`, `=` and `:` among
/// them, and completes only the last part, which `current` is.
fn from_word_break<'a>(text: &'a str, word: &Word, current: Option<&str>) -> Option<&'a str> {
    let raw = current.and_then(|current| word.raw.strip_suffix(current)).unwrap_or_default();
    let before = Line::read(&format!("encamp {raw}"), Syntax::Posix)?.current.text;
    text.strip_prefix(before.as_str())
}

/// A word as it is written in bash where that quotation mark is open. A leading `~/` keeps its meaning.
fn quoted(text: &str, open: Option<Quote>) -> String {
    let (home, rest) = text.split_at(if text.starts_with("~/") { 2 } else { 0 });
    let special = |c: char| match open {
        None => !(c.is_alphanumeric() || "-_./=,:@%+".contains(c)),
        Some(Quote::Double) => "\"\\$`".contains(c),
        Some(Quote::Single) => false,
    };
    let escape = |c: char| special(c).then_some('\\').into_iter().chain([c]);
    home.chars().chain(rest.chars().flat_map(escape)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer in the directory of the jobs that the documentation is about.
    fn ask(shell: &str, line: &str, args: &[&str]) -> String {
        let vars = [("ENCAMP_COMPLETE", shell), ("HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))];
        let env = Environment {
            vars: vars.map(|(name, value)| (name.to_string(), value.to_string())).into(),
            directory: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/preemption"),
            ..Environment::default()
        };
        answer(line, &args.iter().map(|a| a.to_string()).collect::<Vec<_>>(), &env)
    }

    #[test]
    fn every_shell_gets_its_form() {
        for (shell, line, args, want) in [
            ("", "encamp job pl", &[][..], "plan\n"),
            ("", "encamp job plan -diag", &[], "-diagnostics\n"),
            ("", "encamp job plan -diagnostics=", &[], "-diagnostics=text\n-diagnostics=json\n"),
            ("", "encamp job plan -diagnostics=j", &["encamp", "j", "="], "json\n"),
            ("", "encamp job plan -V", &[], ""),
            ("", "enc", &[], ""),
            ("", "encamp job plan w", &[], "webapp.hcl\n"),
            ("", "encamp job plan ~/fix", &[], "~/fixtures/\n"),
            ("", "encamp job plan ~/fixtures/preempt", &[], "~/fixtures/preemption/\n~/fixtures/preemption/"),
            ("bash", "encamp job plan -diag", &["encamp", "-diag", "plan"], "words\n-diagnostics=\n"),
            ("bash", "encamp job plan -diagnostics=", &["encamp", "", "="], "words\ntext\njson\n"),
            (
                "bash",
                "encamp job plan -diagnostics=",
                &["encamp", "-diagnostics=", "plan"],
                "words\n-diagnostics=text\n",
            ),
            ("bash", "encamp job plan -var-file=w", &["encamp", "w", "="], "paths\nwebapp.hcl\n"),
            ("bash", "encamp job plan -var-file=\"w", &["encamp", "\"w", "="], "paths\nwebapp.hcl\n"),
            ("zsh", "encamp job pl", &[], "words\nplan\tDry-run a job to determine its effects\n"),
            ("zsh", "encamp job plan ", &[], "paths *.(hcl|nomad|json)\n"),
            ("zsh", "encamp job plan -ca-cert ", &[], "paths *\n"),
            ("zsh", "encamp job plan -ca-path ", &[], "directories\n"),
            ("fish", "encamp job plan -diag", &[], "-diagnostics=\tFormat of diagnostics"),
            ("fish", "encamp job plan -var-file=w", &[], "-var-file=webapp.hcl\n"),
        ] {
            let got = ask(shell, line, args);
            assert!(if want.is_empty() { got.is_empty() } else { got.starts_with(want) }, "{shell} {line}: {got}");
        }
    }

    #[test]
    fn words_are_quoted_for_where_they_stand() {
        for (text, open, want) in [
            ("my job's.hcl", None, r"my\ job\'s.hcl"),
            ("~/a b", None, r"~/a\ b"),
            ("a~b", None, r"a\~b"),
            ("a b$c", Some(Quote::Double), r"a b\$c"),
            ("a b$c", Some(Quote::Single), "a b$c"),
        ] {
            assert_eq!(quoted(text, open), want);
        }
    }
}
