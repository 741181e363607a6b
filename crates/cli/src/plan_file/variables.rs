//! Fingerprints of the values of variables: what a plan was made with, without the values.
//!
//! Values may be secret, and short ones can be guessed from a plain hash. A fingerprint is therefore PBKDF2 (RFC 8018)
//! with HMAC-SHA-256 and a salt of the file.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::pbkdf2::{PBKDF2_HMAC_SHA256, derive};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::context::Environment;
use crate::error::{CommandError, CommandResult};
use crate::job_file::VariableFlags;
use encamp_model::quoted;

/// The number of iterations: a guess costs some hundredths of a second.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(100_000).unwrap();
/// The length of the salt, bytes.
const SALT: usize = 16;
/// The length of a fingerprint, bytes.
const LENGTH: usize = 32;
/// The beginning of the names of environment variables with values.
const PREFIX: &str = "NOMAD_VAR_";

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The flag `-var`.
    Flag,
    /// A file of the flag `-var-file`.
    File,
    /// An environment variable `NOMAD_VAR_…`.
    Environment,
}

impl Origin {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Flag => "flag",
            Origin::File => "file",
            Origin::Environment => "environment",
        }
    }
}

/// The fingerprint of one value, or of one file of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Fingerprint {
    /// Where the value came from.
    pub origin: Origin,
    /// The name of the variable, or the path of the file as it was given.
    pub name: String,
    /// The fingerprint, in base64.
    pub fingerprint: String,
}

/// All fingerprints of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Fingerprints {
    /// The salt, in base64.
    pub salt: String,
    /// In the order of the command line; those of the environment last, by name.
    pub values: Vec<Fingerprint>,
}

impl Fingerprints {
    /// The fingerprints of the values that the flags and the environment give.
    ///
    /// # Errors
    /// The system gives no random numbers, or a file cannot be read.
    pub fn new(flags: &VariableFlags, env: &Environment) -> CommandResult<Fingerprints> {
        let mut salt = [0_u8; SALT];
        SystemRandom::new().fill(&mut salt).map_err(|_| CommandError::new("The system has no random numbers"))?;
        let mut values = given(flags, env, &salt)?;
        let environment = env.vars.iter().filter_map(|(k, v)| Some((k.strip_prefix(PREFIX)?, v)));
        values.extend(environment.map(|(name, v)| fingerprint(Origin::Environment, name, v.as_bytes(), &salt)));
        Ok(Fingerprints { salt: STANDARD.encode(salt), values })
    }

    /// The values of flags and files, which a submission contains.
    pub fn submitted(&self) -> impl Iterator<Item = &Fingerprint> {
        self.values.iter().filter(|v| match v.origin {
            Origin::Flag | Origin::File => true,
            Origin::Environment => false,
        })
    }

    /// Requires that the flags give the same values.
    ///
    /// # Errors
    /// A value differs, is missing or is new, or a file cannot be read.
    pub fn require(&self, flags: &VariableFlags, env: &Environment) -> CommandResult<()> {
        let salt = STANDARD.decode(&self.salt).map_err(|_| CommandError::new("The salt of the plan is damaged"))?;
        let given = given(flags, env, &salt)?;
        let recorded: Vec<&Fingerprint> = self.submitted().collect();
        for value in &given {
            let same = |r: &&&Fingerprint| r.origin == value.origin && r.name == value.name;
            match recorded.iter().rfind(same) {
                None => return Err(differs(value, "was not given when the plan was made")),
                Some(r) if r.fingerprint != value.fingerprint => {
                    return Err(differs(value, "has another value than when the plan was made"));
                }
                Some(_) => {}
            }
        }
        match recorded.iter().find(|r| !given.iter().any(|v| v.origin == r.origin && v.name == r.name)) {
            Some(missing) => Err(differs(missing, "is missing: give all variables of the plan, or none")),
            None => Ok(()),
        }
    }
}

fn differs(value: &Fingerprint, why: &str) -> CommandError {
    let flag = match value.origin {
        Origin::Flag => "-var",
        Origin::File => "-var-file",
        Origin::Environment => "NOMAD_VAR_",
    };
    CommandError::new(format!("{flag} {} {why}", quoted(&value.name)))
}

fn given(flags: &VariableFlags, env: &Environment, salt: &[u8]) -> CommandResult<Vec<Fingerprint>> {
    let pairs = flags.var.iter().filter_map(|v| v.split_once('='));
    let mut out: Vec<Fingerprint> =
        pairs.map(|(name, value)| fingerprint(Origin::Flag, name, value.as_bytes(), salt)).collect();
    for file in &flags.var_file {
        let content = std::fs::read(env.directory.join(file))
            .map_err(|e| CommandError::new(e).within(format!("Error reading {}", quoted(file))))?;
        out.push(fingerprint(Origin::File, file, &content, salt));
    }
    Ok(out)
}

fn fingerprint(origin: Origin, name: &str, value: &[u8], salt: &[u8]) -> Fingerprint {
    // The name ends at the first zero byte, so that no two pairs of name and value are the same bytes.
    let secret = [origin.name().as_bytes(), b"\0", name.as_bytes(), b"\0", value].concat();
    let mut out = [0_u8; LENGTH];
    derive(PBKDF2_HMAC_SHA256, ITERATIONS, salt, &secret, &mut out);
    Fingerprint { origin, name: name.to_string(), fingerprint: STANDARD.encode(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(values: &[&str]) -> VariableFlags {
        let var = values.iter().map(|v| (*v).to_string()).collect();
        VariableFlags { hcl2_strict: true, var, var_file: Vec::new() }
    }

    #[test]
    fn values_are_compared_and_not_kept() {
        let mut env = Environment::default();
        env.vars.insert("NOMAD_VAR_zone".into(), "secret-zone".into());
        let made = Fingerprints::new(&flags(&["image=secret-image", "n=1"]), &env).unwrap();
        let text = serde_json::to_string(&made).unwrap();
        assert!(!text.contains("secret-"), "{text}");
        assert_eq!(made.values.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["image", "n", "zone"]);
        let said = |given: &[&str]| made.require(&flags(given), &env).map_err(|e| e.to_string());
        assert_eq!(said(&["n=1", "image=secret-image"]), Ok(()));
        assert_eq!(
            said(&["image=x", "n=1"]),
            Err("-var \"image\" has another value than when the plan was made".into())
        );
        assert_eq!(said(&["n=1"]), Err("-var \"image\" is missing: give all variables of the plan, or none".into()));
        assert_eq!(
            said(&["image=secret-image", "n=1", "m=2"]),
            Err("-var \"m\" was not given when the plan was made".into())
        );
        let again = Fingerprints::new(&flags(&["n=1"]), &Environment::default()).unwrap();
        assert_ne!(again.values[0].fingerprint, made.values[1].fingerprint, "each file has its salt");
    }
}
