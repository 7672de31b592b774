//! A real browser without a window, controlled by the DevTools protocol over a pair of
//! pipes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Its names in Debian and elsewhere.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Milliseconds; longer than any answer takes on a busy machine.
const HANG_TIMEOUT_MS: i32 = 300_000;

/// The browser, one of whose tabs is in front. Killed when dropped.
pub struct Chromium {
    child: Child,
    commands: File,
    answers: BufReader<File>,
    /// The tab in front.
    session: String,
    /// True if pages run their scripts.
    has_scripts: bool,
    last: u64,
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    #[track_caller]
    /// Starts a browser without a window.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// One with more options.
    #[track_caller]
    pub fn start_with(options: &[&str]) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (theirs_in, ours_out) = pipe();
        let (ours_in, theirs_out) = pipe();
        let mut command = NAMES
            .iter()
            .find(|name| is_there(name))
            .map(Command::new)
            .unwrap_or_else(|| {
                panic!("there is no Chromium to open pages in: `apt-get install chromium`, or put one of {NAMES:?} on the PATH")
            });
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(options)
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let ends = [(theirs_in.as_raw_fd(), 3), (theirs_out.as_raw_fd(), 4)];
        // SAFETY: only system calls that are allowed between fork and exec, on
        // descriptors that are open there.
        unsafe {
            command.pre_exec(move || {
                // One of them may be 3 or 4 already: both are moved away first.
                let away = ends.map(|(from, _)| libc::fcntl(from, libc::F_DUPFD, 10));
                for (from, (_, to)) in away.into_iter().zip(ends) {
                    if from < 0 || libc::dup2(from, to) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let mut browser = Self {
            child,
            commands: ours_out.into(),
            answers: BufReader::new(ours_in.into()),
            session: String::new(),
            has_scripts: true,
            last: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        browser.open_tab();
        browser
    }

    /// Opens a tab in front of the others, and returns the one that was there.
    #[track_caller]
    pub fn open_tab(&mut self) -> String {
        let before = std::mem::take(&mut self.session);
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        attached["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        before
    }

    /// Brings a tab to the front, and returns the one that was there.
    #[track_caller]
    pub fn turn_to(&mut self, tab: String) -> String {
        let before = std::mem::replace(&mut self.session, tab);
        self.call("Page.bringToFront", json!({}));
        before
    }

    /// Sets whether pages of this tab run their scripts.
    #[track_caller]
    pub fn run_scripts(&mut self, is: bool) {
        self.has_scripts = is;
        let disabled = json!({ "value": !is });
        self.call("Emulation.setScriptExecutionDisabled", disabled);
    }

    /// The id of its first process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Calls a method, and gives its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.ask(method, parameters);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Calls a method, and gives the answer: its result, or an error.
    #[track_caller]
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.commands
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        loop {
            let heard = self.hear();
            if heard["id"] == id {
                return heard;
            }
            self.events.push_back(heard);
        }
    }

    #[track_caller]
    fn hear(&mut self) -> Value {
        if self.answers.buffer().is_empty() {
            let mut waiting = libc::pollfd {
                fd: self.answers.get_ref().as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: there is one, as the argument says.
            let ready = unsafe { libc::poll(&raw mut waiting, 1, HANG_TIMEOUT_MS) };
            assert_eq!(ready, 1, "the browser does not answer");
        }
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).unwrap()
    }

    /// Opens a file and waits until it is loaded and drawn.
    #[track_caller]
    pub fn open(&mut self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it is loaded and drawn.
    #[track_caller]
    pub fn visit(&mut self, url: &str) {
        self.events.retain(|event| !is_loaded(event));
        let opened = self.call("Page.navigate", json!({ "url": url }));
        assert!(opened["errorText"].is_null(), "{opened}");
        self.wait_until_loaded();
    }

    /// Runs a statement that leads to another page, and waits until that is loaded and drawn.
    #[track_caller]
    pub fn follow(&mut self, statement: &str) {
        self.events.retain(|event| !is_loaded(event));
        match self.has_scripts {
            // The answer is there before the page has gone.
            true => self.evaluate(&format!("setTimeout(() => {{ {statement} }}), 0")),
            // No timer runs.
            false => self.evaluate(&format!("{statement}; 0")),
        };
        self.wait_until_loaded();
    }

    /// Waits until the page that has been asked for is loaded and drawn.
    #[track_caller]
    pub fn wait_until_loaded(&mut self) {
        let session = json!(self.session);
        let is_ours = |event: &Value| is_loaded(event) && event["sessionId"] == session;
        while !self.events.iter().any(is_ours) {
            let heard = self.hear();
            self.events.push_back(heard);
        }
        if self.has_scripts {
            self.evaluate("new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))");
        }
    }

    /// The addresses that were asked for.
    pub fn requests(&self) -> impl Iterator<Item = &str> {
        let asked =
            (self.events.iter()).filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.filter_map(|event| event["params"]["request"]["url"].as_str())
    }

    /// The value of an expression in the page; for a promise, its result.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
        });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Waits until an expression in the page is true.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) {
        let mut answer = Value::Null;
        for _ in 0..15_000 {
            let parameters = json!({ "expression": expression, "returnByValue": true });
            // An error while one page leaves for another.
            answer = self.ask("Runtime.evaluate", parameters);
            if answer["result"]["result"]["value"] == true {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let text = self.evaluate("document.body?.innerText");
        panic!("never true: {expression}\n{answer}\n{text}");
    }

    /// A key is pressed and released: one of those that have names, or a character.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            "ArrowLeft" => (37, ""),
            "ArrowDown" => (40, ""),
            " " => (32, " "),
            character if character.chars().count() == 1 => (0, character),
            other => panic!("no key {other}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call(
                "Input.dispatchKeyEvent",
                json!({
                    "type": kind, "key": key, "code": key, "text": text,
                    "windowsVirtualKeyCode": code,
                }),
            );
        }
    }

    /// Waits for an event.
    #[track_caller]
    pub fn wait_to_hear(&mut self, method: &str) {
        while self.heard(method).next().is_none() {
            let heard = self.hear();
            self.events.push_back(heard);
        }
    }

    /// The parameters of the events of a method, in the order in which they came.
    pub fn heard(&self, method: &str) -> impl Iterator<Item = &Value> {
        let events = self.events.iter();
        let heard = events.filter(move |event| event["method"] == method);
        heard.map(|event| &event["params"])
    }

    /// The console messages of pages: errors above all.
    pub fn console(&mut self) -> Vec<Value> {
        // Messages on their way arrive before the answer.
        self.evaluate("1");
        let mut said = self.events.clone();
        said.retain(is_said);
        said.into()
    }

    /// The page's complaints, and its requests for anything besides itself.
    pub fn complaints(&mut self, file: &Path) -> Vec<Value> {
        // Messages on their way arrive before the answer.
        self.evaluate("1");
        let own = format!("file://{}", file.display());
        let is_complaint = |event: &Value| match event["method"].as_str() {
            _ if is_said(event) => true,
            Some("Network.requestWillBeSent") => {
                let url = &event["params"]["request"]["url"];
                *url != own && *url != "data:,"
            }
            _ => false,
        };
        self.events
            .iter()
            .filter(|event| is_complaint(event))
            .cloned()
            .collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_said(event: &Value) -> bool {
    let method = event["method"].as_str().unwrap_or_default();
    let of_console = [
        "Runtime.exceptionThrown",
        "Runtime.consoleAPICalled",
        "Log.entryAdded",
    ];
    of_console.contains(&method)
}

fn is_loaded(event: &Value) -> bool {
    event["method"] == "Page.loadEventFired"
}

fn is_there(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The end to read from, and the end to write to; both are closed when another
/// program is started.
fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends: [RawFd; 2] = [0; 2];
    // SAFETY: there is room for both.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: they were just opened, and nothing else owns them.
    let ends = ends.map(|end| unsafe {
        libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        OwnedFd::from_raw_fd(end)
    });
    ends.into()
}
