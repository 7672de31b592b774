//! Chromium's own traces, with V8's samples and the marks of pages among them.
//!
//! A benchmark of pages starts a browser itself, or has Puppeteer, Lighthouse or a driver start
//! one, and may speak the DevTools protocol with it. With the options `--trace-startup…`
//! (`components/tracing/common/tracing_switches.cc` in Chromium) the browser traces itself from its
//! start until it is closed, and the protocol stays free for the benchmark. The options are passed
//! by stand-ins: scripts with the names of browsers, which come first on the `PATH` and start the
//! browser of that name with the options added. Where the user names the browser in a variable that
//! tools know, a stand-in takes its place there. A benchmark that finds its browser in another way
//! passes on the options itself: they are the lines of `PINPOINT_CHROME_FLAGS`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::process::environment::value_for;

/// The browsers, by the names of their programs.
const BROWSERS: [&str; 8] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "google-chrome-unstable",
    "chrome",
    "chrome-headless-shell",
    "headless_shell",
];

/// Variables in which users name the browser for tools: chrome-launcher and Lighthouse,
/// Karma, Puppeteer.
const VARIABLES: [&str; 3] = ["CHROME_PATH", "CHROME_BIN", "PUPPETEER_EXECUTABLE_PATH"];

/// The variable that holds the options.
const FLAGS: &str = "PINPOINT_CHROME_FLAGS";

/// The prefix for variables with the user's former values.
const BEFORE: &str = "PINPOINT_REAL_";

/// The directory of the stand-ins.
pub(super) const STAND_INS: &str = "browsers";

/// The recordings of scripts in the Performance panel of DevTools, and the marks of pages.
const CATEGORIES: &str = "devtools.timeline,disabled-by-default-devtools.timeline,disabled-by-default-v8.cpu_profiler,v8,toplevel,blink.user_timing";

pub(super) fn is_browser(program: &str) -> bool {
    BROWSERS.contains(&program)
}

/// The options by which a browser traces itself until it is closed.
fn options(file: &OsStr) -> Vec<OsString> {
    let mut target = OsString::from("--trace-startup-file=");
    target.push(file);
    vec![
        format!("--trace-startup={CATEGORIES}").into(),
        "--trace-startup-duration=0".into(),
        "--trace-startup-format=json".into(),
        target,
    ]
}

/// Passes the options directly to a browser named by its path, and through the stand-ins to any
/// other.
pub(super) fn command(place: &Path, program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = Command::new(program);
    let name = program.file_name().and_then(OsStr::to_str);
    if program.components().count() > 1 && name.is_some_and(is_browser) {
        command.args(options(place.join("browser.json").as_os_str()));
    }
    command.args(arguments);
    command
}

/// The stand-ins as scripts by their names: for the installed browsers, and for those that
/// variables name.
pub(super) fn stand_ins(is_there: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let browsers = BROWSERS.into_iter().filter(|name| is_there(name));
    let by_name = browsers.map(|name| (name, stand_in("\"${0##*/}\"")));
    let by_variable = { VARIABLES.into_iter() }
        .map(|variable| (variable, stand_in(&format!("\"${BEFORE}{variable}\""))));
    by_name.chain(by_variable).collect()
}

/// Leaves the stand-ins out, wherever the benchmark has put them.
const FIND: &str = r#"before=${PATH%%"$stand_ins"*}
after=${PATH#*"$stand_ins"}
PATH=$before${after#:}
export PATH"#;

/// A script that starts this browser. Each process writes its own trace.
fn stand_in(real: &str) -> String {
    let file = OsStr::new("$place/$$.json");
    let options: Vec<String> = { options(file).into_iter() }
        .map(|option| format!("\"{}\"", option.to_string_lossy()))
        .collect();
    format!(
        "#!/bin/sh\nstand_ins=${{0%/*}}\nplace=${{stand_ins%/*}}\n{FIND}\nexec {real} {} \"$@\"\n",
        options.join(" ")
    )
}

pub(super) fn set_environment(place: &Path, command: &mut Command) {
    let stand_ins = place.join(STAND_INS);
    let mut path = stand_ins.clone().into_os_string();
    if let Some(before) = value_for(command, "PATH") {
        path.push(":");
        path.push(before);
    }
    command.env("PATH", path);
    for variable in VARIABLES {
        if let Some(browser) = value_for(command, variable).filter(|it| !it.is_empty()) {
            command.env(format!("{BEFORE}{variable}"), browser);
            command.env(variable, stand_ins.join(variable));
        }
    }
    let options = options(place.join("flags.json").as_os_str());
    command.env(FLAGS, options.join(OsStr::new("\n")));
}

#[cfg(test)]
mod tests {
    use super::super::recording::write_scripts;
    use super::super::tests::words;
    use super::*;

    #[test]
    fn a_browser_is_named_by_its_path_or_found() {
        let line = |program: &str| {
            let arguments = vec!["--headless".into()];
            words(&command(Path::new("/p"), Path::new(program), arguments)).join(" ")
        };
        assert_eq!(line("chromium"), "chromium --headless");
        assert_eq!(line("./bench.sh"), "./bench.sh --headless");
        let by_path = line("/usr/bin/chromium");
        assert!(
            by_path.starts_with("/usr/bin/chromium --trace-startup=devtools.timeline,"),
            "{by_path}"
        );
        assert!(
            by_path.ends_with("--trace-startup-file=/p/browser.json --headless"),
            "{by_path}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_stand_in_starts_the_browser_with_the_options() {
        let place = tempfile::Builder::new().prefix("a b").tempdir().unwrap();
        let real = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\nfor word in \"${0##*/}\" \"$@\"; do echo \"$word\"; done\n";
        let real = real.path().join("real");
        write_scripts(
            &real,
            &["chromium", "my-chrome"].map(|it| (it, script.into())),
        )
        .unwrap();
        let stand_ins = stand_ins(|name| name == "chromium");
        write_scripts(&place.path().join(STAND_INS), &stand_ins).unwrap();
        let said = |script: &str| {
            let mut command = Command::new("sh");
            let path = format!("{}:/usr/bin:/bin", real.display());
            command
                .args(["-c", script])
                .env("PATH", path)
                .env("CHROME_PATH", real.join("my-chrome"))
                .env_remove("CHROME_BIN");
            set_environment(place.path(), &mut command);
            #[expect(clippy::disallowed_methods, reason = "a script that ends at once")]
            let output = command.output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let traced = |name: &str| {
            let begin = format!("{name}\n--trace-startup={CATEGORIES}\n");
            move |said: &str| {
                assert!(said.starts_with(&begin), "{said}");
                assert!(said.ends_with(".json\n--headless\nx y\n"), "{said}");
            }
        };
        traced("chromium")(&said("chromium --headless 'x y'"));
        traced("chromium")(&said("PATH=/none:$PATH chromium --headless 'x y'"));
        traced("my-chrome")(&said("\"$CHROME_PATH\" --headless 'x y'"));
        assert_eq!(said("echo \"$CHROME_BIN\""), "\n");
        assert_eq!(said("command -v google-chrome"), "");
        let flags = said("echo \"$PINPOINT_CHROME_FLAGS\"");
        assert_eq!(flags.lines().count(), 4, "{flags}");
    }
}
