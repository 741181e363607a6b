//! A headless Chromium that is controlled by the DevTools protocol, over a pipe.
//!
//! What a person does: [`Browser::visit`], [`Browser::click`] and [`Browser::fill`] by accessible names,
//! [`Browser::press`], [`Browser::wait_for_text`]. What a test asks: [`Browser::problems`] for errors of scripts and violations of content
//! policies, [`Browser::accessibility`], [`Browser::screenshot`].

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::notes;
use crate::program::{build_directory, repository};

/// The maximum time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);
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

/// A page in a browser, which ends with the value.
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
        for domain in ["Page", "Network", "Log", "Runtime", "DOM", "Accessibility", "Audits"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    /// The same; the error is that of the browser.
    fn try_call(&mut self, method: &str, params: Value) -> Result<Value, String> {
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
                return if message["error"].is_null() {
                    Ok(message["result"].clone())
                } else {
                    Err(message["error"].to_string())
                };
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
        self.visit(&format!("file://{}", file.display()));
        self.events.drain(..).collect()
    }

    /// Opens an address; returns when the page is complete and painted.
    ///
    /// # Panics
    ///
    /// If there is no page.
    pub fn visit(&mut self, address: &str) {
        let went = self.call("Page.navigate", json!({"url": address}));
        assert!(went["errorText"].is_null(), "{address}: {}", went["errorText"]);
        let end = Instant::now() + PATIENCE;
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = self.message(end, "the page");
            self.events.push_back(event);
        }
        // A frame later, everything that the page requests without a script has been requested.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// The path and the parameters of the open page.
    pub fn address(&mut self) -> String {
        let address = self.evaluate("location.pathname + location.search");
        address.as_str().expect("an address").to_string()
    }

    /// Waits until an expression is true, also across pages.
    ///
    /// # Panics
    ///
    /// If it does not become true in time; with the text of the page.
    pub fn wait_until(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        // A page that is being left answers with an error.
        while self.try_evaluate(expression) != Ok(Value::Bool(true)) {
            if Instant::now() > end {
                let text = self.evaluate("location.href + '\\n' + document.body.innerText");
                panic!("{expression}: not in {PATIENCE:?}: {}", text.as_str().unwrap_or_default());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until the page shows a text.
    pub fn wait_for_text(&mut self, text: &str) {
        self.wait_until(&format!("!!document.body && document.body.innerText.includes({})", json!(text)));
    }

    /// Clicks on the element with a role (`link`, `button`, …) and an accessible name, in its middle, as a person does.
    pub fn click(&mut self, role: &str, name: &str) {
        let node = self.named(role, name);
        self.call("DOM.scrollIntoViewIfNeeded", json!({"backendNodeId": node}));
        let quads = self.call("DOM.getContentQuads", json!({"backendNodeId": node}));
        let quad = quads["quads"][0].as_array().unwrap_or_else(|| panic!("{role} {name:?} has no place on the page"));
        let middle = |first: usize| (0..4).filter_map(|n| quad[first + 2 * n].as_f64()).sum::<f64>() / 4.0;
        for kind in ["mousePressed", "mouseReleased"] {
            let at = json!({"type": kind, "x": middle(0), "y": middle(1), "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", at);
        }
    }

    /// Replaces the text of the field with an accessible name.
    pub fn fill(&mut self, role: &str, name: &str, text: &str) {
        let node = self.named(role, name);
        self.call("DOM.focus", json!({"backendNodeId": node}));
        self.evaluate("document.activeElement.select?.()");
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Waits for an element with a role and an accessible name. There may be several: the first one.
    fn named(&mut self, role: &str, name: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let root = self.call("DOM.getDocument", json!({"depth": 0}))["root"]["nodeId"].clone();
            let asked = json!({"nodeId": root, "role": role, "accessibleName": name});
            if let Ok(found) = self.try_call("Accessibility.queryAXTree", asked) {
                let nodes = found["nodes"].as_array().cloned().unwrap_or_default();
                if let Some(node) = nodes.into_iter().find(|n| n["ignored"] != true) {
                    return node["backendDOMNodeId"].clone();
                }
            }
            if Instant::now() > end {
                let text = self.evaluate("location.href + '\\n' + document.body.innerText");
                panic!("no {role} {name:?}: {}", text.as_str().unwrap_or_default());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// What went wrong since the last question: errors of scripts, messages of the console, requests that failed,
    /// violations of the content security policy.
    pub fn problems(&mut self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
        let problem = |event: Value| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Log.entryAdded" => Some(format!("log: {}", text(&params["entry"]["text"]))),
                "Runtime.exceptionThrown" => Some(format!("exception: {}", params["exceptionDetails"])),
                "Runtime.consoleAPICalled" => Some(format!("console: {}", params["args"])),
                "Audits.issueAdded" if params["issue"]["code"] == "ContentSecurityPolicyIssue" => {
                    Some(format!("policy: {}", params["issue"]["details"]))
                }
                _ => None,
            }
        };
        self.events.drain(..).filter_map(problem).collect()
    }

    /// The accessibility problems that axe-core finds on the open page.
    pub fn accessibility(&mut self, axe: &str) -> Value {
        self.evaluate(axe);
        self.evaluate(
            "axe.run(document, {rules: {'target-size': {enabled: true}}}).then(r => r.violations.map(v => \
             ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 5).map(n => n.html + ' ' + n.failureSummary)})))",
        )
    }

    fn try_evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.try_call("Runtime.evaluate", params)?;
        if result["exceptionDetails"].is_null() {
            Ok(result["result"]["value"].clone())
        } else {
            Err(result["exceptionDetails"].to_string())
        }
    }

    /// The value of an expression, or of the promise that it is.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).unwrap_or_else(|e| panic!("{expression}: {e}"))
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

    /// Presses the key Enter, which activates what has the focus.
    pub fn press_enter(&mut self) {
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types letters where the focus is, key by key.
    pub fn press_letters(&mut self, letters: &str) {
        for letter in letters.chars() {
            for kind in ["keyDown", "keyUp"] {
                self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": letter, "text": letter}));
            }
        }
    }

    /// Inserts a text where the focus is, as a paste does.
    pub fn insert(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }
}

/// The script of axe-core, which `tests/axe/fetch` fetches; `None` if it is missing or of another version. `suite`: what
/// is not checked then.
pub fn axe(suite: &str) -> Option<String> {
    let lock = |folder: PathBuf| std::fs::read(folder.join("package-lock.json")).ok();
    let fetched = build_directory().with_file_name("axe");
    let current = lock(fetched.clone()) == lock(repository().join("tests/axe"));
    let script = fetched.join("node_modules/axe-core/axe.min.js");
    let script = std::fs::read_to_string(script).ok().filter(|_| current);
    if script.is_none() {
        notes::missing(suite, "tests/axe/fetch has not fetched axe-core");
    }
    script
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
