//! Extra arguments that are given by their kinds, as one line.

use pinpoint_core::api::ExtraArgs;

/// The extra arguments of a side in one line: those of the benchmark's program, and those of the
/// browser, which crossbench takes without wrapping.
pub(crate) fn in_one_line(benchmark: &str, extra: &ExtraArgs) -> String {
    let flag = |name: &str, value: &str| match value.trim() {
        "" => String::new(),
        // One argument of the browser, whatever it contains.
        value if value.contains(char::is_whitespace) => format!("--{name}={}", quoted(value)),
        value => format!("--{name}={value}"),
    };
    let browser = [
        extra.extra_browser_args.trim().to_owned(),
        flag("js-flags", &extra.js_flags),
        flag("enable-features", &extra.enable_features),
        flag("disable-features", &extra.disable_features),
    ];
    let browser = joined(&browser);
    let browser = match &*browser {
        "" => String::new(),
        browser if benchmark.ends_with(".crossbench") => browser.to_owned(),
        browser => format!("--extra-browser-args={}", quoted(browser)),
    };
    joined(&[extra.benchmark_runner_args.trim().to_owned(), browser])
}

/// A text in quotes, with those inside it escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted + "\""
}

fn joined(parts: &[String]) -> String {
    let parts: Vec<_> = parts
        .iter()
        .map(|part| &**part)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_one_line() {
        let extra = ExtraArgs {
            benchmark_runner_args: " --repeat=2 ".into(),
            extra_browser_args: "--no-sandbox".into(),
            js_flags: "--turbofan".into(),
            enable_features: "A,B".into(),
            disable_features: String::new(),
        };
        let browser = "--no-sandbox --js-flags=--turbofan --enable-features=A,B";
        let wrapped = format!("--repeat=2 --extra-browser-args=\"{browser}\"");
        assert_eq!(in_one_line("speedometer3", &extra), wrapped);
        assert_eq!(
            in_one_line("speedometer3.crossbench", &extra),
            format!("--repeat=2 {browser}")
        );
        assert_eq!(in_one_line("any", &ExtraArgs::default()), "");
        // Quotes inside a text do not end it.
        let extra = ExtraArgs {
            extra_browser_args: r#"--a="x y" --b=\$HOME" --out"#.into(),
            js_flags: "--c --d".into(),
            ..ExtraArgs::default()
        };
        let line = in_one_line("speedometer3", &extra);
        assert_eq!(
            line,
            r#"--extra-browser-args="--a=\"x y\" --b=\\\$HOME\" --out --js-flags=\"--c --d\"""#
        );
        let crossbench = ExtraArgs {
            js_flags: "--c --d".into(),
            ..ExtraArgs::default()
        };
        assert_eq!(
            in_one_line("a.crossbench", &crossbench),
            r#"--js-flags="--c --d""#
        );
    }
}
