//! The files of `perf record`, which only perf reads: `perf script` writes them as text.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::profile_file::at_most;
use crate::error::CliError;

/// The beginning of a file of `perf record`.
const MAGIC: &[u8] = b"PERFILE2";

/// Returns true for the content of a file of `perf record`.
pub(super) fn is_perf_data(content: &[u8]) -> bool {
    content.starts_with(MAGIC)
}

/// The text of a file of `perf record`, as perf's own reader writes it.
#[expect(
    clippy::disallowed_methods,
    reason = "perf script, which ends by itself, as the reading of a file"
)]
pub(super) fn text(path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |reason: &str| {
        let path = path.display();
        CliError::Input(format!(
            "{path}: this is perf's own file, and perf script failed: {reason}; see what `perf script -i {path}` says"
        ))
    };
    // Inlined functions take a program of its own for each address.
    let perf = Command::new("perf")
        .args(["script", "--no-inline", "--force", "-i"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut perf = match perf {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CliError::Input(format!(
                "{}: this is perf's own file, and perf is not installed here; install it, or write the file as text on the machine where it was recorded: perf script -i perf.data > perf.txt",
                path.display()
            )));
        }
        Err(error) => return Err(failed(&error.to_string())),
        Ok(perf) => perf,
    };
    let (stdout, stderr) = (perf.stdout.take(), perf.stderr.take());
    // Both are read at once: perf waits where one of them is full.
    let (text, said) = thread::scope(|scope| {
        let said = scope.spawn(|| {
            let mut said = Vec::new();
            let read = stderr.map(|mut it| it.read_to_end(&mut said));
            read.transpose().map(|_| said)
        });
        let text = stdout.map_or_else(|| Ok(Vec::new()), |it| at_most(it, path));
        if text.is_err() {
            let _ = perf.kill();
        }
        (text, said.join())
    });
    let status = perf.wait().map_err(|error| failed(&error.to_string()))?;
    let text = text?;
    if status.success() {
        return Ok(text);
    }
    let said = said.ok().and_then(Result::ok).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().rev();
    let reason = lines.map(str::trim).find(|line| !line.is_empty());
    Err(failed(reason.unwrap_or("it said nothing")))
}
