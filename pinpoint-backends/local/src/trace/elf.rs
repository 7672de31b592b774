//! The necessary facts about an executable (ELF): its end, and its interpreter.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The type of a section that takes no place in the file.
const NO_BITS: u64 = 8;
/// The type of the segment that names the interpreter.
const INTERPRETER: u64 = 3;
/// The longest path.
const LONGEST_PATH: u64 = 4096;

/// An executable or shared object, of 32 or 64 bits and either byte order.
pub(super) struct Elf<'a> {
    file: &'a File,
    is_wide: bool,
    is_big_endian: bool,
}

impl<'a> Elf<'a> {
    /// Reads the header; `None` when the file is not an ELF file.
    pub(super) fn open(file: &'a File) -> Option<Self> {
        let mut begin = [0; 6];
        file.read_exact_at(&mut begin, 0).ok()?;
        begin.starts_with(b"\x7fELF").then_some(Self {
            file,
            is_wide: begin[4] == 2,
            is_big_endian: begin[5] == 2,
        })
    }

    /// Checks whether it is an executable or a shared object. Others are not loaded.
    pub(super) fn is_loaded(&self) -> bool {
        matches!(self.number(16, 2), Some(2 | 3))
    }

    /// Checks that the file ends with its sections and their table. Otherwise it holds other data;
    /// absent when that is unknown.
    pub(super) fn ends_with_sections(&self) -> Option<bool> {
        let table = self.either(0x28, 0x20)?;
        let (size, count) = match self.is_wide {
            true => (self.number(0x3a, 2)?, self.number(0x3c, 2)?),
            false => (self.number(0x2e, 2)?, self.number(0x30, 2)?),
        };
        if table == 0 || count == 0 {
            return None;
        }
        let mut end = table.checked_add(size * count)?;
        for index in 0..count {
            let at = table + index * size;
            if self.number(at + 4, 4)? != NO_BITS {
                let begin = self.either(at + 0x18, at + 0x10)?;
                let length = self.either(at + 0x20, at + 0x14)?;
                end = end.max(begin.checked_add(length)?);
            }
        }
        Some(self.file.metadata().ok()?.len() == end)
    }

    /// The program that the kernel loads to run this one.
    pub(super) fn interpreter(&self) -> Option<PathBuf> {
        let table = self.either(0x20, 0x1c)?;
        let (size, count) = match self.is_wide {
            true => (self.number(0x36, 2)?, self.number(0x38, 2)?),
            false => (self.number(0x2a, 2)?, self.number(0x2c, 2)?),
        };
        for index in 0..count {
            let at = table.checked_add(index * size)?;
            if self.number(at, 4)? != INTERPRETER {
                continue;
            }
            let begin = self.either(at + 0x08, at + 0x04)?;
            let length = self.either(at + 0x20, at + 0x10)?.min(LONGEST_PATH);
            let mut path = vec![0; usize::try_from(length).ok()?];
            self.file.read_exact_at(&mut path, begin).ok()?;
            let end = path.iter().position(|byte| *byte == 0);
            path.truncate(end.unwrap_or(path.len()));
            return Some(PathBuf::from(OsString::from_vec(path)));
        }
        None
    }

    /// A number as long as an address, whose offset depends on that length.
    fn either(&self, wide: u64, narrow: u64) -> Option<u64> {
        match self.is_wide {
            true => self.number(wide, 8),
            false => self.number(narrow, 4),
        }
    }

    fn number(&self, at: u64, length: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..length];
        self.file.read_exact_at(bytes, at).ok()?;
        let add = |number, byte: &u8| number << 8 | u64::from(*byte);
        Some(match self.is_big_endian {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_executable_tells_its_end_and_its_interpreter() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("program");
        let mut bytes = fs::read("/bin/sh").unwrap();
        fs::write(&path, &bytes).unwrap();
        let file = File::open(&path).unwrap();
        let elf = Elf::open(&file).unwrap();
        assert!(elf.is_loaded());
        assert_eq!(elf.ends_with_sections(), Some(true));
        let interpreter = elf.interpreter().unwrap();
        assert!(interpreter.is_absolute() && interpreter.exists());
        bytes.extend(b"data of its own");
        fs::write(&path, &bytes).unwrap();
        assert_eq!(elf.ends_with_sections(), Some(false));
        fs::write(&path, "#!/bin/sh\n").unwrap();
        assert!(Elf::open(&file).is_none());
    }
}
