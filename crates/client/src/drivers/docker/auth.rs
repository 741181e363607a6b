//! Logins at registries: of the task, of a file as `docker login` writes it, of a credential helper
//! (`docs/spec/client.md §23.3`). Passwords are in no message.

use std::collections::BTreeMap;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bollard::auth::DockerCredentials;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::task_config::{Login, TaskConfig};
use crate::config::docker::DockerConfig;

/// The registry of images that name none, as files with logins spell it.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// Other spellings of it.
const HUB_NAMES: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];
/// How long a helper may take.
const HELPER: Duration = Duration::from_secs(15);
/// How much a helper may write, and how large a file with logins may be.
const MOST: u64 = 1 << 20;
/// The name of a user whose password is a token.
const TOKEN: &str = "<token>";

/// Why a login is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthError {
    /// The file can't be read.
    #[error("failed to read the logins of registries in {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is none with logins.
    #[error("failed to read the logins of registries in {0}: it is no configuration file of Docker")]
    Format(String),
    /// The helper does not run.
    #[error("failed to run {program}: {source}")]
    Helper {
        /// Its name.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The helper answers nothing that can be used.
    #[error("{0} gave no login that can be used")]
    Answer(String),
}

/// The part of a configuration file of Docker with logins.
#[derive(Deserialize, Default)]
#[serde(default)]
struct File {
    auths: BTreeMap<String, Entry>,
    #[serde(rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(rename = "credsStore")]
    store: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
    email: String,
    identitytoken: String,
}

/// What a helper answers.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// The registry of an image; none: Docker Hub.
pub(super) fn registry(image: &str) -> Option<&str> {
    let (first, _) = image.split_once('/')?;
    (first.contains(['.', ':']) || first == "localhost").then_some(first)
}

/// The login as the daemon gets it.
pub(super) fn credentials(login: &Login) -> DockerCredentials {
    let set = |text: &str| (!text.is_empty()).then(|| text.to_string());
    DockerCredentials {
        username: set(&login.username),
        password: set(login.password.expose()),
        email: set(&login.email),
        serveraddress: set(&login.server),
        identitytoken: set(login.identity_token.expose()),
        ..DockerCredentials::default()
    }
}

/// The login for the image of a task; none: the image is for everybody.
///
/// # Errors
/// A login is configured, but can't be read; not if the task takes that lightly.
pub(super) async fn find(config: &DockerConfig, task: &TaskConfig) -> Result<Option<Login>, AuthError> {
    if let Some(login) = &task.auth {
        return Ok(Some(login.clone()));
    }
    let registry = registry(&task.image);
    let found = async {
        if !config.auth_config.is_empty()
            && let Some(login) = of_file(&config.auth_config, registry).await?
        {
            return Ok(Some(login));
        }
        if config.auth_helper.is_empty() {
            return Ok(None);
        }
        of_helper(&config.auth_helper, registry).await
    };
    match found.await {
        Err(error) if task.auth_soft_fail => {
            tracing::warn!(target: "client.driver_mgr.docker", %error, "the image is pulled without a login");
            Ok(None)
        }
        found => found,
    }
}

async fn of_file(path: &str, registry: Option<&str>) -> Result<Option<Login>, AuthError> {
    let wrong = |source| AuthError::File { path: path.into(), source };
    let mut text = Vec::new();
    let file = tokio::fs::File::open(path).await.map_err(wrong)?;
    file.take(MOST).read_to_end(&mut text).await.map_err(wrong)?;
    let file: File = serde_json::from_slice(&text).map_err(|_| AuthError::Format(path.into()))?;
    let names: Vec<&str> = match registry {
        Some(name) => vec![name],
        None => std::iter::once(DOCKER_HUB).chain(HUB_NAMES).collect(),
    };
    // Older files have addresses in place of names.
    let host = |key: &str| {
        key.trim_start_matches("https://").trim_start_matches("http://").split('/').next().map(String::from)
    };
    let is_meant = |key: &str| names.contains(&key) || host(key).is_some_and(|h| names.contains(&h.as_str()));
    if let Some((_, helper)) = file.helpers.iter().find(|(k, _)| is_meant(k)) {
        return of_helper(helper, registry).await;
    }
    if let Some((key, entry)) = file.auths.iter().find(|(k, _)| is_meant(k))
        && let Some(login) = of_entry(key, entry).ok_or_else(|| AuthError::Format(path.into()))?
    {
        return Ok(Some(login));
    }
    if file.store.is_empty() { Ok(None) } else { of_helper(&file.store, registry).await }
}

/// The login of an entry: its inner value is none for an empty entry, which says that the store has it.
fn of_entry(server: &str, entry: &Entry) -> Option<Option<Login>> {
    let (username, password) = if entry.auth.is_empty() {
        (entry.username.clone(), entry.password.clone())
    } else {
        let text = String::from_utf8(STANDARD.decode(entry.auth.trim()).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        (user.to_string(), password.trim_end_matches('\0').to_string())
    };
    if username.is_empty() && entry.identitytoken.is_empty() {
        return Some(None);
    }
    Some(Some(Login {
        username,
        password: password.into(),
        email: entry.email.clone(),
        server: server.into(),
        identity_token: entry.identitytoken.as_str().into(),
    }))
}

async fn of_helper(name: &str, registry: Option<&str>) -> Result<Option<Login>, AuthError> {
    let program = format!("docker-credential-{name}");
    // The name is not to lead to any program.
    if name.contains('/') {
        return Err(AuthError::Answer(program));
    }
    let server = registry.unwrap_or(DOCKER_HUB);
    let asked = tokio::time::timeout(HELPER, ask(&program, server)).await;
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("it did not answer within {HELPER:?}"));
    let answered = asked.unwrap_or_else(|_| Err(late()));
    let (success, text) = answered.map_err(|source| AuthError::Helper { program: program.clone(), source })?;
    if !success {
        // It has no login for that registry.
        return Ok(None);
    }
    let answer: Answer = serde_json::from_slice(&text).map_err(|_| AuthError::Answer(program))?;
    let is_token = answer.username == TOKEN;
    let (password, token) = if is_token { (String::new(), answer.secret) } else { (answer.secret, String::new()) };
    Ok(Some(Login {
        username: if is_token { String::new() } else { answer.username },
        password: password.into(),
        email: String::new(),
        server: server.into(),
        identity_token: token.into(),
    }))
}

async fn ask(program: &str, server: &str) -> io::Result<(bool, Vec<u8>)> {
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read has its answer anyway.
        let _ = stdin.write_all(server.as_bytes()).await;
    }
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MOST).read_to_end(&mut text).await?;
    }
    Ok((child.wait().await?.success(), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn registries_of_images() {
        assert_eq!(registry("redis:7"), None);
        assert_eq!(registry("library/redis"), None);
        assert_eq!(registry("r.example/x/y:1"), Some("r.example"));
        assert_eq!((registry("localhost/x"), registry("host:5000/x")), (Some("localhost"), Some("host:5000")));
    }

    #[tokio::test]
    async fn logins_of_files() {
        let dir = TempDir::new("auth");
        let path = dir.path().join("config.json").display().to_string();
        let auth = STANDARD.encode("bob:s3cret");
        let text = format!(
            r#"{{"auths":{{"https://index.docker.io/v1/":{{"auth":"{auth}"}},"r.example":{{"identitytoken":"tok"}},"bad.example":{{"auth":"?"}}}}}}"#
        );
        std::fs::write(&path, text).unwrap();
        let config = DockerConfig { auth_config: path, ..DockerConfig::default() };
        let of = |image: &str| {
            let task = TaskConfig { image: image.into(), ..TaskConfig::default() };
            let config = config.clone();
            async move { find(&config, &task).await }
        };
        let login = of("redis:7").await.unwrap().unwrap();
        assert_eq!((login.username.as_str(), login.password.expose()), ("bob", "s3cret"));
        assert_eq!(of("r.example/x").await.unwrap().unwrap().identity_token.expose(), "tok");
        assert!(of("other.example/x").await.unwrap().is_none());
        let error = of("bad.example/x").await.err().unwrap().to_string();
        assert!(error.contains("no configuration file") && !error.contains('?'), "{error}");
        let missing = DockerConfig { auth_config: "/nonexistent".into(), ..DockerConfig::default() };
        let task = TaskConfig { image: "x".into(), ..TaskConfig::default() };
        assert!(find(&missing, &task).await.is_err());
        let soft = TaskConfig { auth_soft_fail: true, ..task.clone() };
        assert!(find(&missing, &soft).await.unwrap().is_none());
        let helper = DockerConfig { auth_helper: "no-such-helper-there".into(), ..DockerConfig::default() };
        assert!(
            find(&helper, &task).await.err().unwrap().to_string().contains("docker-credential-no-such-helper-there")
        );
    }
}
