import { createSeededRandom } from "./seeded-random.ts";

/**
 * Destinations that must never be reached, in all the spellings that a URL or a DNS answer allows, and public ones that
 * must be. The ranges are written down here once more on purpose: the guard's own table would vouch for itself.
 */
export interface SsrfVector {
  kind: "literal" | "name" | "form" | "port" | "dns" | "mixed";
  url: string;
  /** What the DNS says when it is asked. */
  answer?: readonly string[];
}

const SPECIAL_V4: readonly [base: string, bits: number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];
const FAMOUS_V4 = ["127.0.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.168.0.1", "0.0.0.0"];

/** As the first groups and how many bits of them count. */
const SPECIAL_V6: readonly [groups: readonly number[], bits: number][] = [
  [[0, 0, 0, 0, 0, 0, 0, 1], 128],
  [[0, 0, 0, 0, 0, 0, 0, 0], 128],
  [[0, 0, 0, 0, 0, 0], 96],
  [[0x64, 0xff9b, 0, 0, 0, 0], 96],
  [[0x64, 0xff9b, 1], 48],
  [[0x100, 0, 0, 0], 64],
  [[0x100, 0, 0, 1], 64],
  [[0x2001, 0], 32],
  [[0x2001, 2, 0], 48],
  [[0x2001, 0x10], 28],
  [[0x2001, 0x20], 28],
  [[0x2001, 0x100], 24],
  [[0x2001, 0xdb8], 32],
  [[0x2002], 16],
  [[0x2620, 0x4f, 0x8000], 48],
  [[0x3fff, 0], 20],
  [[0x5f00], 16],
  [[0x4000], 3],
  [[0x8000], 1],
  [[0xfc00], 7],
  [[0xfd00, 0xec2], 32],
  [[0xfe80], 10],
  [[0xfec0], 10],
  [[0xff00], 8],
  [[0xff02, 0, 0, 0, 0, 0, 0, 1], 128],
];

const PUBLIC_V4 = ["1.1.1.1", "8.8.8.8", "9.9.9.9", "11.0.0.1", "100.63.255.255", "100.128.0.0", "126.255.255.255"];
const PUBLIC_V6 = ["2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450:4001::1", "3ffe::1"];

export const A_PUBLIC_ADDRESS = "8.8.4.4";

export interface SsrfCorpus {
  refused: readonly SsrfVector[];
  /** Addresses that no name may lead to. */
  addresses: readonly string[];
  publicControls: readonly SsrfVector[];
}

/** All with this port, where a canary listens on loopback. */
export function buildSsrfCorpus(port: number, seed: number): SsrfCorpus {
  const random = createSeededRandom(seed);
  const below = (bound: number) => Math.floor(random.next() * bound);
  const v4 = [...FAMOUS_V4, ...SPECIAL_V4.flatMap(([base, bits]) => membersOf(base, bits))];
  const v6 = SPECIAL_V6.flatMap(([groups, bits]) => [0, 1, 2].map((n) => fillV6(groups, bits, n > 0)));

  function membersOf(base: string, bits: number): string[] {
    const first = toNumber(base);
    const size = 2 ** (32 - bits);
    return [0, size - 1, below(size), below(size)].map((offset) => dotted(first + offset));
  }

  function fillV6(groups: readonly number[], bits: number, isRandom: boolean): string {
    const all = Array.from({ length: 8 }, (_, at) => {
      const own = Math.max(0, Math.min(16, bits - at * 16));
      const free = isRandom ? below(2 ** (16 - own)) : 0;
      return (groups[at] ?? 0) | free;
    });
    return all.map((group) => group.toString(16)).join(":");
  }

  const addresses = [...v4, ...v6, ...v4.map((address) => `::ffff:${address}`)];
  const literal = (host: string): SsrfVector => ({ kind: "literal", url: `http://${host}:${port}/` });
  let names = 0;
  const named = (kind: "dns" | "mixed", ...answer: string[]): SsrfVector => {
    names += 1;
    return { kind, url: `http://name-${names}.example:${port}/`, answer };
  };
  const refused: SsrfVector[] = [
    ...v4.flatMap((address) => spellingsOfV4(address).map(literal)),
    ...v6.flatMap((address) => [`[${address}]`, `[${address.toUpperCase()}]`].map(literal)),
    ...PRIVATE_NAMES.map((name): SsrfVector => ({
      kind: "name",
      url: `http://${name}:${port}/`,
      answer: ["127.0.0.1"],
    })),
    ...tricksOf(port).map((url): SsrfVector => ({ kind: "form", url, answer: ["127.0.0.1"] })),
    ...CLOSED_PORTS.flatMap((closed): SsrfVector[] => [
      { kind: "port", url: `http://${A_PUBLIC_ADDRESS}:${closed}/` },
      { kind: "port", url: `http://service.example:${closed}/`, answer: [A_PUBLIC_ADDRESS] },
    ]),
    ...addresses.map((address) => named("dns", address)),
    ...["", "localhost", "127.1", "0x7f000001", "8.8.8.8 ", "::ffff:8.8.8.8.8"].map((text) => named("dns", text)),
    ...addresses.flatMap((address, n) =>
      n % 3 === 0
        ? [named("mixed", A_PUBLIC_ADDRESS, address), named("mixed", address, A_PUBLIC_ADDRESS, "2606:4700::1")]
        : [],
    ),
  ];

  const isSpecial = (n: number) =>
    n === toNumber("168.63.129.16") ||
    SPECIAL_V4.some(([base, bits]) => n >= toNumber(base) && n < toNumber(base) + 2 ** (32 - bits));
  const publicV4 = [...PUBLIC_V4];
  while (publicV4.length < 40) {
    const n = below(2 ** 32);
    if (!isSpecial(n)) publicV4.push(dotted(n));
  }
  const publicControls: SsrfVector[] = [
    ...publicV4.map(literal),
    ...publicV4.slice(0, 10).flatMap((address) => [literal(String(toNumber(address))), literal(`[::ffff:${address}]`)]),
    ...PUBLIC_V6.map((address) => literal(`[${address}]`)),
    ...publicV4.slice(0, 25).map((address) => named("dns", address)),
    ...PUBLIC_V6.map((address) => named("dns", address, "1.1.1.1")),
    ...["localhost.example", "local.example", "internal.example", "127.0.0.1.nip.example", "bücher.example"].map(
      (name): SsrfVector => ({ kind: "name", url: `http://${name}:${port}/`, answer: ["9.9.9.9"] }),
    ),
  ];
  return { refused, addresses, publicControls };
}

function spellingsOfV4(address: string): string[] {
  const n = toNumber(address);
  const parts = address.split(".");
  const [a, b, c, d] = parts.map(Number) as [number, number, number, number];
  const [high, low] = [hex((a << 8) | b), hex((c << 8) | d)];
  const inverted = `${hex(((a << 8) | b) ^ 0xffff)}:${hex(((c << 8) | d) ^ 0xffff)}`;
  return [
    address,
    `${address}.`,
    String(n),
    `0x${n.toString(16)}`,
    `0X${n.toString(16).toUpperCase()}`,
    `0${n.toString(8)}`,
    parts.map((part) => `0x${Number(part).toString(16)}`).join("."),
    parts.map((part) => `0${Number(part).toString(8)}`).join("."),
    parts.map((part) => `0000${Number(part).toString(8)}`).join("."),
    `${a}.${n % 2 ** 24}`,
    `${a}.${b}.${n % 2 ** 16}`,
    `0x${a.toString(16)}.0${b.toString(8)}.${n % 2 ** 16}`,
    parts.join("%2e"),
    parts.join("\u3002"),
    parts.join("\uff0e"),
    parts.join("\uff61"),
    address.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    address.replace(/[1-9]/g, (digit) => String.fromCharCode(0x245f + Number(digit))),
    address.replace(/\d/g, (digit) => `%3${digit}`),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${address}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:102:304::${inverted}]`,
  ];
}

const PRIVATE_NAMES = [
  "localhost",
  "LOCALHOST",
  "LocalHost.",
  "localhost..",
  "a.localhost",
  "a.b.LOCALHOST.",
  "printer.local",
  "a.printer.local.",
  "metadata.google.internal",
  "x.internal.",
  "router",
  "intranet.",
  "kubernetes",
  "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
  "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
  "loc%61lhost",
  "localhost%2e",
  "local\u00adhost",
  "a\u3002localhost",
  "a\uff61internal",
  "a.\u2113ocal",
];

function tricksOf(port: number): string[] {
  const here = `127.0.0.1:${port}`;
  return [
    `http://8.8.8.8@${here}/`,
    `http://public.example:80@${here}/`,
    `http://public.example%40${here}/`,
    `http://user:password@8.8.8.8/`,
    `http://user@8.8.8.8/`,
    `http://:password@8.8.8.8/`,
    `http://${here}\\@8.8.8.8/`,
    `http://${here}#@8.8.8.8/`,
    `http://${here}?@8.8.8.8/`,
    `http://${here}/@8.8.8.8/`,
    `http://8.8.8.8/#fragment`,
    `http://127.0.\t0.1:${port}/`,
    `http://\n127.0.0.1:${port}/`,
    ` http://${here}/`,
    `http:${here}/`,
    `http:/${here}/`,
    `http:///${here}/`,
    `http:\\\\${here}/`,
    `HTTP://${here}/`,
    `//${here}/`,
    `http://[fe80::1%25eth0]:${port}/`,
    `http://[fe80::1%eth0]:${port}/`,
    `http://[::1%25lo]:${port}/`,
    `http://[::ffff:127.0.0.1%25lo]:${port}/`,
    `http://127.0.0.256:${port}/`,
    `http://127.0.0.1.:${port}/`,
    `http://0x7f.1:${port}/`,
    `http://017700000001:${port}/`,
    `http://127.1:${port}/`,
    `http://0:${port}/`,
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "ftp://8.8.8.8/",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict://127.0.0.1:11211/stat",
    "ldap://8.8.8.8/",
    "ws://8.8.8.8/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "blob:http://8.8.8.8/x",
    "",
    "http://",
    "http://:80/",
    "http://[::1/",
    "http://exa mple.com/",
    "8.8.8.8",
  ];
}

const CLOSED_PORTS = [
  1, 7, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 873, 993, 2375, 2379, 3306, 5432,
].concat([5672, 6379, 8500, 9200, 10250, 11211, 27017]);

function hex(word: number): string {
  return word.toString(16);
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function dotted(n: number): string {
  return [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255].join(".");
}
