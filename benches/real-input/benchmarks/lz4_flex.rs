//! Times `lz4_flex`: text compressed and decompressed. Prints the time of the fastest of many
//! equal passes.

use std::time::{Duration, Instant};

use lz4_flex::{compress_prepend_size, decompress_size_prepended};

const SIZE: usize = 400_000;

/// Words of one to eight letters, the common ones often.
fn text() -> Vec<u8> {
    let (mut text, mut state) = (Vec::new(), 1u32);
    while text.len() < SIZE {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let range = if state >> 31 == 0 { 4096 } else { 64 };
        let mut word = (state >> 16) % range;
        for _ in 0..=word % 8 {
            text.push(b'a' + (word % 26) as u8);
            word = word.wrapping_mul(31).wrapping_add(7);
        }
        text.push(b' ');
    }
    text
}

fn main() {
    let text = text();
    let (mut compress, mut decompress) = (Duration::MAX, Duration::MAX);
    for _ in 0..60 {
        let start = Instant::now();
        let packed = compress_prepend_size(&text);
        compress = compress.min(start.elapsed());
        let start = Instant::now();
        let again = decompress_size_prepended(&packed);
        decompress = decompress.min(start.elapsed());
        assert!(again.is_ok_and(|again| again == text));
    }
    println!("compress: {:.4} ms", compress.as_secs_f64() * 1e3);
    println!("decompress: {:.4} ms", decompress.as_secs_f64() * 1e3);
}
