//! Texts of operators: the configuration of agents, and access policies.

use std::path::Path;

use encamp_acl::explain::{capability_names, parse_need};
use encamp_acl::{Acl, Rules};
use encamp_agent::config;

use crate::pieces::Pieces;

/// The text of a configuration file, from its parser to the checks of a starting agent.
pub(crate) fn configuration(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    match config::load_text(Path::new("agent.hcl"), text) {
        Ok(loaded) => {
            for finding in config::validate(&loaded.config) {
                drop(format!("{finding:?}"));
            }
            let _ = config::check_start(&loaded.config, 4).map_err(|e| e.to_string());
            if let Ok(config) = loaded.normalized() {
                let _ = config::check_start(&config, 4);
            }
            true
        }
        Err(error) => {
            let _ = (error.to_string(), error.place());
            false
        }
    }
}

/// Two policies: what each means, what both mean together, and how they differ.
pub(crate) fn policy(data: &[u8]) -> bool {
    let mut pieces = Pieces(data);
    let (first, second) = (pieces.part().unwrap_or_default(), pieces.0);
    let (Ok(first), Ok(second)) = (std::str::from_utf8(first), std::str::from_utf8(second)) else { return false };
    let mut accepted = true;
    for text in [first, second] {
        if let Err(error) = Rules::parse(text) {
            drop(error.to_string());
            accepted = false;
        }
    }
    let rules = [Rules::parse_stored(first), Rules::parse_stored(second)];
    for (rules, text) in rules.iter().zip([first, second]) {
        drop(rules.to_json(text));
    }
    let alone = Acl::merge([("a", &rules[0])]);
    let both = Acl::merge([("a", &rules[0]), ("b", &rules[1])]);
    let _ = encamp_acl::difference::difference(&alone, &both);
    for name in capability_names() {
        for object in ["default", "prod-api", "jobs/x", "*", ""] {
            let Ok(need) = parse_need(&name, object) else { continue };
            let (_, of_both) = (need.explained_by(&alone), need.explained_by(&both));
            drop(format!("{of_both:?}"));
        }
    }
    accepted
}
