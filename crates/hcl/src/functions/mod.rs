//! The functions of the job file language (`docs/spec/jobspec.md §5`): one file per family, each with a table of its
//! functions. `can`, `try` and `convert` inspect the expressions of their arguments, so the evaluator handles them
//! itself.
//!
//! Every result is bounded: texts and collections larger than [`super::value`] allows are errors, and so are
//! arguments that would request unreasonable work.

mod encoding;
mod filesystem;
mod format;
mod glob;
mod hash;
mod json;
mod mapping;
mod network;
mod numeric;
#[cfg(test)]
mod properties;
mod sequence;
mod string;
mod support;
mod time;
mod yaml;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use super::value::Value;
use support::{Args, Failure, Function};

/// The functions that take expressions, not values.
pub(crate) const SPECIAL_FORMS: &[&str] = &["can", "convert", "try"];

/// Longest text that is decoded into a value, in bytes: values take many times the memory of their text.
const MAX_DECODED: usize = 1 << 20;

/// Fills a buffer with random bytes.
pub type RandomBytes = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// The access of functions to their surroundings.
#[derive(Clone)]
pub struct FunctionContext {
    /// Whether the file functions work; where not, they fail with `filesystem function disabled`.
    pub allow_fs: bool,
    /// The base of relative paths of file functions.
    pub working_dir: PathBuf,
    /// The value of `~` in `pathexpand`.
    pub home_dir: Option<PathBuf>,
    /// Fills a buffer with random bytes, for `uuidv4` and the salt of `bcrypt`.
    pub random: RandomBytes,
}

impl fmt::Debug for FunctionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionContext")
            .field("allow_fs", &self.allow_fs)
            .field("working_dir", &self.working_dir)
            .field("home_dir", &self.home_dir)
            .finish_non_exhaustive()
    }
}

/// Why a call has no result; the texts are those of the diagnostics of `docs/spec/jobspec.md §7`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// `Call to unknown function`; the suggestion is the evaluator's.
    #[error("There is no function named \"{name}\".")]
    Unknown {
        /// The name that was called.
        name: String,
    },
    /// `Not enough function arguments`.
    #[error("Function \"{name}\" expects{} {count} argument(s). Missing value for \"{missing}\".", if *.at_least { " at least" } else { "" })]
    NotEnoughArguments {
        /// The function.
        name: &'static str,
        /// Whether the function takes more arguments than `count`.
        at_least: bool,
        /// How many arguments the function requires.
        count: usize,
        /// The name of the first parameter without an argument.
        missing: &'static str,
    },
    /// `Too many function arguments`; `index` is that of the first one too many.
    #[error("Function \"{name}\" expects only {index} argument(s).")]
    TooManyArguments {
        /// The function.
        name: &'static str,
        /// How many arguments the function takes.
        index: usize,
    },
    /// `Invalid function argument`: the argument at `index` (from 0).
    #[error("Invalid value for \"{parameter}\" parameter: {text}.")]
    Argument {
        /// The argument's number, from 0.
        index: usize,
        /// The name of the parameter.
        parameter: &'static str,
        /// The problem with the argument.
        text: String,
    },
    /// `Error in function call`.
    #[error("Call to function \"{name}\" failed: {text}.")]
    Failed {
        /// The function.
        name: &'static str,
        /// The message of the function.
        text: String,
    },
}

/// All functions, by name.
static TABLE: LazyLock<Vec<&'static Function>> = LazyLock::new(|| {
    let families = [
        encoding::FUNCTIONS,
        filesystem::FUNCTIONS,
        format::FUNCTIONS,
        hash::FUNCTIONS,
        json::FUNCTIONS,
        mapping::FUNCTIONS,
        network::FUNCTIONS,
        numeric::FUNCTIONS,
        sequence::FUNCTIONS,
        string::FUNCTIONS,
        time::FUNCTIONS,
        yaml::FUNCTIONS,
    ];
    let mut table: Vec<&Function> = families.into_iter().flatten().collect();
    table.sort_by_key(|function| function.name);
    table
});

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<&str> =
        TABLE.iter().map(|function| function.name).chain(SPECIAL_FORMS.iter().copied()).collect();
    names.sort_unstable();
    names
});

/// The names of all functions, special forms included, sorted.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

/// How a function is called: `join(separator, lists…)`; `None` for special forms and unknown names.
pub fn signature(name: &str) -> Option<String> {
    let found = TABLE.binary_search_by_key(&name, |function| function.name).ok()?;
    TABLE.get(found).map(|function| function.signature())
}

/// Steps of the evaluator that a call is worth beyond the size of its arguments.
pub(crate) fn extra_steps(name: &str, arguments: &[Value]) -> usize {
    match name {
        "bcrypt" => hash::bcrypt_steps(arguments),
        "rsadecrypt" => hash::RSA_STEPS,
        "regex_replace" => string::regex_steps(arguments),
        _ => 0,
    }
}

/// Calls a function. Arguments are converted to the types of its parameters; the result is unknown when an argument is
/// not wholly known.
pub fn call(name: &str, arguments: Vec<Value>, context: &FunctionContext) -> Result<Value, FunctionError> {
    let found = TABLE.binary_search_by_key(&name, |function| function.name).ok();
    let Some(function) = found.and_then(|index| TABLE.get(index)) else {
        return Err(FunctionError::Unknown { name: name.to_string() });
    };
    let arguments = function.accept(arguments)?;
    if !arguments.iter().all(Value::is_wholly_known) {
        return Ok(Value::Unknown);
    }
    let text = arguments.first().and_then(Value::as_str).unwrap_or_default();
    if matches!(name, "csvdecode" | "jsondecode" | "yamldecode") && text.len() > MAX_DECODED {
        let text =
            format!("the text has {} bytes, more than the {MAX_DECODED} that are decoded; use less data", text.len());
        return Err(function.error(Failure::Argument(0, text)));
    }
    (function.run)(&Args::new(&arguments), context).map_err(|failure| function.error(failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_counts_and_types() {
        let context = support::test_context();
        for (name, arguments, text) in [
            ("nope", vec![], "There is no function named \"nope\"."),
            ("abs", vec![], "Function \"abs\" expects 1 argument(s). Missing value for \"num\"."),
            ("max", vec!["x".into()], "Invalid value for \"numbers\" parameter: a number is required."),
            ("abs", vec![1.into(), 2.into()], "Function \"abs\" expects only 1 argument(s)."),
            ("abs", vec![Value::Null], "Invalid value for \"num\" parameter: argument must not be null."),
        ] {
            assert_eq!(call(name, arguments, &context).unwrap_err().to_string(), text);
        }
        assert!(matches!(call("abs", vec![Value::Unknown], &context), Ok(Value::Unknown)));
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(names().windows(2).all(|pair| pair[0] < pair[1]));
    }
}
