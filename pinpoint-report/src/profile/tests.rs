use std::path::PathBuf;

use pinpoint_core::profile::{ExplainOptions, Profile, explain};

use super::*;

/// Text that would be a script, end one, leave an attribute, hide, or turn what is around it.
const HOSTILE: &str = "</script></title></style><img src=x onerror=alert(1)>\" autofocus onfocus='alert(2)' &lt;\u{202e}\u{1b}]0;x\u{7}";

fn page(base: &str, experiment: &str, notes: &[String]) -> String {
    let [base, experiment] =
        [base, experiment].map(|text| vec![Profile::read(text.as_bytes()).unwrap(); 6]);
    let options = ExplainOptions::default();
    let explanation = explain(&base, &experiment, &options).unwrap();
    let files = [PathBuf::from(format!("{HOSTILE}.txt"))];
    report(&Report {
        explanation: &explanation,
        profiles: [&base, &experiment],
        options: &options,
        files: [&files, &files],
        job: Some(Job {
            id: "01a1",
            explains: "01a0",
            profiler: "perf",
        }),
        notes,
        made: 0,
    })
    .unwrap()
}

#[test]
fn nothing_of_others_is_more_than_text() {
    let stacks = |own: u32| format!("main;{HOSTILE} {own}\nmain;calm 50\n");
    let page = page(&stacks(40), &stacks(60), &[HOSTILE.to_owned()]);
    let shown = page.matches("&lt;img src=x onerror=alert(1)&gt;").count();
    assert!(shown > 3, "{shown}");
    for unsafe_text in ["<img", "\" autofocus", "\u{202e}", "\u{1b}", "\u{7}"] {
        assert!(!page.contains(unsafe_text), "{unsafe_text:?}");
    }
    for (element, count) in [("</script>", 2), ("</title>", 1), ("</style>", 1)] {
        assert_eq!(page.matches(element).count(), count, "{element}");
    }
}

#[test]
fn the_answer_is_that_of_the_terminal_and_the_table_needs_no_script() {
    let page = page(
        "main;parse 40\nmain;print 50\n",
        "main;parse 60\nmain;print 50\n",
        &[],
    );
    assert!(
        page.contains("+20.00 samples (+22.2 %), 6 runs a side, perf: 100 % of it in 1 function")
    );
    let rows = page.matches("<tr class=\"certain\"").count();
    assert_eq!(
        (rows, page.matches("<tr class=\"uncertain\"").count()),
        (1, 1)
    );
    assert!(page.contains("<strong>more</strong>"));
    assert!(page.contains("Content-Security-Policy"));
    for outside in [
        "<img",
        "<iframe",
        "<script src",
        "<link rel=\"stylesheet",
        "url(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn counted_calls_have_no_flame_graph_and_say_so() {
    let counted = |inside: u32| {
        format!(
            "events: Ir\nfl=a.c\nfn=main\n1 10\ncfn=hash\ncalls=2 5\n1 {inside}\nfn=hash\n5 {inside}\ntotals: {}\n",
            10 + inside
        )
    };
    let page = page(&counted(100), &counted(120), &[]);
    assert!(page.contains("keeps no stacks"));
    assert!(!page.contains("<canvas"));
}
