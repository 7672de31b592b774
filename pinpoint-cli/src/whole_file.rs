//! Files that are written as a whole: a reader sees what was there before, or
//! all of what is there now.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file beside `file`, to be written and then moved into its place.
///
/// Dropped before that, it is removed.
pub(crate) fn begin(file: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pinpoint-");
    // As any other file, not for the user's eyes only, and with errors that do not name this one.
    builder.make_in(directory(file), |path| File::create_new(path))
}

/// Moves what was written into the place of `file`.
pub(crate) fn end(mut written: NamedTempFile, file: &Path) -> io::Result<()> {
    written.flush()?;
    written.as_file().sync_all()?;
    written.persist(file)?;
    Ok(())
}

fn directory(file: &Path) -> &Path {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}
