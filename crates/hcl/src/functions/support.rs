//! The types of the function tables: parameters, arguments, failures.

use dashu_int::IBig;

use super::{FunctionError, encoding, json, time, yaml};
use crate::convert::ConversionError;
use crate::number::{Number, NumberError};
use crate::types::Type;
use crate::value::{Entries, MAX_BYTES, Value, ValueTooLarge};
use encamp_model::duration::InvalidDuration;
use encamp_model::regexp;

/// One function: its parameters and what it does.
pub(crate) struct Function {
    pub name: &'static str,
    parameters: &'static [Parameter],
    /// Takes all further arguments.
    rest: Option<Parameter>,
    pub run: Run,
}

/// The body of a function; its arguments are converted, counted and not null unless the parameter says otherwise.
pub(crate) type Run = fn(&Args, &super::FunctionContext) -> Result<Value, Failure>;

/// A parameter, named as error texts name it.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    name: &'static str,
    kind: Kind,
    null: bool,
}

/// The types that a parameter accepts.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Any,
    String,
    Number,
    Strings,
    List,
    Set,
}

impl Kind {
    fn ty(self) -> Type {
        match self {
            Kind::Any => Type::Any,
            Kind::String => Type::String,
            Kind::Number => Type::Number,
            Kind::Strings => Type::list(Type::String),
            Kind::List => Type::list(Type::Any),
            Kind::Set => Type::set(Type::Any),
        }
    }
}

/// A parameter that refuses null.
pub(crate) const fn p(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, kind, null: false }
}

/// A parameter that accepts null.
pub(crate) const fn nullable(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, kind, null: true }
}

/// A function with a fixed number of arguments.
pub(crate) const fn function(name: &'static str, parameters: &'static [Parameter], run: Run) -> Function {
    Function { name, parameters, rest: None, run }
}

/// A function whose last parameter takes any number of arguments, also none.
pub(crate) const fn variadic(
    name: &'static str,
    parameters: &'static [Parameter],
    rest: Parameter,
    run: Run,
) -> Function {
    Function { name, parameters, rest: Some(rest), run }
}

/// Why a function's body gives no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call as a whole.
    Call(String),
    /// The argument at an index.
    Argument(usize, String),
}

impl Failure {
    /// The same, as a mistake of one argument.
    pub(crate) fn of_argument(self, index: usize) -> Failure {
        match self {
            Failure::Call(text) | Failure::Argument(_, text) => Failure::Argument(index, text),
        }
    }

    /// The same, as a mistake of the call as a whole.
    pub(crate) fn of_call(self) -> Failure {
        match self {
            Failure::Call(text) | Failure::Argument(_, text) => Failure::Call(text),
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure::Call(text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Failure {
        Failure::Call(text.to_string())
    }
}

/// Lets `?` make a failure of the call as a whole of these errors.
macro_rules! failures_of_calls {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::Call(error.to_string())
            }
        })*
    };
}

failures_of_calls![
    ValueTooLarge,
    NumberError,
    ConversionError,
    InvalidDuration,
    regexp::SyntaxError,
    encoding::CsvError,
    json::EncodeError,
    json::DecodeError,
    time::TimestampError,
    yaml::DecodeError,
];

impl Function {
    /// The name with its parameters: `join(separator, lists…)`.
    pub(crate) fn signature(&self) -> String {
        let rest = self.rest.map(|p| format!("{}…", p.name));
        let names: Vec<String> = self.parameters.iter().map(|p| p.name.to_owned()).chain(rest).collect();
        format!("{}({})", self.name, names.join(", "))
    }

    fn parameter(&self, index: usize) -> Option<&Parameter> {
        self.parameters.get(index).or(self.rest.as_ref())
    }

    /// Counts, null-checks and converts the arguments.
    pub(crate) fn accept(&self, arguments: Vec<Value>) -> Result<Vec<Value>, FunctionError> {
        if let Some(missing) = self.parameters.get(arguments.len()) {
            return Err(FunctionError::NotEnoughArguments {
                name: self.name,
                at_least: self.rest.is_some(),
                count: self.parameters.len(),
                missing: missing.name,
            });
        }
        let convert = |(index, value): (usize, Value)| {
            let Some(parameter) = self.parameter(index) else {
                return Err(FunctionError::TooManyArguments { name: self.name, index });
            };
            let refused = |text: String| FunctionError::Argument { index, parameter: parameter.name, text };
            if value.is_null() && !parameter.null {
                return Err(refused("argument must not be null".to_string()));
            }
            value.convert(&parameter.kind.ty()).map_err(|error| refused(error.to_string()))
        };
        arguments.into_iter().enumerate().map(convert).collect()
    }

    /// A failure of the body as the error of the call.
    pub(crate) fn error(&self, failure: Failure) -> FunctionError {
        match failure {
            Failure::Call(text) => FunctionError::Failed { name: self.name, text },
            Failure::Argument(index, text) => {
                let parameter = self.parameter(index).map_or("", |parameter| parameter.name);
                FunctionError::Argument { index, parameter, text }
            }
        }
    }
}

/// The converted arguments of a call.
pub(crate) struct Args<'a>(&'a [Value]);

impl<'a> Args<'a> {
    pub(crate) fn new(values: &'a [Value]) -> Args<'a> {
        Args(values)
    }

    pub(crate) fn all(&self) -> &'a [Value] {
        self.0
    }

    /// The arguments from an index on.
    pub(crate) fn from(&self, index: usize) -> &'a [Value] {
        self.0.get(index..).unwrap_or_default()
    }

    pub(crate) fn value(&self, index: usize) -> Result<&'a Value, Failure> {
        self.0.get(index).ok_or_else(|| Failure::Argument(index, "argument is missing".to_string()))
    }

    pub(crate) fn text(&self, index: usize) -> Result<&'a str, Failure> {
        let text = self.value(index)?.as_str();
        text.ok_or_else(|| Failure::Argument(index, "a string is required".to_string()))
    }

    pub(crate) fn number(&self, index: usize) -> Result<&'a Number, Failure> {
        let number = self.value(index)?.as_number();
        number.ok_or_else(|| Failure::Argument(index, "a number is required".to_string()))
    }

    /// A whole number between two bounds.
    pub(crate) fn int(&self, index: usize, min: i64, max: i64) -> Result<i64, Failure> {
        let number = self.number(index)?.to_i64().filter(|value| (min..=max).contains(value));
        number.ok_or_else(|| {
            Failure::Argument(index, format!("value must be a whole number, between {min} and {max} inclusive"))
        })
    }

    /// A whole number of any size.
    pub(crate) fn integer(&self, index: usize) -> Result<IBig, Failure> {
        let number = self.number(index)?.to_integer();
        number.ok_or_else(|| Failure::Argument(index, "a whole number is required".to_string()))
    }

    /// The elements of a list, set or tuple.
    pub(crate) fn items(&self, index: usize) -> Result<&'a [Value], Failure> {
        let items = self.value(index)?.items();
        items.ok_or_else(|| Failure::Argument(index, "a list, set or tuple is required".to_string()))
    }

    /// The elements of a map or object.
    pub(crate) fn entries(&self, index: usize) -> Result<&'a Entries, Failure> {
        let entries = self.value(index)?.entries();
        entries.ok_or_else(|| Failure::Argument(index, "a map or object is required".to_string()))
    }
}

/// A text under construction that refuses to grow beyond what a value may hold.
#[derive(Default)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn push(&mut self, more: &str) -> Result<(), ValueTooLarge> {
        if self.0.len() + more.len() > MAX_BYTES {
            return Err(ValueTooLarge::Bytes);
        }
        self.0.push_str(more);
        Ok(())
    }

    /// Adds a text several times.
    pub(crate) fn repeat(&mut self, more: &str, times: usize) -> Result<(), ValueTooLarge> {
        if more.len().saturating_mul(times) > MAX_BYTES {
            return Err(ValueTooLarge::Bytes);
        }
        self.push(&more.repeat(times))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }

    pub(crate) fn into_value(self) -> Value {
        Value::String(self.0.into())
    }
}

/// A context for tests: file functions on, relative to the crate, a counter as random source.
#[cfg(test)]
pub(crate) fn test_context() -> super::FunctionContext {
    super::FunctionContext {
        allow_fs: true,
        working_dir: env!("CARGO_MANIFEST_DIR").into(),
        home_dir: Some("/home/worker".into()),
        random: std::sync::Arc::new(|buffer| {
            buffer.iter_mut().enumerate().for_each(|(index, byte)| *byte = index as u8);
        }),
    }
}

/// Table tests: calls with arguments in, JSON text of the result or error text out.
#[cfg(test)]
pub(crate) fn check(name: &str, arguments: &[Value], expected: &str) {
    let shown = match super::call(name, arguments.to_vec(), &test_context()) {
        Ok(Value::String(text)) => text.to_string(),
        Ok(value) => value
            .convert(&Type::String)
            .map_or_else(|_| format!("{value:?}"), |text| text.as_str().unwrap_or("null").to_string()),
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected, "{name}({arguments:?})");
}

/// A value from JSON text, for tests.
#[cfg(test)]
pub(crate) fn json_value(text: &str) -> Value {
    super::json::decode(text).unwrap()
}

/// Table tests: arguments as comma-separated JSON, the result as JSON or the error text.
#[cfg(test)]
pub(crate) fn check_json(name: &str, arguments: &str, expected: &str) {
    let arguments = json_value(&format!("[{arguments}]")).items().unwrap().to_vec();
    let shown = match super::call(name, arguments.clone(), &test_context()) {
        Ok(value) => super::json::encode(&value).unwrap(),
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected, "{name}({arguments:?})");
}
