use proptest::prelude::*;

use super::super::proto::{self, DirectoryNode, FileNode, SymlinkNode};
use super::*;

fn file(name: &str, content: &[u8]) -> FileNode {
    FileNode {
        name: name.into(),
        digest: Some(Digest::of(content).message()),
        ..FileNode::default()
    }
}

fn folder(name: &str, digest: &Digest) -> DirectoryNode {
    DirectoryNode {
        name: name.into(),
        digest: Some(digest.message()),
    }
}

impl Directories {
    fn with(&mut self, directory: &Directory) -> Digest {
        let content = directory.encode_to_vec();
        let digest = Digest::of(&content);
        self.add(content.into());
        digest
    }
}

fn fault(directories: &Directories, root: &Digest) -> String {
    match directories.walk(root) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is a tree"),
    }
}

#[test]
fn folders_files_and_links_have_their_paths() {
    let mut directories = Directories::default();
    let inner = directories.with(&Directory {
        files: vec![file("c", b"1")],
        ..Directory::default()
    });
    let root = directories.with(&Directory {
        files: vec![FileNode {
            is_executable: true,
            ..file("run", b"2")
        }],
        directories: vec![folder("a", &inner), folder("b", &inner)],
        symlinks: vec![SymlinkNode {
            name: "l".into(),
            target: "/etc".into(),
            ..SymlinkNode::default()
        }],
        ..Directory::default()
    });
    let Ok(Walk::Whole(tree)) = directories.walk(&root) else {
        panic!("it is whole");
    };
    assert_eq!(tree.files.keys().collect::<Vec<_>>(), ["a/c", "b/c", "run"]);
    assert!(tree.files["run"].is_executable && !tree.files["a/c"].is_executable);
    assert_eq!(tree.folders.iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(tree.links["l"], "/etc");
}

#[test]
fn what_is_named_and_not_there_is_asked_for() {
    let mut directories = Directories::default();
    let absent = [Digest::of(b"1"), Digest::of(b"2")];
    let root = directories.with(&Directory {
        directories: vec![folder("a", &absent[0]), folder("b", &absent[1])],
        ..Directory::default()
    });
    match directories.walk(&root) {
        Ok(Walk::Missing(missing)) => assert_eq!(missing, absent.into()),
        _ => panic!("two are missing"),
    }
}

/// Unknown fields belong to a directory's digest, too.
#[test]
fn unknown_fields_do_no_harm() {
    let mut directories = Directories::default();
    let mut content = Directory {
        files: vec![file("a", b"1")],
        ..Directory::default()
    }
    .encode_to_vec();
    // Field 100, a number.
    content.extend([0xa0, 0x06, 0x07]);
    let root = Digest::of(&content);
    directories.add(content.into());
    assert!(matches!(directories.walk(&root), Ok(Walk::Whole(tree)) if tree.files.len() == 1));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for name in ["", ".", "..", "a/b", "/", "a\0"] {
        for kind in 0..3 {
            let mut directories = Directories::default();
            let mut directory = Directory::default();
            match kind {
                0 => directory.files.push(file(name, b"1")),
                1 => directory.directories.push(folder(name, &Digest::of(b""))),
                _ => directory.symlinks.push(SymlinkNode {
                    name: name.into(),
                    ..SymlinkNode::default()
                }),
            }
            let root = directories.with(&directory);
            let error = fault(&directories, &root);
            assert!(error.contains("is not a name of a file"), "{error}");
        }
    }
    let mut directories = Directories::default();
    let root = directories.with(&Directory {
        files: vec![file("a", b"1")],
        directories: vec![folder("a", &Digest::of(b""))],
        ..Directory::default()
    });
    assert!(fault(&directories, &root).ends_with("\"a\" in / is there twice"));
    let mut nameless = file("a", b"1");
    nameless.digest = Some(proto::Digest {
        hash: "0".repeat(40),
        size_bytes: 1,
    });
    let root = directories.with(&Directory {
        files: vec![nameless],
        ..Directory::default()
    });
    assert!(fault(&directories, &root).ends_with("has no digest of SHA-256"));
    let root = Digest::of(b"\xff");
    directories.add(Bytes::from_static(b"\xff"));
    assert!(fault(&directories, &root).contains("is not a tree of files"));
}

/// Forty directories that are 2^40 folders.
#[test]
fn a_small_tree_that_is_endless_is_refused() {
    let mut directories = Directories::default();
    let mut inner = directories.with(&Directory::default());
    for _ in 0..40 {
        inner = directories.with(&Directory {
            directories: vec![folder("a", &inner), folder("b", &inner)],
            ..Directory::default()
        });
    }
    assert!(fault(&directories, &inner).contains("more than 200000 files"));
}

proptest! {
    /// Directories of any bytes.
    #[test]
    fn whatever_is_sent_is_a_tree_or_an_error(content: Vec<u8>, bend: prop::sample::Index, byte: u8) {
        let mut directories = Directories::default();
        let root = Digest::of(&content);
        directories.add(content.into());
        let _ = directories.walk(&root);
        let mut bent = Directory {
            files: vec![file("a", b"1"), file("b", b"2")],
            directories: vec![folder("c", &root)],
            ..Directory::default()
        }
        .encode_to_vec();
        let at = bend.index(bent.len());
        bent[at] = byte;
        let root = Digest::of(&bent);
        directories.add(bent.into());
        let _ = directories.walk(&root);
    }
}
