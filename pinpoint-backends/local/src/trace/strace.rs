//! Reads the output of `strace -f -y`.
//!
//! ```text
//! 4711 openat(AT_FDCWD</tree>, "a.h", O_RDONLY) = 3</tree/a.h>
//! 4711 vfork( <unfinished ...>
//! 4712 access("cc", X_OK)                = -1 ENOENT (No such file or directory)
//! 4711 <... vfork resumed>)              = 4712
//! 4712 +++ exited with 0 +++
//! ```
//!
//! A path may be relative to the working directory of its process, which the trace gives only now
//! and then: each process begins with that of its parent, and threads share one. A child may appear
//! before the call that started it; its lines wait until then.
//!
//! Anything unknown is a doubt: nothing is proved by a trace with a gap.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use super::access::{Access, Trace};
use super::call::{Call, changed_process, described, find, path_of, process_of};

/// The system calls to trace, in the syntax of `strace`. Those with a question mark do not exist
/// everywhere.
pub(super) const CALLS: &str = "trace=%file,?getdents,?getdents64,fchdir,?fork,?vfork,?clone,\
    ?clone3,connect,bind,sendto,sendmsg,?sendmmsg,?io_uring_setup,?open_by_handle_at,?setns,\
    ?mmap,?mmap2";

/// Reads a trace line by line.
pub(super) struct StraceReader {
    trace: Trace,
    has_begun: bool,
    /// The working directories, each of one process or of several threads.
    directories: Vec<PathBuf>,
    /// The index of each process's directory.
    directory_of: HashMap<u32, usize>,
    /// Processes that have not ended.
    alive: BTreeSet<u32>,
    /// The first part of a call that has not returned.
    unfinished: HashMap<u32, Vec<u8>>,
    /// The lines of processes whose parent is not known yet.
    waiting: BTreeMap<u32, Vec<Vec<u8>>>,
    /// The files that a process opened and has not mapped as code: the path of each, and the names
    /// by which it was opened.
    opened: HashMap<u32, Vec<(PathBuf, Vec<PathBuf>)>>,
    /// The addresses that were connected to.
    connected: BTreeSet<String>,
    /// The addresses at which the traced processes themselves listen.
    bound: BTreeSet<String>,
}

impl StraceReader {
    /// Creates a reader for a command started in a directory.
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            trace: Trace::default(),
            has_begun: false,
            directories: vec![directory.to_owned()],
            directory_of: HashMap::new(),
            alive: BTreeSet::new(),
            unfinished: HashMap::new(),
            waiting: BTreeMap::new(),
            opened: HashMap::new(),
            connected: BTreeSet::new(),
            bound: BTreeSet::new(),
        }
    }

    /// Reads one line, without its end.
    pub(super) fn line(&mut self, line: &[u8]) {
        let Some((process, rest)) = process_of(line) else {
            self.doubt_line(line);
            return;
        };
        if !self.has_begun {
            self.has_begun = true;
            self.directory_of.insert(process, 0);
        }
        if self.directory_of.contains_key(&process) {
            self.alive.insert(process);
            self.of_process(process, rest);
        } else {
            self.waiting
                .entry(process)
                .or_default()
                .push(line.to_owned());
        }
    }

    /// Returns the whole trace, after its last line.
    pub(super) fn finish(mut self) -> Trace {
        if !self.has_begun {
            self.doubt("the trace is empty".into());
        }
        let processes: Vec<u32> = self.opened.keys().copied().collect();
        for process in processes {
            self.read_opened(process);
        }
        if let Some(process) = self.waiting.keys().next() {
            let process = *process;
            self.doubt(format!(
                "the trace does not say who started process {process}"
            ));
        }
        if let Some(process) = self.alive.first() {
            let process = *process;
            self.doubt(format!("the trace ends before process {process} does"));
        }
        let elsewhere = self.connected.difference(&self.bound).next();
        if let Some(address) = elsewhere.cloned() {
            self.doubt(format!(
                "it asks another process on this machine ({address}), which may read anything"
            ));
        }
        self.trace
    }

    fn doubt(&mut self, reason: String) {
        self.trace.doubt.get_or_insert(reason);
    }

    fn doubt_line(&mut self, line: &[u8]) {
        const MAX_LINE_BYTES: usize = 200;
        let line = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE_BYTES)]).into_owned();
        self.doubt(format!("a line of the trace can't be read: {line:?}"));
    }

    fn of_process(&mut self, process: u32, line: &[u8]) {
        if line.starts_with(b"+++ superseded") {
            // It continues as another thread's program, under that number.
        } else if line.starts_with(b"+++ ") {
            self.alive.remove(&process);
            self.unfinished.remove(&process);
            self.directory_of.remove(&process);
            self.read_opened(process);
        } else if line.starts_with(b"--- ") {
            // A signal.
        } else if let Some(rest) = line.strip_prefix(b"<... ") {
            let begun = self.unfinished.remove(&process);
            match (begun, find(rest, b" resumed>")) {
                (Some(mut call), Some(at)) => {
                    call.extend(&rest[at + b" resumed>".len()..]);
                    self.call(process, &call);
                }
                _ => self.doubt_line(line),
            }
        } else if let Some(begun) = line.strip_suffix(b"<unfinished ...>") {
            self.unfinished.insert(process, begun.to_owned());
        } else if let Some((begun, leader)) = changed_process(line) {
            // A thread that executes a program takes the place of all threads.
            if let Some(directory) = self.directory_of.remove(&process) {
                self.directory_of.insert(leader, directory);
            }
            self.alive.remove(&process);
            self.alive.insert(leader);
            self.unfinished.insert(leader, begun.to_owned());
        } else {
            self.call(process, line);
        }
    }

    fn call(&mut self, process: u32, line: &[u8]) {
        let parsed = Call::parse(line);
        let Some((call, place)) = parsed.zip(self.directory_of.get(&process).copied()) else {
            self.doubt_line(line);
            return;
        };
        match call.name {
            b"fork" | b"vfork" | b"clone" | b"clone3" => {
                if let Some(child) = call.number().filter(|child| *child > 0) {
                    self.started(child, place, call.mentions(b"CLONE_FS"));
                }
            }
            b"getdents" | b"getdents64" => {
                if let Some(directory) = call.arguments.first().and_then(|it| described(it)) {
                    self.add(directory, Access::LISTED);
                }
            }
            b"fchdir" => {
                if let (Some(directory), false) = (
                    call.arguments.first().and_then(|it| described(it)),
                    call.failed,
                ) {
                    self.directories[place] = directory;
                }
            }
            b"bind" if !call.failed => self.bound.extend(call.local_socket()),
            b"connect" | b"sendto" | b"sendmsg" | b"sendmmsg"
                if !call.failed || call.mentions_result(b"EINPROGRESS") =>
            {
                if call.mentions(b"sa_family=AF_INET") {
                    self.doubt("it uses the network, where anything may answer".into());
                }
                self.connected.extend(call.local_socket());
            }
            b"bind" | b"connect" | b"sendto" | b"sendmsg" | b"sendmmsg" => {}
            b"io_uring_setup" | b"open_by_handle_at" | b"setns" | b"chroot" | b"pivot_root"
            | b"mount" | b"move_mount"
                if !call.failed =>
            {
                let name = String::from_utf8_lossy(call.name).into_owned();
                self.doubt(format!(
                    "it calls {name}, after which a trace shows no files"
                ));
            }
            b"mmap" | b"mmap2" => {
                if !call.failed && call.mentions(b"PROT_EXEC") {
                    let mut files = call.arguments.iter().filter_map(|it| described(it));
                    self.mapped(process, files.next());
                }
            }
            _ => self.look_up(process, place, &call),
        }
    }

    /// A process mapped a file as code.
    fn mapped(&mut self, process: u32, file: Option<PathBuf>) {
        if let (Some(file), Some(opened)) = (file, self.opened.get_mut(&process))
            && let Some(place) = opened.iter().position(|(it, _)| *it == file)
        {
            opened.swap_remove(place);
        }
    }

    /// Counts the files that a process opened and did not map as code as read in full.
    fn read_opened(&mut self, process: u32) {
        for (file, names) in self.opened.remove(&process).unwrap_or_default() {
            self.add(file, Access::READ);
            for name in names {
                self.add(name, Access::READ);
            }
        }
    }

    /// Notes every path among the arguments. Other text, such as the target of a new link, is taken
    /// for a path: an extra one does no harm.
    fn look_up(&mut self, process: u32, place: usize, call: &Call<'_>) {
        let opened = described(call.result);
        let access = match call.name {
            // Until it is known whether it is mapped as code.
            b"open" | b"openat" | b"openat2" if opened.is_some() => Access::LOADED,
            b"open" | b"openat" | b"openat2" | b"creat" | b"readlink" | b"readlinkat"
            | b"uselib" => Access::READ,
            b"execve" | b"execveat" => Access::LOADED,
            b"stat" | b"lstat" | b"stat64" | b"lstat64" | b"oldstat" | b"newfstatat"
            | b"fstatat64" | b"statx" => Access::SIZED,
            _ => Access::LOOKED_UP,
        };
        let mut base = None;
        let mut named = Vec::new();
        for argument in &call.arguments {
            if let Some(path) = described(argument) {
                if argument.starts_with(b"AT_FDCWD") {
                    self.directories[place].clone_from(&path);
                }
                base = Some(path);
                continue;
            }
            if let Some(text) = argument.strip_prefix(b"\"") {
                // Paths are given in full; `"…"...` is part of a call's answer.
                let Some(text) = text.strip_suffix(b"\"") else {
                    continue;
                };
                let path = path_of(text);
                let base = base
                    .take()
                    .unwrap_or_else(|| self.directories[place].clone());
                // An open file was noted when it was opened.
                let (path, access) = match path.as_os_str().is_empty() {
                    true if access == Access::SIZED => (base, Access::LOOKED_UP),
                    true => (base, access),
                    false => (base.join(path), access),
                };
                if call.name == b"chdir" && !call.failed {
                    self.directories[place].clone_from(&path);
                }
                if leads_through_process(&path, access) {
                    self.doubt(format!(
                        "it looks at {}, which a process may turn into anything",
                        path.display()
                    ));
                }
                named.push(path.clone());
                self.add(path, access);
            }
        }
        // For a call that opens a file, strace reports the file, with links resolved.
        if let Some(opened) = &opened {
            self.add(opened.clone(), access);
            if access == Access::LOADED {
                let names = (opened.clone(), named.clone());
                self.opened.entry(process).or_default().push(names);
            }
        }
        if access == Access::LOADED && opened.is_none() && !call.failed {
            // Another program has none of the files that this one read.
            self.read_opened(process);
        }
        if !call.failed {
            self.note_changes(call, named, opened);
        }
    }

    /// Notes the files that a successful call with these paths makes or moves.
    fn note_changes(&mut self, call: &Call<'_>, named: Vec<PathBuf>, opened: Option<PathBuf>) {
        let last = named.last().cloned();
        match call.name {
            b"execve" | b"execveat" => self.trace.executed.extend(named.into_iter().next()),
            b"mkdir" | b"mkdirat" | b"mknod" | b"mknodat" => {
                self.trace.made.extend(named.into_iter().chain(opened));
            }
            b"open" | b"openat" | b"openat2" | b"creat" => {
                let is_new = call.name == b"creat" || call.mentions(b"O_CREAT");
                let has_own_content = call.name == b"creat"
                    || call.mentions(b"O_TRUNC")
                    || (is_new && call.mentions(b"O_EXCL"));
                for path in named.into_iter().chain(opened) {
                    if has_own_content {
                        self.trace.placed.insert(path.clone());
                    }
                    if is_new {
                        self.trace.made.insert(path);
                    }
                }
            }
            b"symlink" | b"symlinkat" => {
                if let Some(link) = last {
                    self.trace.placed.insert(link.clone());
                    self.add_link(link);
                }
            }
            b"rename" | b"renameat" | b"renameat2" | b"link" | b"linkat" => {
                let [from, to] = &named[..] else {
                    self.doubt("a call that renames or links has not two paths".into());
                    return;
                };
                let are_exchanged = call.mentions(b"RENAME_EXCHANGE");
                for from in [Some(from), are_exchanged.then_some(to)] {
                    if let Some(from) = from.filter(|from| !self.has_made(from)) {
                        self.doubt(format!(
                            "it gives {} another name, by which it may be read",
                            from.display()
                        ));
                    }
                }
                self.trace.placed.insert(to.clone());
                self.moved(from, to, call.name.starts_with(b"rename"));
            }
            _ => {}
        }
    }

    /// Checks whether the command made the file at a path. Its own links may lead to other files.
    fn has_made(&self, path: &Path) -> bool {
        let Trace { made, links, .. } = &self.trace;
        if path.components().any(|part| part == Component::ParentDir) {
            return made.contains(path) && !path.ancestors().skip(1).any(|it| links.contains(it));
        }
        let mut above = path.ancestors().skip(1);
        !above.any(|it| links.contains(it))
            && (links.contains(path) || path.ancestors().any(|it| made.contains(it)))
    }

    /// Renames the command's files.
    fn moved(&mut self, from: &Path, to: &Path, is_renamed: bool) {
        let links = below(&self.trace.links, from);
        let is_link = links.iter().any(|link| link == from);
        for link in links {
            if is_renamed {
                self.trace.links.remove(&link);
            }
            let rest = link.strip_prefix(from).unwrap_or(Path::new(""));
            // Joined to an empty rest a path would end in a slash.
            self.add_link(to.components().chain(rest.components()).collect());
        }
        if !is_link {
            self.trace.made.insert(to.to_owned());
        }
    }

    fn add_link(&mut self, link: PathBuf) {
        for path in below(&self.trace.made, &link) {
            self.trace.made.remove(&path);
        }
        if !self.trace.links.insert(link.clone()) {
            self.doubt(format!(
                "it replaces the symbolic link {} that it made",
                link.display()
            ));
        }
    }

    fn add(&mut self, path: PathBuf, access: Access) {
        self.trace.paths.entry(path).or_default().add(access);
    }

    /// A process has a new child, or a thread.
    fn started(&mut self, child: u32, parents: usize, shares: bool) {
        let place = if shares {
            parents
        } else {
            self.directories.push(self.directories[parents].clone());
            self.directories.len() - 1
        };
        self.directory_of.insert(child, place);
        self.alive.insert(child);
        for line in self.waiting.remove(&child).unwrap_or_default() {
            self.line(&line);
        }
    }
}

/// The paths that equal a path or lie below it.
fn below(paths: &BTreeSet<PathBuf>, path: &Path) -> Vec<PathBuf> {
    (paths.range(path.to_owned()..))
        .take_while(|it| it.starts_with(path))
        .cloned()
        .collect()
}

/// Checks whether a path leads through the working directory, the root or an open directory of a
/// process, or reads the size of its program this way. Open files were noted when they were opened.
fn leads_through_process(path: &Path, access: Access) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    match &parts[..] {
        ["/", "dev", "fd", _, rest @ ..] => !rest.is_empty(),
        ["/", "proc", process, rest @ ..] => {
            let rest = match rest {
                ["task", _, rest @ ..] => rest,
                rest => rest,
            };
            match rest {
                ["cwd" | "root" | "map_files", ..] => true,
                ["exe"] => access.sized,
                ["fd", _] => !matches!(*process, "self" | "thread-self"),
                ["fd", _, _, ..] => true,
                _ => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Trace {
        let mut reader = StraceReader::new(Path::new("/tree"));
        text.lines().for_each(|line| reader.line(line.as_bytes()));
        reader.finish()
    }

    /// The paths inside of the tree, with `r` for those read and `l` for those listed.
    #[track_caller]
    fn expect(text: &str, expected: &[&str]) {
        let found = trace(text);
        assert_eq!(found.doubt, None);
        let found: Vec<String> = (found.paths.iter())
            .filter_map(|(path, access)| Some((path.strip_prefix("/tree").ok()?, access)))
            .map(|(path, access)| {
                let read = if access.read { "r" } else { "" };
                let listed = if access.listed { "l" } else { "" };
                format!("{} {read}{listed}", path.display())
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_those_that_were_given_from_the_directory_of_the_process() {
        expect(
            r#"
20206 execve("./build.sh", ["./build.sh", "a b", "\"c"], 0x7ffd /* 39 vars */) = 0
20206 access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory)
20206 openat(AT_FDCWD</tree>, "we<ird>/x\"y", O_RDONLY|O_CLOEXEC) = 3</tree/we\74ird\76/x\"y>
20206 chdir("a, b(c")                   = 0
20206 access("f", R_OK)                 = 0
20206 newfstatat(3</tree/other>, "g", {st_mode=S_IFREG|0644, st_size=0, ...}, 0) = 0
20206 newfstatat(4</tree/h>, "", {st_mode=S_IFREG|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0
20206 open("\303\251\n", O_RDONLY) = -1 ENOENT (No such file or directory)
20206 fchdir(5</tree/deep>)             = 0
20206 rename("one", "two")              = -1 ENOENT (No such file or directory)
20206 readlink("link", "/root/.rustup/toolchains/stable-"..., 4096) = 66
20206 chdir("missing")                  = -1 ENOENT (No such file or directory)
20206 getdents64(3</tree/listed>, 0x5577073cc790 /* 6 entries */, 32768) = 160
20206 +++ exited with 0 +++"#
                .trim_start(),
            &[
                "a, b(c ",
                "a, b(c/f ",
                "a, b(c/é\n r",
                "build.sh r",
                "deep/link r",
                "deep/missing ",
                "deep/one ",
                "deep/two ",
                "h ",
                "listed l",
                "other/g ",
                "we<ird>/x\"y r",
            ],
        );
    }

    #[test]
    fn a_child_begins_where_its_parent_is_and_may_be_seen_before_that_says_so() {
        expect(
            r#"
1 chdir("in") = 0
1 vfork( <unfinished ...>
2 access("of-child", F_OK <unfinished ...>
3 access("of-grandchild", F_OK) = 0
2 <... access resumed>) = 0
2 chdir("child") = 0
2 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD, stack=0x7f, stack_size=0x9000}, 88) = 3
1 <... vfork resumed>)              = 2
3 +++ exited with 0 +++
2 +++ killed by SIGKILL +++
1 access("of-parent", F_OK) = 0
1 +++ exited with 1 +++"#
                .trim_start(),
            &[
                "in ",
                "in/child ",
                "in/child/of-grandchild ",
                "in/of-child ",
                "in/of-parent ",
            ],
        );
    }

    #[test]
    fn threads_share_a_directory_and_one_may_take_the_place_of_all() {
        expect(
            r#"
3387 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, stack=0x7f} => {parent_tid=[3438]}, 88) = 3438
3438 chdir("in")                      = 0
3387 access("of-leader", F_OK)        = 0
3438 execve("cat", ["cat", "a.h"], 0x7fff11eb1740 /* 42 vars */ <pid changed to 3387 ...>
3387 +++ superseded by execve in pid 3438 +++
3387 <... execve resumed>)             = 0
3387 access("of-cat", F_OK)           = 0
3387 +++ exited with 0 +++"#
                .trim_start(),
            &["in ", "in/cat r", "in/of-cat ", "in/of-leader "],
        );
    }

    #[track_caller]
    fn doubts(text: &str, expected: &str) {
        let doubt = trace(text).doubt.unwrap_or_default();
        assert!(doubt.contains(expected), "{doubt:?} for {text}");
    }

    #[test]
    fn a_trace_with_a_gap_is_in_doubt() {
        doubts("", "is empty");
        doubts("1 access(\"a\", F_OK) = 0", "ends before process 1");
        doubts(
            "1 access(\"a\", F_OK) = 0\n1 acc\n1 +++ exited with 0 +++",
            "can't be read",
        );
        doubts(
            "1 access(\"a\", F_OK\n1 +++ exited with 0 +++",
            "can't be read",
        );
        doubts("what?", "can't be read");
        doubts(
            "1 +++ exited with 0 +++\n7 access(\"a\", F_OK) = 0",
            "who started process 7",
        );
        doubts(
            "1 <... access resumed>) = 0\n1 +++ exited with 0 +++",
            "can't be read",
        );
    }

    #[test]
    fn what_is_asked_of_others_is_in_doubt() {
        let call = |line: &str| format!("1 {line}\n1 +++ exited with 0 +++");
        for line in [
            r#"connect(4<socket:[6]>, {sa_family=AF_UNIX, sun_path="/run/docker.sock"}, 17) = 0"#,
            r#"connect(4<socket:[6]>, {sa_family=AF_UNIX, sun_path=@"bus"}, 17) = 0"#,
            r#"sendto(4<socket:[6]>, "a", 1, 0, {sa_family=AF_UNIX, sun_path="/run/log"}, 17) = 1"#,
        ] {
            doubts(&call(line), "asks another process");
        }
        for line in [
            r#"connect(5<socket:[6]>, {sa_family=AF_INET, sin_port=htons(4226), sin_addr=inet_addr("127.0.0.1")}, 16) = 0"#,
            r#"connect(5<socket:[6]>, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("93.184.216.34")}, 16) = -1 EINPROGRESS (Operation now in progress)"#,
            r#"connect(5<socket:[6]>, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28) = 0"#,
            r#"sendto(3<socket:[6]>, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("10.0.0.1")}, 16) = 1"#,
            r#"sendmsg(3<socket:[6]>, {msg_name={sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("10.0.0.1")}, msg_namelen=16, msg_iov=[{iov_base="x", iov_len=1}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 1"#,
        ] {
            doubts(&call(line), "uses the network");
        }
        doubts(
            &call("io_uring_setup(8, {flags=0}) = 3<anon_inode:[io_uring]>"),
            "io_uring",
        );
        doubts(&call(r#"chroot("/jail") = 0"#), "chroot");
        for line in [
            r#"connect(4<socket:[6]>, {sa_family=AF_UNIX, sun_path="/tmp/none"}, 17) = -1 ENOENT (No such file or directory)"#,
            r#"connect(4<socket:[6]>, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0"#,
            r#"connect(5<socket:[6]>, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("93.184.216.34")}, 16) = -1 ENETUNREACH (Network is unreachable)"#,
            r#"sendto(3<socket:[6]>, "x"..., 20, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20"#,
            r#"sendto(3<socket:[6]>, "x", 1, MSG_NOSIGNAL, NULL, 0) = 1"#,
            r#"io_uring_setup(8, {flags=0}) = -1 EPERM (Operation not permitted)"#,
        ] {
            assert_eq!(trace(&call(line)).doubt, None, "{line}");
        }
        let own_server = r#"
1 bind(4<socket:[6]>, {sa_family=AF_UNIX, sun_path="/tmp/own"}, 11) = 0
1 connect(5<socket:[7]>, {sa_family=AF_UNIX, sun_path="/tmp/own"}, 11) = 0
1 +++ exited with 0 +++"#;
        assert_eq!(trace(own_server.trim_start()).doubt, None);
    }

    #[track_caller]
    fn doubt_of(calls: &[&str]) -> Option<String> {
        let lines: Vec<_> = calls.iter().map(|call| format!("1 {call}\n")).collect();
        trace(&format!("{}1 +++ exited with 0 +++", lines.concat())).doubt
    }

    #[test]
    fn another_name_for_what_the_command_did_not_make_is_in_doubt() {
        for calls in [
            &[r#"renameat2(AT_FDCWD</tree>, "src", AT_FDCWD</tree>, "out", RENAME_NOREPLACE) = 0"#]
                as &[&str],
            &[r#"link("in.txt", "w") = 0"#],
            &[r#"linkat(AT_FDCWD</tree>, "in.txt", AT_FDCWD</tree>, "w", 0) = 0"#],
            &[
                r#"mkdir("d", 0777) = 0"#,
                r#"rename("d/../src", "out") = 0"#,
            ],
            &[
                r#"mkdir("d", 0777) = 0"#,
                r#"symlink("../src", "d/s") = 0"#,
                r#"rename("d", "e") = 0"#,
                r#"rename("e/s/n", "out") = 0"#,
            ],
            &[
                r#"creat("a", 0666) = 3</tree/a>"#,
                r#"renameat2(AT_FDCWD</tree>, "a", AT_FDCWD</tree>, "src", RENAME_EXCHANGE) = 0"#,
            ],
        ] {
            let doubt = doubt_of(calls).unwrap_or_default();
            assert!(doubt.contains("another name"), "{doubt:?} for {calls:?}");
        }
        for calls in [
            &[r#"rename("src", "out") = -1 ENOENT (No such file or directory)"#] as &[&str],
            &[
                r#"openat(AT_FDCWD</tree>, "a.tmp", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</tree/a.tmp>"#,
                r#"rename("a.tmp", "a") = 0"#,
                r#"link("a", "b") = 0"#,
                r#"link("b", "c") = 0"#,
            ],
            &[
                r#"mkdir("d", 0777) = 0"#,
                r#"rename("d", "e") = 0"#,
                r#"rename("e/in", "f") = 0"#,
            ],
            &[
                r#"symlinkat("src", AT_FDCWD</tree>, "tmp") = 0"#,
                r#"rename("tmp", "l") = 0"#,
            ],
        ] {
            assert_eq!(doubt_of(calls), None, "{calls:?}");
        }
    }

    /// The paths inside of the tree that were read other than as code, and those whose size was
    /// read.
    #[track_caller]
    fn expect_whole_and_sized(text: &str, whole: &[&str], sized: &[&str]) {
        let found = trace(text.trim_start());
        assert_eq!(found.doubt, None, "{text}");
        let names = |is: fn(&Access) -> bool| -> Vec<String> {
            (found.paths.iter())
                .filter(|(_, access)| is(access))
                .filter_map(|(path, _)| path.strip_prefix("/tree").ok())
                .map(|path| path.display().to_string())
                .collect()
        };
        assert_eq!(names(|access| access.whole), whole, "{text}");
        assert_eq!(names(|access| access.sized), sized, "{text}");
    }

    #[test]
    fn what_is_executed_or_mapped_as_code_is_not_read_whole() {
        let load = r#"
1 execve("./bench", ["./bench"], 0x7ffd /* 39 vars */) = 0
1 openat(AT_FDCWD</tree>, "lib.so", O_RDONLY|O_CLOEXEC) = 3</tree/lib.so>
1 newfstatat(3</tree/lib.so>, "", {st_mode=S_IFREG|0755, st_size=9, ...}, AT_EMPTY_PATH) = 0
1 mmap(NULL, 16, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3</tree/lib.so>, 0) = 0x7f0000000000
1 mmap(0x7f0000001000, 8, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED, 3</tree/lib.so>, 0x1000) = 0x7f0000001000
1 mmap(NULL, 8192, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000002000
1 access("bench", X_OK) = 0
"#;
        let end = "1 +++ exited with 0 +++";
        expect_whole_and_sized(&format!("{load}{end}"), &[], &[]);
        let open = r#"1 openat(AT_FDCWD</tree>, "lib.so", O_RDONLY|O_CLOEXEC) = 4</tree/lib.so>"#;
        expect_whole_and_sized(&format!("{load}{open}\n{end}"), &["lib.so"], &[]);
        // Opened once to be read, and once to be mapped.
        let text = format!("{open}{load}{end}");
        expect_whole_and_sized(&text, &["lib.so"], &[]);
        // Another program maps it.
        let text =
            format!("{load}{open}\n1 execve(\"./x\", [\"./x\"], 0x7f /* 9 vars */) = 0\n{end}");
        expect_whole_and_sized(&text, &["lib.so"], &[]);
        for call in [
            r#"stat("bench", {st_mode=S_IFREG|0755, st_size=7, ...}) = 0"#,
            r#"newfstatat(AT_FDCWD</tree>, "bench", {st_mode=S_IFREG|0755, st_size=7, ...}, 0) = 0"#,
            r#"statx(AT_FDCWD</tree>, "bench", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_size=7, ...}) = 0"#,
        ] {
            expect_whole_and_sized(&format!("{load}1 {call}\n{end}"), &[], &["bench"]);
        }
    }

    #[test]
    fn links_that_are_replaced_and_those_of_processes_are_in_doubt() {
        for calls in [
            &[
                r#"symlink("a", "l") = 0"#,
                r#"unlink("l") = 0"#,
                r#"symlink("b", "l") = 0"#,
            ] as &[&str],
            &[r#"access("/proc/self/cwd/n.txt", F_OK) = 0"#],
            &[r#"open("/proc/41/root/n.txt", O_RDONLY) = 3</n.txt>"#],
            &[r#"access("/proc/self/task/7/fd/3/n.txt", F_OK) = 0"#],
            &[r#"access("/dev/fd/3/n.txt", F_OK) = 0"#],
            &[r#"stat("/proc/self/exe", {st_mode=S_IFREG|0755, st_size=7, ...}) = 0"#],
        ] {
            assert!(doubt_of(calls).is_some(), "{calls:?}");
        }
        for call in [
            r#"open("/proc/self/fd", O_RDONLY|O_DIRECTORY) = 3</proc/7/fd>"#,
            r#"open("/dev/fd/63", O_RDONLY) = 3<pipe:[7]>"#,
            r#"readlink("/proc/self/exe", "/bin/cat", 4096) = 8"#,
        ] {
            assert_eq!(doubt_of(&[call]), None, "{call}");
        }
    }
}
