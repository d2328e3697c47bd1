/** Texts that somebody may take for a secret, and that would make a key which anybody can guess. */

/** In no form of any kind. */
export const NO_SECRETS: readonly string[] = [
  "x",
  "0x00",
  "!!!!",
  "short",
  "whsec_AA==",
  "whsec_",
  "whpk_AA==",
  "fifteen-bytes-0",
  " ".repeat(16),
  "\u00a0".repeat(8),
  "\u200b".repeat(8),
  "a".repeat(64),
  "00".repeat(32),
  " leading-white-space-0123",
  "trailing-white-space-0123 ",
  "\ufeffwith-a-byte-order-mark",
];

/** Where the key is behind hex. */
export const NO_HEX: readonly string[] = [
  "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
  "a plain text of more than sixteen bytes",
  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f0",
  "000102030405060708090a0b0c0d0e",
  "00010203 04050607 08090a0b 0c0d0e0f",
  "000102030405060708090a0b0c0d0e0f\u0661\u0662",
  "00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f",
];

/** Where it is behind base64. */
export const NO_BASE64: readonly string[] = [
  "a plain text of more than sixteen bytes",
  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  "AAECAwQFBgcICQoLDA0O",
  "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8==",
  "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=",
  "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=AAECAwQF",
  "AAECAwQFBgcI CQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  "-_ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd+/8=",
  "AAECAwQFBgcICQoLDA0ODxAR\u00c9",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
];
