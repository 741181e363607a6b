//! Function calls.

use super::super::ast::{Call, Expr};
use super::super::diag::{Diag, Span, Subject, suggestion};
use super::super::functions::{self, FunctionError};
use super::super::value::Value;
use super::type_expr::{Exactness, parse_type};
use super::{Evaluator, MAX_DIAGS, Scope};

const FAILED: &str = "Error in function call";

impl Evaluator<'_> {
    pub(super) fn call(&mut self, call: &Call, span: Span, scope: &Scope) -> Value {
        let Some(context) = self.functions else {
            return self.fail(span, "Function calls not allowed", "Functions may not be called here.");
        };
        let start = call.name_span.to(call.open);
        match call.name.as_str() {
            "can" | "try" | "convert" if call.expand => {
                let detail = format!("Call to function {:?} failed: arguments cannot be expanded here.", call.name);
                return self.fail(start, FAILED, detail);
            }
            "can" => {
                return match call.args.as_slice() {
                    [arg] => self.can(arg, scope),
                    args => self.wrong_count(call, args, &["expression"]),
                };
            }
            "try" => return self.try_each(call, start, scope),
            "convert" => {
                return match call.args.as_slice() {
                    [value, ty] => self.convert(value, ty, start, scope),
                    args => self.wrong_count(call, args, &["value", "type"]),
                };
            }
            name if functions::names().binary_search(&name).is_err() => return self.unknown_function(call, span),
            _ => {}
        }
        let Some(args) = self.arguments(call, scope) else { return Value::Unknown };
        let extra = functions::extra_steps(&call.name, &args);
        if !args.iter().all(|arg| self.charge_walk(arg, span)) || !self.charge_read(extra, 0, span) {
            return Value::Unknown;
        }
        match functions::call(&call.name, args, context) {
            Ok(value) => {
                let text = value.as_str().map_or(0, str::len);
                self.charge(value.nodes(), text, span);
                // Many digits after the point are slow to come by.
                if call.name.starts_with("format") {
                    self.charge_read(value.bytes().saturating_sub(1024), 0, span);
                }
                value
            }
            Err(error) => self.failed_call(call, &error),
        }
    }

    fn unknown_function(&mut self, call: &Call, span: Span) -> Value {
        let name = call.name.as_str();
        // Looking for a similar name takes a while, and is of no use when the diagnostic is not kept.
        if !self.charge_read(100, 0, span) || self.diags.len() >= MAX_DIAGS {
            return Value::Unknown;
        }
        let detail = match name.rsplit_once("::") {
            Some((namespace, _)) => format!("There are no functions in namespace \"{namespace}::\"."),
            None => {
                let hint = suggestion(name, functions::names().iter().copied());
                let hint = hint.map_or(String::new(), |other| format!(" Did you mean {other:?}?"));
                format!("There is no function named {name:?}.{hint}")
            }
        };
        self.fail(call.name_span, "Call to unknown function", detail)
    }

    /// Reports the error of a function at the part of the call that it is about.
    fn failed_call(&mut self, call: &Call, error: &FunctionError) -> Value {
        let start = call.name_span.to(call.open);
        let argument = |index: usize| call.args.get(index).or(call.args.last()).map_or(start, Expr::start_span);
        let (span, summary) = match error {
            FunctionError::Unknown { .. } => (call.name_span, "Call to unknown function"),
            FunctionError::NotEnoughArguments { .. } => (call.close, "Not enough function arguments"),
            FunctionError::TooManyArguments { index, .. } => (argument(*index), "Too many function arguments"),
            FunctionError::Argument { index, .. } => (argument(*index), "Invalid function argument"),
            FunctionError::Failed { .. } => (start, FAILED),
        };
        self.fail(span, summary, error.to_string())
    }

    /// The values of the arguments, the last one expanded if asked for.
    fn arguments(&mut self, call: &Call, scope: &Scope) -> Option<Vec<Value>> {
        const SUMMARY: &str = "Invalid expanding argument value";
        let mut values: Vec<Value> = call.args.iter().map(|arg| self.eval(arg, scope)).collect();
        if !call.expand {
            return Some(values);
        }
        let (last, expr) = (values.pop()?, call.args.last()?);
        match (&last, last.items()) {
            (_, Some(items)) => values.extend_from_slice(items),
            (Value::Unknown, _) => return None,
            (Value::Null, _) => {
                self.fail(expr.span, SUMMARY, "The expanding argument (indicated by ...) must not be null.");
                return None;
            }
            _ => {
                let detail = "The expanding argument (indicated by ...) must be of a tuple, list, or set type.";
                self.fail(expr.span, SUMMARY, detail);
                return None;
            }
        }
        Some(values)
    }

    fn wrong_count(&mut self, call: &Call, args: &[Expr], params: &[&str]) -> Value {
        match params.get(args.len()) {
            Some(missing) => {
                let detail = format!(
                    "Function {:?} expects {} argument(s). Missing value for {missing:?}.",
                    call.name,
                    params.len()
                );
                self.fail(call.close, "Not enough function arguments", detail)
            }
            None => {
                let span = args.get(params.len()).map_or(call.close, Expr::start_span);
                let detail = format!("Function {:?} expects only {} argument(s).", call.name, params.len());
                self.fail(span, "Too many function arguments", detail)
            }
        }
    }

    /// The value of an expression, or the diagnostics of the attempt.
    fn attempt(&mut self, expr: &Expr, scope: &Scope) -> Result<Value, Vec<Diag>> {
        let before = std::mem::take(&mut self.diags);
        let value = self.eval(expr, scope);
        let diags = std::mem::replace(&mut self.diags, before);
        if diags.is_empty() { Ok(value) } else { Err(diags) }
    }

    fn can(&mut self, expr: &Expr, scope: &Scope) -> Value {
        match self.attempt(expr, scope) {
            Ok(value) if !value.is_wholly_known() => Value::Unknown,
            result => Value::Bool(result.is_ok()),
        }
    }

    fn try_each(&mut self, call: &Call, start: Span, scope: &Scope) -> Value {
        let mut failures = String::new();
        for arg in &call.args {
            match self.attempt(arg, scope) {
                Ok(value) => return value,
                Err(diags) => {
                    for d in diags {
                        let place = match d.subject {
                            Subject::At(span) => format!(" (at {})", self.sources.range(span)),
                            _ => String::new(),
                        };
                        failures.push_str(&format!("- {}{place}\n  {}\n", d.summary, d.detail));
                    }
                    self.charge(1, failures.len(), start);
                }
            }
        }
        let text = match failures.is_empty() {
            true => "at least one argument is required".to_owned(),
            false => format!(
                "no expression succeeded:\n{failures}\nAt least one expression must produce a successful result"
            ),
        };
        self.fail(start, FAILED, format!("Call to function \"try\" failed: {text}."))
    }

    fn convert(&mut self, value: &Expr, ty: &Expr, start: Span, scope: &Scope) -> Value {
        let place = value.start_span();
        let value = self.eval(value, scope);
        let ty = match parse_type(ty, Exactness::AnyAllowed) {
            Ok(ty) => ty,
            Err(diag) => {
                self.report(diag);
                return Value::Unknown;
            }
        };
        if !self.charge_walk(&value, start) {
            return Value::Unknown;
        }
        match value.convert(&ty) {
            Ok(value) => value,
            Err(error) => {
                let detail = format!("Invalid value for \"value\" parameter: {error}.");
                self.fail(place, "Invalid function argument", detail)
            }
        }
    }
}
