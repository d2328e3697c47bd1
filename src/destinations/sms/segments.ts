/** How many messages a network splits a text into, and the encoding it uses. */
export interface Segments {
  readonly encoding: "GSM-7" | "UCS-2";
  readonly count: number;
}

/** 3GPP TS 23.038 §6.2.1: one septet for each basic character, two for those with an escape. */
const BASIC = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà",
);
const EXTENDED = new Set("\f^{}\\[~]|€");

/** Capacity of a single message, and of each of several, which begin with a header. */
const GSM = { single: 160, part: 153 };
const UCS = { single: 70, part: 67 };

export function countSegments(text: string): Segments {
  const signs = Array.from(text);
  const isGsm = signs.every((sign) => BASIC.has(sign) || EXTENDED.has(sign));
  const units = signs.map((sign) => (isGsm ? (BASIC.has(sign) ? 1 : 2) : sign.length));
  const { single, part } = isGsm ? GSM : UCS;
  const total = units.reduce((sum, size) => sum + size, 0);
  return { encoding: isGsm ? "GSM-7" : "UCS-2", count: total <= single ? 1 : countParts(units, part) };
}

/** A character of two units is not split. */
function countParts(units: readonly number[], size: number): number {
  let count = 1;
  let used = 0;
  for (const unit of units) {
    if (used + unit > size) {
      count++;
      used = 0;
    }
    used += unit;
  }
  return count;
}
