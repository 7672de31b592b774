//! Files that are written as a whole: a reader sees the earlier content, or all of the new one.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// A file next to `file`, to be written and then moved into its place.
///
/// Dropped before that, it is removed.
pub(crate) fn begin(file: &Path) -> io::Result<NamedTempFile> {
    // With the permissions of any other file, not only for the user, and with errors that do not
    // name this temporary one.
    builder().make_in(directory(file), |path| File::create_new(path))
}

/// Like [`begin`], readable only by the user.
pub(crate) fn begin_private(file: &Path) -> io::Result<NamedTempFile> {
    builder().make_in(directory(file), |path| {
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600).open(path)
    })
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pinpoint-");
    builder
}

/// Moves the written file into the place of `file`.
pub(crate) fn end(mut written: NamedTempFile, file: &Path) -> io::Result<()> {
    written.flush()?;
    written.as_file().sync_all()?;
    written.persist(file)?;
    Ok(())
}

/// Like [`end`], without an existing `file`: one that another process created is an error.
pub(crate) fn end_new(mut written: NamedTempFile, file: &Path) -> io::Result<()> {
    written.flush()?;
    written.as_file().sync_all()?;
    written.persist_noclobber(file)?;
    Ok(())
}

fn directory(file: &Path) -> &Path {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}
