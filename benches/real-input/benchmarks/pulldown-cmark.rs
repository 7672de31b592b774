//! Times `pulldown-cmark`: Markdown of all sorts to HTML. Prints the time of the fastest of
//! many equal passes.

use std::time::{Duration, Instant};

use pulldown_cmark::{html, Parser};

const TEXT: &str = "# Title\n\nSome *emph*, **strong** and `code` in a [link](http://x.y/ \"t\").\n\n- one\n- two\n    - nested\n\n\
1. first\n2. second\n\n> quote\n> goes on\n\n    code block\n\n![img](a.png) and <b>html</b>  \nbreak &amp; [a][b]\n\n[b]: /url\n\n";

fn main() {
    let text = TEXT.repeat(400);
    let mut fastest = Duration::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        let mut output = String::new();
        html::push_html(&mut output, Parser::new(&text));
        fastest = fastest.min(start.elapsed());
        assert!(output.starts_with("<h1>Title</h1>"));
    }
    println!("to_html: {:.4} ms", fastest.as_secs_f64() * 1e3);
}
