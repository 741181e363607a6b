//! What a server's error says about the request.
//!
//! This is the only place that decides by the text of an answer: servers of other versions and Nomad answer HTTP
//! requests with a status and a text only, and use the status 500 for all these errors. Texts may follow a prefix such
//! as `rpc error: `.

use encamp_model::outcome::{MAY_BE_DONE, NO_LEADER, NOT_READY, STOPPED};

use super::error::ApiError;

/// What the text of an error response means, in addition to its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorMeaning {
    /// There is no leader yet: nothing was done.
    NoLeader,
    /// The request may have been carried out.
    Unknown,
    /// Something else.
    Other,
}

impl ErrorMeaning {
    /// The meaning of the text of a response.
    pub(crate) fn of(body: &str) -> ErrorMeaning {
        let any = |texts: [&str; 2]| texts.iter().any(|t| body.contains(t));
        if any([NO_LEADER, NOT_READY]) {
            ErrorMeaning::NoLeader
        } else if any([STOPPED, MAY_BE_DONE]) {
            ErrorMeaning::Unknown
        } else {
            ErrorMeaning::Other
        }
    }
}

/// Where the text starts that refuses a job whose JobModifyIndex is not the required one.
const MODIFY_INDEX: &str = "Enforcing job modify index ";

impl ApiError {
    /// The text of the servers if the job does not have the required JobModifyIndex.
    pub fn modify_index_conflict(&self) -> Option<&str> {
        let ApiError::Status { body, .. } = self else { return None };
        body.find(MODIFY_INDEX).and_then(|at| body.get(at..)).map(str::trim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_prefixes_are_classified() {
        for (text, expected) in [
            ("No cluster leader", ErrorMeaning::NoLeader),
            ("rpc error: No cluster leader", ErrorMeaning::NoLeader),
            (NOT_READY, ErrorMeaning::NoLeader),
            ("consensus has stopped: disk full", ErrorMeaning::Unknown),
            ("no answer; it may still be applied", ErrorMeaning::Unknown),
            ("job not found", ErrorMeaning::Other),
        ] {
            assert_eq!(ErrorMeaning::of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_modify_index_conflict_is_found_behind_a_prefix() {
        let error = |body: &str| ApiError::Status { status: 500, body: body.into() };
        let conflict = error("rpc error: Enforcing job modify index 3: job exists with conflicting index: 4\n");
        let want = "Enforcing job modify index 3: job exists with conflicting index: 4";
        assert_eq!(conflict.modify_index_conflict(), Some(want));
        assert_eq!(error("job not found").modify_index_conflict(), None);
    }
}
