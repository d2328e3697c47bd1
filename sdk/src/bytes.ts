export type Bytes = Uint8Array<ArrayBuffer>;
export type Payload = string | Uint8Array | ArrayBuffer;

const encoder = new TextEncoder();

/** The bytes that were signed. A text is taken as UTF-8, which is how it came if nobody has changed it. */
export function toBytes(payload: Payload): Bytes {
  if (typeof payload === "string") return encoder.encode(payload);
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload);
  // WebCrypto rejects shared memory, and a caller may still change the view that it passed.
  return new Uint8Array(payload);
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Undefined unless the text is base64, with its padding or without. */
export function fromBase64(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Undefined unless the text is hex in lower case, as the gateway writes it. */
export function fromHex(text: string): Bytes | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]+$/.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, index) =>
    Number.parseInt(text.slice(2 * index, 2 * index + 2), 16),
  );
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** 128 random bits. Not `randomUUID`, which browsers have on secure pages only. */
export function createRandomId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}
