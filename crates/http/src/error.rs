//! Errors of the HTTP API: a status and a plain text (`docs/spec/http-api.md §3`).

use std::fmt::Display;

use crate::read_meta::Meta;
use encamp_client::error::ClientError;
pub use encamp_server::error::multi_error;

/// A refused or failed request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The status of the answer.
    pub status: u16,
    /// The body of the answer.
    pub message: String,
    /// Headers, where the answer tells about state that was read.
    pub meta: Option<Meta>,
}

impl Error {
    /// With any status.
    pub fn new(status: u16, message: impl Display) -> Error {
        Error { status, message: message.to_string(), meta: None }
    }

    /// 400.
    pub fn bad(message: impl Display) -> Error {
        Error::new(400, message)
    }

    /// 403 `Permission denied`.
    pub fn denied() -> Error {
        Error::new(403, "Permission denied")
    }

    /// 404.
    pub fn not_found(message: impl Display) -> Error {
        Error::new(404, message)
    }

    /// 405 `Invalid method`.
    pub fn method() -> Error {
        Error::new(405, "Invalid method")
    }

    /// 500.
    pub fn internal(message: impl Display) -> Error {
        Error::new(500, message)
    }

    /// With the headers of a read.
    pub fn with(mut self, meta: Meta) -> Error {
        self.meta = Some(meta);
        self
    }

    /// With something before the text.
    pub fn prefixed(mut self, prefix: &str) -> Error {
        self.message.insert_str(0, prefix);
        self
    }
}

/// The status follows from the kind of the error, which also implements `docs/spec/http-api.md §3` step 3.
impl From<encamp_server::Error> for Error {
    fn from(e: encamp_server::Error) -> Error {
        Error::new(e.status(), e.message)
    }
}

impl From<ClientError> for Error {
    fn from(e: ClientError) -> Error {
        Error::new(e.status(), e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_statuses() {
        assert_eq!(multi_error(&["a"]), "1 error occurred:\n\t* a\n\n");
        assert_eq!(multi_error(&["a", "b"]), "2 errors occurred:\n\t* a\n\t* b\n\n");
        let e = Error::from(encamp_server::Error::permission_denied());
        assert_eq!((e.status, e.message.as_str()), (403, "Permission denied"));
        assert_eq!(Error::from(encamp_server::Error::not_found("job not found")).status, 404);
    }
}
