//! Immutable answers, kept on disk within a bound.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// A folder of files named by the SHA-256 of their question. Several processes may share it.
///
/// When it exceeds the bound, the least recently used files are removed until it is filled to four
/// fifths. A file that cannot be read or written is a miss: the cache may be removed at any time.
#[derive(Debug)]
pub(super) struct DiskCache {
    dir: PathBuf,
    most_bytes: u64,
    /// The bytes in it, as far as this process knows; absent until it has looked.
    used: Mutex<Option<u64>>,
}

impl DiskCache {
    pub(super) fn new(dir: PathBuf, most_bytes: u64) -> Self {
        Self {
            dir,
            most_bytes,
            used: Mutex::new(None),
        }
    }

    /// The kept answer to a question.
    pub(super) fn get<T: DeserializeOwned>(&self, question: &[&str]) -> Option<T> {
        let path = self.path(question);
        let kept = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        // It was used: it is removed later.
        let file = fs::File::options().append(true).open(&path);
        let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        Some(kept)
    }

    /// Keeps the answer to a question.
    pub(super) fn put(&self, question: &[&str], answer: &impl Serialize) {
        let path = self.path(question);
        let Ok(bytes) = serde_json::to_vec(answer) else {
            return;
        };
        if let Err(error) = self.write(&path, &bytes) {
            tracing::warn!(path = %path.display(), %error, "an answer can't be kept");
        }
    }

    fn path(&self, question: &[&str]) -> PathBuf {
        let mut digest = Sha256::new_with_prefix("gitiles, 1");
        for part in question {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        self.dir.join(hex::encode(digest.finalize()))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        let mut used = self.used.lock().unwrap_or_else(|it| it.into_inner());
        let total = match *used {
            Some(used) => used + bytes.len() as u64,
            None => self.files()?.iter().map(|file| file.bytes).sum(),
        };
        *used = Some(match total > self.most_bytes {
            true => self.shrink()?,
            false => total,
        });
        Ok(())
    }

    /// Removes the least recently used files; returns the remaining bytes.
    fn shrink(&self) -> io::Result<u64> {
        let mut files = self.files()?;
        files.sort_by_key(|file| file.used);
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        for file in files {
            if total <= self.most_bytes / 5 * 4 {
                break;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(&file.path);
            total = total.saturating_sub(file.bytes);
        }
        Ok(total)
    }

    fn files(&self) -> io::Result<Vec<CacheFile>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_file() {
                files.push(CacheFile {
                    path: entry.path(),
                    bytes: metadata.len(),
                    used: metadata.modified()?,
                });
            }
        }
        Ok(files)
    }
}

struct CacheFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_by_the_whole_question() {
        let dir = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(dir.path().join("cache"), 1 << 20);
        assert_eq!(cache.get::<String>(&["a", "b"]), None);
        cache.put(&["a", "b"], &"answer");
        assert_eq!(cache.get::<String>(&["a", "b"]).as_deref(), Some("answer"));
        assert_eq!(cache.get::<String>(&["ab", ""]), None);
        // Of another kind, as an older version might have left it.
        assert_eq!(cache.get::<u32>(&["a", "b"]), None);
    }

    #[test]
    fn a_damaged_file_is_a_miss() {
        let dir = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(dir.path().into(), 1 << 20);
        cache.put(&["a"], &"answer");
        fs::write(cache.path(&["a"]), "\"ans").unwrap();
        assert_eq!(cache.get::<String>(&["a"]), None);
    }

    #[test]
    fn what_was_not_used_for_longest_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(dir.path().into(), 1_000);
        let answer = "x".repeat(98);
        let at = |seconds| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        for number in 0..10 {
            let question = number.to_string();
            cache.put(&[&question], &answer);
            let file = fs::File::options()
                .append(true)
                .open(cache.path(&[&question]));
            file.unwrap().set_modified(at(number)).unwrap();
        }
        assert_eq!(cache.get::<String>(&["0"]).as_deref(), Some(&*answer));
        cache.put(&["more"], &answer);
        let kept = |question: &str| cache.get::<String>(&[question]).is_some();
        assert!(kept("0") && kept("more") && kept("9"));
        assert!(!kept("1") && !kept("2"));
        let total: u64 = cache.files().unwrap().iter().map(|file| file.bytes).sum();
        assert_eq!(total, 800);
    }
}
