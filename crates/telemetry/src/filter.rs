//! Filters metrics by name.

use thiserror::Error;

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Filter rule must begin with either '+' or '-': {}", encamp_model::quoted(.0))]
pub struct FilterError(pub String);

/// Keeps or drops metrics by the beginning of their names, prefix `nomad.` included. The longest rule that fits
/// decides.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Prefix, and whether it is kept; longest first.
    rules: Vec<(String, bool)>,
    default: bool,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter { rules: Vec::new(), default: true }
    }
}

impl Filter {
    /// Reads rules such as `+nomad.raft.apply` and `-nomad.raft`. `default` decides where none fits. Of equal prefixes
    /// the dropping one wins. Errors name the first rule without a sign.
    pub fn new(rules: &[String], default: bool) -> Result<Filter, FilterError> {
        let mut parsed = rules
            .iter()
            .map(|rule| match (rule.strip_prefix('+'), rule.strip_prefix('-')) {
                (Some(prefix), _) => Ok((prefix.to_string(), true)),
                (_, Some(prefix)) => Ok((prefix.to_string(), false)),
                _ => Err(FilterError(rule.clone())),
            })
            .collect::<Result<Vec<_>, _>>()?;
        parsed.sort_by(|(a, keep_a), (b, keep_b)| (b.len(), a, keep_a).cmp(&(a.len(), b, keep_b)));
        Ok(Filter { rules: parsed, default })
    }

    /// Whether metrics of that name are kept.
    pub fn keeps(&self, name: &str) -> bool {
        let rule = self.rules.iter().find(|(prefix, _)| name.starts_with(prefix.as_str()));
        rule.map_or(self.default, |(_, keep)| *keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(rules: &[&str], default: bool) -> Filter {
        Filter::new(&rules.iter().map(ToString::to_string).collect::<Vec<_>>(), default).expect("rules")
    }

    #[test]
    fn the_longest_prefix_decides() {
        let some = filter(&["-nomad.raft", "+nomad.raft.apply", "-nomad.memberlist"], true);
        let kept = |name| some.keeps(name);
        assert!(kept("nomad.raft.apply"));
        assert!(kept("nomad.raft.apply_x"), "prefixes are of the text, not of the dotted parts");
        assert!(!kept("nomad.raft.commitTime"));
        assert!(!kept("nomad.memberlist.gossip"));
        assert!(kept("nomad.nomad.broker.total_ready"));
        let none = filter(&["+nomad.client"], false);
        assert!(none.keeps("nomad.client.uptime"));
        assert!(!none.keeps("nomad.nomad.heartbeat.active"));
        assert!(!filter(&["+nomad.x", "-nomad.x"], true).keeps("nomad.x.y"));
        assert!(!filter(&["-"], true).keeps("nomad.x"), "an empty prefix fits all");
    }

    #[test]
    fn a_rule_needs_a_sign() {
        let error = Filter::new(&["+a".into(), "x".into()], true).expect_err("no sign");
        assert_eq!(error.to_string(), "Filter rule must begin with either '+' or '-': \"x\"");
    }
}
