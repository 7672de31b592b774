//! Decimal numbers in text.

/// A word that represents a number.
pub(super) enum Number {
    /// An amount.
    Finite(f64),
    /// NaN, an infinity, or digits that amount to one.
    NotFinite,
}

/// Reads a decimal number: digits with an optional sign, point and exponent.
pub(super) fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["nan", "inf", "infinity"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return Some(Number::NotFinite);
    }
    // The standard library takes exactly the decimal numbers beyond those names.
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Some(Number::Finite(value)),
        Ok(_) => Some(Number::NotFinite),
        Err(_) => None,
    }
}
