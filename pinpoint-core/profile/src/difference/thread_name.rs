//! The names of threads without the parts that change from run to run.

/// The separators of the words of a name.
const MARKS: [char; 8] = [' ', '-', '/', '_', '#', '.', ':', ','];

/// The name of a thread without the numbers in which threads of a pool, and processes,
/// differ.
///
/// ```text
/// words 20330/20331          words
/// rayon-worker-3             rayon-worker
/// pool-1-thread-2            pool-thread
/// CompositorTileWorker1      CompositorTileWorker
/// Thread-4 (listen)          Thread (listen)
/// ```
pub(super) fn without_numbers(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut words = name.split_inclusive(MARKS).peekable();
    while let Some(word) = words.next() {
        let body = word.trim_end_matches(MARKS);
        let mark = word.get(body.len()..).unwrap_or_default();
        if is_number(body) {
            // The mark after it takes the place of the one before it.
            if kept.ends_with(MARKS) {
                kept.pop();
                kept.push_str(mark);
            }
            continue;
        }
        let is_last = words.peek().is_none();
        let digits: &[char] = &['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
        kept.push_str(if is_last {
            body.trim_end_matches(digits)
        } else {
            body
        });
        kept.push_str(mark);
    }
    kept.trim_end_matches(MARKS).to_owned()
}

/// `12`, `(12)`, or an address such as `0x7f12`.
fn is_number(word: &str) -> bool {
    let word = word.trim_matches(['(', ')', '[', ']']);
    let hexadecimal = word.strip_prefix("0x");
    let digits = hexadecimal.unwrap_or(word);
    !digits.is_empty()
        && digits.bytes().all(|byte| match hexadecimal {
            Some(_) => byte.is_ascii_hexdigit(),
            None => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_count() {
        for (name, expected) in [
            ("words 20330/20331", "words"),
            ("python3 4711", "python3"),
            ("CrRendererMain", "CrRendererMain"),
            ("CompositorTileWorker1", "CompositorTileWorker"),
            ("rayon-worker-3", "rayon-worker"),
            ("pool-1-thread-2", "pool-thread"),
            ("name/2", "name"),
            ("Thread-4 (listen)", "Thread (listen)"),
            ("ThreadPoolExecutor-0_0", "ThreadPoolExecutor"),
            ("worker (7)", "worker"),
            (
                "Process 4711 Thread 0x7f12AB \"MainThread\"",
                "Process Thread \"MainThread\"",
            ),
            ("utf8 decoder", "utf8 decoder"),
            ("4711", ""),
            ("-", ""),
            ("", ""),
        ] {
            assert_eq!(without_numbers(name), expected, "{name}");
        }
    }
}
