//! The sampler that Go builds into tests.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::ProfilerError;

const FILE: &str = "cpu.pprof";

/// The benchmark of a command.
enum Kind {
    /// `go test …`.
    Test,
    /// A test that was compiled.
    Binary,
}

fn kind(program: &Path, first: Option<&str>) -> Option<Kind> {
    let name = program.file_name()?.to_str()?;
    match (name, first) {
        ("go", Some("test")) => Some(Kind::Test),
        (name, _) if name.ends_with(".test") => Some(Kind::Binary),
        _ => None,
    }
}

/// # Errors
///
/// [`ProfilerError::NotGo`].
pub(super) fn check(command: &[String]) -> Result<(), ProfilerError> {
    let program = command.first().map(String::as_str).unwrap_or_default();
    match kind(Path::new(program), command.get(1).map(String::as_str)) {
        Some(_) => Ok(()),
        None => Err(ProfilerError::NotGo(program.into())),
    }
}

pub(super) fn command(place: &Path, program: &Path, mut arguments: Vec<OsString>) -> Command {
    let file = place.join(FILE);
    let option = |name: &str, value: &Path| {
        let mut option = OsString::from(name);
        option.push(value);
        option
    };
    let first = arguments.first().and_then(|it| it.to_str());
    match kind(program, first) {
        Some(Kind::Test) => {
            // With a profile, the binary is kept: not in the work tree.
            let binary = place.join("binaries").join("x.test");
            let _ = std::fs::create_dir(place.join("binaries"));
            let ours = [option("-cpuprofile=", &file), option("-o=", &binary)];
            arguments.splice(1..1, ours);
        }
        Some(Kind::Binary) => arguments.insert(0, option("-test.cpuprofile=", &file)),
        None => {}
    }
    let mut command = Command::new(program);
    command.args(arguments);
    command
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
        assert_eq!(
            line("go", &["test", "-bench", ".", "-args", "x"]),
            format!(
                "go test -cpuprofile={path}/cpu.pprof -o={path}/binaries/x.test -bench . -args x"
            )
        );
        assert_eq!(
            line("./words.test", &["-test.bench", "."]),
            format!("./words.test -test.cpuprofile={path}/cpu.pprof -test.bench .")
        );
    }

    #[test]
    fn another_command_is_refused() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(check(&words("go test ./...")).is_ok());
        assert!(
            check(&words("go run ."))
                .unwrap_err()
                .to_string()
                .contains("{profile}")
        );
        assert!(check(&[]).is_err());
    }
}
