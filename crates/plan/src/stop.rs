//! How a long search is asked to end. The crate has no clock: whoever calls a search knows when that is.

use std::fmt;
use std::sync::Arc;

/// Tells a search to end; asked often, and by several threads. Clones ask the same question.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// The search goes on until it is done.
    pub fn never() -> Stop {
        Stop(None)
    }

    /// The search ends once this is true. It has to stay true from then on.
    pub fn when(question: impl Fn() -> bool + Send + Sync + 'static) -> Stop {
        Stop(Some(Arc::new(question)))
    }

    /// Whether to end.
    pub fn now(&self) -> bool {
        self.0.as_ref().is_some_and(|question| question())
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("never", &self.0.is_none()).finish()
    }
}
