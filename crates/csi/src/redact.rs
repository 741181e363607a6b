//! Texts of plugins, made fit for errors: one line, bounded, and without the secrets of the call.

use std::collections::BTreeMap;

use encamp_model::SecretString;

use crate::modes::{Attachment, Capability};

/// The longest text in bytes.
pub(crate) const LONGEST: usize = 512;
/// What stands in a text instead of a secret.
const REDACTED: &str = "<redacted>";
/// Values of mount options that are shorter are no passwords, and parts of ordinary words.
const SHORTEST_OPTION: usize = 4;

/// The values that texts about a call must not contain.
#[derive(Default)]
pub(crate) struct Redactor {
    /// The longest first: one may contain another.
    values: Vec<SecretString>,
}

impl Redactor {
    /// Values of secrets; each as it is, and with escapes as in quoted text.
    pub(crate) fn new(secrets: &BTreeMap<String, SecretString>) -> Redactor {
        let mut redactor = Redactor::default();
        for secret in secrets.values() {
            redactor.add(secret.expose());
        }
        redactor.sorted()
    }

    /// Adds what mount options assign, such as the password in `password=…`.
    pub(crate) fn with_options(mut self, capability: &Capability) -> Redactor {
        if let Attachment::FileSystem(options) = &capability.attachment {
            let values = options.mount_flags.iter().filter_map(|f| f.split_once('=').map(|(_, v)| v));
            for value in values.flat_map(|v| v.split(',')) {
                let value = value.rsplit('=').next().unwrap_or(value);
                if value.len() >= SHORTEST_OPTION {
                    self.add(value);
                }
            }
        }
        self.sorted()
    }

    fn add(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let escaped = value.escape_debug().to_string();
        if escaped != value {
            self.values.push(escaped.into());
        }
        self.values.push(value.into());
    }

    fn sorted(mut self) -> Redactor {
        self.values.sort_by_key(|v| std::cmp::Reverse(v.len()));
        self
    }

    /// The text without the values, on one line and bounded.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text = text.to_string();
        for value in &self.values {
            if text.contains(value.expose()) {
                text = text.replace(value.expose(), REDACTED);
            }
        }
        one_line(&text)
    }
}

/// The text on one line, cut after [`LONGEST`] bytes.
fn one_line(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim().chars() {
        let c = if c.is_control() { ' ' } else { c };
        if out.len() + c.len_utf8() > LONGEST - '…'.len_utf8() {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::AccessMode;

    fn redactor(secrets: &[&str]) -> Redactor {
        let named = secrets.iter().enumerate();
        Redactor::new(&named.map(|(i, s)| (i.to_string(), SecretString::from(*s))).collect())
    }

    #[test]
    fn texts_contain_no_secret() {
        let r = redactor(&["abc", "abcdef", "", "a\nb\"c"]);
        assert_eq!(r.clean("login abcdef failed: abc"), "login <redacted> failed: <redacted>");
        assert_eq!(r.clean("got a\nb\"c and a\\nb\\\"c"), "got <redacted> and <redacted>");
        assert_eq!(r.clean("nothing here"), "nothing here");
    }

    #[test]
    fn mount_options_may_assign_secrets() {
        let options = encamp_model::CsiMountOptions {
            mount_flags: vec!["ro".into(), "user=me,password=s3cret".into()],
            ..Default::default()
        };
        let attachment = Attachment::FileSystem(options);
        let capability = Capability { access: AccessMode::SingleNodeWriter, attachment };
        let r = Redactor::default().with_options(&capability);
        assert_eq!(r.clean("error: password=s3cret is wrong"), "error: password=<redacted> is wrong");
    }

    #[test]
    fn texts_are_one_bounded_line() {
        let r = redactor(&["s3cret"]);
        assert_eq!(r.clean(" a\r\nb\u{1b}[31m "), "a  b [31m");
        let long = r.clean(&"ä".repeat(1000));
        assert!(long.len() <= LONGEST && long.ends_with("ä…"), "{}", long.len());
        // No part of a secret is left at the end.
        let text = format!("{}s3cret", "x".repeat(LONGEST - 6));
        assert!(!r.clean(&text).contains("s3"));
    }
}
