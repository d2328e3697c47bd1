import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { PosthornError } from "../model/errors.ts";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Secrets at rest: AES-256-GCM, with the key's id in the record and the owner's identity as associated data. */
export interface SecretBox {
  seal(plain: string, owner: string): Uint8Array;
  open(sealed: Uint8Array, owner: string): string;
  /** Distinguishes master keys without revealing anything about them. */
  readonly fingerprint: string;
}

const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createSecretBox(masterKey: string): SecretBox {
  const key = createHash("sha256").update("posthorn secrets\0").update(masterKey).digest();
  const fingerprint = createHash("sha256").update("posthorn fingerprint\0").update(key).digest();
  const keyId = fingerprint.subarray(0, KEY_ID_BYTES);

  return {
    fingerprint: fingerprint.toString("hex").slice(0, 16),
    seal(plain, owner) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(owner));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([keyId, nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, owner) {
      const bytes = Buffer.from(sealed);
      if (!bytes.subarray(0, KEY_ID_BYTES).equals(keyId)) {
        throw new PosthornError(
          "store_unsafe",
          "The secrets in the database were encrypted with another master key. Start with the POSTHORN_MASTER_KEY, " +
            "or the master.key file, that they were written with.",
        );
      }
      const nonce = bytes.subarray(KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES);
      const tag = bytes.subarray(KEY_ID_BYTES + NONCE_BYTES, KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(owner)).setAuthTag(tag);
      const body = bytes.subarray(KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
    },
  };
}

/** Credentials of a received request that must be forwarded: stored with it, encrypted. */
export function createRequestCredentials(box: SecretBox) {
  return {
    seal: (event: { id: string; tenantId: string }, credentials: Readonly<Record<string, string>>) =>
      Buffer.from(box.seal(JSON.stringify(credentials), ownerOf(event))).toString("base64"),
    open: (event: { id: string; tenantId: string }, sealed: string) =>
      JSON.parse(box.open(Buffer.from(sealed, "base64"), ownerOf(event))) as Record<string, string>,
  };
}

function ownerOf({ id, tenantId }: { id: string; tenantId: string }): string {
  return `event/${tenantId}/${id}/request`;
}

const MASTER_KEY_FILE = "master.key";

/** Files that only the gateway's operating system user may read. */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600, flush: true });
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export function findMasterKey(dataDir: string): string | undefined {
  const path = join(dataDir, MASTER_KEY_FILE);
  return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

export function loadOrCreateMasterKey(dataDir: string): string {
  const path = join(dataDir, MASTER_KEY_FILE);
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(32).toString("base64")}\n`);
  return readFileSync(path, "utf8").trim();
}
