import assert from "node:assert/strict";
import { test } from "node:test";

import { amount, digits, pValue, relative, signed } from "./numbers.js";

test("numbers have four digits that count, as in the tables", () => {
  const cases = [[0, "0"], [1234.5, "1235"], [123.45, "123.5"], [12.345, "12.35"], [1.2345, "1.234"],
    [0.12345, "0.1235"], [0.012345, "0.01235"], [0.0012345, "0.001235"], [0.00012345, "0.0001235"],
    [12345678, "1.235e7"], [0.00001, "1.000e-5"], [-42.5, "-42.50"], [10, "10.00"], [1, "1.000"], [0.1, "0.1000"]];
  for (const [value, text] of cases) {
    // Halves may go either way.
    const near = (a, b) => Math.abs(Number(a) - Number(b)) <= 1.01 * 10 ** -(b.split(".")[1]?.length ?? 0);
    assert.ok(digits(value).length === text.length && (digits(value) === text || near(digits(value), text)),
      `${value}: ${digits(value)}, not ${text}`);
  }
});

test("units have the prefix that suits them", () => {
  assert.equal(amount(12_340_000, "nanoseconds"), "12.34 ms");
  assert.equal(amount(2048, "bytes"), "2.000 KiB");
  assert.equal(amount(1500, "instructions"), "1500 instructions");
  assert.equal(amount(0, "nanoseconds"), "0 ns");
  assert.equal(signed(-5, "samples"), "-5.000 samples");
  assert.equal(signed(5, "samples"), "+5.000 samples");
});

test("what has no level has no percentage", () => {
  assert.equal(relative(10, 11), "+10.0 %");
  assert.equal(relative(0, 11), "");
  assert.deepEqual([pValue(0.0314), pValue(0.00002)], ["0.031", "2.0e-5"]);
});
