//! Which rows of a list a caller may see.

use super::authorization::Access;
use super::right::{Right, Subject};

/// The rows that a caller may see: those of the namespace that is asked for, or, of all namespaces, those in which the
/// caller has the right of the route.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) access: Access,
    pub(crate) right: Right,
    pub(crate) namespace: String,
}

impl Seen {
    /// Whether rows of a namespace are shown.
    pub(crate) fn in_namespace(&self, namespace: &str) -> bool {
        match self.namespace.as_str() {
            "*" => self.access.has(self.right, Subject::Namespace(namespace)),
            asked => asked == namespace,
        }
    }
}
