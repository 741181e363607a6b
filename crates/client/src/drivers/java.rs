//! `java`: programs of a Java virtual machine, isolated as those of [`super::exec`] (`docs/spec/client.md §23.4`).

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

use super::config_block::{Block, ConfigError};
use super::exec::{self, Exec};
use super::supervisor::order::Order;
use super::{Capabilities, Driver, DriverError, Fingerprint, RunningTask, StartFailure, StartTask, Started};
use encamp_model::driver_options;
use std::collections::BTreeMap;

/// The program.
const PROGRAM: &str = "java";
/// How long it may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most that it may say of it.
const LONGEST: u64 = 4096;

/// A virtual machine: what tells it from another one, and its attributes; none: it printed none.
type Known = (PathBuf, u64, i64, Option<BTreeMap<String, String>>);

/// The driver.
pub(crate) struct Java {
    exec: Exec,
    known: Mutex<Option<Known>>,
}

impl Java {
    /// A driver whose tasks run as those of another one.
    pub(crate) fn new(exec: Exec) -> Java {
        Java { exec, known: Mutex::default() }
    }

    fn order(&self, task: &StartTask) -> Result<Order, StartFailure> {
        let block = Block(&task.config);
        block.only(driver_options::JAVA)?;
        let args = arguments(&block)?;
        let order = self.exec.isolated(task, &block)?;
        let program = find().unwrap_or_else(|| PROGRAM.into());
        Ok(Order { command: program, args, ..order })
    }

    /// The attributes of the virtual machine; it is only asked if it is another one than before.
    fn attributes(&self) -> Option<BTreeMap<String, String>> {
        let path = find()?;
        let found = path.metadata().ok()?;
        let mut known = self.known.lock();
        if let Some((at, inode, changed, attributes)) = known.as_ref()
            && (at, *inode, *changed) == (&path, found.ino(), found.ctime())
        {
            return attributes.clone();
        }
        let attributes = ask(&path);
        *known = Some((path, found.ino(), found.ctime(), attributes.clone()));
        attributes
    }
}

/// The arguments of the virtual machine.
fn arguments(block: &Block) -> Result<Vec<String>, ConfigError> {
    let (class, jar) = (block.text("class")?, block.text("jar_path")?);
    if class.is_empty() && jar.is_empty() {
        return Err(ConfigError::NoProgram);
    }
    let mut args = block.texts("jvm_options")?;
    let class_path = block.text("class_path")?;
    if !class_path.is_empty() {
        args.extend(["-cp".into(), class_path]);
    }
    if jar.is_empty() {
        args.push(class);
    } else {
        args.extend(["-jar".into(), jar]);
    }
    args.extend(block.texts("args")?);
    Ok(args)
}

/// Where the program is on the host.
fn find() -> Option<PathBuf> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&dirs).map(|dir| dir.join(PROGRAM)).find(|p| p.is_file())
}

/// Asks a virtual machine for its version.
fn ask(program: &std::path::Path) -> Option<BTreeMap<String, String>> {
    let mut command = Command::new(program);
    command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + PATIENCE;
    let succeeded = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                break false;
            }
        }
    };
    let mut text = String::new();
    child.stderr.take()?.take(LONGEST).read_to_string(&mut text).ok()?;
    if succeeded { parse(&text) } else { None }
}

/// The attributes in what `java -version` says: the version in quotation marks, the runtime, the virtual machine.
fn parse(text: &str) -> Option<BTreeMap<String, String>> {
    // Options of the environment come first.
    let mut lines = text.lines().map(str::trim).skip_while(|l| !l.contains("version \""));
    let version = lines.next()?.split('"').nth(1)?.to_string();
    let (runtime, vm) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let named = [("version", version), ("runtime", runtime.to_string()), ("vm", vm.to_string())];
    Some(named.into_iter().map(|(name, value)| (format!("driver.java.{name}"), value)).collect())
}

impl Driver for Java {
    fn name(&self) -> &'static str {
        "java"
    }

    fn capabilities(&self) -> Capabilities {
        exec::CAPABILITIES
    }

    fn fingerprint(&self) -> Fingerprint {
        let able = self.exec.look();
        if !able.healthy {
            return able;
        }
        match self.attributes() {
            Some(attributes) => Fingerprint { attributes, ..able },
            None => Fingerprint::undetected("java is not installed"),
        }
    }

    fn default_user(&self) -> &'static str {
        self.exec.default_user()
    }

    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>> {
        Box::pin(async move {
            let order = self.order(&task)?;
            self.exec.run(task, order).await
        })
    }

    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, DriverError>> {
        self.exec.recover(state)
    }

    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()> {
        self.exec.forget(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_programs() {
        let of = |text: &str| {
            let map = serde_json::from_str(text).unwrap();
            arguments(&Block(&map)).map(|a| a.join(" ")).map_err(|e| e.to_string())
        };
        assert_eq!(
            of(r#"{"jar_path":"local/a.jar","jvm_options":["-Xmx8m"],"args":["x"]}"#).unwrap(),
            "-Xmx8m -jar local/a.jar x"
        );
        assert_eq!(of(r#"{"class":"Main","class_path":"/local"}"#).unwrap(), "-cp /local Main");
        assert_eq!(of("{}").unwrap_err(), "jar_path or class must be specified");
    }

    #[test]
    fn versions_are_read() {
        let text = "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version \"17.0.15\" 2025-04-15\n\
                    OpenJDK Runtime Environment (build 17)\nOpenJDK 64-Bit Server VM (build 17, mixed mode)\n";
        let found = parse(text).unwrap();
        assert_eq!(found["driver.java.version"], "17.0.15");
        assert_eq!(found["driver.java.runtime"], "OpenJDK Runtime Environment (build 17)");
        assert_eq!(found["driver.java.vm"], "OpenJDK 64-Bit Server VM (build 17, mixed mode)");
        assert_eq!(parse("what?"), None);
    }
}
