//! The sampler that Go builds into tests.
//!
//! `go test` refuses `-cpuprofile` for several packages. A program that executes the tests
//! (`-exec`) gives each of them its own profile; it is named in `GOFLAGS`, and so reaches `go test`
//! in scripts, too.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::error::ProfilerError;
use super::started::{base_name, commands};
use crate::process::environment::value_for;

/// The name of the program that executes tests.
pub(super) const EXECUTOR: &str = "execute";

/// `go run` also uses it for programs that lack this option.
pub(super) const SCRIPT: &str = "#!/bin/sh
program=$1
shift
case $program in
*.test) exec \"$program\" -test.cpuprofile=\"${0%/*}/$$.pprof\" \"$@\" ;;
*) exec \"$program\" \"$@\" ;;
esac
";

const VARIABLE: &str = "GOFLAGS";

/// Checks whether a command is `go test …`, or a compiled test.
pub(super) fn is_test(command: &[String]) -> bool {
    let [program, arguments @ ..] = command else {
        return false;
    };
    is_compiled(base_name(program))
        || base_name(program) == "go" && arguments.first().is_some_and(|first| first == "test")
}

fn is_compiled(name: &str) -> bool {
    name.ends_with(".test")
}

/// # Errors
///
/// [`ProfilerError::NotGo`].
pub(super) fn check(command: &[String], script: Option<&str>) -> Result<(), ProfilerError> {
    match commands(command, script).iter().any(|it| is_test(it)) {
        true => Ok(()),
        false => {
            let program = command.first().cloned();
            Err(ProfilerError::NotGo(program.unwrap_or_default()))
        }
    }
}

pub(super) fn command(place: &Path, program: &Path, mut arguments: Vec<OsString>) -> Command {
    let name = program.file_name().and_then(|name| name.to_str());
    if name.is_some_and(is_compiled) {
        let mut option = OsString::from("-test.cpuprofile=");
        option.push(place.join("test.pprof"));
        arguments.insert(0, option);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// The user's options stay. Results that Go keeps from runs without a profile do not count.
pub(super) fn set_environment(place: &Path, command: &mut Command) {
    let before = value_for(command, VARIABLE).unwrap_or_default();
    let mut options = before.clone();
    if !before.is_empty() {
        options.push(" ");
    }
    // Both the options and the value of this one are split at blanks.
    options.push("'-exec=\"");
    options.push(place.join(EXECUTOR));
    options.push("\"' -count=1");
    command.env(VARIABLE, options);
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;

    #[test]
    fn the_profile_is_an_option_of_the_test() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().display();
        let line = |program: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from).collect();
            words(&command(place.path(), Path::new(program), arguments)).join(" ")
        };
        assert_eq!(line("go", &["test", "-bench", "."]), "go test -bench .");
        assert_eq!(
            line("./words.test", &["-test.bench", "."]),
            format!("./words.test -test.cpuprofile={path}/test.pprof -test.bench .")
        );
    }

    #[test]
    fn another_command_is_refused() {
        let checked = |line: &str, script: Option<&str>| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            check(&words, script).map_err(|error| error.to_string())
        };
        assert_eq!(checked("go test ./...", None), Ok(()));
        assert_eq!(checked("env A=1 go test ./...", None), Ok(()));
        assert_eq!(
            checked("./bench.sh", Some("#!/bin/sh\ngo test .\n")),
            Ok(())
        );
        let refused = checked("go run .", None).unwrap_err();
        assert!(refused.contains("{profile}"), "{refused}");
        assert!(checked("", None).is_err());
    }

    #[test]
    fn options_of_the_user_stay() {
        let mut command = Command::new("go");
        command.env(VARIABLE, "-mod=vendor");
        set_environment(Path::new("/a b"), &mut command);
        let options = value_for(&command, VARIABLE).unwrap();
        assert_eq!(options, "-mod=vendor '-exec=\"/a b/execute\"' -count=1");
    }
}
