//! Checks of histories: pure functions, each with wrong histories that it must refuse.

pub(crate) mod events;
pub(crate) mod indexes;
pub(crate) mod locks;
pub(crate) mod placements;
pub(crate) mod registers;
pub(crate) mod sets;

/// The result of a check.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    /// What was checked, for the report.
    pub(crate) what: &'static str,
    /// How much was checked, for the report.
    pub(crate) amount: String,
    /// The rules that are broken.
    pub(crate) broken: Vec<String>,
}
