//! Removes secrets from texts: values of environment variables, templates, and what names or forms show to be secret.

use std::borrow::Cow;

use encamp_model::SecretString;
use regex::Regex;

/// What stands for a secret.
pub const HIDDEN: &str = "<hidden>";

/// Parts of names of secrets, in lower case.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "accesskey",
    "access_key",
    "privatekey",
    "private_key",
    "auth[",
    "embeddedtmpl",
    "payload",
    "connection_string",
    "dsn",
];

/// Removes secrets.
#[derive(Debug)]
pub struct Conceal {
    /// The token of the server and the like: texts that no answer may have.
    known: Vec<SecretString>,
    /// A secret with its name: `password=…`.
    named: Regex,
    /// User and password of a URL.
    url: Regex,
    /// A private key, as it is written on one line.
    key: Regex,
}

impl Conceal {
    /// Also removes these texts, wherever they are.
    ///
    /// # Errors
    /// Never, unless the library cannot compile the expressions.
    pub fn new(known: Vec<SecretString>) -> Result<Conceal, regex::Error> {
        let names = r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)";
        Ok(Conceal {
            known: known.into_iter().filter(|s| !s.expose().is_empty()).collect(),
            named: Regex::new(&format!(r#"(?i)({names}[\w.-]*["'\\]*=["'\\]*)[^\s"'\\,;&<]+"#))?,
            url: Regex::new(r#"://[^/\s"'@]*:[^/\s"'@]*@"#)?,
            key: Regex::new(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)")?,
        })
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        // The name of a secret as an argument: the next argument is the secret.
        let mut named_before = false;
        for line in text.split_inclusive('\n') {
            match field(line) {
                Some((before, name, value)) => {
                    let first = value.trim_matches(['"', ' ', '\n']);
                    if is_secret(name) || named_before {
                        out.push_str(&format!("{before}{name}: {HIDDEN}\n"));
                    } else {
                        out.push_str(&self.forms(line));
                    }
                    named_before = first.starts_with('-') && !first.contains('=') && is_secret(first);
                }
                None => {
                    named_before = false;
                    out.push_str(&self.forms(line));
                }
            }
        }
        out
    }

    /// A value with a name without secrets.
    pub fn value<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        if is_secret(name) { Cow::Borrowed(HIDDEN) } else { self.forms(value) }
    }

    /// Without what its form shows to be secret.
    fn forms<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (form, instead) in [
            (&self.named, format!("${{1}}{HIDDEN}")),
            (&self.url, format!("://{HIDDEN}@")),
            (&self.key, HIDDEN.to_string()),
        ] {
            if let Cow::Owned(changed) = form.replace_all(&text, instead) {
                text = Cow::Owned(changed);
            }
        }
        for secret in &self.known {
            if text.contains(secret.expose()) {
                text = Cow::Owned(text.replace(secret.expose(), HIDDEN));
            }
        }
        text
    }
}

/// Whether a name is that of a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    name.starts_with("env[") || NAMES.iter().any(|part| name.contains(part))
}

/// A field of a diff, `+/- Name: "old" => "new"`: what stands before its name, its name and the rest.
fn field(line: &str) -> Option<(&str, &str, &str)> {
    let body = line.trim_start_matches([' ', '+', '-', '/']);
    let before = line.get(..line.len().saturating_sub(body.len()))?;
    // Names of environment variables may have any character.
    let end = if body.starts_with("Env[") { body.find("]:").map(|at| at.saturating_add(1)) } else { body.find(':') }?;
    let (name, value) = (body.get(..end)?, body.get(end.saturating_add(1)..)?.trim_start());
    let is_name = body.starts_with("Env[") || !name.contains([' ', '"']);
    (is_name && value.starts_with('"')).then_some((before, name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_fields_are_hidden() {
        let conceal = Conceal::new(vec![SecretString::from("5f8a-token".to_string())]).expect("expressions");
        let diff = r#"+/- Task: "nginx"
  + Env[A: B]: "hunter1"
  +/- Env[PLAIN]:       "hunter2" => "hunter3"
      +   args[0]:           "-password=hunter4"
      +   args[1]:           "--db-password"
      +   args[2]:           "hunter5"
      +   args[3]:           "-verbose"
      +   auth[0][username]: "hunter6"
      +/- image:             "registry/web:41" => "registry/web:42"
          url:               "postgres://app:hunter7@db:5432/x"
    + EmbeddedTmpl:  "PASSWORD=hunter8\n"
    key -----BEGIN RSA PRIVATE KEY-----\nhunter9\n-----END RSA PRIVATE KEY----- end
Error: 403 for 5f8a-token
"#;
        let shown = conceal.text(diff);
        assert!(!shown.contains("hunter") && !shown.contains("5f8a"), "{shown}");
        for kept in
            ["Task: \"nginx\"", "registry/web:42", "-verbose", "postgres://<hidden>@db:5432/x", "Env[PLAIN]", "end\n"]
        {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let conceal = Conceal::new(Vec::new()).expect("expressions");
        for text in ["Placements\nAllocation  Node\n", "Error: ACL token not found: see acl token list\n", "", "a: b"] {
            assert_eq!(conceal.text(text), text);
        }
        assert_eq!(conceal.value("db_password", "x"), HIDDEN);
        assert_eq!(conceal.value("rack", "r1"), "r1");
    }
}
