import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesOf, membersOf, textOf, withMember } from "./json_members.js";

const changed = (text, name, value) => withMember(bytesOf(text), name, () => [bytesOf(value)]).map(textOf).join("");

test("one member is another, and every other byte stays", () => {
  const text = ' {"a" : [1, {"m": "}\\"]"}], "id":12345678901234567890 ,\n"m":{"x":[2]}, "ü\\u0061": 1e5}\n';
  assert.equal(changed(text, "m", "7"), text.replace('{"x":[2]}', "7"));
  assert.equal(changed(text, "id", "7"), text.replace("12345678901234567890", "7"));
  assert.equal(changed(text, "üa", "7"), text.replace("1e5", "7"));
  assert.equal(changed(text, "n", "7"), text.replace("1e5}", '1e5,"n":7}'));
  assert.equal(changed("{ }", "n", "7"), '{ "n":7}');
});

test("members are what JSON.parse finds", () => {
  for (const text of ['{"a":1,"b":[],"c":{},"d":"x\\\\","e":null,"f":-1.5e-3,"g":[[{"a":2}]],"a":true}', "{}"]) {
    const { members } = membersOf(bytesOf(text));
    const read = [...members].map(([name, place]) => [name, JSON.parse(textOf(bytesOf(text).subarray(...place)))]);
    assert.deepEqual(Object.fromEntries(read), JSON.parse(text));
  }
});

test("what is cut short or no object is an error with its place", () => {
  const whole = '{"a": [1, "b\\"c"], "m": {"d": 2}}';
  for (let end = 0; end < whole.length; end += 1) {
    assert.throws(() => membersOf(bytesOf(whole.slice(0, end))), /not valid JSON: it ends too early/, whole.slice(0, end));
  }
  for (const text of ["[1]", "{a:1}", '{"a" 1}', '{"a":1 "b":2}', '{"a":}', '{"a":1]', '{"a":]}']) {
    assert.throws(() => membersOf(bytesOf(text)), /not valid JSON: there is/, text);
  }
});
