//! Systems of linear equations whose matrix is symmetric and positive definite. Matrices are
//! written row by row.

/// The lower triangle of a positive definite matrix becomes its Cholesky factor.
pub(crate) fn factorize(matrix: &mut [f64], size: usize) {
    for i in 0..size {
        for j in 0..=i {
            let mut sum = matrix[i * size + j];
            for k in 0..j {
                sum -= matrix[i * size + k] * matrix[j * size + k];
            }
            matrix[i * size + j] = if i == j {
                sum.max(1e-300).sqrt()
            } else {
                sum / matrix[j * size + j]
            };
        }
    }
}

/// Solves L·x = b; x takes the place of b.
pub(crate) fn forward(factor: &[f64], x: &mut [f64], size: usize) {
    for i in 0..size {
        for k in 0..i {
            x[i] -= factor[i * size + k] * x[k];
        }
        x[i] /= factor[i * size + i];
    }
}

/// Solves Lᵀ·x = b; x takes the place of b.
pub(crate) fn backward(factor: &[f64], x: &mut [f64], size: usize) {
    for i in (0..size).rev() {
        for k in i + 1..size {
            x[i] -= factor[k * size + i] * x[k];
        }
        x[i] /= factor[i * size + i];
    }
}
