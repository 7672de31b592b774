//! The arguments of a job, apart by who reads them: the runner of the benchmark, or the browser.

/// The option of all runners that holds the browser's arguments.
const FOR_BROWSER: &str = "--extra-browser-args";

/// After this word all others are the browser's, as Crossbench has it.
const REST: &str = "--";

/// Options of the runner stay as they are, with their values. All others are for the browser, in
/// one argument at the end: Chrome ignores an argument inside of another, and runners take the last
/// of several. Those that are in such an argument already are unpacked.
pub(super) fn runner_arguments(
    arguments: &[String],
    is_of_runner: impl Fn(&str) -> bool,
) -> Vec<String> {
    let (mut stay, mut browser) = (Vec::new(), Vec::new());
    let mut words = arguments.iter().map(String::as_str).peekable();
    let mut only_browser = false;
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        match name {
            // Its value follows, whatever it begins with.
            FOR_BROWSER => browser.extend(value.or_else(|| words.next())),
            _ if only_browser => browser.push(word),
            REST if value.is_none() => only_browser = true,
            name if is_of_runner(name) => {
                stay.push(word.to_owned());
                if value.is_none() {
                    let value = words.next_if(|next| !next.starts_with('-'));
                    stay.extend(value.map(str::to_owned));
                }
            }
            _ => browser.push(word),
        }
    }
    browser.retain(|words| !words.trim().is_empty());
    if !browser.is_empty() {
        stay.push(format!("{FOR_BROWSER}={}", browser.join(" ")));
    }
    stay
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_split(arguments: &[&str], expected: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.into()).collect();
        let is_of_runner = |name: &str| ["-v", "--repeat", "--probe"].contains(&name);
        assert_eq!(runner_arguments(&arguments, is_of_runner), expected);
    }

    #[test]
    fn arguments_of_the_browser_are_one() {
        assert_split(&[], &[]);
        assert_split(&["-v", "--repeat", "3"], &["-v", "--repeat", "3"]);
        assert_split(
            &["--enable-features=A", "stray", "-v"],
            &["-v", "--extra-browser-args=--enable-features=A stray"],
        );
    }

    #[test]
    fn one_argument_is_not_put_into_another() {
        let expected = &["--extra-browser-args=--enable-features=X"];
        assert_split(&["--extra-browser-args=--enable-features=X"], expected);
        assert_split(&["--extra-browser-args", "--enable-features=X"], expected);
        assert_split(
            &[
                "--extra-browser-args=--a --b",
                "--c",
                "--extra-browser-args=--d",
            ],
            &["--extra-browser-args=--a --b --c --d"],
        );
        // An option of the runner in it is meant for the browser.
        assert_split(
            &["--extra-browser-args", "--repeat=3"],
            &["--extra-browser-args=--repeat=3"],
        );
        assert_split(&["--extra-browser-args=", "--extra-browser-args"], &[]);
    }

    #[test]
    fn all_after_two_dashes_is_the_browsers() {
        assert_split(
            &["--probe=x", "--", "--repeat", "--extra-browser-args=--a"],
            &["--probe=x", "--extra-browser-args=--repeat --a"],
        );
    }
}
