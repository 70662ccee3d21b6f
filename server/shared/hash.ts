/** Hashes texts, fast and not for security. */

const seed = 0x811c9dc5;
const prime = 0x01000193;

/** Computes a text's 32-bit FNV-1a hash, continued from a previous hash. A changed letter always changes the hash. */
export function hashOf(text: string, before = seed): number {
  let hash = before;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), prime);
  return hash;
}
