//! The names of objects of the cluster that completion received a moment ago: a key that is pressed again needs no
//! request.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use encamp_host::platform::files::{DirBuilderExt, OpenOptionsExt};
use sha2::{Digest, Sha256};

use super::super::cluster::cache_directory;
use super::super::context::Environment;
use super::super::object_kinds::Objects;
use super::candidates::{Candidate, Ending};
use encamp_api::Config;

/// How long names are used again.
const LIFETIME: Duration = Duration::from_secs(5);
/// When a file is removed.
const OLD: Duration = Duration::from_secs(60);
/// The size of the largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// The file of the names for one request.
pub struct Cache {
    directory: PathBuf,
    name: String,
}

impl Cache {
    /// The file for a connection, a kind of objects and a prefix; `None` if the user has no cache directory. Who has
    /// another token gets another file.
    pub fn of(config: &Config, objects: Objects, prefix: &str, env: &Environment) -> Option<Cache> {
        let secret = |s: &Option<encamp_model::SecretString>| s.as_ref().map(|s| s.expose().to_string());
        let login = config.http_auth.as_ref().map(|(user, password)| (user.clone(), secret(password)));
        let tls = (&config.tls.ca_cert, &config.tls.ca_path, &config.tls.client_cert, &config.tls.client_key);
        let of_tls = (&config.tls.server_name, config.tls.skip_verify);
        let place = (&config.address, &config.region, &config.namespace);
        let key = format!("{:?}", (place, secret(&config.token), login, tls, of_tls, objects, prefix));
        let name = Sha256::digest(key).iter().map(|b| format!("{b:02x}")).collect();
        Some(Cache { directory: cache_directory(env)?.join("completion"), name })
    }

    /// The names, if they are new enough.
    pub fn read(&self) -> Option<Vec<Candidate>> {
        let file = File::open(self.directory.join(&self.name)).ok()?;
        let written = file.metadata().ok()?.modified().ok()?;
        // A clock that was set back says nothing.
        SystemTime::now().duration_since(written).ok().filter(|age| *age <= LIFETIME)?;
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        let rows: Vec<(String, String)> = serde_json::from_str(&text).ok()?;
        let candidate = |(text, description)| Candidate { text, description, ending: Ending::Complete };
        Some(rows.into_iter().map(candidate).collect())
    }

    /// Keeps the names; files that nobody reads any more are removed. A cache that can't be written is no error.
    pub fn write(&self, found: &[Candidate]) {
        let _ = self.replace(found).and_then(|()| remove_old(&self.directory));
    }

    fn replace(&self, found: &[Candidate]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let rows: Vec<(&str, &str)> = found.iter().map(|c| (c.text.as_str(), c.description.as_str())).collect();
        let unfinished = self.directory.join(format!("{}.{}", self.name, std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(&rows)?)?;
        std::fs::rename(&unfinished, self.directory.join(&self.name))
    }
}

fn remove_old(directory: &Path) -> io::Result<()> {
    for entry in directory.read_dir()?.flatten() {
        let written = entry.metadata().and_then(|m| m.modified())?;
        if SystemTime::now().duration_since(written).is_ok_and(|age| age > OLD) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Candidate {
        Candidate { text: text.into(), description: "a job".into(), ending: Ending::Complete }
    }

    #[test]
    fn names_are_kept_for_a_moment_and_for_one_token() {
        let folder = std::env::temp_dir().join(format!("encamp-completion-cache-{}", std::process::id()));
        let home = folder.to_str().expect("a path").to_string();
        let env = Environment { vars: [("XDG_CACHE_HOME".to_string(), home)].into(), ..Environment::default() };
        let cache = |token: &str, prefix: &str| {
            let config = Config { token: Some(encamp_model::SecretString::new(token)), ..Config::default() };
            Cache::of(&config, Objects::Jobs, prefix, &env).expect("a cache")
        };
        let own = cache("a", "we");
        assert!(own.read().is_none());
        own.write(&[named("web")]);
        assert_eq!(own.read(), Some(vec![named("web")]));
        assert!(cache("b", "we").read().is_none() && cache("a", "w").read().is_none());
        let age = |secs: u64| {
            let file = File::options().write(true).open(own.directory.join(&own.name)).expect("the file");
            file.set_modified(SystemTime::now() - Duration::from_secs(secs)).expect("a time");
        };
        age(10);
        assert!(own.read().is_none());
        age(100);
        cache("b", "").write(&[]);
        let names: Vec<_> = own.directory.read_dir().expect("files").flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, [cache("b", "").name.as_str()], "the old file is gone");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
        assert!(Cache::of(&Config::default(), Objects::Jobs, "", &Environment::default()).is_none());
    }
}
