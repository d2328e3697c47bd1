// Destinations that do their worst, each on a port of loopback. Prints one line of JSON, [{ name, url, isTrusted }, …],
// and goes on until its standard input ends. usage: node hostile-destinations.mjs '{"server":{"cert","key"},"expired":…,"wrong":…}'
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { brotliCompressSync, gzipSync } from "node:zlib";

const pairs = JSON.parse(process.argv[2] ?? "{}");
const CHUNK = Buffer.alloc(16 * 1024, "x");
const OK = "HTTP/1.1 200 OK\r\n";
const bombs = { gzip: gzipSync(Buffer.alloc(64_000_000)), br: brotliCompressSync(Buffer.alloc(64_000_000)) };

/** Writes as long as it is taken. */
function flood(socket, text) {
  const bytes = Buffer.from(text);
  const go = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", go);
  go();
}

function drip(socket, text, ms = 20) {
  let at = 0;
  const timer = setInterval(() => socket.write(text[at++ % text.length]), ms);
  socket.on("close", () => clearInterval(timer));
}

const say = (text) => (socket) => void socket.write(text);
const sayAndReset = (text) => (socket) => void socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 5));
const redirect = (location) => say(`HTTP/1.1 307 X\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
const afterStart = (start, then) => (socket) => {
  socket.write(start);
  then(socket);
};

/** What they do once a request has come. */
const ANSWERS = {
  "says nothing": () => {},
  "closes without an answer": (socket) => socket.end(),
  "resets instead of an answer": (socket) => socket.resetAndDestroy(),
  "resets in the status line": sayAndReset("HTTP/1.1 2"),
  "resets in the headers": sayAndReset(`${OK}x-half: `),
  "resets after the headers": sayAndReset(`${OK}content-length: 100\r\n\r\n`),
  "resets in the body": sayAndReset(`${OK}content-length: 100\r\n\r\nhalf`),
  "resets in a chunk": sayAndReset(`${OK}transfer-encoding: chunked\r\n\r\n10\r\nhalf`),
  "resets after the answer": sayAndReset(`${OK}content-length: 2\r\n\r\nok`),
  "closes in the headers": (socket) => socket.end(`${OK}x-half: `),
  "closes in the body": (socket) => socket.end(`${OK}content-length: 100\r\n\r\nhalf`),
  "drips the status line": (socket) => drip(socket, "HTTP/1.1 200 OK", 200),
  "drips headers": afterStart(OK, (socket) => drip(socket, "x-a: b\r\n")),
  "drips the body": afterStart(`${OK}\r\n`, (socket) => drip(socket, "x")),
  "drips chunks": afterStart(`${OK}transfer-encoding: chunked\r\n\r\n`, (socket) => drip(socket, ["1\r\nx\r\n"])),
  "has a status line without an end": afterStart("HTTP/1.1 200 ", (socket) => flood(socket, CHUNK)),
  "has a header without an end": afterStart(`${OK}x-long: `, (socket) => flood(socket, CHUNK)),
  "has headers without an end": afterStart(OK, (socket) => flood(socket, "x-a: b\r\n".repeat(1000))),
  "has a header name without an end": afterStart(OK, (socket) => flood(socket, CHUNK)),
  "has 15 KB of cookies": say(`${OK}${"set-cookie: a=b\r\n".repeat(900)}content-length: 0\r\n\r\n`),
  "has the status abc": say("HTTP/1.1 abc OK\r\n\r\n"),
  "has the status 000": say("HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n"),
  "has the status 999": say("HTTP/1.1 999 OK\r\ncontent-length: 0\r\n\r\n"),
  "has a negative content-length": say(`${OK}content-length: -1\r\n\r\nx`),
  "has a content-length beyond all numbers": say(`${OK}content-length: ${"9".repeat(40)}\r\n\r\nx`),
  "has a content-length of 8 EB": say(`${OK}content-length: 9000000000000000000\r\n\r\nx`),
  "has two content-lengths": say(`${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nxy`),
  "has content-length and chunks": say(`${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
  "has a transfer-encoding of its own": say(`${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`),
  "has a chunk of 16 EB": afterStart(`${OK}transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFE\r\n`, (socket) =>
    flood(socket, CHUNK),
  ),
  "has a chunk size beyond all numbers": say(`${OK}transfer-encoding: chunked\r\n\r\n${"F".repeat(400)}\r\n`),
  "has a chunk size that is none": say(`${OK}transfer-encoding: chunked\r\n\r\n-1\r\nx\r\n`),
  "has a chunk extension without an end": afterStart(`${OK}transfer-encoding: chunked\r\n\r\n1;`, (socket) =>
    flood(socket, CHUNK),
  ),
  "has trailers without an end": afterStart(`${OK}transfer-encoding: chunked\r\n\r\n0\r\n`, (socket) =>
    flood(socket, "x-a: b\r\n".repeat(1000)),
  ),
  "floods with a body": afterStart(`${OK}\r\n`, (socket) => flood(socket, CHUNK)),
  "floods with chunks of one byte": afterStart(`${OK}transfer-encoding: chunked\r\n\r\n`, (socket) =>
    flood(socket, "1\r\nx\r\n".repeat(2000)),
  ),
  "sends a gzip bomb": (socket) => {
    socket.write(`${OK}content-encoding: gzip\r\ncontent-length: ${bombs.gzip.length}\r\n\r\n`);
    socket.write(bombs.gzip);
  },
  "sends a brotli bomb": (socket) => {
    socket.write(`${OK}content-encoding: br\r\ncontent-length: ${bombs.br.length}\r\n\r\n`);
    socket.write(bombs.br);
  },
  "says 100 for ever": (socket) => flood(socket, "HTTP/1.1 100 Continue\r\n\r\n".repeat(100)),
  "says 103 for ever": (socket) => flood(socket, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(100)),
  "drips 102": (socket) => drip(socket, ["HTTP/1.1 102 Processing\r\n\r\n"]),
  "upgrades unasked": say("HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
  "upgrades with 200": say(`${OK}upgrade: h2c\r\nconnection: upgrade\r\n\r\n`),
  "gives 204 a body": say("HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\nhello"),
  "gives 304 a body": say("HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\nhello"),
  "speaks HTTP/0.9": (socket) => socket.end("<html>hello</html>"),
  "speaks HTTP/3.7": say("HTTP/3.7 200 OK\r\ncontent-length: 0\r\n\r\n"),
  "speaks HTTP/2": say(Buffer.from("00000c0400000000000003000000640004000fffff", "hex")),
  "speaks SSH": say("SSH-2.0-OpenSSH_9.2\r\n"),
  "speaks at random": (socket) =>
    flood(socket, Buffer.from(Array.from({ length: 4096 }, (_, n) => (n * 167 + 13) & 255))),
  "puts NUL into a header": say(`${OK}x-a: b\0c\r\ncontent-length: 0\r\n\r\n`),
  "folds its headers": say(`${OK}x-a: b\r\n folded\r\ncontent-length: 0\r\n\r\n`),
  "ends its lines with LF": say("HTTP/1.1 200 OK\ncontent-length: 0\n\n"),
  "answers twice": say(`${OK}content-length: 0\r\n\r\n`.repeat(2)),
  "answers for ever": (socket) => flood(socket, `${OK}content-length: 0\r\n\r\n`.repeat(50)),
  "asks for a wait of 10,000 years": say("HTTP/1.1 503 X\r\nretry-after: 315360000000\r\ncontent-length: 0\r\n\r\n"),
  "redirects to itself": redirect("/again"),
  "redirects to a file": redirect("file:///etc/passwd"),
  "redirects to ftp": redirect("ftp://127.0.0.1/x"),
  "redirects with a password": redirect("http://user:password@127.0.0.1/"),
  "redirects to metadata": redirect("http://169.254.169.254/latest/"),
  "redirects to 12 KB": redirect(`/${"a".repeat(12_000)}`),
  "redirects into nothing": redirect("http://[::bad"),
  "redirects and floods": afterStart("HTTP/1.1 307 X\r\nlocation: /again\r\n\r\n", (socket) => flood(socket, CHUNK)),
};

/** What they do before that. */
const CONNECTIONS = {
  "resets at once": (socket) => socket.resetAndDestroy(),
  "closes at once": (socket) => socket.end(),
  "never reads": (socket) => socket.pause(),
  "resets in the request": (socket) => socket.once("data", () => socket.resetAndDestroy()),
  "answers before it is asked": (socket) => socket.write(`${OK}content-length: 0\r\n\r\n`),
  "floods before it is asked": (socket) => flood(socket, CHUNK),
};

const TLS = {
  "has an expired certificate": { pair: pairs.expired },
  "has another's certificate": { pair: pairs.wrong },
  "has a certificate of nobody": { pair: pairs.server, isTrusted: false },
  "speaks TLS 1.1 only": {
    pair: pairs.server,
    options: { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" },
  },
  "renegotiates for ever": {
    pair: pairs.server,
    options: { maxVersion: "TLSv1.2" },
    run(socket) {
      const again = () => socket.renegotiate({}, () => setImmediate(again));
      again();
    },
  },
  "says nothing over TLS": { pair: pairs.server, run: () => {} },
  "drips over TLS": { pair: pairs.server, run: (socket) => afterStart(OK, (it) => drip(it, "x-a: b\r\n"))(socket) },
  "floods over TLS": { pair: pairs.server, run: (socket) => flood(socket, CHUNK) },
  "cuts TLS off": {
    pair: pairs.server,
    run: (socket) => socket.once("data", () => socket.write(`${OK}content-length: 9\r\n\r\nx`, () => socket.destroy())),
  },
};

const HANDSHAKES = {
  "never shakes hands": () => {},
  "shakes half a hand": (socket) => socket.once("data", say(Buffer.from("160303007a020000", "hex")).bind(null, socket)),
  "shakes hands with garbage": (socket) => flood(socket, CHUNK),
  "drips its handshake": (socket) => drip(socket, [Buffer.from([0x16]), Buffer.from([0x03])]),
  "resets in the handshake": (socket) => socket.once("data", () => socket.resetAndDestroy()),
  "alerts for ever": (socket) => flood(socket, Buffer.from("15030300020100".repeat(500), "hex")),
  "has no TLS": (socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Plain\r\n\r\n")),
};

function whenAsked(run) {
  return (socket) => {
    let head = "";
    socket.on("data", (chunk) => {
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      head = "";
      run(socket);
    });
  };
}

function listen(name, scheme, server, isTrusted = true) {
  server.on("tlsClientError", () => {});
  for (const event of ["connection", "secureConnection"]) {
    server.on(event, (socket) => socket.on("error", () => {}).setNoDelay(true));
  }
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () =>
      resolve({ name, url: `${scheme}://127.0.0.1:${server.address().port}/`, isTrusted }),
    ),
  );
}

/** For comparison: one that gives no trouble. */
const GOOD = { "behaves well": say(`${OK}content-length: 0\r\n\r\n`) };
const plain = (run) => createServer({ allowHalfOpen: true }, run);
const all = await Promise.all([
  ...Object.entries(GOOD).map(([name, run]) => listen(name, "http", plain(whenAsked(run)))),
  ...Object.entries(ANSWERS).map(([name, run]) => listen(name, "http", plain(whenAsked(run)))),
  ...Object.entries(CONNECTIONS).map(([name, run]) => listen(name, "http", plain(run))),
  ...Object.entries(HANDSHAKES).map(([name, run]) => listen(name, "https", plain(run))),
  ...Object.entries(TLS).map(([name, { pair, options, run, isTrusted }]) =>
    listen(name, "https", createTlsServer({ ...pair, ...options }, run ?? whenAsked(say(`${OK}\r\n`))), isTrusted),
  ),
]);
process.stdout.write(`${JSON.stringify(all)}\n`);
process.on("uncaughtException", (error) => process.stderr.write(`hostile destination: ${error.stack}\n`));
process.stdin.on("end", () => process.exit(0)).resume();
