//! The block `audit` (`docs/spec/agent-config.md §5.13`): the audit log. Words are checked while the block is read, so
//! that errors have a place.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use encamp_audit::{FileSettings, Filter, Filters, Guarantee, SinkSettings, Stage};
use encamp_model::quoted;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value as Json;

use super::error::InvalidAudit;
use super::kinds::{Count, Labelled, Limit, OpenSwitch, Setting, Shown, Size, blocks, minutes, named};

blocks! {
    /// The audit log.
    Audit from AuditFile {
        /// None counts as no.
        enabled "Enabled": OpenSwitch = None,
        /// Where rows are written; none for one with all defaults.
        sink "Sinks": Labelled<SinkFile> = Default::default(),
        /// What is left out.
        filter "Filters": Labelled<FilterFile> = Default::default(),
    }

    /// A file that rows are written to.
    Sink from SinkFile {
        r#type "Type": Word<SinkType> = SinkType,
        delivery_guarantee "DeliveryGuarantee": Word<Guaranteed> = Guaranteed(Guarantee::Enforced),
        format "Format": Word<Format> = Format,
        /// Default: `audit/audit.log` in the data directory.
        path "Path": Word<LogPath> = LogPath::default(),
        /// 0 for no limit.
        rotate_bytes "RotateBytes": Size = 0,
        /// 0 for no limit.
        rotate_duration "RotateDuration": Limit = minutes(24 * 60),
        /// 0 to keep all.
        rotate_max_files "RotateMaxFiles": Count = 0,
        mode "Mode": Word<Mode> = Mode(0o600),
    }

    /// Rows that are left out.
    Exclusion from FilterFile {
        r#type "Type": Word<FilterType> = FilterType,
        /// Required.
        endpoints "Endpoints": Words<Endpoint> = Vec::new(),
        /// Required; `*` for all.
        stages "Stages": Words<StageWord> = Vec::new(),
        /// Required; `*` for all.
        operations "Operations": Words<Operation> = Vec::new(),
    }
}

/// The value of a key that only some texts are allowed for.
pub trait Allowed: Sized {
    /// The value of a text.
    ///
    /// # Errors
    /// The rule that the text breaks.
    fn of(text: &str) -> Result<Self, Rule>;
}

/// What a text of the block `audit` has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// `type` of a sink.
    #[error("the type of a sink must be file")]
    SinkType,
    /// `format` of a sink.
    #[error("format must be json")]
    Format,
    /// `type` of a filter.
    #[error("the type of a filter must be HTTPEvent")]
    FilterType,
    /// `delivery_guarantee` of a sink.
    #[error("delivery_guarantee must be enforced or best-effort")]
    Guarantee,
    /// `path` of a sink.
    #[error("path must be the absolute path of a file")]
    Path,
    /// `mode` of a sink.
    #[error("mode must be octal digits from 0600 to 0660, without rights for others")]
    Mode,
    /// `endpoints` of a filter.
    #[error("an endpoint must start with / or *")]
    Endpoint,
    /// `stages` of a filter.
    #[error("a stage must be OperationReceived, OperationComplete or *")]
    Stage,
    /// `operations` of a filter.
    #[error("an operation must be a method of HTTP or *")]
    Operation,
}

/// A text that is checked while it is read; the last source decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Word<T>(pub Option<T>);

impl<T> Default for Word<T> {
    fn default() -> Self {
        Word(None)
    }
}

/// The value of a text.
struct Checked<T>(T);

impl<'de, T: Allowed> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        T::of(&text).map(Checked).map_err(|rule| de::Error::custom(format!("audit: {rule}, not {}", quoted(&text))))
    }
}

impl<'de, T: Allowed> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Checked::deserialize(d).map(|Checked(value)| Word(Some(value)))
    }
}

impl<T> Setting for Word<T> {
    type Value = T;

    fn merge(&mut self, later: Self) {
        if later.0.is_some() {
            *self = later;
        }
    }

    fn resolve(self, default: impl FnOnce() -> T) -> T {
        self.0.unwrap_or_else(default)
    }
}

/// A list of texts that are checked while they are read; a later one replaces it.
#[derive(Debug, Clone, PartialEq)]
pub struct Words<T>(pub Option<Vec<T>>);

impl<T> Default for Words<T> {
    fn default() -> Self {
        Words(None)
    }
}

impl<'de, T: Allowed> Deserialize<'de> for Words<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let list = Vec::<Checked<T>>::deserialize(d)?;
        Ok(Words(Some(list.into_iter().map(|Checked(value)| value).collect())))
    }
}

impl<T> Setting for Words<T> {
    type Value = Vec<T>;

    fn merge(&mut self, later: Self) {
        if later.0.is_some() {
            *self = later;
        }
    }

    fn resolve(self, default: impl FnOnce() -> Vec<T>) -> Vec<T> {
        self.0.unwrap_or_else(default)
    }
}

/// `file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkType;

/// `json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format;

/// `HTTPEvent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterType;

/// `enforced` or `best-effort`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guaranteed(pub Guarantee);

/// An absolute path; empty for the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPath(pub PathBuf);

/// Permissions in octal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode(pub u32);

/// A path of the HTTP API, in which `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(pub String);

/// A stage; none for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageWord(pub Option<Stage>);

/// A method in capital letters; none for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation(pub Option<String>);

impl Allowed for SinkType {
    fn of(text: &str) -> Result<Self, Rule> {
        if text == "file" { Ok(SinkType) } else { Err(Rule::SinkType) }
    }
}

impl Allowed for Format {
    fn of(text: &str) -> Result<Self, Rule> {
        if text == "json" { Ok(Format) } else { Err(Rule::Format) }
    }
}

impl Allowed for FilterType {
    fn of(text: &str) -> Result<Self, Rule> {
        if text == "HTTPEvent" { Ok(FilterType) } else { Err(Rule::FilterType) }
    }
}

impl Allowed for Guaranteed {
    fn of(text: &str) -> Result<Self, Rule> {
        let guarantee = Guarantee::parse(text).map(Guaranteed);
        guarantee.ok_or(Rule::Guarantee)
    }
}

impl Allowed for LogPath {
    fn of(text: &str) -> Result<Self, Rule> {
        let path = Path::new(text);
        let is_file = path.is_absolute() && !text.ends_with('/') && path.file_name().is_some();
        if is_file { Ok(LogPath(path.into())) } else { Err(Rule::Path) }
    }
}

impl Allowed for Mode {
    fn of(text: &str) -> Result<Self, Rule> {
        // The agent itself has to write the file; nobody but owner and group should read it.
        let mode = u32::from_str_radix(text, 8).ok().filter(|m| *m <= 0o770 && m & 0o600 == 0o600 && m & 0o007 == 0);
        mode.map(Mode).ok_or(Rule::Mode)
    }
}

impl Allowed for Endpoint {
    fn of(text: &str) -> Result<Self, Rule> {
        let is_pattern = text.starts_with(['/', '*']);
        if is_pattern { Ok(Endpoint(text.into())) } else { Err(Rule::Endpoint) }
    }
}

impl Allowed for StageWord {
    fn of(text: &str) -> Result<Self, Rule> {
        let stage = Stage::ALL.into_iter().find(|s| s.name() == text);
        match (text, stage) {
            ("*", _) => Ok(StageWord(None)),
            (_, Some(stage)) => Ok(StageWord(Some(stage))),
            (_, None) => Err(Rule::Stage),
        }
    }
}

impl Allowed for Operation {
    fn of(text: &str) -> Result<Self, Rule> {
        let method = text.to_uppercase();
        match method.as_str() {
            "*" => Ok(Operation(None)),
            "GET" | "HEAD" | "PUT" | "POST" | "DELETE" | "OPTIONS" | "PATCH" => Ok(Operation(Some(method))),
            _ => Err(Rule::Operation),
        }
    }
}

macro_rules! shown_as_text {
    ($($ty:ident: $text:expr;)*) => { $(
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text: fn(&$ty) -> String = $text;
                f.write_str(&text(self))
            }
        }

        impl Shown for $ty {
            fn json(&self) -> Json {
                self.to_string().into()
            }
        }
    )* };
}

shown_as_text! {
    SinkType: |_| "file".into();
    Format: |_| "json".into();
    FilterType: |_| "HTTPEvent".into();
    Guaranteed: |g| match g.0 {
        Guarantee::Enforced => "enforced".into(),
        Guarantee::BestEffort => "best-effort".into(),
    };
    LogPath: |p| p.0.display().to_string();
    Mode: |m| format!("{:04o}", m.0);
    Endpoint: |e| e.0.clone();
    StageWord: |s| s.0.map_or("*", Stage::name).into();
    Operation: |o| o.0.clone().unwrap_or_else(|| "*".into());
}

impl Audit {
    /// As `agent/self` shows it.
    pub(super) fn shown(&self) -> Json {
        let all = |blocks: Json| if blocks.as_array().is_some_and(Vec::is_empty) { Json::Null } else { blocks };
        serde_json::json!({
            "Enabled": self.enabled, "Sinks": all(named(&self.sink)), "Filters": all(named(&self.filter)),
        })
    }

    /// Validates the block.
    ///
    /// # Errors
    /// The first problem, with its block. `has_data_dir`: whether there is a data directory for sinks without a path.
    pub fn check(&self, has_data_dir: bool) -> Result<(), InvalidAudit> {
        if !self.is_enabled() {
            return Ok(());
        }
        let mut paths: BTreeMap<&Path, &str> = BTreeMap::new();
        let no_path = |name: &str| InvalidAudit::NoPath(name.into());
        if self.sink.is_empty() && !has_data_dir {
            return Err(no_path("file"));
        }
        for (name, sink) in &self.sink {
            if sink.path.0.as_os_str().is_empty() && !has_data_dir {
                return Err(no_path(name));
            }
            if sink.rotate_max_files < 0 {
                return Err(InvalidAudit::MaxFiles { sink: name.clone(), number: sink.rotate_max_files });
            }
            if let Some(other) = paths.insert(&sink.path.0, name) {
                return Err(InvalidAudit::SamePath { one: other.into(), other: name.clone() });
            }
        }
        for (name, filter) in &self.filter {
            let lists = [
                ("endpoints", filter.endpoints.is_empty()),
                ("stages", filter.stages.is_empty()),
                ("operations", filter.operations.is_empty()),
            ];
            if let Some((key, _)) = lists.into_iter().find(|(_, is_empty)| *is_empty) {
                return Err(InvalidAudit::EmptyFilter { filter: name.clone(), key });
            }
        }
        Ok(())
    }

    /// Whether there is an audit log.
    pub fn is_enabled(&self) -> bool {
        self.enabled == Some(true)
    }

    /// The sinks. `folder` is that of sinks without a path.
    pub fn sinks(&self, folder: &Path) -> Vec<SinkSettings> {
        let sink = |(name, s): (&String, &Sink)| {
            let path = if s.path.0.as_os_str().is_empty() { folder.join("audit.log") } else { s.path.0.clone() };
            let file = FileSettings {
                path,
                rotate_bytes: s.rotate_bytes,
                rotate_duration: s.rotate_duration,
                rotate_max_files: usize::try_from(s.rotate_max_files).unwrap_or(0),
                mode: s.mode.0,
            };
            SinkSettings { name: name.clone(), guarantee: s.delivery_guarantee.0, file }
        };
        let standard = (self.sink.is_empty()).then(|| sink((&"file".to_string(), &Sink::default())));
        self.sink.iter().map(sink).chain(standard).collect()
    }

    /// What is left out.
    pub fn filters(&self) -> Filters {
        let filter = |f: &Exclusion| Filter {
            endpoints: f.endpoints.iter().map(|e| e.0.clone()).collect(),
            stages: f.stages.iter().map(|s| s.0).collect::<Option<_>>().unwrap_or_default(),
            operations: f.operations.iter().map(|o| o.0.clone()).collect::<Option<_>>().unwrap_or_default(),
        };
        Filters(self.filter.values().map(filter).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::{first_error, merged, refused};
    use super::*;

    const SERVER: &str = "data_dir = \"/x\"\nserver {\n enabled = true\n bootstrap_expect = 3\n}\n";

    #[test]
    fn the_block_of_nomad_enterprise_is_understood() {
        let c = merged(&[
            SERVER,
            r#"audit {
  enabled = true
  sink "audit" {
    type               = "file"
    delivery_guarantee = "best-effort"
    format             = "json"
    path               = "/var/log/audit.json"
    rotate_bytes       = 1000
    rotate_duration    = "1h"
    rotate_max_files   = 10
    mode               = "0640"
  }
  filter "default" {
    type       = "HTTPEvent"
    endpoints  = ["/v1/metrics", "/v1/evaluation/*/allocations"]
    stages     = ["*"]
    operations = ["get"]
  }
}"#,
            "audit {\n sink \"audit\" {\n rotate_bytes = \"1MiB\"\n }\n}",
        ]);
        assert_eq!(first_error(&c), None);
        let file = FileSettings {
            path: "/var/log/audit.json".into(),
            rotate_bytes: 1 << 20,
            rotate_duration: Duration::from_secs(3600),
            rotate_max_files: 10,
            mode: 0o640,
        };
        let want = SinkSettings { name: "audit".into(), guarantee: Guarantee::BestEffort, file };
        assert_eq!(c.audit.sinks(Path::new("/x/audit")), [want]);
        let filters = c.audit.filters();
        assert!(!filters.keep(Stage::OperationReceived, "/v1/evaluation/a/allocations", "GET"));
        assert!(filters.keep(Stage::OperationReceived, "/v1/metrics", "PUT"));
        let shown = c.json();
        assert_eq!(shown["Audit"]["Sinks"][0]["Mode"], "0640");
        assert_eq!(shown["Audit"]["Filters"][0]["Operations"][0], "GET");
    }

    #[test]
    fn without_sinks_there_is_one_in_the_data_directory() {
        let c = merged(&[SERVER, "audit {\n enabled = true\n}"]);
        let sinks = c.audit.sinks(Path::new("/x/audit"));
        assert_eq!((sinks.len(), sinks[0].guarantee), (1, Guarantee::Enforced));
        assert_eq!((sinks[0].file.path.to_str(), sinks[0].file.mode), (Some("/x/audit/audit.log"), 0o600));
        assert!(!merged(&[SERVER]).audit.is_enabled());
        let nothing = serde_json::json!({ "Enabled": null, "Sinks": null, "Filters": null });
        assert_eq!(merged(&[SERVER]).json()["Audit"], nothing);
    }

    #[test]
    fn wrong_words_have_a_place() {
        let sink = |line: &str| refused(&format!("audit {{\n sink \"x\" {{\n  {line}\n }}\n}}"));
        let filter = |line: &str| refused(&format!("audit {{\n filter \"x\" {{\n  {line}\n }}\n}}"));
        for (error, want) in [
            (sink("type = \"syslog\""), "audit: the type of a sink must be file, not \"syslog\" (at a.hcl:3:3)"),
            (sink("format = \"log\""), "audit: format must be json, not \"log\" (at a.hcl:3:3)"),
            (
                sink("delivery_guarantee = \"maybe\""),
                "audit: delivery_guarantee must be enforced or best-effort, not \"maybe\" (at a.hcl:3:3)",
            ),
            (
                sink("path = \"audit.log\""),
                "audit: path must be the absolute path of a file, not \"audit.log\" (at a.hcl:3:3)",
            ),
            (sink("path = \"/var/\""), "audit: path must be the absolute path of a file, not \"/var/\" (at a.hcl:3:3)"),
            (
                sink("mode = \"0644\""),
                "audit: mode must be octal digits from 0600 to 0660, without rights for others, not \"0644\" (at a.hcl:3:3)",
            ),
            (
                sink("rotate_bytes = \"many\""),
                "audit.sink.x.rotate_bytes: \"many\" is not a size such as 512, 100MB or 1GiB (at a.hcl:3:18)",
            ),
            (
                sink("rotate_max_files = []"),
                "audit.sink.x.rotate_max_files: expected an integer, found a list (at a.hcl:3:22)",
            ),
            (sink("paht = \"/x\""), "audit.sink.x unexpected keys paht (at a.hcl:3:3)"),
            (filter("type = \"X\""), "audit: the type of a filter must be HTTPEvent, not \"X\" (at a.hcl:3:3)"),
            (
                filter("stages = [\"*\", \"Late\"]"),
                "audit: a stage must be OperationReceived, OperationComplete or *, not \"Late\" (at a.hcl:3:18)",
            ),
            (
                filter("operations = [\"LOOK\"]"),
                "audit: an operation must be a method of HTTP or *, not \"LOOK\" (at a.hcl:3:17)",
            ),
            (filter("endpoints = [\"v1\"]"), "audit: an endpoint must start with / or *, not \"v1\" (at a.hcl:3:16)"),
            (
                refused("audit {\n enabled = \"maybe\"\n}"),
                "audit.enabled: decodeBool: Unknown value for boolean: \"maybe\" (at a.hcl:2:12)",
            ),
        ] {
            assert_eq!(error, want);
        }
    }

    #[test]
    fn a_block_that_makes_no_sense_is_refused() {
        let audit = |text: &str| first_error(&merged(&[SERVER, &format!("audit {{\n enabled = true\n{text}\n}}")]));
        for (text, want) in [
            ("filter \"f\" {\n stages = [\"*\"]\n operations = [\"*\"]\n}", "filter \"f\": endpoints is missing"),
            ("filter \"f\" {\n endpoints = [\"*\"]\n operations = [\"*\"]\n}", "filter \"f\": stages is missing"),
            ("sink \"a\" {\n}\nsink \"b\" {\n}", "sinks \"a\" and \"b\" have the same path"),
            ("sink \"a\" {\n rotate_max_files = -1\n}", "sink \"a\": rotate_max_files must be >= 0 but found -1"),
        ] {
            assert_eq!(audit(text), Some(format!("audit block invalid: {want}")), "{text}");
        }
        assert_eq!(
            Audit { enabled: Some(true), ..Audit::default() }.check(false),
            Err(InvalidAudit::NoPath("file".into()))
        );
    }
}
