//! Ways in which a benchmark, or its build, leaves the work tree for the user's checkout, where the
//! code is the same for every commit.
//!
//! Most such ways are detected by the files that a run opens: a package that is installed in place,
//! `PYTHONPATH`, links of npm, absolute paths. Some are not, since nothing is opened in the
//! checkout itself: a program that `PATH` finds there, a build directory that was configured for
//! it. Those are found in the command lines and the environment.
//!
//! A file that the command names outright is meant to be the same for all commits, as a script that
//! measures them. The answer reports this.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::git::git_command;
use crate::git::repository::Repository;
use crate::listed::listed_paths;
use crate::process::environment::Environment;
use crate::process::supervisor;
use crate::run::checkout_watch::CheckoutWatch;
use crate::run::command_words::words;

/// Variables by which programs find the code that they load.
const LOADERS: [&str; 8] = [
    "CLASSPATH",
    "DYLD_LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_PATH",
    "PERL5LIB",
    "PYTHONPATH",
    "RUBYLIB",
];

/// Variables that name one directory for all of Cargo's builds, which otherwise stay apart by work
/// tree.
const TARGETS: [&str; 2] = ["CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR"];

/// Programs, besides scripts, that may have Cargo build something.
const BUILDERS: [&str; 4] = ["cargo", "just", "make", "maturin"];

/// Variables that record a location, and lead nowhere.
const PLACES: [&str; 3] = ["HOME", "OLDPWD", "PWD"];

/// A benchmark or its build is the same for all commits, since it uses the user's checkout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutsideRead {
    /// The benchmark opens tracked files in it.
    #[error("each run opens {} of {}, your own checkout, and not of the work tree of a commit: all commits would be measured with the same code; {}", listed_paths(.files), .tree.display(), way_out(.files, .variable.as_deref()))]
    Files {
        /// The checkout.
        tree: PathBuf,
        /// The files, relative to it.
        files: Vec<PathBuf>,
        /// The variable that leads there, if one does.
        variable: Option<String>,
    },
    /// The program itself is in it.
    #[error(
        "PATH finds the program {program} at {}, in your own checkout: all commits would be measured with the same one; have the build make it, and name it relative to the work tree",
        .path.display()
    )]
    Program {
        /// Its name.
        program: String,
        /// Its path.
        path: PathBuf,
    },
    /// The build command names a directory of sources in it.
    #[error(
        "the build command names {}, in your own checkout: all commits would be built from the same sources; it runs in the work tree of the commit, so name paths relative to that",
        .path.display()
    )]
    Sources {
        /// The directory.
        path: PathBuf,
    },
    /// Cargo keeps the builds of all commits in one directory.
    #[error(
        "{variable} is {}, so that the builds of all commits replace each other there: a commit would be run with the program of another; unset it, or have the build and the command set it to a directory of the work tree",
        .path.display()
    )]
    Target {
        /// The variable.
        variable: String,
        /// The directory.
        path: PathBuf,
    },
    /// A build directory was configured for sources in it.
    #[error(
        "{} was configured for the sources in {}, your own checkout: all commits would be built from those; configure a build directory in the work tree (cmake -B build)",
        .cache.display(),
        .sources.display()
    )]
    CMake {
        /// The file that says so.
        cache: PathBuf,
        /// The sources.
        sources: PathBuf,
    },
}

/// The user's work trees, and the paths by which a job's commands may reach them.
pub(crate) struct Surroundings {
    trees: Vec<PathBuf>,
    variables: Vec<(String, String)>,
    command: Vec<String>,
    build: Option<String>,
}

impl Surroundings {
    /// The surroundings of a job whose user has these work trees.
    pub(crate) fn new(
        trees: &[PathBuf],
        environment: &Environment,
        command: &[String],
        build: Option<&str>,
    ) -> Self {
        Self {
            trees: trees.to_owned(),
            variables: environment.readable(),
            command: command.to_owned(),
            build: build.map(str::to_owned),
        }
    }

    /// Watches the files that a run may open there.
    pub(crate) fn watch(&self) -> Option<CheckoutWatch> {
        let mut libraries = HashSet::new();
        for (name, value) in &self.variables {
            if LOADERS.contains(&&**name) {
                let inside = paths_in(value)
                    .into_iter()
                    .filter(|path| self.tree_of(path).is_some());
                libraries.extend(inside.filter_map(|path| match path.is_dir() {
                    true => Some(path),
                    false => path.parent().map(Path::to_owned),
                }));
            }
        }
        CheckoutWatch::open(&self.trees, libraries)
    }

    /// Looks for problems that are visible before anything runs. Returns the files of a checkout
    /// that the command names.
    ///
    /// # Errors
    ///
    /// When the program or the sources belong to a checkout.
    pub(crate) fn check(&self) -> Result<Vec<PathBuf>, OutsideRead> {
        self.check_program()?;
        self.check_target()?;
        let build = self.build.iter().flat_map(|script| paths_in(script));
        let build: Vec<PathBuf> = build.collect();
        let command = self.command.iter().flat_map(|part| paths_in(part));
        let command: Vec<PathBuf> = command.collect();
        for path in build.iter().chain(&command) {
            self.check_cmake(path)?;
        }
        for path in build {
            if path.is_dir()
                && let Some(tree) = self.tree_of(&path)
                && has_tracked_files(tree, &path)
            {
                return Err(OutsideRead::Sources { path });
            }
        }
        let named = command.into_iter();
        Ok(named
            .filter(|path| path.is_file() && self.tree_of(path).is_some())
            .collect())
    }

    /// Judges the files that each of two runs opened.
    ///
    /// # Errors
    ///
    /// When one of them is not named by the command.
    pub(crate) fn judge(&self, opened: &BTreeSet<PathBuf>) -> Result<(), OutsideRead> {
        let texts = self.command.iter().chain(self.declared());
        let named: HashSet<PathBuf> = texts.flat_map(|text| paths_in(text)).collect();
        let others: Vec<&PathBuf> = { opened.iter() }
            .filter(|file| !named.contains(*file))
            .collect();
        let Some((first, tree)) =
            { others.first() }.and_then(|first| Some((*first, self.tree_around(first)?)))
        else {
            return Ok(());
        };
        let leads = |(name, value): &&(String, String)| {
            !PLACES.contains(&&**name)
                && paths_in(value)
                    .iter()
                    .any(|path| path.starts_with(tree) && first.starts_with(path))
        };
        let variable = self.variables.iter().find(leads);
        let files = others.into_iter().filter_map(|file| {
            let file = file.strip_prefix(tree).ok()?;
            Some(file.to_owned())
        });
        Err(OutsideRead::Files {
            tree: tree.to_owned(),
            files: files.collect(),
            variable: variable.map(|(name, _)| name.clone()),
        })
    }

    /// The values of variables that name a file: the user chose that file.
    fn declared(&self) -> impl Iterator<Item = &String> {
        let loads = |name: &str| LOADERS.contains(&name);
        let variables = self.variables.iter();
        variables.filter_map(move |(name, value)| (!loads(name)).then_some(value))
    }

    fn check_program(&self) -> Result<(), OutsideRead> {
        let Some(program) = self.command.first().filter(|it| !it.contains('/')) else {
            return Ok(());
        };
        let path = self.variables.iter().find(|(name, _)| name == "PATH");
        let path: Vec<(OsString, OsString)> =
            (path.iter().map(|(name, value)| (name.into(), value.into()))).collect();
        let Ok(found) = supervisor::find(program.as_ref(), None, &path) else {
            return Ok(());
        };
        if !found.is_absolute() || is_installed(&found) {
            return Ok(());
        }
        match found.canonicalize() {
            Ok(path) if self.tree_of(&path).is_some() => Err(OutsideRead::Program {
                program: program.clone(),
                path,
            }),
            _ => Ok(()),
        }
    }

    fn check_target(&self) -> Result<(), OutsideRead> {
        let has_packages = |tree: &PathBuf| tree.join("Cargo.toml").is_file();
        if !self.trees.iter().any(has_packages) {
            return Ok(());
        }
        let texts: Vec<&String> = self.build.iter().chain(&self.command).collect();
        let names = |text: &str| texts.iter().any(|it| it.contains(text));
        let builds = texts.iter().flat_map(|text| words(text)).any(|word| {
            let program = Path::new(&word).file_name().and_then(|it| it.to_str());
            program.is_some_and(|it| BUILDERS.contains(&it) || it.ends_with(".sh"))
        });
        let shared = self.variables.iter().find(|(name, value)| {
            let is_used = builds || names(value);
            let is_set = names(name) || names("--target-dir");
            TARGETS.contains(&&**name) && Path::new(value).is_absolute() && is_used && !is_set
        });
        match shared {
            Some((variable, path)) => Err(OutsideRead::Target {
                variable: variable.clone(),
                path: path.into(),
            }),
            None => Ok(()),
        }
    }

    fn check_cmake(&self, path: &Path) -> Result<(), OutsideRead> {
        const HOME: &str = "CMAKE_HOME_DIRECTORY:INTERNAL=";
        for directory in path.ancestors() {
            let cache = directory.join("CMakeCache.txt");
            let Ok(text) = fs::read_to_string(&cache) else {
                continue;
            };
            let home = text.lines().find_map(|line| line.strip_prefix(HOME));
            let home = home.and_then(|home| Path::new(home).canonicalize().ok());
            return match home {
                Some(sources) if self.tree_around(&sources).is_some() => {
                    Err(OutsideRead::CMake { cache, sources })
                }
                _ => Ok(()),
            };
        }
        Ok(())
    }

    /// The work tree that contains a path, unless the path is in an installed package.
    fn tree_of(&self, path: &Path) -> Option<&Path> {
        self.tree_around(path).filter(|_| !is_installed(path))
    }

    fn tree_around(&self, path: &Path) -> Option<&Path> {
        let trees = self.trees.iter();
        trees
            .map(PathBuf::as_path)
            .find(|tree| path.starts_with(tree))
    }
}

/// The user's work trees of a repository.
pub(crate) fn user_trees(repository: &Repository) -> Vec<PathBuf> {
    let arguments = ["worktree", "list", "--porcelain"];
    let Ok(output) = git_command::run(repository.git().args(arguments)) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let trees = text.split("\n\n").filter(|about| {
        let mut lines = about.lines();
        !lines.any(|line| line == "bare")
    });
    let path = |about: &str| {
        about
            .lines()
            .next()?
            .strip_prefix("worktree ")
            .map(PathBuf::from)
    };
    trees
        .filter_map(path)
        .filter_map(|tree| tree.canonicalize().ok())
        .filter(|tree| tree.is_dir())
        .collect()
}

/// Checks whether the path is in an environment of installed packages, which a checkout may hold
/// but does not track.
fn is_installed(path: &Path) -> bool {
    path.ancestors().any(|it| {
        it.file_name().is_some_and(|name| name == "node_modules")
            || it.join("pyvenv.cfg").is_file()
            || it.join("conda-meta").is_dir()
    })
}

fn has_tracked_files(tree: &Path, directory: &Path) -> bool {
    let mut command = git_command::git(tree);
    command.args(["ls-files", "-z", "--"]).arg(directory);
    git_command::run(&mut command).is_ok_and(|output| !output.stdout.is_empty())
}

/// The absolute paths in a command line or a list, as far as they exist, with links resolved.
fn paths_in(text: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for word in words(text) {
        let path = match word.as_bytes() {
            [b'/', _, ..] => Some(&*word),
            // As in `-I/usr/include`.
            [b'-', letter, b'/', ..] if letter.is_ascii_alphabetic() => word.get(2..),
            _ => None,
        };
        let path = path.and_then(|path| Path::new(path).canonicalize().ok());
        paths.extend(path.filter(|path| !paths.contains(path)));
    }
    paths
}

fn way_out(files: &[PathBuf], variable: Option<&str>) -> String {
    if let Some(variable) = variable {
        return format!(
            "{variable} leads there: unset it, or make it name places relative to the work tree"
        );
    }
    let ends_with = |ends: &[&str]| {
        let end = files.first().and_then(|file| file.extension()?.to_str());
        end.is_some_and(|end| ends.contains(&end))
    };
    let advice = if ends_with(&["py", "so", "pyx"]) {
        "if a package is installed in place (`pip install -e`), have the build command install \
         the one of the work tree"
    } else if ends_with(&["js", "cjs", "mjs", "ts", "json"]) {
        "if a package is linked in place (`npm link`), have the build command install the one of \
         the work tree"
    } else {
        "name files relative to the work tree, in which commands run"
    };
    format!(
        "{advice}; if a file is to be the same for every commit, name it by its absolute path in the \
         command, or in a variable of the environment"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A checkout with the file `src/package/code.py`, and its surroundings.
    struct World {
        _temporary: tempfile::TempDir,
        root: PathBuf,
        surroundings: Surroundings,
    }

    impl World {
        fn new() -> Self {
            let temporary = tempfile::tempdir().unwrap();
            let root = temporary.path().canonicalize().unwrap();
            let tree = root.join("checkout");
            fs::create_dir_all(tree.join("src/package")).unwrap();
            fs::write(tree.join("src/package/code.py"), "1").unwrap();
            fs::write(tree.join("bench.sh"), "1").unwrap();
            let git = |arguments: &[&str]| {
                let output = git_command::run(git_command::git(&tree).args(arguments)).unwrap();
                assert!(output.status.success());
            };
            git(&["init", "-q"]);
            git(&["add", "-A"]);
            let repository = Repository::discover(&tree.join("src")).unwrap();
            let trees = user_trees(&repository);
            assert_eq!(trees, std::slice::from_ref(&tree));
            Self {
                _temporary: temporary,
                root,
                surroundings: Surroundings {
                    trees,
                    variables: Vec::new(),
                    command: vec!["true".into()],
                    build: None,
                },
            }
        }

        fn path(&self, name: &str) -> String {
            self.root.join(name).display().to_string()
        }

        fn set(&mut self, name: &str, value: String) {
            let variables = &mut self.surroundings.variables;
            variables.retain(|(it, _)| it != name);
            variables.push((name.into(), value));
        }

        fn judge(&self, names: &[&str]) -> Result<(), OutsideRead> {
            let files = names
                .iter()
                .map(|name| self.root.join("checkout").join(name));
            self.surroundings.judge(&files.collect())
        }
    }

    #[test]
    fn a_shared_target_directory_is_refused_in_a_cargo_project() {
        let mut world = World::new();
        let target = world.path("target");
        world.set("CARGO_TARGET_DIR", target.clone());
        assert!(world.surroundings.check().is_ok());
        fs::write(world.root.join("checkout/Cargo.toml"), "").unwrap();
        assert!(world.surroundings.check().is_ok());
        // Neither Cargo nor make.
        world.surroundings.build = Some("cmake -B build; adjust".into());
        assert!(world.surroundings.check().is_ok());
        world.surroundings.build = Some("cargo build".into());
        let error = world.surroundings.check().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("CARGO_TARGET_DIR is {target}, ")),
            "{error}"
        );
        for build in [
            "CARGO_TARGET_DIR=target cargo build",
            "cargo build --target-dir target",
        ] {
            world.surroundings.build = Some(build.into());
            assert!(world.surroundings.check().is_ok());
        }
        world.surroundings.build = None;
        world.set("CARGO_TARGET_DIR", "target".into());
        assert!(world.surroundings.check().is_ok());
    }

    #[test]
    fn a_blank_in_the_path_of_a_checkout_hides_no_name() {
        let mut world = World::new();
        let tree = world.root.join("my checkout");
        fs::create_dir(&tree).unwrap();
        let script = tree.join("bench.sh");
        fs::write(&script, "").unwrap();
        world.surroundings.trees = vec![tree];
        let opened = BTreeSet::from([script.clone()]);
        assert!(world.surroundings.judge(&opened).is_err());
        for command in [
            vec!["sh".into(), script.display().to_string()],
            vec![
                "sh".into(),
                "-c".into(),
                format!("nice '{}' -v", script.display()),
            ],
        ] {
            world.surroundings.command = command;
            assert!(world.surroundings.judge(&opened).is_ok());
            let named = world.surroundings.check().unwrap();
            assert_eq!(named, std::slice::from_ref(&script));
        }
    }

    #[test]
    fn files_that_the_command_names_are_wanted_and_others_are_not() {
        let mut world = World::new();
        assert!(world.judge(&[]).is_ok());
        let error = world
            .judge(&["src/package/code.py"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("src/package/code.py of "), "{error}");
        assert!(error.contains("pip install -e"), "{error}");

        let script = world.path("checkout/bench.sh");
        world.surroundings.command = vec!["sh".into(), "-c".into(), format!("nice {script}>x")];
        assert!(world.judge(&["bench.sh"]).is_ok());
        let named = world.surroundings.check().unwrap();
        assert_eq!(named, [PathBuf::from(&script)]);
        let error = world.judge(&["bench.sh", "src/package/code.py"]);
        let error = error.unwrap_err().to_string();
        assert!(!error.contains("bench.sh"), "{error}");

        // Named through a link, and by a variable.
        symlink(&world.root, world.root.join("link")).unwrap();
        let script = world.path("link/checkout/bench.sh");
        world.surroundings.command = vec![script.clone()];
        assert!(world.judge(&["bench.sh"]).is_ok());
        world.surroundings.command = vec!["true".into()];
        world.set("SCRIPT", script);
        assert!(world.judge(&["bench.sh"]).is_ok());
    }

    #[test]
    fn the_variable_that_leads_there_is_named() {
        let mut world = World::new();
        world.set("PWD", world.path("checkout"));
        world.set("PYTHONPATH", format!("/usr:{}", world.path("checkout/src")));
        let error = world
            .judge(&["src/package/code.py"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("PYTHONPATH leads there"), "{error}");
        let error = world.judge(&["bench.sh"]).unwrap_err().to_string();
        assert!(!error.contains("leads there"), "{error}");
    }

    #[test]
    fn programs_of_the_checkout_are_refused_unless_they_are_installed_there() {
        let mut world = World::new();
        let place = |world: &World, name: &str| {
            let directory = world.root.join(name);
            fs::create_dir_all(&directory).unwrap();
            let program = directory.join("tool");
            fs::write(&program, "").unwrap();
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
            directory.display().to_string()
        };
        world.surroundings.command = vec!["tool".into()];
        let inside = place(&world, "checkout/target");
        world.set("PATH", inside);
        let error = world.surroundings.check().unwrap_err().to_string();
        assert!(error.contains("checkout/target/tool"), "{error}");
        for name in ["checkout/node_modules/.bin", "checkout/.venv/bin", "bin"] {
            let directory = place(&world, name);
            fs::write(world.path("checkout/.venv/pyvenv.cfg"), "").unwrap_or_default();
            world.set("PATH", directory);
            world.surroundings.check().unwrap();
        }
    }

    #[test]
    fn builds_of_the_checkout_are_refused() {
        let mut world = World::new();
        let build = |world: &mut World, script: String| {
            world.surroundings.build = Some(script);
            world
                .surroundings
                .check()
                .map_err(|error| error.to_string())
        };
        let script = format!("cmake -S{} -B build", world.path("checkout"));
        assert!(build(&mut world, script).unwrap_err().contains("checkout"));
        let script = format!("make -C {}/src", world.path("checkout"));
        assert!(build(&mut world, script).unwrap_err().contains("checkout"));
        // Untracked files there, and files elsewhere.
        fs::create_dir_all(world.path("checkout/node_modules")).unwrap();
        fs::create_dir_all(world.path("build")).unwrap();
        for name in ["checkout/node_modules", "build", "checkout/missing"] {
            let script = format!("cp -r {} .", world.path(name));
            build(&mut world, script).unwrap();
        }

        let cache = |world: &World, sources: &str| {
            let line = format!("CMAKE_HOME_DIRECTORY:INTERNAL={}\n", world.path(sources));
            fs::write(world.path("build/CMakeCache.txt"), format!("# x\n{line}")).unwrap();
        };
        cache(&world, "checkout/src");
        let script = format!("cmake --build {}", world.path("build"));
        let error = build(&mut world, script.clone()).unwrap_err();
        assert!(error.contains("was configured for the sources"), "{error}");
        world.surroundings.command = vec![world.path("build/bench")];
        cache(&world, "elsewhere");
        build(&mut world, script).unwrap();
    }
}
