//! How long changes are collected before a template is rendered again (`wait` of the template, or of the agent's
//! configuration).

use std::time::{Duration, Instant};

use crate::config::TemplateConfig;
use encamp_model::{WaitConfig, duration};

/// The shortest and the longest time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub min: Duration,
    pub max: Duration,
}

impl Wait {
    /// What a template asks for, within the bounds of the configuration.
    pub(crate) fn of(asked: Option<&WaitConfig>, config: &TemplateConfig) -> Wait {
        let span = |nanos: Option<i64>, default: Duration| nanos.map_or(default, duration::of_nanos);
        let (mut min, mut max) = match asked {
            Some(asked) => (span(asked.min, config.wait.0), span(asked.max, config.wait.1)),
            None => config.wait,
        };
        if let Some((least, most)) = config.wait_bounds {
            min = min.max(least);
            if most > Duration::ZERO {
                (min, max) = (min.min(most), max.min(most));
            }
        }
        Wait { min, max: max.max(min) }
    }
}

/// When a template is to be rendered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Due {
    first: Option<Instant>,
    at: Option<Instant>,
}

impl Due {
    /// Something changed.
    pub(crate) fn changed(&mut self, wait: Wait, now: Instant) {
        let first = *self.first.get_or_insert(now);
        self.at = Some((now + wait.min).min(first + wait.max));
    }

    /// When it is to be rendered, if it is.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Whether it is to be rendered now; then it is so no more.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let due = self.at.is_some_and(|at| at <= now);
        if due {
            *self = Due::default();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_collected() {
        let wait = Wait { min: Duration::from_secs(5), max: Duration::from_secs(8) };
        let start = Instant::now();
        let after = |s: u64| start + Duration::from_secs(s);
        let mut due = Due::default();
        assert!(!due.take(after(100)));
        due.changed(wait, start);
        assert!(!due.take(after(4)));
        due.changed(wait, after(4));
        assert_eq!(due.at(), Some(after(8)), "the longest time counts from the first change");
        assert!(due.take(after(8)) && !due.take(after(9)));
    }

    #[test]
    fn jobs_stay_within_the_bounds() {
        let mut config = TemplateConfig::default();
        assert_eq!(Wait::of(None, &config), Wait { min: Duration::from_secs(5), max: Duration::from_secs(240) });
        let asked = WaitConfig { min: Some(0), max: Some(3_600_000_000_000) };
        assert_eq!(Wait::of(Some(&asked), &config), Wait { min: Duration::ZERO, max: Duration::from_secs(3600) });
        config.wait_bounds = Some((Duration::from_secs(2), Duration::from_secs(60)));
        let bounded = Wait { min: Duration::from_secs(2), max: Duration::from_secs(60) };
        assert_eq!(Wait::of(Some(&asked), &config), bounded);
    }
}
