//! Prints the public interface that a JSON file of rustdoc describes.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let json = std::env::args_os().nth(1);
    // Without what derives and the compiler add to every type.
    let api = public_api::Builder::from_rustdoc_json(json.ok_or("a JSON file is missing")?)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    print!("{api}");
    Ok(())
}
