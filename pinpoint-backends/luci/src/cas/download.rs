//! Downloads trees of files to the disk.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::batch::Plan;
use super::stream::{Sink, written};
use super::{Cas, CasError, Digest, File, Tree};

/// The files of a tree by their content, each with its paths.
type Places = BTreeMap<Digest, Vec<(PathBuf, bool)>>;

impl Cas {
    /// Writes the files of a tree into a folder, which must not exist, and returns the tree. Links
    /// are not made, since they may point anywhere; they are in the answer.
    ///
    /// # Errors
    ///
    /// [`CasError::File`] if the folder exists or a file cannot be written, and those of
    /// [`Cas::tree`]. Files already written are then removed, but not when the future is dropped.
    pub async fn download(&self, root: &Digest, folder: &Path) -> Result<Tree, CasError> {
        let tree = self.tree(root).await?;
        let folders: Vec<PathBuf> = tree.folders.iter().map(|path| folder.join(path)).collect();
        let top = folder.to_path_buf();
        blocking(move || {
            fs::create_dir(&top).map_err(written(&top))?;
            // In the order of their names, each comes after the one that it is in.
            folders
                .iter()
                .try_for_each(|path| fs::create_dir(path).map_err(written(path)))
        })
        .await?;
        let filled = self.fill(&tree, folder).await;
        if filled.is_err() {
            let top = folder.to_path_buf();
            // The first error counts.
            let _ = blocking(move || fs::remove_dir_all(&top).map_err(written(&top))).await;
        }
        filled.map(|()| tree)
    }

    /// Writes these files into a folder, which must exist, by their numbers, and returns their
    /// paths.
    ///
    /// # Errors
    ///
    /// [`CasError::File`] if one exists or cannot be written, [`CasError::Missing`], and trouble
    /// with the store. Files already written stay.
    pub async fn download_files(
        &self,
        files: &[Digest],
        folder: &Path,
    ) -> Result<Vec<PathBuf>, CasError> {
        let mut tree = Tree::default();
        for (number, digest) in files.iter().enumerate() {
            let file = File {
                digest: *digest,
                is_executable: false,
            };
            tree.files.insert(number.to_string(), file);
        }
        self.fill(&tree, folder).await?;
        let paths = (0..files.len()).map(|number| folder.join(number.to_string()));
        Ok(paths.collect())
    }

    async fn fill(&self, tree: &Tree, folder: &Path) -> Result<(), CasError> {
        let mut places = Places::new();
        for (path, file) in &tree.files {
            let File {
                digest,
                is_executable,
            } = *file;
            let place = (folder.join(path), is_executable);
            places.entry(digest).or_default().push(place);
        }
        let limit = match places.is_empty() {
            true => return Ok(()),
            false => self.capabilities().await?.batch,
        };
        let plan = Plan::new(places.keys().copied(), limit);
        let places = &places;
        let batches = plan.batches.into_iter().map(Work::Batch);
        let streams = plan.streams.into_iter().map(Work::Stream);
        stream::iter(batches.chain(streams))
            .map(|work| self.place(work, places))
            .buffer_unordered(self.connection().options().at_once.max(1))
            .try_collect()
            .await
    }

    async fn place(&self, work: Work, places: &Places) -> Result<(), CasError> {
        match work {
            Work::Batch(digests) => {
                let read = self.batch(digests).await?;
                let mut files = Vec::new();
                for (digest, content) in read {
                    for (path, is_executable) in places.get(&digest).into_iter().flatten() {
                        files.push((path.clone(), *is_executable, content.clone()));
                    }
                }
                blocking(move || {
                    files.iter().try_for_each(|(path, is_executable, content)| {
                        write(path, *is_executable, content)
                    })
                })
                .await
            }
            Work::Stream(digest) => {
                let places = places.get(&digest).cloned().unwrap_or_default();
                let Some(((first, is_executable), others)) = places.split_first() else {
                    return Ok(());
                };
                let file = create(first, *is_executable)?;
                let file = tokio::fs::File::from_std(file);
                self.stream(&digest, &mut Sink::File(file, first)).await?;
                let (first, others) = (first.clone(), others.to_vec());
                blocking(move || {
                    others
                        .iter()
                        .try_for_each(|(path, is_executable)| copy(&first, path, *is_executable))
                })
                .await
            }
        }
    }
}

enum Work {
    Batch(Vec<Digest>),
    Stream(Digest),
}

/// Creates a new file: nothing is written through a link.
fn create(path: &Path, is_executable: bool) -> Result<fs::File, CasError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if is_executable { 0o777 } else { 0o666 });
    }
    #[cfg(not(unix))]
    let _ = is_executable;
    options.open(path).map_err(written(path))
}

fn write(path: &Path, is_executable: bool, content: &Bytes) -> Result<(), CasError> {
    let mut file = create(path, is_executable)?;
    file.write_all(content).map_err(written(path))
}

fn copy(from: &Path, to: &Path, is_executable: bool) -> Result<(), CasError> {
    let mut source = fs::File::open(from).map_err(written(from))?;
    let mut target = create(to, is_executable)?;
    std::io::copy(&mut source, &mut target).map_err(written(to))?;
    Ok(())
}

async fn blocking(
    work: impl FnOnce() -> Result<(), CasError> + Send + 'static,
) -> Result<(), CasError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
