//! A shell command of the user's that writes a profile.
//!
//! ```text
//! perf record -o {profile}.data -- {command}; perf script -i {profile}.data >{profile}
//! ./bench -cpuprofile {profile}
//! ```

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::ProfilerError;

/// The name of the profile's file.
pub(super) const FILE: &str = "profile";

const PROFILE: &str = "{profile}";
const COMMAND: &str = "{command}";

/// # Errors
///
/// [`ProfilerError::Template`] when it does not say where the profile goes.
pub(super) fn checked(template: &str) -> Result<String, ProfilerError> {
    match template.contains(PROFILE) {
        true => Ok(template.to_owned()),
        false => Err(ProfilerError::Template(template.into())),
    }
}

pub(super) fn command(
    place: &Path,
    template: &str,
    program: &Path,
    arguments: Vec<OsString>,
) -> Command {
    // The path is that of a variable, so that the shell gives none of its characters a meaning.
    let script = template
        .replace(PROFILE, "\"$PINPOINT_PROFILE\"")
        .replace(COMMAND, "\"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, "sh"])
        .arg(program)
        .args(arguments)
        .env("PINPOINT_PROFILE", place.join(FILE));
    command
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;

    #[test]
    fn the_benchmark_stands_where_the_template_says() {
        let template = "tool -o {profile} -- {command} 2>&1";
        let command = command(
            Path::new("/a b"),
            template,
            Path::new("./bench"),
            vec!["x y".into()],
        );
        assert_eq!(
            words(&command),
            [
                "sh",
                "-c",
                r#"tool -o "$PINPOINT_PROFILE" -- "$@" 2>&1"#,
                "sh",
                "./bench",
                "x y"
            ]
        );
        let mut variables = command.get_envs();
        assert_eq!(variables.next().unwrap().1.unwrap(), "/a b/profile");
    }
}
