// Members of a JSON object in the bytes of a file: found and replaced without reading the rest, so
// that every other byte stays as it is, whatever its size.

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

export const bytesOf = (text) => new TextEncoder().encode(text);
export const textOf = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

const isSpace = (byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

// The first place from here on that is not a space.
export function afterSpace(bytes, at) {
  let place = at;
  while (isSpace(bytes[place])) place += 1;
  return place;
}

export const isList = (bytes) => bytes[afterSpace(bytes, 0)] === OPEN_LIST;
export const isObject = (bytes) => bytes[afterSpace(bytes, 0)] === OPEN;

function wrong(bytes, at) {
  const found = at < bytes.length ? `there is ${JSON.stringify(String.fromCharCode(bytes[at]))} at byte ${at}` : "it ends too early";
  return new SyntaxError(`this is not valid JSON: ${found}`);
}

// The place after a string that begins here.
function afterString(bytes, at) {
  if (bytes[at] !== QUOTE) throw wrong(bytes, at);
  let place = at + 1;
  while (place < bytes.length && bytes[place] !== QUOTE) place += bytes[place] === BACKSLASH ? 2 : 1;
  if (place >= bytes.length) throw wrong(bytes, bytes.length);
  return place + 1;
}

// The place after a value that begins here.
function afterValue(bytes, at) {
  let place = at;
  let depth = 0;
  do {
    const byte = bytes[place];
    if (byte === undefined) throw wrong(bytes, place);
    if (byte === QUOTE) {
      place = afterString(bytes, place);
      continue;
    }
    if (byte === OPEN || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE || byte === CLOSE_LIST) depth -= 1;
    else if (depth === 0) {
      while (place < bytes.length && ![COMMA, CLOSE, CLOSE_LIST].includes(bytes[place]) && !isSpace(bytes[place])) place += 1;
      if (place === at) throw wrong(bytes, at);
      return place;
    }
    if (depth < 0) throw wrong(bytes, place);
    place += 1;
  } while (depth > 0);
  return place;
}

// The members of an object: a Map from names to the begin and the end of their values, and the
// place of the closing brace. Of two with one name the last counts, as for JSON.parse.
export function membersOf(bytes) {
  const members = new Map();
  let at = afterSpace(bytes, 0);
  if (bytes[at] !== OPEN) throw wrong(bytes, at);
  at = afterSpace(bytes, at + 1);
  while (bytes[at] !== CLOSE) {
    const name = at;
    at = afterString(bytes, at);
    const text = JSON.parse(textOf(bytes.subarray(name, at)));
    at = afterSpace(bytes, at);
    if (bytes[at] !== COLON) throw wrong(bytes, at);
    const begin = afterSpace(bytes, at + 1);
    at = afterValue(bytes, begin);
    members.set(text, [begin, at]);
    at = afterSpace(bytes, at);
    if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1);
    else if (bytes[at] !== CLOSE) throw wrong(bytes, at);
  }
  return { members, close: at };
}

// An object with another value of a member, as pieces to be concatenated. `change` gets the bytes
// of the value, or undefined where it is missing, and returns pieces, too.
export function withMember(bytes, name, change) {
  const { members, close } = membersOf(bytes);
  const place = members.get(name);
  if (place) {
    const [begin, end] = place;
    return [bytes.subarray(0, begin), ...change(bytes.subarray(begin, end)), bytes.subarray(end)];
  }
  const comma = members.size > 0 ? "," : "";
  return [bytes.subarray(0, close), bytesOf(`${comma}${JSON.stringify(name)}:`), ...change(undefined), bytes.subarray(close)];
}
