//! Answers of the servers as values of templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::reads::{ApiAnswer, NoAnswer};
use encamp_template::value::Map;
use encamp_template::{Answer, Dependency, Object, Value};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Variable {
    namespace: String,
    path: String,
    create_index: i64,
    modify_index: i64,
    create_time: i64,
    modify_time: i64,
    items: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Service {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "ServiceName")]
    name: String,
    #[serde(rename = "NodeID")]
    node: String,
    #[serde(rename = "Address")]
    address: String,
    #[serde(rename = "Port")]
    port: i64,
    #[serde(rename = "Datacenter")]
    datacenter: String,
    #[serde(rename = "Tags")]
    tags: Option<Vec<String>>,
    #[serde(rename = "JobID")]
    job: String,
    #[serde(rename = "AllocID")]
    alloc: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Names {
    services: Vec<Name>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Name {
    service_name: String,
    tags: Option<Vec<String>>,
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, NoAnswer> {
    // The error of the parser could show a part of the answer.
    serde_json::from_slice(body).map_err(|_| NoAnswer::Form)
}

/// What an answer says of a dependency.
pub(crate) fn answer(dependency: &Dependency, answer: &ApiAnswer) -> Result<Answer, NoAnswer> {
    let found = match answer.status {
        200 => true,
        404 if matches!(dependency, Dependency::Variable(_) | Dependency::VariableExists(_)) => false,
        other => return Err(NoAnswer::Status(other)),
    };
    let made = match dependency {
        Dependency::VariableExists(_) => return Ok(Answer::Ready(Value::Bool(found))),
        _ if !found => return Ok(Answer::Missing),
        Dependency::Variable(_) => items(&read(&answer.body)?),
        Dependency::VariableList(_) | Dependency::VariableListSafe(_) => {
            let mut list: Vec<Variable> = read::<Option<Vec<Variable>>>(&answer.body)?.unwrap_or_default();
            if list.is_empty() && matches!(dependency, Dependency::VariableListSafe(_)) {
                return Ok(Answer::Missing);
            }
            list.sort_by(|a, b| (&a.namespace, &a.path).cmp(&(&b.namespace, &b.path)));
            Value::list(list.iter().map(metadata).collect()).map_err(|_| NoAnswer::Form)
        }
        Dependency::Service { choose, .. } => {
            let mut list: Vec<Service> = read::<Option<Vec<Service>>>(&answer.body)?.unwrap_or_default();
            if choose.is_none() {
                list.sort_by(|a, b| a.id.cmp(&b.id));
            }
            Value::list(list.into_iter().map(service).collect::<Result<_, _>>()?).map_err(|_| NoAnswer::Form)
        }
        Dependency::Services => {
            let lists: Vec<Names> = read::<Option<Vec<Names>>>(&answer.body)?.unwrap_or_default();
            let mut names: Vec<Name> = lists.into_iter().flat_map(|l| l.services).collect();
            names.sort_by(|a, b| a.service_name.cmp(&b.service_name));
            let object = |name: Name| {
                let fields =
                    [("Name", Value::text(name.service_name)), ("Tags", texts(name.tags.unwrap_or_default())?)];
                Ok(Value::object(Object { type_name: "nomadServiceName", fields: fields.into(), ..Object::default() }))
            };
            Value::list(names.into_iter().map(object).collect::<Result<_, NoAnswer>>()?).map_err(|_| NoAnswer::Form)
        }
        Dependency::File(_) => return Err(NoAnswer::Form),
    };
    made.map(Answer::Ready)
}

fn texts(texts: Vec<String>) -> Result<Value, NoAnswer> {
    Value::texts(texts).map_err(|_| NoAnswer::Form)
}

fn metadata(v: &Variable) -> Value {
    let fields = [
        ("Namespace", Value::text(v.namespace.as_str())),
        ("Path", Value::text(v.path.as_str())),
        ("CreateIndex", Value::Int(v.create_index)),
        ("ModifyIndex", Value::Int(v.modify_index)),
        ("CreateTime", Value::Int(v.create_time)),
        ("ModifyTime", Value::Int(v.modify_time)),
    ];
    let text = Some(Arc::from(v.path.as_str()));
    Value::object(Object { type_name: "nomadVarMeta", fields: fields.into(), entries: None, text })
}

/// The items of the variable that an answer holds; `None`: there is no such variable.
pub(crate) fn variable_items(answer: &ApiAnswer) -> Result<Option<BTreeMap<String, String>>, NoAnswer> {
    match answer.status {
        200 => Ok(Some(read::<Variable>(&answer.body)?.items)),
        404 => Ok(None),
        other => Err(NoAnswer::Status(other)),
    }
}

/// The items of a variable: a map with `.Keys`, `.Values`, `.Tuples`, `.Metadata` and `.Parent`.
fn items(v: &Variable) -> Result<Value, NoAnswer> {
    let about = metadata(v);
    let item = |key: &str, value: &str| {
        let fields = [
            ("Key", Value::text(key)),
            ("Value", Value::text(value)),
            ("Metadata", about.clone()),
            ("Parent", about.clone()),
        ];
        Value::object(Object {
            type_name: "nomadVarItem",
            fields: fields.into(),
            entries: None,
            text: Some(Arc::from(value)),
        })
    };
    let all: Vec<(&String, Value)> = v.items.iter().map(|(k, value)| (k, item(k, value))).collect();
    let list = |values: Vec<Value>| Value::list(values).map_err(|_| NoAnswer::Form);
    let tuple = |(key, item): &(&String, Value)| {
        let fields = [("K", Value::text(key.as_str())), ("V", item.clone())];
        Value::object(Object { type_name: "nomadVarTuple", fields: fields.into(), ..Object::default() })
    };
    let fields = [
        ("Keys", texts(v.items.keys().cloned().collect())?),
        ("Values", list(all.iter().map(|(_, item)| item.clone()).collect())?),
        ("Tuples", list(all.iter().map(tuple).collect())?),
        ("Metadata", about.clone()),
        ("Parent", about.clone()),
    ];
    let entries = Map::new(all.iter().map(|(k, item)| (Arc::from(k.as_str()), item.clone())).collect());
    let entries = Some(entries.map_err(|_| NoAnswer::Form)?);
    Ok(Value::object(Object { type_name: "nomadVarItems", fields: fields.into(), entries, text: None }))
}

fn service(s: Service) -> Result<Value, NoAnswer> {
    let fields = [
        ("ID", Value::text(s.id)),
        ("Name", Value::text(s.name)),
        ("Node", Value::text(s.node)),
        ("Address", Value::text(s.address)),
        ("Port", Value::Int(s.port)),
        ("Datacenter", Value::text(s.datacenter)),
        ("Tags", texts(s.tags.unwrap_or_default())?),
        ("JobID", Value::text(s.job)),
        ("AllocID", Value::text(s.alloc)),
    ];
    Ok(Value::object(Object { type_name: "nomadService", fields: fields.into(), ..Object::default() }))
}
