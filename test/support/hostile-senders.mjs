// Senders that mean no good, in a process of their own; runs until it is killed.
// usage: node hostile-senders.mjs PORT
import { request } from "node:http";
import { connect } from "node:net";

const port = Number(process.argv[2]);
const SLOW_SOCKETS = 2000;
const DRIP_MS = 1000;
const BOMB_BYTES = 2_000_000;

/** Half of them never finish their headers, half never their body; whoever is thrown out comes back. */
function openSlowSocket(number) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const isHeader = number % 2 === 0;
  const start = `POST /webhook/slow HTTP/1.1\r\nhost: a\r\n`;
  socket.write(isHeader ? start : `${start}content-length: 100000\r\n\r\n`);
  const drip = setInterval(() => socket.write(isHeader ? "x-a: b\r\n" : "x"), DRIP_MS);
  socket.resume();
  socket.on("close", () => {
    clearInterval(drip);
    setTimeout(openSlowSocket, 200, number);
  });
}

function fill(unit, before, after) {
  return Buffer.from(before + unit.repeat(Math.floor((BOMB_BYTES - 100) / Buffer.byteLength(unit))) + after);
}

const ENTITIES = Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join("");
const BOMBS = [
  ["application/json", fill("[", "", "")],
  ["application/json", fill('{"a":', "", "")],
  ["application/json", fill("[],", "[", "0]")],
  ["application/json", fill('"id":{},', "{", '"id":1}')],
  ["application/json", Buffer.concat([fill("\ufffd", '"', ""), Buffer.from([0xff])])],
  ["application/json", fill("\n", "", "x")],
  ["text/xml", fill("<a/>", "<r>", "</r>")],
  ["text/xml", fill("<a>", "", "")],
  ["text/xml", fill('a="" ', "<r ", "/>")],
  ["text/xml", fill("&a;", "<r>", "</r>")],
  ["text/xml", Buffer.from(`<!DOCTYPE r [<!ENTITY l0 "lol">${ENTITIES}]><r>&l9;</r>`)],
  ["text/xml", Buffer.from('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>')],
  // Three times a{1,}: what a backtracking pattern would choke on.
  [`application/json; charset="${"a".repeat(8000)}!`, Buffer.from('"é"')],
  [`${"a ".repeat(4000)}json`, Buffer.from("x")],
];

function post(path, headers, body) {
  return new Promise((resolve) => {
    const sent = request({ port, host: "127.0.0.1", method: "POST", path, headers, agent: false }, (answer) => {
      answer.resume();
      answer.on("close", resolve);
    });
    sent.on("error", resolve);
    sent.end(body);
  });
}

async function repeat(everyMs, act) {
  for (let number = 0; ; number++) {
    const pause = new Promise((resolve) => setTimeout(resolve, everyMs));
    await Promise.all([act(number), pause]);
  }
}

for (let number = 0; number < SLOW_SOCKETS; number++) openSlowSocket(number);
for (let lane = 0; lane < 2; lane++) {
  void repeat(400, (number) => {
    const [type, body] = BOMBS[(number * 2 + lane) % BOMBS.length];
    return post("/webhook/keyed", { "content-type": type, "content-length": body.length }, body);
  });
}
const floods = [
  () => post("/webhook/bad", { "content-type": "application/json" }, "{broken"),
  () => post("/webhook/bad", { "content-type": "application/json" }, Buffer.alloc(100_000, "x")),
  () => post("/webhook/bad", { "content-encoding": "gzip" }, "{}"),
  () => post("/webhook/UNKNOWN", {}, "{}"),
  () => post("/api/v1/events", { authorization: "Bearer wrong" }, "{}"),
  () => post("/webhook/bad", { "x-long": "x".repeat(15_000) }, "{"),
  () => post("/webhook/bad", Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x-${i}`, "1"])), "{"),
  () => post("/webhook/bad", { "x-long": "x".repeat(60_000) }, "{}"),
  () => post("/webhook/bad", { "transfer-encoding": "chunked" }, Buffer.alloc(3_000_000)),
];
for (let lane = 0; lane < 4; lane++) void repeat(20, (number) => floods[(number + lane) % floods.length]());
