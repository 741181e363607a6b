//! Which rows are left out (`docs/spec/agent-config.md §5.13.2`).

use super::event::Stage;
use encamp_model::glob;

/// A rule: rows that fit in all three are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Paths; `*` stands for any text.
    pub endpoints: Vec<String>,
    /// Stages; empty for all.
    pub stages: Vec<Stage>,
    /// Methods in capital letters; empty for all.
    pub operations: Vec<String>,
}

impl Filter {
    fn leaves_out(&self, stage: Stage, path: &str, operation: &str) -> bool {
        (self.stages.is_empty() || self.stages.contains(&stage))
            && (self.operations.is_empty() || self.operations.iter().any(|o| o == operation))
            && self.endpoints.iter().any(|pattern| glob::matches(pattern, path))
    }
}

/// All rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters(pub Vec<Filter>);

impl Filters {
    /// Whether a row is written.
    pub fn keep(&self, stage: Stage, path: &str, operation: &str) -> bool {
        !self.0.iter().any(|filter| filter.leaves_out(stage, path, operation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_paths() {
        for (pattern, text, fits) in [
            ("/v1/metrics", "/v1/metrics", true),
            ("/v1/metrics", "/v1/metrics/x", false),
            ("*", "", true),
            ("*", "/v1/jobs", true),
            ("/v1/job/*", "/v1/job/a/b", true),
            ("/v1/job/*", "/v1/jobs", false),
            ("/v1/job/*/plan", "/v1/job/a/b/plan", true),
            ("/v1/job/*/plan", "/v1/job/plan", false),
            ("*/x*y/*", "a/xby/c", true),
            ("*/x*y/*", "a/xb/c", false),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("", "", true),
            ("", "/", false),
            ("**", "x", true),
        ] {
            assert_eq!(glob::matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn rows_that_fit_in_everything_are_left_out() {
        let filters = Filters(vec![
            Filter { endpoints: vec!["/v1/metrics".into(), "/v1/agent/health".into()], ..Filter::default() },
            Filter {
                endpoints: vec!["*".into()],
                stages: vec![Stage::OperationReceived],
                operations: vec!["GET".into()],
            },
        ]);
        use Stage::{OperationComplete, OperationReceived};
        for (stage, path, operation, kept) in [
            (OperationReceived, "/v1/metrics", "GET", false),
            (OperationComplete, "/v1/metrics", "PUT", false),
            (OperationReceived, "/v1/jobs", "GET", false),
            (OperationComplete, "/v1/jobs", "GET", true),
            (OperationReceived, "/v1/jobs", "PUT", true),
        ] {
            assert_eq!(filters.keep(stage, path, operation), kept, "{stage:?} {path} {operation}");
        }
        assert!(Filters::default().keep(OperationReceived, "/v1/jobs", "GET"));
        let nothing = Filters(vec![Filter::default()]);
        assert!(nothing.keep(OperationReceived, "/v1/jobs", "GET"), "a rule without endpoints leaves out nothing");
    }
}
