//! Literals, operators, constructors, templates.

use std::rc::Rc;
use std::sync::Arc;

use super::super::ast::{BinaryOp, Expr, ExprKind, For, UnaryOp};
use super::super::diag::Span;
use super::super::number::{Number, NumberError};
use super::super::types::{Type, unify};
use super::super::value::{Entries, Value};
use super::{Evaluator, Scope, type_name};
use encamp_model::quoted;

const BAD_PART: &str = "Invalid template interpolation value";

impl Evaluator<'_> {
    pub(super) fn eval_kind(&mut self, expr: &Expr, scope: &Scope) -> Value {
        match &expr.kind {
            ExprKind::Null => Value::Null,
            ExprKind::Bool(value) => Value::Bool(*value),
            // Reading many digits takes more than linear time.
            ExprKind::Number(text) if !self.charge_read(0, text.len().saturating_mul(4), expr.span) => Value::Unknown,
            ExprKind::Number(text) => match Number::parse(text) {
                Ok(number) => Value::Number(number),
                Err(error) => self.fail(
                    expr.span,
                    "Invalid number literal",
                    format!("Failed to recognize the value of this number literal: {error}."),
                ),
            },
            ExprKind::Text(text) => {
                self.charge(0, text.len(), expr.span);
                Value::from(text.as_str())
            }
            ExprKind::Template(parts) => self.template(parts, expr.span, scope),
            ExprKind::Wrap(inner) | ExprKind::Paren(inner) => self.eval(inner, scope),
            ExprKind::Join(list) => self.join(list, scope),
            ExprKind::Reference { root, root_span, steps } => self.reference(expr, root, *root_span, steps, scope),
            ExprKind::Lookup { source, steps } => {
                let value = self.eval(source, scope);
                self.lookup(value, steps)
            }
            ExprKind::Index { source, key, brackets } => {
                let (value, key) = (self.eval(source, scope), self.eval(key, scope));
                self.index(&value, &key, *brackets)
            }
            ExprKind::Splat { source, each, marker } => self.splat(source, each, *marker, scope),
            ExprKind::Item => self.items.last().cloned().unwrap_or(Value::Unknown),
            ExprKind::Call(call) => self.call(call, expr.span, scope),
            ExprKind::Conditional(parts) => self.conditional(parts, scope),
            ExprKind::Binary { first, rest } => self.binary(first, rest, scope),
            ExprKind::Unary { op, operand, .. } => self.unary(*op, operand, expr.span, scope),
            ExprKind::Tuple { items, .. } => {
                let values = items.iter().map(|item| self.eval(item, scope)).collect();
                self.bounded(expr.span, Value::tuple(values))
            }
            ExprKind::Object { items, .. } => self.object(items, expr.span, scope),
            ExprKind::For(node) => self.for_expr(node, expr.span, scope),
        }
    }

    /// Appends a part of a template; false when the part is unknown.
    fn append(&mut self, text: &mut String, value: Value, span: Span, null: &str) -> bool {
        match value.convert(&Type::String) {
            Ok(Value::String(part)) => {
                if self.charge(0, part.len(), span) {
                    text.push_str(&part);
                }
                true
            }
            Ok(Value::Null) => {
                self.fail(span, BAD_PART, null);
                true
            }
            Ok(_) => false,
            Err(error) => {
                let detail = format!("Cannot include the given value in a string template: {error}.");
                self.fail(span, BAD_PART, detail);
                true
            }
        }
    }

    fn template(&mut self, parts: &[Expr], span: Span, scope: &Scope) -> Value {
        const NULL: &str = "The expression result is null. Cannot include a null value in a string template.";
        let mut text = String::new();
        let mut known = true;
        for part in parts {
            let value = self.eval(part, scope);
            known &= self.append(&mut text, value, part.span, NULL);
        }
        if known { self.bounded(span, Value::string(text)) } else { Value::Unknown }
    }

    fn join(&mut self, list: &Expr, scope: &Scope) -> Value {
        const NULL: &str = "An iteration result is null. Cannot include a null value in a string template.";
        let value = self.eval(list, scope);
        let Some(items) = value.items() else { return Value::Unknown };
        let mut text = String::new();
        let mut known = true;
        for item in items {
            known &= self.append(&mut text, item.clone(), list.span, NULL);
        }
        if known { self.bounded(list.span, Value::string(text)) } else { Value::Unknown }
    }

    fn conditional(&mut self, [condition, yes, no]: &[Expr; 3], scope: &Scope) -> Value {
        // Both branches decide about the type, but only the chosen one's errors count.
        let before = std::mem::take(&mut self.diags);
        let yes_value = self.eval(yes, scope);
        let yes_diags = std::mem::take(&mut self.diags);
        let no_value = self.eval(no, scope);
        let no_diags = std::mem::replace(&mut self.diags, before);
        if !self.charge_walk(&yes_value, yes.span) || !self.charge_walk(&no_value, no.span) {
            return Value::Unknown;
        }
        let Some(ty) = unify([&yes_value.ty(), &no_value.ty()]) else {
            let detail = format!(
                "The true and false result expressions must have consistent types. The 'true' value is {}, but the 'false' \
                 value is {}.",
                type_name(&yes_value),
                type_name(&no_value)
            );
            return self.fail(yes.span.to(no.span), "Inconsistent conditional result types", detail);
        };
        let condition_value = self.eval(condition, scope);
        let chosen = match condition_value.convert(&Type::Bool) {
            Ok(Value::Bool(chosen)) => chosen,
            Ok(Value::Null) => {
                let detail = "The condition value is null. Conditions must either be true or false.";
                return self.fail(condition.span, "Null condition", detail);
            }
            Ok(_) => return Value::Unknown,
            Err(_) => {
                let detail = "The condition expression must be of type bool.";
                return self.fail(condition.span, "Incorrect condition type", detail);
            }
        };
        let (branch, value, diags) = if chosen { (yes, yes_value, yes_diags) } else { (no, no_value, no_diags) };
        diags.into_iter().for_each(|d| self.report(d));
        match value.convert(&ty) {
            Ok(value) => value,
            Err(error) => {
                let which = if chosen { "true" } else { "false" };
                let detail = format!("The {which} result value has the wrong type: {error}.");
                self.fail(branch.span, "Inconsistent conditional result types", detail)
            }
        }
    }

    fn binary(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)], scope: &Scope) -> Value {
        let mut left = self.eval(first, scope);
        let mut span = first.span;
        for (op, operand) in rest {
            let right = self.eval(operand, scope);
            left = self.operate(*op, (left, span), (right, operand.span));
            span = span.to(operand.span);
        }
        left
    }

    fn operate(&mut self, op: BinaryOp, (left, left_span): (Value, Span), (right, right_span): (Value, Span)) -> Value {
        if !self.charge_walk(&left, left_span) {
            return Value::Unknown;
        }
        let wanted = match op {
            BinaryOp::Equal | BinaryOp::NotEqual => {
                if !left.is_wholly_known() || !right.is_wholly_known() {
                    return Value::Unknown;
                }
                return Value::Bool(left.equals(&right) == (op == BinaryOp::Equal));
            }
            BinaryOp::Or | BinaryOp::And => Type::Bool,
            _ => Type::Number,
        };
        let mut operand = |value: Value, span, side| match value.convert(&wanted) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(span, "Invalid operand", format!("Unsuitable value for {side} operand: {error}."));
                None
            }
        };
        let (left, right) = (operand(left, left_span, "left"), operand(right, right_span, "right"));
        let (Some(left), Some(right)) = (left, right) else { return Value::Unknown };
        let span = left_span.to(right_span);
        if left.is_null() || right.is_null() {
            return self.fail(span, "Operation failed", "Error during operation: argument must not be null.");
        }
        let result = match (&left, &right) {
            (Value::Bool(a), Value::Bool(b)) => Ok(Value::Bool(if op == BinaryOp::Or { *a || *b } else { *a && *b })),
            (Value::Number(a), Value::Number(b)) => arithmetic(op, a, b),
            _ => return Value::Unknown,
        };
        result.unwrap_or_else(|error| self.fail(span, "Operation failed", format!("Error during operation: {error}.")))
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span, scope: &Scope) -> Value {
        let wanted = if op == UnaryOp::Not { Type::Bool } else { Type::Number };
        match self.eval(operand, scope).convert(&wanted) {
            Ok(Value::Bool(value)) => Value::Bool(!value),
            Ok(Value::Number(number)) => Value::Number(number.neg()),
            Ok(Value::Null) => {
                self.fail(span, "Operation failed", "Error during operation: argument must not be null.")
            }
            Ok(_) => Value::Unknown,
            Err(error) => {
                let detail = format!("Unsuitable value for unary operand: {error}.");
                self.fail(operand.span, "Invalid operand", detail)
            }
        }
    }

    fn object(&mut self, items: &[(Expr, Expr)], span: Span, scope: &Scope) -> Value {
        let mut entries = Entries::new();
        let mut known = true;
        for (key_expr, value_expr) in items {
            if matches!(&key_expr.kind, ExprKind::Reference { steps, .. } if !steps.is_empty()) {
                self.fail(
                    key_expr.span,
                    "Ambiguous attribute key",
                    "If this expression is intended to be a reference, wrap it in parentheses. If it's instead intended as a \
                     literal name containing periods, wrap it in quotes to create a string literal.",
                );
                known = false;
                continue;
            }
            let name = self.eval(key_expr, scope);
            let value = self.eval(value_expr, scope);
            match name.convert(&Type::String) {
                Ok(Value::String(name)) => {
                    entries.insert(name, value);
                }
                Ok(Value::Null) => {
                    self.fail(key_expr.span, "Null value as key", "Can't use a null value as a key.");
                    known = false;
                }
                Ok(_) => known = false,
                Err(error) => {
                    let detail = format!("Can't use this value as a key: {error}.");
                    self.fail(key_expr.span, "Incorrect key type", detail);
                    known = false;
                }
            }
        }
        self.charge_read(10, 0, span);
        if known { self.bounded(span, Value::object(entries)) } else { Value::Unknown }
    }

    fn for_expr(&mut self, node: &For, span: Span, scope: &Scope) -> Value {
        let collection = self.eval(&node.collection, scope);
        let pairs = match &collection {
            Value::Unknown => return Value::Unknown,
            Value::Null => {
                return self.fail(
                    node.collection.span,
                    "Iteration over null value",
                    "A null value cannot be used as the collection in a 'for' expression.",
                );
            }
            value if !self.charge_walk(value, span) => return Value::Unknown,
            value => value.key_values(),
        };
        let Some(pairs) = pairs else {
            let ty = type_name(&collection);
            return self.fail(
                node.collection.span,
                "Iteration over non-iterable value",
                format!("A value of type {ty} cannot be used as the collection in a 'for' expression."),
            );
        };
        let depth = self.locals.len();
        let (key_name, value_name): (Option<Rc<str>>, Rc<str>) =
            (node.key_name.as_deref().map(Rc::from), Rc::from(node.value_name.as_str()));
        let mut build = ForResult::default();
        for (k, v) in pairs {
            if let Some(name) = &key_name {
                self.locals.push((name.clone(), k));
            }
            self.locals.push((value_name.clone(), v));
            self.for_round(node, scope, &mut build);
            self.locals.truncate(depth);
            if self.exhausted.is_some() {
                return Value::Unknown;
            }
        }
        if !build.known {
            return Value::Unknown;
        }
        let value = if node.key.is_none() {
            Value::tuple(build.items)
        } else if node.group {
            let groups: Result<Entries, _> =
                build.groups.into_iter().map(|(name, values)| Ok((name, Value::tuple(values)?))).collect();
            groups.and_then(Value::object)
        } else {
            Value::object(build.entries)
        };
        self.bounded(span, value)
    }

    fn for_round(&mut self, node: &For, scope: &Scope, build: &mut ForResult) {
        match node.condition.as_ref().map_or(Some(true), |condition| self.for_condition(condition, scope)) {
            Some(true) => {}
            Some(false) => return,
            None => {
                build.known = false;
                return;
            }
        }
        let Some(key_expr) = &node.key else {
            let value = self.eval(&node.value, scope);
            build.items.push(value);
            return;
        };
        let name = self.for_key(key_expr, scope);
        let value = self.eval(&node.value, scope);
        let Some(name) = name else {
            build.known = false;
            return;
        };
        if node.group {
            build.groups.entry(name).or_default().push(value);
            return;
        }
        if build.entries.contains_key(&name) {
            let detail = format!(
                "Two different items produced the key {} in this 'for' expression. If duplicates are expected, use the \
                 ellipsis (...) after the value expression to enable grouping by key.",
                quoted(&name)
            );
            self.fail(key_expr.span, "Duplicate object key", detail);
            build.known = false;
            return;
        }
        build.entries.insert(name, value);
    }

    /// Whether an item is in the result; nothing if that is not known, or the condition is wrong.
    fn for_condition(&mut self, condition: &Expr, scope: &Scope) -> Option<bool> {
        match self.eval(condition, scope).convert(&Type::Bool) {
            Ok(Value::Bool(holds)) => return Some(holds),
            Ok(Value::Null) => {
                self.fail(condition.span, "Condition is null", "The value of the 'if' clause must not be null.");
            }
            Ok(_) => {}
            Err(error) => {
                let detail = format!("The 'if' clause value is invalid: {error}.");
                self.fail(condition.span, "Invalid 'for' condition", detail);
            }
        }
        None
    }

    /// The key of an item; nothing if it is not known, or is wrong.
    fn for_key(&mut self, key: &Expr, scope: &Scope) -> Option<Arc<str>> {
        match self.eval(key, scope).convert(&Type::String) {
            Ok(Value::String(name)) => return Some(name),
            Ok(Value::Null) => {
                let detail = "Key expression in 'for' expression must not produce a null value.";
                self.fail(key.span, "Invalid object key", detail);
            }
            Ok(_) => {}
            Err(error) => {
                let detail = format!("The key expression produced an invalid result: {error}.");
                self.fail(key.span, "Invalid object key", detail);
            }
        }
        None
    }
}

/// The unfinished result of a `for` expression.
struct ForResult {
    known: bool,
    items: Vec<Value>,
    entries: Entries,
    groups: std::collections::BTreeMap<std::sync::Arc<str>, Vec<Value>>,
}

impl Default for ForResult {
    fn default() -> Self {
        ForResult { known: true, items: Vec::new(), entries: Entries::new(), groups: Default::default() }
    }
}

fn arithmetic(op: BinaryOp, a: &Number, b: &Number) -> Result<Value, NumberError> {
    Ok(match op {
        BinaryOp::Less => Value::Bool(a < b),
        BinaryOp::LessEqual => Value::Bool(a <= b),
        BinaryOp::Greater => Value::Bool(a > b),
        BinaryOp::GreaterEqual => Value::Bool(a >= b),
        BinaryOp::Add => Value::Number(a.add(b)?),
        BinaryOp::Subtract => Value::Number(a.sub(b)?),
        BinaryOp::Multiply => Value::Number(a.mul(b)?),
        BinaryOp::Divide => Value::Number(a.div(b)?),
        BinaryOp::Modulo => Value::Number(a.rem(b)?),
        BinaryOp::Or | BinaryOp::And | BinaryOp::Equal | BinaryOp::NotEqual => Value::Unknown,
    })
}
