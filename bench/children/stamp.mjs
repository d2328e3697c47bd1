// A body of a given size whose first member is the time at which it was sent, in a fixed place.
const HEAD = '{"sent_us":"';
const DIGITS = 16;

export function createBody(bytes) {
  const empty = `${HEAD}${"0".repeat(DIGITS)}","order":{"id":"ord_1","lines":[`;
  const line = '{"sku":"A-100","name":"Milk, whole, 1 l","quantity":12,"price":"1.09"},';
  const tail = '{"note":""}]}}';
  const lines = line.repeat(Math.max(0, Math.floor((bytes - empty.length - tail.length) / line.length)));
  const note = "x".repeat(Math.max(0, bytes - empty.length - lines.length - tail.length));
  return Buffer.from(`${empty}${lines}{"note":"${note}"}]}}`);
}

export function writeStamp(buffer, bodyAt, us) {
  buffer.latin1Write(String(Math.round(us)).padStart(DIGITS, "0"), bodyAt + HEAD.length, DIGITS);
}

export function readStamp(buffer, bodyAt) {
  return Number(buffer.latin1Slice(bodyAt + HEAD.length, bodyAt + HEAD.length + DIGITS));
}
