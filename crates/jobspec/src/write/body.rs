//! Bodies of a job file from the members of a job, guided by the parser's tables.

use hcl_edit::expr::Expression;
use hcl_edit::structure::{Attribute, Block, Body};
use hcl_edit::{Decorate, Ident};
use serde_json::{Map, Value as Json};

use super::{is_zero, value};
use crate::parse::schema::{self, Inside, JOB, Kind, Occurs, Schema};

/// A step from a value to one inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
}

/// Takes the value at a path out of a document.
fn remove(document: &mut Json, path: &[Step]) {
    let Some((last, to)) = path.split_last() else { return };
    let parent = to.iter().try_fold(document, |value, step| match step {
        Step::Member(name) => value.get_mut(name),
        Step::Item(at) => value.get_mut(at),
    });
    match (parent, last) {
        (Some(Json::Object(members)), Step::Member(name)) => drop(members.remove(name)),
        (Some(Json::Array(items)), Step::Item(at)) if *at < items.len() => drop(items.remove(*at)),
        _ => {}
    }
}

/// The comment on a value or block that may be left out.
const DEFAULT: &str = "# default";

/// The file with the `job` block. `members` are those that a job file has ([`expressible`]); `same`: whether members make
/// the same job.
pub(super) fn job(id: &str, members: &Map<String, Json>, same: &dyn Fn(&Map<String, Json>) -> bool) -> Body {
    let mut writer = Writer { same, left: members.clone(), path: Vec::new() };
    let mut members = members.clone();
    // The label is the ID, and the name where there is no other.
    members.remove("ID");
    if members.get("Name").and_then(Json::as_str) == Some(id) {
        members.remove("Name");
    }
    let mut block = Block::builder(Ident::new("job")).label(id).build();
    block.body = writer.body(&members, &JOB, false);
    let mut file = Body::new();
    file.push(block);
    file
}

/// The members of a job that a job file can have: those without a place in the tables are removed.
pub(super) fn expressible(members: &Map<String, Json>) -> Map<String, Json> {
    let mut members = members.clone();
    retain_known(&mut members, &JOB);
    members
}

fn retain_known(members: &mut Map<String, Json>, schema: &Schema) {
    members.retain(|name, _| {
        schema.attributes.iter().any(|a| a.json() == *name) || schema.blocks.iter().any(|b| b.json() == *name)
    });
    for block in schema.blocks {
        let Inside::Schema(inside) = block.inside else { continue };
        let Some(value) = members.get_mut(&block.json()) else { continue };
        match (block.occurs, value) {
            (Occurs::Many, Json::Array(items)) => {
                items.iter_mut().filter_map(Json::as_object_mut).for_each(|item| retain_in(item, block, inside));
            }
            (Occurs::ByLabel, Json::Object(items)) => {
                items.values_mut().filter_map(Json::as_object_mut).for_each(|item| retain_in(item, block, inside));
            }
            (Occurs::Once | Occurs::OnceOfType | Occurs::Last, Json::Object(item)) => retain_in(item, block, inside),
            _ => {}
        }
    }
}

fn retain_in(members: &mut Map<String, Json>, block: &schema::Block, inside: &Schema) {
    let label = block.label.and_then(|label| members.remove_entry(label));
    retain_known(members, inside);
    members.extend(label);
}

struct Writer<'a> {
    /// Whether members make the same job.
    same: &'a dyn Fn(&Map<String, Json>) -> bool,
    /// The members without those that the file leaves out: what the file says. Whether a member is a default depends on
    /// the others, such as a group's on the job's, so nothing may stay here that is not written.
    left: Map<String, Json>,
    /// Where in the job the writer is.
    path: Vec<Step>,
}

impl Writer<'_> {
    /// The members without what is here, if they make the same job.
    fn without(&self) -> Option<Map<String, Json>> {
        let mut without = Json::Object(self.left.clone());
        remove(&mut without, &self.path);
        match without {
            Json::Object(members) if (self.same)(&members) => Some(members),
            _ => None,
        }
    }

    /// Whether what is here is a default. If it is nothing, the file leaves it out.
    fn is_default(&mut self, nothing: bool) -> bool {
        let Some(without) = self.without() else { return false };
        if nothing {
            self.left = without;
        }
        true
    }

    fn within<R>(&mut self, step: Step, run: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(step);
        let out = run(self);
        self.path.pop();
        out
    }

    /// A body by its table. `known`: the block is a default, so its values need no comments.
    fn body(&mut self, members: &Map<String, Json>, schema: &Schema, known: bool) -> Body {
        let mut body = Body::new();
        for attribute in schema.attributes {
            let json = attribute.json();
            let Some(value) = members.get(&json).filter(|v| !v.is_null()) else { continue };
            let nothing = is_zero(value) && !attribute.required;
            let default = (known && !nothing) || self.within(Step::Member(json), |w| w.is_default(nothing));
            if default && nothing {
                continue;
            }
            let expression = match attribute.kind {
                Kind::Duration => value::duration(value),
                _ => value::expression(value),
            };
            body.push(commented(attribute.name, expression, default && !known));
        }
        for block in schema.blocks {
            let json = block.json();
            let Some(value) = members.get(&json).filter(|v| !v.is_null()) else { continue };
            self.within(Step::Member(json), |w| w.blocks(block, value, known, &mut body));
        }
        body
    }

    /// The blocks of a type.
    fn blocks(&mut self, spec: &schema::Block, value: &Json, known: bool, out: &mut Body) {
        match (spec.occurs, value) {
            (Occurs::Many, Json::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let Json::Object(members) = item else { continue };
                    let label = spec.label.map(|l| members.get(l).and_then(Json::as_str).unwrap_or_default());
                    self.within(Step::Item(at), |w| w.block(spec, label, members, known, out));
                }
            }
            (Occurs::ByLabel, Json::Object(items)) => {
                for (label, item) in items {
                    let Json::Object(members) = item else { continue };
                    self.within(Step::Member(label.clone()), |w| w.block(spec, Some(label), members, known, out));
                }
            }
            (Occurs::Once | Occurs::OnceOfType | Occurs::Last, Json::Object(members)) => {
                let nothing = value::is_empty(value);
                let default = known || self.is_default(nothing);
                if default && nothing {
                    return;
                }
                let before = out.len();
                self.block(spec, None, members, default, out);
                if default
                    && !known
                    && let Some(block) = out.get_mut(before)
                {
                    let empty_line = if before > 0 { "\n" } else { "" };
                    block.decor_mut().set_prefix(format!("{empty_line}{DEFAULT}\n"));
                }
            }
            _ => {}
        }
    }

    fn block(
        &mut self,
        spec: &schema::Block,
        label: Option<&str>,
        members: &Map<String, Json>,
        known: bool,
        out: &mut Body,
    ) {
        let body = match &spec.inside {
            Inside::Schema(schema) => {
                let mut members = members.clone();
                // The label says it.
                if let Some(label) = spec.label {
                    members.remove(label);
                }
                if spec.name == "scaling" && spec.label.is_some() {
                    members.remove("Type");
                }
                self.body(&members, schema, known)
            }
            Inside::StringsOrMap if !members.keys().all(|name| value::is_name(name)) => {
                out.push(commented(spec.name, value::object(members), false));
                return;
            }
            Inside::Strings | Inside::StringsOrMap | Inside::StringLists => {
                let mut body = Body::new();
                for (name, value) in members.iter().filter(|(name, _)| value::is_name(name)) {
                    body.push(commented(name, value::expression(value), false));
                }
                body
            }
            Inside::Free => value::free(members),
            Inside::Constraint | Inside::Affinity => self.sides(members, known),
        };
        let mut builder = Block::builder(Ident::new(spec.name));
        if let Some(label) = label {
            builder = builder.label(label);
        }
        let mut block = builder.build();
        block.body = body;
        if !out.is_empty() {
            block.decor_mut().set_prefix("\n");
        }
        out.push(block);
    }

    /// `constraint` and `affinity`, by the short form where there is one (`docs/spec/jobspec.md §8.3`).
    fn sides(&mut self, members: &Map<String, Json>, known: bool) -> Body {
        let text = |name: &str| members.get(name).and_then(Json::as_str).unwrap_or_default();
        let (left, right, operand) = (text("LTarget"), text("RTarget"), text("Operand"));
        let mut body = Body::new();
        let mut push = |name: &str, text: &str| body.push(commented(name, value::text(text), false));
        match operand {
            "distinct_hosts" if left.is_empty() && right == "true" => {
                body.push(commented("distinct_hosts", Expression::from(true), false));
            }
            "distinct_property" if !left.is_empty() => {
                push("distinct_property", left);
                if !right.is_empty() {
                    push("value", right);
                }
            }
            "version" | "semver" | "regexp" | "set_contains" if !right.is_empty() => {
                if !left.is_empty() {
                    push("attribute", left);
                }
                push(operand, right);
            }
            _ => {
                if !left.is_empty() {
                    push("attribute", left);
                }
                if operand != "=" && !operand.is_empty() {
                    push("operator", operand);
                }
                if !right.is_empty() {
                    push("value", right);
                }
            }
        }
        if let Some(weight) = members.get("Weight").filter(|w| !w.is_null()) {
            let default = known || self.within(Step::Member("Weight".into()), |w| w.is_default(false));
            body.push(commented("weight", value::expression(weight), default && !known));
        }
        body
    }
}

/// An attribute, with a comment if its value is the default.
fn commented(name: &str, value: Expression, default: bool) -> Attribute {
    let mut attribute = Attribute::new(Ident::new_sanitized(name), value);
    if default {
        attribute.value.decor_mut().set_suffix(format!(" {DEFAULT}"));
    }
    attribute
}
