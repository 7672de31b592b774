//! Laying out the dependencies of a state in its work tree.
//!
//! A state is a commit and dependencies held at other revisions than the commit names: `{tool@1,
//! skia@7}`. The tree that is built must be the one that the manifests describe, with the held
//! revisions in place of the named ones: then `{tool@1}` and `{tool@1, skia@6}` are the same tree
//! where tool@1 names skia@6, and the two ends of a roll differ in nothing but skia.
//!
//! # Actions
//!
//! | named in | not held | held |
//! | --- | --- | --- |
//! | `.gitmodules` | checked out at its path | checked out at its path, and entered in the index, so that `git submodule update` leaves it there |
//! | `DEPS` | checked out at its path | checked out at its path |
//! | `Cargo.lock` | left to Cargo | the hash of its packages in the lock file |
//! | `go.mod` | left to Go | checked out next to the work tree, and a `replace` with that directory |
//!
//! A revision is a hash or a tag. A branch moves, and builds are kept.
//!
//! Only what is available is checked out (see [`LocalRepositories`](crate::LocalRepositories)):
//! nothing is fetched except by mirrors. The rest stays as in a plain checkout, and the build
//! command may fetch it. The manifests of a dependency that is laid
//! out are read in turn, as far as they count: submodules of submodules, `recursedeps`. Where two
//! name the same path the outer one is followed, as gclient does.
//!
//! Cargo fetches a commit that it does not have from the URL in the lock file, and Go the other
//! requirements of a replaced module. A merge that is on no branch can't be fetched: a state with
//! one in a Cargo dependency does not build. A `vendor` directory or a `go.work` takes precedence
//! over the replacement; Go refuses the first and obeys the second.
//!
//! A dependency is known by its repository. Named at several paths by one repository, it is held at
//! all of them.
//!
//! # Paths in `DEPS`
//!
//! Without `use_relative_paths` they begin at the directory that holds the checkout:
//! `src/third_party/skia`. The name of the checkout there is not recorded, so the most common first
//! component is assumed. Paths that begin otherwise are outside the checkout, and are left alone.
//!
//! # Failed builds
//!
//! Each is a failed build with its reason, since another commit may succeed: a path that leads out
//! of the work tree or to the commit's own files; a manifest that can't be read; a held dependency
//! that no manifest names; a revision that the clone lacks. A submodule whose revision is missing
//! is left to the build command, which may fetch it, and so is a dependency under a condition,
//! which may be meant for other machines. And a file that only happens to be called `DEPS` is not a
//! manifest: where the user names no other repository, one that can't be read is left alone, too.

mod cargo_lock;
mod go_mod;
mod inside;
mod layout;
