//! The file of contexts: TOML, one table for each context.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml_edit::{Document, Item, Value};

/// The most that is read.
const LONGEST: usize = 1 << 20;

/// The settings of a context that are texts or flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Setting {
    Address,
    Region,
    Namespace,
    CaCert,
    CaPath,
    ClientCert,
    ClientKey,
    TlsServerName,
    TlsSkipVerify,
}

impl Setting {
    const ALL: [Setting; 9] = [
        Setting::Address,
        Setting::Region,
        Setting::Namespace,
        Setting::CaCert,
        Setting::CaPath,
        Setting::ClientCert,
        Setting::ClientKey,
        Setting::TlsServerName,
        Setting::TlsSkipVerify,
    ];

    /// The key in the file.
    pub(super) fn key(self) -> &'static str {
        match self {
            Setting::Address => "address",
            Setting::Region => "region",
            Setting::Namespace => "namespace",
            Setting::CaCert => "ca_cert",
            Setting::CaPath => "ca_path",
            Setting::ClientCert => "client_cert",
            Setting::ClientKey => "client_key",
            Setting::TlsServerName => "tls_server_name",
            Setting::TlsSkipVerify => "tls_skip_verify",
        }
    }

    /// The environment variable that sets the same, without its prefix.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Setting::Address => "ADDR",
            Setting::Region => "REGION",
            Setting::Namespace => "NAMESPACE",
            Setting::CaCert => "CACERT",
            Setting::CaPath => "CAPATH",
            Setting::ClientCert => "CLIENT_CERT",
            Setting::ClientKey => "CLIENT_KEY",
            Setting::TlsServerName => "TLS_SERVER_NAME",
            Setting::TlsSkipVerify => "SKIP_VERIFY",
        }
    }

    fn is_flag(self) -> bool {
        self == Setting::TlsSkipVerify
    }

    /// Whether it is a path, which starts at the directory of the file.
    fn is_path(self) -> bool {
        matches!(self, Setting::CaCert | Setting::CaPath | Setting::ClientCert | Setting::ClientKey)
    }
}

/// A named cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SavedContext {
    /// What is set, as the environment variables would have it.
    pub(super) settings: BTreeMap<Setting, String>,
    /// A program that prints the token, and its arguments; empty: none.
    pub(super) token_command: Vec<String>,
}

impl SavedContext {
    /// The environment variables that set the same, without their prefix.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.settings.iter().map(|(setting, value)| (setting.variable(), value.clone()))
    }
}

/// All contexts, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ContextFile {
    pub(super) contexts: BTreeMap<String, SavedContext>,
}

/// A file that cannot be used: where and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {why}")]
pub(super) struct InvalidFile {
    path: String,
    line: usize,
    column: usize,
    why: String,
}

/// Parses the file. Paths are made absolute.
pub(super) fn parse(text: &str, path: &Path) -> Result<ContextFile, InvalidFile> {
    let invalid = |at: Option<Range<usize>>, why: String| {
        let before = text.get(..at.map_or(0, |r| r.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        InvalidFile { path: path.display().to_string(), line, column, why }
    };
    if text.len() > LONGEST {
        return Err(invalid(None, format!("the file is larger than {} MiB", LONGEST >> 20)));
    }
    let document = Document::parse(text).map_err(|e| invalid(e.span(), e.message().to_string()))?;
    let mut file = ContextFile::default();
    for (key, item) in document.as_table() {
        if key != "contexts" {
            return Err(invalid(item.span(), format!("unknown key {key}: only [contexts.<name>] tables are known")));
        }
        let Some(contexts) = item.as_table_like() else {
            return Err(invalid(item.span(), "contexts must be a table".into()));
        };
        for (name, item) in contexts.iter() {
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(invalid(
                    item.span(),
                    "the name of a context must be a text without control characters".into(),
                ));
            }
            let Some(table) = item.as_table_like() else {
                return Err(invalid(item.span(), format!("context {name} must be a table")));
            };
            let mut context = SavedContext::default();
            for (key, item) in table.iter() {
                add(&mut context, key, item, path).map_err(|why| invalid(item.span(), why.to_string()))?;
            }
            file.contexts.insert(name.to_string(), context);
        }
    }
    Ok(file)
}

/// Adds a setting to a context; the error says why it is refused.
fn add(context: &mut SavedContext, key: &str, item: &Item, path: &Path) -> Result<(), Refused> {
    if key == "token_command" {
        let words = item.as_array().ok_or(Refused::NotAList)?;
        let words: Option<Vec<String>> = words.iter().map(|w| w.as_str().map(String::from)).collect();
        context.token_command = words.filter(|w| !w.is_empty()).ok_or(Refused::NotAList)?;
        return Ok(());
    }
    if key == "token" {
        return Err(Refused::Token);
    }
    let setting = Setting::ALL.into_iter().find(|s| s.key() == key).ok_or_else(|| Refused::Unknown(key.to_string()))?;
    let value = match item.as_value() {
        Some(Value::Boolean(flag)) if setting.is_flag() => flag.value().to_string(),
        Some(Value::String(text)) if !setting.is_flag() => text.value().clone(),
        Some(_) | None if setting.is_flag() => return Err(Refused::NotAFlag(setting)),
        Some(_) | None => return Err(Refused::NotAText(setting)),
    };
    let value = match path.parent() {
        Some(folder) if setting.is_path() && !value.is_empty() => folder.join(&value).display().to_string(),
        Some(_) | None => value,
    };
    context.settings.insert(setting, value);
    Ok(())
}

/// Why a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Refused {
    #[error("token_command must be a list of texts: a program and its arguments")]
    NotAList,
    #[error("a token is not stored in this file: set token_command to a program that prints it")]
    Token,
    #[error("unknown key {0}: known are {known}", known = Setting::ALL.map(Setting::key).join(", ") + ", token_command")]
    Unknown(String),
    #[error("{key} must be true or false", key = .0.key())]
    NotAFlag(Setting),
    #[error("{key} must be a text", key = .0.key())]
    NotAText(Setting),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ContextFile, String> {
        parse(text, Path::new("/home/ada/.config/encamp/config.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn contexts_are_read() {
        let file = read(
            "[contexts.prod]\naddress = \"https://prod:4646\"\nca_cert = \"prod.pem\"\ntls_skip_verify = false\n\
             token_command = [\"pass\", \"prod\"]\n\n[contexts]\ndev = { address = \"http://dev:4646\" }\n",
        )
        .expect("a file");
        assert_eq!(file.contexts.keys().collect::<Vec<_>>(), ["dev", "prod"]);
        let prod = &file.contexts["prod"];
        assert_eq!(prod.settings[&Setting::CaCert], "/home/ada/.config/encamp/prod.pem");
        assert_eq!((prod.settings[&Setting::TlsSkipVerify].as_str(), prod.token_command.len()), ("false", 2));
        assert_eq!(read("").expect("an empty file"), ContextFile::default());
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, want) in [
            ("[contexts.a]\naddres = \"x\"\n", ":2:10: unknown key addres: known are address, region"),
            ("[contexts.a]\naddress = 7\n", ":2:11: address must be a text"),
            ("[contexts.a]\ntls_skip_verify = \"yes\"\n", ":2:19: tls_skip_verify must be true or false"),
            ("[contexts.a]\ntoken = \"s3cret\"\n", ":2:9: a token is not stored in this file"),
            ("[contexts.a]\ntoken_command = \"pass\"\n", ":2:17: token_command must be a list"),
            ("contexts = 1\n", ":1:12: contexts must be a table"),
            ("current = \"a\"\n", ":1:11: unknown key current"),
            ("[contexts.a\n", ":1:12: "),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(want), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
