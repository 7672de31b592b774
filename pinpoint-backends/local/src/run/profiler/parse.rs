//! Reading the name of a profiler.

use std::str::FromStr;

use super::error::ProfilerError;
use super::tool::Profiler;
use super::{files, template};

impl TryFrom<String> for Profiler {
    type Error = ProfilerError;

    fn try_from(text: String) -> Result<Self, ProfilerError> {
        text.parse()
    }
}

impl FromStr for Profiler {
    type Err = ProfilerError;

    fn from_str(text: &str) -> Result<Self, ProfilerError> {
        Ok(match text {
            "perf" => Self::Perf,
            "perf-dwarf" => Self::PerfDwarf,
            "callgrind" => Self::Callgrind,
            "node" => Self::Node,
            "python" => Self::Python,
            "go" => Self::Go,
            "samply" => Self::Samply,
            "chrome" => Self::Chrome,
            _ => match text.split_once(':') {
                Some(("command", text)) => Self::Command(template::checked(text)?),
                Some(("files", glob)) => Self::Files(files::checked(glob)?),
                _ => return Err(ProfilerError::Unknown(text.into())),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiler_is_written_as_it_is_read() {
        let parameters = [
            "command:samply record -o {profile} -- {command}",
            "files:out/*.folded",
        ];
        for name in Profiler::NAMES.into_iter().chain(parameters) {
            let profiler: Profiler = name.parse().unwrap();
            assert_eq!(profiler.to_string(), name);
            let json = serde_json::to_string(&profiler).unwrap();
            assert_eq!(serde_json::from_str::<Profiler>(&json).unwrap(), profiler);
        }
    }

    #[test]
    fn what_is_no_profiler_is_refused_with_what_to_do() {
        for (text, advice) in [
            ("gprof", "choose perf, perf-dwarf, callgrind"),
            ("command:perf record", "{profile}"),
            ("command:", "{profile}"),
            ("files:", "a pattern"),
            ("files:/etc/*", "inside the work tree"),
            ("files:../*", "inside the work tree"),
            ("files:[", "pattern"),
        ] {
            let error = text.parse::<Profiler>().unwrap_err().to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }
}
