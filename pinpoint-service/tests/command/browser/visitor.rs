//! A browser that looks at a service. Its console and its network have to be clean at the end: only
//! expected errors, and nothing from another host.

use std::ops::{Deref, DerefMut};
use std::thread;

use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::scene::Running;

pub(super) struct Visitor {
    browser: Chromium,
    /// The address of the service.
    pub(super) home: String,
    /// The other hosts that a test leads to.
    others: Vec<String>,
    /// Parts of the complaints that a test expects.
    expected: Vec<&'static str>,
    /// The statuses that it expects, each of a path.
    statuses: Vec<(u16, String)>,
}

impl Visitor {
    pub(super) fn new(running: &Running) -> Self {
        Self::with(Chromium::start(), &format!("http://{}", running.address))
    }

    pub(super) fn with(browser: Chromium, home: &str) -> Self {
        Self {
            browser,
            home: home.to_owned(),
            others: Vec::new(),
            expected: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// Expects complaints with this text.
    pub(super) fn expect(&mut self, complaint: &'static str) {
        self.expected.push(complaint);
    }

    /// Expects that this path, with any query, is answered with an error of this status.
    pub(super) fn expect_status(&mut self, status: u16, path: &str) {
        self.statuses.push((status, path.to_owned()));
    }

    /// Expects requests to another host.
    pub(super) fn also_at(&mut self, host: &str) {
        self.others.push(host.to_owned());
    }

    /// Opens a path of the service.
    #[track_caller]
    pub(super) fn go(&mut self, path: &str) {
        let url = format!("{}{path}", self.home);
        self.browser.visit(&url);
    }

    /// Presses a link or a button that leads to another page.
    #[track_caller]
    pub(super) fn click(&mut self, selector: &str) {
        self.wait_for(&format!("document.querySelector(`{selector}`) !== null"));
        self.follow(&format!("document.querySelector(`{selector}`).click()"));
    }

    /// Fills in fields by their names.
    #[track_caller]
    pub(super) fn fill(&mut self, fields: &[(&str, &str)]) {
        for (name, value) in fields {
            let (name, value) = (
                json!(format!("main [name='{name}']:not([type=hidden])")),
                json!(value),
            );
            self.evaluate(&format!(
                "{{ const field = document.querySelector({name});
                    field.value = {value};
                    field.dispatchEvent(new Event('input', {{ bubbles: true }})) }}"
            ));
        }
    }

    /// The value of a field.
    #[track_caller]
    pub(super) fn value(&mut self, name: &str) -> String {
        let value = format!(
            "document.querySelector(`main [name='{name}']:not([type=hidden])`)?.value ?? ''"
        );
        self.evaluate(&value).as_str().unwrap().to_owned()
    }

    /// The text of the first element of a selector.
    #[track_caller]
    pub(super) fn text(&mut self, selector: &str) -> String {
        let text = format!("document.querySelector(`{selector}`)?.innerText ?? ''");
        self.evaluate(&text).as_str().unwrap().to_owned()
    }

    /// Waits until an element has this text.
    #[track_caller]
    pub(super) fn shows(&mut self, selector: &str, text: &str) {
        let text = json!(text);
        self.wait_for(&format!(
            "document.querySelector(`{selector}`)?.innerText.includes({text}) ?? false"
        ));
    }

    /// The path and the query of the page.
    pub(super) fn path(&mut self) -> String {
        let path = self.evaluate("location.pathname + location.search");
        path.as_str().unwrap().to_owned()
    }

    /// Shows pages in this width and theme.
    pub(super) fn look_from(&mut self, width: u32, theme: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([
            { "name": "prefers-color-scheme", "value": theme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
    }

    /// Runs a script in each page before its own.
    pub(super) fn prepare(&mut self, script: &str) {
        let source = json!({ "source": script });
        self.call("Page.addScriptToEvaluateOnNewDocument", source);
    }

    /// The unexpected complaints so far.
    fn complaints(&mut self) -> Vec<String> {
        let said = self.browser.console();
        let said = said
            .iter()
            .filter(|said| !self.is_of_no_account(said) && !self.is_expected_status(said));
        let mut complaints: Vec<_> = said.map(Value::to_string).collect();
        complaints.retain(|said| !self.expected.iter().any(|it| said.contains(it)));
        let is_ours = |url: &&str| {
            let hosts = [&self.home].into_iter().chain(&self.others);
            let own = ["data:", "about:"];
            own.iter().any(|scheme| url.starts_with(scheme)) || { hosts }
                .any(|host| url.starts_with(&**host))
        };
        let foreign = self.browser.requests().filter(|url| !is_ours(url));
        complaints.extend(foreign.map(str::to_owned));
        complaints
    }

    fn is_expected_status(&self, said: &Value) -> bool {
        let entry = &said["params"]["entry"];
        let text = entry["text"].as_str().unwrap_or_default();
        let url = entry["url"].as_str().unwrap_or_default();
        let path = url.strip_prefix(&*self.home).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        self.statuses.iter().any(|(status, of)| {
            of == path && text.contains(&format!("responded with a status of {status}"))
        })
    }

    /// Returns true for messages of other sites' pages, and those below a warning.
    fn is_of_no_account(&self, said: &Value) -> bool {
        let entry = &said["params"]["entry"];
        let url = entry["url"].as_str().unwrap_or_default();
        let level = entry["level"].as_str().unwrap_or("error");
        ["verbose", "info"].contains(&level) || self.others.iter().any(|it| url.starts_with(it))
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

impl Deref for Visitor {
    type Target = Chromium;

    fn deref(&self) -> &Chromium {
        &self.browser
    }
}

impl DerefMut for Visitor {
    fn deref_mut(&mut self) -> &mut Chromium {
        &mut self.browser
    }
}
