//! From the arguments of a call to the arguments of a command.
//!
//! A value is always part of one argument: `-flag=value`, or a word that does not begin with `-`. So no value is taken
//! as a flag, whatever it holds.

use serde_json::{Map, Value, json};

/// The longest value, in bytes.
const MAX_VALUE: usize = 4096;
/// The longest job file, in bytes.
const MAX_JOB: usize = 1 << 20;
/// The most values of a list.
const MAX_VALUES: usize = 64;
/// The largest number.
const MAX_COUNT: u64 = 1_000_000_000;

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word behind the flags: the ID or name of an object.
    Word,
    /// Words behind the flags.
    Words,
    /// The value of a flag.
    Flag,
    /// Values of a flag that can be repeated.
    Flags,
    /// One of these values of a flag.
    Choice(&'static [&'static str]),
    /// A flag that is given or not.
    Switch,
    /// A number that is the value of a flag.
    Count,
    /// The text of a job file, which the command reads from its standard input as `-`.
    Job,
    /// The text of a job file, which the command reads from its standard input as the value of a flag.
    JobFlag,
    /// The language of the job file: `hcl` or `json`.
    Language,
}

/// The languages of job files.
const LANGUAGES: &[&str] = &["hcl", "json"];

/// A parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, which is that of the flag with `_` for `-`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether a call must have it.
    pub required: bool,
    /// What it means.
    pub description: &'static str,
}

/// Why the arguments of a call are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The tool has no such parameter. Names are cut.
    #[error("unknown argument \"{0}\"; the tool takes: {1}")]
    Unknown(String, String),
    /// A required argument is missing.
    #[error("the argument \"{0}\" is missing")]
    Missing(&'static str),
    /// The value has another type.
    #[error("the argument \"{0}\" must be {1}")]
    Type(&'static str, &'static str),
    /// The value is empty, too long, or has control characters.
    #[error("the argument \"{0}\" must have 1 to {MAX_VALUE} bytes without control characters")]
    Text(&'static str),
    /// The job file is empty, too long, or has a null character.
    #[error("the argument \"{0}\" must be the text of a job file of 1 to {MAX_JOB} bytes")]
    Job(&'static str),
    /// A word begins as flags do.
    #[error("the argument \"{0}\" must not begin with \"-\"")]
    Dash(&'static str),
    /// A list has too many values.
    #[error("the argument \"{0}\" must have at most {MAX_VALUES} values")]
    Many(&'static str),
    /// The value is none of those that exist.
    #[error("the argument \"{0}\" must be one of: {1}")]
    Choice(&'static str, String),
}

/// The checked arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Flags of a command.
    pub flags: Vec<String>,
    /// Words behind its flags.
    pub words: Vec<String>,
    /// Its standard input.
    pub input: String,
    values: Vec<(&'static str, String)>,
}

impl Arguments {
    /// The arguments of a call, checked against the parameters of the tool.
    ///
    /// # Errors
    /// [`Refused`]: the first argument that does not fit the parameters.
    pub fn of(parameters: &[Parameter], given: &Map<String, Value>) -> Result<Arguments, Refused> {
        if let Some(name) = given.keys().find(|name| parameters.iter().all(|p| p.name != name.as_str())) {
            let known: Vec<&str> = parameters.iter().map(|p| p.name).collect();
            return Err(Refused::Unknown(name.escape_debug().take(40).collect(), known.join(", ")));
        }
        let mut arguments = Arguments::default();
        for parameter in parameters {
            match given.get(parameter.name) {
                Some(value) if !value.is_null() => arguments.add(parameter, value)?,
                _ if parameter.required => return Err(Refused::Missing(parameter.name)),
                _ => {}
            }
        }
        Ok(arguments)
    }

    /// A word alone.
    pub fn of_word(word: String) -> Arguments {
        Arguments { words: vec![word], ..Arguments::default() }
    }

    /// The value of a parameter that takes one.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    fn add(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Refused> {
        let name = parameter.name;
        let flag = format!("-{}", name.replace('_', "-"));
        match parameter.kind {
            Kind::Word => {
                let word = word(name, value)?;
                self.values.push((name, word.clone()));
                self.words.push(word);
            }
            Kind::Words => {
                for value in list(name, value)? {
                    self.words.push(word(name, value)?);
                }
            }
            Kind::Flag => self.set(name, &flag, text(name, value)?),
            Kind::Flags => {
                for value in list(name, value)? {
                    self.flags.push(format!("{flag}={}", text(name, value)?));
                }
            }
            Kind::Choice(choices) => self.set(name, &flag, choice(name, value, choices)?),
            Kind::Switch => {
                if value.as_bool().ok_or(Refused::Type(name, "true or false"))? {
                    self.values.push((name, "true".into()));
                    self.flags.push(flag);
                }
            }
            Kind::Count => {
                let number = value.as_u64().filter(|n| *n <= MAX_COUNT);
                let number = number.ok_or(Refused::Type(name, "a whole number from 0 to 1000000000"))?;
                self.set(name, &flag, &number.to_string());
            }
            Kind::Job => {
                self.input = job(name, value)?;
                self.words.push("-".into());
            }
            Kind::JobFlag => {
                self.input = job(name, value)?;
                self.flags.push(format!("{flag}=/dev/stdin"));
            }
            Kind::Language => {
                if choice(name, value, LANGUAGES)? == "json" {
                    self.flags.push("-json".into());
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, flag: &str, value: &str) {
        self.values.push((name, value.to_string()));
        self.flags.push(format!("{flag}={value}"));
    }
}

fn text<'a>(name: &'static str, value: &'a Value) -> Result<&'a str, Refused> {
    let text = value.as_str().ok_or(Refused::Type(name, "a string"))?;
    let fits = (1..=MAX_VALUE).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits { Ok(text) } else { Err(Refused::Text(name)) }
}

fn word(name: &'static str, value: &Value) -> Result<String, Refused> {
    let word = text(name, value)?;
    if word.starts_with('-') { Err(Refused::Dash(name)) } else { Ok(word.to_string()) }
}

fn list<'a>(name: &'static str, value: &'a Value) -> Result<&'a Vec<Value>, Refused> {
    let values = value.as_array().ok_or(Refused::Type(name, "a list of strings"))?;
    if values.len() > MAX_VALUES { Err(Refused::Many(name)) } else { Ok(values) }
}

fn choice<'a>(name: &'static str, value: &'a Value, choices: &[&str]) -> Result<&'a str, Refused> {
    let given = value.as_str().ok_or(Refused::Type(name, "a string"))?;
    if choices.contains(&given) { Ok(given) } else { Err(Refused::Choice(name, choices.join(", "))) }
}

fn job(name: &'static str, value: &Value) -> Result<String, Refused> {
    let text = value.as_str().ok_or(Refused::Type(name, "a string: the text of the job file"))?;
    let fits = (1..=MAX_JOB).contains(&text.len()) && !text.contains('\0');
    if fits { Ok(text.to_string()) } else { Err(Refused::Job(name)) }
}

/// The JSON schema of the arguments.
pub fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    for parameter in parameters {
        let mut property = property(parameter.kind);
        if let Some(property) = property.as_object_mut() {
            property.insert("description".into(), parameter.description.into());
        }
        properties.insert(parameter.name.into(), property);
    }
    let required: Vec<Value> = parameters.iter().filter(|p| p.required).map(|p| p.name.into()).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
    schema.insert("additionalProperties".into(), false.into());
    schema
}

fn property(kind: Kind) -> Value {
    let text = json!({"type": "string", "minLength": 1, "maxLength": MAX_VALUE});
    match kind {
        Kind::Word | Kind::Flag => text,
        Kind::Words | Kind::Flags => json!({"type": "array", "maxItems": MAX_VALUES, "items": text}),
        Kind::Choice(choices) => json!({"type": "string", "enum": choices}),
        Kind::Language => json!({"type": "string", "enum": LANGUAGES}),
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Count => json!({"type": "integer", "minimum": 0, "maximum": MAX_COUNT}),
        Kind::Job | Kind::JobFlag => json!({"type": "string", "minLength": 1, "maxLength": MAX_JOB}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter { name: "job", kind: Kind::Word, required: true, description: "A job." },
        Parameter { name: "node_pool", kind: Kind::Flag, required: false, description: "A pool." },
        Parameter { name: "drain", kind: Kind::Flags, required: false, description: "Nodes." },
        Parameter { name: "loss", kind: Kind::Choice(&["node", "dc"]), required: false, description: "A loss." },
        Parameter { name: "all", kind: Kind::Switch, required: false, description: "All." },
        Parameter { name: "batch", kind: Kind::Count, required: false, description: "A number." },
        Parameter { name: "fit", kind: Kind::JobFlag, required: false, description: "A job file." },
        Parameter { name: "format", kind: Kind::Language, required: false, description: "Its language." },
    ];

    fn of(given: &Value) -> Result<Arguments, Refused> {
        Arguments::of(PARAMETERS, given.as_object().expect("an object"))
    }

    #[test]
    fn values_stay_in_one_argument() {
        let got = of(&json!({"job": "web; rm", "node_pool": "-force", "drain": ["a b", "--x"], "loss": "dc",
            "all": true, "batch": 3, "fit": "job \"a\" {\n}", "format": "json"}))
        .expect("arguments");
        let flags =
            ["-node-pool=-force", "-drain=a b", "-drain=--x", "-loss=dc", "-all", "-batch=3", "-fit=/dev/stdin"];
        assert_eq!(got.flags[..7], flags.map(String::from));
        assert_eq!((got.flags[7].as_str(), got.words.join("|").as_str()), ("-json", "web; rm"));
        assert_eq!((got.value("loss"), got.value("drain"), got.input.len()), (Some("dc"), None, 11));
        // What is null or false is not given.
        assert_eq!(of(&json!({"job": "a", "all": false, "loss": null})).expect("arguments").flags.len(), 0);
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let refused = |given: Value| of(&given).expect_err("refused");
        assert_eq!(refused(json!({})), Refused::Missing("job"));
        assert_eq!(refused(json!({"job": null})), Refused::Missing("job"));
        assert_eq!(refused(json!({"job": "-purge"})), Refused::Dash("job"));
        assert_eq!(refused(json!({"job": 1})), Refused::Type("job", "a string"));
        assert_eq!(refused(json!({"job": "a\u{0}"})), Refused::Text("job"));
        assert_eq!(refused(json!({"job": "x".repeat(10 << 20)})), Refused::Text("job"));
        assert_eq!(refused(json!({"job": "a", "drain": vec!["n"; 65]})), Refused::Many("drain"));
        assert_eq!(refused(json!({"job": "a", "loss": "rack"})), Refused::Choice("loss", "node, dc".into()));
        for number in [json!(-1), json!(1.5), json!("3"), json!(2_000_000_000_u64)] {
            assert!(matches!(refused(json!({"job": "a", "batch": number})), Refused::Type("batch", _)));
        }
        assert_eq!(refused(json!({"job": "a", "fit": "x".repeat(2 << 20)})), Refused::Job("fit"));
        assert!(matches!(refused(json!({"job": "a", "all": "yes"})), Refused::Type("all", _)));
        assert!(matches!(refused(json!({"job": "a", "force": true})), Refused::Unknown(name, _) if name == "force"));
    }

    #[test]
    fn the_schema_names_what_is_required_and_nothing_else() {
        let schema = schema(PARAMETERS);
        assert_eq!(schema["required"], json!(["job"]));
        assert_eq!(schema["properties"]["drain"]["maxItems"], MAX_VALUES);
        assert_eq!(schema["properties"]["loss"]["enum"], json!(["node", "dc"]));
        assert_eq!(schema["additionalProperties"], false);
    }
}
