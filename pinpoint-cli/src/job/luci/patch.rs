//! Patch sets by their addresses at Gerrit.

use std::path::Path;

use pinpoint_core::Patch;

use crate::error::CliError;

/// The domain whose hosts are asked, as for repositories.
const GERRIT: &str = "-review.googlesource.com";

/// The patch set at an address such as
/// `https://chromium-review.googlesource.com/c/chromium/src/+/6234567/3`.
pub(super) fn at_gerrit(address: &Path) -> Result<Patch, CliError> {
    let text = address.to_string_lossy();
    read(&text).ok_or_else(|| {
        CliError::Input(format!(
            "--patch: {text} is not the address of a patch set; with --executor it is one at \
             NAME{GERRIT}, such as https://chromium-review.googlesource.com/c/chromium/src/+/6234567/3"
        ))
    })
}

fn read(address: &str) -> Option<Patch> {
    let (host, path) = address.strip_prefix("https://")?.split_once('/')?;
    let (project, numbers) = path.strip_prefix("c/")?.split_once("/+/")?;
    let (change, patchset) = numbers.trim_end_matches('/').split_once('/')?;
    let is_plain = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
        !text.is_empty() && text.bytes().all(is_plain)
    };
    // Buildbucket's numbers are signed.
    let is_number = |number: &u64| (1..=i64::MAX.unsigned_abs()).contains(number);
    let number = |text: &str| text.parse().ok().filter(is_number);
    let host = host.to_ascii_lowercase();
    let is_gerrit = host
        .strip_suffix(GERRIT)
        .is_some_and(|name| is_plain(name) && !name.contains(['/', '.']));
    (is_gerrit && is_plain(project)).then_some(Patch::Gerrit {
        host,
        project: project.into(),
        change: number(change)?,
        patchset: number(patchset)?,
        hash: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_set_is_named_as_browsers_show_it() {
        let address = "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/3";
        let expected = Patch::Gerrit {
            host: "chromium-review.googlesource.com".into(),
            project: "chromium/src".into(),
            change: 6_234_567,
            patchset: 3,
            hash: None,
        };
        assert_eq!(read(address), Some(expected.clone()));
        assert_eq!(read(&format!("{address}/")), Some(expected));
        for wrong in [
            "",
            "fix.diff",
            "https://chromium-review.googlesource.com/6234567/3",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/0",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/3?tab=comments",
            "https://chromium-review.googlesource.com/c/chromium/src/+/9223372036854775808/3",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/9223372036854775808",
            "https://user:word@chromium-review.googlesource.com/c/x/+/1/1",
            "https://gerrit.example.org/c/x/+/1/1",
            "https://gerrit.example.org/-review.googlesource.com/c/x/+/1/1",
            "https://chromium-review.googlesource.com.example.org/c/x/+/1/1",
            "https://-review.googlesource.com/c/x/+/1/1",
            "http://chromium-review.googlesource.com/c/chromium/src/+/6234567/3",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
