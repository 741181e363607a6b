//! What the operator of an agent chooses about its pages (`docs/spec/agent-config.md §5.10`): a label of the cluster, and
//! other sources of content than the agent itself.

use axum::http::HeaderValue;

use crate::security;

/// The address of the style sheet with the colours of the label.
pub(crate) const LABEL_STYLE: &str = "/ui/label.css";
/// The longest colour of a label.
const MAX_COLOUR: usize = 64;

/// A label and a content security policy.
#[derive(Debug, Clone, Default)]
pub struct Appearance {
    /// The label that every page shows.
    pub label: Option<Label>,
    /// The policy of all responses, if it is not that of encamp.
    policy: Option<HeaderValue>,
}

/// A label of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// Its text.
    pub text: String,
    /// The colour behind it, as CSS writes colours; empty for none.
    pub background: String,
    /// The colour of the text.
    pub colour: String,
}

/// A source of a content security policy that cannot stand in one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no source of a content security policy")]
pub struct NoSource(pub String);

impl Appearance {
    /// A label, and directives of the content security policy that replace those of encamp: names with their sources.
    ///
    /// # Errors
    /// A source has characters that end it.
    pub fn new(label: Option<Label>, directives: &[(&str, &[String])]) -> Result<Appearance, NoSource> {
        let is_one = |s: &&String| !s.is_empty() && s.bytes().all(|b| b.is_ascii_graphic() && !b";,".contains(&b));
        if let Some(bad) = directives.iter().flat_map(|(_, sources)| *sources).find(|s| !is_one(s)) {
            return Err(NoSource(bad.clone()));
        }
        let policy = (!directives.is_empty()).then(|| HeaderValue::from_str(&security::policy(directives)).ok());
        Ok(Appearance { label: label.filter(|l| !l.text.is_empty()), policy: policy.flatten() })
    }

    /// The policy of all responses, if it is not that of encamp.
    pub(crate) fn policy(&self) -> Option<&HeaderValue> {
        self.policy.as_ref()
    }
}

impl Label {
    /// The style sheet with its colours. Texts that can be no colour are left out.
    pub(crate) fn style(&self) -> String {
        let is_colour = |c: &str| {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b"#(),.% -/".contains(&b);
            !c.is_empty() && c.len() <= MAX_COLOUR && c.bytes().all(fits)
        };
        let rule = |name: &str, c: &str| if is_colour(c) { format!("{name}:{c};") } else { String::new() };
        format!(".label{{{}{}}}\n", rule("background-color", &self.background), rule("color", &self.colour))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_replace_ours_and_others_stay() {
        let sources = ["'self'".to_string(), "https://metrics.example".to_string()];
        let given = Appearance::new(None, &[("connect-src", &sources)]).expect("sources");
        let policy = given.policy().and_then(|p| p.to_str().ok()).expect("a policy");
        assert!(policy.contains("connect-src 'self' https://metrics.example;"), "{policy}");
        assert!(policy.contains("script-src 'self';") && policy.contains("base-uri 'none'"), "{policy}");
        assert!(Appearance::new(None, &[]).expect("none").policy().is_none());
        for bad in ["a; script-src *", "a,b", "", "a b", "é"] {
            assert_eq!(Appearance::new(None, &[("img-src", &[bad.to_string()])]).err(), Some(NoSource(bad.into())));
        }
    }

    #[test]
    fn colours_cannot_leave_their_rule() {
        let label =
            |background: &str| Label { text: "x".into(), background: background.into(), colour: "white".into() };
        assert_eq!(label("rgb(1, 2, 3)").style(), ".label{background-color:rgb(1, 2, 3);color:white;}\n");
        assert_eq!(label("red;}body{display:none").style(), ".label{color:white;}\n");
    }
}
