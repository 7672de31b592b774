//! Missing values: NaN inside, 1e32 where an exchange format needs a number.

/// The number that stands for a missing value in exchange formats.
pub const MISSING: f64 = 1e32;

/// The same number when it went through 32 bits.
const MISSING_32: f64 = 1e32_f32 as f64;

/// A value as exchange formats have it: [`MISSING`] for NaN.
pub fn to_exchange(value: f64) -> f64 {
    if value.is_nan() { MISSING } else { value }
}

/// A value out of an exchange format: NaN for [`MISSING`], also when that went through 32 bits.
pub fn from_exchange(value: f64) -> f64 {
    if value == MISSING || value == MISSING_32 {
        f64::NAN
    } else {
        value
    }
}
