//! A headless Chromium that is controlled by the DevTools protocol, over a pipe.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

/// The maximum time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Names of the program.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The shell makes standard input and output the pipe of the protocol, which is file descriptors 3 and 4.
const SCRIPT: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
/// The system's own requests, such as those for updates, would only be noise.
const FLAGS: [&str; 10] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
];

pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    calls: u64,
    events: VecDeque<Value>,
}

impl Browser {
    /// Starts the browser with a page; `None` if there is no such program.
    pub fn start(folder: &Path) -> Option<Browser> {
        let works = |name: &&&str| {
            let version = Command::new(name).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
            version.is_ok_and(|ran| ran.status.success())
        };
        let program = NAMES.iter().find(works)?;
        let mut child = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "sh", program])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            // Processes that work in the folder end with it.
            .current_dir(folder)
            .env("HOME", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = child.stdin.take().expect("a pipe");
        let (sender, messages) = channel();
        let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                if message.last() == Some(&0) {
                    message.pop();
                }
                let value = serde_json::from_slice(&message).expect("a message of the protocol");
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser =
            Browser { child, commands, messages, session: String::new(), calls: 0, events: VecDeque::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        browser.session = session.as_str().expect("a session").to_string();
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": params});
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&call).expect("JSON");
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser runs");
        let end = Instant::now() + PATIENCE;
        loop {
            let message = self.message(end, method);
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    fn message(&mut self, end: Instant, what: &str) -> Value {
        match self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("{what}: no answer in {PATIENCE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("{what}: the browser has ended"),
        }
    }

    /// Opens a file and returns the events until the page is complete and painted.
    pub fn open(&mut self, file: &Path) -> Vec<Value> {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        let end = Instant::now() + PATIENCE;
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = self.message(end, "the page");
            self.events.push_back(event);
        }
        // A frame later, everything that the page requests without a script has been requested.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
        self.events.drain(..).collect()
    }

    /// The value of an expression, or of the promise that it is.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Sets the width of the window and the preferred colours, `light` or `dark`.
    pub fn emulate(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// A picture of the full page, as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        let data = shot["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD.decode(data).expect("base64")
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
