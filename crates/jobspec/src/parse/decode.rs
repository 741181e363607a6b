//! From bodies to API objects, guided by the tables of [`super::schema`] (`docs/spec/jobspec.md §3.1, 7, 8`).

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::schema::{Block, Inside, Kind, Occurs, Schema};
use super::{constraint, free};
use encamp_hcl::ast::{Body, Expr, ExprKind};
use encamp_hcl::body::{Attr, BlockRef, BodyRef, Content, Expected};
use encamp_hcl::diag::{Diag, Span};
use encamp_hcl::eval::{Evaluator, Scope};
use encamp_hcl::number::Number;
use encamp_hcl::types::Type;
use encamp_hcl::value::Value;
use encamp_model::duration::parse_duration;
use encamp_model::quoted;

/// The value was wrong, and that was reported.
struct Wrong;

/// Reads bodies.
pub(crate) struct Decoder<'e, 'a> {
    pub ev: &'e mut Evaluator<'a>,
    /// Diagnostics about free-form bodies; they belong to a later phase.
    pub later: Vec<Diag>,
}

impl Decoder<'_, '_> {
    /// A body as an API object; absent members are left out.
    pub(crate) fn body(&mut self, body: BodyRef, schema: &Schema, scope: &Rc<Scope>) -> Map<String, Json> {
        let told = self.ev.diags.len();
        let content = self.content(body, schema, scope);
        // Maps in the form of attributes are decoded before everything else.
        let later = self.ev.diags.split_off(told.min(self.ev.diags.len()));
        let mut out = Map::new();
        for attribute in &content.attributes {
            if let Some(spec) = schema.blocks.iter().find(|s| s.name == attribute.name)
                && let Some(value) = self.attribute(&attribute.expr, Kind::StringMap, scope)
            {
                out.insert(spec.json(), value);
            }
        }
        self.ev.diags.extend(later);
        for attribute in &content.attributes {
            if let Some(spec) = schema.attributes.iter().find(|s| s.name == attribute.name)
                && let Some(value) = self.attribute(&attribute.expr, spec.kind, scope)
            {
                out.insert(spec.json(), value);
            }
        }
        self.blocks(&content, schema, &mut out);
        out
    }

    fn content<'b>(&mut self, body: BodyRef<'b>, schema: &Schema, scope: &Rc<Scope>) -> Content<'b> {
        let mut attributes: Vec<(&str, bool)> = schema.attributes.iter().map(|a| (a.name, a.required)).collect();
        let either = schema.blocks.iter().filter(|b| matches!(b.inside, Inside::StringsOrMap));
        attributes.extend(either.map(|b| (b.name, false)));
        attributes.sort_unstable();
        let mut blocks: Vec<(&str, usize)> =
            schema.blocks.iter().map(|b| (b.name, usize::from(b.label.is_some()))).collect();
        blocks.sort_unstable();
        let first: Vec<&str> = schema.blocks.iter().filter(|b| b.found_first).map(|b| b.name).collect();
        let expected = Expected { attributes: &attributes, blocks: &blocks, dynamic: true, first: &first };
        let content = body.content(expected, self.ev, scope);
        for attribute in schema.attributes.iter().filter(|a| a.required_last && !content.mentions(a.name)) {
            self.ev.report(body.missing_argument(attribute.name));
        }
        content
    }

    fn blocks(&mut self, content: &Content, schema: &Schema, out: &mut Map<String, Json>) {
        let mut spans: Vec<(&str, Span, usize)> = Vec::new();
        for attribute in &content.attributes {
            if schema.attributes.iter().all(|a| a.name != attribute.name) {
                spans.push((attribute.name, attribute.span(), 1));
            }
        }
        let from_attributes = spans.len();
        for block in &content.blocks {
            match spans.iter_mut().find(|(kind, ..)| *kind == block.kind) {
                Some((_, _, count)) => *count += 1,
                None => spans.push((&block.kind, block.def, 1)),
            }
        }
        // Blocks are told apart by their order: all those of one `dynamic` block have the same place.
        let mut met: Vec<(&str, usize)> = Vec::new();
        for block in &content.blocks {
            let Some(spec) = schema.blocks.iter().find(|s| s.name == block.kind) else { continue };
            let found = spans.iter().enumerate().find(|(_, (kind, ..))| *kind == block.kind);
            let Some((at, (_, first, count))) = found else { continue };
            if *count > 1 && matches!(spec.occurs, Occurs::Once | Occurs::OnceOfType) {
                let both_forms = at < from_attributes;
                let before = match met.iter_mut().find(|(name, _)| *name == spec.name) {
                    Some((_, before)) => {
                        *before += 1;
                        *before
                    }
                    None => {
                        met.push((spec.name, usize::from(both_forms)));
                        usize::from(both_forms)
                    }
                };
                if before == 1 {
                    let diag = self.duplicate(spec, *first, block.def, both_forms);
                    self.ev.report(diag);
                }
                continue;
            }
            let value = self.block(block, spec);
            insert(out, spec, block, value);
        }
        check_scaling(content, schema, out, self.ev);
    }

    fn duplicate(&self, spec: &Block, first: Span, second: Span, both_forms: bool) -> Diag {
        let (name, place) = (spec.name, self.ev.sources.range(first));
        let detail = if both_forms {
            format!("{name} may not be defined more than once. Another definition is defined at {place}.")
        } else if spec.occurs == Occurs::OnceOfType {
            format!("Only one block of type {name:?} is allowed. Previous definition was at {place}.")
        } else {
            format!("Only one {name} block is allowed. Another was defined at {place}.")
        };
        Diag::at(second, format!("Duplicate {name} block"), detail)
    }

    fn block(&mut self, block: &BlockRef, spec: &Block) -> Json {
        let object = match &spec.inside {
            Inside::Schema(inner) => {
                let mut object = Map::new();
                if let (Some(json), Some(label)) = (spec.label, block.labels.first()) {
                    object.insert(json.to_owned(), Json::String(label.text.clone()));
                }
                object.extend(self.body(block.body, inner, &block.scope));
                object
            }
            Inside::Strings | Inside::StringsOrMap => self.each_attribute(block, Kind::Str),
            Inside::StringLists => self.each_attribute(block, Kind::Strings),
            Inside::Free => {
                let before = std::mem::take(&mut self.ev.diags);
                let object = free::body(block.body, self.ev, &block.scope);
                self.later.extend(std::mem::replace(&mut self.ev.diags, before));
                object
            }
            Inside::Constraint => constraint::constraint(block.body, self.ev, &block.scope),
            Inside::Affinity => constraint::affinity(block.body, self.ev, &block.scope),
        };
        Json::Object(object)
    }

    /// The attributes of a map in the form of a block.
    fn each_attribute(&mut self, block: &BlockRef, kind: Kind) -> Map<String, Json> {
        let mut out = Map::new();
        if let BodyRef::Native(body) = block.body {
            self.each_native(body, kind, &block.scope, &mut out);
            return out;
        }
        let attributes: Vec<Attr> = block.body.just_attributes(self.ev);
        for attribute in attributes {
            if let Ok(value) = self.converted(&attribute.expr, kind, &block.scope) {
                out.insert(attribute.name.to_owned(), value.unwrap_or_default());
            }
        }
        out
    }

    /// Such maps are read as free-form bodies are: an object literal and a nested block stand for lists of one object,
    /// which no kind of value accepts.
    fn each_native(&mut self, body: &Body, kind: Kind, scope: &Scope, out: &mut Map<String, Json>) {
        if !self.ev.charge_read(body.attributes.len(), 0, body.span) {
            return;
        }
        for attribute in &body.attributes {
            let value = match attribute.expr.kind {
                ExprKind::Object { .. } => {
                    self.ev.eval(&attribute.expr, scope);
                    self.refuse_object(attribute.expr.start_span(), kind);
                    continue;
                }
                _ => self.converted(&attribute.expr, kind, scope),
            };
            if let Ok(value) = value {
                out.insert(attribute.name.clone(), value.unwrap_or_default());
            }
        }
        let mut met = HashSet::new();
        for block in body.blocks.iter().filter(|block| met.insert(&block.kind)) {
            self.refuse_object(block.open, kind);
        }
    }

    fn refuse_object(&mut self, place: Span, kind: Kind) {
        let text = match kind {
            Kind::Strings => "element 0: string required, but have object",
            _ => "string required, but have tuple",
        };
        let (summary, detail) = unsuitable(text);
        self.ev.report(Diag::at(place, summary, detail));
    }

    /// The value of an attribute; nothing when it is null or wrong.
    pub(crate) fn attribute(&mut self, expr: &Expr, kind: Kind, scope: &Scope) -> Option<Json> {
        self.converted(expr, kind, scope).ok().flatten()
    }

    /// The value of an attribute, nothing when it is null; an error when it is wrong.
    fn converted(&mut self, expr: &Expr, kind: Kind, scope: &Scope) -> Result<Option<Json>, Wrong> {
        let value = self.ev.eval(expr, scope);
        if !self.ev.charge_walk(&value, expr.span) {
            return Err(Wrong);
        }
        convert(&value, kind).map_err(|(summary, detail)| {
            self.ev.report(Diag::at(expr.start_span(), summary, detail));
            Wrong
        })
    }
}

/// Puts a block where it belongs.
fn insert(out: &mut Map<String, Json>, spec: &Block, block: &BlockRef, value: Json) {
    match spec.occurs {
        Occurs::Once | Occurs::OnceOfType | Occurs::Last => {
            out.insert(spec.json(), value);
        }
        Occurs::Many => {
            if let Json::Array(list) = out.entry(spec.json()).or_insert_with(|| Json::Array(Vec::new())) {
                list.push(value);
            }
        }
        Occurs::ByLabel => {
            if let Json::Object(map) = out.entry(spec.json()).or_insert_with(|| Json::Object(Map::new()))
                && let Some(label) = block.labels.first()
            {
                map.insert(label.text.clone(), value);
            }
        }
    }
}

/// Task scaling policies are named by what they scale; group policies have one type only.
fn check_scaling(content: &Content, schema: &Schema, out: &mut Map<String, Json>, ev: &mut Evaluator) {
    let mut policies: Vec<&BlockRef> = Vec::new();
    let mut seen: Vec<(String, Span)> = Vec::new();
    let Some(spec) = schema.blocks.iter().find(|b| b.name == "scaling") else { return };
    policies.extend(content.blocks.iter().filter(|b| b.kind == spec.name));
    if spec.label.is_none() {
        let ty = out.get("Scaling").and_then(|s| s.get("Type")).and_then(Json::as_str).unwrap_or("");
        if let (Some(block), false) = (policies.first(), matches!(ty, "" | "horizontal")) {
            let detail = format!("task group scaling policy had invalid type: {}", quoted(ty));
            let place = match block.body {
                BodyRef::Native(body) => body.attributes.iter().find(|a| a.name == "type").map(|a| a.expr.span),
                BodyRef::Json(_) => None,
            };
            ev.report(Diag::at(place.unwrap_or(block.def), "Invalid group scaling type", detail));
        }
        return;
    }
    let Some(Json::Array(list)) = out.get_mut("ScalingPolicies") else { return };
    for (block, policy) in policies.iter().zip(list) {
        let Some(label) = block.labels.first() else { continue };
        let name = label.text.to_lowercase();
        if !matches!(name.as_str(), "cpu" | "mem") {
            let detail = "scaling policy name must be \"cpu\" or \"mem\"";
            ev.report(Diag::at(label.span, "Invalid scaling policy name", detail));
            continue;
        }
        if let Some((_, first)) = seen.iter().find(|(n, _)| *n == name) {
            let place = ev.sources.range(*first);
            let detail = format!("Only one scaling {name} block is allowed. Another was defined at {place}.");
            ev.report(Diag::at(block.def, format!("Duplicate scaling {name:?} block"), detail));
            continue;
        }
        let implied = format!("vertical_{name}");
        let given = policy.get("Type").and_then(Json::as_str).unwrap_or("");
        if !given.is_empty() && given != implied {
            let detail = format!("Invalid policy type, expected {} but found {implied:?}", quoted(given));
            ev.report(Diag::at(block.def, "Invalid scaling policy type", detail));
        }
        if let Json::Object(policy) = policy {
            policy.remove("Label");
            policy.insert("Type".to_owned(), Json::String(implied));
        }
        seen.push((name, block.def));
    }
}

type Refusal = (&'static str, String);

fn unsuitable(text: impl std::fmt::Display) -> Refusal {
    ("Unsuitable value type", format!("Unsuitable value: {text}"))
}

const UNKNOWN: &str = "value must be known";
const NULL: &str = "null value is not allowed";

/// A value as JSON of this kind; `None` is "not set".
fn convert(value: &Value, kind: Kind) -> Result<Option<Json>, Refusal> {
    let ty = match kind {
        Kind::Str | Kind::OptStr => Type::String,
        Kind::Bool | Kind::OptBool => Type::Bool,
        Kind::Int { .. } => Type::Number,
        Kind::Strings => Type::list(Type::String),
        Kind::Ports => Type::list(Type::Number),
        Kind::StringMap => Type::map(Type::String),
        Kind::Duration => return duration(value).map(|n| Some(Json::from(n))),
    };
    let value = value.convert(&ty).map_err(unsuitable)?;
    if !value.is_wholly_known() {
        return Err(unsuitable(UNKNOWN));
    }
    let port = Kind::Int { min: 0, max: 65_535, null: false };
    match (&value, kind) {
        (Value::Null, Kind::Str | Kind::Bool | Kind::Int { null: false, .. }) => Err(unsuitable(NULL)),
        (Value::Null, _) => Ok(None),
        (Value::List(items), _) => {
            let element = if kind == Kind::Ports { port } else { Kind::Str };
            let items: Result<Vec<Json>, Refusal> = items.items().iter().map(|item| scalar(item, element)).collect();
            items.map(|items| Some(Json::Array(items)))
        }
        (Value::Map(entries), _) => {
            let entries = entries.entries().iter();
            let object: Result<Map<String, Json>, Refusal> =
                entries.map(|(name, item)| Ok((name.to_string(), scalar(item, Kind::Str)?))).collect();
            object.map(|object| Some(Json::Object(object)))
        }
        (scalar_value, _) => scalar(scalar_value, kind).map(Some),
    }
}

fn scalar(value: &Value, kind: Kind) -> Result<Json, Refusal> {
    match (value, kind) {
        (Value::String(text), _) => Ok(Json::from(&**text)),
        (Value::Bool(value), _) => Ok(Json::from(*value)),
        (Value::Number(number), Kind::Int { min, max, .. }) => whole(number, min, max).map_err(unsuitable),
        _ => Err(unsuitable(NULL)),
    }
}

fn whole(number: &Number, min: i128, max: i128) -> Result<Json, String> {
    let unsigned = min == 0;
    // A fraction is cut off where a field takes no negative numbers.
    let number = if unsigned && !number.is_negative() { number.floor() } else { number.clone() };
    let value = number.to_i64().map(i128::from).or_else(|| number.to_u64().map(i128::from));
    let json = value
        .filter(|v| number.is_whole() && (min..=max).contains(v))
        .and_then(|v| i64::try_from(v).map(Json::from).or_else(|_| u64::try_from(v).map(Json::from)).ok());
    let inclusive = if unsigned { " inclusive" } else { "" };
    json.ok_or_else(|| format!("value must be a whole number, between {min} and {max}{inclusive}"))
}

fn duration(value: &Value) -> Result<i64, Refusal> {
    match value {
        Value::Unknown => Err(unsuitable(UNKNOWN)),
        Value::Null => Err(("Unsuitable value", "Unsuitable duration value: nil".to_owned())),
        Value::String(text) => {
            parse_duration(text).map_err(|e| ("Unsuitable value type", format!("Unsuitable duration value: {e}")))
        }
        Value::Number(number) => {
            let refused = || format!("value must be a whole number, between {} and {}", i64::MIN, i64::MAX);
            number.to_i64().filter(|_| number.is_whole()).ok_or_else(|| unsuitable(refused()))
        }
        other => Err(unsuitable(format!("expected a string but found {}", debug_type(&other.ty())))),
    }
}

/// The reference prints a type's memory layout here.
fn debug_type(ty: &Type) -> String {
    let primitive = |kind: u8| format!("{{{{{{}} %!s(cty.primitiveTypeKind={kind})}}}}");
    match ty {
        Type::Any => "{{{}}}".to_owned(),
        Type::Bool => primitive(b'B'),
        Type::Number => primitive(b'N'),
        Type::String => primitive(b'S'),
        Type::List(element) | Type::Set(element) | Type::Map(element) => {
            format!("{{{{{{}} {}}}}}", debug_type(element))
        }
        Type::Tuple(items) => {
            let items: Vec<String> = items.iter().map(debug_type).collect();
            format!("{{{{{{}} [{}]}}}}", items.join(" "))
        }
        Type::Object(attributes) => {
            let attributes: Vec<String> =
                attributes.iter().map(|(name, ty)| format!("{name}:{}", debug_type(ty))).collect();
            format!("{{{{{{}} map[{}] map[]}}}}", attributes.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_duration_types_print_as_the_reference_does() {
        let (summary, detail) = duration(&Value::Bool(true)).unwrap_err();
        assert_eq!(summary, "Unsuitable value type");
        assert_eq!(detail, "Unsuitable value: expected a string but found {{{} %!s(cty.primitiveTypeKind=66)}}");
        let list = Value::tuple(vec!["x".into()]).unwrap();
        assert!(duration(&list).unwrap_err().1.ends_with("{{{} [{{{} %!s(cty.primitiveTypeKind=83)}}]}}"));
    }

    #[test]
    fn whole_numbers_are_checked() {
        let number = |text: &str| Number::parse(text).unwrap();
        assert_eq!(
            whole(&number("300"), 0, 255).unwrap_err(),
            "value must be a whole number, between 0 and 255 inclusive"
        );
        assert_eq!(whole(&number("1.5"), 0, 255).unwrap(), Json::from(1));
        assert!(whole(&number("1.5"), -128, 127).unwrap_err().ends_with("between -128 and 127"));
        assert_eq!(whole(&number("18446744073709551615"), 0, u64::MAX.into()).unwrap(), Json::from(u64::MAX));
        assert!(whole(&number("1e400"), 0, u64::MAX.into()).is_err());
    }
}
