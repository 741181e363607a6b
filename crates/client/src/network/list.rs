//! Lists of network plugins, as the CNI specification defines them, and the directory of those that an operator wrote
//! (`docs/spec/client.md §15.3`).

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The maximum number of bytes of a file.
const MOST_BYTES: u64 = 1 << 20;
/// The maximum number of files that are read of a directory.
const MOST_FILES: usize = 256;
/// The maximum number of plugins of a list.
const MOST_PLUGINS: usize = 32;
/// The maximum number of bytes of names of networks and plugins.
const LONGEST_NAME: usize = 128;

/// The versions of the CNI specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum CniVersion {
    /// What a list has that does not say one.
    #[default]
    #[serde(rename = "0.1.0", alias = "")]
    V0_1_0,
    #[serde(rename = "0.2.0")]
    V0_2_0,
    #[serde(rename = "0.3.0")]
    V0_3_0,
    #[serde(rename = "0.3.1")]
    V0_3_1,
    /// The first one with the operation `CHECK`.
    #[serde(rename = "0.4.0")]
    V0_4_0,
    #[serde(rename = "1.0.0")]
    V1_0_0,
    #[serde(rename = "1.1.0")]
    V1_1_0,
}

/// The plugins that attach a namespace to a network, in their order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkList {
    /// The version of the specification.
    #[serde(default)]
    pub cni_version: CniVersion,
    /// The name of the network.
    #[serde(deserialize_with = "network_name")]
    pub name: String,
    /// `CHECK` must not be called.
    #[serde(default, deserialize_with = "flag")]
    pub disable_check: bool,
    /// The plugins.
    #[serde(deserialize_with = "plugins")]
    pub plugins: Vec<PluginConfig>,
}

/// The configuration of a plugin in a list: an object with a `type`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct PluginConfig(pub Map<String, Value>);

impl PluginConfig {
    /// The name of the program.
    pub(crate) fn program(&self) -> &str {
        self.0.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the plugin can use a kind of settings that are known at run time.
    pub(crate) fn is_capable(&self, capability: &str) -> bool {
        self.0.get("capabilities").and_then(|c| c.get(capability)) == Some(&Value::Bool(true))
    }
}

/// A list cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// A file cannot be read.
    #[error("error reading {}: {source}", path.display())]
    Read {
        /// The file, or the directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file is too large.
    #[error("{}: the file is larger than {MOST_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// A file is not such a list.
    #[error("{}:{line}:{column}: {why}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line of the mistake.
        line: usize,
        /// Its column.
        column: usize,
        /// The mistake.
        why: String,
    },
    /// No file has a network of that name.
    #[error("no network {name:?} in {}{}", dir.display(), unusable(invalid))]
    Unknown {
        /// The name.
        name: String,
        /// The directory.
        dir: PathBuf,
        /// Why files were skipped: one of them may be the wanted one.
        invalid: Vec<ListError>,
    },
}

/// The first files that were skipped, as the end of a message.
fn unusable(invalid: &[ListError]) -> String {
    let shown: String = invalid.iter().take(3).map(|e| format!("; {e}")).collect();
    let rest = invalid.len().saturating_sub(3);
    if rest == 0 { shown } else { format!("{shown}; {rest} more files can't be used") }
}

/// The networks of a directory, in the order of the file names, and why files were skipped. Of networks with the same
/// name, the first one counts.
pub(crate) fn read_dir(dir: &Path) -> (Vec<NetworkList>, Vec<ListError>) {
    let (mut lists, mut invalid): (Vec<NetworkList>, Vec<ListError>) = (Vec::new(), Vec::new());
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return (lists, invalid),
        Err(source) => return (lists, vec![ListError::Read { path: dir.into(), source }]),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| Form::of(p).is_some()).collect();
    paths.sort();
    for path in paths.iter().take(MOST_FILES) {
        match read_file(path) {
            Ok(list) if lists.iter().any(|l| l.name == list.name) => {}
            Ok(list) => lists.push(list),
            Err(error) => invalid.push(error),
        }
    }
    (lists, invalid)
}

/// The network of that name in a directory.
pub(crate) fn find(dir: &Path, name: &str) -> Result<NetworkList, ListError> {
    let (lists, invalid) = read_dir(dir);
    let unknown = || ListError::Unknown { name: name.into(), dir: dir.into(), invalid };
    lists.into_iter().find(|l| l.name == name).ok_or_else(unknown)
}

/// What a file contains.
enum Form {
    /// A list.
    List,
    /// One plugin, or a list.
    Plugin,
}

impl Form {
    /// By the end of its name; `None`: it is no file of a network.
    fn of(path: &Path) -> Option<Form> {
        match path.extension()?.to_str()? {
            "conflist" => Some(Form::List),
            "conf" | "json" => Some(Form::Plugin),
            _ => None,
        }
    }
}

/// Reads a file.
fn read_file(path: &Path) -> Result<NetworkList, ListError> {
    let fail = |source| ListError::Read { path: path.into(), source };
    let mut text = Vec::new();
    let file = File::open(path).map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
    }
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(fail)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(ListError::TooLarge(path.into()));
    }
    parse(path, &text)
}

/// Parses the content of a file.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<NetworkList, ListError> {
    let invalid = |e: serde_json::Error| {
        let (line, column, shown) = (e.line(), e.column(), e.to_string());
        let why = shown.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&shown).to_string();
        ListError::Invalid { path: path.into(), line, column, why }
    };
    let list = |text: &[u8]| serde_json::from_slice::<NetworkList>(text).map_err(invalid);
    if matches!(Form::of(path), Some(Form::List) | None) {
        return list(text);
    }
    // A file of one plugin that contains a list is read as what it contains.
    #[derive(Deserialize)]
    struct Either {
        #[serde(default)]
        plugins: Option<serde::de::IgnoredAny>,
    }
    if serde_json::from_slice::<Either>(text).map_err(invalid)?.plugins.is_some() {
        return list(text);
    }
    let plugin: PluginConfig = serde_json::from_slice(text).map_err(invalid)?;
    let single: Single = serde_json::from_slice(text).map_err(invalid)?;
    Ok(NetworkList { cni_version: single.cni_version, name: single.name, disable_check: false, plugins: vec![plugin] })
}

/// What a file of one plugin says of the network.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Single {
    #[serde(default)]
    cni_version: CniVersion,
    #[serde(deserialize_with = "network_name")]
    name: String,
}

/// A text that is a name: letters, digits, `_`, `.` and `-`, the first one a letter or a digit.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// A text of a file in an error.
fn shown(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

fn network_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if !is_name(&name) {
        return Err(D::Error::custom(format_args!("{:?} is not a name of a network", shown(&name))));
    }
    Ok(name)
}

/// A switch; older lists have the words.
fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Switch(bool),
        Word(String),
    }
    match Flag::deserialize(from).map_err(|_| D::Error::custom("\"disableCheck\" must be true or false"))? {
        Flag::Switch(on) => Ok(on),
        Flag::Word(word) if word == "true" => Ok(true),
        Flag::Word(word) if word == "false" || word.is_empty() => Ok(false),
        Flag::Word(word) => Err(D::Error::custom(format_args!("{:?} is not true or false", shown(&word)))),
    }
}

fn plugins<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PluginConfig>, D::Error> {
    let plugins = Vec::<PluginConfig>::deserialize(from)?;
    match plugins.len() {
        0 => Err(D::Error::custom("a list needs at least one plugin")),
        n if n > MOST_PLUGINS => Err(D::Error::custom(format_args!("a list may have {MOST_PLUGINS} plugins at most"))),
        _ => Ok(plugins),
    }
}

impl<'de> Deserialize<'de> for PluginConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PluginConfig, D::Error> {
        from.deserialize_map(PluginVisitor)
    }
}

/// Reads the object of a plugin. Mistakes are found where they are, so that errors have the line.
struct PluginVisitor;

impl<'de> Visitor<'de> for PluginVisitor {
    type Value = PluginConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object of a network plugin")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PluginConfig, A::Error> {
        let mut out = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value: Value = map.next_value()?;
            match key.as_str() {
                "type" => match value.as_str() {
                    Some(name) if is_name(name) => {}
                    _ => return Err(A::Error::custom("\"type\" must be the name of a plugin")),
                },
                "capabilities" => {
                    let switches = value.as_object().is_some_and(|c| c.values().all(Value::is_boolean));
                    if !switches && !value.is_null() {
                        return Err(A::Error::custom("\"capabilities\" must be an object of true and false"));
                    }
                }
                _ => {}
            }
            out.insert(key, value);
        }
        if !out.contains_key("type") {
            return Err(A::Error::missing_field("type"));
        }
        Ok(PluginConfig(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn read(name: &str, text: &str) -> Result<NetworkList, String> {
        parse(Path::new(name), text.as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn lists_and_single_plugins() {
        let list = r#"{"cniVersion": "1.0.0", "name": "a", "disableCheck": "true", "plugins": [
            {"type": "bridge", "x": [1, {"y": null}]}, {"type": "portmap", "capabilities": {"portMappings": true}}]}"#;
        for file in ["a.conflist", "a.json", "a.conf"] {
            let got = read(file, list).unwrap();
            assert_eq!((got.name.as_str(), got.cni_version, got.disable_check), ("a", CniVersion::V1_0_0, true));
            assert_eq!(got.plugins.iter().map(PluginConfig::program).collect::<Vec<_>>(), ["bridge", "portmap"]);
            assert!(got.plugins[1].is_capable("portMappings") && !got.plugins[0].is_capable("portMappings"));
            let stored: NetworkList = serde_json::from_str(&serde_json::to_string(&got).unwrap()).unwrap();
            assert_eq!(stored, got);
        }
        let got = read("b.conf", r#"{"name": "b", "type": "ptp"}"#).unwrap();
        assert_eq!((got.name.as_str(), got.cni_version, got.plugins.len()), ("b", CniVersion::V0_1_0, 1));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let many = format!("{{\"name\":\"a\",\n\"plugins\":[{}]}}", vec!["{\"type\":\"x\"}"; 33].join(","));
        let deep = format!("{{\"name\":\"a\",\"plugins\":[{{\"type\":\"x\",\"a\":{}", "[".repeat(100_000));
        for (file, text, want) in [
            ("a.conflist", "{\n \"name\": \"a\",\n \"plugins\": [\n  {\"typ\": \"x\"}\n ]\n}", "a.conflist:4:"),
            ("a.conflist", "{\"name\": \"a\"}", "missing field `plugins`"),
            ("a.conflist", "{\"plugins\": [{\"type\": \"x\"}]}", "missing field `name`"),
            ("a.conflist", "{\"name\": \"a\",\n \"plugins\": []}", "a.conflist:2:15: a list needs at least one plugin"),
            ("a.conflist", "{\n\"name\": \"../a\", \"plugins\": [{\"type\": \"x\"}]}", "a.conflist:2:"),
            ("a.conflist", "{\"name\": \"a\", \"plugins\": [{\"type\": \"../sh\"}]}", "\"type\" must be the name"),
            ("a.conflist", "{\"name\": \"a\", \"plugins\": [{\"type\": 7}]}", "\"type\" must be the name"),
            ("a.conflist", "{\"name\": \"a\",\n\"cniVersion\": \"9.0\", \"plugins\": []}", "a.conflist:2:"),
            ("a.conf", "{\"name\": \"a\",\n\"type\": \"x\", \"capabilities\": {\"a\": 1}}", "a.conf:2:"),
            ("a.conf", "{\"type\": \"x\"}", "missing field `name`"),
            ("a.json", "{\"name\": \"a\",\n,}", "a.json:2:1:"),
            ("a.json", "[]", "a.json:1:"),
            ("a.json", "", "a.json:1:0: EOF"),
            ("a.conflist", &many, "32 plugins at most"),
            ("a.conflist", &deep, "recursion limit"),
        ] {
            let error = read(file, text).unwrap_err();
            assert!(error.contains(want) && error.starts_with("a."), "{error}\nwanted: {want}");
        }
    }

    #[test]
    fn a_directory_has_the_networks_of_its_files() {
        let dir = TempDir::new("cni-lists");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("10-a.conflist", r#"{"name": "a", "plugins": [{"type": "x"}]}"#);
        write("20-a.conf", r#"{"name": "a", "type": "y"}"#);
        write("30-b.json", r#"{"name": "b", "type": "y"}"#);
        write("40-broken.conf", "{\n");
        write("notes.txt", "x");
        write("50-large.conf", &" ".repeat((1 << 20) + 1));
        std::fs::create_dir(dir.path().join("60-dir.conf")).unwrap();
        let (lists, invalid) = read_dir(dir.path());
        assert_eq!(lists.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((lists[0].plugins[0].program(), invalid.len()), ("x", 3), "{invalid:?}");
        let error = find(dir.path(), "c").unwrap_err().to_string();
        assert!(error.contains("no network \"c\"") && error.contains("40-broken.conf:2:0: EOF"), "{error}");
        assert_eq!(find(dir.path(), "b").unwrap().plugins[0].program(), "y");
        assert!(read_dir(&dir.path().join("none")).0.is_empty());
    }
}
