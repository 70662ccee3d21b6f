import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const prefix = "hcq_";
const checkAt = prefix.length + 43;
const keyLength = checkAt + 6;
const noDigit = 255;
const digitOf = new Uint8Array(128).fill(noDigit);
for (let i = 0; i < alphabet.length; i++) digitOf[alphabet.charCodeAt(i)] = i;

/** Makes an API key: `hcq_`, 43 base62 characters with 256 random bits, and 6 more with the CRC32 of the 43. */
export function generateKey(random: Buffer = randomBytes(32)): string {
  const secret = base62(BigInt(`0x${random.toString("hex")}`), 43);
  return `${prefix}${secret}${base62(BigInt(crc32(secret)), 6)}`;
}

/** Checks a key's form and checksum, so that most mistyped keys need no look-up. */
export function isWellFormed(key: string): boolean {
  if (key.length !== keyLength || !key.startsWith(prefix)) return false;
  let check = 0;
  for (let at = prefix.length; at < keyLength; at++) {
    const digit = digitOf[key.charCodeAt(at)] ?? noDigit;
    if (digit === noDigit) return false;
    check = at < checkAt ? 0 : 62 * check + digit;
  }
  return check === crc32(key.slice(prefix.length, checkAt));
}

export function hashKey(key: string): Buffer {
  // Hashing the string takes half the time of hashing a buffer.
  return Buffer.from(hash("sha256", key, "binary"), "binary");
}

function base62(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text;
  return text;
}

/**
 * Returns the key in an `Authorization` header; empty if there is only the scheme, undefined if the scheme isn't Bearer.
 */
export function bearerKey(authorization: string): string | undefined {
  const found = /^bearer(?: +(.*))?$/is.exec(authorization);
  return found === null ? undefined : (found[1] ?? "");
}
