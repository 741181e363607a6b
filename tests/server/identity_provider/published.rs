//! `oidc-provider-mock` of PyPI, which is built on Authlib.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use encamp_test_support::notes;

/// Longest wait for it to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running provider; it ends with this.
pub(crate) struct PublishedProvider {
    child: Child,
    /// Its URL.
    pub(crate) url: String,
}

impl Drop for PublishedProvider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs what prepares it; `None` if it is to be skipped. With `CI` that is a failure.
fn prepared(what: &str, command: &mut Command) -> Option<()> {
    let why = match command.output() {
        Ok(ran) if ran.status.success() => return Some(()),
        Ok(ran) => String::from_utf8_lossy(&ran.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    notes::missing(what, &why);
    None
}

impl PublishedProvider {
    /// Installs it once, and starts it with one user. `None` where Python or the network is missing.
    pub(crate) fn start(user: &serde_json::Value) -> Option<PublishedProvider> {
        let requirements =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/identity_provider/requirements.txt");
        let wanted = std::fs::read_to_string(&requirements).expect("requirements");
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oidc-provider-mock");
        let (python, mark) = (home.join("bin/python"), home.join("installed.txt"));
        if std::fs::read_to_string(&mark).ok().as_ref() != Some(&wanted) {
            let _ = std::fs::remove_dir_all(&home);
            prepared("no virtual environment", Command::new("python3").args(["-m", "venv"]).arg(&home))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
            prepared("no oidc-provider-mock", Command::new(&python).args(pip).arg(&requirements))?;
            std::fs::write(&mark, &wanted).expect("the mark");
        }
        let mut child = Command::new(&python)
            .args(["-m", "oidc_provider_mock", "-H", "127.0.0.1", "-p", "0", "--user-claims", &user.to_string()])
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the provider");
        let (sender, lines) = channel();
        let stderr = child.stderr.take().expect("stderr");
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // What comes after the address is read and forgotten.
                let _ = sender.send(line);
            }
        });
        let mut provider = PublishedProvider { child, url: String::new() };
        while provider.url.is_empty() {
            let line = lines.recv_timeout(PATIENCE).expect("the provider tells its address");
            let address = line.split_once("running on ").and_then(|(_, url)| url.split(' ').next());
            provider.url = address.unwrap_or_default().to_string();
        }
        Some(provider)
    }
}
