//! The time of a command, by the word `time` of a shell, or BSD's and macOS's `/usr/bin/time`.
//!
//! ```text
//! real    0m0.934s
//! user    0m0.087s
//! sys     0m0.000s
//! ```
//!
//! That of bash and ksh; POSIX writes `real 0.93` (`time -p`), zsh and macOS one line. Checked with
//! bash 5.2; the others are as documented.

use super::description::{Tool, less};

pub(super) const TOOL: Tool = Tool {
    name: "shell-time",
    signs: &[
        "real {time}\nuser {time}",
        "real {value}\nuser {value}",
        "{value} real {value} user {value} sys",
        "{} {time} user {time} system {}% cpu {}",
    ],
    figures: &[
        less("real {time}", "real", "s"),
        less("user {time}", "user", "s"),
        less("sys {time}", "sys", "s"),
        less("real {value}", "real", "s"),
        less("user {value}", "user", "s"),
        less("sys {value}", "sys", "s"),
        less("{value} real {} user {} sys", "real", "s"),
        less("{} real {value} user {} sys", "user", "s"),
        less("{} real {} user {value} sys", "sys", "s"),
        less("{} {}s user {}s system {}% cpu {value} total", "real", "s"),
        less("{} {}s user {}s system {}% cpu {time} total", "real", "s"),
        less("{} {time} user {}s system {}% cpu {} total", "user", "s"),
        less("{} {}s user {time} system {}% cpu {} total", "sys", "s"),
    ],
    headlines: &["real"],
    ..Tool::NONE
};
