//! Hides the secrets of the command line from other users: `ps` and `/proc/<pid>/cmdline` show what a program was
//! started with to everybody.
//!
//! The kernel reads arguments from the memory of the process, so the secrets are overwritten there once they are read.
//! Until then, which takes about a millisecond, they are visible: `NOMAD_TOKEN`, files and standard input are better
//! places. On macOS and Windows they stay visible.

use std::ops::Range;

use crate::platform::overwrite_arguments;

/// Flags whose value is a secret.
const FLAGS: &[&str] =
    &["token", "encrypt", "client-intro-token", "acl-replication-token", "login-token", "consul-token", "vault-token"];
/// Commands whose arguments are secrets: all of them, or the values of `key=value`.
const COMMANDS: &[(&[&str], Secret)] = &[
    (&["var", "put"], Secret::Values),
    (&["operator", "gossip", "keyring", "install"], Secret::All),
    (&["operator", "gossip", "keyring", "use"], Secret::All),
    (&["operator", "gossip", "keyring", "remove"], Secret::All),
];

/// What is secret of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secret {
    All,
    Values,
}

/// Overwrites secrets of the command line. Does nothing where the system does not allow it.
pub fn hide() {
    // A system without /proc, or one that forbids this, keeps showing them; nothing else depends on it.
    let _ = overwrite_arguments(secrets);
}

/// Where the secrets are in a command line, whose arguments end with NUL.
fn secrets(line: &[u8]) -> Vec<Range<usize>> {
    let (mut arguments, mut at) = (Vec::new(), 0);
    for argument in line.split(|b| *b == 0) {
        arguments.push((at, argument));
        at += argument.len() + 1;
    }
    let words: Vec<&[u8]> = arguments.iter().skip(1).map(|(_, a)| *a).collect();
    let begins = |command: &&(&[&str], Secret)| {
        words.len() > command.0.len() && command.0.iter().zip(&words).all(|(word, given)| word.as_bytes() == *given)
    };
    let (skipped, of_command) = COMMANDS.iter().find(begins).map_or((0, None), |(c, s)| (c.len(), Some(*s)));
    let (mut out, mut follows) = (Vec::new(), false);
    for (at, argument) in arguments.into_iter().skip(1 + skipped) {
        let whole = at..at + argument.len();
        let value = argument.iter().position(|b| *b == b'=').map(|i| at + i + 1..whole.end);
        let flag = argument.strip_prefix(b"--").or(argument.strip_prefix(b"-"));
        let name = flag.map(|f| f.split(|b| *b == b'=').next().unwrap_or(f));
        let is_secret = name.is_some_and(|name| FLAGS.iter().any(|f| f.as_bytes() == name));
        if follows {
            out.push(whole);
            follows = false;
        } else if is_secret {
            follows = value.is_none();
            out.extend(value);
        } else if flag.is_none() {
            match of_command {
                Some(Secret::All) => out.push(whole),
                Some(Secret::Values) => out.extend(value),
                None => {}
            }
        }
    }
    out.retain(|range| !range.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line as it is shown afterwards.
    fn shown(words: &[&str]) -> String {
        let mut line: Vec<u8> = words.iter().flat_map(|w| w.bytes().chain([0])).collect();
        for range in secrets(&line) {
            line[range].fill(b'x');
        }
        line.pop();
        String::from_utf8(line).expect("text").replace('\0', " ")
    }

    #[test]
    fn values_of_secret_flags_are_found() {
        for (words, want) in [
            (&["encamp", "job", "status", "-token", "hush", "web"][..], "encamp job status -token xxxx web"),
            (&["encamp", "job", "status", "--token=hush", "web"], "encamp job status --token=xxxx web"),
            (&["encamp", "agent", "-encrypt", "a=b", "-dev"], "encamp agent -encrypt xxx -dev"),
            (&["encamp", "agent", "-client-intro-token=x.y", "-dev"], "encamp agent -client-intro-token=xxx -dev"),
            (&["encamp", "login", "-login-token", "e.y"], "encamp login -login-token xxx"),
            (&["encamp", "acl", "token", "info", "abc"], "encamp acl token info abc"),
            (&["encamp", "var", "put", "-force", "a/b", "k=hush", "l="], "encamp var put -force a/b k=xxxx l="),
            (&["encamp", "var", "get", "k=hush"], "encamp var get k=hush"),
            (&["encamp", "operator", "gossip", "keyring", "use", "a2V5"], "encamp operator gossip keyring use xxxx"),
            (&["encamp", "status", "-token"], "encamp status -token"),
            (&["encamp"], "encamp"),
        ] {
            assert_eq!(shown(words), want);
        }
    }
}
